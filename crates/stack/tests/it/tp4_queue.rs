//! TPDUs that queue in their own station, and the timers that wait until they leave (RFC 1008
//! 3.4.3.2).

use crate::lone::{Lone, PEER, connect, hex, station};
use bytes::Bytes;
use core::time::Duration;
use stack::tp4::{Params, Request, Retransmission, RetransmissionTimer};
use wire::tp::Kind;

/// Parameters with a T1 of 100 ms; no other timer expires in the seconds of a test.
fn params() -> Params {
    Params { expedited: true, window_time: Duration::from_secs(20), ..Params::lan() }
}

/// Entity whose TPDUs queue once the connection is open.
fn queueing(params: Params) -> Lone {
    let mut lone = Lone::open(params);
    lone.queues = true;
    lone
}

#[test]
fn t1_of_a_dt_starts_when_it_leaves_the_station() {
    let mut lone = queueing(params());
    assert_eq!(lone.send(b"x"), ["TP DT 0x0707 nr=0 eot 1 octets"]);
    assert!(lone.pass(1_000).is_empty(), "ten times T1 in the queue");
    assert!(lone.leaves().is_empty());
    assert!(lone.pass(99).is_empty());
    assert_eq!(lone.pass(1), ["TP DT 0x0707 nr=0 eot 1 octets"]);
    assert!(lone.pass(1_000).is_empty(), "the copy queues as well");
    assert_eq!(lone.entity.counters().t1, 1, "it ran for the first copy alone");

    let mut lone = Lone::open(params());
    lone.send(b"x");
    assert!(lone.pass(99).is_empty());
    assert_eq!(lone.pass(1), ["TP DT 0x0707 nr=0 eot 1 octets"]);
}

#[test]
fn no_copy_is_queued_before_the_first_has_left() {
    let mut lone = queueing(Params { retransmission: Retransmission::All, ..params() });
    (0..3).for_each(|_| drop(lone.send(b"x")));
    lone.leaves();
    lone.leaves();
    let again = ["TP DT 0x0707 nr=0 eot 1 octets", "TP DT 0x0707 nr=1 eot 1 octets"];
    assert_eq!(lone.pass(100), again, "the third DT is still queued for the first time");
}

#[test]
fn t1_of_the_next_dt_starts_after_departure_and_acknowledgement() {
    let mut lone = queueing(params());
    lone.send(b"x");
    lone.send(b"y");
    lone.leaves();
    // An AK for DT 0, while DT 1 queues.
    assert!(lone.hear(&hex("04 68 0001 01")).is_empty());
    assert!(lone.pass(1_000).is_empty());
    lone.leaves();
    assert_eq!(lone.pass(100), ["TP DT 0x0707 nr=1 eot 1 octets"]);
    assert_eq!(lone.entity.counters().t1, 1);
}

#[test]
fn a_copy_that_leaves_after_its_acknowledgement_starts_nothing() {
    let mut lone = queueing(params());
    lone.send(b"x");
    lone.leaves();
    assert_eq!(lone.pass(100).len(), 1, "retransmitted");
    assert_eq!(lone.hear(&hex("04 68 0001 01")), ["Drained"]);
    lone.leaves();
    assert!(lone.pass(1_000).is_empty());
    // Nor for an ended connection.
    lone.send(b"y");
    let endpoint = lone.endpoint.unwrap();
    lone.request(Request::Disconnect { endpoint, reason: 128 });
    lone.leaves();
    assert!(lone.pass(1_000).is_empty(), "the DR queues as well");
}

#[test]
fn cr_cc_dr_and_ed_wait_in_the_queue_like_dts() {
    let mut lone = Lone::new(params());
    lone.queues = true;
    let endpoint = lone.entity.endpoint();
    let (called, calling, data) = (Bytes::new(), Bytes::new(), Bytes::new());
    let peer = station(1);
    let cr = lone.request(Request::Connect { endpoint, peer, called, calling, data });
    assert_eq!(cr.len(), 1);
    assert!(lone.pass(1_000).is_empty());
    lone.leaves();
    assert_eq!(lone.pass(100), cr);

    let mut lone = Lone::new(params());
    lone.queues = true;
    let call = connect(Kind::Cr, [0, PEER], 0x40, &[], b"");
    assert_eq!(lone.hear(&call).len(), 2, "indication and CC");
    assert!(lone.pass(1_000).is_empty());
    assert!(lone.hear(&call).is_empty(), "the CC for the first CR answers the second as well");
    lone.leaves();
    assert_eq!(lone.pass(100).len(), 1);

    let mut lone = queueing(params());
    let ed = lone.expedite(b"now");
    assert!(lone.pass(1_000).is_empty());
    lone.leaves();
    assert_eq!(lone.pass(100), ed);

    let mut lone = queueing(params());
    let endpoint = lone.endpoint.unwrap();
    let dr = lone.request(Request::Disconnect { endpoint, reason: 128 });
    assert!(lone.pass(1_000).is_empty());
    lone.leaves();
    assert_eq!(lone.pass(100), dr);
}

#[test]
fn a_round_trip_does_not_contain_the_time_in_the_queue() {
    let adaptive = RetransmissionTimer::Adaptive;
    let mut lone = queueing(Params { retransmission_timer: adaptive, ..params() });
    lone.send(b"x");
    lone.pass(700);
    lone.leaves();
    lone.pass(8);
    assert_eq!(lone.hear(&hex("04 68 0001 01")), ["Drained"]);
    lone.send(b"y");
    lone.leaves();
    // 8 ms + 4 x 4 ms; the peer states no A_R.
    assert!(lone.pass(23).is_empty());
    assert_eq!(lone.pass(1).len(), 1);
}

#[test]
fn t1_runs_from_the_departure_of_the_oldest_dt() {
    let mut lone = queueing(params());
    lone.send(b"x");
    lone.send(b"y");
    lone.leaves();
    lone.pass(50);
    lone.leaves();
    assert!(lone.pass(49).is_empty());
    assert_eq!(lone.pass(1), ["TP DT 0x0707 nr=0 eot 1 octets"]);
}

#[test]
fn a_departing_cr_does_not_start_t1_of_the_dr_after_it() {
    let mut lone = Lone::new(params());
    lone.queues = true;
    let endpoint = lone.entity.endpoint();
    let (called, calling, data) = (Bytes::new(), Bytes::new(), Bytes::new());
    let peer = station(1);
    lone.request(Request::Connect { endpoint, peer, called, calling, data });
    let dr = lone.request(Request::Disconnect { endpoint, reason: 128 });
    lone.leaves();
    assert!(lone.pass(1_000).is_empty());
    lone.leaves();
    assert_eq!(lone.pass(100), dr);
}

#[test]
fn an_old_copy_of_an_ed_does_not_start_t1_of_the_next() {
    let mut lone = queueing(params());
    lone.expedite(b"a");
    lone.leaves();
    assert_eq!(lone.pass(100).len(), 1, "retransmitted");
    lone.expedite(b"b");
    assert_eq!(lone.hear(&hex("04 20 0001 00")), ["TP ED 0x0707 nr=1 1 octets"]);
    lone.leaves();
    assert!(lone.pass(1_000).is_empty());
    lone.leaves();
    assert_eq!(lone.pass(100), ["TP ED 0x0707 nr=1 1 octets"]);
}
