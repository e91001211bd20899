//! Help: examples come first. `-h` fits one screen, and has the options that most users need; `--help`
//! has all of them.

use super::Cli;
use bench::paragraph::wrapped;
use clap::builder::StyledStr;
use clap::error::ErrorKind;
use clap::{Arg, Command, CommandFactory as _};
use std::ffi::OsString;

/// Columns of `-h`.
const COLUMNS: usize = 80;
/// Examples of `-h`.
const EXAMPLES: usize = 3;
/// Heading of the examples in the descriptions of verbs.
const HEADING: &str = "Examples:\n";

/// Question that the program answers, in place of its description.
const ABOUT: &str = "Will the messages on a real-time LAN make their deadlines?";

/// Verb that `-h` of the program lists; it names the others.
struct First {
    name: &'static str,
    about: &'static str,
}

const fn first(name: &'static str, about: &'static str) -> First {
    First { name, about }
}

const FIRST: [First; 9] = [
    first("demo", "Measure, watch, predict and compare once, in this process"),
    first("predict", "Simulate a scenario"),
    first("measure", "Send a load over a real port, and measure it"),
    first("watch", "Meter a capture or a live port, without sending anything"),
    first("compare", "Compare two runs"),
    first("report", "Write a run as one page"),
    first("scenarios", "List, print or copy the built-in scenarios"),
    first("doctor", "List what works on this machine, and the fixes"),
    first("help", "Explain a topic, such as units, metrics or exit-codes"),
];

/// Arguments that `-h` of a verb lists.
struct Common {
    /// The verb, and the experiment below it if any.
    verb: &'static str,
    /// Identifiers of the arguments.
    arguments: &'static [&'static str],
}

const fn common(verb: &'static str, arguments: &'static [&'static str]) -> Common {
    Common { verb, arguments }
}

/// Verbs whose options do not all fit one screen.
const COMMON: [Common; 17] = [
    common("predict", &["scenario", "seed", "runs", "output", "vary", "require"]),
    common("measure", &["scenario", "to", "interface", "load", "messages", "time", "require"]),
    common("serve", &["interface", "udp", "over", "fault", "runs", "time"]),
    common("relay", &["here", "there", "fault", "tpdus", "capture", "time"]),
    common("watch", &["read", "interface", "time", "web", "measure", "require", "screen"]),
    common("meter", &["files", "measure", "report", "only", "intervals"]),
    common("show", &["file", "screen", "plain", "speed", "web"]),
    common("demo", &["output", "no_save"]),
    common("merge", &["folders", "output", "no_save", "figure", "differences"]),
    common("capture", &["read", "interface", "time", "filter", "write", "rotate"]),
    common("calibrate", &["over", "foreign_peer", "write_profile", "item", "messages"]),
    common("advise", &["scenario", "objective", "budget", "time", "write", "live"]),
    common("reproduce", &["paper", "figures", "output", "runs", "web", "live"]),
    common("predict layers", &["profile", "sizes", "messages", "rounds", "figure"]),
    common("measure layers", &["interface", "peer_interface", "udp", "udp_peer", "rounds"]),
    common("measure mms", &["over", "foreign_peer", "item", "outstanding", "messages"]),
    common("serve mms", &["scl", "ied", "files", "over", "time"]),
];

/// Returns the command line with the examples of each verb before its options.
pub(crate) fn command() -> Command {
    examples_first(Cli::command())
}

/// Returns the help that a command line asks for: of `-h`, and of a program without arguments, one screen.
pub(crate) fn help(error: clap::Error, words: &[OsString]) -> clap::Error {
    let is_full = words.iter().any(|word| word == "--help");
    match error.kind() {
        ErrorKind::DisplayHelp if is_full => error,
        ErrorKind::DisplayHelp | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            brief().try_get_matches_from(words).err().unwrap_or(error)
        }
        _ => error,
    }
}

/// Returns the text before and the text after a verb's options.
fn parts(command: &Command) -> (Option<String>, Option<String>) {
    let whole = command.get_after_help().map(StyledStr::to_string).unwrap_or_default();
    let Some(rest) = whole.strip_prefix(HEADING) else { return (None, None) };
    let (examples, more) = rest.split_once("\n\n").unwrap_or((rest, ""));
    (Some(examples.to_owned()), (!more.is_empty()).then(|| more.to_owned()))
}

fn examples_first(command: Command) -> Command {
    let command = match parts(&command) {
        (Some(examples), more) => {
            command.before_help(examples).after_help(more.unwrap_or_default())
        }
        _ => command,
    };
    command.mut_subcommands(examples_first)
}

/// Returns the command line whose help fits one screen.
fn brief() -> Command {
    let whole = command();
    let is_first = |verb: &str| FIRST.iter().find(|first| first.name == verb);
    let others: Vec<_> = whole
        .get_subcommands()
        .map(Command::get_name)
        .filter(|it| is_first(it).is_none())
        .collect();
    let end = format!("Also: {} (--help).", others.join(", "));
    // Built, the command hands its global options to each verb: hidden here, they are hidden there.
    whole
        .about(ABOUT)
        .after_help(wrapped("", &end))
        .term_width(COLUMNS)
        .disable_version_flag(true)
        .mut_args(|argument| argument.hide(true))
        .mut_subcommands(|verb| {
            let name = verb.get_name().to_owned();
            let verb = of_verb(verb, &name);
            match is_first(&name) {
                Some(first) => verb.about(first.about),
                None => verb.hide(true),
            }
        })
}

/// The help of a verb, and of those below it.
fn of_verb(verb: Command, name: &str) -> Command {
    let common = COMMON.iter().find(|common| common.verb == name).map(|common| common.arguments);
    let is_shown = |argument: &Arg| {
        !argument.is_hide_set() && common.is_none_or(|of| of.contains(&argument.get_id().as_str()))
    };
    let hidden = verb.get_arguments().filter(|argument| !is_shown(argument)).count();
    let end = match hidden {
        0 => format!("`tidewire {name} --help` has more: --json, -q, -v"),
        more => {
            format!("`tidewire {name} --help` has all options: {more} more, and --json, -q, -v")
        }
    };
    // Longer than a line, and not broken by clap.
    let verb = match name {
        "measure" => verb.override_usage("tidewire measure [OPTIONS] [SCENARIO]"),
        "calibrate" => verb.override_usage(
            "tidewire calibrate [OPTIONS] --over <URL> --foreign-peer\n                          \
             --write-profile <FILE>",
        ),
        _ => verb,
    };
    let has_verbs = verb.has_subcommands() && common.is_some();
    let before = verb.get_before_help().map(StyledStr::to_string).unwrap_or_default();
    let before: Vec<&str> = before.lines().take(EXAMPLES).collect();
    verb.before_help(before.join("\n"))
        .after_help(wrapped("", &end))
        .mut_args(|argument| {
            let is_shown = is_shown(&argument);
            shortened(argument).hide(!is_shown)
        })
        .mut_subcommands(|below| {
            let name = format!("{name} {}", below.get_name());
            of_verb(below, &name).hide(has_verbs)
        })
}

/// An argument with the first clause of its description.
fn shortened(argument: Arg) -> Arg {
    let text = argument.get_help().map(StyledStr::to_string).unwrap_or_default();
    let ends = [". ", "; ", ": "].into_iter().filter_map(|mark| text.find(mark));
    let end = ends.min().unwrap_or(text.len());
    let text = text.get(..end).unwrap_or(&text).to_owned();
    let takes_value = argument.get_action().takes_values();
    argument
        .help(text)
        .long_help(None::<&str>)
        .help_heading(None::<&str>)
        .hide_possible_values(takes_value)
}
