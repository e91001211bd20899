//! Two connections and the network between them, and peers that violate the protocol.

use super::connection::Connection;
use super::*;
use crate::machine::{Machine, Output};
use crate::network::NetworkConnectionId;
use crate::transport::service::{Address, Endpoint};
use bytes::Bytes;
use core::time::Duration;
use wire::addr::Mac;
use wire::packet::Packet;
use wire::time::Instant;
use wire::tp::{Kind, Pdu, tpdus};

const START: Instant = Instant::from_nanos(1_000_000_000);
/// Endpoint of the calling side.
const ENDPOINT: Endpoint = Endpoint { slot: 0, generation: 0 };

fn connect(tsap: &Bytes) -> Request {
    let (called, calling) = (tsap.clone(), tsap.clone());
    let peer = Address::Station(Mac::local(1));
    Request::Connect { endpoint: ENDPOINT, peer, called, calling, data: Bytes::new() }
}

const fn accept() -> Request {
    Request::Accept { endpoint: ENDPOINT, data: Bytes::new() }
}

const fn data(tsdu: Bytes) -> Request {
    Request::Data { endpoint: ENDPOINT, tsdu }
}

const fn disconnect(reason: u8) -> Request {
    Request::Disconnect { endpoint: ENDPOINT, reason }
}

/// Record of one side's outputs.
#[derive(Default)]
struct Seen {
    told: Vec<Indication>,
    sent: Vec<Bytes>,
    closes: usize,
    tsdus: Vec<Vec<u8>>,
    piece: Vec<u8>,
}

impl Seen {
    fn reason(&self) -> Option<Reason> {
        self.told.iter().find_map(|told| match told {
            Indication::Disconnect { reason, .. } => Some(*reason),
            _ => None,
        })
    }

    fn lines(&self) -> Vec<String> {
        self.sent.iter().map(|nsdu| line(nsdu)).collect()
    }
}

fn line(nsdu: &[u8]) -> String {
    let parts = tpdus(nsdu).map(|raw| {
        let raw = raw.unwrap();
        Pdu::decode(&raw, None).unwrap().to_string()
    });
    parts.collect::<Vec<_>>().join(" + ")
}

/// Two connections over a network that accepts NSDUs at once.
struct Pair {
    sides: [Connection; 2],
    seen: [Seen; 2],
    now: Instant,
}

impl Pair {
    fn new(caller: Params, called: Params) -> Self {
        let sides = [
            Connection::new(caller, NetworkConnectionId(0)),
            Connection::new(called, NetworkConnectionId(0x36)),
        ];
        Self { sides, seen: Default::default(), now: START }
    }

    /// Creates a pair with an open connection.
    fn open(caller: Params, called: Params) -> Self {
        let mut pair = Self::new(caller, called);
        pair.call();
        pair.request(1, accept());
        assert!(pair.sides.iter().all(|side| side.state() == State::Open));
        pair
    }

    fn call(&mut self) {
        let tsap = Bytes::from_static(&[0, 1]);
        self.request(0, connect(&tsap));
    }

    fn request(&mut self, side: usize, request: Request) {
        self.sides[side].request(self.now, request);
        self.settle();
    }

    fn receive(&mut self, side: usize, pdu: Network) {
        self.sides[side].receive(self.now, pdu);
        self.settle();
    }

    /// Delivers octets to `side` that the other side did not send.
    fn inject(&mut self, side: usize, octets: &[u8]) {
        self.receive(side, Network::Data(Packet::new(Bytes::copy_from_slice(octets))));
    }

    fn settle(&mut self) {
        while let Some(side) = (0..2).find(|side| self.step(*side)) {
            let _ = side;
        }
    }

