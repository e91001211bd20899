//! Hand-computed cases, with times in nanoseconds.

use super::*;
use wire::addr::Mac;

/// DT with this number from one station to another.
fn frame(from: u32, to: u32, number: u8) -> Vec<u8> {
    frame_of(from, to, 1, number)
}

/// DT of a given connection.
pub(super) fn frame_of(from: u32, to: u32, connection: u16, number: u8) -> Vec<u8> {
    let [high, low] = connection.to_be_bytes();
    let tpdu = [4, 0xF0, high, low, 0x80 | number, b'x'];
    let mut octets = [Mac::local(to).0, Mac::local(from).0].concat();
    octets.extend((tpdu.len() as u16 + 4).to_be_bytes());
    octets.extend([0xFE, 0xFE, 0x03, 0x00]);
    octets.extend(tpdu);
    octets.resize(60, 0);
    octets
}

/// Sender, receiver, number, near time, far time; no time if a tap did not see it.
type Seen = (u32, u32, u8, Option<i64>, Option<i64>);

/// Result of the frames at two taps.
#[track_caller]
fn found(seen: &[Seen]) -> Found {
    let mut transit = Transit::new(Stamps::TwoClocks, Limits::USUAL);
    for (tap, time) in [(Tap::Near, 0), (Tap::Far, 1)] {
        for (from, to, number, near, far) in seen {
            let Some(nanos) = [near, far][time] else { continue };
            let at = Instant::from_nanos(nanos.cast_unsigned());
            transit.observe(tap, at, Link::Ethernet, &frame(*from, *to, *number), 60);
        }
    }
    transit.finish()
}

#[test]
fn offset_and_transits_are_as_computed_by_hand() {
    // The far clock is 1,000 ahead. Forward: 100 and 140; back: 100 and 160.
    let found = found(&[
        (1, 2, 0, Some(10_000), Some(11_100)),
        (2, 1, 0, Some(12_000), Some(12_900)),
        (1, 2, 1, Some(20_000), Some(21_140)),
        (2, 1, 1, Some(22_000), Some(22_840)),
    ]);
    let clocks = found.clocks.unwrap();
    assert_eq!((found.matching.matched, found.matching.tpdus), (4, [4, 4]));
    // The readings are 1,100 and 1,140 forward, 900 and 840 back: without skew the offset lies
    // between 900 and 1,100; the estimate is the middle. A skew of up to 500 in a million could add
    // 3 ns in the 6 us to either end, and 6 ns from end to end. A stamp is rounded by 1 ns at most.
    let offset = clocks.offset_ns.unwrap();
    assert!((offset.value - 1_000.0).abs() < 1e-6, "{offset:?}");
    assert!((893.0..=899.0).contains(&offset.least), "{offset:?}");
    assert!((1_101.0..=1_107.0).contains(&offset.most), "{offset:?}");
    // At the end, 6 us from the middle: the least forward reading is the first, 12 us before; and 1
    // ns of rounding.
    assert!((clocks.error_ns.unwrap() - 107.0).abs() < 0.01, "{:?}", clocks.error_ns);
    let [there, back] = clocks.ways.map(Option::unwrap);
    assert_eq!((there.least_ns, there.most_ns, there.mean_ns), (100, 140, 120));
    assert_eq!((back.least_ns, back.most_ns, back.mean_ns), (100, 160, 130));
    assert_eq!((there.count, back.count), (2, 2));
}

