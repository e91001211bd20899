//! Hosts over network connections that deliver at once.

use bytes::Bytes;
use core::time::Duration;
use stack::host::{ConnectedParams, Host, Unitdata};
use stack::load::{Event, Flow, FlowId, Pattern, Record, Service};
use stack::messaging::Priority;
use stack::network::{Network, NetworkConnectionId, NetworkStation};
use stack::tp0::{Class, Params};
use std::collections::BTreeMap;
use wire::addr::Mac;
use wire::control::SAP;
use wire::packet::Packet;
use wire::time::Instant;

const SERVER: Mac = Mac::local(1);
const SESSION: Option<u64> = Some(7);

fn host(class: Class) -> Host {
    let transport = Params { class, ..Params::class0() };
    let mut host = Host::connected(ConnectedParams { transport, accepts: true, echoes: true });
    host.take_part(Instant::ZERO, SESSION);
    host
}

fn flow(pattern: Pattern, size_octets: usize, messages: u64) -> Flow {
    Flow {
        id: FlowId(5),
        peer: SERVER,
        service: Service::Class4,
        priority: Priority::LOWEST,
        pattern,
        size_octets,
        messages: Some(messages),
        start: Instant::ZERO,
        seed: 1,
    }
}

/// Caller and called host, and the network between them.
struct Pair {
    hosts: [Host; 2],
    /// NetworkConnectionId of the other host, by host and line.
    lines: BTreeMap<(usize, NetworkConnectionId), NetworkConnectionId>,
    records: [Vec<Record>; 2],
    now: Instant,
}

impl Pair {
    fn new(class: Class) -> Self {
        let hosts = [host(class), host(Class::Class0)];
        Self { hosts, lines: BTreeMap::new(), records: Default::default(), now: Instant::ZERO }
    }

    /// Carries out the next action of a host; returns `false` if there is none.
    fn step(&mut self, side: usize) -> bool {
        self.records[side].extend(core::iter::from_fn(|| self.hosts[side].record()));
        let Some((line, action)) = self.hosts[side].poll() else { return false };
        if action == Network::Connect {
            let other = self.hosts[1 - side].incoming(self.now).unwrap();
            self.lines.insert((side, line), other);
            self.lines.insert((1 - side, other), line);
            self.hosts[side].receive(self.now, line, action);
            return true;
        }
        let Some(other) = self.lines.get(&(side, line)).copied() else { return true };
        if let Network::Data(packet) = action {
            let (octets, nsdu) = (packet.len(), Packet::new(packet.to_bytes()));
            self.hosts[1 - side].receive(self.now, other, Network::Data(nsdu));
            self.hosts[side].receive(self.now, line, Network::Taken { octets });
        } else {
            self.lines.remove(&(side, line));
            self.lines.remove(&(1 - side, other));
            self.hosts[1 - side].receive(self.now, other, Network::Disconnect);
            self.hosts[side].receive(self.now, line, Network::Disconnect);
        }
        true
    }

    /// Runs until nothing is left to do before `end`.
    fn run(&mut self, end: Instant) {
        loop {
            while self.step(0) || self.step(1) {}
            let due =
                self.hosts.iter().filter_map(NetworkStation::deadline).map(|due| due.at).min();
            let Some(due) = due.filter(|due| *due <= end) else { return };
            self.now = self.now.max(due);
            self.hosts.iter_mut().for_each(|host| host.expire(self.now));
        }
    }

    fn count(&self, side: usize, which: impl Fn(&Event) -> bool) -> usize {
        self.records[side].iter().filter(|record| which(&record.event)).count()
    }
}

fn end() -> Instant {
    Instant::ZERO + Duration::from_secs(60)
}

#[test]
fn every_class_delivers_and_answers_the_messages_of_a_flow() {
    for class in [Class::Class0, Class::Class2 { flow_control: true }] {
        let mut pair = Pair::new(class);
        pair.hosts[0].add(flow(Pattern::MaximumRateRequest { reply_octets: 900 }, 100, 20));
        pair.run(end());
        assert_eq!(pair.count(1, |event| matches!(event, Event::Delivered { .. })), 20);
        assert_eq!(pair.count(0, |event| matches!(event, Event::Answered { .. })), 20);
        assert_eq!(pair.count(0, |event| *event == Event::Done), 1, "{class:?}");
        assert!(pair.hosts.iter().all(|host| host.is_done()), "{class:?}");
        assert_eq!(pair.hosts[1].transport().connections(), 0, "{class:?}");
    }
}

