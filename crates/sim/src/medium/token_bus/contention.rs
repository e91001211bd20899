//! Response windows: the station that wins a contention, and the time until one station alone
//! responds (IEEE 802.4, resolution of contention).
//!
//! The station that opens windows (the demander) listens for one slot time in each. A single
//! response names the successor. If several collide, a resolve_contention frame opens four windows.
//! Each contender responds in the window chosen by the next two bits of its address, the greatest
//! value first, unless it detects a response in an earlier window. So the highest address wins. The
//! same bits decide which station claims a lost token.
//!
//! Not modelled: the capture of one of several colliding responses, and the random bits after those
//! of the address. A claim has exactly 24 passes, and of stations with one address the first wins.
//! Claimants begin together, however far apart they detected the loss of the token, so only the
//! winner's claim is computed.

use crate::medium::round_robin::Picos;
use wire::addr::Mac;

/// Number of passes: two bits of a 48-bit address at a time.
pub(super) const PASSES: u32 = 24;

/// Address bits that decide in pass `pass`, counted from 0: a value from 0 to 3.
pub(super) fn deciding_bits(address: Mac, pass: u32) -> u32 {
    let bits = address.0.iter().fold(0_u64, |bits, octet| bits << 8 | u64::from(*octet));
    (bits >> (46 - 2 * pass) & 3) as u32
}

/// Station that responds in a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Answerer {
    pub(super) station: usize,
    pub(super) address: Mac,
    /// Propagation delay between it and the demander.
    pub(super) way: Picos,
}

/// Durations used in windows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// Frame without data: a token, solicit_successor or resolve_contention.
    pub(super) empty: Picos,
    /// Frame with an address: set_successor or who_follows.
    pub(super) set_successor: Picos,
    pub(super) slot: Picos,
    /// Delay from the end of reception to the start of a response.
    pub(super) station_delay: Picos,
}

/// Result of windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Outcome {
    /// Station that responded alone in the end.
    pub(super) successor: Option<usize>,
    /// Time at which the demander may send again.
    pub(super) until: Picos,
    /// Number of passes needed to resolve contention, each by two bits of the addresses.
    pub(super) passes: u32,
}

impl Times {
    /// Opens windows at `at`, one for each group of responders. A group responds in its window
    /// unless it detects a response in an earlier one.
    pub(super) fn windows(&self, at: Picos, groups: &[Vec<Answerer>]) -> Outcome {
        let Some(first) = groups.iter().position(|group| !group.is_empty()) else {
            let until = at + groups.len() as Picos * self.slot;
            return Outcome { successor: None, until, passes: 0 };
        };
        let group = &groups[first];
        let until = self.answered(at + first as Picos * self.slot, group);
        match group[..] {
            [one] => Outcome { successor: Some(one.station), until, passes: 0 },
            _ => self.resolve(until, group.clone()),
        }
    }

    /// Sends resolve_contention from `at` on, until one station responds alone.
    fn resolve(&self, mut at: Picos, mut group: Vec<Answerer>) -> Outcome {
        for pass in 0..PASSES {
            let bits = |one: &Answerer| deciding_bits(one.address, pass);
            let most = group.iter().map(bits).max().unwrap_or_default();
            group.retain(|one| bits(one) == most);
            let window = at + self.empty + Picos::from(3 - most) * self.slot;
            at = self.answered(window, &group);
            if let [one] = group[..] {
                return Outcome { successor: Some(one.station), until: at, passes: pass + 1 };
            }
        }
        Outcome { successor: group.first().map(|one| one.station), until: at, passes: PASSES }
    }

    /// Time at which the demander may send again after these responses in a window that opens at
    /// `window`.
    fn answered(&self, window: Picos, group: &[Answerer]) -> Picos {
        let farthest = group.iter().map(|one| one.way).max().unwrap_or_default();
        window + 2 * farthest + 2 * self.station_delay + self.set_successor
    }

    /// Time for the station with this address, if it is the highest, to claim the token. In each
    /// pass it sends claim_token with twice as many slot times of data as its two bits say, and
    /// listens for one.
    pub(super) fn claim(&self, address: Mac) -> Picos {
        let bits: u32 = (0..PASSES).map(|pass| deciding_bits(address, pass)).sum();
        Picos::from(PASSES) * (self.empty + self.slot) + 2 * Picos::from(bits) * self.slot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMES: Times = Times { empty: 100, set_successor: 150, slot: 40, station_delay: 7 };

    fn one(station: usize, last: u8) -> Answerer {
        Answerer { station, address: Mac([0, 0, 0, 0, 0, last]), way: 5 }
    }

    #[test]
    fn a_response_takes_a_round_trip_and_two_station_delays() {
        // 2 x 5 + 2 x 7 + 150; in the second window a slot later; without a response, both windows
        // pass.
        let none = Outcome { successor: None, until: 1_080, passes: 0 };
        assert_eq!(TIMES.windows(1_000, &[vec![], vec![]]), none);
        let first = Outcome { successor: Some(3), until: 1_174, passes: 0 };
        assert_eq!(TIMES.windows(1_000, &[vec![one(3, 1)], vec![one(4, 2)]]), first);
        let second = Outcome { successor: Some(4), until: 1_214, passes: 0 };
        assert_eq!(TIMES.windows(1_000, &[vec![], vec![one(4, 2)]]), second);
    }

    #[test]
    fn the_highest_address_wins_when_its_bits_alone_are_greatest() {
        // Bits of the last octet: 0x60 = 01 10 00 00, 0x50 = 01 01 00 00. The 40 bits before it
        // make 20 passes, all in the last window. Then 01 and 01 collide in the third window, and
        // 10 is alone in the second. 1,174 + 20 (100 + 3 x 40 + 174) + (100 + 2 x 40 + 174) + (100
        // + 40 + 174).
        let group = vec![one(1, 0x50), one(2, 0x60), one(3, 0x10)];
        let until = 1_174 + 20 * 394 + 354 + 314;
        let outcome = Outcome { successor: Some(2), until, passes: 22 };
        assert_eq!(TIMES.windows(1_000, &[group]), outcome);
        let twins = TIMES.windows(0, &[vec![one(1, 9), one(2, 9)]]);
        assert_eq!((twins.successor, twins.passes), (Some(1), 24));
    }

    #[test]
    fn a_claim_lasts_slots_by_the_bits_of_the_address() {
        // 0x1B = 00 01 10 11: 0 + 2 + 4 + 6 slot times of data, in addition to 24 frames and slots.
        assert_eq!(TIMES.claim(one(0, 0x1B).address), 24 * (100 + 40) + 12 * 40);
    }
}
