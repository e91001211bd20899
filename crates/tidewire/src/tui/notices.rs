//! What an operator should be told of: oddities, retransmissions, connections, and what the monitor
//! itself was asked to do or failed at.
//!
//! The meter judges the frames, second by second; here its reports become sentences. They are about
//! the whole network, whatever the filter.
//!
//! Left out: frames of which the capture kept too little, and foreign frames after the first of
//! their sort, since on most networks most frames are foreign to a meter of class 4.

use core::time::Duration;
use meter::oddity::Class;
use meter::{Meter, Report, Settings};
use std::collections::{BTreeSet, VecDeque};
use wire::dissect::Link;
use wire::time::Instant;

/// How many are kept.
const KEPT: usize = 256;
/// How long the meter gathers before it reports.
const EVERY: Duration = Duration::from_secs(1);

/// Something to be told.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Notice {
    /// When it was, since the start.
    pub(crate) at: Duration,
    /// What it was.
    pub(crate) text: String,
}

/// What was to be told lately.
#[derive(Clone, Debug)]
pub(super) struct Notices {
    origin: Instant,
    meter: Meter,
    kept: VecDeque<Notice>,
    /// How many were there before those kept.
    dropped: u64,
    foreign: BTreeSet<&'static str>,
}

impl Notices {
    /// None yet, and time counts from `origin`.
    pub(super) fn new(origin: Instant) -> Self {
        let settings = Settings { origin: Some(origin), ..Settings::every(EVERY) };
        let (meter, kept, foreign) = (Meter::new(settings), VecDeque::new(), BTreeSet::new());
        Self { origin, meter, kept, dropped: 0, foreign }
    }

    /// Takes notice of a frame.
    pub(super) fn observe(&mut self, at: Instant, link: Link, octets: &[u8], original: usize) {
        self.meter.observe(at, link, octets, original);
        self.take_reports();
    }

    /// Takes notice of the time.
    pub(super) fn advance(&mut self, now: Instant) {
        self.meter.advance(now);
        self.take_reports();
    }

    /// Takes what the last, unfinished second has to report.
    pub(super) fn finish(&mut self) {
        self.meter.finish();
        self.take_reports();
    }

    /// Tells something else.
    pub(super) fn tell(&mut self, at: Duration, text: String) {
        if self.kept.len() == KEPT {
            self.kept.pop_front();
            self.dropped += 1;
        }
        self.kept.push_back(Notice { at, text });
    }

    /// The number of the next to come, counted from the first there ever was.
    pub(super) fn end(&self) -> u64 {
        self.dropped + self.kept.len() as u64
    }

    /// Those kept, oldest first, from this number on.
    pub(super) fn since(&self, number: u64) -> impl DoubleEndedIterator<Item = &Notice> {
        let skipped = usize::try_from(number.saturating_sub(self.dropped)).unwrap_or(usize::MAX);
        self.kept.iter().skip(skipped)
    }

    fn take_reports(&mut self) {
        while let Some(report) = self.meter.take_interval() {
            let at = report.start.since(self.origin);
            for text in sentences(&report, &mut self.foreign) {
                self.tell(at, text);
            }
        }
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

    const SECOND: u64 = 1_000_000_000;

    fn told(notices: &Notices) -> Vec<(u64, &str)> {
        notices.since(0).map(|notice| (notice.at.as_secs(), notice.text.as_str())).collect()
    }

    #[test]
    fn the_meters_oddities_are_told_second_by_second() {
        let origin = Instant::from_nanos(100 * SECOND);
        let mut notices = Notices::new(origin);
        let arp = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 6, 0, 0];
        // A length of 255 where there is nothing.
        let broken = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0, 255];
        for (second, octets) in [(100, &arp[..]), (101, &broken), (101, &broken), (103, &arp)] {
            let at = Instant::from_nanos(second * SECOND);
            notices.observe(at, Link::Ethernet, octets, octets.len());
        }
        notices.advance(Instant::from_nanos(110 * SECOND));
        let expected = [
            (0, "foreign: EtherType; from now on only counted"),
            (1, "malformed: length, 2 times"),
        ];
        assert_eq!(told(&notices), expected);
    }

    #[test]
    fn a_dt_sent_twice_is_told_of() {
        let mut notices = Notices::new(Instant::ZERO);
        // DT number 0 on reference 0x0202: 6 octets of TPDU behind LLC and the inactive subset.
        let frame =
            [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0, 10, 0xFE, 0xFE, 3, 0, 4, 0xF0, 2, 2, 0x80, 7];
        for _ in 0..2 {
            notices.observe(Instant::ZERO, Link::Ethernet, &frame, frame.len());
        }
        notices.finish();
        // Nobody saw the CC, nor DT 0 arrive with what went before.
        let under_way = "transport: connection found under way";
        let expected = ["1 of 2 DTs were sent again", "transport: TSDU not wholly seen", under_way];
        assert_eq!(told(&notices), expected.map(|text| (0, text)));
    }

    #[test]
    fn only_the_latest_are_kept_and_their_numbers_go_on() {
        let mut notices = Notices::new(Instant::ZERO);
        (0..300).for_each(|n| notices.tell(Duration::from_secs(n), String::new()));
        assert_eq!((notices.end(), told(&notices).len(), told(&notices)[0].0), (300, KEPT, 44));
        assert_eq!(notices.since(298).count(), 2);
    }
}
