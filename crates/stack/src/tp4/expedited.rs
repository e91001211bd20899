//! Expedited data of one connection: one ED at a time, each acknowledged (ISO 8073 6.11, 12.2.3.4).

use crate::machine::Timer;
use bytes::Bytes;
use std::collections::VecDeque;

/// Maximum user data of an ED (13.8.4).
pub(super) const ED_OCTETS: usize = 16;
/// Maximum number of waiting EDs; further ones are refused.
const WAITING: usize = 8;

/// Expedited data in both directions.
#[derive(Clone, Debug)]
pub(super) struct Expedited {
    modulus: u32,
    /// Waiting EDs; the first is outstanding if `transmissions` is not zero.
    waiting: VecDeque<Bytes>,
    /// ED-TPDU-NR of the first.
    number: u32,
    transmissions: u32,
    /// True while its last copy is in a queue of this station.
    below: bool,
    /// ED-TPDU-NR of the next ED to be delivered.
    expected: u32,
    /// True after the last permitted transmission.
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

    /// Queues an ED; returns true if there was room.
    pub(super) fn queue(&mut self, data: &Bytes) -> bool {
        let room = self.waiting.len() < WAITING;
        if room {
            self.waiting.push_back(data.clone());
        }
        room
    }

    /// Returns true if an ED is outstanding or waiting, during which no new DT may be sent.
    pub(super) fn holds_data(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(super) const fn transmissions(&self) -> u32 {
        self.transmissions
    }

    /// Takes the next ED for transmission, if none is outstanding.
    pub(super) fn take_new(&mut self) -> Option<(u32, Bytes)> {
        if self.transmissions == 0 { self.take_again() } else { None }
    }

    /// Takes the first ED for one more transmission, always with the same octets.
    pub(super) fn take_again(&mut self) -> Option<(u32, Bytes)> {
        let first = self.waiting.front()?.clone();
        self.transmissions += 1;
        Some((self.number, first))
    }

    /// Stops T1 while the last copy is in a queue of this station.
    pub(super) fn set_below(&mut self, number: u32) {
        if self.transmissions > 0 && number == self.number {
            self.below = true;
            self.t1.stop();
        }
    }

    /// Records that the last copy has left the station; returns true if T1 waited for it.
    pub(super) fn left_station(&mut self, number: u32) -> bool {
        number == self.number && core::mem::take(&mut self.below)
    }

    /// Processes an EA; returns true if it acknowledges the outstanding ED.
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

    /// Processes an ED; returns true if it is new and is to be delivered. An EA is due in either
    /// case.
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
        assert!(!expedited.queue(&Bytes::from_static(b"x")), "eight are waiting");
        assert_eq!(expedited.take_new().map(|(number, _)| number), Some(0));
        assert_eq!(expedited.take_new(), None);
        assert_eq!(expedited.take_again().map(|(number, _)| number), Some(0));
        assert!(!expedited.acknowledge(1), "never sent");
        assert!(expedited.acknowledge(0) && !expedited.acknowledge(0));
        assert_eq!(expedited.take_new().map(|(number, _)| number), Some(1));
    }

    #[test]
    fn an_ea_before_any_ed_is_ignored() {
        let mut expedited = Expedited::new(128);
        assert!(!expedited.acknowledge(0));
        assert!(expedited.queue(&Bytes::from_static(b"x")));
        assert!(!expedited.acknowledge(0), "it is still waiting");
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
        assert!(expedited.t1.is_running(), "number of another ED");
        expedited.set_below(0);
        assert!(!expedited.t1.is_running());
        assert!(!expedited.left_station(1));
        assert!(expedited.left_station(0) && !expedited.left_station(0), "once for each copy");
    }

    #[test]
    fn a_duplicate_is_delivered_once_across_a_number_wrap() {
        let mut expedited = Expedited::new(128);
        for round in 0..3 {
            for number in 0..128 {
                assert!(expedited.arrive(number), "{round} {number}");
                assert!(!expedited.arrive(number), "{round} {number}");
            }
        }
    }
}
