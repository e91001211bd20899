//! MMS client and server with all layers below, over class 0 and class 4, in memory.

mod buffered;

use bytes::Bytes;
use core::time::Duration;
use stack::acse::Entity as Title;
use stack::machine::{Machine as _, Output};
use stack::mms::Proposal;
use stack::mms::client::{self, Call, Client, End};
use stack::mms::server::{self, Domain, List as Names, Member, Model, Named, Node, Server, Value};
use stack::network::{Network, NetworkConnectionId};
use stack::presentation::Addresses;
use stack::transport::{Address, Endpoint, Transport};
use stack::upper::{self, Addressed, Entity, EntityParams, Lower, Tsaps};
use stack::{tp0, tp4};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use wire::addr::Mac;
use wire::ber::{List, Tag, Writer};
use wire::mms::{
    AccessResult, Data, DirectoryRequest, FileOpen, ListDefinition, ListDeletion, NameListRequest,
    ObjectName, Part, Pdu, ReadRequest, Request, Response, Scope, Specification, Unconfirmed,
    Variable, VariableAccess, WriteRequest, WriteResult,
};
use wire::time::Instant;

const PATIENCE: Duration = Duration::from_secs(10);

/// Class of the transport below.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Class {
    Zero,
    Four,
}

/// Client and server with a network between them.
struct World {
    now: Instant,
    entities: [Entity; 2],
    client: Client,
    server: Server,
    endpoint: Endpoint,
    /// Lines of the server by those of the client.
    lines: BTreeMap<NetworkConnectionId, NetworkConnectionId>,
    told: VecDeque<client::Indication>,
    /// NSDUs of each side that pass before one is lost.
    until_loss: [Option<usize>; 2],
}

fn model() -> Model {
    let leaf = |name: &str, value| Member { name: name.to_owned(), node: Node::Leaf(value) };
    let part =
        |name: &str, members| Member { name: name.to_owned(), node: Node::Structure(members) };
    let bits = |text: &str| Value::Bits {
        varies: true,
        most: 10,
        bits: text.bytes().map(|it| it == b'1').collect(),
    };
    let text = |text: &str| Value::Visible { most: 129, text: text.to_owned() };
    let number = |bits, value| Value::Unsigned { bits, value };
    let octets =
        |most: usize| Value::Octets { varies: false, most: most as u16, octets: vec![0; most] };
    let block = |name: &str, options: &str, more: Vec<Member>| {
        let own = vec![
            leaf("RptID", text("id")),
            leaf("RptEna", Value::Boolean(false)),
            leaf("DatSet", text("LD/LLN0$set")),
            leaf("ConfRev", number(32, 1)),
            leaf("OptFlds", bits(options)),
            leaf("BufTm", number(32, 0)),
            leaf("SqNum", number(16, 0)),
            leaf("TrgOps", bits("010011")),
            leaf("IntgPd", number(32, 1_000)),
            leaf("GI", Value::Boolean(false)),
        ];
        part(name, own.into_iter().chain(more).collect())
    };
    let free = block("urcb01", "0101000000", vec![leaf("Resv", Value::Boolean(false))]);
    // Sequence number, reasons, overflow, identifier of the entry.
    let more = vec![
        leaf("PurgeBuf", Value::Boolean(false)),
        leaf("EntryID", octets(8)),
        leaf("TimeOfEntry", Value::BinaryTime([0; 6])),
    ];
    let buffered = block("brcb01", "0101001100", more);
    let zero = Node::Structure(vec![part("RP", vec![free]), part("BR", vec![buffered])]);
    let values =
        vec![leaf("f", Value::Float32(1.5)), leaf("i", Value::Integer { bits: 8, value: 7 })];
    let power = Node::Structure(vec![part("MX", vec![part("TotW", values)])]);
    let member = |item: &str| Named { domain: "LD".to_owned(), item: item.to_owned() };
    let members = vec![member("MMXU1$MX$TotW$f"), member("MMXU1$MX$TotW$i")];
    let mut variables = BTreeMap::from([("LLN0".to_owned(), zero), ("MMXU1".to_owned(), power)]);
    for number in 0..40 {
        variables.insert(format!("GGIO{number:02}"), Node::Leaf(Value::Boolean(true)));
    }
    let lists = BTreeMap::from([("LLN0$set".to_owned(), Names { members, deletable: false })]);
    let domain = Domain {
        variables,
        lists,
        blocks: vec!["LLN0$RP$urcb01".to_owned(), "LLN0$BR$brcb01".to_owned()],
    };
    Model {
        vendor: "v".to_owned(),
        model: "m".to_owned(),
        revision: "r".to_owned(),
        domains: BTreeMap::from([("LD".to_owned(), domain)]),
    }
}