    fn step(&mut self, side: usize) -> bool {
        let Some(output) = self.sides[side].poll() else { return false };
        let seen = &mut self.seen[side];
        match output {
            Output::Send(Network::Data(packet)) => {
                let octets = packet.len();
                seen.sent.push(packet.to_bytes());
                let nsdu = Packet::new(packet.to_bytes());
                self.sides[1 - side].receive(self.now, Network::Data(nsdu));
                self.sides[side].receive(self.now, Network::Taken { octets });
            }
            Output::Send(Network::Connect) => {
                self.sides[1 - side].receive(self.now, Network::Connect);
                self.sides[side].receive(self.now, Network::Connect);
            }
            Output::Send(Network::Disconnect) => {
                seen.closes += 1;
                self.sides[1 - side].receive(self.now, Network::Disconnect);
                self.sides[side].receive(self.now, Network::Disconnect);
            }
            Output::Send(Network::Taken { .. }) => panic!("only the network reports it"),
            Output::Deliver(Indication::Data { octets, end, .. }) => {
                seen.piece.extend_from_slice(&octets);
                if end {
                    seen.tsdus.push(std::mem::take(&mut seen.piece));
                }
            }
            Output::Deliver(indication) => seen.told.push(indication),
            Output::Note(_) => {}
        }
        true
    }

    fn expire(&mut self, after: Duration) {
        self.now += after;
        for side in &mut self.sides {
            side.expire(self.now);
        }
        self.settle();
    }
}

fn class2(flow_control: bool) -> Params {
    Params { class: Class::Class2 { flow_control }, ..Params::class0() }
}

fn classes() -> [Params; 3] {
    [Params::class0(), class2(false), class2(true)]
}

fn tsdu(octets: usize) -> Bytes {
    (0..octets).map(|place| (place % 251) as u8).collect()
}

#[test]
fn a_class_0_dialogue_is_cr_cc_dt_and_nothing_at_the_end() {
    let mut pair = Pair::open(Params::class0(), Params::class0());
    pair.request(0, data(tsdu(5)));
    pair.request(0, disconnect(disconnect_reason::NORMAL));
    assert_eq!(
        pair.seen[0].lines(),
        [
            "TP CR 0x0001>0x0000 class=0 credit=0 calling=0001 called=0001",
            "TP DT 0x0000 nr=0 eot 5 octets",
        ]
    );
    assert_eq!(
        pair.seen[1].lines(),
        ["TP CC 0x0037>0x0001 class=0 credit=0 calling=0001 called=0001"]
    );
    assert_eq!(pair.seen[1].reason(), Some(Reason::Released));
    assert_eq!(pair.seen[0].reason(), None, "the side that releases gets no indication");
    assert!(pair.sides.iter().all(|side| side.state() == State::Closed));
}

#[test]
fn a_class_2_dialogue_ends_with_dr_and_dc() {
    let mut pair = Pair::open(class2(true), Params::class0());
    pair.request(0, data(tsdu(5)));
    pair.request(0, disconnect(disconnect_reason::NORMAL));
    let sent = pair.seen[0].lines();
    assert_eq!(sent[1..], ["TP DT 0x0037 nr=0 eot 5 octets", "TP DR 0x0001>0x0037 reason=128"]);
    assert_eq!(pair.seen[1].lines()[1..], ["TP DC 0x0037>0x0001"]);
    assert_eq!(pair.seen[1].reason(), Some(Reason::ByPeer(128)));
    assert_eq!(pair.seen[0].closes, 1, "the releasing side ends the network connection");
}

#[test]
fn tsdus_arrive_in_order_in_tpdus_of_the_agreed_size() {
    for params in classes() {
        for size in [128, 1_024, 65_531] {
            let caller = Params { tpdu_octets: size, ..params.clone() };
            let mut pair = Pair::open(caller, Params { tpdu_octets: 65_531, ..Params::class0() });
            let sizes = [1, 122, 123, 124, 125, 126, 5_000, 200_000];
            for octets in sizes {
                pair.request(0, data(tsdu(octets)));
                pair.request(1, data(tsdu(octets + 1)));
            }
            let found: Vec<_> = pair.seen[1].tsdus.iter().map(Vec::len).collect();
            assert_eq!(found, sizes, "{:?}, {size} octets", params.class);
            assert!(pair.seen[1].tsdus.iter().all(|got| got[..] == tsdu(got.len())[..]));
            assert!(pair.seen[0].tsdus.iter().all(|got| got[..] == tsdu(got.len())[..]));
            assert_eq!(pair.seen[0].tsdus.len(), sizes.len());
            let longest = pair.seen[0].sent.iter().map(Bytes::len).max();
            assert_eq!(longest, Some(size), "the longest TPDU fills what was agreed");
        }
    }
}

