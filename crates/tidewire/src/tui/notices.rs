//! Notices for the operator: oddities, retransmissions, connections, and requests to the monitor or
//! failures of it.
//!
//! The meter judges the frames second by second; this module turns its reports into sentences. They
//! cover the whole network, whatever the filter.
//!
//! Left out: frames truncated too far by the capture, and foreign frames after the first of their
//! kind, because most frames on most networks are foreign to a class 4 meter.

use core::time::Duration;
use meter::Report;
use meter::oddity::Class;
use std::collections::{BTreeSet, VecDeque};

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

/// The latest notices.
#[derive(Clone, Debug, Default)]
pub(super) struct Notices {
    kept: VecDeque<Notice>,
    /// Number of evicted notices.
    dropped: u64,
    foreign: BTreeSet<&'static str>,
}

impl Notices {
    /// Adds the notices of a report that begins at this time.
    pub(super) fn report(&mut self, at: Duration, report: &Report) {
        for text in sentences(report, &mut self.foreign) {
            self.tell(at, text);
        }
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

fn sentences(report: &Report, foreign: &mut BTreeSet<&'static str>) -> Vec<String> {
    let mut told = Vec::new();
    let connections = &report.measures.traffic.connections;
    let steps = [
        (connections.established, "established"),
        (connections.refused, "refused"),
        (connections.not_agreed, "not agreed on"),
        (connections.ended, "ended"),
    ];
    for (count, what) in steps.into_iter().filter(|(count, _)| *count > 0) {
        let plural = if count == 1 { "" } else { "s" };
        told.push(format!("{count} connection{plural} {what}"));
    }
    let [data, _] = report.measures.traffic.transport.data_and_acknowledgements();
    if data.retransmissions > 0 {
        told.push(format!("{} of {} DTs were sent again", data.retransmissions, data.tpdus));
    }
    for (class, what, times) in report.oddities.iter() {
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
    use wire::dissect::Link;
    use wire::time::Instant;

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
            notices.report(report.start.since(origin), &report);
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
        let expected = ["1 of 2 DTs were sent again", "transport: TSDU not wholly seen", under_way];
        assert_eq!(told(&notices), expected.map(|text| (0, text)));
    }

    #[test]
    fn only_the_latest_are_kept_and_their_numbers_go_on() {
        let mut notices = Notices::default();
        (0..300).for_each(|n| notices.tell(Duration::from_secs(n), String::new()));
        assert_eq!((notices.end(), told(&notices).len(), told(&notices)[0].0), (300, KEPT, 44));
        assert_eq!(notices.since(298).count(), 2);
    }
}
