//! Transport service: a user gets the same indications from each class.

use bytes::Bytes;
use stack::machine::{Machine as _, Output};
use stack::messaging::Priority;
use stack::network::{Network, NetworkConnectionId};
use stack::tp0::{self, Class};
use stack::tp4::{self, Nsdu};
use stack::transport::{Address, Endpoint, Indication, Request, Transport, disconnect_reason};
use wire::addr::Mac;
use wire::packet::Packet;
use wire::time::Instant;

const NOW: Instant = Instant::ZERO;
/// The only line of each side.
const LINE: NetworkConnectionId = NetworkConnectionId(1);

/// Two entities and a network that delivers at once; the second user accepts every call.
struct Pair {
    sides: [Transport; 2],
    indications: [Vec<Indication>; 2],
}

impl Pair {
    fn request(&mut self, side: usize, request: Request) {
        self.sides[side].request(NOW, request);
        while self.step(0) || self.step(1) {}
    }

    fn step(&mut self, side: usize) -> bool {
        let [one, two] = &mut self.sides;
        let (own, other) = if side == 0 { (one, two) } else { (two, one) };
        let indication = match (own, other) {
            (Transport::Class4(own), Transport::Class4(other)) => match own.poll() {
                Some(Output::Send(nsdu)) => {
                    let packet = Packet::new(nsdu.packet.to_bytes());
                    other.receive(NOW, Nsdu { peer: nsdu.peer, packet });
                    return true;
                }
                Some(Output::Deliver(indication)) => indication,
                Some(Output::Note(_)) => return true,
                None => return false,
            },
            (Transport::Network(own), Transport::Network(other)) => match own.poll() {
                Some(Output::Send((_, action))) => {
                    carry(own, other, action);
                    return true;
                }
                Some(Output::Deliver(indication)) => indication,
                Some(Output::Note(_)) => return true,
                None => return false,
            },
            _ => panic!("both sides have one class"),
        };
        if let Indication::Connect { endpoint, .. } = indication {
            let data = Bytes::new();
            self.sides[side].request(NOW, Request::Accept { endpoint, data });
        }
        self.indications[side].push(indication);
        true
    }

    /// Indications of a side, without endpoints; segments of a TSDU are joined.
    fn lines(&self, side: usize) -> Vec<String> {
        let (mut lines, mut tsdu) = (Vec::new(), 0);
        for indication in &self.indications[side] {
            match indication {
                Indication::Connect { called, .. } => lines.push(format!("connect {called:?}")),
                Indication::Confirm { .. } => lines.push("confirm".to_owned()),
                Indication::Data { octets, end, .. } => {
                    tsdu += octets.len();
                    if *end {
                        lines.push(format!("data {tsdu}"));
                        tsdu = 0;
                    }
                }
                Indication::Drained { .. } => lines.push("drained".to_owned()),
                Indication::ExpeditedRefused { data, .. } => {
                    lines.push(format!("refused {}", data.len()));
                }
                Indication::Disconnect { reason, .. } => lines.push(reason.text().to_owned()),
                // Class 4 has three steps to an open connection, classes 0 and 2 a network below.
                Indication::Established { .. } | Indication::Closed { .. } => {}
                Indication::Expedited { .. }
                | Indication::Full { .. }
                | Indication::Ready { .. } => panic!("{indication:?}"),
            }
        }
        // An AK may acknowledge several TSDUs.
        lines.dedup();
        lines
    }
}

fn carry(own: &mut tp0::Entity, other: &mut tp0::Entity, action: Network) {
    match action {
        Network::Connect => {
            assert_eq!(other.incoming(NOW), Some(LINE));
            own.receive(NOW, (LINE, Network::Connect));
        }
        Network::Data(packet) => {
            let octets = packet.len();
            let nsdu = Packet::new(packet.to_bytes());
            other.receive(NOW, (LINE, Network::Data(nsdu)));
            own.receive(NOW, (LINE, Network::Taken { octets }));
        }
        Network::Disconnect => {
            other.receive(NOW, (LINE, Network::Disconnect));
            own.receive(NOW, (LINE, Network::Disconnect));
        }
        Network::Taken { .. } => panic!("only the network reports it"),
    }
}

fn network(class: Class) -> Transport {
    Transport::Network(tp0::Entity::new(tp0::Params { class, ..tp0::Params::class0() }))
}

fn class4() -> Transport {
    let params = tp4::Params { expedited: false, ..tp4::Params::lan() };
    Transport::Class4(tp4::Entity::new(params, 0))
}

/// Sends two TSDUs and expedited data, and releases the connection; returns the indications of
/// both sides, and whether the end of the connection was reported.
fn dialogue(mut sides: [Transport; 2]) -> ([Vec<String>; 2], bool) {
    let endpoint = sides[0].endpoint(Priority::LOWEST);
    let mut pair = Pair { sides, indications: Default::default() };
    let (called, calling) = (Bytes::from_static(b"to"), Bytes::from_static(b"from"));
    let peer = Address::Station(Mac::local(1));
    let call = Request::Connect { endpoint, peer, called, calling, data: Bytes::new() };
    pair.request(0, call);
    for octets in [20, 5_000] {
        assert!(pair.sides[0].has_room(endpoint, octets));
        pair.request(0, Request::Data { endpoint, tsdu: Bytes::from(vec![7; octets]) });
    }
    pair.request(0, Request::Expedited { endpoint, data: Bytes::from_static(b"now") });
    let reason = disconnect_reason::NORMAL;
    pair.request(0, Request::Disconnect { endpoint, reason });
    let closed = pair.indications[0].contains(&Indication::Closed { endpoint });
    ([pair.lines(0), pair.lines(1)], closed)
}

#[test]
fn a_user_cannot_tell_the_classes_apart() {
    let expected = [
        vec!["confirm", "drained", "refused 3"],
        vec!["connect b\"to\"", "data 20", "data 5000", "released by the peer"],
    ];
    for class in [Class::Class0, Class::Class2 { flow_control: true }] {
        let (found, closed) = dialogue([network(class), network(Class::Class0)]);
        assert_eq!((&found[..], closed), (&expected.clone().map(owned)[..], true), "{class:?}");
    }
    let (found, closed) = dialogue([class4(), class4()]);
    assert_eq!((&found[..], closed), (&expected.map(owned)[..], false));
}

fn owned(lines: Vec<&str>) -> Vec<String> {
    lines.into_iter().map(str::to_owned).collect()
}

#[test]
fn an_endpoint_is_used_for_one_connection() {
    let mut side = network(Class::Class0);
    let endpoint: Endpoint = side.endpoint(Priority::LOWEST);
    let (called, calling, data) = (Bytes::new(), Bytes::new(), Bytes::new());
    let peer = Address::Station(Mac::local(1));
    let call = Request::Connect { endpoint, peer, called, calling, data };
    side.request(NOW, call.clone());
    let Transport::Network(entity) = &mut side else { panic!("class 0") };
    assert_eq!(entity.poll(), Some(Output::Send((LINE, Network::Connect))));
    entity.receive(NOW, (LINE, Network::Disconnect));
    while entity.poll().is_some() {}
    entity.request(NOW, call);
    assert_eq!((entity.poll(), entity.connections()), (None, 0));
}
