//! Initiator and responder that pass PDUs directly, in order and without loss, as CASE does.

use super::*;
use crate::machine::{Machine as _, Output};
use bytes::Bytes;
use core::time::Duration;
use std::collections::BTreeMap;
use wire::file_transfer::{Pdu, VERSION};
use wire::time::Instant;

const PATIENCE: Duration = Duration::from_secs(10);
const NOW: Instant = Instant::ZERO;
/// Not a multiple of the block.
const OCTETS: usize = 10_001;
const BLOCK: u16 = 1_000;

fn file() -> Bytes {
    (0..OCTETS).map(|place| (place * 7 % 251) as u8).collect()
}

fn kept(files: &[(&'static str, Bytes)], most_octets: u64) -> Store {
    let files =
        files.iter().map(|(name, file)| (Bytes::from_static(name.as_bytes()), file.clone()));
    Store::Kept(Kept { files: files.collect(), written: BTreeMap::new(), most_octets })
}

fn job(name: &'static str, mode: Mode) -> Job {
    let name = Bytes::from_static(name.as_bytes());
    Job { name, mode, block_octets: BLOCK, each_eot: false }
}

/// Both ends, and what their users were told.
struct Pair {
    initiator: Initiator,
    responder: Responder,
    told: Vec<Indication>,
    /// F-DATA that passed.
    blocks: usize,
}

impl Pair {
    fn new(own: Store, peer: Store) -> Self {
        let responder = Responder::new(peer);
        Self { initiator: Initiator::new(own, PATIENCE), responder, told: Vec::new(), blocks: 0 }
    }

    /// Passes one PDU of either end; returns false if there is none.
    fn step(&mut self) -> bool {
        if let Some(output) = self.initiator.poll() {
            match output {
                Output::Send(apdu) => {
                    self.count(&apdu);
                    self.responder.receive(NOW, apdu);
                }
                Output::Deliver(indication) => self.told.push(indication),
                Output::Note(_) => {}
            }
        } else if let Some(output) = self.responder.poll() {
            if let Output::Send(apdu) = output {
                self.count(&apdu);
                self.initiator.receive(NOW, apdu);
            }
        } else if self.initiator.wants_room() {
            self.initiator.fill(NOW);
        } else if self.responder.wants_room() {
            self.responder.fill(NOW);
        } else {
            return false;
        }
        true
    }

    fn count(&mut self, apdu: &Apdu) {
        self.blocks += usize::from(matches!(Pdu::decode(&apdu.data), Ok(Pdu::Data(_))));
    }

    fn run(&mut self, jobs: &[Job]) {
        for job in jobs {
            self.initiator.request(NOW, Request::Transfer(job.clone()));
        }
        self.initiator.request(NOW, Request::Terminate);
        while self.step() {}
    }

    /// Results of the transfers; the regime must have ended in order.
    #[track_caller]
    fn results(&self) -> Vec<(Status, u64)> {
        assert_eq!(self.told.last(), Some(&Indication::Terminated), "{:?}", self.told);
        let of = |indication: &Indication| match indication {
            Indication::Transferred { status, octets, .. } => Some((*status, *octets)),
            _ => None,
        };
        self.told.iter().filter_map(of).collect()
    }
}

fn written<'s>(store: &'s Store, name: &str) -> Option<&'s [u8]> {
    let Store::Kept(kept) = store else { panic!("no files in memory") };
    kept.written.get(name.as_bytes()).map(Vec::as_slice)
}

#[test]
fn a_file_is_written_and_read_octet_for_octet() {
    let own = kept(&[("a", file())], 1 << 20);
    let mut pair = Pair::new(own, kept(&[("b", file())], 1 << 20));
    pair.run(&[job("a", Mode::Write), job("b", Mode::Read)]);
    assert_eq!(pair.results(), [(Status::Ok, OCTETS as u64); 2]);
    assert_eq!(written(pair.responder.store(), "a"), Some(&file()[..]));
    assert_eq!(written(pair.initiator.store(), "b"), Some(&file()[..]));
    // Ten whole blocks and one octet, twice.
    assert_eq!(pair.blocks, 22);
}

