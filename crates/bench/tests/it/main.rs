//! Scenarios run from text to report.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail by panicking")]

mod advise;
mod bounds;
mod case;
mod check;
mod closed_windows;
mod copies;
mod entry;
mod expected;
mod hostile;
mod iso_tcp;
mod kept;
mod live_files;
mod media;
mod members;
mod memory;
mod messages;
mod priorities;
mod profile_entry;
mod report;
mod response;
mod runs;
mod same_meter;
mod texts;
mod timed_token;
mod timeline;
mod titles;
mod verdicts;
mod veth;

use bench::scenario::{Setting, Study, Values, load_with};

/// One flow on an ideal wire at 10 Mbit/s and 5 us; tests set everything else.
const QUIET: &str = r#"version = 1
title = "quiet"
stop = { after = "1 s" }
medium = { kind = "ideal", rate = "10 Mbit/s", delay = "5 us" }
stations = { count = 2, prefix = "s" }

[[flow]]
name = "status"
from = "s-1"
to = "s-2"
service = "datagram"
pattern = { kind = "cyclic", period = "20 ms" }
size = "200 B"
deadline = "1 ms"
"#;

/// Loads the text with keys set, each to one value.
fn study(text: &str, settings: &[(&str, &str)]) -> Study {
    let settings: Vec<Setting> = settings
        .iter()
        .map(|(path, value)| Setting {
            path: (*path).to_owned(),
            values: Values::List(vec![(*value).to_owned()]),
        })
        .collect();
    load_with(text, "test.toml", &settings).unwrap_or_else(|error| panic!("{error}"))
}
mod session;
