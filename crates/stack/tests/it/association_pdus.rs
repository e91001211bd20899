//! TSDUs of the script of [`super::association_entry`]: those of a real client and server, and PDUs
//! of MMS of each kind.

use bytes::Bytes;
use core::time::Duration;
use stack::acse::Entity as Title;
use stack::machine::{Machine as _, Output};
use stack::mms::client::{self, Client};
use stack::mms::server::{self, Domain, List as Names, Member, Model, Named, Node, Server, Value};
use stack::mms::{Proposal, client::Request as Act};
use stack::presentation::Addresses;
use stack::session::Below;
use stack::transport::Endpoint;
use stack::upper::{Addressed, Joint, Params};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;
use wire::addr::Mac;
use wire::ber::{BitString, Item as _, List, Tag, Writer};
use wire::mms::{
    AccessResult, ConfirmedError, ConfirmedRequest, ConfirmedResponse, Data, DirectoryRequest,
    FileOpen, Identification, InformationReport, ListDefinition, ListDeletion, NameListRequest,
    ObjectName, Part, Pdu, ReadRequest, ReadResponse, Reject, Request, Response, Scope, Service,
    ServiceError, Specification, Unconfirmed, Variable, VariableAccess, WriteRequest, WriteResult,
};
use wire::time::Instant;

/// Presentation context of MMS.
pub(crate) const CONTEXT: i64 = 3;
/// Number of kinds of MMS PDUs, the last of which are requests to the buffered block.
pub(crate) const KINDS: u8 = 48;
const OF_BUFFERED: u8 = 32;
/// Identifier of the reports of the buffered block, and its name.
pub(crate) const BUFFERED: &str = "brcb01";
const SMALL_PDU: u32 = 1_000;

/// Size of the server's model and of the longest request. Scripts of a small one run 20 times as
/// fast; those of a large one reach the limits of PDUs and memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Scale {
    Small,
    Large,
}

impl Scale {
    /// Leaves of the variable `B`, which a request names often.
    const fn leaves(self) -> usize {
        match self {
            Self::Small => 12,
            Self::Large => 1_300,
        }
    }

    /// Variables of the longest read request.
    const fn variables(self) -> usize {
        match self {
            Self::Small => 8,
            Self::Large => 1_000,
        }
    }
}

// ---- machines -------------------------------------------------------------------------------------

fn leaf(name: &str, value: Value) -> Member {
    Member { name: name.to_owned(), node: Node::Leaf(value) }
}

/// Report control blocks: `urcb01`, and `brcb01`, which is buffered.
fn blocks() -> Node {
    let text = |text: &str| Value::Visible { most: 129, text: text.to_owned() };
    let number = |bits, value| Value::Unsigned { bits, value };
    let bits = |bits: &[u8]| Value::Bits {
        varies: true,
        most: 10,
        bits: bits.iter().map(|bit| *bit == 1).collect(),
    };
    let group = |group: &str, block: &str, sequence_bits, more: Vec<Member>| {
        let own = vec![
            leaf("RptID", text(block)),
            leaf("RptEna", Value::Boolean(false)),
            leaf("DatSet", text("LD/set")),
            leaf("ConfRev", number(32, 1)),
            leaf("OptFlds", bits(&[0, 1, 1, 1, 1, 1, 1, 1, 1, 0])),
            leaf("BufTm", number(32, 0)),
            leaf("SqNum", number(sequence_bits, 0)),
            leaf("TrgOps", bits(&[0, 1, 0, 0, 1, 1])),
            leaf("IntgPd", number(32, 1_000)),
            leaf("GI", Value::Boolean(false)),
        ];
        let members = own.into_iter().chain(more).collect();
        let block = Member { name: block.to_owned(), node: Node::Structure(members) };
        Member { name: group.to_owned(), node: Node::Structure(vec![block]) }
    };
    let buffered = vec![
        leaf("PurgeBuf", Value::Boolean(false)),
        leaf("EntryID", Value::Octets { varies: false, most: 8, octets: vec![0; 8] }),
        leaf("TimeOfEntry", Value::BinaryTime([0; 6])),
    ];
    Node::Structure(vec![
        group("RP", "urcb01", 8, vec![leaf("Resv", Value::Boolean(false))]),
        group("BR", BUFFERED, 16, buffered),
    ])
}

