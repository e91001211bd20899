//! `tidewire help`: topics, as text that is part of the program.

use crate::args::{Cli, Help};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use clap::error::ErrorKind;
use clap::{Command, CommandFactory as _, Parser as _};
use serde_json::json;
use std::io;

/// The topics, their first lines, and their texts.
const TOPICS: [(&str, &str, &str); 19] = [
    ("scenario", "what a scenario file says", include_str!("../../help/scenario.md")),
    ("profiles", "machines of one's own", include_str!("../../help/profiles.md")),
    ("units", "how times, sizes and rates are written", include_str!("../../help/units.md")),
    ("media", "the media that can be simulated", include_str!("../../help/media.md")),
    ("faults", "what can befall frames", include_str!("../../help/faults.md")),
    (
        "requirements",
        "what must hold, and how many runs decide it",
        include_str!("../../help/requirements.md"),
    ),
    ("metrics", "the 13 metrics of the meter", include_str!("../../help/metrics.md")),
    ("files", "what watch writes into files", include_str!("../../help/files.md")),
    ("monitor", "the screen of watch and its keys", include_str!("../../help/monitor.md")),
    ("screens", "the screens of measures and their keys", include_str!("../../help/screens.md")),
    ("stream", "what meter writes and show reads", include_str!("../../help/stream.md")),
    ("filter", "which frames are wanted", include_str!("../../help/filter.md")),
    ("iso-tcp", "transport connections over TCP", include_str!("../../help/iso-tcp.md")),
    ("advise", "settings for a network of one's own", include_str!("../../help/advise.md")),
    (
        "reproduce",
        "a paper beside ours, and how verdicts come about",
        include_str!("../../help/reproduce.md"),
    ),
    ("layers", "what each layer of a station costs", include_str!("../../help/layers.md")),
    ("output", "run folders and NDJSON records", include_str!("../../help/output.md")),
    ("privileges", "what needs which permission", include_str!("../../help/privileges.md")),
    ("exit-codes", "how commands end", include_str!("../../help/exit-codes.md")),
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
    for option in command.get_arguments().filter(|option| !option.is_positional()) {
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

/// The text of a topic, or else what a verb's `--help` says.
fn text(wanted: &str) -> Option<String> {
    let topic = TOPICS.into_iter().find(|(name, _, _)| *name == wanted);
    topic.map(|(_, _, text)| text.to_owned()).or_else(|| {
        let asked = Cli::try_parse_from(["tidewire", wanted, "--help"]).err()?;
        (asked.kind() == ErrorKind::DisplayHelp).then(|| asked.render().to_string())
    })
}
