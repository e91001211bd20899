//! EOT, release and abort of one association, against hand-made events of the transport.

use super::*;
use crate::acse::{self, Associate, Entity, Source};
use crate::machine::{Machine as _, Output};
use crate::presentation::Addresses;
use crate::session::Below;
use bytes::Bytes;
use wire::time::Instant;

const NOW: Instant = Instant::ZERO;

fn associate() -> Request {
    let (addresses, calling, called) = (Addresses::default(), Entity::default(), Entity::default());
    let associate = Associate { addresses, calling, called, information: None };
    Request::Association(acse::Primitive::Associate(Box::new(associate)))
}

const fn transfer(octet: u8, eot: bool) -> Request {
    const OCTETS: [[u8; 1]; 4] = [[0], [1], [2], [3]];
    Request::Transfer { data: Bytes::from_static(&OCTETS[octet as usize]), eot }
}

/// Outputs of a machine since the last call: TSDUs, indications, notes.
fn outputs(case: &mut Case) -> (Vec<Below>, Vec<Indication>, Vec<Note>) {
    let mut all = (Vec::new(), Vec::new(), Vec::new());
    while let Some(output) = case.poll() {
        match output {
            Output::Send(below) => all.0.push(below),
            Output::Deliver(indication) => all.1.push(indication),
            Output::Note(note) => all.2.push(note),
        }
    }
    all
}

/// Caller and called side of an open association.
fn associated() -> [Case; 2] {
    let mut both = [Case::new(Params::map_2_1()), Case::new(Params::map_2_1())];
    both[0].request(NOW, associate());
    assert_eq!(outputs(&mut both[0]).0, [Below::Connect]);
    both[1].receive(NOW, Below::Connect);
    both[0].receive(NOW, Below::Connect);
    pass(&mut both);
    assert_eq!(both[1].state(), acse::State::Sta2);
    both[1].request(NOW, Request::Association(acse::Primitive::Accept { information: None }));
    pass(&mut both);
    assert_eq!(both.each_ref().map(Case::state), [acse::State::Sta5; 2]);
    both
}

/// Passes TSDUs until none is left; drops indications.
fn pass(both: &mut [Case; 2]) {
    for side in [0, 1, 0, 1] {
        for below in outputs(&mut both[side]).0 {
            both[1 - side].receive(NOW, below);
        }
    }
}

/// Data octets of A-TRANSFERs in DT SPDUs, which start at octet 8: GT, DT, header.
fn sent(case: &mut Case) -> Vec<u8> {
    let octet = |below: Below| match below {
        Below::Data(tsdu) => {
            assert_eq!(tsdu[..8], [1, 0, 1, 0, 0x65, 0x82, 0, 1]);
            tsdu[8]
        }
        other => panic!("{other:?}"),
    };
    outputs(case).0.into_iter().map(octet).collect()
}

#[test]
fn eot_holds_the_next_message_until_the_acknowledgement() {
    let [mut case, _] = associated();
    case.request(NOW, transfer(0, false));
    case.request(NOW, transfer(1, true));
    case.request(NOW, transfer(2, true));
    case.request(NOW, transfer(3, false));
    assert_eq!((sent(&mut case), case.held()), (vec![0, 1], 2));
    case.acknowledged(NOW);
    assert_eq!((sent(&mut case), case.held()), (vec![2], 1));
    case.acknowledged(NOW);
    let (below, indications, notes) = outputs(&mut case);
    assert_eq!((below.len(), indications), (1, vec![Indication::Acknowledged]));
    assert_eq!(notes, []);
    // Nothing holds: an acknowledgement has no effect.
    case.acknowledged(NOW);
    assert_eq!(outputs(&mut case), (vec![], vec![], vec![]));
}

#[test]
fn release_follows_held_data_and_an_abort_drops_it() {
    let release = Request::Association(acse::Primitive::Release);
    let [mut case, _] = associated();
    case.request(NOW, transfer(0, true));
    case.request(NOW, transfer(1, false));
    case.request(NOW, release);
    case.request(NOW, transfer(2, false));
    let (below, _, notes) = outputs(&mut case);
    assert_eq!((below.len(), notes), (1, vec![Note::Refused]));
    let aborting = &mut case.clone();
    case.acknowledged(NOW);
    assert_eq!((outputs(&mut case).0.len(), case.state()), (2, acse::State::Sta3));
    aborting.request(NOW, Request::Association(acse::Primitive::Abort { source: Source::User }));
    let (_, _, notes) = outputs(aborting);
    assert_eq!(notes, [Note::Dropped(2)]);
    aborting.acknowledged(NOW);
    assert_eq!((outputs(aborting), aborting.held()), ((vec![], vec![], vec![]), 0));
}

#[test]
fn held_requests_are_bounded_and_lost_with_the_transport() {
    let [mut case, _] = associated();
    (0..=MOST_HELD + 1).for_each(|_| case.request(NOW, transfer(0, true)));
    assert_eq!((outputs(&mut case).2, case.held()), (vec![Note::Full], MOST_HELD));
    // An EOT that is never acknowledged: the transport gives up.
    case.receive(NOW, Below::Disconnect);
    let (_, indications, notes) = outputs(&mut case);
    let is_abort = |it: &Indication| {
        matches!(it, Indication::Association(acse::Primitive::ProviderAbort { .. }))
    };
    assert!(indications.iter().any(is_abort), "{indications:?}");
    assert!(notes.contains(&Note::Dropped(MOST_HELD)) && !case.is_holding(), "{notes:?}");
}

#[test]
fn data_that_is_no_transfer_aborts_the_association() {
    let rlrq = [1, 0, 1, 0, 0x62, 3, 0x80, 1, 0];
    for tsdu in [&[1, 0, 1, 0, 0x65][..], &rlrq] {
        let [mut case, _] = associated();
        case.receive(NOW, Below::Data(Bytes::copy_from_slice(tsdu)));
        let (below, indications, notes) = outputs(&mut case);
        let abort = acse::Primitive::Abort { source: Source::Provider };
        assert_eq!(indications, [Indication::Association(abort)]);
        // AB SPDU.
        assert!(matches!(&below[..], [Below::Data(ab)] if ab[0] == 25), "{below:?}");
        assert_eq!(notes.len(), 1);
    }
}

#[test]
fn a_transfer_needs_an_association_and_fits_its_length() {
    let mut idle = Case::new(Params::map_2_1());
    idle.request(NOW, transfer(0, true));
    assert_eq!(outputs(&mut idle), (vec![], vec![], vec![Note::Refused]));
    let [mut case, _] = associated();
    let data = Bytes::from(vec![0; wire::case::LONGEST + 1]);
    case.request(NOW, Request::Transfer { data, eot: true });
    assert_eq!(outputs(&mut case), (vec![], vec![], vec![Note::TooLong]));
    assert!(!case.is_holding());
}
