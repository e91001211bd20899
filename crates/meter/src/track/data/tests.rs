//! Numbers of DTs in any order, with repetitions, holes and steps.

use super::*;
use crate::draw::Draw;

/// Direction with its DTs beyond holes, and its TSDU under way.
struct Followed(DataOrder, Beyond, Open);

impl Followed {
    fn from_the_start() -> Self {
        Self(DataOrder::from_the_start(), Beyond::default(), Open::WHOLE)
    }

    fn under_way() -> Self {
        Self(DataOrder::under_way(), Beyond::default(), Open::BROKEN)
    }

    fn arrive(&mut self, format: Format, number: u32, stretch: Stretch) -> Arrival {
        let arrival = self.0.arrive(format, number, stretch, &mut self.2, || &mut self.1);
        assert_eq!(self.0.has_holes(), !self.runs().is_empty());
        arrival
    }

    fn acknowledged(&mut self, format: Format, number: u32) -> Arrival {
        self.0.acknowledged(format, number, &mut self.2, Some(&mut self.1))
    }

    fn numbers(&self, format: Format, next: Option<u32>) -> Option<(u64, Option<u64>)> {
        self.0.numbers(format, next, Some(&self.1))
    }

    fn runs(&self) -> &[Run] {
        &self.1.runs
    }
}

fn arrive(order: &mut Followed, number: u32) -> Arrival {
    order.arrive(Format::Normal, number, Stretch::of(10, true))
}

fn retransmissions(numbers: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let mut order = Followed::from_the_start();
    numbers.into_iter().filter(|number| arrive(&mut order, *number).retransmitted).collect()
}

#[test]
fn numbers_are_counted_on_across_the_wrap() {
    let mut order = Followed::from_the_start();
    (0..300).for_each(|number| {
        arrive(&mut order, number % 128);
    });
    // 300 DTs were sent; the peer expects number 40: 2 x 128 + 40 = 296.
    assert_eq!(order.numbers(Format::Normal, Some(40)), Some((300, Some(296))));
    arrive(&mut order, 303 % 128);
    assert_eq!(order.numbers(Format::Normal, None), Some((304, None)), "the highest counts");
    assert_eq!(Followed::under_way().numbers(Format::Normal, Some(3)), None);
}

#[test]
fn a_repeated_number_is_a_retransmission_a_filled_hole_is_not() {
    assert_eq!(retransmissions([0, 1, 2, 2, 1]), [2, 1]);
    assert_eq!(retransmissions([0, 2, 3, 1, 2, 1, 4]), [2, 1]);
}

#[test]
fn numbers_wrap_many_times_without_a_false_retransmission() {
    assert_eq!(retransmissions((0..1_000).map(|n| n % 128)), [0; 0]);
    // Go-back-N of 15 across the wrap: 120 to 134 are retransmitted.
    let numbers = (0..135).chain(120..140).map(|n| n % 128);
    let expected: Vec<u32> = (120..135).map(|n| n % 128).collect();
    assert_eq!(retransmissions(numbers), expected);
}

#[test]
fn duplicates_are_detected_beyond_32_dts() {
    assert_eq!(retransmissions((0..60).chain([0])), [0]);
    let mut order = Followed::from_the_start();
    for number in 0..10_000 {
        order.arrive(Format::Extended, number, Stretch::of(1, true));
    }
    assert!(order.arrive(Format::Extended, 0, Stretch::of(1, true)).retransmitted);
}

#[test]
fn a_tsdu_is_finished_when_its_last_hole_is_filled() {
    let mut order = Followed::from_the_start();
    let finished: Vec<u64> =
        [0, 2, 3, 1].iter().map(|n| arrive(&mut order, *n).finished.tsdus).collect();
    // DT 3 is complete once DT 2 before it is seen to end a TSDU; DTs 1 and 2 once DT 1
    // arrives.
    assert_eq!(finished, [1, 0, 1, 2]);
}