#[test]
fn a_caller_of_class_2_gets_class_0_from_a_class_0_responder() {
    let only0 = Params { accepts_class2: false, ..Params::class0() };
    let mut pair = Pair::open(class2(false), only0);
    assert!(pair.sides.iter().all(|side| side.class() == Class::Class0));
    pair.request(0, data(tsdu(300)));
    assert_eq!(pair.seen[1].tsdus.len(), 1);
}

#[test]
fn a_refusal_is_a_dr_with_source_zero_and_a_reason() {
    for params in classes() {
        let mut pair = Pair::new(params, Params::class0());
        pair.call();
        pair.request(1, disconnect(disconnect_reason::ADDRESS_UNKNOWN));
        assert_eq!(pair.seen[1].lines(), ["TP DR 0x0000>0x0001 reason=3"]);
        assert_eq!(pair.seen[0].reason(), Some(Reason::ByPeer(3)));
        assert!(pair.sides.iter().all(|side| side.state() == State::Closed));
    }
}

#[test]
fn class_4_alone_is_refused_and_never_proposed() {
    let only0 = Params { accepts_class2: false, ..Params::class0() };
    let mut pair = Pair::new(Params::class0(), only0);
    pair.sides[1].receive(START, Network::Connect);
    // The CR of a class 4 entity: extended format, no alternative class.
    pair.inject(1, &[6, 0xE0, 0, 0, 0x10, 0x01, 0x42]);
    assert_eq!(pair.seen[1].lines(), ["TP DR 0x0000>0x1001 reason=130"]);
    assert_eq!(pair.seen[1].told, [], "the user gets no indication");
}

#[test]
fn a_blocked_network_stops_the_sender_within_bounded_memory() {
    let mut pair = Pair::open(Params::class0(), Params::class0());
    let mut sender = pair.sides[0].clone();
    let (mut handed, mut turned_away) = (0, 0);
    for _ in 0..1_000 {
        sender.request(START, data(tsdu(10_000)));
        while let Some(output) = sender.poll() {
            match output {
                Output::Send(Network::Data(packet)) => handed += packet.len(),
                Output::Deliver(Indication::Full { .. }) => turned_away += 1,
                _ => {}
            }
        }
    }
    let params = Params::class0();
    assert!(handed < params.network_octets + params.tpdu_octets, "{handed} octets");
    assert!(sender.room() < 10_000, "{} octets of room", sender.room());
    // 64 KiB and at most a TSDU at the network, 256 KiB in the queue: 32 to 34 TSDUs of 10,000.
    assert!((966..=968).contains(&turned_away), "{turned_away} turned away");
    sender.receive(START, Network::Taken { octets: handed });
    let outputs: Vec<_> = core::iter::from_fn(|| sender.poll()).collect();
    assert!(outputs.contains(&Output::Deliver(Indication::Ready { endpoint: ENDPOINT })));
    pair.settle();
}

#[test]
fn no_side_waits_longer_than_ts() {
    let patience = Params::class0().patience;
    let mut pair = Pair::new(Params::class0(), Params::class0());
    let mut lone = Connection::new(Params::class0(), NetworkConnectionId(0));
    lone.request(START, connect(&Bytes::new()));
    assert_eq!(lone.poll(), Some(Output::Send(Network::Connect)));
    lone.receive(START, Network::Connect);
    assert!(matches!(lone.poll(), Some(Output::Send(Network::Data(_)))));
    assert_eq!(lone.deadline().map(|due| due.at), Some(START + patience));
    lone.expire(START + patience);
    let reason = Reason::NoAnswer;
    assert_eq!(
        lone.poll(),
        Some(Output::Deliver(Indication::Disconnect { endpoint: ENDPOINT, reason }))
    );
    assert_eq!(lone.poll(), Some(Output::Send(Network::Disconnect)));
    // A peer opens a network connection and sends nothing.
    pair.sides[1].receive(START, Network::Connect);
    pair.expire(patience);
    assert_eq!((pair.sides[1].state(), pair.seen[1].closes), (State::Closed, 1));
}