fn model(scale: Scale) -> Model {
    let many = (0..scale.leaves()).map(|place| leaf(&format!("x{place}"), Value::Boolean(true)));
    let variables = BTreeMap::from([
        ("B".to_owned(), Node::Structure(many.collect())),
        ("L".to_owned(), blocks()),
        ("f".to_owned(), Node::Leaf(Value::Float32(1.5))),
        ("i".to_owned(), Node::Leaf(Value::Integer { bits: 8, value: 7 })),
    ]);
    let member = |item: &str| Named { domain: "LD".to_owned(), item: item.to_owned() };
    let members = vec![member("f"), member("i")];
    let lists = BTreeMap::from([("set".to_owned(), Names { members, deletable: false })]);
    let domain = Domain {
        variables,
        lists,
        blocks: vec!["L$RP$urcb01".to_owned(), "L$BR$brcb01".to_owned()],
    };
    Model {
        vendor: "v".to_owned(),
        model: "m".to_owned(),
        revision: "r".to_owned(),
        domains: BTreeMap::from([("LD".to_owned(), domain)]),
    }
}

/// Servers of each scale, with short PDUs and with long ones.
static SERVERS: LazyLock<[[Server; 2]; 2]> = LazyLock::new(|| {
    let of_octets = |scale| [SMALL_PDU, 65_000].map(|octets| made(octets, 2, scale));
    [of_octets(Scale::Small), of_octets(Scale::Large)]
});

/// Server with report control blocks, a list, a file and a variable that may be written, for two
/// associations with PDUs of 1,000 or 65,000 octets. It is made once, and copied.
pub(crate) fn server(pdu_octets: u32, scale: Scale) -> Server {
    SERVERS[usize::from(scale == Scale::Large)][usize::from(pdu_octets != SMALL_PDU)].clone()
}

fn made(pdu_octets: u32, associations: usize, scale: Scale) -> Server {
    let file: Bytes = vec![0x5A; 9_000].into();
    let params = server::Params {
        proposal: Proposal { pdu_octets, ..Proposal::usual() },
        associations,
        writable: BTreeSet::from([Named { domain: "LD".into(), item: "i".into() }]),
        files: BTreeMap::from([("log/a".to_owned(), file)]),
        epoch_ns: 0,
    };
    Server::new(params, model(scale))
}

pub(crate) fn client(pdu_octets: u32) -> Client {
    Client::new(client::Params {
        addresses: Addresses::default(),
        calling: Title::default(),
        called: Title::default(),
        context: CONTEXT,
        proposal: Proposal { pdu_octets, ..Proposal::usual() },
        patience: Duration::from_secs(10),
        waiting: 16,
    })
}

// ---- TSDUs of a real client and server ------------------------------------------------------------

/// Client and server whose TSDUs are recorded.
struct Pair {
    joints: [Joint; 2],
    client: Client,
    server: Server,
    seen: Vec<Bytes>,
}

impl Pair {
    /// TSDUs that pass if the client makes these requests.
    fn record(pdu_octets: u32, associations: usize, acts: &[Act]) -> Vec<Bytes> {
        let joint = || Joint::new(Params::mms());
        let (client, server) = (client(pdu_octets), made(65_000, associations, Scale::Small));
        let mut pair = Self { joints: [joint(), joint()], client, server, seen: Vec::new() };
        for act in acts {
            pair.client.request(Instant::ZERO, act.clone());
            while pair.step() {}
        }
        pair.seen
    }

    fn step(&mut self) -> bool {
        let now = Instant::ZERO;
        // The server tells its associations apart; here it has one.
        let endpoint = Endpoint::from(stack::network::NetworkConnectionId(1));
        if let Some(output) = self.client.poll() {
            if let Output::Send(primitive) = output {
                self.joints[0].request(now, primitive);
            }
        } else if let Some(output) = self.server.poll() {
            if let Output::Send(addressed) = output {
                self.joints[1].request(now, addressed.primitive);
            }
        } else if let Some(output) = self.joints[0].poll() {
            match output {
                Output::Deliver(primitive) => self.client.receive(now, primitive),
                Output::Send(below) => self.cross(0, below),
                Output::Note(_) => {}
            }
        } else if let Some(output) = self.joints[1].poll() {
            match output {
                Output::Deliver(primitive) => {
                    self.server.receive(now, Addressed { endpoint, primitive });
                }
                Output::Send(below) => self.cross(1, below),
                Output::Note(_) => {}
            }
        } else {
            return false;
        }
        true
    }

