//! DTs of one direction that wait for their AK, and since when.
//!
//! The first stands by itself, so that directions with one DT at a time need no more room. DTs
//! beyond a limit are not measured.

use std::collections::VecDeque;
use wire::time::Instant;
use wire::tp::Format;

/// DTs that wait at a time, but for the first; later ones are not measured.
const MOST: usize = 1_024;

/// DTs without an AK: the first of them. Those behind it are kept elsewhere.
#[derive(Clone, Debug)]
pub(super) struct Waiting {
    /// The end of time where none waits.
    since: Instant,
    number: u32,
    /// Whether some behind it wait in another order than that of their numbers.
    is_mixed: bool,
    /// Whether there are any behind it.
    has_more: bool,
}

/// Whether `number` lies ahead of `from` by less than half the modulus.
const fn is_ahead(format: Format, from: u32, number: u32) -> bool {
    let modulus = format.modulus();
    number.wrapping_sub(from) & (modulus - 1) < modulus / 2
}

impl Waiting {
    pub(super) const NONE: Self =
        Self { since: Instant::MAX, number: 0, is_mixed: false, has_more: false };

    /// Whether none waits but perhaps behind the first.
    pub(super) fn is_empty(&self) -> bool {
        self.since == Instant::MAX
    }

    /// Takes notice of a DT that was not sent before; `more` is where those behind the first are.
    #[inline]
    pub(super) fn sent<'a>(
        &mut self,
        format: Format,
        (number, at): (u32, Instant),
        more: impl FnOnce() -> &'a mut VecDeque<(u32, Instant)>,
    ) {
        if self.is_empty() && !self.has_more {
            (self.number, self.since, self.is_mixed) = (number, at, false);
            return;
        }
        let more = more();
        let last = more.back().map_or(self.number, |(number, _)| *number);
        self.is_mixed |= !is_ahead(format, last, number);
        self.has_more = true;
        if more.len() < MOST {
            more.push_back((number, at));
        }
    }

    /// Takes notice that every DT before `next` is acknowledged, and tells how many nanoseconds each waited.
    #[inline]
    pub(super) fn acknowledged(
        &mut self,
        format: Format,
        (next, at): (u32, Instant),
        more: Option<&mut VecDeque<(u32, Instant)>>,
        mut waited: impl FnMut(u64),
    ) {
        let is_covered = |number: u32| !is_ahead(format, next, number);
        if !self.is_empty() && is_covered(self.number) {
            waited(at.nanos_since(self.since));
            self.since = Instant::MAX;
        }
        let Some(more) = more.filter(|_| self.has_more) else { return };
        while let Some((_, since)) = more.pop_front_if(|(number, _)| is_covered(*number)) {
            waited(at.nanos_since(since));
        }
        if self.is_mixed {
            more.retain(|(number, since)| {
                if is_covered(*number) {
                    waited(at.nanos_since(*since));
                }
                !is_covered(*number)
            });
        }
        self.has_more = !more.is_empty();
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
        let mut more = VecDeque::new();
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
    }

    #[test]
    fn memory_is_bounded_whatever_is_seen() {
        let (mut waiting, mut more) = (Waiting::NONE, VecDeque::new());
        for number in 0..100_000 {
            waiting.sent(Format::Extended, (number, at(0)), || &mut more);
        }
        assert_eq!(more.len(), MOST);
    }
}
