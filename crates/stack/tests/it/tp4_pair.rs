//! Two class 4 entities and a channel between them with selectable losses.

use bytes::Bytes;
use core::time::Duration;
use stack::machine::{Machine, Output};
use stack::tp4::{
    Acknowledgement, Address, Credit, Endpoint, Entity, Indication, Nsdu, Params, Reason, Request,
    State,
};
use std::collections::BTreeMap;
use wire::addr::Mac;
use wire::packet::Packet;
use wire::time::Instant;
use wire::tp::{Kind, tpdus};

const DELAY: Duration = Duration::from_micros(50);

/// Entities 0 and 1; packets in transit, by time of arrival.
struct Pair {
    now: Instant,
    entities: [Entity; 2],
    under_way: BTreeMap<(Instant, u64), (usize, Packet)>,
    sent: u64,
    told: [Vec<Indication>; 2],
    /// Lost TPDUs: by sender, kind, and count of that kind so far.
    lose: fn(usize, Kind, u64) -> bool,
    count: BTreeMap<(usize, Kind), u64>,
}

fn address(of: usize) -> Address {
    Address::Station(Mac::local(of as u32 + 1))
}

impl Pair {
    fn new(params: &Params, lose: fn(usize, Kind, u64) -> bool) -> Self {
        Self {
            now: Instant::ZERO,
            entities: [Entity::new(params.clone(), 0), Entity::new(params.clone(), 0x100)],
            under_way: BTreeMap::new(),
            sent: 0,
            told: [Vec::new(), Vec::new()],
            lose,
            count: BTreeMap::new(),
        }
    }

    fn request(&mut self, of: usize, request: Request) {
        self.entities[of].request(self.now, request);
        self.drain(of);
    }

    fn drain(&mut self, of: usize) {
        while let Some(output) = self.entities[of].poll() {
            match output {
                Output::Send(Nsdu { peer, packet }) => {
                    assert_eq!(peer, address(1 - of));
                    self.carry(of, packet);
                }
                Output::Deliver(indication) => {
                    if let Indication::Connect { endpoint, .. } = indication {
                        let accept = Request::Accept { endpoint, data: Bytes::new() };
                        self.entities[of].request(self.now, accept);
                    }
                    self.told[of].push(indication);
                }
                Output::Note(_) => {}
            }
        }
    }

    fn carry(&mut self, of: usize, packet: Packet) {
        let octets = packet.to_bytes();
        let kind = tpdus(&octets).next().unwrap().unwrap().kind;
        let count = self.count.entry((of, kind)).or_default();
        *count += 1;
        if !(self.lose)(of, kind, *count) {
            self.sent += 1;
            self.under_way.insert((self.now + DELAY, self.sent), (1 - of, packet));
        }
    }

    /// Runs until `end`, or until no event is left.
    fn run(&mut self, end: Duration) {
        let end = Instant::ZERO + end;
        loop {
            let arrival = self.under_way.keys().next().map(|(at, _)| *at);
            let timers = self.entities.iter().filter_map(|e| e.deadline().map(|d| d.at)).min();
            let Some(at) = arrival.into_iter().chain(timers).min().filter(|at| *at <= end) else {
                break;
            };
            self.now = self.now.max(at);
            if arrival == Some(at) {
                let (_, (to, packet)) = self.under_way.pop_first().unwrap();
                let nsdu = Nsdu { peer: address(1 - to), packet };
                self.entities[to].receive(self.now, nsdu);
                self.drain(to);
            }
            for of in [0, 1] {
                self.entities[of].expire(self.now);
                self.drain(of);
            }
        }
        self.now = end;
    }

    fn connect(&mut self) -> Endpoint {
        let endpoint = self.entities[0].endpoint();
        self.request(
            0,
            Request::Connect {
                endpoint,
                peer: address(1),
                called: Bytes::from_static(b"b"),
                calling: Bytes::from_static(b"a"),
                data: Bytes::from_static(b"hello"),
            },
        );
        endpoint
    }

    fn accepted(&self) -> Endpoint {
        let connect = self.told[1].iter().find_map(|indication| match indication {
            Indication::Connect { endpoint, .. } => Some(*endpoint),
            _ => None,
        });
        connect.expect("no connect indication")
    }

    fn received(&self, by: usize) -> Vec<Vec<u8>> {
        let mut tsdus = vec![Vec::new()];
        for indication in &self.told[by] {
            if let Indication::Data { octets, end, .. } = indication {
                tsdus.last_mut().unwrap().extend_from_slice(octets);
                if *end {
                    tsdus.push(Vec::new());
                }
            }
        }
        assert_eq!(tsdus.pop(), Some(Vec::new()), "a TSDU has no end");
        tsdus
    }

    fn disconnected(&self, side: usize) -> Option<Reason> {
        self.told[side].iter().find_map(|indication| match indication {
            Indication::Disconnect { reason, .. } => Some(*reason),
            _ => None,
        })
    }
}

fn nothing_lost(_: usize, _: Kind, _: u64) -> bool {
    false
}