#[test]
fn an_empty_file_is_a_file() {
    let mut pair = Pair::new(kept(&[("a", Bytes::new())], 9), kept(&[], 9));
    pair.run(&[job("a", Mode::Write)]);
    assert_eq!(pair.results(), [(Status::Ok, 0)]);
    assert_eq!(written(pair.responder.store(), "a"), Some(&[][..]));
}

#[test]
fn a_file_that_shrinks_ends_with_its_own_status() {
    for mode in [Mode::Write, Mode::Read] {
        let mut pair = Pair::new(kept(&[("a", file())], 1 << 20), kept(&[("a", file())], 1 << 20));
        pair.initiator.request(NOW, Request::Transfer(job("a", mode)));
        while pair.blocks < 3 {
            assert!(pair.step());
        }
        for store in [pair.initiator.store_mut(), pair.responder.store_mut()] {
            let Store::Kept(kept) = store else { panic!("no files in memory") };
            kept.files.insert(Bytes::from_static(b"a"), file().slice(..4_500));
        }
        pair.run(&[]);
        // The receiver has what there was, and knows how much that is.
        assert_eq!(pair.results(), [(Status::Shrunk, 4_500)], "{mode:?}");
        let store =
            if mode == Mode::Write { pair.responder.store() } else { pair.initiator.store() };
        assert_eq!(written(store, "a"), Some(&file()[..4_500]));
    }
}

#[test]
fn a_file_without_room_or_without_existence_is_refused() {
    let mut pair = Pair::new(kept(&[("a", file())], 1 << 20), kept(&[], 100));
    pair.run(&[job("a", Mode::Write), job("none", Mode::Read)]);
    assert_eq!(pair.results(), [(Status::TooLong, OCTETS as u64), (Status::NoSuchFile, 0)]);
    assert_eq!(written(pair.responder.store(), "a"), None);
}

#[test]
fn a_generated_file_is_compared_with_its_name() {
    let own = || Store::Generated(Generated::default());
    let name = Generated::name(7, 5_000);
    let job = |mode| Job { name: name.clone(), mode, block_octets: 999, each_eot: true };
    let mut pair = Pair::new(own(), own());
    pair.run(&[job(Mode::Write), job(Mode::Read)]);
    assert_eq!(pair.results(), [(Status::Ok, 5_000); 2]);
    // One octet is altered on its way.
    let mut pair = Pair::new(own(), own());
    pair.initiator.request(NOW, Request::Transfer(job(Mode::Write)));
    while pair.blocks < 1 {
        assert!(pair.step());
    }
    pair.initiator.fill(NOW);
    let Some(Output::Send(Apdu { data, eot })) = pair.initiator.poll() else { panic!("no data") };
    assert!(eot);
    let mut altered = data.to_vec();
    altered[500] ^= 1;
    pair.responder.receive(NOW, Apdu { data: Bytes::from(altered), eot });
    pair.run(&[]);
    assert_eq!(pair.results(), [(Status::Differs, 5_000)]);
    assert_ne!(Generated::octets(b"7/5000", 0, 64), Generated::octets(b"8/5000", 0, 64));
}

#[test]
fn a_block_that_never_arrives_is_noticed_at_the_end() {
    let own = || Store::Generated(Generated::default());
    let job = Job { name: Generated::name(7, 5_000), ..job("", Mode::Write) };
    let mut pair = Pair::new(own(), own());
    pair.initiator.request(NOW, Request::Transfer(job));
    while pair.blocks < 4 {
        assert!(pair.step());
    }
    // The last of five blocks.
    pair.initiator.fill(NOW);
    assert!(matches!(pair.initiator.poll(), Some(Output::Send(_))));
    pair.run(&[]);
    assert_eq!(pair.results(), [(Status::Differs, 5_000)]);
}