#[test]
fn the_truth_lies_within_the_bounds_for_skew_and_asymmetry() {
    // Far clock: 5 ms ahead, 40 in a million faster. Forward 300 us to 1.2 ms, back 100 us to 700
    // us, over 100 s: so the least round trip is 400 us, and half of it the error.
    let mut seen = Vec::new();
    for turn in 0..100_i64 {
        let near = 1_000_000_000 * turn + 7;
        let clock = |at: i64| at + 5_000_000 + at / 25_000;
        let (there, back) = (300_000 + turn * 37 % 10 * 90_000, 100_000 + turn * 53 % 7 * 100_000);
        seen.push((1, 2, turn as u8, Some(near), Some(clock(near + there))));
        let leaves = near + 3_000_000;
        seen.push((2, 1, turn as u8, Some(leaves + back), Some(clock(leaves))));
    }
    let clocks = found(&seen).clocks.unwrap();
    let skew = clocks.skew.unwrap();
    assert!(skew.least <= 40e-6 && 40e-6 <= skew.most, "{skew:?}");
    assert!((skew.value - 40e-6).abs() < 2e-6, "{skew:?}");
    // A slope that opens or closes 400 us over 100 s.
    assert!(skew.least > 30e-6 && skew.most < 50e-6, "{skew:?}");
    // In the middle, 49.5 s, the clocks are 5 ms and 49.5 s x 40e-6 = 1.98 ms apart.
    let offset = clocks.offset_ns.unwrap();
    assert!(offset.least <= 6_980_000.0 && 6_980_000.0 <= offset.most, "{offset:?}");
    let [there, back] = clocks.ways.map(Option::unwrap);
    let error = clocks.error_ns.unwrap();
    // Asymmetry of 200 us shows as half of it in each direction, which the bound covers.
    assert!((there.least_ns as f64 - 300_000.0).abs() <= error, "{there:?} {error}");
    assert!((back.least_ns as f64 - 100_000.0).abs() <= error, "{back:?} {error}");
    assert!((there.least_ns + back.least_ns - 400_000).abs() < 10_000, "{there:?} {back:?}");
    assert!((200_000.0..400_000.0).contains(&error), "{error}");
    println!("seen: offset {offset:?}, skew {skew:?}, error {error}");
}

#[test]
fn a_retransmission_is_never_taken_for_the_original() {
    // DT 0 is sent twice. If both copies pass, the first is matched with the first.
    let both = found(&[
        (1, 2, 0, Some(10_000), Some(10_100)),
        (1, 2, 0, Some(90_000), Some(90_100)),
        (2, 1, 0, Some(95_100), Some(95_000)),
    ]);
    assert_eq!(both.clocks.unwrap().ways.map(|way| way.unwrap().most_ns), [100, 100]);
    // If the first is lost between the taps, the second would look 80 us late; so neither counts.
    let lost = found(&[
        (1, 2, 0, Some(10_000), None),
        (1, 2, 0, Some(90_000), Some(90_100)),
        (2, 1, 0, Some(95_100), Some(95_000)),
        (1, 2, 1, Some(96_000), Some(96_100)),
        (1, 2, 2, Some(97_000), None),
    ]);
    let matching = lost.matching;
    assert_eq!((matching.matched, matching.ambiguous), (2, [2, 1]));
    assert_eq!((matching.unmatched, matching.tpdus), ([1, 0], [5, 3]));
    assert_eq!(lost.clocks.unwrap().ways.map(|way| way.unwrap().most_ns), [100, 100]);
}

#[test]
fn one_direction_gives_only_the_excess_over_the_least_transit() {
    let clocks = found(&[
        (1, 2, 0, Some(10_000), Some(910_100)),
        (1, 2, 1, Some(20_000), Some(920_140)),
        (1, 2, 2, Some(30_000), Some(930_100)),
    ])
    .clocks
    .unwrap();
    assert_eq!((clocks.offset_ns, clocks.error_ns), (None, None));
    let [there, back] = clocks.ways;
    assert_eq!((there.unwrap().least_ns, there.unwrap().most_ns, back), (0, 40, None));
}

#[test]
fn the_error_of_a_transit_is_that_of_the_widest_bounds() {
    // As above, but the readings that bound the offset come last: at the beginning, 6 us before the
    // middle, the greatest backward reading lies 12 us ahead, so that 500 in a million add 6 ns to
    // the 100, and rounding 1 ns.
    let clocks = found(&[
        (1, 2, 0, Some(10_000), Some(11_140)),
        (2, 1, 0, Some(12_000), Some(12_840)),
        (1, 2, 1, Some(20_000), Some(21_100)),
        (2, 1, 1, Some(22_000), Some(22_900)),
    ])
    .clocks
    .unwrap();
    assert!((clocks.error_ns.unwrap() - 107.0).abs() < 0.01, "{:?}", clocks.error_ns);
}

#[test]
fn the_fastest_need_not_be_the_first() {
    let clocks =
        found(&[(1, 2, 0, Some(10_000), Some(910_140)), (1, 2, 1, Some(20_000), Some(920_100))])
            .clocks
            .unwrap();
    let way = clocks.ways[0].unwrap();
    assert_eq!((way.least_ns, way.most_ns), (0, 40));
}

