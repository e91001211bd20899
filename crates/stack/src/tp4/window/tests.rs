//! Tests of both windows, number by number.

use super::*;

fn send_window(credit: u32) -> SendWindow {
    let mut window = SendWindow::new(128, credit);
    for _ in 0..300 {
        window.queue(Bytes::from_static(b"tsdu"));
    }
    window
}

fn numbers(window: &mut SendWindow) -> Vec<u32> {
    std::iter::from_fn(|| window.take_new(Instant::ZERO, 1_000).map(|segment| segment.number))
        .collect()
}

#[test]
fn no_dt_is_sent_beyond_the_credit() {
    let mut window = send_window(3);
    assert_eq!(numbers(&mut window), [0, 1, 2]);
    assert!(window.is_blocked());
    let (news, trip) = (News::None, Trip::Since(Instant::ZERO));
    let opened = Acknowledged::InSequence { newly: 2, opened: true, news, trip };
    assert_eq!(window.acknowledge(2, 0, 3), opened);
    assert_eq!(numbers(&mut window), [3, 4]);
}

#[test]
fn a_window_is_blocked_if_data_waits_without_credit() {
    let mut window = SendWindow::new(128, 1);
    assert!(!window.is_blocked(), "no data waits");
    for blocked in [false, true] {
        window.queue(Bytes::from_static(b"tsdu"));
        numbers(&mut window);
        assert_eq!(window.is_blocked(), blocked);
    }
    let mut window = send_window(0);
    assert!(window.is_blocked());
    window.open(128, 1, 1_000);
    assert!(!window.is_blocked(), "it may be sent");
}

#[test]
fn the_last_dt_is_that_of_the_credit_or_of_the_data() {
    let mut window = send_window(3);
    for last in [false, false, true] {
        assert_eq!(window.next_is_last(1_000), last);
        window.take_new(Instant::ZERO, 1_000);
    }
    let mut window = SendWindow::new(128, 9);
    window.queue(Bytes::from_static(b"tsdu"));
    assert!(window.next_is_last(4) && !window.next_is_last(3));
}

#[test]
fn a_round_trip_is_sampled_from_a_last_dt_sent_once() {
    let at = Instant::from_nanos;
    let trips = |again: &[usize], cover: &[u32]| {
        let mut window = send_window(6);
        for nanos in 1..=6 {
            window.take_new(at(nanos), 1_000);
        }
        for place in again {
            window.take_again(at(9), *place);
        }
        let told = cover.iter().map(|next| match window.acknowledge(*next, 0, 6) {
            Acknowledged::InSequence { trip, .. } => trip,
            Acknowledged::OutOfSequence => panic!("{next} is in sequence"),
        });
        told.collect::<Vec<_>>()
    };
    assert_eq!(trips(&[], &[0, 2, 6]), [Trip::Unknown, Trip::Since(at(2)), Trip::Since(at(6))]);
    assert_eq!(trips(&[0], &[1, 2]), [Trip::Unknown, Trip::Since(at(2))]);
    assert_eq!(trips(&[0], &[3, 4]), [Trip::Waited, Trip::Since(at(4))]);
}

#[test]
fn numbers_wrap_at_the_modulus() {
    let mut window = send_window(15);
    let mut sent = Vec::new();
    while sent.len() < 150 {
        let new = numbers(&mut window);
        let next = new.last().map_or(0, |last| (last + 1) % 128);
        let count = new.len() as u32;
        sent.extend(new);
        window.acknowledge(next, 0, 15);
        // 15 a time: the ninth begins with 120 and ends with 6.
        assert_eq!(window.wrapped(count), next == 7, "{next}");
    }
    assert_eq!(sent[126..131], [126, 127, 0, 1, 2]);
}

#[test]
fn a_normal_format_number_is_reused_only_after_a_lifetime() {
    let lifetime = Duration::from_secs(1);
    let at = |seconds: u64| Instant::from_nanos(seconds * 1_000_000_000);
    let mut window = send_window(15);
    for number in 0..113 {
        assert_eq!(window.reusable_at(lifetime), None, "{number} is new");
        window.take_new(at(number), 10);
        window.acknowledge((number as u32 + 1) % 128, 0, 15);
    }
    // 113 = 128 - 15: the peer would accept a late copy of number 0 as number 128.
    assert_eq!(window.reusable_at(lifetime), Some(at(1)));
    window.take_new(at(200), 10);
    assert_eq!(window.reusable_at(lifetime), Some(at(2)), "now number 1 is the oldest");
    window.take_again(at(300), 0);
    for number in 114..=226 {
        window.acknowledge(number % 128, 0, 15);
        assert_eq!(window.take_new(at(400), 10).map(|segment| segment.number), Some(number % 128));
    }
    assert_eq!(window.reusable_at(lifetime), Some(at(401)), "113 was retransmitted at 300");
}

