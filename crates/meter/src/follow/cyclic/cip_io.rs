//! I/O data of EtherNet/IP: what their set-up says of them.
//!
//! Definition: the time allowed is the packet interval by the connection timeout multiplier, as the
//! Forward_Open and its reply state them (CIP volume 1, 3-5.5.1.4); three learnt periods without a
//! set-up. A forged set-up sets no watchdog beyond limits: an interval of less than 100 us, a multiplier
//! beyond 7, or a watchdog of more than ten minutes is not believed. A frame repeats old data if its
//! sequence count is that of the frame before. Without a set-up that takes eight counts that each grew by
//! one: data of class 0 have none.

use super::station::Station;
use crate::follow::transactions::Opened;
use core::net::Ipv6Addr;
use std::collections::{BTreeMap, VecDeque};
use wire::cip_io::Serial;

/// Maximum number of directions of connections whose set-up is kept.
const KEPT: usize = 8_192;
/// Shortest interval that is believed.
const LEAST_INTERVAL_US: u32 = 100;
/// Greatest multiplier that is defined: 512 intervals.
const MOST_MULTIPLIER: u8 = 7;
/// Longest watchdog that is believed.
const MOST_WATCHDOG_NS: u64 = 600_000_000_000;
/// Counts that grew by one before equal ones are old data, without a set-up.
const GROWN: u8 = 8;

/// Way of a connection, as its set-up states it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stated {
    pub(super) watchdog_ns: u64,
    /// Class of transport: 0 or 1.
    pub(super) class: u8,
    /// True for output data: from the originator to the target.
    pub(super) is_output: bool,
}

/// Sender and connection identifier.
pub(super) type Way = (Station, u32);

/// Set-ups of connections.
#[derive(Clone, Default, Debug)]
pub(super) struct SetUps {
    ways: BTreeMap<Way, (Serial, Stated)>,
    /// The oldest first.
    order: VecDeque<Way>,
}

impl SetUps {
    /// Adds a connection. Returns false if its set-up is not believed.
    pub(super) fn open(&mut self, of: &Opened) -> bool {
        if of.class > 1 {
            return true;
        }
        let watchdog_ns = |interval_us: u32| {
            let is_believed = interval_us >= LEAST_INTERVAL_US && of.multiplier <= MOST_MULTIPLIER;
            let intervals = 4_u64 << of.multiplier.min(MOST_MULTIPLIER);
            let nanos = u64::from(interval_us) * 1_000 * intervals;
            Some(nanos).filter(|nanos| is_believed && *nanos <= MOST_WATCHDOG_NS)
        };
        let [Some(output_ns), Some(input_ns)] = of.intervals_us.map(watchdog_ns) else {
            return false;
        };
        let ([originator, target], [output, input]) = (of.ends, of.connections);
        for (from, connection, watchdog_ns, is_output) in
            [(originator, output, output_ns, true), (target, input, input_ns, false)]
        {
            let stated = Stated { watchdog_ns, class: of.class, is_output };
            self.add((Station::Internet(from), connection), of.serial, stated);
        }
        true
    }

    fn add(&mut self, way: Way, serial: Serial, stated: Stated) {
        if self.ways.insert(way, (serial, stated)).is_none() {
            if self.order.len() == KEPT
                && let Some(oldest) = self.order.pop_front()
            {
                self.ways.remove(&oldest);
            }
            self.order.push_back(way);
        }
    }

    /// Removes a connection. Returns its ways.
    pub(super) fn close(&mut self, ends: [Ipv6Addr; 2], serial: Serial) -> Vec<Way> {
        let is_of = |way: &Way| ends.map(Station::Internet).contains(&way.0);
        let closed: Vec<Way> = self
            .ways
            .iter()
            .filter(|(way, (known, _))| is_of(way) && *known == serial)
            .map(|(way, _)| *way)
            .collect();
        for way in &closed {
            self.ways.remove(way);
        }
        if !closed.is_empty() {
            self.order.retain(|way| !closed.contains(way));
        }
        closed
    }

    /// Set-up of a way, if it is known.
    pub(super) fn get(&self, way: Way) -> Option<Stated> {
        self.ways.get(&way).map(|(_, stated)| *stated)
    }
}

/// Sequence counts of class 1.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Counts {
    last: Option<u16>,
    grown: u8,
}

impl Counts {
    /// Adds a count; `is_class_1` by its set-up. Returns true if the data are old.
    pub(super) fn add(&mut self, count: u16, is_class_1: bool) -> bool {
        let last = self.last.replace(count);
        if last == Some(count.wrapping_sub(1)) {
            self.grown = self.grown.saturating_add(1);
        }
        last == Some(count) && (is_class_1 || self.grown >= GROWN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened(serial: u16, interval_us: u32, multiplier: u8) -> Opened {
        let ends = [1_u128, 2].map(Ipv6Addr::from_bits);
        let serial = Serial { number: serial, vendor: 1, originator: 1 };
        let (connections, intervals_us) = ([serial.number.into(), 7], [interval_us; 2]);
        Opened { ends, serial, connections, intervals_us, multiplier, class: 1 }
    }

    #[test]
    fn a_forged_set_up_sets_no_watchdog_beyond_limits() {
        let believed =
            |interval_us, multiplier| SetUps::default().open(&opened(1, interval_us, multiplier));
        assert!(believed(100, 0) && believed(2_000_000, 2) && believed(1_171_875, 7));
        for (interval_us, multiplier) in
            [(0, 0), (99, 0), (10_000, 8), (10_000, 255), (1_171_876, 7), (u32::MAX, 7)]
        {
            assert!(!believed(interval_us, multiplier), "{interval_us} {multiplier}");
        }
    }

    #[test]
    fn set_ups_are_bounded_and_end_with_a_close() {
        let mut all = SetUps::default();
        (0..20_000).for_each(|serial| assert!(all.open(&opened(serial, 1_000, 0))));
        assert_eq!((all.ways.len(), all.order.len()), (KEPT, KEPT));
        let of = opened(19_999, 1_000, 0);
        let way = (Station::Internet(of.ends[0]), 19_999);
        assert_eq!(all.get(way).map(|it| (it.watchdog_ns, it.is_output)), Some((4_000_000, true)));
        let closed = all.close(of.ends, of.serial);
        assert!(closed.contains(&way) && all.get(way).is_none());
        assert_eq!(all.ways.len(), all.order.len());
    }

    #[test]
    fn data_without_a_count_are_never_old() {
        let mut counts = Counts::default();
        assert!((0..100).all(|_| !counts.add(5, false)));
        let mut counts = Counts::default();
        (0..9).for_each(|n| assert!(!counts.add(n, false)));
        assert!(counts.add(8, false));
        assert!(Counts { last: Some(3), grown: 0 }.add(3, true));
    }
}
