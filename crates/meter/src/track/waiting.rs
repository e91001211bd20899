//! Unacknowledged DTs of one direction, with their times.
//!
//! The first is stored inline, so that directions with one DT at a time need no more memory. DTs
//! beyond a limit are not measured.

use crate::packed_instant::PackedInstant;
use std::collections::VecDeque;
use wire::time::Instant;
use wire::tp::Format;

/// Limit of unacknowledged DTs, without the first; later ones are not measured.
const MOST: usize = 1_024;

/// First unacknowledged DT; those after it are stored elsewhere.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    /// Time of the DT; none if every DT is acknowledged.
    since: PackedInstant,
    /// Its number, with the flag [`HAS_MORE`] if others follow it.
    number: u32,
}

/// Flag; no number has this bit.
const HAS_MORE: u32 = 1 << 31;

/// Unacknowledged DTs after the first.
#[derive(Clone, Debug, Default)]
pub(super) struct Behind {
    /// True if their times are not in the order of their numbers.
    is_mixed: bool,
    each: VecDeque<(u32, Instant)>,
}

impl Behind {
    /// True if there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.each.is_empty()
    }

    /// Adds a DT that is no retransmission.
    #[inline(never)]
    fn push(&mut self, format: Format, number: u32, at: Instant) {
        self.is_mixed = match self.each.back() {
            Some((last, _)) => self.is_mixed || !is_ahead(format, *last, number),
            None => false,
        };
        if self.each.len() < MOST {
            self.each.push_back((number, at));
        }
    }

    /// Removes the DTs that are covered; calls `waited` with the delay of each, in nanoseconds, at
    /// `at`.
    #[inline(never)]
    fn take(&mut self, at: Instant, is_covered: impl Fn(u32) -> bool, mut waited: impl FnMut(u64)) {
        while let Some((_, since)) = self.each.pop_front_if(|(number, _)| is_covered(*number)) {
            waited(at.nanos_since(since));
        }
        if self.is_mixed {
            self.each.retain(|(number, since)| {
                if is_covered(*number) {
                    waited(at.nanos_since(*since));
                }
                !is_covered(*number)
            });
        }
    }
}

/// True if `number` is ahead of `from` by less than half the modulus.
const fn is_ahead(format: Format, from: u32, number: u32) -> bool {
    let modulus = format.modulus();
    number.wrapping_sub(from) & (modulus - 1) < modulus / 2
}

impl Waiting {
    pub(super) const NONE: Self = Self { since: PackedInstant::NEVER, number: 0 };

    /// True if the first DT is acknowledged; others may follow it.
    pub(super) fn is_empty(&self) -> bool {
        self.since == PackedInstant::NEVER
    }

    const fn has_more(&self) -> bool {
        self.number & HAS_MORE != 0
    }

    /// Adds a DT that is no retransmission; `more` returns the DTs after the first.
    // Always inline: often no other DT is unacknowledged.
    #[inline(always)]
    pub(super) fn sent<'a>(
        &mut self,
        format: Format,
        number: u32,
        at: Instant,
        more: impl FnOnce() -> &'a mut Behind,
    ) {
        if self.is_empty() && !self.has_more() {
            self.number = number;
            self.since = PackedInstant::of(at);
            return;
        }
        more().push(format, number, at);
        self.number |= HAS_MORE;
    }

    /// Removes every DT before `next`, and calls `waited` with the delay of each in nanoseconds.
    // Always inline: often there is only the first.
    #[inline(always)]
    pub(super) fn acknowledged(
        &mut self,
        format: Format,
        next: u32,
        at: Instant,
        more: Option<&mut Behind>,
        mut waited: impl FnMut(u64),
    ) {
        let is_covered = |number: u32| !is_ahead(format, next, number);
        if let Some(since) = self.since.get()
            && is_covered(self.number & !HAS_MORE)
        {
            waited(at.nanos_since(since));
            self.since = PackedInstant::NEVER;
        }
        let Some(more) = more.filter(|_| self.has_more()) else { return };
        more.take(at, is_covered, waited);
        if more.is_empty() {
            self.number &= !HAS_MORE;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    #[track_caller]
    fn check(sent: &[(u32, u64)], acknowledged: &[(u32, u64)], expected: &[u64]) {
        let (mut waiting, mut found) = (Waiting::NONE, Vec::new());
        let mut more = Behind::default();
        for (number, ms) in sent {
            waiting.sent(Format::Normal, *number, at(*ms), || &mut more);
        }
        for (next, ms) in acknowledged {
            waiting.acknowledged(Format::Normal, *next, at(*ms), Some(&mut more), |span| {
                found.push(span / 1_000_000);
            });
        }
        assert_eq!(found, expected);
    }

    #[test]
    fn an_ak_ends_the_wait_of_every_dt_before_its_number() {
        check(&[(0, 10), (1, 12), (2, 15)], &[(2, 20), (3, 21)], &[10, 8, 6]);
        check(&[(127, 10), (0, 12)], &[(1, 20)], &[10, 8]);
    }

    #[test]
    fn out_of_order_dts_are_covered_by_number() {
        check(&[(0, 10), (2, 11), (1, 12)], &[(2, 20), (3, 30)], &[10, 8, 19]);
        // DTs that come in order after it.
        check(&[(0, 10), (2, 11), (1, 12), (3, 13)], &[(2, 20), (4, 30)], &[10, 8, 19, 17]);
    }

    #[test]
    fn the_first_dt_stays_when_later_ones_are_acknowledged() {
        // DT 2 came before DT 1. The AK of DT 1 comes twice, and does not cover DT 2.
        check(&[(2, 10), (1, 12)], &[(2, 20), (2, 25), (3, 30)], &[8, 20]);
    }

    #[test]
    fn dts_acknowledged_one_by_one_need_no_list() {
        let (mut waiting, mut found) = (Waiting::NONE, Vec::new());
        for number in 0..200 {
            let sent = at(100 * u64::from(number));
            waiting.sent(Format::Normal, number % 128, sent, || {
                unreachable!("DT {number} is the only one")
            });
            let (next, at) = ((number + 1) % 128, at(100 * u64::from(number) + 30));
            let mut waited = |span| found.push(span / 1_000_000);
            waiting.acknowledged(Format::Normal, next, at, None, &mut waited);
        }
        assert_eq!(found, [30; 200]);
    }

    #[test]
    fn memory_is_bounded_for_any_input() {
        let (mut waiting, mut more) = (Waiting::NONE, Behind::default());
        for number in 0..100_000 {
            waiting.sent(Format::Extended, number, at(0), || &mut more);
        }
        assert_eq!(more.each.len(), MOST);
    }
}