/// Sends numbers 0 and 1 at 0 and 1 s, and lets an event happen to number 1 at 50 s, from which its
/// lifetime counts.
#[track_caller]
fn check_number_1_counts_from(happens: impl FnOnce(&mut SendWindow, Instant)) {
    let lifetime = Duration::from_secs(1);
    let at = |seconds: u64| Instant::from_nanos(seconds * 1_000_000_000);
    let mut window = send_window(15);
    window.take_new(at(0), 10);
    window.take_new(at(1), 10);
    happens(&mut window, at(50));
    for number in 2..113 {
        window.acknowledge(number - 1, 0, 15);
        window.take_new(at(60), 10);
    }
    assert_eq!(window.reusable_at(lifetime), Some(at(1)), "number 0 was sent at 0");
    window.acknowledge(113, 0, 15);
    window.take_new(at(61), 10);
    assert_eq!(window.reusable_at(lifetime), Some(at(51)), "number 1 was there at 50");
}

#[test]
fn a_retransmission_delays_the_reuse_of_its_number() {
    check_number_1_counts_from(|window, at| {
        window.take_again(at, 1);
    });
}

#[test]
fn a_wrap_is_counted_when_number_zero_is_acknowledged() {
    let mut window = send_window(1);
    for next in (1..128).chain([0, 1]) {
        window.take_new(Instant::ZERO, 10);
        window.acknowledge(next, 0, 1);
        assert_eq!(window.wrapped(1), next == 0, "{next}");
    }
}

#[test]
fn a_late_departure_delays_the_reuse_of_its_number() {
    let left = |window: &mut SendWindow, at| {
        window.set_below(1);
        assert_eq!(window.left_station(1, at), Some(1));
    };
    check_number_1_counts_from(left);
}

#[test]
fn an_idle_window_keeps_numbers_for_the_lifetime_of_old_dts() {
    let lifetime = Duration::from_secs(1);
    let at = |seconds: u64| Instant::from_nanos(seconds * 1_000_000_000);
    let mut window = SendWindow::new(128, 15);
    for number in 0..113 {
        window.queue(Bytes::from_static(b"tsdu"));
        window.take_new(at(5), 10);
        window.acknowledge(number + 1, 0, 15);
    }
    window.rest(at(5), lifetime);
    assert_eq!(window.reusable_at(lifetime), Some(at(6)));
    window.rest(at(6), lifetime);
    assert_eq!(window.reusable_at(lifetime), None);
}

#[test]
fn aks_out_of_sequence_have_no_effect() {
    let mut window = send_window(8);
    assert_eq!(numbers(&mut window).len(), 8);
    assert_ne!(window.acknowledge(4, 0, 2), Acknowledged::OutOfSequence);
    // Older; never sent; same number and less credit without a higher subsequence number.
    assert_eq!(window.acknowledge(3, 0, 9), Acknowledged::OutOfSequence);
    assert_eq!(window.acknowledge(9, 0, 9), Acknowledged::OutOfSequence);
    assert_eq!(window.acknowledge(4, 0, 1), Acknowledged::OutOfSequence);
    // 12.2.3.7 b and c: reduced with a higher subsequence, equal credit, more credit.
    for (subsequence, credit) in [(1, 1), (1, 1), (1, 5), (2, 0)] {
        let in_sequence = window.acknowledge(4, subsequence, credit);
        assert_ne!(in_sequence, Acknowledged::OutOfSequence, "{subsequence} {credit}");
    }
}