#[test]
fn a_peer_that_sends_more_than_it_announced_is_refused() {
    // Without room, the second block is dropped; with room, the file is not the one announced.
    for (room, status, octets) in [(100, Status::TooLong, 80), (1_000, Status::Differs, 160)] {
        let responder = overrun(Responder::new(kept(&[], room)), status);
        assert_eq!(written(responder.store(), "a").map(<[u8]>::len), Some(octets));
    }
}

/// Sends 160 octets of a file of 50; the transfer must end with this status.
#[track_caller]
fn overrun(mut responder: Responder, expected: Status) -> Responder {
    let pdus = [
        Pdu::Initialize { version: VERSION },
        Pdu::Select { name: b"a" },
        Pdu::Open(Mode::Write),
        Pdu::Write { octets: 50 },
        Pdu::Data(&[1; 80]),
        Pdu::Data(&[1; 80]),
        Pdu::DataEnd { status: Status::Ok, octets: 160 },
        Pdu::TransferEnd,
    ];
    for pdu in pdus {
        responder.receive(NOW, Apdu { data: Bytes::from(pdu.encode()), eot: false });
    }
    let ended = |output| match output {
        Output::Deliver(Indication::Transferred { status, .. }) => Some(status),
        _ => None,
    };
    let outputs = core::iter::from_fn(|| responder.poll());
    assert_eq!(outputs.filter_map(ended).collect::<Vec<_>>(), [expected]);
    responder
}

#[test]
fn jobs_beyond_the_limit_are_noted_and_dropped() {
    let mut initiator = Initiator::new(kept(&[], 9), PATIENCE);
    for _ in 0..17 {
        initiator.request(NOW, Request::Transfer(job("a", Mode::Read)));
    }
    let outputs = core::iter::from_fn(|| initiator.poll());
    let notes = outputs.filter(|output| *output == Output::Note(Note::Full));
    assert_eq!(notes.count(), 1, "sixteen wait");
}

#[test]
fn a_silent_peer_ends_it_within_the_time_out() {
    let mut initiator = Initiator::new(kept(&[("a", file())], 9), PATIENCE);
    initiator.request(NOW, Request::Transfer(job("a", Mode::Write)));
    while initiator.poll().is_some() {}
    let due = initiator.deadline().unwrap().at;
    assert_eq!(due, NOW + PATIENCE);
    initiator.expire(due);
    let failed = Output::Deliver(Indication::Failed(Failure::NoAnswer));
    assert_eq!(initiator.poll(), Some(failed));
    assert_eq!(initiator.deadline(), None);
}

#[test]
fn pdus_out_of_place_end_the_regime_at_either_end() {
    let all = [
        Pdu::Initialize { version: VERSION },
        Pdu::Data(&[1]),
        Pdu::DataEnd { status: Status::Ok, octets: 1 },
        Pdu::TransferEnd,
        Pdu::Closed,
        Pdu::Terminated,
    ];
    for pdu in all {
        let apdu = || Apdu { data: Bytes::from(pdu.encode()), eot: false };
        let mut initiator = Initiator::new(kept(&[], 9), PATIENCE);
        initiator.request(NOW, Request::Transfer(job("a", Mode::Read)));
        while initiator.poll().is_some() {}
        initiator.receive(NOW, apdu());
        let outputs: Vec<_> = core::iter::from_fn(|| initiator.poll()).collect();
        let failed = Output::Deliver(Indication::Failed(Failure::Protocol));
        assert_eq!(outputs, [Output::Note(Note::OutOfPlace), failed], "{pdu}");
        let mut responder = Responder::new(kept(&[], 9));
        responder.receive(NOW, apdu());
        responder.receive(NOW, apdu());
        let failed = Output::Deliver(Indication::Failed(Failure::Protocol));
        let outputs: Vec<_> = core::iter::from_fn(|| responder.poll()).collect();
        assert!(outputs.contains(&failed), "{pdu}: {outputs:?}");
    }
}
