//! Notices for the operator: oddities, retransmissions, connections, and requests to the monitor or
//! failures of it.
//!
//! The meter judges the frames and reports the counts of the interval under way, each second unless
//! another time was requested; this module turns the increase since the last report into sentences.
//! They cover all metered frames, regardless of the filter of the monitor.
//!
//! Left out: frames truncated too far by the capture, and foreign frames after the first of their
//! kind, because most frames on most networks are foreign to a class 4 meter.

use crate::quantity::agreed;
use core::time::Duration;
use meter::Report;
use meter::measure::Connections;
use meter::oddity::{Class, Oddities};
use std::collections::{BTreeSet, VecDeque};
use wire::time::Instant;

/// Maximum number of notices kept.
const KEPT: usize = 256;

/// A notice for the operator.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Notice {
    /// Time since the start.
    pub(crate) at: Duration,
    /// Text of the notice.
    pub(crate) text: String,
}

/// Counts of the interval under way at its last report.
#[derive(Clone, Debug, Default)]
struct Counts {
    /// Connections established, refused, not agreed on and ended.
    steps: [u64; 4],
    retransmissions: u64,
    dts: u64,
    oddities: Oddities,
}

impl Counts {
    fn of(report: &Report) -> Self {
        let traffic = &report.measures.traffic;
        let Connections { established, refused, not_agreed, ended, .. } = traffic.connections;
        let [data, _] = traffic.transport.data_and_acknowledgements();
        Self {
            steps: [established, refused, not_agreed, ended],
            retransmissions: data.retransmissions,
            dts: data.tpdus,
            oddities: report.oddities.clone(),
        }
    }

    /// Increase since `before`.
    fn since(&self, before: &Self) -> Self {
        let mut steps = self.steps;
        steps.iter_mut().zip(before.steps).for_each(|(now, before)| *now -= before);
        Self {
            steps,
            retransmissions: self.retransmissions - before.retransmissions,
            dts: self.dts - before.dts,
            oddities: self.oddities.since(&before.oddities),
        }
    }
}

/// Last report of the interval under way.
#[derive(Clone, Debug)]
struct Reported {
    index: Option<u64>,
    until: Instant,
    counts: Counts,
}

/// The latest notices.
#[derive(Clone, Debug, Default)]
pub(super) struct Notices {
    kept: VecDeque<Notice>,
    /// Number of evicted notices.
    dropped: u64,
    foreign: BTreeSet<&'static str>,
    reported: Option<Reported>,
}

impl Notices {
    /// Adds the notices of the time since the last report; `origin` is the start of the monitor.
    pub(super) fn report(&mut self, origin: Instant, report: &Report) {
        let counts = Counts::of(report);
        let (index, until) = (report.index, report.start + report.length);
        let before = self.reported.take().filter(|before| before.index == index);
        let (from, more) = match &before {
            Some(before) => (before.until, counts.since(&before.counts)),
            None => (report.start, counts.clone()),
        };
        for text in sentences(&more, &mut self.foreign) {
            self.tell(from.since(origin), text);
        }
        self.reported = Some(Reported { index, until, counts });
    }

    /// Adds a notice from another source.
    pub(super) fn tell(&mut self, at: Duration, text: String) {
        if self.kept.len() == KEPT {
            self.kept.pop_front();
            self.dropped += 1;
        }
        self.kept.push_back(Notice { at, text });
    }

    /// Returns the number of the next notice, counted from the first of all.
    pub(super) fn end(&self) -> u64 {
        self.dropped + self.kept.len() as u64
    }

    /// Returns the notices kept from this number on, oldest first.
    pub(super) fn since(&self, number: u64) -> impl DoubleEndedIterator<Item = &Notice> {
        let skipped = usize::try_from(number.saturating_sub(self.dropped)).unwrap_or(usize::MAX);
        self.kept.iter().skip(skipped)
    }
}