#[test]
fn only_an_opening_or_duplicate_ak_needs_confirmation() {
    let mut window = send_window(8);
    numbers(&mut window);
    let news = |window: &mut SendWindow, next, subsequence, credit| match window.acknowledge(
        next,
        subsequence,
        credit,
    ) {
        Acknowledged::InSequence { news, .. } => news,
        Acknowledged::OutOfSequence => panic!("out of sequence"),
    };
    assert_eq!(news(&mut window, 2, 0, 6), News::None);
    assert_eq!(news(&mut window, 2, 0, 6), News::None, "no credit was reduced");
    assert_eq!(news(&mut window, 2, 0, 7), News::None, "the upper edge was never reduced");
    assert_eq!(news(&mut window, 2, 1, 3), News::None, "a reduction does not open the window");
    assert_eq!(news(&mut window, 2, 1, 4), News::Opened, "12.2.3.9 c: it had been 9");
    assert_eq!(news(&mut window, 2, 1, 4), News::Duplicate, "12.2.3.9 a");
    assert_eq!(news(&mut window, 2, 2, 4), News::None, "equal credit raises nothing");
    // The highest edge was 9, three beyond this one.
    assert_eq!(news(&mut window, 3, 0, 3), News::None);
    assert_eq!(news(&mut window, 3, 0, 3), News::Duplicate, "the reduction is not made up for");
    assert_eq!(news(&mut window, 3, 0, 6), News::Opened, "12.2.3.9 c");
    assert_eq!(
        news(&mut window, 3, 0, 6),
        News::Duplicate,
        "the peer repeats it until it is confirmed"
    );
    assert_eq!(news(&mut window, 4, 0, 5), News::None);
    assert_eq!(news(&mut window, 4, 0, 5), News::None, "at 9 again");
    assert_eq!(news(&mut window, 5, 0, 0), News::None);
    assert_eq!(news(&mut window, 5, 0, 1), News::Opened, "12.2.3.9 b: it had been closed");
    assert_eq!(
        news(&mut window, 6, 0, 1),
        News::None,
        "it acknowledges, though it repeats the credit"
    );
}

#[test]
fn retained_octets_are_bounded_at_any_credit() {
    let mut window = SendWindow::new(1 << 31, 0);
    window.open(1 << 31, 65_535, 100);
    window.queue(Bytes::from_static(&[7; 1_000]));
    let sent =
        std::iter::from_fn(|| window.take_new(Instant::ZERO, 30).map(|segment| segment.number));
    // Three segments are 90 octets; the one that crosses 100 is still sent.
    assert_eq!(sent.count(), 4);
    window.acknowledge(4, 0, 65_535);
    let sent =
        std::iter::from_fn(|| window.take_new(Instant::ZERO, 30).map(|segment| segment.number));
    assert_eq!(sent.count(), 4, "acknowledged DTs are not retained");
    window.acknowledge(5, 0, 65_535);
    let sent =
        std::iter::from_fn(|| window.take_new(Instant::ZERO, 30).map(|segment| segment.number));
    assert_eq!(sent.count(), 1, "90 octets are left, and one more segment is sent");
}

#[test]
fn the_dt_that_fills_the_retained_octets_is_the_last() {
    let mut window = SendWindow::new(1 << 31, 0);
    window.open(1 << 31, 65_535, 100);
    window.queue(Bytes::from_static(&[7; 1_000]));
    let sent =
        std::iter::from_fn(|| window.take_new(Instant::ZERO, 50).map(|segment| segment.number));
    assert_eq!(sent.count(), 2);
}

#[test]
fn a_credit_reduction_drops_waiting_dts_beyond_the_edge() {
    let mut window = ReceiveWindow::new(128, 6, 6);
    let data = Bytes::from_static(b"x");
    for number in [1, 4] {
        assert_eq!(
            window.arrive(number, data.clone(), true),
            Arrival::OutOfOrder { follows: false }
        );
    }
    assert!(window.withdraw(3));
    assert_eq!(window.grant(15), 3);
    assert_eq!(window.arrive(4, data.clone(), true), Arrival::OutsideWindow);
    assert_eq!(window.arrive(1, data.clone(), true), Arrival::Duplicate, "it is still waiting");
    assert!(!window.withdraw(0));
    window.give_back(3, 6);
    assert_eq!(window.grant(15), 6);
    assert_eq!(window.arrive(4, data, true), Arrival::OutOfOrder { follows: false });
}

#[test]
fn reduced_credit_stops_retransmission_too() {
    let mut window = send_window(4);
    numbers(&mut window);
    assert!(window.take_again(Instant::ZERO, 3).is_some());
    window.acknowledge(1, 0, 1);
    assert!(
        window.take_again(Instant::ZERO, 0).is_some()
            && window.take_again(Instant::ZERO, 1).is_none()
    );
}

