//! Two stations that pass frames directly, at each top.

use super::*;

fn pair(top: Top, charged: &BTreeSet<Charge>) -> [Layered; 2] {
    let [one, two] = [Mac::local(1), Mac::local(2)];
    let transport = tp4::Params { checksum: false, ..tp4::Params::lan() };
    let params = |address, peer| LayeredParams {
        address,
        peer,
        top,
        framing: Framing::Ieee8023,
        transport: transport.clone(),
        last_reference: 0,
        charged: charged.clone(),
    };
    [Layered::new(params(one, two)), Layered::new(params(two, one))]
}

/// Passes frames on until there are none, and does all work at once; returns the work.
fn exchange(pair: &mut [Layered; 2], now: Instant) -> Vec<(usize, Charge)> {
    let mut works = Vec::new();
    loop {
        let mut acted = false;
        for own in [0, 1] {
            while let Some(work) = pair[own].work() {
                works.push((own, work.charge));
                pair[own].worked(now, work);
                acted = true;
            }
            while let Some(frame) = pair[own].poll() {
                pair[own].transmitted(now, 0, Transmission::Sent);
                pair[1 - own].receive(now, frame);
                acted = true;
            }
        }
        if !acted {
            return works;
        }
    }
}

const ALL: [Top; 5] = [Top::Link, Top::Transport, Top::Session, Top::Case, Top::Mms];

#[test]
fn a_message_passes_the_layers_up_to_each_top() {
    for top in ALL {
        let mut pair = pair(top, &BTreeSet::new());
        pair[0].open(Instant::ZERO);
        exchange(&mut pair, Instant::ZERO);
        assert!(pair.iter().all(Layered::is_open), "{top:?}");
        for octets in [1, 700, 1_400] {
            let data: Bytes = (0..octets).map(|place| place as u8).collect();
            pair[0].send(Instant::ZERO, data.clone());
            exchange(&mut pair, Instant::ZERO);
            assert_eq!(pair[1].take(), Some(data), "{top:?} {octets}");
            // A_L: the acknowledgement of a single DT may be withheld.
            let due = pair[1].deadline().map_or(Instant::ZERO, |deadline| deadline.at);
            pair[1].expire(due);
            exchange(&mut pair, due);
            assert!(pair[0].is_acknowledged(), "{top:?} {octets}");
        }
        assert_eq!(pair.iter().find_map(Layered::failure), None);
    }
}

/// Octets of the first frame of a message of 100 octets.
fn frame_octets(top: Top) -> usize {
    let mut pair = pair(top, &BTreeSet::new());
    pair[0].open(Instant::ZERO);
    exchange(&mut pair, Instant::ZERO);
    pair[0].send(Instant::ZERO, Bytes::from_static(&[7; 100]));
    while let Some(work) = pair[0].work() {
        pair[0].worked(Instant::ZERO, work);
    }
    pair[0].poll().unwrap().len()
}

#[test]
fn each_layer_adds_its_octets_to_a_message() {
    let [link, transport, session, case, mms] = ALL.map(frame_octets);
    // One octet of CLNP, and a DT of the extended format: 8 octets without a checksum.
    assert_eq!(transport - link, 1 + 8);
    // Give tokens and data transfer without parameters: two octets each.
    assert_eq!(session - transport, 4);
    assert_eq!(case - session, 4, "the header of CASE");
    assert!(mms > session + 4, "{mms}: presentation and MMS");
}

#[test]
fn each_layer_asks_its_machine_for_the_work_on_a_message() {
    use crate::station::WorkKind::{Down, Up};
    let layers = [
        WorkLayer::User,
        WorkLayer::Case,
        WorkLayer::Mms,
        WorkLayer::Session,
        WorkLayer::Transport,
    ];
    let all = layers.into_iter().flat_map(|at| [Down, Up].map(|kind| Charge { at, kind }));
    let charged: BTreeSet<Charge> = all.collect();
    for (top, between) in [
        (Top::Link, &[][..]),
        (Top::Transport, &[WorkLayer::Transport]),
        (Top::Session, &[WorkLayer::Session, WorkLayer::Transport]),
        (Top::Case, &[WorkLayer::Case, WorkLayer::Session, WorkLayer::Transport]),
        (Top::Mms, &[WorkLayer::Mms, WorkLayer::Session, WorkLayer::Transport]),
    ] {
        let mut pair = pair(top, &charged);
        pair[0].open(Instant::ZERO);
        exchange(&mut pair, Instant::ZERO);
        pair[0].send(Instant::ZERO, Bytes::from_static(&[7; 100]));
        let works = exchange(&mut pair, Instant::ZERO);
        let path: Vec<WorkLayer> =
            core::iter::once(WorkLayer::User).chain(between.iter().copied()).collect();
        let down = path.iter().map(|at| (0, Charge { at: *at, kind: Down }));
        let up = path.iter().rev().map(|at| (1, Charge { at: *at, kind: Up }));
        assert_eq!(works, down.chain(up).collect::<Vec<_>>(), "{top:?}");
    }
}
