//! Whole sessions of two stations, each on a separate thread.

use crate::party::{Party, WIDE};
use crate::{A, B};
use live::port::{Hub, Port};
use stack::control::Indication;
use std::thread;

/// The initiator sends `load` frames once both have agreed, stops, and receives the number that
/// arrived.
pub(crate) fn converse(mut one: Box<dyn Port>, mut other: Box<dyn Port>, load: u32) {
    let (a, b) = (one.addr(), other.addr());
    let responder = thread::spawn(move || {
        let mut party = Party::new(b, 0);
        party.run(&mut other, |told| *told == Indication::Idle);
        party
    });
    let mut initiator = Party::new(a, load);
    initiator.call(b);
    initiator.run(&mut one, |told| matches!(told, Indication::Over(_)));
    let responder = responder.join().unwrap();

    let Some(Indication::Over(counts)) = initiator.told.last() else { unreachable!() };
    assert_eq!((counts.frames, responder.frames), (u64::from(load), u64::from(load)));
    assert!(matches!(
        responder.told.as_slice(),
        [
            Indication::Called { peer, limits: WIDE, .. },
            Indication::Opened { .. },
            Indication::StopAsked,
            Indication::Idle
        ] if *peer == a
    ));
}

#[test]
fn two_threads_agree_and_every_frame_is_counted() {
    let hub = Hub::new(1_000);
    converse(Box::new(hub.port(A)), Box::new(hub.port(B)), 500);
}

#[test]
fn a_peer_that_vanishes_is_noticed() {
    let hub = Hub::new(1_000);
    let (mut one, mut other) = (hub.port(A), hub.port(B));
    let responder = thread::spawn(move || {
        let mut party = Party::new(B, 0);
        party.run(&mut other, |told| matches!(told, Indication::Opened { .. }));
    });
    let mut initiator = Party::new(A, 0);
    initiator.call(B);
    initiator.run(&mut one, |told| *told == Indication::Lost);
    responder.join().unwrap();
    assert!(matches!(initiator.told.as_slice(), [Indication::Opened { .. }, Indication::Lost]));
}