fn tsdus(count: usize, octets: usize) -> Vec<Vec<u8>> {
    (0..count).map(|n| (0..octets).map(|i| (n * 31 + i * 7) as u8).collect()).collect()
}

fn transfer(params: &Params, lose: fn(usize, Kind, u64) -> bool, count: usize) -> Pair {
    let mut pair = Pair::new(params, lose);
    let endpoint = pair.connect();
    let expected = tsdus(count, 3_000);
    for tsdu in &expected {
        pair.request(0, Request::Data { endpoint, tsdu: Bytes::copy_from_slice(tsdu) });
    }
    pair.run(Duration::from_secs(60));
    assert_eq!(pair.received(1), expected);
    assert!(pair.told[0].contains(&Indication::Drained { endpoint }));
    pair
}

#[test]
fn tsdus_arrive_whole_in_every_format_and_size() {
    // ISO 8073 6.3.
    for extended in [false, true] {
        for checksum in [false, true] {
            for tpdu_octets in [128, 1_024, 8_192] {
                let params = Params {
                    extended,
                    checksum,
                    tpdu_octets,
                    queue_octets: 1 << 20,
                    ..Params::lan()
                };
                let pair = transfer(&params, nothing_lost, 20);
                let counters = pair.entities[0].counters();
                assert_eq!(counters.t1, 0, "a retransmission without a loss");
                assert_eq!(counters.sent[Kind::Cr as usize], 1);
            }
        }
    }
}

#[test]
fn lost_tpdus_are_retransmitted_and_data_arrives_once() {
    // ISO 8073 6.20, 12.2.1.2.
    for (what, lose) in [
        ("CR", (|_, kind, n| kind == Kind::Cr && n < 3) as fn(usize, Kind, u64) -> bool),
        ("CC", |_, kind, n| kind == Kind::Cc && n < 3),
        ("the third part", |of, kind, n| of == 0 && kind == Kind::Ak && n < 2),
        ("every fourth DT", |_, kind, n| kind == Kind::Dt && n % 4 == 0),
        ("every other AK", |_, kind, n| kind == Kind::Ak && n % 2 == 0),
        ("the first eleven DTs", |_, kind, n| kind == Kind::Dt && n < 12),
    ] {
        let params = Params { queue_octets: 1 << 20, ..Params::lan() };
        let pair = transfer(&params, lose, 10);
        assert_eq!(pair.disconnected(0), None, "{what}");
    }
}

#[test]
fn an_unanswered_connection_fails_after_n_transmissions() {
    let params = Params::lan();
    let mut pair = Pair::new(&params, |of, _, _| of == 0);
    let endpoint = pair.connect();
    // N transmissions T1 apart, then T1 + M_RL.
    let wait = params.retransmission_time * params.transmissions + params.nsdu_lifetime;
    pair.run(wait - Duration::from_millis(1));
    assert_eq!(pair.disconnected(0), None);
    pair.run(wait);
    assert_eq!(pair.disconnected(0), Some(Reason::NoAnswer));
    assert_eq!(pair.entities[0].counters().sent[Kind::Cr as usize], 8);
    assert_eq!(pair.entities[0].state(endpoint), State::Frozen);
    pair.run(wait + params.reference_time);
    assert_eq!(pair.entities[0].connections(), 0);
}

#[test]
fn unacknowledged_data_is_abandoned_after_the_last_wait() {
    let params = Params::lan();
    let mut pair = Pair::new(&params, |_, kind, _| kind == Kind::Dt);
    let endpoint = pair.connect();
    pair.run(Duration::from_millis(1));
    pair.request(0, Request::Data { endpoint, tsdu: Bytes::from_static(b"x") });
    // N transmissions T1 apart, then T1 + W + M_RL.
    let wait = params.retransmission_time * params.transmissions
        + params.window_time
        + params.nsdu_lifetime;
    pair.run(wait);
    assert_eq!(pair.disconnected(0), None);
    pair.run(wait + Duration::from_millis(2));
    assert_eq!(pair.disconnected(0), Some(Reason::NotAcknowledged));
    assert_eq!(pair.disconnected(1), Some(Reason::ByPeer(0)));
}

#[test]
fn the_inactivity_timer_detects_silent_peers_but_not_idle_ones() {
    let params = Params::lan();
    let mut pair = Pair::new(&params, nothing_lost);
    pair.connect();
    pair.run(Duration::from_secs(300));
    assert_eq!(pair.disconnected(0), None, "AKs of the window timer keep an idle connection alive");
    // One AK each every W = 2 s.
    let sent = pair.entities[0].counters().window_timer;
    assert!((149..=150).contains(&sent), "{sent} AKs in 300 s");
    pair.lose = |of, _, _| of == 1;
    // The last AK came between 298 s and 300 s; I is 32 s.
    pair.run(Duration::from_secs(329));
    assert_eq!(pair.disconnected(0), None);
    pair.run(Duration::from_secs(333));
    assert_eq!(pair.disconnected(0), Some(Reason::PeerSilent));
}