fn server(pdu_octets: u32) -> Server {
    let file: Bytes = (0..20_000_u32).map(|it| it as u8).collect();
    let params = server::Params {
        proposal: Proposal { pdu_octets, ..Proposal::usual() },
        associations: 2,
        writable: BTreeSet::from([Named { domain: "LD".into(), item: "MMXU1$MX$TotW$i".into() }]),
        files: BTreeMap::from([("log/a.dat".to_owned(), file)]),
        epoch_ns: 0,
    };
    Server::new(params, model())
}

impl World {
    fn new(class: Class, pdu_octets: u32) -> Self {
        let transport = |last| match class {
            Class::Zero => Transport::Network(tp0::Entity::new(tp0::Params::class0())),
            Class::Four => Transport::Class4(tp4::Entity::new(tp4::Params::lan(), last)),
        };
        let entity = |accepts, last| {
            Entity::new(EntityParams { joint: upper::Params::mms(), accepts }, transport(last))
        };
        let mut entities = [entity(false, 100), entity(true, 200)];
        let endpoint = entities[0].call(Mac::local(1), Tsaps::default());
        let client = Client::new(client::Params {
            addresses: Addresses::default(),
            calling: Title::default(),
            called: Title::default(),
            context: 3,
            proposal: Proposal::usual(),
            patience: PATIENCE,
            waiting: 64,
        });
        let (now, lines, told) = (Instant::ZERO, BTreeMap::new(), VecDeque::new());
        let until_loss = [None; 2];
        let server = server(pdu_octets);
        Self { now, entities, client, server, endpoint, lines, told, until_loss }
    }

    /// World with an association.
    fn open(class: Class, pdu_octets: u32) -> Self {
        let mut world = Self::new(class, pdu_octets);
        world.client.request(world.now, client::Request::Associate);
        world.run();
        let opened = world.told.pop_front();
        assert!(matches!(opened, Some(client::Indication::Associated(_))), "{opened:?}");
        world
    }

    /// Passes everything on until nothing is left.
    fn run(&mut self) {
        let now = self.now;
        loop {
            if let Some(output) = self.client.poll() {
                match output {
                    Output::Send(primitive) => {
                        let endpoint = self.endpoint;
                        self.entities[0].request(now, Addressed { endpoint, primitive });
                    }
                    Output::Deliver(indication) => self.told.push_back(indication),
                    Output::Note(_) => {}
                }
            } else if let Some(output) = self.server.poll() {
                if let Output::Send(addressed) = output {
                    self.entities[1].request(now, addressed);
                }
            } else if let Some(addressed) = self.entities[0].poll() {
                self.client.receive(now, addressed.primitive);
            } else if let Some(addressed) = self.entities[1].poll() {
                self.server.receive(now, addressed);
            } else if let Some(lower) = self.entities[0].poll_below() {
                self.cross(0, lower);
            } else if let Some(lower) = self.entities[1].poll_below() {
                self.cross(1, lower);
            } else {
                return;
            }
        }
    }

