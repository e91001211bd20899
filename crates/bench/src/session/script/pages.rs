//! Pages of a hostile responder: an initiator ends its reading, and keeps the valid arrivals.

use super::{Instant, Measured, NONCE, OFFERED, measure_load};
use crate::messages::Message;
use crate::session::report::{FETCHES, KEPT, reading_time};
use std::collections::BTreeMap;
use wire::control::report::{Arrival, Body, Page, Pdu};

/// Two flows of 41 messages each.
const TWO_FLOWS: &str = r#"
version = 1
title = "scripted"
stop = { after = "2 s", warmup = "none" }
medium = { kind = "ideal", rate = "100 Mbit/s" }
stations = { count = 2, prefix = "s" }
[[flow]]
name = "one"
from = "s-1"
to = "s-2"
service = "datagram"
pattern = { kind = "cyclic", period = "50 ms" }
size = "100 B"
start = "together"
[[flow]]
name = "two"
from = "s-2"
to = "s-1"
service = "datagram"
pattern = { kind = "cyclic", period = "50 ms" }
size = "100 B"
start = "together"
"#;
/// Number of messages that [`TWO_FLOWS`] sends.
const SENT: u8 = 82;
/// Number of arrivals on a page that fits a script's longest raw PDU.
const ON_A_PAGE: u32 = 6;

/// An Agree, an Alive every 200 ms for 2.6 s, and final Counts: all messages sent, and 2^56 times
/// this many duplicates.
fn opening(duplicates: u8) -> Vec<u8> {
    let alive = [1, 6, 0, 0, 50].repeat(13);
    [&[1, 4, 0][..], &alive, &[1, 11, duplicates, 0, 0, 0, SENT]].concat()
}

/// Page of this many arrivals of the first flow.
fn page(first: u32, arrivals: u32, kept: u32, is_all: bool) -> Vec<u8> {
    let arrival = |number| Arrival {
        flow: 0,
        sequence: (first + number) % 41,
        octets: 100,
        planned: Instant::from_nanos(1_100_000_000),
        sent: None,
        at: Instant::from_nanos(1_200_000_000),
    };
    let arrivals = (0..arrivals).map(arrival).collect();
    let mut octets = Vec::new();
    let body = Body::Page(Box::new(Page { first, kept, is_all, arrivals }));
    Pdu { nonce: NONCE, body }.encode(&mut octets);
    [&[4, u8::try_from(octets.len()).unwrap()][..], &octets].concat()
}

/// Measurement against this opening and these actions, and the number of Fetches.
fn measured(opening: &[u8], pages: &[u8]) -> (Measured, u64) {
    let script = [opening, pages].concat();
    let (mut rows, mut outcomes) = (0, BTreeMap::new());
    let mut sink = |it: &Message<'_>| {
        rows += 1;
        *outcomes.entry(it.outcome.word()).or_insert(0_u64) += 1;
    };
    let (measured, lan) = measure_load(TWO_FLOWS, &script, &mut sink);
    let measured = measured.unwrap();
    assert!(measured.failure.is_none(), "{:?}", measured.failure);
    assert_eq!(measured.sent, u64::from(SENT));
    // Each message has a row, and the rows agree with the sample.
    assert_eq!(rows, u64::from(SENT));
    let count = |word| outcomes.get(word).copied().unwrap_or(0);
    let delivered: u64 = measured.sample.flows.iter().map(|flow| flow.delivered).sum();
    assert_eq!(count("delivered"), delivered);
    let without = if measured.each { "lost" } else { "unknown" };
    assert_eq!(count(without), u64::from(SENT) - delivered);
    (measured, lan.fetches)
}

/// Number of messages of the first flow that are delivered, and of both that are lost.
fn delivered(measured: &Measured) -> (u64, u64) {
    let flows = &measured.sample.flows;
    (flows[0].delivered, flows.iter().map(|flow| flow.lost).sum())
}

#[test]
fn a_page_that_claims_more_than_arrived_ends_the_reading() {
    let most = u32::from(SENT);
    let honest = page(0, ON_A_PAGE, most, true);
    for kept in [most + 1, u32::MAX] {
        let lie = |nth| page(nth * ON_A_PAGE, ON_A_PAGE, kept, true);
        let pages = [honest.clone(), (1..14).flat_map(lie).collect()].concat();
        let (measured, fetches) = measured(&opening(0), &pages);
        assert_eq!(fetches, 2, "{kept}");
        // The arrivals of the honest page; the rest are unknown.
        assert_eq!(delivered(&measured), (u64::from(ON_A_PAGE), 0), "{kept}");
    }
}

#[test]
fn counts_without_bound_allow_no_more_pages_than_are_kept() {
    // 2^58 duplicates, and any number of pages.
    let pages = |kept| (0..500).flat_map(move |nth| page(nth * ON_A_PAGE, ON_A_PAGE, kept, false));
    for kept in [KEPT as u32 + 1, u32::MAX] {
        let (measured, fetches) = measured(&opening(4), &pages(kept).collect::<Vec<_>>());
        assert_eq!((fetches, delivered(&measured)), (1, (0, 0)), "{kept}");
    }
}

#[test]
fn a_report_that_is_never_all_ends_with_its_last_page() {
    let kept = u32::from(SENT);
    let pages =
        |is_all| (0..20).flat_map(move |nth| page(nth * ON_A_PAGE, ON_A_PAGE, kept, is_all));
    let (all, fetches) = measured(&opening(0), &pages(true).collect::<Vec<_>>());
    // 82 arrivals, six on a page. They name the first flow alone, so messages of the second are
    // lost.
    let (came, lost) = delivered(&all);
    assert_eq!((fetches, came), (14, 41));
    assert!(lost > 0);
    let (some, fetches) = measured(&opening(0), &pages(false).collect::<Vec<_>>());
    assert_eq!((fetches, delivered(&some)), (14, (41, 0)));
    assert_eq!((all.each, some.each), (true, false));
}

#[test]
fn pages_of_one_arrival_end_when_the_agreed_rate_is_over() {
    // A page 200 ms after each Fetch, which is before its repetition, for longer than 524,288
    // arrivals take.
    let pages = (0..3_000).flat_map(|nth| {
        let page = page(nth, 1, KEPT as u32, true);
        [&[0, 50][..], &page].concat()
    });
    let (measured, fetches) = measured(&opening(4), &pages.collect::<Vec<_>>());
    let most = reading_time(KEPT as u32, OFFERED).as_millis().div_ceil(200);
    assert!(most < 2_000, "{most} pages");
    assert_eq!(u128::from(fetches), most);
    assert_eq!(delivered(&measured), (41, 0));
}

#[test]
fn a_fetch_without_a_page_is_sent_eight_times() {
    assert_eq!(measured(&opening(0), &[]).1, u64::from(FETCHES));
}