#[test]
fn an_acknowledged_hole_is_given_up_and_its_tsdu_not_counted() {
    let mut order = Followed::from_the_start();
    assert!([0, 2, 3].map(|number| arrive(&mut order, number).unseen) == [0; 3]);
    assert_eq!(order.acknowledged(Format::Normal, 1), Arrival::default(), "1 is still awaited");
    let given_up = order.acknowledged(Format::Normal, 4);
    assert_eq!(given_up.unseen, 1);
    // DT 2 may go on with the TSDU that DT 1 began; DT 3 was counted when it was seen.
    assert_eq!(given_up.finished, Finished { incomplete: 1, ..Finished::default() });
}

#[test]
fn a_hole_that_no_credit_can_span_is_given_up() {
    let mut order = Followed::from_the_start();
    let unseen: u64 = (1..16).map(|number| arrive(&mut order, number).unseen).sum();
    // DT 15 may be sent only after an AK of DT 0, since credit is at most 15.
    assert_eq!(unseen, 1);
    assert!(order.runs().is_empty());
}

#[test]
fn a_wild_number_is_ignored_until_its_successor_follows() {
    let mut order = Followed::from_the_start();
    arrive(&mut order, 0);
    assert!(arrive(&mut order, 50).out_of_window);
    assert_eq!(
        arrive(&mut order, 1),
        Arrival {
            finished: Finished { tsdus: 1, octets: [10, 0, 0], incomplete: 0 },
            ..Arrival::default()
        }
    );
    arrive(&mut order, 50);
    // Numbers 2 to 49 were never seen: 48 of them.
    assert_eq!(arrive(&mut order, 51).unseen, 48);
    assert!(arrive(&mut order, 2).retransmitted);
}

#[test]
fn memory_is_bounded_for_any_holes() {
    let mut order = Followed::under_way();
    for number in (0..60_000).step_by(2) {
        order.arrive(Format::Extended, number, Stretch::of(1, false));
        assert!(order.runs().len() <= MAXIMUM_RUNS);
    }
}

