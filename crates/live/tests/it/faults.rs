//! Faults on live frames, and their visibility to receivers and observers.

use crate::{A, B, frame, numbers};
use live::clock;
use live::port::{Cap, Direction, Faulty, FaultyParams, Hub, Observed, Paced, Port};
use stack::fault::{Delay, Duplication, Faults, Plan};
use stack::station::Transmission;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use wire::control::{Limits, SAP};

const LIFETIME: Duration = Duration::from_secs(1);
const SEED: u64 = 11;

fn faults(change: impl FnOnce(&mut Plan)) -> Option<Faults> {
    let mut plan = Plan::harmless(LIFETIME);
    change(&mut plan);
    Some(Faults::new(plan, SEED, "a to b").unwrap())
}

fn receiving(faults: Option<Faults>) -> FaultyParams {
    FaultyParams { receiving: faults, sending: None, held_frames: 4_000 }
}

#[test]
fn a_lossy_port_loses_its_share_and_no_more() {
    let hub = Hub::new(4_000);
    let mut a = hub.port(A);
    let mut b = Faulty::new(hub.port(B), receiving(faults(|plan| plan.loss = 0.2)));
    for n in 0..2_000 {
        a.send(&frame(B, A, 4, n)).unwrap();
    }
    let heard = numbers(&mut b);
    // Binomial(2,000, 0.8): mean 1,600, standard deviation 17.9; four of them are 72.
    assert!((1_528..=1_672).contains(&heard.len()), "seed {SEED}: {} arrived", heard.len());
    assert!(heard.is_sorted(), "frames that are not lost keep their order");
    let counts = b.received();
    assert_eq!((counts.frames, counts.lost), (2_000, 2_000 - heard.len() as u64));
    assert_eq!(b.counts().received, 2_000, "the wire beneath has lost nothing");
}

#[test]
fn the_control_session_is_spared_in_both_directions() {
    let hub = Hub::new(100);
    let all = || faults(|plan| plan.loss = 1.0);
    let both =
        |port| Faulty::new(port, FaultyParams { receiving: all(), sending: all(), held_frames: 0 });
    let (mut a, mut b) = (both(hub.port(A)), both(hub.port(B)));
    for n in 0..10 {
        assert_eq!(a.send(&frame(B, A, SAP.0, n)).unwrap(), Transmission::Sent);
        assert_eq!(a.send(&frame(B, A, 4, 100 + n)).unwrap(), Transmission::Sent);
    }
    assert_eq!(numbers(&mut b), (0..10).collect::<Vec<_>>());
    assert_eq!((a.sent().lost, b.received().frames), (10, 0));
}

#[test]
fn a_delayed_frame_comes_when_it_is_due() {
    let late = Duration::from_millis(20);
    let delay = faults(|plan| plan.delay = Delay { constant: late, jitter: Duration::ZERO });
    let hub = Hub::new(100);
    let (mut a, mut tap) = (hub.port(A), hub.tap());
    let mut b = Faulty::new(hub.port(B), receiving(delay));
    a.send(&frame(B, A, 4, 1)).unwrap();
    let on_the_wire = tap.receive(clock::now()).unwrap().at;
    let arrival = b.receive(clock::now() + Duration::from_secs(30)).unwrap().unwrap();
    assert_eq!(arrival.at, on_the_wire + late);
    assert!(clock::now() >= arrival.at, "it was released before it was due");
}