#[test]
fn a_flow_is_done_when_its_network_connection_has_ended() {
    let mut host = host(Class::Class0);
    host.add(flow(Pattern::Bulk, 100, 1));
    host.expire(Instant::ZERO);
    let (line, action) = host.poll().unwrap();
    assert_eq!(action, Network::Connect);
    host.receive(Instant::ZERO, line, Network::Connect);
    let Some((_, Network::Data(cr))) = host.poll() else { panic!("no CR") };
    // CC of class 0 with the TSAP-IDs of the CR; the caller's reference is in octets 4 and 5.
    let mut cc = cr.to_bytes().to_vec();
    (cc[1], cc[2], cc[3], cc[4], cc[5]) = (0xD0, cc[4], cc[5], 0, 9);
    let octets = cr.len();
    host.receive(Instant::ZERO, line, Network::Taken { octets });
    host.receive(Instant::ZERO, line, Network::Data(Packet::new(Bytes::from(cc))));
    let Some((_, Network::Data(dt))) = host.poll() else { panic!("no DT") };
    assert_eq!(host.poll(), None, "the DT is not accepted by the network yet");
    let octets = dt.len();
    host.receive(Instant::ZERO, line, Network::Taken { octets });
    assert_eq!(host.poll(), Some((line, Network::Disconnect)));
    assert!(!host.is_done(), "the DT may still be under way");
    host.receive(Instant::ZERO, line, Network::Disconnect);
    assert!(host.is_done());
}

#[test]
fn winding_up_releases_a_connection_that_is_being_opened() {
    let mut host = host(Class::Class0);
    host.add(flow(Pattern::Bulk, 100, 1));
    host.expire(Instant::ZERO);
    let (line, _) = host.poll().unwrap();
    host.wind_up(Instant::ZERO);
    assert!(host.is_done());
    assert_eq!(host.poll(), Some((line, Network::Disconnect)));
    host.receive(Instant::ZERO, line, Network::Connect);
    assert_eq!(host.poll(), None, "no CR follows");
}

#[test]
fn the_control_session_has_one_connection_for_both_directions() {
    let mut pair = Pair::new(Class::Class0);
    let pdu = |octet| Packet::new(Bytes::from(vec![octet; 30]));
    for octet in [1, 2] {
        let hello = Unitdata { station: SERVER, sap: SAP, data: pdu(octet) };
        pair.hosts[0].send_unitdata(pair.now, hello);
    }
    pair.run(end());
    let first = pair.hosts[1].unitdata().unwrap();
    assert_eq!(first.data.to_bytes(), pdu(1).to_bytes());
    assert_eq!(pair.hosts[1].unitdata().unwrap().data.to_bytes(), pdu(2).to_bytes());
    // The answer goes to the address of the caller.
    pair.hosts[1].send_unitdata(pair.now, Unitdata { data: pdu(3), ..first });
    pair.run(end());
    let answer = pair.hosts[0].unitdata().unwrap();
    assert_eq!((answer.station, answer.data.to_bytes()), (SERVER, pdu(3).to_bytes()));
    assert!(pair.hosts.iter().all(|host| host.transport().connections() == 1));
    assert!(pair.hosts[1].is_control(NetworkConnectionId(1)));
}

#[test]
fn load_of_another_session_is_refused() {
    let mut pair = Pair::new(Class::Class0);
    pair.hosts[1].take_part(Instant::ZERO, Some(8));
    pair.hosts[0].add(flow(Pattern::Bulk, 100, 1));
    pair.run(end());
    let reason = "refused: no such TSAP";
    assert_eq!(pair.count(0, |event| *event == Event::Ended { reason, orderly: false }), 1);
    assert_eq!(pair.records[1], []);
    assert_eq!(pair.hosts[1].transport().counters().refusals, 1);
}