#[test]
fn a_protocol_violation_is_returned_in_an_er_and_ends_all() {
    let cases: [(&str, &[u8]); 9] = [
        ("no TPDU at all", &[0xFF, 0xFF, 0xFF]),
        ("a CR when open", &[6, 0xE0, 0, 0, 0, 9, 0]),
        ("a CC when open", &[6, 0xD0, 0, 0x37, 0, 9, 0]),
        ("a class 4 DT", &[4, 0xF0, 0, 0x37, 0x80, 1]),
        ("an AK", &[4, 0x61, 0, 0x37, 1]),
        ("an ED", &[4, 0x10, 0, 0x37, 0x80, 1]),
        ("an RJ", &[4, 0x51, 0, 0x37, 1]),
        ("a DC", &[5, 0xC0, 0, 0x37, 0, 1]),
        ("a DT longer than agreed", &[0; 0]),
    ];
    for (what, octets) in cases {
        let short = Params { tpdu_octets: 2_048, ..Params::class0() };
        let mut pair = Pair::open(short, Params::class0());
        if octets.is_empty() {
            let mut long = vec![2, 0xF0, 0x80];
            long.resize(2_049, 7);
            pair.inject(1, &long);
        } else {
            pair.inject(1, octets);
        }
        assert_eq!(pair.seen[1].reason(), Some(Reason::InvalidTpdu), "{what}");
        let last = pair.seen[1].sent.last().unwrap();
        let raw = tpdus(last).next().unwrap().unwrap();
        assert_eq!(raw.kind, Kind::Er, "{what}");
        let Ok(Pdu::Er(er)) = Pdu::decode(&raw, None) else { panic!("{what}") };
        let carried = er.parameters.value(0xC1).unwrap();
        assert!(octets.is_empty() || carried == octets, "{what}: {carried:?}");
        assert_eq!(pair.seen[0].reason(), Some(Reason::ErReceived), "{what}");
    }
}

#[test]
fn a_peer_that_does_not_start_with_a_cr_is_disconnected() {
    for octets in [&[2, 0xF0, 0x80, 1][..], b"GET / HTTP/1.1\r\n", &[6, 0xD0, 0, 1, 0, 2, 0]] {
        let mut pair = Pair::new(Params::class0(), Params::class0());
        pair.sides[1].receive(START, Network::Connect);
        pair.inject(1, octets);
        assert_eq!((pair.seen[1].told.len(), pair.seen[1].sent.len()), (0, 0), "{octets:?}");
        assert_eq!(pair.seen[1].closes, 1, "{octets:?}");
    }
}

#[test]
fn credit_is_observed_and_a_violation_ends_the_connection() {
    let called = Params { credit: 2, ..Params::class0() };
    let caller = Params { tpdu_octets: 8_192, ..class2(true) };
    let mut pair = Pair::open(caller, called);
    pair.request(0, data(tsdu(200_000)));
    assert_eq!(pair.seen[1].tsdus.len(), 1);
    let aks = pair.seen[1].lines().iter().filter(|line| line.contains("TP AK")).count();
    // 200,000 octets in segments of 8,187 are 25 DTs; a window of 2 is renewed after each.
    assert_eq!(aks, 25);
    // 25 DTs arrived: the next has number 25. A duplicate is a protocol error.
    pair.inject(1, &[4, 0xF0, 0, 0x37, 0x80 | 24, 1]);
    assert_eq!(pair.seen[1].reason(), Some(Reason::InvalidTpdu));
}

#[test]
fn a_dr_ends_an_open_class_0_connection_against_the_standard() {
    let mut pair = Pair::open(Params::class0(), Params::class0());
    pair.inject(0, &[6, 0x80, 0, 1, 0, 0x37, 0x80]);
    assert_eq!(pair.seen[0].reason(), Some(Reason::ByPeer(128)));
    assert_eq!(pair.seen[0].closes, 1);
}

#[test]
fn class_2_without_a_dr_reports_a_lost_network() {
    for (params, reason) in
        classes().into_iter().zip([Reason::Released, Reason::NetworkLost, Reason::NetworkLost])
    {
        let mut pair = Pair::open(params, Params::class0());
        pair.receive(1, Network::Disconnect);
        assert_eq!(pair.seen[1].reason(), Some(reason));
    }
}