#[test]
fn the_first_sender_may_be_at_either_tap() {
    let clocks =
        found(&[(2, 1, 0, Some(20_100), Some(20_000)), (1, 2, 0, Some(30_000), Some(30_100))])
            .clocks
            .unwrap();
    assert_eq!(clocks.ways.map(|way| way.unwrap().count), [1, 1]);
    assert!((clocks.offset_ns.unwrap().value).abs() < 1e-6);
}

#[test]
fn a_frame_truncated_by_one_tap_is_the_same_frame() {
    let mut transit = Transit::new(Stamps::TwoClocks, Limits::USUAL);
    // Ten octets of user data.
    let mut whole = frame(1, 2, 0);
    whole[13] += 9;
    // Link, LLC and network header are 18 octets, that of the DT 5.
    for (tap, octets) in [(Tap::Near, &whole[..]), (Tap::Far, &whole[..23])] {
        transit.observe(tap, Instant::ZERO, Link::Ethernet, octets, 60);
    }
    assert_eq!(transit.finish().matching.matched, 1);
}

#[test]
fn a_link_without_both_stations_matches_no_frame() {
    let whole = frame(1, 2, 0);
    // LINKTYPE_LINUX_SLL, 113: for this host, of Ethernet, with a sender of six octets, 802.2 above.
    let mut cooked = vec![0, 0, 0, 1, 0, 6];
    cooked.extend(Mac::local(1).0);
    cooked.extend([0, 0, 0, 4]);
    cooked.extend(&whole[14..24]);
    for (link, octets, pairs) in [(Link::Ethernet, &whole, 1), (Link::Other(113), &cooked, 0)] {
        let mut transit = Transit::new(Stamps::TwoClocks, Limits::USUAL);
        transit.observe(Near, Instant::ZERO, Link::Ethernet, &whole, whole.len());
        transit.observe(Far, Instant::ZERO, link, octets, octets.len());
        let Matching { tpdus, matched, unmatched, .. } = transit.finish().matching;
        assert_eq!((tpdus, matched, unmatched), ([1, 1], pairs, [1 - pairs; 2]), "{link:?}");
    }
}

#[test]
fn a_host_that_only_sends_is_placed_by_its_receivers() {
    let clocks = found(&[
        (1, 2, 0, Some(10_000), Some(10_100)),
        (2, 1, 0, Some(20_100), Some(20_000)),
        // To the near station, so from the far side; and between two stations with unknown sides.
        (3, 1, 0, Some(30_150), Some(30_000)),
        (4, 5, 0, Some(40_000), Some(40_100)),
    ])
    .clocks
    .unwrap();
    assert_eq!((clocks.ways.map(|way| way.unwrap().count), clocks.unplaced), ([1, 2], 1));
}

#[test]
fn memory_is_limited_and_drops_are_counted() {
    let mut transit = Transit::new(Stamps::TwoClocks, Limits { waiting: 2, pairs: 4 });
    for number in 0..100 {
        for tap in [Tap::Near, Tap::Far] {
            let at = Instant::from_nanos(u64::from(number) * 1_000);
            transit.observe(tap, at, Link::Ethernet, &frame(1, 2, number), 60);
        }
        assert!(transit.pairing.window.counts()[0] <= 2);
    }
    let Found { matching, clocks, .. } = transit.finish();
    assert_eq!(matching.matched, 100);
    // Three are kept at most.
    assert!((97..=100).contains(&matching.beyond), "{matching:?}");
    assert_eq!(clocks.unwrap().ways[0].unwrap().count, 100);
}

#[test]
fn no_frames_give_no_result() {
    let Found { matching, clocks, .. } = found(&[]);
    assert_eq!((matching, clocks), (Matching::default(), None));
}

/// Result of the frames at two taps with one clock: tap, sender, receiver, number, time.
#[track_caller]
fn found_of_one(seen: &[(Tap, u32, u32, u8, u64)]) -> Found {
    let longest = Duration::from_nanos(5_000);
    let mut transit = Transit::new(Stamps::OneClock { longest }, Limits::USUAL);
    for (tap, from, to, number, nanos) in seen {
        let at = Instant::from_nanos(*nanos);
        transit.observe(*tap, at, Link::Ethernet, &frame(*from, *to, *number), 60);
    }
    transit.finish()
}

