//! Entry points of the machines' fuzz targets, also run by plain tests over the corpus: octets in,
//! claims checked.

use bytes::Bytes;
use core::time::Duration;
use stack::machine::{Machine, Output};
use stack::network::{Network, NetworkConnectionId};
use stack::tp0::{Class, Connection, Entity, Params, State};
use stack::transport::{Address, Endpoint, Indication, Request};
use wire::addr::Mac;
use wire::packet::Packet;
use wire::time::Instant;
use wire::tp::{Kind, tpdus};
use wire::tpkt::LONGEST_TPDU;

/// Maximum number of outputs of one call: the DTs of a whole queue, and a few for the release.
const OUTPUTS: usize = 3_000;

/// Connection of class 0 or 2 under test, driven octet by octet.
struct Driven {
    entity: Entity,
    /// Endpoint of the connection, once the network connection or the endpoint was requested.
    endpoint: Option<Endpoint>,
    now: Instant,
    /// Octets at the network.
    ahead: usize,
    /// True once the connection released its network connection.
    released: bool,
    params: Params,
}

/// Script of requests, NSDUs, network events and expiries, during which the connection must keep
/// its claims.
pub(crate) fn tp0(octets: &[u8]) {
    let mut rest = octets.iter().copied();
    let options = rest.next().unwrap_or(0);
    let class = match options & 3 {
        0 | 1 => Class::Class0,
        2 => Class::Class2 { flow_control: false },
        _ => Class::Class2 { flow_control: true },
    };
    let tpdu_octets = if options & 4 == 0 { 128 } else { LONGEST_TPDU };
    let params =
        Params { class, tpdu_octets, accepts_class2: options & 8 == 0, ..Params::class0() };
    let mut driven = Driven {
        entity: Entity::new(params.clone()),
        endpoint: None,
        now: Instant::from_nanos(1),
        ahead: 0,
        released: false,
        params,
    };
    while let Some(code) = rest.next() {
        let length = usize::from(code >> 3) * 4;
        match code & 7 {
            0 if driven.endpoint.is_none() => {
                driven.endpoint = driven.entity.incoming(driven.now).map(Endpoint::from);
                driven.drain();
            }
            0 => driven.receive(Network::Connect),
            1 => {
                let tsap = Bytes::from(vec![code; length]);
                let endpoint = driven.endpoint.unwrap_or_else(|| driven.entity.endpoint());
                driven.endpoint = Some(endpoint);
                let peer = Address::Station(Mac::local(1));
                let (called, calling, data) = (tsap.clone(), tsap, Bytes::new());
                driven.request(Request::Connect { endpoint, peer, called, calling, data });
            }
            2 => {
                let (endpoint, data) = (driven.endpoint(), Bytes::new());
                driven.request(Request::Accept { endpoint, data });
            }
            3 => {
                let (endpoint, tsdu) = (driven.endpoint(), Bytes::from(vec![code; length * 100]));
                driven.request(Request::Data { endpoint, tsdu });
            }
            4 => {
                let endpoint = driven.endpoint();
                driven.request(Request::Disconnect { endpoint, reason: code });
            }
            5 => {
                let nsdu: Bytes = rest.by_ref().take(length.min(300)).collect();
                driven.receive(Network::Data(Packet::new(nsdu)));
            }
            6 => {
                let octets = driven.ahead;
                driven.ahead = 0;
                driven.receive(Network::Taken { octets });
            }
            _ if length == 0 => driven.receive(Network::Disconnect),
            _ => {
                driven.now += Duration::from_secs(length as u64);
                driven.entity.expire(driven.now);
                driven.drain();
            }
        }
    }
}

impl Driven {
    /// Endpoint of the connection, or one that no connection has.
    fn endpoint(&self) -> Endpoint {
        self.endpoint.unwrap_or(Endpoint::from(NetworkConnectionId(9)))
    }

    fn tpdu_octets(&self, endpoint: Endpoint) -> usize {
        self.entity.connection(endpoint).map_or(0, Connection::tpdu_octets)
    }

    fn request(&mut self, request: Request) {
        self.entity.request(self.now, request);
        self.drain();
    }

    fn receive(&mut self, network: Network) {
        self.entity.receive(self.now, (NetworkConnectionId(1), network));
        self.drain();
    }

    fn drain(&mut self) {
        for count in 0.. {
            assert!(count < OUTPUTS, "no end of outputs");
            let Some(output) = self.entity.poll() else { break };
            match output {
                Output::Send((_, Network::Data(packet))) => self.sent(&packet),
                Output::Send((_, Network::Disconnect)) => {
                    assert!(!self.released, "released twice");
                    self.released = true;
                }
                Output::Send((_, Network::Connect)) | Output::Note(_) => {}
                Output::Send((_, Network::Taken { .. })) => panic!("only the network reports it"),
                Output::Deliver(Indication::Data { endpoint, octets, .. }) => {
                    assert!(octets.len() < self.tpdu_octets(endpoint));
                }
                Output::Deliver(_) => {}
            }
        }
        let Some(connection) = self.entity.connection(self.endpoint()) else { return };
        assert!(connection.room() <= self.params.queue_octets, "the queue is bounded");
        let is_over = connection.state() == State::Closed;
        assert!(!is_over || connection.deadline().is_none(), "no timer runs after the end");
    }

    /// Checks that the packet is one TPDU, no longer than agreed, and never of class 4.
    fn sent(&mut self, packet: &Packet) {
        assert!(!self.released, "sent after the release");
        let octets = packet.to_bytes();
        let all: Vec<_> = tpdus(&octets).collect();
        let [Ok(raw)] = all.as_slice() else { panic!("{octets:02x?}") };
        let is_connecting = matches!(raw.kind, Kind::Cr | Kind::Cc);
        assert!(!is_connecting || matches!(octets[6] >> 4, 0 | 2), "{octets:02x?}");
        assert!(is_connecting || octets.len() <= self.tpdu_octets(self.endpoint()).max(128));
        self.ahead += octets.len();
        let most = self.params.network_octets + LONGEST_TPDU + 1_000;
        assert!(raw.kind != Kind::Dt || self.ahead <= most, "{} octets ahead", self.ahead);
    }
}