    fn cross(&mut self, from: usize, below: Below) {
        if let Below::Data(tsdu) = &below {
            self.seen.push(tsdu.clone());
        } else {
            self.joints[from].receive(Instant::ZERO, below.clone());
        }
        self.joints[1 - from].receive(Instant::ZERO, below);
    }
}

static SHEET: LazyLock<Vec<Bytes>> = LazyLock::new(|| {
    let released = Pair::record(65_000, 1, &[Act::Associate, Act::Conclude]);
    let [cn, ac, _, _, finish, disconnect] = &released[..] else { panic!("{released:?}") };
    let small = Pair::record(SMALL_PDU, 1, &[Act::Associate, Act::Abort]);
    let [small_cn, small_ac, abort] = &small[..] else { panic!("{small:?}") };
    let refused = Pair::record(65_000, 0, &[Act::Associate]);
    let [_, refusal, ..] = &refused[..] else { panic!("{refused:?}") };
    let fixed = |octets: &'static [u8]| Bytes::from_static(octets);
    vec![
        cn.clone(),
        small_cn.clone(),
        ac.clone(),
        small_ac.clone(),
        refusal.clone(),
        finish.clone(),
        disconnect.clone(),
        abort.clone(),
        // AA, an AB without parameters, an AB and an FN that keep the transport connection.
        fixed(&[26, 0]),
        fixed(&[25, 0]),
        fixed(&[25, 3, 17, 1, 2]),
        fixed(&[9, 3, 17, 1, 0]),
        // GT alone, a DT without data, a CN without data.
        fixed(&[1, 0]),
        fixed(&[1, 0, 1, 0]),
        fixed(&[13, 10, 5, 3, 22, 1, 2, 20, 2, 0, 2, 0]),
        vec![0; 67_000].into(),
    ]
});

/// SPDU of the opening, the release or an abort.
pub(crate) fn sheet(number: u8) -> Bytes {
    SHEET[usize::from(number) % SHEET.len()].clone()
}

// ---- PDUs of MMS ----------------------------------------------------------------------------------

fn name(item: &str) -> ObjectName<'_> {
    ObjectName::Domain { domain: b"LD", item: item.as_bytes() }
}

fn variable(item: &str) -> Variable<'_> {
    Variable { specification: Specification::Name(name(item)), alternate: None }
}

fn octets(pdu: &Pdu<'_>) -> Bytes {
    let mut out = Writer::new();
    pdu.encode(&mut out);
    Bytes::copy_from_slice(out.octets())
}

fn request(invoke: u32, service: Request<'_>) -> Bytes {
    let request = ConfirmedRequest { invoke, modifiers: None, service, detail: &[] };
    octets(&Pdu::ConfirmedRequest(request))
}

fn response(invoke: u32, service: Response<'_>) -> Bytes {
    octets(&Pdu::ConfirmedResponse(ConfirmedResponse { invoke, service, detail: &[] }))
}

/// Read request of a variable, `n` times.
fn read(invoke: u32, item: &str, n: usize) -> Bytes {
    let mut room = Writer::new();
    let variables = VariableAccess::Variables(List::encode(&vec![variable(item); n], &mut room));
    request(invoke, Request::Read(ReadRequest { with_specification: None, variables }))
}

fn write(invoke: u32, item: &str, data: Data<'_>) -> Bytes {
    let (mut room, mut values) = (Writer::new(), Writer::new());
    let variables = VariableAccess::Variables(List::encode(&[variable(item)], &mut room));
    let data = List::encode(&[data], &mut values);
    request(invoke, Request::Write(WriteRequest { variables, data }))
}

fn define(invoke: u32, name: ObjectName<'_>) -> Bytes {
    let mut room = Writer::new();
    let variables = List::encode(&[variable("f"), variable("B")], &mut room);
    request(invoke, Request::DefineNamedVariableList(ListDefinition { name, variables }))
}

