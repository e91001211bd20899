//! Who answers in a response window, and how long it takes until one alone does (IEEE 802.4, the
//! resolving of contention).
//!
//! Whoever opens windows listens for a slot time each. One answer names the successor; where several
//! collide, a resolve_contention frame opens four windows, and each of them answers in the one that
//! the next two bits of its address choose, the greatest bits first, unless it hears another before.
//! So the highest address is left. The same bits decide who
//! claims a lost token.
//!
//! Not modelled: that colliding answers are heard as one, and the random bits that come after those of
//! the address: there are exactly 24 passes of a claim, and of stations of one address the first is taken.
//! Claimants begin together, however far apart they noticed that the token was lost; so only the claim of
//! the winner is reckoned.

use crate::medium::rotation::Picos;
use wire::addr::Mac;

/// Two bits of an address at a time.
pub(super) const PASSES: u32 = 24;

/// The bits of an address that decide in a pass, counted from 0: from 0 to 3.
pub(super) fn deciding_bits(address: Mac, pass: u32) -> u32 {
    let bits = address.0.iter().fold(0_u64, |bits, octet| bits << 8 | u64::from(*octet));
    (bits >> (46 - 2 * pass) & 3) as u32
}

/// Somebody who answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Answerer {
    pub(super) station: usize,
    pub(super) address: Mac,
    /// How long a signal takes between it and whoever asks.
    pub(super) way: Picos,
}

/// How long what is sent in windows takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// A frame without data: a token, solicit_successor or resolve_contention.
    pub(super) empty: Picos,
    /// A frame with an address: set_successor or who_follows.
    pub(super) set_successor: Picos,
    pub(super) slot: Picos,
    /// From what a station hears to what it sends.
    pub(super) station_delay: Picos,
}

/// What came of windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Outcome {
    /// Who answered alone in the end.
    pub(super) successor: Option<usize>,
    /// When whoever asked may send again.
    pub(super) until: Picos,
    /// How many times contention had to be resolved by two bits of the addresses.
    pub(super) passes: u32,
}

impl Times {
    /// Windows that open at this time, one for each of these groups, who answer in theirs unless they
    /// hear another before.
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

    /// Sends resolve_contention from this time on, until one answers alone.
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

    /// When whoever asked may send again after these answers in a window that opens at this time.
    fn answered(&self, window: Picos, group: &[Answerer]) -> Picos {
        let farthest = group.iter().map(|one| one.way).max().unwrap_or_default();
        window + 2 * farthest + 2 * self.station_delay + self.set_successor
    }

    /// How long it takes the one with this address, or the highest, to claim the token: in each pass
    /// it sends claim_token with as many slot times of data as twice its bits, and listens for one.
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
    fn an_answer_comes_after_the_way_there_and_back_and_two_delays() {
        // 2 x 5 + 2 x 7 + 150; in the second window a slot later; none, and both windows pass.
        let none = Outcome { successor: None, until: 1_080, passes: 0 };
        assert_eq!(TIMES.windows(1_000, &[vec![], vec![]]), none);
        let first = Outcome { successor: Some(3), until: 1_174, passes: 0 };
        assert_eq!(TIMES.windows(1_000, &[vec![one(3, 1)], vec![one(4, 2)]]), first);
        let second = Outcome { successor: Some(4), until: 1_214, passes: 0 };
        assert_eq!(TIMES.windows(1_000, &[vec![], vec![one(4, 2)]]), second);
    }

    #[test]
    fn the_highest_address_wins_in_the_pass_in_which_its_bits_alone_are_the_greatest() {
        // Bits of the last octet: 0x60 = 01 10 00 00, 0x50 = 01 01 00 00. The 40 bits before are 20
        // passes, all in the last window; then 01 and 01 collide in the third, and 10 is alone in
        // the second. 1,174 + 20 (100 + 3 x 40 + 174) + (100 + 2 x 40 + 174) + (100 + 40 + 174).
        let group = vec![one(1, 0x50), one(2, 0x60), one(3, 0x10)];
        let until = 1_174 + 20 * 394 + 354 + 314;
        let outcome = Outcome { successor: Some(2), until, passes: 22 };
        assert_eq!(TIMES.windows(1_000, &[group]), outcome);
        let twins = TIMES.windows(0, &[vec![one(1, 9), one(2, 9)]]);
        assert_eq!((twins.successor, twins.passes), (Some(1), 24));
    }

    #[test]
    fn a_claim_has_so_many_slots_as_the_bits_of_the_address_say() {
        // 0x1B = 00 01 10 11: 0 + 2 + 4 + 6 slot times of data beside 24 frames and slots.
        assert_eq!(TIMES.claim(one(0, 0x1B).address), 24 * (100 + 40) + 12 * 40);
    }
}