    /// Carries an output of one side's transport to the other.
    fn cross(&mut self, from: usize, lower: Lower) {
        let (now, to) = (self.now, 1 - from);
        match lower {
            Lower::Nsdu(nsdu) => {
                match &mut self.until_loss[from] {
                    Some(0) => return self.until_loss[from] = None,
                    Some(left) => *left -= 1,
                    None => {}
                }
                let peer = Address::Station(Mac::local(from as u32));
                self.entities[to].receive_nsdu(now, tp4::Nsdu { peer, ..nsdu });
            }
            Lower::Network(line, Network::Connect) => {
                let theirs = self.entities[1].incoming(now).unwrap();
                self.lines.insert(line, theirs);
                self.entities[0].receive(now, line, Network::Connect);
            }
            Lower::Network(line, network) => {
                let pair = self
                    .lines
                    .iter()
                    .find(|(own, theirs)| if from == 0 { **own == line } else { **theirs == line });
                let Some((own, theirs)) = pair.map(|(own, theirs)| (*own, *theirs)) else { return };
                let other = if from == 0 { theirs } else { own };
                if let Network::Data(packet) = &network {
                    let octets = packet.len();
                    self.entities[from].receive(now, line, Network::Taken { octets });
                } else {
                    self.lines.remove(&own);
                    self.entities[from].receive(now, line, Network::Disconnect);
                }
                self.entities[to].receive(now, other, network);
            }
        }
    }

    /// Makes a call; returns its whole answer.
    fn call(&mut self, service: Request<'_>) -> End {
        let call = Call::new(1, service, PATIENCE);
        self.client.request(self.now, client::Request::Call(call));
        self.run();
        match self.told.pop_front() {
            Some(client::Indication::Ended { end, .. }) => end,
            other => panic!("{other:?}"),
        }
    }

    /// Passes time, and runs everything that is due.
    fn wait(&mut self, millis: u64) {
        self.now += Duration::from_millis(millis);
        let now = self.now;
        self.server.expire(now);
        self.client.expire(now);
        self.entities.iter_mut().for_each(|entity| entity.expire(now));
        self.run();
    }

    /// Number of values in each report received so far.
    fn reports(&mut self) -> Vec<usize> {
        let mut counts = Vec::new();
        while let Some(indication) = self.told.pop_front() {
            let client::Indication::Unconfirmed(pdu) = indication else { panic!("{indication:?}") };
            let Ok(Pdu::Unconfirmed(Unconfirmed::InformationReport(report))) = Pdu::decode(&pdu)
            else {
                panic!("{pdu:?}")
            };
            counts.push(report.results.iter().count());
        }
        counts
    }

    fn write(&mut self, item: &str, data: Data<'_>) -> WriteResult {
        let (mut room, mut values) = (Writer::new(), Writer::new());
        let variables = VariableAccess::Variables(List::encode(&[variable(item)], &mut room));
        let data = List::encode(&[data], &mut values);
        let end = self.call(Request::Write(WriteRequest { variables, data }));
        let End::Response(pdu) = &end else { panic!("{end:?}") };
        let Response::Write(results) = service(pdu) else { panic!("{end:?}") };
        results.iter().next().unwrap()
    }
}

fn name(item: &str) -> ObjectName<'_> {
    ObjectName::Domain { domain: b"LD", item: item.as_bytes() }
}

fn variable(item: &str) -> Variable<'_> {
    Variable { specification: Specification::Name(name(item)), alternate: None }
}

fn service(pdu: &Bytes) -> Response<'_> {
    match Pdu::decode(pdu) {
        Ok(Pdu::ConfirmedResponse(response)) => response.service,
        other => panic!("{other:?}"),
    }
}

fn read<'a>(item: &'a str, room: &'a mut Writer) -> Request<'a> {
    let variables = VariableAccess::Variables(List::encode(&[variable(item)], room));
    Request::Read(ReadRequest { with_specification: None, variables })
}

#[test]
fn an_association_opens_reads_and_ends_over_both_classes() {
    for class in [Class::Zero, Class::Four] {
        let mut world = World::open(class, 65_000);
        let mut room = Writer::new();
        let end = world.call(read("MMXU1$MX$TotW$f", &mut room));
        let End::Response(pdu) = &end else { panic!("{class:?}: {end:?}") };
        let Response::Read(response) = service(pdu) else { panic!("{end:?}") };
        let value = response.results.iter().next().unwrap();
        // 1.5 is 3F C0 00 00, with an exponent of 8 bits.
        let expected = AccessResult::Success(Data::Float(&[8, 0x3F, 0xC0, 0, 0]));
        assert_eq!(value, expected, "{class:?}");
        assert_eq!(world.server.associations(), 1);
        world.client.request(world.now, client::Request::Conclude);
        world.run();
        assert_eq!(world.told.pop_front(), Some(client::Indication::Released), "{class:?}");
        assert_eq!(world.server.associations(), 0, "{class:?}");
        assert_eq!(world.entities.each_ref().map(Entity::connections), [0; 2], "{class:?}");
    }
}

