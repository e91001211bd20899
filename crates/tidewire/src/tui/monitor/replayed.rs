//! Samples of a stream of records, so that the monitor works without frames.
//!
//! Records of samples have the frames and octets of a sampling interval, as the monitor counts them. Without them,
//! complete measurement intervals stand for samples: their packets are all frames, their bits those of LPDUs alone, because
//! records of intervals have no others. The sampling interval is that of the records, of any length, which nothing can
//! divide.

use super::gather::{Gather, Kept};
use super::notices::Notice;
use super::sample::{Count, Interval};
use core::time::Duration;
use meter::registry::Measure;
use records::state::Model;
use records::{Head, Record};
use wire::filter::Filter;
use wire::time::Instant;

/// Returns the records that have samples, and their length; none if there are no samples and the records of intervals
/// have no octets.
fn kept(head: &Head) -> Option<(Kept, Interval)> {
    let of = |nanos: u64| Interval::of_records(Duration::from_nanos(nanos));
    let samples = head.sample_ns.and_then(of).map(|interval| (Kept::Samples, interval));
    let has_octets = head.only.is_none();
    let intervals = || of(head.measure_ns).filter(|_| has_octets).map(|it| (Kept::Intervals, it));
    samples.or_else(intervals)
}

impl Gather {
    /// Creates a gatherer of the records of a stream; none if they hold nothing to make samples of.
    pub(crate) fn of_records(head: &Head) -> Option<Self> {
        let (kept, interval) = kept(head)?;
        Some(Self::new(head.source.clone(), interval, Filter::all()).replaying(kept))
    }

    /// Adds the sample of a record, if it has one.
    pub(crate) fn take(&mut self, record: &Record) {
        let sample = match (record, self.kept()) {
            (Record::Sample(it), Some(Kept::Samples)) => {
                Some((it.start_ns, it.length_ns, it.frames, it.octets))
            }
            (Record::Interval(it), Some(Kept::Intervals)) if it.complete => {
                let octets = it.measures.count(Measure::LpduOctets);
                Some((it.start_ns, it.length_ns, it.frames, octets))
            }
            _ => None,
        };
        let Some((start_ns, length_ns, packets, octets)) = sample else { return };
        let start = Instant::from_nanos(start_ns);
        self.replay(start, Duration::from_nanos(length_ns), Count { packets, octets });
    }
}

/// Returns the events of a model as notices.
pub(in crate::tui) fn events(model: &Model, origin: Instant) -> Vec<Notice> {
    let notice = |at_ns, text: &String| Notice {
        at: Instant::from_nanos(at_ns).since(origin),
        text: text.clone(),
    };
    model.told().map(|event| notice(event.at_ns, &event.text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::monitor::Window;
    use crate::tui::page::fed::fed;

    const SECOND: u64 = 1_000_000_000;

    fn head(measure_ns: u64, sample_ns: Option<u64>) -> Head {
        Head { measure_ns, sample_ns, ..fed(&[], &[], None, 0).head }
    }

    fn interval(number: u64, frames: u64) -> Record {
        let text = format!(
            r#"{{"type":"interval","index":{number},"intervals":1,"start_ns":{},"length_ns":{},
            "complete":true,"frames":{frames},"dropped_by_kernel":null,
            "measures":{{"lpdu_octets":{}}},"metrics":{{}},"oddities":{{}}}}"#,
            7 + number * 10 * SECOND,
            10 * SECOND,
            frames * 100,
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn each_interval_is_a_bar_of_its_frames() {
        let mut gather = Gather::of_records(&head(10 * SECOND, None)).unwrap();
        // Nothing was recorded of the third.
        for record in [interval(0, 50), interval(1, 20), interval(3, 10)] {
            gather.take(&record);
        }
        let seen = gather.snapshot(Window { samples: 10, until: None });
        let packets: Vec<u64> = seen.samples.iter().map(|sample| sample.packets).collect();
        assert_eq!((packets, seen.frames), (vec![50, 20, 0, 10], 80));
        // 80 frames of 100 octets in 40 s, 50 in the busiest 10 s.
        assert_eq!((seen.average.packets, seen.peak.bits), (2.0, 4_000.0));
        assert!(seen.is_of_records);
    }

    #[test]
    fn the_interval_and_the_filter_of_records_stay() {
        let mut gather = Gather::of_records(&head(10 * SECOND, None)).unwrap();
        gather.take(&interval(0, 50));
        let before = gather.snapshot(Window { samples: 10, until: None });
        gather.set_interval(Interval::new(Duration::from_secs(1)).unwrap());
        gather.set_filter("port 102".parse().unwrap());
        let seen = gather.snapshot(Window { samples: 10, until: None });
        assert_eq!((seen.interval, &seen.samples), (before.interval, &before.samples));
        let texts: Vec<&str> = seen.notices.iter().map(|notice| notice.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "the sampling interval stays: it is that of the records",
                "the filter stays: records have no frames"
            ]
        );
    }

    #[test]
    fn an_interval_of_no_whole_number_of_10_ms_has_its_own_bars() {
        let mut gather = Gather::of_records(&head(10 * SECOND, Some(15_000_000))).unwrap();
        for (number, frames) in [(0, 3), (1, 5), (3, 2)] {
            let sample = format!(
                r#"{{"type":"sample","start_ns":{},"length_ns":15000000,"frames":{frames},
                "octets":{},"connections":[]}}"#,
                7 + number * 15_000_000,
                frames * 100,
            );
            gather.take(&serde_json::from_str(&sample).unwrap());
        }
        let seen = gather.snapshot(Window { samples: 10, until: None });
        let packets: Vec<u64> = seen.samples.iter().map(|sample| sample.packets).collect();
        assert_eq!((packets, seen.elapsed), (vec![3, 5, 0, 2], Duration::from_millis(60)));
        // 10 frames in 60 ms; 500 octets in the busiest 15 ms.
        assert_eq!(seen.average.packets.round(), 167.0);
        assert_eq!(seen.peak.bits.round(), 266_667.0);
        assert_eq!(gather.interval().span(), Duration::from_millis(15));
    }

    #[test]
    fn samples_come_first_and_without_octets_there_are_no_bars() {
        let interval =
            |head| Gather::of_records(&head).map(|gather: Gather| gather.interval().span());
        let millis = Duration::from_millis;
        assert_eq!(interval(head(10 * SECOND, Some(SECOND / 10))), Some(millis(100)));
        assert_eq!(interval(head(3_600 * SECOND, None)), Some(millis(3_600_000)));
        let only = Some(vec!["tpdus".to_owned()]);
        assert_eq!(interval(Head { only, ..head(10 * SECOND, None) }), None);
    }
}