fn of_files(invoke: u32, kind: u8) -> Bytes {
    let mut parts = Writer::new();
    let name = List::encode(&[Part { tag: Tag::GRAPHIC_STRING, text: b"log/a" }], &mut parts);
    match kind {
        13 => request(invoke, Request::FileOpen(FileOpen { name, position: 0 })),
        14 => request(invoke, Request::FileRead(1)),
        15 => request(invoke, Request::FileClose(1)),
        _ => {
            let directory = DirectoryRequest { specification: None, continue_after: None };
            request(invoke, Request::FileDirectory(directory))
        }
    }
}

/// Request to the buffered block: resumption, purge, and attributes of its entries.
fn of_buffered(number: u8, invoke: u32) -> Bytes {
    let to = |attribute: &str, data| write(invoke, &format!("L$BR${BUFFERED}${attribute}"), data);
    let entry = [0, 0, 0, 0, 0, 0, 0, invoke as u8 & 0x1F];
    match number {
        0 => to("RptEna", Data::Boolean(true)),
        1 => to("RptEna", Data::Boolean(false)),
        2 => to("GI", Data::Boolean(true)),
        3 => to("EntryID", Data::Octets(&entry)),
        4 => to("EntryID", Data::Octets(&[0; 8])),
        5 => to("EntryID", Data::Octets(&[1])),
        6 => to("PurgeBuf", Data::Boolean(true)),
        7 => to("BufTm", Data::Unsigned(1_000)),
        8 => to("BufTm", Data::Unsigned(0)),
        9 => to("IntgPd", Data::Unsigned(1)),
        10 => to("IntgPd", Data::Unsigned(0)),
        11 => to("DatSet", Data::Visible(b"LD/new")),
        12 => to("DatSet", Data::Visible(b"LD/set")),
        13 => to("OptFlds", Data::Bits(BitString { unused: 6, octets: &[0, 0] })),
        14 => to("TrgOps", Data::Bits(BitString { unused: 2, octets: &[0x40] })),
        _ => read(invoke, "L", 1),
    }
}

/// Request of a confirmed service.
fn requested(kind: u8, invoke: u32, scale: Scale) -> Bytes {
    match kind {
        0 => read(invoke, "f", 1),
        1 => read(invoke, "B", scale.variables()),
        2 => write(invoke, "i", Data::Integer(i64::from(invoke & 0x3F))),
        3 => write(invoke, "f", Data::Float(&[8, 0, 0, 0, 0])),
        4 => write(invoke, "L$RP$urcb01$RptEna", Data::Boolean(true)),
        5 => write(invoke, "L$RP$urcb01$RptEna", Data::Boolean(false)),
        6 => write(invoke, "L$RP$urcb01$GI", Data::Boolean(true)),
        7 => write(invoke, "L$RP$urcb01$IntgPd", Data::Unsigned(1)),
        8 => {
            let scope = Scope::Domain(b"LD");
            let list = NameListRequest { class: 0, scope, continue_after: None };
            request(invoke, Request::GetNameList(list))
        }
        9 => request(invoke, Request::GetVariableAccessAttributes(Specification::Name(name("B")))),
        10 => define(invoke, ObjectName::Association(b"own")),
        11 => {
            let variables = VariableAccess::Named(ObjectName::Association(b"own"));
            request(invoke, Request::Read(ReadRequest { with_specification: None, variables }))
        }
        12 => {
            let mut room = Writer::new();
            let names = [ObjectName::Association(b"own"), name("set"), name("new")];
            let names = Some(List::encode(&names, &mut room));
            let deletion = ListDeletion { scope: Some(0), names, domain: None };
            request(invoke, Request::DeleteNamedVariableList(deletion))
        }
        13..=16 => of_files(invoke, kind),
        17 => request(invoke, Request::Identify),
        18 => write(invoke, "L$RP$urcb01$DatSet", Data::Visible(b"LD/new")),
        19 => request(invoke, Request::Other { tag: Tag(0xBF3F), content: &[] }),
        _ => define(invoke, name("new")),
    }
}

/// Returns true if a kind is a confirmed request.
pub(crate) const fn is_request(kind: u8) -> bool {
    kind <= 20 || kind >= OF_BUFFERED
}