#[test]
fn a_long_value_passes_in_several_tpdus() {
    let mut world = World::open(Class::Four, 65_000);
    let (mut octets, mut parts) = (0, Writer::new());
    let part = Part { tag: Tag::GRAPHIC_STRING, text: b"log/a.dat" };
    let open = FileOpen { name: List::encode(&[part], &mut parts), position: 0 };
    let end = world.call(Request::FileOpen(open));
    let End::Response(pdu) = &end else { panic!("{end:?}") };
    let Response::FileOpen(opened) = service(pdu) else { panic!("{end:?}") };
    assert_eq!(opened.attributes.size_octets, 20_000);
    let mut more = true;
    while more {
        let end = world.call(Request::FileRead(opened.machine));
        let End::Response(pdu) = &end else { panic!("{end:?}") };
        let Response::FileRead(data) = service(pdu) else { panic!("{end:?}") };
        for octet in data.octets {
            assert_eq!(*octet, octets as u8);
            octets += 1;
        }
        more = data.more_follows == Some(true);
    }
    assert_eq!(octets, 20_000);
    assert!(matches!(world.call(Request::FileClose(opened.machine)), End::Response(_)));
    assert!(matches!(world.call(Request::FileRead(opened.machine)), End::Error(_)));
    let request = DirectoryRequest { specification: None, continue_after: None };
    let end = world.call(Request::FileDirectory(request));
    let End::Response(pdu) = &end else { panic!("{end:?}") };
    let Response::FileDirectory(directory) = service(pdu) else { panic!("{end:?}") };
    assert_eq!(directory.entries.iter().count(), 1);
}

#[test]
fn a_list_of_names_continues_where_a_pdu_ends() {
    let mut world = World::open(Class::Zero, 512);
    let (mut names, mut requests): (Vec<Vec<u8>>, _) = (Vec::new(), 0);
    loop {
        let after = names.last().cloned();
        let continue_after = after.as_deref();
        let scope = Scope::Domain(b"LD");
        let request = NameListRequest { class: 0, scope, continue_after };
        let end = world.call(Request::GetNameList(request));
        let End::Response(pdu) = &end else { panic!("{end:?}") };
        assert!(pdu.len() <= 512);
        let Response::GetNameList(list) = service(pdu) else { panic!("{end:?}") };
        names.extend(list.names.iter().map(|it| it.0.to_vec()));
        requests += 1;
        if list.more_follows == Some(false) {
            break;
        }
    }
    // 40 booleans; LLN0, RP and BR, their blocks with 11 and 13 attributes; MMXU1, MX, TotW and two
    // leaves.
    assert_eq!(names.len(), 40 + 1 + 2 * 2 + 11 + 13 + 3 + 2);
    assert!(names.is_sorted() && requests > 1);
}

#[test]
fn only_what_the_parameters_name_is_written() {
    let mut world = World::open(Class::Zero, 65_000);
    assert_eq!(
        world.write("MMXU1$MX$TotW$f", Data::Float(&[8, 0, 0, 0, 0])),
        WriteResult::Failure(3)
    );
    assert_eq!(world.write("MMXU1$MX$TotW$i", Data::Integer(9)), WriteResult::Success);
    assert_eq!(world.write("MMXU1$MX$TotW$i", Data::Integer(900)), WriteResult::Failure(11));
    assert_eq!(world.write("MMXU1$MX$TotW$i", Data::Boolean(true)), WriteResult::Failure(7));
    assert_eq!(world.write("MMXU1$MX$TotW$x", Data::Integer(9)), WriteResult::Failure(10));
    let value = Node::Leaf(Value::Integer { bits: 8, value: 9 });
    assert_eq!(world.server.model().node("LD", "MMXU1$MX$TotW$i"), Some(&value));
}