fn sentences(counts: &Counts, foreign: &mut BTreeSet<&'static str>) -> Vec<String> {
    let mut told = Vec::new();
    let steps = counts.steps.into_iter().zip(["established", "refused", "not agreed on", "ended"]);
    for (count, what) in steps.filter(|(count, _)| *count > 0) {
        let plural = if count == 1 { "" } else { "s" };
        told.push(format!("{count} connection{plural} {what}"));
    }
    if counts.retransmissions > 0 {
        let (again, dts) = (counts.retransmissions, counts.dts);
        told.push(agreed(&format!("{again} of {dts} DTs were retransmitted")));
    }
    for (class, what, times) in counts.oddities.iter() {
        match class {
            Class::Truncated => {}
            Class::Foreign => {
                if foreign.insert(what) {
                    told.push(format!("foreign: {what}; from now on only counted"));
                }
            }
            Class::Malformed
            | Class::Unassigned
            | Class::Transport
            | Class::Association
            | Class::Meter
            | Class::Time => {
                let times = if times == 1 { String::new() } else { format!(", {times} times") };
                told.push(format!("{}: {what}{times}", class.name()));
            }
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use meter::{Meter, Settings};
    use records::{Details, Item, Recorder, Spans};
    use std::fs::File;
    use wire::capture::{Capture, Record as Frame};
    use wire::dissect::Link;

    const SECOND: u64 = 1_000_000_000;

    /// Returns the notices of these frames at these seconds, metered from the first second on.
    fn of_frames(first: u64, frames: &[(u64, &[u8])]) -> Notices {
        let origin = Instant::from_nanos(first * SECOND);
        let settings = Settings { origin: Some(origin), ..Settings::every(Duration::from_secs(1)) };
        let (mut meter, mut notices) = (Meter::new(settings), Notices::default());
        for (second, octets) in frames {
            let at = Instant::from_nanos(second * SECOND);
            meter.observe(at, Link::Ethernet, octets, octets.len());
        }
        meter.finish();
        while let Some(report) = meter.take_interval() {
            notices.report(origin, &report);
        }
        notices
    }

    fn told(notices: &Notices) -> Vec<(u64, &str)> {
        notices.since(0).map(|notice| (notice.at.as_secs(), notice.text.as_str())).collect()
    }

    #[test]
    fn oddities_of_the_meter_are_reported_every_second() {
        let arp = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 6, 0, 0];
        // Length indicator 255 without contents.
        let broken = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0, 255];
        let frames = [(100, &arp[..]), (101, &broken), (101, &broken), (103, &arp)];
        let notices = of_frames(100, &frames);
        let expected = [
            (0, "foreign: EtherType; from now on only counted"),
            (1, "malformed: length, 2 times"),
        ];
        assert_eq!(told(&notices), expected);
    }

    #[test]
    fn a_retransmitted_dt_gives_a_notice() {
        // DT number 0 on reference 0x0202: 6 octets of TPDU after LLC and the inactive subset.
        let frame =
            [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0, 10, 0xFE, 0xFE, 3, 0, 4, 0xF0, 2, 2, 0x80, 7];
        let notices = of_frames(0, &[(0, &frame), (0, &frame)]);
        // The capture has neither the CC nor any TPDU before DT 0.
        let under_way = "transport: connection found under way";
        let expected =
            ["1 of 2 DTs was retransmitted", "transport: TSDU not wholly seen", under_way];
        assert_eq!(told(&notices), expected.map(|text| (0, text)));
    }

    /// Returns the notices of the capture of a cell, metered over this number of seconds and reported
    /// each second.
    fn of_cell(seconds: u64) -> Vec<Notice> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/cell.pcapng");
        let mut capture = Capture::open(File::open(path).unwrap()).unwrap();
        let report = Duration::from_secs(1);
        let settings = Settings::every(Duration::from_secs(seconds));
        let spans = Spans { report, sample: None, intervals: None };
        let mut recorder = Recorder::new(settings, spans, Details { top: 0 });
        while let Some(Frame { at, link, octets, original_octets, .. }) = capture.next().unwrap() {
            recorder.observe(at, link, octets, original_octets);
        }
        recorder.finish(false, None);
        let mut notices = Notices::default();
        while let Some(item) = recorder.take() {
            if let Item::Interval(interval) = item {
                notices.report(Instant::ZERO, &interval.report);
            }
        }
        notices.since(0).cloned().collect()
    }

    #[test]
    fn reports_within_an_interval_give_the_notices_of_each_second() {
        let of_seconds = of_cell(1);
        assert!(of_seconds.len() > 3, "{of_seconds:?}");
        for seconds in [2, 3, 10] {
            assert_eq!(of_cell(seconds), of_seconds, "{seconds} s");
        }
    }

    #[test]
    fn only_the_latest_are_kept_and_their_numbers_go_on() {
        let mut notices = Notices::default();
        (0..300).for_each(|n| notices.tell(Duration::from_secs(n), String::new()));
        assert_eq!((notices.end(), told(&notices).len(), told(&notices)[0].0), (300, KEPT, 44));
        assert_eq!(notices.since(298).count(), 2);
    }
}
