//! Checks of the validity of a stream.

use super::Measures;
use crate::document::{Check, Grade};
use crate::text::Text;
use meter::registry::Measure;
use records::quantity::counted;
use records::{Named, sum};

/// All checks.
pub(super) fn of(measures: &Measures) -> Vec<Check> {
    let odd = measures.end.as_ref().map(|end| end.oddities.clone()).unwrap_or_default();
    let class = |class: &str| {
        sum(odd.iter().filter(|(name, _)| name.starts_with(class)).map(|(_, times)| times))
    };
    vec![
        completeness(measures),
        drops(measures),
        clock(measures, &odd),
        host(measures),
        warm_up(measures),
        capture(class("truncated: "), class("malformed: ")),
        room(class("meter: ")),
    ]
}

fn check(name: &'static str, grade: Grade, text: impl AsRef<str>) -> Check {
    Check { name, grade, text: Text::long(text) }
}

fn completeness(measures: &Measures) -> Check {
    let name = "complete";
    match (&measures.cut, &measures.end) {
        (Some(cut), _) => check(name, Grade::Fail, cut),
        (None, Some(end)) => match &end.error {
            Some(error) if error == "interrupted" && measures.is_live() => {
                check(name, Grade::Pass, "the port was watched until the user ended it")
            }
            Some(error) => check(name, Grade::Fail, format!("it ended early: {error}")),
            None if !end.complete => check(name, Grade::Fail, "it ended early"),
            None if measures.is_live() => {
                check(name, Grade::Pass, "the port was watched for the time that was asked for")
            }
            None => check(name, Grade::Pass, "the frames were read to their end"),
        },
        (None, None) => check(name, Grade::Fail, "the end record is missing"),
    }
}

fn drops(measures: &Measures) -> Check {
    let name = "drops";
    let Some(end) = &measures.end else {
        return check(name, Grade::Open, "not known, because the stream has no end");
    };
    let lost = end.collected().lost();
    let lost = if lost.is_empty() { String::new() } else { format!(": {}", lost.join(", ")) };
    match end.dropped_by_kernel {
        Some(0) => {
            check(name, Grade::Pass, "no frame was dropped by the kernel or by the interface")
        }
        Some(dropped) => {
            let text = format!("{dropped} frames were dropped{lost}; every count is too low");
            check(name, Grade::Fail, text)
        }
        None => check(name, Grade::Note, "not known: the capture has no counts of dropped frames"),
    }
}

fn clock(measures: &Measures, odd: &Named<u64>) -> Check {
    let name = "clock";
    let early = odd.iter().find(|(name, _)| name.ends_with("frame before the origin"));
    if let Some((_, early)) = early {
        let text = format!(
            "{} of {} are earlier than the first, and in no measure",
            early,
            counted(measures.frames(), "frame")
        );
        let is_much = early.saturating_mul(100) >= measures.frames();
        return check(name, if is_much { Grade::Fail } else { Grade::Open }, text);
    }
    let text = if measures.is_live() {
        "one clock: the kernel of this host stamped each frame on arrival"
    } else {
        "times are those of the capture; it does not state the error of its clock"
    };
    check(name, if measures.is_live() { Grade::Pass } else { Grade::Note }, text)
}

fn host(measures: &Measures) -> Check {
    let text = if measures.is_live() {
        "the kernel stamps frames, so that a busy host delays no time; it can drop frames (drops)"
    } else {
        "this host has no effect: frames were stamped when they were captured"
    };
    check("host noise", Grade::Pass, text)
}

fn warm_up(measures: &Measures) -> Check {
    let name = "warm-up";
    let adopted = measures.count(Measure::ConnectionsAdopted);
    match adopted {
        0 => check(name, Grade::Pass, "every frame counts; no connection was found under way"),
        _ => {
            let text = format!(
                "{} found under way: their beginning is in no measure",
                counted(adopted, "connection")
            );
            check(name, Grade::Note, text)
        }
    }
}

fn capture(truncated: u64, malformed: u64) -> Check {
    let name = "capture";
    let text = format!("{truncated} frames captured in part, {malformed} malformed");
    check(name, if truncated + malformed > 0 { Grade::Note } else { Grade::Pass }, text)
}

fn room(lacking: u64) -> Check {
    let name = "room of the meter";
    match lacking {
        0 => check(name, Grade::Pass, "every connection and host had room"),
        _ => check(name, Grade::Fail, format!("the meter had no room {lacking} times")),
    }
}
