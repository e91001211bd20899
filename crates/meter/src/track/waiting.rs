//! DTs of one direction that wait for their AK, and since when.
//!
//! The first stands by itself, so that directions with one DT at a time need no more room. DTs
//! beyond a limit are not measured.

use crate::moment::Moment;
use std::collections::VecDeque;
use wire::time::Instant;
use wire::tp::Format;

/// DTs that wait at a time, but for the first; later ones are not measured.
const MOST: usize = 1_024;

/// DTs without an AK: the first of them. Those behind it are kept elsewhere.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    /// Since when; none where none waits.
    since: Moment,
    /// Its number, and whether there are any behind it: [`HAS_MORE`].
    number: u32,
}

/// No number has this bit.
const HAS_MORE: u32 = 1 << 31;

/// DTs without an AK behind the first.
#[derive(Clone, Debug, Default)]
pub(super) struct Behind {
    /// Whether some wait in another order than that of their numbers.
    is_mixed: bool,
    each: VecDeque<(u32, Instant)>,
}

impl Behind {
    /// Whether none waits.
    pub(super) fn is_empty(&self) -> bool {
        self.each.is_empty()
    }

    /// Takes notice of a DT that was not sent before.
    #[inline(never)]
    fn push(&mut self, format: Format, (number, at): (u32, Instant)) {
        self.is_mixed = match self.each.back() {
            Some((last, _)) => self.is_mixed || !is_ahead(format, *last, number),
            None => false,
        };
        if self.each.len() < MOST {
            self.each.push_back((number, at));
        }
    }

    /// Those that are covered wait no longer; how many nanoseconds each waited by `at`.
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

/// Whether `number` lies ahead of `from` by less than half the modulus.
const fn is_ahead(format: Format, from: u32, number: u32) -> bool {
    let modulus = format.modulus();
    number.wrapping_sub(from) & (modulus - 1) < modulus / 2
}

impl Waiting {
    pub(super) const NONE: Self = Self { since: Moment::NEVER, number: 0 };

    /// Whether none waits but perhaps behind the first.
    pub(super) fn is_empty(&self) -> bool {
        self.since == Moment::NEVER
    }

    const fn has_more(&self) -> bool {
        self.number & HAS_MORE != 0
    }

    /// Takes notice of a DT that was not sent before; `more` is where those behind the first are.
    // Always: many find none that waits.
    #[inline(always)]
    pub(super) fn sent<'a>(
        &mut self,
        format: Format,
        (number, at): (u32, Instant),
        more: impl FnOnce() -> &'a mut Behind,
    ) {
        if self.is_empty() && !self.has_more() {
            self.number = number;
            self.since = Moment::of(at);
            return;
        }
        more().push(format, (number, at));
        self.number |= HAS_MORE;
    }

    /// Takes notice that every DT before `next` is acknowledged, and tells how many nanoseconds each waited.
    // Always: many find the first alone.
    #[inline(always)]
    pub(super) fn acknowledged(
        &mut self,
        format: Format,
        (next, at): (u32, Instant),
        more: Option<&mut Behind>,
        mut waited: impl FnMut(u64),
    ) {
        let is_covered = |number: u32| !is_ahead(format, next, number);
        if let Some(since) = self.since.get()
            && is_covered(self.number & !HAS_MORE)
        {
            waited(at.nanos_since(since));
            self.since = Moment::NEVER;
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
            waiting.sent(Format::Normal, (*number, at(*ms)), || &mut more);
        }
        for (next, ms) in acknowledged {
            let known = (*next, at(*ms));
            waiting.acknowledged(Format::Normal, known, Some(&mut more), |span| {
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
    fn dts_that_came_out_of_order_are_found_behind_those_that_still_wait() {
        check(&[(0, 10), (2, 11), (1, 12)], &[(2, 20), (3, 30)], &[10, 8, 19]);
        // Whatever comes in order after it.
        check(&[(0, 10), (2, 11), (1, 12), (3, 13)], &[(2, 20), (4, 30)], &[10, 8, 19, 17]);
    }

    #[test]
    fn the_first_waits_on_when_those_behind_it_are_acknowledged() {
        // DT 2 came before DT 1. The AK of DT 1 comes twice, and says nothing of DT 2.
        check(&[(2, 10), (1, 12)], &[(2, 20), (2, 25), (3, 30)], &[8, 20]);
    }

    #[test]
    fn where_each_dt_is_acknowledged_before_the_next_none_stands_behind_another() {
        let (mut waiting, mut found) = (Waiting::NONE, Vec::new());
        for number in 0..200 {
            let one = (number % 128, at(100 * u64::from(number)));
            waiting.sent(Format::Normal, one, || unreachable!("DT {number} waits alone"));
            let told = ((number + 1) % 128, at(100 * u64::from(number) + 30));
            waiting.acknowledged(Format::Normal, told, None, |span| found.push(span / 1_000_000));
        }
        assert_eq!(found, [30; 200]);
    }

    #[test]
    fn memory_is_bounded_whatever_is_seen() {
        let (mut waiting, mut more) = (Waiting::NONE, Behind::default());
        for number in 0..100_000 {
            waiting.sent(Format::Extended, (number, at(0)), || &mut more);
        }
        assert_eq!(more.each.len(), MOST);
    }
}