use Tap::{Far, Near};

#[test]
fn one_clock_gives_each_transit_and_its_direction() {
    let found = found_of_one(&[
        (Near, 1, 2, 0, 10_000),
        (Far, 1, 2, 0, 10_300),
        (Far, 2, 1, 0, 11_000),
        (Near, 1, 2, 1, 11_100),
        (Near, 2, 1, 0, 11_900),
        (Far, 1, 2, 1, 12_000),
    ]);
    let clocks = found.clocks.unwrap();
    assert_eq!((clocks.error_ns, clocks.offset_ns.unwrap().most), (Some(0.0), 0.0));
    let [there, back] = clocks.ways.map(Option::unwrap);
    // Forward 300 and 900 ns, back 900 ns: the directions need not be alike.
    assert_eq!((there.count, there.least_ns, there.mean_ns, there.most_ns), (2, 300, 600, 900));
    assert_eq!((back.count, back.least_ns), (1, 900));
}

#[test]
fn with_one_clock_a_reused_number_is_another_tpdu() {
    // DT 0 four times, 1,000 ns apart. The third is lost between the taps, so neither it nor the
    // fourth is matched, because it is unknown which of them arrived. The first two were settled
    // before.
    let mut seen = Vec::new();
    for turn in 0..4 {
        seen.push((Near, 1, 2, 0, 10_000 + 1_000 * turn));
        if turn != 2 {
            seen.push((Far, 1, 2, 0, 10_100 + 1_000 * turn));
        }
    }
    let Found { matching, clocks, .. } = found_of_one(&seen);
    assert_eq!((matching.matched, matching.ambiguous, matching.unmatched), (2, [2, 1], [0, 0]));
    assert_eq!(clocks.unwrap().ways[0].unwrap().most_ns, 100);
    // Once the lost copy is too old to arrive, the number is matched again.
    seen.extend([(Near, 1, 2, 0, 19_000), (Far, 1, 2, 0, 19_100)]);
    assert_eq!(found_of_one(&seen).matching.matched, 3);
}

#[test]
fn a_duplicate_does_not_wait_for_the_next_use_of_its_number() {
    let mut seen = Vec::new();
    for number in 0..8 {
        let at = 10_000 + 500 * u64::from(number);
        seen.extend([(Near, 1, 2, number, at), (Far, 1, 2, number, at + 100)]);
    }
    // The eighth came twice; 1,000 ns later its number is used again.
    seen.push((Far, 1, 2, 7, 13_700));
    seen.extend([(Near, 1, 2, 7, 14_700), (Far, 1, 2, 7, 14_900)]);
    let Found { matching, clocks, .. } = found_of_one(&seen);
    assert_eq!((matching.matched, matching.unmatched, matching.ambiguous), (9, [0, 1], [0, 0]));
    let [there, back] = clocks.unwrap().ways;
    assert_eq!((there.unwrap().count, there.unwrap().most_ns, back), (9, 200, None));
}

#[test]
fn a_tap_opened_late_or_with_missing_frames_is_matched_again() {
    // The near tap misses the first ten, and their numbers are reused at once: the leaning is
    // learnt anew.
    let mut seen = Vec::new();
    for turn in 0..60_u64 {
        let (number, at) = ((turn % 2) as u8, 10_000 + 1_000 * turn);
        if turn >= 10 {
            seen.push((Near, 1, 2, number, at));
        }
        seen.push((Far, 1, 2, number, at + 100));
    }
    let Found { matching, clocks, .. } = found_of_one(&seen);
    let [there, _] = clocks.unwrap().ways;
    assert_eq!(there.unwrap().most_ns, 100);
    assert!(there.unwrap().count >= 20, "{matching:?}");
}

