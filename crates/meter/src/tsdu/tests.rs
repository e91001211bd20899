//! TSDUs in any division and order of DTs, and the limit of memory.

use super::assembly::MOST_AHEAD;
use super::*;

const LIMITS: TsduLimits = TsduLimits { octets_each: 16, octets_total: 4_096 };

fn piece(octets: &[u8], ends: bool) -> Piece<'_> {
    Piece { at: Instant::from_nanos(7), ends, octets, length: octets.len() as u64 }
}

fn class_0(octets: &[u8], ends: bool) -> Part<'_> {
    let piece = piece(octets, ends);
    Part { format: Format::Class0, number: 0, expected: [0; 2], is_broken: false, piece }
}

/// A DT of class 4; all numbers below `after` are then known or given up.
fn class_4(number: u32, after: u32, octets: &[u8], ends: bool) -> Part<'_> {
    let piece = piece(octets, ends);
    Part { format: Format::Normal, number, expected: [0, after], is_broken: false, piece }
}

/// The octets of the TSDUs that these DTs of a direction make whole.
fn whole(parts: &[Part<'_>]) -> Vec<Vec<u8>> {
    let mut tsdus = Tsdus::new(|_| true, TsduLimits { octets_total: 1 << 20, ..LIMITS });
    parts.iter().for_each(|part| tsdus.take_in(1, 0, part));
    core::iter::from_fn(|| tsdus.take()).map(|tsdu| tsdu.octets).collect()
}

#[test]
fn a_tsdu_in_one_dt_and_one_in_three_are_whole() {
    let parts = [class_0(b"a", true), class_0(b"b", false), class_0(b"c", false)];
    assert_eq!(whole(&parts), [b"a"]);
    let parts = [&parts[..], &[class_0(b"d", true), class_0(b"", true)]].concat();
    assert_eq!(whole(&parts), [&b"a"[..], b"bcd", b""]);
}

#[test]
fn dts_out_of_order_join_in_the_order_of_numbers() {
    let [a, b, c] = [(0, b"a", false), (1, b"b", true), (2, b"c", true)];
    let of = |parts: [(u32, u32, &[u8; 1], bool); 3]| {
        whole(&parts.map(|(number, after, octets, ends)| class_4(number, after, octets, ends)))
    };
    assert_eq!(
        of([(a.0, 1, a.1, a.2), (b.0, 2, b.1, b.2), (c.0, 3, c.1, c.2)]),
        [&b"ab"[..], b"c"]
    );
    assert_eq!(
        of([(c.0, 0, c.1, c.2), (b.0, 0, b.1, b.2), (a.0, 3, a.1, a.2)]),
        [&b"ab"[..], b"c"]
    );
    // Number 1 is given up with number 2: the TSDU around it is not whole.
    assert_eq!(of([(a.0, 1, a.1, a.2), (c.0, 1, b"x", true), (3, 4, c.1, c.2)]), [b"c"]);
    // Numbers wrap.
    let parts = [(127, 0, b"a", false), (0, 1, b"b", true)].map(|(number, after, octets, ends)| {
        Part { expected: [127, after], ..class_4(number, after, octets, ends) }
    });
    assert_eq!(whole(&parts), [b"ab"]);
}

#[test]
fn a_hole_without_end_is_given_up() {
    let parts: Vec<Part<'_>> =
        (1..=MOST_AHEAD as u32 + 2).map(|n| class_4(n, 0, b"x", true)).collect();
    // The first after the hole may be the end of a TSDU that began in it.
    assert_eq!(whole(&parts).len(), MOST_AHEAD + 1);
    assert!(whole(&parts[..MOST_AHEAD]).is_empty());
}

#[test]
fn a_part_that_was_not_seen_costs_its_tsdu_alone() {
    let broken = Part { is_broken: true, ..class_0(b"b", false) };
    let parts = [class_0(b"a", false), broken, class_0(b"c", true), class_0(b"d", true)];
    assert_eq!(whole(&parts), [b"d"]);
}

#[test]
fn of_a_long_tsdu_the_first_octets_and_the_length_remain() {
    let mut tsdus = Tsdus::new(|_| true, LIMITS);
    (0..5).for_each(|_| tsdus.take_in(1, 0, &class_0(b"0123456", false)));
    tsdus.take_in(1, 0, &class_0(b"", true));
    let tsdu = tsdus.take().unwrap();
    assert_eq!(
        (&tsdu.octets[..], tsdu.length, tsdu.is_whole()),
        (&b"0123456012345601"[..], 35, false)
    );
    // Behind octets that the capture cut nothing is added.
    tsdus.take_in(
        1,
        0,
        &Part { piece: Piece { length: 9, ..piece(b"abc", false) }, ..class_0(b"", true) },
    );
    tsdus.take_in(1, 0, &class_0(b"def", true));
    let tsdu = tsdus.take().unwrap();
    assert_eq!((&tsdu.octets[..], tsdu.length), (&b"abc"[..], 12));
}

#[test]
fn memory_is_bounded_and_what_it_costs_is_counted() {
    let mut tsdus = Tsdus::new(|_| true, LIMITS);
    for connection in 0..100_000 {
        tsdus.take_in(connection, 0, &class_0(b"0123456789", connection % 3 == 0));
        assert!(tsdus.open_octets + tsdus.done_octets <= LIMITS.octets_total);
    }
    let open: usize = tsdus.open.values().map(Open::cost).sum();
    assert_eq!((open, tsdus.order.len()), (tsdus.open_octets, tsdus.open.len()));
    assert!(tsdus.given_up() > 99_000, "{}", tsdus.given_up());
    (0..100_000).for_each(|connection| tsdus.forget(connection));
    while tsdus.take().is_some() {}
    assert_eq!((tsdus.open_octets, tsdus.done_octets, tsdus.order.len()), (0, 0, 0));
}