/// DTs of a sender with a window of 15, at a tap after which nothing is reordered by more than
/// one DT and which misses one in `missed_of` (none if 0): unwrapped numbers in order of
/// arrival.
fn tapped(seed: u64, missed_of: u64) -> Vec<u64> {
    let mut numbers = Draw((seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut draw = |below: u64| u64::from(numbers.below(below));
    let (mut lowest, mut next, mut held) = (0, 0, None);
    let mut tapped = Vec::new();
    while next < 2_000 {
        let sent = match draw(10) {
            0..=5 if next < lowest + 15 => {
                next += 1;
                next - 1
            }
            6 | 7 if next > lowest => lowest + draw(next - lowest),
            _ => {
                // A DT that is held back has not reached the peer, so no AK goes beyond it.
                lowest += draw(held.unwrap_or(next) - lowest + 1);
                continue;
            }
        };
        if held.is_none() && draw(8) == 0 && !tapped.contains(&sent) {
            held = Some(sent);
            continue;
        }
        if missed_of == 0 || draw(missed_of) != 0 {
            tapped.push(sent);
        }
        tapped.extend(held.take());
    }
    tapped
}

#[test]
fn runs_detect_the_same_retransmissions_as_a_set_of_numbers() {
    for seed in 0..200 {
        for missed_of in [0, 10] {
            let mut order = Followed::from_the_start();
            let mut seen = std::collections::BTreeSet::new();
            for (place, number) in tapped(seed, missed_of).into_iter().enumerate() {
                let wrapped = u32::try_from(number % 128).unwrap();
                let retransmitted = arrive(&mut order, wrapped).retransmitted;
                let expected = !seen.insert(number);
                assert_eq!(retransmitted, expected, "seed {seed}, DT {place}: {number}");
            }
        }
    }
}

#[test]
fn every_tsdu_of_a_shuffled_direction_is_counted_once() {
    for seed in 0..200 {
        let mut order = Followed::from_the_start();
        let (mut octets, mut incomplete) = (Vec::new(), 0);
        let mut seen = std::collections::BTreeSet::new();
        for number in tapped(seed, 0) {
            // DT n carries n octets; every third DT ends a TSDU.
            let stretch = Stretch::of(number, number % 3 == 2);
            let wrapped = u32::try_from(number % 128).unwrap();
            let finished = order.arrive(Format::Normal, wrapped, stretch).finished;
            octets.extend(finished.octets.iter().take(finished.tsdus as usize));
            incomplete += finished.incomplete;
            seen.insert(number);
        }
        // Complete are TSDUs of which all three DTs were seen, and the EOT before them.
        let is_whole = |first: &u64| {
            let needed = first.saturating_sub(1)..first + 3;
            needed.clone().count() == seen.range(needed).count()
        };
        let mut expected: Vec<u64> =
            (0..2_001).step_by(3).filter(is_whole).map(|first| 3 * first + 3).collect();
        expected.sort_unstable();
        octets.sort_unstable();
        assert_eq!((octets, incomplete), (expected, 0), "seed {seed}");
    }
}

#[test]
fn an_ak_closes_only_the_holes_before_it() {
    let mut order = Followed::from_the_start();
    let mut expect = |acknowledged: Option<u32>, number: u32, expected: (bool, u64, u64)| {
        let format = Format::Normal;
        let closed = acknowledged.map(|next| order.acknowledged(format, next));
        let arrival = order.arrive(format, number, Stretch::of(10, true));
        let found = closed.unwrap_or_default().finished.incomplete + arrival.finished.incomplete;
        let unseen = closed.unwrap_or_default().unseen;
        assert_eq!((arrival.retransmitted, unseen, found), expected, "{number}");
    };
    expect(None, 0, (false, 0, 0));
    expect(None, 5, (false, 0, 0));
    // 3 is expected: 1 and 2 were missed, and 3 may end the TSDU that began with them.
    expect(Some(3), 1, (true, 2, 0));
    expect(None, 3, (false, 0, 1));
    expect(None, 4, (false, 0, 0));
    // 6 and 7 were missed, and 8 may end the TSDU that began with them.
    expect(None, 8, (false, 0, 0));
    expect(Some(9), 7, (true, 2, 1));
    // An AK beyond all DTs seen proves nothing; an AK of the last one does.
    expect(None, 12, (false, 0, 0));
    expect(Some(20), 9, (false, 0, 0));
    expect(Some(13), 10, (true, 2, 1));
}

#[test]
fn a_dt_out_of_window_counts_once_its_successor_arrives() {
    let mut order = Followed::from_the_start();
    // 1 is missing. A credit of 15 from 3, one past the last, reaches to 17.
    assert!([0, 2].map(|number| arrive(&mut order, number).unseen) == [0; 2]);
    for number in [18, 40] {
        let Arrival { out_of_window, unseen, .. } = arrive(&mut order, number);
        assert_eq!((out_of_window, unseen), (true, 0), "{number}");
    }
    assert!(!arrive(&mut order, 1).retransmitted);
    let far = [arrive(&mut order, 30), arrive(&mut order, 30), arrive(&mut order, 31)];
    assert_eq!(
        far.map(|it| (it.out_of_window, it.retransmitted)),
        [(true, false), (true, true), (true, false)]
    );
    // Numbers 3 to 30 were not seen: 30 itself was taken for an error.
    assert_eq!((far[2].unseen, arrive(&mut order, 32).out_of_window), (27, false));
}

#[test]
fn the_number_of_runs_is_limited() {
    let format = Format::Extended;
    let mut order = Followed::from_the_start();
    let runs = MAXIMUM_RUNS as u32;
    let pass =
        |order: &mut Followed, number| order.arrive(format, number, Stretch::of(10, true)).unseen;
    // Every second number, from 1 on.
    for run in 0..runs {
        assert_eq!(pass(&mut order, 2 * run + 1), 0, "{run}");
    }
    assert_eq!(pass(&mut order, 2 * runs + 1), 1, "the first hole is given up");
    assert_eq!(pass(&mut order, 2 * runs + 3), 1, "and the next one");
}