#[test]
fn with_two_clocks_a_number_reused_later_is_another_tpdu() {
    // DT 0 every 5 s and nine more DTs a second; the third DT 0 is lost between the taps. It is
    // unmatched, and all others are matched: each has had no copy for a second when the next comes.
    let mut transit = Transit::new(Stamps::TwoClocks, Limits::USUAL);
    for turn in 0..250_u64 {
        let number = if turn % 50 == 0 { 0 } else { 1 + (turn % 50) as u8 };
        let frame = frame(1, 2, number);
        for (tap, later) in [(Near, 0), (Far, 300_000)] {
            if (tap, turn) != (Far, 100) {
                let at = Instant::from_nanos(turn * 100_000_000 + later);
                transit.observe(tap, at, Link::Ethernet, &frame, 60);
            }
        }
    }
    let Found { matching, clocks, .. } = transit.finish();
    let Matching { matched, unmatched, ambiguous, .. } = matching;
    assert_eq!((matched, unmatched, ambiguous), (249, [1, 0], [0, 0]));
    assert_eq!(clocks.unwrap().ways[0].unwrap().most_ns, 0);
}

#[test]
fn a_loss_spoils_a_constantly_reused_number_for_seconds_only() {
    // DT 0 every 300 ms, and another DT every 10 ms whose number is reused after 640 ms. The far
    // tap misses the twentieth DT 0, or the near one does, with transits of 2 ms.
    for missing in [Near, Far] {
        let mut transit = Transit::new(Stamps::TwoClocks, Limits::USUAL);
        for turn in 0..6_000_u64 {
            for (tap, later) in [(Near, 0), (Far, 2_000_000)] {
                let at = Instant::from_nanos(turn * 10_000_000 + later);
                let other = frame(1, 2, 1 + (turn % 64) as u8);
                transit.observe(tap, at, Link::Ethernet, &other, 60);
                if turn % 30 == 0 && (tap, turn) != (missing, 600) {
                    transit.observe(tap, at, Link::Ethernet, &frame(1, 2, 0), 60);
                }
            }
        }
        let Found { matching, clocks, .. } = transit.finish();
        let Matching { matched, unmatched, ambiguous, .. } = matching;
        let [more, fewer] = [ambiguous[0].max(ambiguous[1]), ambiguous[0].min(ambiguous[1])];
        // 4 s of 300 ms, and one until it is noticed.
        assert!(more == fewer + 1 && more <= 16 && unmatched == [0, 0], "{matching:?}");
        assert_eq!(matched + more, 6_200);
        assert_eq!(clocks.unwrap().ways[0].unwrap().most_ns, 0);
    }
}

#[test]
fn waiting_copies_are_limited() {
    let mut transit = Transit::new(Stamps::TwoClocks, Limits { waiting: 4, pairs: 10 });
    for turn in 0..1_000 {
        transit.observe(Near, Instant::from_nanos(turn), Link::Ethernet, &frame(1, 2, 0), 60);
        assert!(transit.pairing.window.counts()[1] <= 16);
    }
    assert_eq!(transit.finish().matching.unmatched, [1_000, 0]);
}

/// Result for a far clock with this lead at each time, with transits of 300 us to 1.2 ms forward
/// and 100 us to 700 us back, every 20 ms for 100 s.
fn found_with(ahead: impl Fn(i64) -> i64) -> Found {
    let mut seen = Vec::new();
    for turn in 0..5_000_i64 {
        let near = 20_000_000 * turn + 7;
        let clock = |at: i64| at + ahead(at);
        let (there, back) = (300_000 + turn * 37 % 10 * 90_000, 100_000 + turn * 53 % 7 * 100_000);
        seen.push((1, 2, turn, Some(near), Some(clock(near + there))));
        let leaves = near + 3_000_000;
        seen.push((2, 1, turn, Some(leaves + back), Some(clock(leaves))));
    }
    let mut transit = Transit::new(Stamps::TwoClocks, Limits::USUAL);
    for (tap, place) in [(Near, 0), (Far, 1)] {
        for (from, to, number, near, far) in &seen {
            let Some(nanos) = [near, far][place] else { continue };
            let at = Instant::from_nanos(nanos.cast_unsigned());
            let mut octets = frame(*from, *to, 0);
            // The header of the TPDU has two octets more, of an unknown parameter, as a number.
            octets[17..].fill(0);
            let tpdu = [9, 0xF0, 0, 1, 0x80, 0x55, 3, (number >> 8) as u8, *number as u8, 0, b'x'];
            octets[13] = 15;
            octets[18..29].copy_from_slice(&tpdu);
            transit.observe(tap, at, Link::Ethernet, &octets, 60);
        }
    }
    transit.finish()
}

