//! Class 4 dialogue printed in 1990, with its other side played by our entity.

use bytes::Bytes;
use core::time::Duration;
use stack::machine::{Machine, Output};
use stack::tp4::{Address, Endpoint, Entity, Indication, Nsdu, Params, Reason, Request};
use std::fs::File;
use std::path::Path;
use wire::addr::Mac;
use wire::capture::Capture;
use wire::dissect::{Link, levels};
use wire::packet::Packet;
use wire::time::Instant;
use wire::tp::{Format, Kind, Pdu, tpdus};

const PEER: Address = Address::Station(Mac([8, 0, 0x2B, 0, 0, 1]));
/// Reference to which the CC and all later TPDUs are addressed.
const OURS: u16 = 0x5F11;

/// NSDUs of the trace, in order; `None`, with a printed reason, if it is missing.
fn trace() -> Option<Vec<Bytes>> {
    let name = "../../../shared/captures/tp4/dec-ctf-1990-osi-transport-tp4.pcap";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let Ok(file) = File::open(&path) else {
        println!("skipped: no ../shared/captures/tp4/dec-ctf-1990-osi-transport-tp4.pcap");
        return None;
    };
    let mut capture = Capture::open(file).unwrap();
    let mut nsdus = Vec::new();
    while let Some(record) = capture.next().unwrap() {
        let nsdu = levels(Link::Ethernet, record.octets, record.original_octets).nsdu.unwrap();
        nsdus.push(Bytes::copy_from_slice(nsdu.octets));
    }
    Some(nsdus)
}

/// Our entity with its indications.
struct Ours {
    entity: Entity,
    now: Instant,
    told: Vec<Indication>,
}

impl Ours {
    /// TPDUs that the entity sends.
    fn drain(&mut self) -> Vec<Bytes> {
        let mut sent = Vec::new();
        while let Some(output) = self.entity.poll() {
            match output {
                Output::Send(Nsdu { peer, packet, .. }) => {
                    assert_eq!(peer, PEER);
                    let octets = packet.to_bytes();
                    for raw in tpdus(&octets) {
                        let raw = raw.unwrap();
                        sent.push(octets.slice(raw.offset..raw.offset + raw.octets.len()));
                    }
                }
                Output::Deliver(indication) => self.told.push(indication),
                Output::Note(_) => {}
            }
        }
        sent
    }

    fn request(&mut self, request: Request) -> Vec<Bytes> {
        self.entity.request(self.now, request);
        self.drain()
    }

    fn receive(&mut self, nsdu: &Bytes) -> Vec<Bytes> {
        self.now += Duration::from_millis(10);
        let packet = Packet::new(nsdu.clone());
        self.entity.receive(self.now, Nsdu { peer: PEER, packet });
        self.drain()
    }

    fn expire(&mut self) -> Vec<Bytes> {
        self.now += Duration::from_millis(20);
        self.entity.expire(self.now);
        self.drain()
    }
}

fn kind(tpdu: &[u8]) -> Kind {
    tpdus(tpdu).next().unwrap().unwrap().kind
}

