//! Timeline of a run as a figure: a bar for each event in the lane of its station or port.

use crate::figure::{EventBar, EventChart, EventStyle, Picture, number};
use crate::study::settings;
use bench::timeline::{Event, MOST_EVENTS, Timeline, What};
use records::quantity::counted;
use std::collections::BTreeMap;
use wire::time::Instant;

/// Columns of the table; times are in nanoseconds from the start of the run.
pub const COLUMNS: [&str; 9] = [
    "start_ns",
    "end_ns",
    "station",
    "event",
    "kind",
    "connection",
    "octets",
    "sequence",
    "retransmitted",
];

/// Run of a timeline, for its title and caption.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run<'a> {
    /// Name of the scenario.
    pub scenario: &'a str,
    /// Settings of the point; empty if no key varies.
    pub settings: &'a BTreeMap<String, String>,
    /// Number of the repetition.
    pub repetition: u64,
}

impl Run<'_> {
    /// Settings of the point in words, behind a comma; empty if no key varies.
    #[must_use]
    pub fn point(&self) -> String {
        if self.settings.is_empty() {
            return String::new();
        }
        format!(", {}", settings(self.settings))
    }
}

/// Contents of a window in words: numbers of transmissions, collisions, token holds and retransmitted TPDUs.
#[must_use]
pub fn summary(timeline: &Timeline) -> String {
    let count = |what: What, name: &str| counted(timeline.count(what) as u64, name);
    let again = counted(timeline.retransmitted() as u64, "frame");
    let mut said = format!(
        "{}, {}, {}, {again} with retransmitted TPDUs",
        count(What::Frame, "transmission"),
        count(What::Collision, "collision"),
        count(What::Hold, "token hold"),
    );
    match timeline.count(What::Opportunity) {
        0 => {}
        1 => said += ", 1 opportunity used",
        n => said += &format!(", {n} opportunities used"),
    }
    if let Some(at) = timeline.cut_at {
        let at = timeline.window.unit.of(at);
        said += &format!("; cut at {at}: more than {} events", number(MOST_EVENTS as f64));
    }
    said
}

/// The timeline as a figure.
#[must_use]
pub fn picture(timeline: &Timeline, run: Run<'_>) -> Picture {
    let Run { scenario, repetition, .. } = run;
    let of = run.point();
    let unit = timeline.window.unit;
    let in_unit = |at: Instant| at.as_nanos() as f64 / unit.nanos as f64;
    let bar = |event: &Event| EventBar {
        lane: event.lane,
        begin: in_unit(event.begin),
        end: in_unit(event.end),
        style: style(event),
        label: label(event),
    };
    Picture::Events(EventChart {
        title: format!("{scenario}{of}: {}", timeline.window),
        caption: caption(timeline, scenario, repetition),
        lanes: timeline.lanes.clone(),
        from: in_unit(timeline.window.from),
        until: in_unit(timeline.window.until),
        unit: unit.symbol.to_owned(),
        bars: timeline.events.iter().map(bar).collect(),
        table: table(timeline),
    })
}

fn caption(timeline: &Timeline, scenario: &str, repetition: u64) -> String {
    let mut caption = format!(
        "Simulated: scenario {scenario}, repetition {repetition}, seed of the run {}. {}.",
        timeline.seed,
        summary(timeline),
    );
    let is_silent = |what| timeline.count(what) == 0;
    let letters = [
        (What::Collision, "×: start of a collision"),
        (What::Lost, "L: lost on the path"),
        (What::BadFcs, "F: wrong FCS"),
        (What::Damaged, "D: damaged on the path"),
        (What::Copied, "C: second copy"),
    ];
    let known: Vec<&str> =
        letters.iter().filter(|(what, _)| !is_silent(*what)).map(|(_, text)| *text).collect();
    if !known.is_empty() {
        caption += &format!(" {}.", known.join("; "));
    }
    if timeline.silent_stations > 0 {
        let stations = counted(timeline.silent_stations as u64, "station");
        caption += &format!(" {stations} without an event in the window left out.");
    }
    caption + " Times are those at the station or port that sends."
}

const fn style(event: &Event) -> EventStyle {
    match event.what {
        What::Hold => EventStyle::Hold,
        What::Opportunity => EventStyle::Opportunity,
        What::Unused => EventStyle::Unused,
        What::Beacon => EventStyle::Beacon,
        What::Frame if matches!(event.retransmitted, Some(true)) => EventStyle::Again,
        What::Frame => EventStyle::Frame,
        What::Token => EventStyle::Token,
        What::Fragment => EventStyle::Fragment,
        What::Backoff => EventStyle::Backoff,
        What::Collision | What::Lost | What::BadFcs | What::Damaged | What::Copied => {
            EventStyle::Moment
        }
    }
}

/// Text in a bar.
fn label(event: &Event) -> String {
    let text = match event.what {
        What::Frame | What::Backoff => &event.kind,
        What::Collision => "×",
        What::Lost => "L",
        What::BadFcs => "F",
        What::Damaged => "D",
        What::Copied => "C",
        What::Hold
        | What::Opportunity
        | What::Unused
        | What::Beacon
        | What::Token
        | What::Fragment => "",
    };
    text.to_owned()
}

/// Lines of its CSV: a heading, then each event.
fn table(timeline: &Timeline) -> Vec<Vec<String>> {
    let count = |count: Option<u64>| count.map(|it| it.to_string()).unwrap_or_default();
    let line = |event: &Event| {
        let retransmitted = match event.retransmitted {
            Some(true) => "yes",
            Some(false) => "no",
            None => "",
        };
        vec![
            event.begin.as_nanos().to_string(),
            event.end.as_nanos().to_string(),
            timeline.lanes.get(event.lane).cloned().unwrap_or_default(),
            event.what.word().to_owned(),
            event.kind.clone(),
            event.connection.clone(),
            count(event.octets.map(|octets| octets as u64)),
            count(event.sequence.map(u64::from)),
            retransmitted.to_owned(),
        ]
    };
    let heading = COLUMNS.map(str::to_owned).to_vec();
    core::iter::once(heading).chain(timeline.events.iter().map(line)).collect()
}