#[test]
fn the_truth_lies_within_the_bounds_if_a_clock_changes_speed() {
    // 5 ms ahead; 40 in a million faster until 50 s, then 60 slower: no line fits, because it is 2
    // ms to one side at 50 s and 1 ms at the end.
    let ahead = |at: i64| {
        let turn = 50_000_000_000;
        5_000_000 + if at < turn { at / 25_000 } else { turn / 25_000 - (at - turn) * 3 / 50_000 }
    };
    let found = found_with(ahead);
    assert_eq!(found.matching.matched, 10_000);
    let clocks = found.clocks.unwrap();
    assert_eq!(clocks.course, clock::Course::Changing);
    // In the middle, 50 s, 5 ms and 2 ms.
    let offset = clocks.offset_ns.unwrap();
    assert!(offset.least <= 7_000_000.0 && 7_000_000.0 <= offset.most, "{offset:?}");
    // 2 ms more and 3 ms less in 100 s.
    let skew = clocks.skew.unwrap();
    assert!(skew.least <= -10e-6 && -10e-6 <= skew.most, "{skew:?}");
    let error = clocks.error_ns.unwrap();
    let [there, back] = clocks.ways.map(Option::unwrap);
    assert!((there.mean_ns as f64 - 705_000.0).abs() <= error, "{there:?} {error}");
    assert!((back.mean_ns as f64 - 400_000.0).abs() <= error, "{back:?} {error}");
    // The average of both directions together does not depend on the clocks.
    assert!((there.mean_ns + back.mean_ns - 1_105_000).abs() < 1_000, "{there:?} {back:?}");
    // At least half of the least round trip, 400 us. The fastest forward TPDUs come every 200 ms
    // and the fastest backward ones every 140 ms, so that at an end of the capture they are that
    // far away at most. 500 in a million of that are 100 us and 70 us, and half of 570 us is the
    // maximum, plus the drift of the clocks until then, 60 in a million of 340 ms.
    assert!((200_000.0..=285_000.0 + 20_400.0).contains(&error), "{error}");
    println!("seen: offset {offset:?}, skew {skew:?}, error {error}");
}

#[test]
fn a_clock_that_is_set_gives_its_time_and_no_transits() {
    let ahead = |at: i64| if at < 60_000_000_000 { 5_000_000 } else { 25_000_000 };
    let clocks = found_with(ahead).clocks.unwrap();
    let clock::Course::Broken { near_ns } = clocks.course else { panic!("{clocks:?}") };
    assert_eq!((clocks.ways, clocks.error_ns), ([None; 2], None));
    // The first TPDU back after 60 s shows it.
    assert!((60_000_000_000..60_020_000_000).contains(&near_ns), "{near_ns}");
}

#[test]
fn intervals_count_settled_tpdus_and_the_total_counts_all() {
    let longest = Duration::from_nanos(5_000);
    let mut transit = Transit::new(Stamps::OneClock { longest }, Limits::USUAL);
    let see = |transit: &mut Transit, tap, number, nanos| {
        let at = Instant::from_nanos(nanos);
        transit.observe(tap, at, Link::Ethernet, &frame(1, 2, number), 60);
    };
    assert_eq!(transit.take_interval().matching, Matching::default());
    see(&mut transit, Near, 0, 10_000);
    see(&mut transit, Far, 0, 10_100);
    // Seen before the end of the interval, and at the far tap after it; and one that never arrives.
    see(&mut transit, Near, 1, 10_900);
    see(&mut transit, Near, 2, 10_950);
    let first = transit.take_interval();
    assert_eq!((first.matching.matched, first.matching.tpdus), (1, [3, 1]));
    assert_eq!(first.clocks.unwrap().ways[0].unwrap().most_ns, 100);
    see(&mut transit, Far, 1, 11_400);
    transit.advance(Instant::from_nanos(17_000));
    let second = transit.take_interval();
    assert_eq!((second.matching.matched, second.matching.unmatched), (1, [1, 0]));
    assert_eq!(second.clocks.unwrap().ways[0].unwrap().least_ns, 500);
    assert_eq!(transit.take_interval().clocks, None);
    let all = transit.finish();
    assert_eq!((all.matching.matched, all.matching.tpdus), (2, [3, 2]));
    assert_eq!(all.clocks.unwrap().ways[0].unwrap().mean_ns, 300);
}