#[test]
fn lists_of_clients_are_defined_read_and_deleted() {
    let mut world = World::open(Class::Zero, 65_000);
    for name in [ObjectName::Association(b"own"), name("LLN0$new")] {
        let mut room = Writer::new();
        let variables = List::encode(&[variable("MMXU1$MX$TotW")], &mut room);
        let define = ListDefinition { name, variables };
        assert!(matches!(world.call(Request::DefineNamedVariableList(define)), End::Response(_)));
        let again = world.call(Request::DefineNamedVariableList(define));
        assert!(matches!(again, End::Error(_)), "it exists");
        let variables = VariableAccess::Named(name);
        let request = ReadRequest { with_specification: None, variables };
        assert!(matches!(world.call(Request::Read(request)), End::Response(_)));
        let mut room = Writer::new();
        let names = Some(List::encode(&[name, self::name("LLN0$set")], &mut room));
        let delete = ListDeletion { scope: Some(0), names, domain: None };
        let end = world.call(Request::DeleteNamedVariableList(delete));
        let End::Response(pdu) = &end else { panic!("{end:?}") };
        let Response::DeleteNamedVariableList(deleted) = service(pdu) else { panic!("{end:?}") };
        // The list of the model is matched, and stays.
        assert_eq!((deleted.matched, deleted.deleted), (2, 1));
    }
}

#[test]
fn reports_follow_interrogation_period_and_change() {
    let mut world = World::open(Class::Zero, 65_000);
    assert_eq!(world.write("LLN0$RP$urcb01$GI", Data::Boolean(true)), WriteResult::Failure(2));
    assert_eq!(world.write("LLN0$RP$urcb01$RptEna", Data::Boolean(true)), WriteResult::Success);
    assert_eq!(world.write("LLN0$RP$urcb01$IntgPd", Data::Unsigned(1)), WriteResult::Failure(2));
    assert_eq!(world.write("LLN0$RP$urcb01$GI", Data::Boolean(true)), WriteResult::Success);
    // Identifier, fields, sequence number, inclusion, two values, two reasons.
    assert_eq!(world.reports(), [8]);
    world.wait(999);
    assert_eq!(world.reports(), [0; 0]);
    world.wait(1);
    assert_eq!(world.reports(), [8]);
    let name = Named { domain: "LD".to_owned(), item: "MMXU1$MX$TotW$f".to_owned() };
    let value = Value::Float32(2.5);
    world.server.request(world.now, server::Request::Set { name, value });
    world.run();
    // One value and one reason.
    assert_eq!(world.reports(), [6]);
    assert_eq!(world.write("LLN0$RP$urcb01$RptEna", Data::Boolean(false)), WriteResult::Success);
    world.wait(5_000);
    assert_eq!(world.reports(), [0; 0]);
}

#[test]
fn a_report_control_block_is_free_after_its_client_has_gone() {
    let mut world = World::open(Class::Zero, 65_000);
    assert_eq!(world.write("LLN0$RP$urcb01$RptEna", Data::Boolean(true)), WriteResult::Success);
    world.client.request(world.now, client::Request::Abort);
    world.run();
    assert_eq!((world.server.associations(), world.server.deadline()), (0, None));
    let enabled = world.server.model().node("LD", "LLN0$RP$urcb01$RptEna");
    assert_eq!(enabled, Some(&Node::Leaf(Value::Boolean(false))));
}

