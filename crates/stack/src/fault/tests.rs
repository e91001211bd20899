//! Tests of each kind of fault.
//!
//! Not modelled: nothing; these are the tests.

use super::*;
use bytes::Bytes;

const FRAMES: u64 = 100_000;
const SECOND: Duration = Duration::from_secs(1);

fn frame(number: u64) -> Frame {
    let mut octets = vec![0xAA; 14];
    octets.extend_from_slice(&number.to_be_bytes());
    octets.extend_from_slice(&[0x00, 0xFF, 0x7E, 0x81]);
    Frame::new(Bytes::from(octets))
}

/// Fates of all frames, numbered from 0, one per microsecond.
fn run(plan: Plan, seed: u64) -> (Faults, Vec<SmallVec<[Outcome; 2]>>) {
    let mut faults = Faults::new(plan, seed, "path").unwrap();
    let at = |number| Instant::from_nanos(number * 1_000);
    let outcomes = (0..FRAMES).map(|n| faults.apply(at(n), frame(n))).collect();
    (faults, outcomes)
}

/// Asserts that `count` of `of` agrees with probability `p`: normal interval of 5 standard
/// deviations, exceeded by chance once in 1.7 million times.
#[track_caller]
fn check(count: u64, of: u64, p: f64) {
    let (count, of) = (count as f64, of as f64);
    let deviation = (of * p * (1.0 - p)).sqrt();
    assert!((count - of * p).abs() <= 5.0 * deviation, "{count} of {of} at probability {p}");
}

fn everything() -> Plan {
    Plan {
        loss: 0.1,
        burst: None,
        fcs_errors: 0.05,
        corruption: Some(Corruption {
            probability: 0.2,
            spared_octets: 14,
            damage: Damage::BitFlips { at_most: 3 },
        }),
        duplication: Some(Duplication { probability: 0.3, after: Duration::from_millis(1) }),
        reordering: Some(Reordering { probability: 0.4, held_back: Duration::from_millis(2) }),
        delay: Delay { constant: Duration::from_millis(3), jitter: Duration::from_millis(4) },
        nsdu_lifetime: SECOND,
    }
}

#[test]
fn every_kind_happens_as_often_as_planned_and_is_counted() {
    let (faults, outcomes) = run(everything(), 1);
    let counts = *faults.counts();
    let tell = |fate| outcomes.iter().flatten().filter(|o| o.fate == fate).count() as u64;
    assert_eq!(counts.frames, FRAMES);
    check(counts.lost, FRAMES, 0.1);
    check(counts.bad_fcs, FRAMES, 0.9 * 0.05);
    let arrived = FRAMES - counts.lost - counts.bad_fcs;
    check(counts.damaged, arrived, 0.2);
    check(counts.duplicated, arrived, 0.3);
    check(counts.held_back, arrived, 0.4);
    assert_eq!(tell(Fate::Lost), counts.lost);
    assert_eq!(tell(Fate::BadFcs), counts.bad_fcs);
    assert_eq!(tell(Fate::Damaged), counts.damaged);
    assert_eq!(tell(Fate::Copied), counts.duplicated);
    assert_eq!(tell(Fate::Whole) + counts.damaged, arrived);
}

#[test]
fn a_harmless_plan_does_nothing() {
    let (_, outcomes) = run(Plan::harmless(Duration::ZERO), 2);
    for (number, outcomes) in outcomes.into_iter().enumerate() {
        let at = Instant::from_nanos(number as u64 * 1_000);
        let expected = Outcome { at, frame: frame(number as u64), fate: Fate::Whole };
        assert_eq!(outcomes.as_slice(), [expected]);
    }
}

#[test]
fn frames_are_as_late_as_planned() {
    // 3 ms always, 0 to 4 ms of jitter, 2 ms more if held back, 1 ms more for the copy.
    let (_, outcomes) = run(everything(), 3);
    let mut sum_nanos = 0;
    let mut held_back = 0;
    for (number, outcomes) in outcomes.iter().enumerate() {
        let late = outcomes[0].at.as_nanos() - number as u64 * 1_000;
        assert!((3_000_000..=9_000_000).contains(&late), "frame {number} came {late} ns late");
        held_back += u64::from(late > 7_000_000);
        sum_nanos += late;
        if let Some(copy) = outcomes.get(1) {
            assert_eq!(copy.at.since(outcomes[0].at), Duration::from_millis(1));
            assert_eq!(copy.frame, frame(number as u64), "a copy equals the frame as sent");
        }
    }
    // Held back and with more than 2 ms of jitter: only frames that arrive are held back.
    check(held_back, FRAMES, 0.9 * 0.95 * 0.4 * 0.5);
    // Mean 3 + 2 + 0.855 x 0.4 x 2 = 5.684 ms; the variance is 16/12 of the jitter and
    // 4 x 0.342 x 0.658 of the holding, 1.495 ms of deviation in all, 4.73 us of the mean of
    // 100,000.
    let mean = sum_nanos as f64 / FRAMES as f64;
    assert!((mean - 5_684_000.0).abs() < 5.0 * 4_730.0, "mean {mean} ns");
}

#[test]
fn one_kind_of_fault_does_not_shift_the_draws_of_another() {
    let copied = |plan| -> Vec<u64> {
        let (_, outcomes) = run(plan, 4);
        (0..FRAMES).filter(|number| outcomes[*number as usize].len() == 2).collect()
    };
    let alone = Plan { duplication: everything().duplication, ..Plan::harmless(SECOND) };
    let with_others = Plan { loss: 0.0, fcs_errors: 0.0, ..everything() };
    assert_eq!(copied(alone), copied(with_others));
    let with_loss = copied(everything());
    let kept: Vec<_> =
        copied(alone).into_iter().filter(|n| with_loss.binary_search(n).is_ok()).collect();
    assert_eq!(kept, with_loss, "loss takes frames away, but copies no others");
}