/// PDU of a kind, with an invoke identifier if it has one.
pub(crate) fn mms(kind: u8, invoke: u32, scale: Scale) -> Bytes {
    let (additional, description, information) = (None, None, None);
    let error = ServiceError { class: 7, code: 2, additional, description, information };
    let mut room = Writer::new();
    match kind % KINDS {
        kind if kind >= OF_BUFFERED => of_buffered(kind - OF_BUFFERED, invoke),
        kind if is_request(kind) => requested(kind, invoke, scale),
        21 => octets(&Pdu::CancelRequest(invoke)),
        22 => octets(&Pdu::ConcludeRequest),
        23 => {
            AccessResult::Success(Data::Float(&[8, 0x3F, 0xC0, 0, 0])).put(&mut room);
            let results = List::decode(wire::ber::Reader::new(room.octets())).unwrap_or_default();
            response(invoke, Response::Read(ReadResponse { variables: None, results }))
        }
        24 => response(invoke, Response::Write(List::encode(&[WriteResult::Success], &mut room))),
        25 => {
            let (vendor, model, revision) = (&b"v"[..], &b"m"[..], &b"r"[..]);
            let identification = Identification { vendor, model, revision, syntaxes: None };
            response(invoke, Response::Identify(identification))
        }
        26 => response(invoke, Response::Done(Service(11))),
        27 => octets(&Pdu::ConfirmedError(ConfirmedError { invoke, modifier: None, error })),
        28 => octets(&Pdu::Reject(Reject { invoke: Some(invoke), kind: 1, reason: 1 })),
        29 => {
            Data::Integer(3).put(&mut room);
            let results = List::decode(wire::ber::Reader::new(room.octets())).unwrap_or_default();
            let variables = VariableAccess::Named(ObjectName::Vmd(b"RPT"));
            let report = InformationReport { variables, results };
            octets(&Pdu::Unconfirmed(Unconfirmed::InformationReport(report)))
        }
        30 => octets(&Pdu::ConcludeResponse),
        _ => octets(&Pdu::ConcludeError(error)),
    }
}

/// Service of the client's calls, by number, and the kind of its response.
pub(crate) fn call(token: u64, number: u8) -> client::Call {
    let (mut room, mut values) = (Writer::new(), Writer::new());
    let variables = VariableAccess::Variables(List::encode(&[variable("i")], &mut room));
    let data = List::encode(&[Data::Integer(1)], &mut values);
    let service = match number % 4 {
        0 => Request::Read(ReadRequest { with_specification: None, variables }),
        1 => Request::Write(WriteRequest { variables, data }),
        2 => Request::Identify,
        _ => Request::DefineNamedVariableList(ListDefinition {
            name: name("new"),
            variables: List::encode(&[], &mut values),
        }),
    };
    client::Call::new(token, service, Duration::from_secs(u64::from(number / 4)))
}

/// Kind of the response to a request.
pub(crate) fn response_to(request: &Request<'_>) -> u8 {
    match request {
        Request::Read(_) => 23,
        Request::Write(_) => 24,
        Request::Identify => 25,
        _ => 26,
    }
}

/// TSDU with a PDU of MMS.
pub(crate) fn tsdu(pdu: &[u8]) -> Bytes {
    let mut out = Writer::new();
    out.put(pdu);
    wire::presentation::wrap(CONTEXT, 0, &mut out);
    out.put(&wire::session::DATA);
    Bytes::copy_from_slice(out.octets())
}

/// Damage to a TSDU.
#[derive(Clone, Copy)]
pub(crate) struct Damage {
    pub(crate) how: u8,
    pub(crate) place: u8,
    pub(crate) value: u8,
}

impl Damage {
    pub(crate) fn apply(self, tsdu: &mut Vec<u8>) {
        // Places up to 127 count from the front, others from the end.
        let place = usize::from(self.place & 0x7F);
        let place = if self.place < 0x80 { place } else { tsdu.len().saturating_sub(place + 1) };
        match self.how {
            0..=7 => {
                if let Some(octet) = tsdu.get_mut(place) {
                    *octet ^= self.value;
                }
            }
            8..=11 => tsdu.truncate(place),
            _ => {
                let place = place.min(tsdu.len());
                let n = usize::from(self.how - 11) * 2;
                tsdu.splice(place..place, core::iter::repeat_n(self.value, n));
            }
        }
    }
}

/// Station of the peer.
pub(crate) fn station() -> Mac {
    Mac::local(1)
}