#[test]
fn a_sender_can_be_the_bad_path_too() {
    let twice = Duplication { probability: 1.0, after: Duration::from_millis(5) };
    let sending = faults(|plan| plan.duplication = Some(twice));
    let hub = Hub::new(100);
    let mut b = hub.port(B);
    let params = FaultyParams { receiving: None, sending, held_frames: 1 };
    let mut a = Faulty::new(hub.port(A), params);
    a.send(&frame(B, A, 4, 1)).unwrap();
    // There is no room for a second copy; the frame itself is still sent.
    assert_eq!(a.send(&frame(B, A, 4, 2)).unwrap(), Transmission::Sent);
    assert_eq!(numbers(&mut b), [1, 2]);
    // The copy is sent while the sender receives.
    assert!(a.receive(clock::now() + Duration::from_millis(5)).unwrap().is_none());
    assert_eq!(numbers(&mut b), [1]);
    assert_eq!((a.sent().duplicated, a.counts().not_sent), (2, 1));

    let delay = faults(|plan| {
        plan.delay = Delay { constant: Duration::from_millis(500), jitter: Duration::ZERO };
    });
    let params = FaultyParams { receiving: None, sending: delay, held_frames: 1 };
    let mut a = Faulty::new(hub.port(A), params);
    let outcomes = [3, 4].map(|n| a.send(&frame(B, A, 4, n)).unwrap());
    assert_eq!(outcomes, [Transmission::Sent, Transmission::GivenUp]);
}

#[test]
fn an_observer_above_the_faults_sees_what_the_receiver_sees() {
    let log = || Arc::new(Mutex::new(Vec::new()));
    let (above, beneath) = (log(), log());
    let watch = |log: &Arc<Mutex<Vec<_>>>| {
        let log = Arc::clone(log);
        Box::new(move |passing: live::port::Passing<'_>| {
            log.lock().unwrap().push((passing.direction, crate::number(passing.frame)));
        })
    };
    let hub = Hub::new(1_000);
    let mut a = hub.port(A);
    let wire = Observed::new(hub.port(B), watch(&beneath));
    let lossy = Faulty::new(wire, receiving(faults(|plan| plan.loss = 0.5)));
    let mut b = Observed::new(lossy, watch(&above));
    for n in 0..200 {
        a.send(&frame(B, A, 4, n)).unwrap();
    }
    let heard = numbers(&mut b);
    b.send(&frame(A, B, 4, 777)).unwrap();
    let mut seen: Vec<(Direction, u32)> = heard.iter().map(|n| (Direction::Incoming, *n)).collect();
    seen.push((Direction::Outgoing, 777));
    assert_eq!(*above.lock().unwrap(), seen);
    assert_eq!(beneath.lock().unwrap().len(), 201);
    assert!(heard.len() < 200, "seed {SEED}: the chance that nothing was lost is 2^-200");
}

#[test]
fn the_governor_holds_on_any_port_once_both_agreed_to_it() {
    let hub = Hub::new(100);
    let mut b = hub.port(B);
    let mut a = Paced::new(hub.port(A), Cap::Unagreed, 2);
    assert_eq!(a.limits(), None, "a hub has no other users");
    a.cap(Cap::Agreed(Limits::NONE));
    let outcomes = [0, 1, 2, 3].map(|n| a.send(&frame(B, A, 4, n)).unwrap());
    let (sent, given_up) = (Transmission::Sent, Transmission::GivenUp);
    assert_eq!(outcomes, [sent, sent, sent, given_up]);
    a.send(&frame(B, A, SAP.0, 9)).unwrap();
    // A bucket without inflow holds one token; then only the control session may send.
    assert_eq!(numbers(&mut b), [0, 9]);
    assert_eq!((a.waiting(), a.counts().not_sent), (2, 1));
    a.cap(Cap::Agreed(Limits { frames_per_second: 1_000, bits_per_second: 1_000_000 }));
    assert!(a.receive(clock::now()).unwrap().is_none());
    assert_eq!(numbers(&mut b), [1, 2], "receiving sends queued frames");

    a.cap(Cap::Agreed(Limits::NONE));
    let outcomes = [5, 6].map(|n| a.send(&frame(B, A, 4, n)).unwrap());
    assert_eq!((outcomes, a.waiting()), ([sent; 2], 1));
    a.discard();
    assert_eq!((a.waiting(), a.counts().not_sent), (0, 2));
    a.cap(Cap::Agreed(Limits::NONE));
    let outcomes = [7, 8].map(|n| a.send(&frame(B, A, 4, n)).unwrap());
    assert_eq!((outcomes, a.waiting()), ([sent; 2], 1));
    a.cap(Cap::Unagreed);
    assert!(a.receive(clock::now()).unwrap().is_none());
    assert_eq!((numbers(&mut b), a.counts().not_sent), (vec![5, 7], 3));
}
