//! Expedited data of one connection: EDs one at a time, each confirmed (ISO 8073 6.11, 12.2.3.4).

use crate::machine::Timer;
use bytes::Bytes;
use std::collections::VecDeque;

/// The most user data in an ED (13.8.4).
pub(super) const ED_OCTETS: usize = 16;
/// EDs that may wait. A user that hands over more is turned away.
const WAITING: usize = 8;

/// Both directions of expedited data.
#[derive(Clone, Debug)]
pub(super) struct Expedited {
    modulus: u32,
    /// The first is under way if `transmissions` is not zero.
    waiting: VecDeque<Bytes>,
    /// ED-TPDU-NR of the first.
    number: u32,
    transmissions: u32,
    /// Whether the copy sent last is in a queue of this station.
    below: bool,
    /// ED-TPDU-NR of the ED to be delivered next.
    expected: u32,
    /// Whether the last transmission allowed was made.
    pub(super) giving_up: bool,
    pub(super) t1: Timer,
}

impl Expedited {
    pub(super) const fn new(modulus: u32) -> Self {
        Self {
            modulus,
            waiting: VecDeque::new(),
            number: 0,
            transmissions: 0,
            below: false,
            expected: 0,
            giving_up: false,
            t1: Timer::new("T1"),
        }
    }

    /// Takes an ED to be sent; whether there was room.
    pub(super) fn queue(&mut self, data: &Bytes) -> bool {
        let room = self.waiting.len() < WAITING;
        if room {
            self.waiting.push_back(data.clone());
        }
        room
    }

    /// Whether an ED is under way or about to be: no new DT may be sent then.
    pub(super) fn holds_data(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(super) const fn transmissions(&self) -> u32 {
        self.transmissions
    }

    /// The ED to send, if none is under way.
    pub(super) fn take_new(&mut self) -> Option<(u32, Bytes)> {
        if self.transmissions == 0 { self.take_again() } else { None }
    }

    /// The first ED, counted as sent once more; the octets are always the same.
    pub(super) fn take_again(&mut self) -> Option<(u32, Bytes)> {
        let first = self.waiting.front()?.clone();
        self.transmissions += 1;
        Some((self.number, first))
    }

    /// The copy sent last is in a queue of this station: T1 waits.
    pub(super) fn set_below(&mut self, number: u32) {
        if self.transmissions > 0 && number == self.number {
            self.below = true;
            self.t1.stop();
        }
    }

    /// The copy sent last has left; whether T1 waited for it.
    pub(super) fn left_station(&mut self, number: u32) -> bool {
        number == self.number && core::mem::take(&mut self.below)
    }

    /// An EA came in; whether it is the one awaited.
    pub(super) fn acknowledge(&mut self, number: u32) -> bool {
        let awaited = self.transmissions > 0 && number == self.number;
        if awaited {
            self.waiting.pop_front();
            self.number = (self.number + 1) % self.modulus;
            self.transmissions = 0;
            self.below = false;
            self.giving_up = false;
            self.t1.stop();
        }
        awaited
    }

    /// An ED came in; whether it is new and so to be delivered. An EA is due either way.
    pub(super) const fn arrive(&mut self, number: u32) -> bool {
        let new = number == self.expected;
        if new {
            self.expected = (self.expected + 1) % self.modulus;
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wire::time::Instant;

    #[test]
    fn one_ed_is_under_way_at_a_time_and_numbers_start_at_zero() {
        let mut expedited = Expedited::new(128);
        for _ in 0..WAITING {
            assert!(expedited.queue(&Bytes::from_static(b"x")));
        }
        assert!(!expedited.queue(&Bytes::from_static(b"x")), "eight wait");
        assert_eq!(expedited.take_new().map(|(number, _)| number), Some(0));
        assert_eq!(expedited.take_new(), None);
        assert_eq!(expedited.take_again().map(|(number, _)| number), Some(0));
        assert!(!expedited.acknowledge(1), "never sent");
        assert!(expedited.acknowledge(0) && !expedited.acknowledge(0));
        assert_eq!(expedited.take_new().map(|(number, _)| number), Some(1));
    }

    #[test]
    fn an_ea_before_any_ed_is_for_nothing() {
        let mut expedited = Expedited::new(128);
        assert!(!expedited.acknowledge(0));
        assert!(expedited.queue(&Bytes::from_static(b"x")));
        assert!(!expedited.acknowledge(0), "it waits still");
        assert_eq!(expedited.take_new().map(|(number, _)| number), Some(0));
    }

    #[test]
    fn only_the_ed_under_way_has_its_t1_wait_and_begin() {
        let mut expedited = Expedited::new(128);
        assert!(expedited.queue(&Bytes::from_static(b"x")));
        expedited.set_below(0);
        assert!(!expedited.left_station(0), "nothing has been sent");
        expedited.take_new();
        expedited.t1.start(Instant::from_nanos(5));
        expedited.set_below(1);
        assert!(expedited.t1.is_running(), "that is another ED");
        expedited.set_below(0);
        assert!(!expedited.t1.is_running());
        assert!(!expedited.left_station(1));
        assert!(expedited.left_station(0) && !expedited.left_station(0), "once for each copy");
    }

    #[test]
    fn a_duplicate_is_delivered_once_also_across_the_end_of_the_numbers() {
        let mut expedited = Expedited::new(128);
        for round in 0..3 {
            for number in 0..128 {
                assert!(expedited.arrive(number), "{round} {number}");
                assert!(!expedited.arrive(number), "{round} {number}");
            }
        }
    }
}