#[test]
fn a_long_tsdu_is_cut_and_only_its_last_piece_ends_it() {
    let mut window = SendWindow::new(128, 9);
    window.queue(Bytes::from_static(b"0123456789"));
    window.queue(Bytes::new());
    let mut pieces = Vec::new();
    while let Some(piece) = window.take_new(Instant::ZERO, 4) {
        pieces.push((window.data(piece), piece.end_of_tsdu));
    }
    let pieces: Vec<_> = pieces.iter().map(|(data, end)| (&data[..], *end)).collect();
    let expected: [(&[u8], bool); 4] =
        [(b"0123", false), (b"4567", false), (b"89", true), (b"", true)];
    assert_eq!(pieces, expected);
}

#[test]
fn a_retransmitted_dt_carries_the_same_user_data() {
    let mut window = SendWindow::new(128, 5);
    for tsdu in [&b"0123456789"[..], b"abcdef", b"", b"xyz"] {
        window.queue(Bytes::from_static(tsdu));
    }
    let told = |window: &SendWindow, segment: Option<Segment>| {
        segment.map(|it| (it.number, window.data(it), it.end_of_tsdu))
    };
    let next = |window: &mut SendWindow| {
        let segment = window.take_new(Instant::ZERO, 4);
        told(window, segment)
    };
    let sent: Vec<_> = std::iter::from_fn(|| next(&mut window)).collect();
    let all: [(u32, &'static [u8], bool); 7] = [
        (0, b"0123", false),
        (1, b"4567", false),
        (2, b"89", true),
        (3, b"abcd", false),
        (4, b"ef", true),
        (5, b"", true),
        (6, b"xyz", true),
    ];
    let all = all.map(|(number, data, end)| (number, Bytes::from_static(data), end));
    assert_eq!(sent, all[..5]);
    // A TSDU that is acknowledged in part stays complete; two acknowledged ones are released.
    for acknowledged in [1, 2, 3, 4, 5] {
        window.acknowledge(acknowledged, 0, 5);
        assert_eq!(next(&mut window).as_ref(), all.get(acknowledged as usize + 4));
        for place in 0..window.outstanding() {
            let again = window.take_again(Instant::ZERO, place);
            assert_eq!(told(&window, again).as_ref(), all.get(acknowledged as usize + place));
        }
    }
}

#[test]
fn the_fourth_dt_behind_a_gap_follows_unless_it_is_the_last() {
    let mut window = ReceiveWindow::new(128, 15, 15);
    let mut follows = |number| match window.arrive(number, Bytes::new(), true) {
        Arrival::OutOfOrder { follows } => follows,
        other => panic!("DT {number}: {other:?}"),
    };
    assert_eq!([1, 2, 3, 4, 5].map(&mut follows), [false, false, false, true, true]);
    assert_eq!([8, 9, 10, 11].map(&mut follows), [false, false, false, true], "a second gap");
    assert!(!follows(6), "it shortens a gap");
    assert!(!follows(7), "it fills a gap");
    assert!(follows(12));
    assert_eq!([13, 14].map(&mut follows), [true, false], "no credit is left");
}

#[test]
fn dts_out_of_order_wait_and_are_delivered_once() {
    let mut window = ReceiveWindow::new(128, 4, 4);
    let data = |text: &'static str| Bytes::from_static(text.as_bytes());
    assert_eq!(window.arrive(1, data("b"), true), Arrival::OutOfOrder { follows: false });
    assert_eq!(window.arrive(1, data("b"), true), Arrival::Duplicate);
    assert_eq!(window.arrive(4, data("e"), true), Arrival::OutsideWindow);
    assert_eq!(window.pop(), None);
    assert_eq!(window.arrive(0, data("a"), true), Arrival::InSequence);
    assert_eq!(window.pop(), Some((data("a"), true)));
    assert_eq!(window.pop(), Some((data("b"), true)));
    assert_eq!(window.pop(), None);
    assert_eq!(window.arrive(0, data("a"), true), Arrival::Duplicate);
    assert_eq!((window.next(), window.grant(15)), (2, 2), "two buffers are still held");
    window.give_back(2, 4);
    assert_eq!((window.next(), window.grant(15)), (2, 4));
}

#[test]
fn the_upper_edge_granted_never_moves_back() {
    let mut window = ReceiveWindow::new(128, 2, 2);
    let mut upper = 2;
    for number in 0..300_u32 {
        assert!(window.passes(number % 128));
        window.pass();
        window.give_back(number % 3, 2);
        let edge = number + 1 + window.grant(15);
        assert!(edge >= upper, "moved from {upper} to {edge}");
        upper = edge;
        if window.is_closed() {
            window.give_back(2, 2);
            upper = number + 1 + window.grant(15);
        }
    }
}
