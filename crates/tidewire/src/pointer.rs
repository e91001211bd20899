//! Place of a mistake in an option, and the topic of help on its values.

use clap::error::{ContextKind, ErrorKind};
use std::error::Error as _;
use wire::printable::Printable;

/// Characters of a value that are shown.
const MOST: usize = 60;

/// An option with its value, and carets under the value.
pub(crate) fn under(option: &str, value: &str) -> String {
    let value: String = Printable(value).to_string().chars().take(MOST).collect();
    let blanks = " ".repeat(option.chars().count() + 1);
    let carets = "^".repeat(value.chars().count().max(1));
    format!("  | {option} {value}\n  | {blanks}{carets}")
}

/// Topic of help on the values of an option, if there is one.
pub(crate) fn topic(option: &str) -> Option<&'static str> {
    Some(match option {
        "--require" => "requirements",
        "--filter" => "filter",
        "--fault" => "faults",
        "--vary" | "--constraint" => "scenario",
        "--only" => "metrics",
        "--keys" => "screens",
        "--keep-around" => "files",
        "--interface" | "--xdp" => "privileges",
        "--over" => "iso-tcp",
        "--measure" | "--report" | "--sample" | "--time" | "--period" | "--t1" | "--size"
        | "--bytes" | "--channel" | "--before" | "--after" | "--keep-most" | "--rotate"
        | "--precision" | "--bits-scale" | "--volume" | "--time-out" | "--reporting" => "units",
        _ => return None,
    })
}

/// Advice for a capture that was given without `-r`; none for other errors.
pub(crate) fn of_capture(error: &clap::Error, verb: Option<String>) -> Option<String> {
    let is_read = verb.is_some_and(|verb| verb == "watch" || verb == "capture");
    if !is_read || error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let word = error.get(ContextKind::InvalidArg)?.to_string();
    match word.as_str() {
        "-" => Some("  fix: -r - reads a capture from standard input".to_owned()),
        word if word.starts_with('-') => None,
        word => Some(format!("  fix: -r {} reads a capture", Printable(word))),
    }
}

/// Advice for an option that has another name in this verb; none for other errors.
pub(crate) fn of_other_name(error: &clap::Error, verb: Option<String>) -> Option<String> {
    let is_calibrate = verb.is_some_and(|verb| verb == "calibrate");
    if !is_calibrate || error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let is_profile = error.get(ContextKind::InvalidArg)?.to_string() == "--profile";
    is_profile.then(|| "  fix: --write-profile FILE; --profile is one that is read".to_owned())
}

/// An error of clap about the value of an option: its text, the place, and the topic of help; none for
/// other errors.
pub(crate) fn of_value(error: &clap::Error) -> Option<String> {
    if !matches!(error.kind(), ErrorKind::ValueValidation | ErrorKind::InvalidValue) {
        return None;
    }
    let context = |kind: ContextKind| error.get(kind).map(ToString::to_string);
    let (argument, value) =
        (context(ContextKind::InvalidArg)?, context(ContextKind::InvalidValue)?);
    let option = argument.split(' ').next().filter(|it| it.starts_with("--"))?;
    let text = error.render().to_string();
    let mut lines = text.split("\n\n").take(1).collect::<String>().trim_end().to_owned();
    // The parser of filters shows the place itself.
    let has_place = error.source().is_some_and(|source| source.to_string().contains('^'));
    if !has_place {
        lines = format!("{lines}\n{}", under(option, &value));
    }
    let topic = topic(option).map(|topic| format!("\n  fix: tidewire help {topic}"));
    Some(lines + &topic.unwrap_or_default())
}