#[test]
fn a_release_is_confirmed_and_the_references_freeze_and_thaw() {
    // ISO 8073 6.7.5, 6.18.
    let params = Params::lan();
    let mut pair = Pair::new(&params, |_, kind, n| kind == Kind::Dc && n == 1);
    let endpoint = pair.connect();
    pair.run(Duration::from_millis(1));
    let other = pair.accepted();
    pair.request(0, Request::Disconnect { endpoint, reason: 128 });
    pair.run(Duration::from_millis(2));
    assert_eq!(pair.disconnected(1), Some(Reason::ByPeer(128)));
    assert_eq!(pair.entities[1].state(other), State::Frozen);
    assert_eq!(pair.entities[0].state(endpoint), State::Closing, "the DC was lost");
    pair.run(Duration::from_millis(110));
    assert_eq!(pair.entities[0].state(endpoint), State::Frozen, "the DR came again");
    assert_eq!(pair.entities[1].counters().frozen_reference, 1);
    pair.run(Duration::from_secs(5));
    assert_eq!((pair.entities[0].connections(), pair.entities[1].connections()), (0, 0));
    assert_eq!(pair.disconnected(0), None, "the releasing side gets no indication");
}

#[test]
fn a_user_that_keeps_its_buffers_closes_the_window() {
    let params = Params { credit: Credit::ByUser, window: 4, ..Params::lan() };
    let mut pair = Pair::new(&params, nothing_lost);
    let endpoint = pair.connect();
    pair.run(Duration::from_millis(1));
    for _ in 0..9 {
        pair.request(0, Request::Data { endpoint, tsdu: Bytes::from_static(b"x") });
    }
    pair.run(Duration::from_secs(100));
    assert_eq!(pair.received(1).len(), 4, "the window holds four");
    assert_eq!(pair.entities[0].counters().closed_window, 1);
    assert_eq!(pair.entities[0].counters().t1, 0, "a closed window causes no retransmission");
    let endpoint = pair.accepted();
    pair.request(1, Request::GiveBack { endpoint, buffers: 4 });
    pair.run(Duration::from_secs(101));
    assert_eq!(pair.received(1).len(), 8);
}

#[test]
fn more_connections_than_allowed_are_refused() {
    let params = Params { connections: 2, ..Params::lan() };
    let mut pair = Pair::new(&params, nothing_lost);
    pair.entities[0] = Entity::new(Params::lan(), 0);
    for _ in 0..3 {
        pair.connect();
    }
    pair.run(Duration::from_millis(1));
    assert_eq!(pair.disconnected(0), Some(Reason::ByPeer(129)));
    assert_eq!(pair.entities[1].counters().refusals, 1);
    assert_eq!(pair.entities[1].connections(), 2);
}

#[test]
fn a_full_queue_returns_the_tsdu_and_indicates_room() {
    let params = Params { queue_octets: 4_000, ..Params::lan() };
    let mut pair = Pair::new(&params, nothing_lost);
    let endpoint = pair.connect();
    let tsdu = Bytes::from(vec![7; 3_000]);
    for _ in 0..2 {
        pair.request(0, Request::Data { endpoint, tsdu: tsdu.clone() });
    }
    assert!(pair.told[0].contains(&Indication::Full { endpoint, tsdu: tsdu.clone() }));
    pair.run(Duration::from_secs(1));
    assert!(pair.told[0].contains(&Indication::Ready { endpoint }));
    assert_eq!(pair.received(1), [tsdu]);
}

#[test]
fn expedited_data_arrives_with_its_header_apart_from_it() {
    let params = Params { expedited: true, ..Params::lan() };
    let mut pair = Pair::new(&params, nothing_lost);
    let endpoint = pair.connect();
    pair.run(Duration::from_millis(1));
    let data = Bytes::from_static(b"0123456789abcdef");
    pair.request(0, Request::Expedited { endpoint, data: data.clone() });
    pair.run(Duration::from_millis(2));
    let endpoint = pair.accepted();
    assert!(pair.told[1].contains(&Indication::Expedited { endpoint, data }));
}

#[test]
fn the_checksum_of_an_ak_stops_where_the_dt_behind_it_begins() {
    // ISO 8073 6.4.2, 6.17.3: the user data of the NSDU belongs to the DT alone.
    let acknowledgement = Acknowledgement::Each;
    let params = Params { concatenate: true, acknowledgement, ..Params::lan() };
    let mut pair = Pair::new(&params, nothing_lost);
    let endpoint = pair.connect();
    pair.run(Duration::from_millis(1));
    pair.request(0, Request::Data { endpoint, tsdu: Bytes::from_static(b"there") });
    let (_, (_, packet)) = pair.under_way.pop_first().unwrap();
    pair.entities[1].receive(pair.now, Nsdu { peer: address(0), packet });
    let back = Request::Data { endpoint: pair.accepted(), tsdu: Bytes::from_static(b"back") };
    pair.request(1, back);
    pair.run(Duration::from_millis(2));
    assert_eq!(pair.entities[1].counters().concatenated, 1);
    assert_eq!(pair.entities[0].counters().bad_checksum, 0);
    assert_eq!(pair.received(0), [b"back"]);
}