#[test]
fn faults_are_a_function_of_seed_and_name() {
    let (_, one) = run(everything(), 5);
    let (_, again) = run(everything(), 5);
    let (_, other) = run(everything(), 6);
    assert!(one == again && one != other);
}

#[test]
fn bursts_are_as_frequent_and_as_long_as_planned() {
    // Two states: the path is bad for begin / (begin + end) = 1/6 of the frames, in bursts of 1 /
    // end = 4 frames on average. All frames of a burst are lost.
    let burst = Burst { begin: 0.05, end: 0.25, loss: 1.0 };
    let plan = Plan { burst: Some(burst), ..Plan::harmless(SECOND) };
    let (faults, outcomes) = run(plan, 7);
    let lost: Vec<bool> = outcomes.iter().map(|o| o[0].fate == Fate::Lost).collect();
    let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as u64;
    let good = FRAMES - faults.counts().lost;
    // Each good frame is followed by a burst with probability 0.05, each bad one ends it with 0.25.
    check(bursts, good, 0.05);
    check(bursts, faults.counts().lost, 0.25);
}

#[test]
fn damage_spares_the_header_and_stays_within_its_bits() {
    let (_, outcomes) = run(everything(), 8);
    let mut seen = [0_u64; 4];
    for (number, outcome) in outcomes.iter().map(|o| &o[0]).enumerate() {
        let (sent, arrived) = (frame(number as u64).to_bytes(), outcome.frame.to_bytes());
        assert_eq!(sent.len(), arrived.len());
        assert_eq!(sent[..14], arrived[..14]);
        let flips: u32 = core::iter::zip(&sent, &arrived).map(|(a, b)| (a ^ b).count_ones()).sum();
        if outcome.fate == Fate::Damaged {
            seen[flips as usize] += 1;
        } else {
            let unharmed = flips == 0 || !outcome.fate.arrives();
            assert!(unharmed, "frame {number} is {:?} with {flips} bits", outcome.fate);
        }
    }
    let damaged: u64 = seen.iter().sum();
    assert_eq!(seen[0], 0, "damage changes something");
    (1..=3).for_each(|flips| check(seen[flips], damaged, 1.0 / 3.0));
}

#[test]
fn damage_of_one_octet_never_escapes_fletcher() {
    let damage = Damage::OneOctet;
    let corruption = Some(Corruption { probability: 1.0, spared_octets: 14, damage });
    let (_, outcomes) = run(Plan { corruption, ..Plan::harmless(SECOND) }, 9);
    // ISO 8073's C0 is the sum of the octets modulo 255.
    let sum = |octets: &[u8]| octets.iter().map(|o| u32::from(*o)).sum::<u32>() % 255;
    for (number, outcome) in outcomes.iter().map(|o| &o[0]).enumerate() {
        let (sent, arrived) = (frame(number as u64).to_bytes(), outcome.frame.to_bytes());
        assert_eq!(core::iter::zip(&sent, &arrived).filter(|(a, b)| a != b).count(), 1);
        assert_ne!(sum(&sent), sum(&arrived), "frame {number}");
    }
}

#[test]
fn small_steps_in_several_frames_never_escape_fletcher() {
    let damage = Damage::SmallStep { at_most: 42 };
    let corruption = Some(Corruption { probability: 1.0, spared_octets: 14, damage });
    let (_, outcomes) = run(Plan { corruption, ..Plan::harmless(SECOND) }, 9);
    let sum = |octets: &[u8]| octets.iter().map(|o| u32::from(*o)).sum::<u32>();
    for (number, six) in outcomes.chunks_exact(6).enumerate() {
        let sent = (0..6).map(|i| sum(&frame((number * 6 + i) as u64).to_bytes())).sum::<u32>();
        let arrived = six.iter().map(|one| sum(&one[0].frame.to_bytes())).sum::<u32>();
        // 6 x 42 = 252 at the most, and never back to 0.
        assert_ne!(sent % 255, arrived % 255, "frames {} to {}", number * 6, number * 6 + 5);
    }
}

#[test]
fn a_frame_without_data_cannot_be_damaged() {
    let damage = Damage::BitFlips { at_most: 200 };
    let corruption = Some(Corruption { probability: 1.0, spared_octets: 14, damage });
    let plan = Plan { corruption, ..Plan::harmless(SECOND) };
    let mut faults = Faults::new(plan, 10, "path").unwrap();
    let header = Frame::new(Bytes::from_static(&[0; 14]));
    assert_eq!(faults.apply(Instant::ZERO, header)[0].fate, Fate::Whole);
    // One octet has only eight bits to flip.
    let short = Frame::new(Bytes::from_static(&[0; 15]));
    assert_eq!(faults.apply(Instant::ZERO, short)[0].fate, Fate::Damaged);
    assert_eq!(faults.counts().damaged, 1);
}

#[test]
fn an_invalid_plan_is_refused() {
    let refuse = |plan: Plan| Faults::new(plan, 11, "path").unwrap_err().to_string();
    let harmless = Plan::harmless(SECOND);
    for loss in [-0.1, 1.1, f64::NAN] {
        let complaint = refuse(Plan { loss, ..harmless });
        assert_eq!(complaint, "the probability of loss does not lie from 0 to 1");
    }
    let plan = Plan { nsdu_lifetime: Duration::from_millis(9), ..everything() };
    // 3 + 4 + 2 + 1 ms.
    assert_eq!(refuse(plan), "a frame may be 10ms late, but the protocols assume at most 9ms");
}