#[test]
fn a_lost_nsdu_of_class_4_delays_a_service_and_no_more() {
    // Opens a file of 20,000 octets and reads all of it, with the n-th NSDU of a side lost.
    let file = |world: &mut World| {
        let mut contents = Vec::new();
        let mut parts = Writer::new();
        let name =
            List::encode(&[Part { tag: Tag::GRAPHIC_STRING, text: b"log/a.dat" }], &mut parts);
        let mut calls =
            vec![Call::new(0, Request::FileOpen(FileOpen { name, position: 0 }), PATIENCE)];
        calls.extend((0..3).map(|_| Call::new(1, Request::FileRead(1), PATIENCE)));
        for call in calls {
            world.client.request(world.now, client::Request::Call(call));
            world.run();
            for _ in 0..200 {
                if !world.told.is_empty() {
                    break;
                }
                world.wait(50);
            }
            match world.told.pop_front() {
                Some(client::Indication::Ended { end: End::Response(pdu), .. }) => {
                    if let Response::FileRead(part) = service(&pdu) {
                        contents.extend_from_slice(part.octets);
                    }
                }
                other => panic!("{other:?}"),
            }
        }
        contents
    };
    let mut lossless = World::open(Class::Four, 65_000);
    let expected: Vec<u8> = (0..20_000_u32).map(|it| it as u8).collect();
    assert_eq!(file(&mut lossless), expected);
    assert_eq!(lossless.now, Instant::ZERO, "nothing had to be waited for");
    for side in [0, 1] {
        for nth in 0..12 {
            let mut world = World::open(Class::Four, 65_000);
            world.until_loss[side] = Some(nth);
            assert!(file(&mut world) == expected, "{side} {nth}");
            assert_eq!(world.client.state(), client::State::Open, "{side} {nth}");
            assert_eq!(world.server.associations(), 1, "{side} {nth}");
        }
    }
    // A DT of the server was lost, and sent again only after T1.
    let mut world = World::open(Class::Four, 65_000);
    world.until_loss[1] = Some(5);
    file(&mut world);
    assert!(world.now > Instant::ZERO);
}

#[test]
fn a_service_that_the_server_lacks_is_rejected() {
    let mut world = World::open(Class::Zero, 65_000);
    let end = world.call(Request::Other { tag: Tag(0xBF3F), content: &[] });
    assert!(matches!(end, End::Rejected(reject) if reject.reason == 1), "{end:?}");
    let missing = Specification::Name(name("MMXU9"));
    let end = world.call(Request::GetVariableAccessAttributes(missing));
    assert!(matches!(end, End::Error(_)), "{end:?}");
}

#[test]
fn a_third_association_is_refused_for_now() {
    let mut world = World::open(Class::Zero, 65_000);
    let mut clients = Vec::new();
    for expected in [true, false] {
        let mut another = World::new(Class::Zero, 65_000);
        core::mem::swap(&mut another.server, &mut world.server);
        core::mem::swap(&mut another.entities[1], &mut world.entities[1]);
        another.client.request(another.now, client::Request::Associate);
        another.run();
        let told = another.told.pop_front();
        let is_open = matches!(told, Some(client::Indication::Associated(_)));
        assert_eq!(is_open, expected, "{told:?}");
        let refusal = match told {
            Some(client::Indication::Rejected(refusal)) => Some(refusal),
            _ => None,
        };
        let has_error = matches!(refusal, Some(client::Refusal::Rejected { error: Some(_), .. }));
        assert_eq!(has_error, !expected, "a refusal has an initiate error");
        core::mem::swap(&mut another.server, &mut world.server);
        core::mem::swap(&mut another.entities[1], &mut world.entities[1]);
        clients.push(another);
    }
    assert_eq!(world.server.associations(), 2);
}

#[test]
fn octets_at_random_neither_break_nor_fill_a_server() {
    let seed = 7;
    let mut random = stats::rng::Stream::named(seed, "mms");
    for round in 0..300 {
        let mut world = World::open(Class::Zero, 65_000);
        for _ in 0..20 {
            // A read request with octets changed, or octets alone.
            let mut room = Writer::new();
            let call = Call::new(1, read("MMXU1$MX$TotW$f", &mut room), PATIENCE);
            world.client.request(world.now, client::Request::Call(call));
            while let Some(output) = world.client.poll() {
                let Output::Send(upper::Primitive::Data(mut data)) = output else { continue };
                let mut octets = data.octets.to_vec();
                for _ in 0..=random.below(4) {
                    let place = random.below(octets.len() as u64) as usize;
                    octets[place] = random.below(256) as u8;
                }
                data.octets = octets.into();
                let (endpoint, primitive) = (world.endpoint, upper::Primitive::Data(data));
                world.entities[0].request(world.now, Addressed { endpoint, primitive });
            }
            world.run();
            world.wait(1_000);
        }
        assert!(world.server.associations() <= 1, "seed {seed}, round {round}");
    }
}
