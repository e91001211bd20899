//! `tidewire help`: topics, as text that is part of the program.

mod metrics;

use crate::args::{Cli, Help, QUESTIONS, brief};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use clap::error::ErrorKind;
use clap::{Arg, Command, CommandFactory as _};
use serde_json::json;
use std::io;

/// Topics, with their summaries and texts.
const TOPICS: [(&str, &str, &str); 24] = [
    ("scenario", "keys of a scenario file", include_str!("../../help/scenario.md")),
    ("profiles", "profiles of machines", include_str!("../../help/profiles.md")),
    ("units", "syntax of times, sizes and rates", include_str!("../../help/units.md")),
    ("media", "the media that can be simulated", include_str!("../../help/media.md")),
    (
        "faults",
        "loss, duplication, reordering and other faults of frames",
        include_str!("../../help/faults.md"),
    ),
    (
        "requirements",
        "limits for results, and the runs that decide them",
        include_str!("../../help/requirements.md"),
    ),
    (
        "metrics",
        "the measures and the 13 metrics of the meter",
        include_str!("../../help/metrics.md"),
    ),
    (
        "compare",
        "a prediction against watched traffic, interval by interval",
        include_str!("../../help/compare.md"),
    ),
    ("files", "tables, captures and events that watch writes", include_str!("../../help/files.md")),
    (
        "monitor",
        "the first page of the screen: live bars, delays and events",
        include_str!("../../help/monitor.md"),
    ),
    (
        "screens",
        "pages of the screen, their keys, and findings",
        include_str!("../../help/screens.md"),
    ),
    ("stream", "records between meter and show", include_str!("../../help/stream.md")),
    (
        "cyclic",
        "streams of GOOSE, Sampled Values and PROFINET",
        include_str!("../../help/cyclic.md"),
    ),
    (
        "transactions",
        "requests and replies of Modbus, DNP3 and others",
        include_str!("../../help/transactions.md"),
    ),
    ("filter", "syntax of filters", include_str!("../../help/filter.md")),
    ("iso-tcp", "transport connections over TCP", include_str!("../../help/iso-tcp.md")),
    ("mms", "MMS watched, measured and served", include_str!("../../help/mms.md")),
    ("advise", "search for transport settings", include_str!("../../help/advise.md")),
    (
        "reproduce",
        "comparison with a paper, and the rules of its verdicts",
        include_str!("../../help/reproduce.md"),
    ),
    ("layers", "cost of each layer of a station", include_str!("../../help/layers.md")),
    ("output", "run folders and NDJSON records", include_str!("../../help/output.md")),
    ("privileges", "permissions that each verb needs", include_str!("../../help/privileges.md")),
    ("exit-codes", "exit codes of each verb", include_str!("../../help/exit-codes.md")),
    ("glossary", "terms and abbreviations", include_str!("../../help/glossary.md")),
];

pub(crate) fn run(help: &Help, output: &Output) -> anyhow::Result<Exit> {
    let Some(wanted) = &help.topic else {
        output.line(
            "Topics; tidewire help TOPIC prints one, tidewire help VERB the options of a verb.\n",
        )?;
        for (name, about, _) in TOPICS {
            output.record(&json!({ "type": "topic", "topic": name, "about": about }))?;
            output.line(format_args!("  {name:12} {about}"))?;
        }
        output.line(format_args!("\n{QUESTIONS}"))?;
        if output.json {
            let mut whole = Cli::command();
            whole.build();
            for verb in whole.get_subcommands() {
                options(verb, verb.get_name(), output)?;
            }
        }
        return Ok(Exit::Ok);
    };
    let Some(text) = text(wanted) else {
        let names: Vec<_> = TOPICS.into_iter().map(|(name, _, _)| name).collect();
        let fix = format!("one of {}, or a verb", names.join(", "));
        return Err(Failure::usage(format!("no topic {wanted:?}")).with_fix(fix).into());
    };
    output.record(&json!({ "type": "help", "topic": wanted, "text": text }))?;
    output.line(text.trim_end())?;
    Ok(Exit::Ok)
}

/// Writes a record of each option of a verb, and of the verbs below it.
fn options(command: &Command, verb: &str, output: &Output) -> io::Result<()> {
    let shown = |option: &&Arg| !option.is_positional() && !option.is_hide_set();
    for option in command.get_arguments().filter(shown) {
        let values = option.get_value_names().unwrap_or_default();
        let takes_value = option.get_action().takes_values();
        output.record(&json!({
            "type": "option",
            "verb": verb,
            "option": option.get_long().map(|long| format!("--{long}")),
            "short": option.get_short().map(|short| format!("-{short}")),
            "value": values.first().filter(|_| takes_value).map(ToString::to_string),
            "about": option.get_help().map(ToString::to_string),
        }))?;
    }
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        options(below, &format!("{verb} {}", below.get_name()), output)?;
    }
    Ok(())
}

/// Text of a topic.
pub(super) fn topic(wanted: &str) -> Option<String> {
    let (name, _, text) = TOPICS.into_iter().find(|(name, _, _)| *name == wanted)?;
    Some(if name == "metrics" { metrics::text(text) } else { text.to_owned() })
}

/// Text of a topic, or else `--help` of a verb.
fn text(wanted: &str) -> Option<String> {
    topic(wanted).or_else(|| {
        let asked = brief::command().try_get_matches_from(["tidewire", wanted, "--help"]).err()?;
        (asked.kind() == ErrorKind::DisplayHelp).then(|| asked.render().to_string())
    })
}