fn decoded<T>(tpdu: &[u8], read: impl Fn(&Pdu<'_>) -> T) -> T {
    let raw = tpdus(tpdu).next().unwrap().unwrap();
    read(&Pdu::decode(&raw, Some(Format::Extended)).unwrap())
}

/// Our entity with a CR sent, and its endpoint.
fn calling() -> (Ours, Endpoint) {
    let params = Params { checksum: false, tpdu_octets: 2_048, ..Params::lan() };
    let entity = Entity::new(params, OURS - 1);
    let mut ours = Ours { entity, now: Instant::from_nanos(1), told: Vec::new() };
    let endpoint = ours.entity.endpoint();
    let (called, calling, data) = (Bytes::new(), Bytes::new(), Bytes::new());
    let sent = ours.request(Request::Connect { endpoint, peer: PEER, called, calling, data });
    assert!(matches!(sent.as_slice(), [cr] if kind(cr) == Kind::Cr));
    decoded(&sent[0], |cr| {
        let Pdu::Cr(cr) = cr else { panic!("no CR") };
        assert_eq!(cr.source_reference.0, OURS);
    });
    (ours, endpoint)
}

/// The CC without the parameter in which its sender identifies itself.
fn standard(cc: &Bytes) -> Bytes {
    let (fixed, variable) = cc.split_at(7);
    let [1, length, ..] = variable else { panic!("the parameter comes first: {variable:02x?}") };
    let rest = &variable[usize::from(*length) + 2..];
    let mut cc = [fixed, rest].concat();
    cc[0] -= length + 2;
    Bytes::from(cc)
}

#[test]
fn the_cc_of_1990_has_a_parameter_outside_the_standard() {
    let Some(trace) = trace() else { return };
    let (mut ours, endpoint) = calling();
    // 13.2.3: an unknown parameter is ignored in a CR, and is a protocol error in any other TPDU.
    // The peer of 1990 recognised from the CR that its partner was of the same make.
    let sent = ours.receive(&trace[0]);
    let kinds: Vec<_> = sent.iter().map(|tpdu| kind(tpdu)).collect();
    assert_eq!(kinds, [Kind::Dr]);
    decoded(&sent[0], |dr| {
        let Pdu::Dr(dr) = dr else { panic!("no DR") };
        // 133 is a protocol error.
        assert_eq!((dr.destination_reference.0, dr.reason), (0x0E02, 133));
    });
    let reason = Reason::ProtocolError;
    assert_eq!(ours.told, [Indication::Disconnect { endpoint, reason }]);
}

#[test]
fn the_peer_of_1990_is_answered_as_it_was_then() {
    let Some(trace) = trace() else { return };
    let [cc, their_ak, confirmation, our_dt, ak_and_dt, dr] = trace.as_slice() else {
        panic!("{} NSDUs", trace.len())
    };
    let (mut ours, endpoint) = calling();

    // The CC is answered with an AK at once: frame 2.
    let sent = ours.receive(&standard(cc));
    assert!(matches!(ours.told.as_slice(), [Indication::Confirm { .. }]), "{:?}", ours.told);
    let our_ak = sent.iter().find(|tpdu| kind(tpdu) == Kind::Ak).expect("the CC is acknowledged");
    let next = |tpdu: &Bytes| {
        decoded(tpdu, |pdu| match pdu {
            Pdu::Ak(ak) => (ak.destination_reference, ak.next),
            _ => panic!("{pdu}"),
        })
    };
    assert_eq!(next(our_ak), next(their_ak));
    ours.receive(confirmation);

    // Frame 4 is the DT for a TSDU of these octets: identical octet by octet.
    let user_data = decoded(our_dt, |dt| Bytes::copy_from_slice(dt.data()));
    assert_eq!(user_data.len(), 26);
    let sent = ours.request(Request::Data { endpoint, tsdu: user_data });
    assert_eq!(sent, std::slice::from_ref(our_dt));

    // Frame 5: an AK for it, followed by a DT in the same NSDU.
    ours.told.clear();
    let mut sent = ours.receive(ak_and_dt);
    sent.extend(ours.expire());
    assert!(ours.told.contains(&Indication::Drained { endpoint }), "{:?}", ours.told);
    let whole = ours.told.iter().any(
        |told| matches!(told, Indication::Data { octets, end: true, .. } if octets.len() == 26),
    );
    assert!(whole, "{:?}", ours.told);
    let acknowledged = sent.iter().find(|tpdu| kind(tpdu) == Kind::Ak).map(next);
    assert_eq!(acknowledged.map(|(_, next)| next), Some(1), "within the acknowledgement time");

    // Frame 6: a DR, which is confirmed, and indicated with its reason.
    ours.told.clear();
    let sent = ours.receive(dr);
    assert!(matches!(sent.as_slice(), [dc] if kind(dc) == Kind::Dc), "{sent:02x?}");
    let reason = Reason::ByPeer(128);
    assert_eq!(ours.told, [Indication::Disconnect { endpoint, reason }]);
}
