//! Cost of an MMS read above the network, layer by layer, in thread CPU time: client and server in
//! one thread, with TPKTs as contiguous octets between them.
//!
//! `cargo bench -p tidewire-stack --bench upper`. Calls are made in batches, and the clock is read
//! between the steps of a batch. The rows of the layers drive each layer alone; `transport` is
//! class 0 with TPKT. `-- client` runs the whole path of one variable alone, for a profiler.
#![expect(clippy::unwrap_used, reason = "a benchmark stops at what it did not expect")]

use bytes::{BufMut, Bytes, BytesMut};
use core::hint::black_box;
use core::time::Duration;
use rustix::time::{ClockId, clock_gettime};
use stack::acse::Entity as Title;
use stack::machine::{Machine, Output};
use stack::mms::client::{self, Call, Client, End};
use stack::mms::server::{self, Domain, Member, Model, Node, Server, Value};
use stack::mms::{Proposal, client::Indication};
use stack::network::{Network, NetworkConnectionId};
use stack::presentation::{Addresses, Pdv, Presentation, Primitive as Presented};
use stack::session::{self, Below};
use stack::tp0;
use stack::transport::{Endpoint, Indication as Transported, Request as Transport};
use stack::upper::{self, Addressed, Entity, EntityParams, Lower, Tsaps};
use std::collections::{BTreeMap, BTreeSet};
use wire::addr::Mac;
use wire::ber::{List, Writer};
use wire::mms::{
    AccessResult, Data, ObjectName, Pdu, ReadRequest, Request, Response, Specification, Variable,
    VariableAccess,
};
use wire::packet::Packet;
use wire::time::Instant;
use wire::tpkt::{Header, Reassembler};

const ROUNDS: usize = 9;
/// Calls in a batch, all of them outstanding.
const BATCH: usize = 32;
const BATCHES: usize = 500;
const NOW: Instant = Instant::ZERO;
/// Presentation context of MMS.
const CONTEXT: i64 = 3;

fn cpu_nanos() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Median, minimum and maximum in nanoseconds.
fn shown(mut figures: Vec<f64>) -> String {
    figures.sort_by(f64::total_cmp);
    let [least, most] = [figures[0], figures[figures.len() - 1]];
    format!("{:.0} [{least:.0} to {most:.0}] ns", figures[figures.len() / 2])
}

// ---- client and server ----------------------------------------------------------------------------

fn model() -> Model {
    let leaf = |name: &str| Member { name: name.to_owned(), node: Node::Leaf(Value::Float32(1.5)) };
    let measured =
        |place: usize| Member { name: format!("V{place}"), node: Node::Structure(vec![leaf("f")]) };
    let values = Node::Structure((0..10).map(measured).collect());
    let node = Node::Structure(vec![Member { name: "MX".to_owned(), node: values }]);
    let variables = (0..10).map(|place| (format!("MMXU{place}"), node.clone())).collect();
    let domain = Domain { variables, ..Domain::default() };
    Model { domains: BTreeMap::from([("DEMO1".to_owned(), domain)]), ..Model::default() }
}

/// Call that reads `n` leaves.
fn call(n: usize) -> Call {
    let name = |place: usize| format!("MMXU{}$MX$V{}$f", place / 10, place % 10);
    let names: Vec<String> = (0..n).map(name).collect();
    let variable = |name: &String| {
        let name = ObjectName::Domain { domain: b"DEMO1", item: name.as_bytes() };
        encoded(&Variable { specification: Specification::Name(name), alternate: None })
    };
    let variables: Vec<Bytes> = names.iter().map(variable).collect();
    let decoded: Vec<Variable<'_>> = variables
        .iter()
        .map(|it| wire::ber::Item::take(&mut wire::ber::Reader::new(it)).unwrap())
        .collect();
    let mut room = Writer::new();
    let variables = VariableAccess::Variables(List::encode(&decoded, &mut room));
    let read = Request::Read(ReadRequest { with_specification: None, variables });
    Call::new(1, read, Duration::from_secs(10))
}

fn encoded(variable: &Variable<'_>) -> Bytes {
    let mut out = Writer::new();
    wire::ber::Item::put(variable, &mut out);
    Bytes::copy_from_slice(out.octets())
}

/// Sum of the values in a response, and their number.
fn values(pdu: &[u8]) -> (f32, usize) {
    let Ok(Pdu::ConfirmedResponse(response)) = Pdu::decode(pdu) else { panic!("{pdu:02x?}") };
    let Response::Read(read) = response.service else { panic!("{pdu:02x?}") };
    read.results.iter().fold((0.0, 0), |(sum, n), result| match result {
        AccessResult::Success(Data::Float([8, a, b, c, d])) => {
            (sum + f32::from_be_bytes([*a, *b, *c, *d]), n + 1)
        }
        other => panic!("{other:?}"),
    })
}

/// Octets of a TPDU with its TPKT header, contiguous as TCP would have them.
fn tpkt(packet: &Packet) -> Bytes {
    let mut octets = BytesMut::with_capacity(packet.len() + 4);
    octets.put_slice(&Header::of_tpdu(packet.len()).unwrap().encode());
    octets.put_slice(packet.head());
    octets.put_slice(packet.payload());
    octets.freeze()
}

struct World {
    entities: [Entity; 2],
    client: Client,
    server: Server,
    endpoint: Endpoint,
    lines: [NetworkConnectionId; 2],
    reassemblers: [Reassembler; 2],
    /// TPKTs to the server and to the client.
    to: [Vec<Bytes>; 2],
    read: usize,
}

impl World {
    fn new() -> Self {
        let entity = |accepts| {
            let transport =
                stack::transport::Transport::Network(tp0::Entity::new(tp0::Params::class0()));
            Entity::new(EntityParams { joint: upper::Params::mms(), accepts }, transport)
        };
        let proposal = Proposal { outstanding: BATCH as u16, ..Proposal::usual() };
        let mut entities = [entity(false), entity(true)];
        let endpoint = entities[0].call(Mac::local(1), Tsaps::default());
        let server = server::Params {
            proposal,
            associations: 1,
            writable: BTreeSet::new(),
            files: BTreeMap::new(),
            epoch_ns: 0,
        };
        let mut world = Self {
            entities,
            client: client(proposal),
            server: Server::new(server, model()),
            endpoint,
            lines: [NetworkConnectionId(1); 2],
            reassemblers: [Reassembler::new(), Reassembler::new()],
            to: [Vec::new(), Vec::new()],
            read: 0,
        };
        world.lines[1] = world.entities[1].incoming(NOW).unwrap();
        world.client.request(NOW, client::Request::Associate);
        for _ in 0..6 {
            world.send_requests();
            world.serve();
            world.receive_answers();
        }
        assert_eq!(world.client.state(), client::State::Open);
        world
    }

    /// Passes TPKTs of the client out.
    fn send_requests(&mut self) {
        while let Some(output) = self.client.poll() {
            let Output::Send(primitive) = output else { continue };
            let endpoint = self.endpoint;
            self.entities[0].request(NOW, Addressed { endpoint, primitive });
        }
        self.below(0);
    }

    fn below(&mut self, own: usize) {
        while let Some(Lower::Network(line, network)) = self.entities[own].poll_below() {
            match network {
                Network::Data(packet) => {
                    self.to[1 - own].push(tpkt(&packet));
                    let octets = packet.len();
                    self.entities[own].receive(NOW, line, Network::Taken { octets });
                }
                Network::Connect => {
                    self.lines[0] = line;
                    self.entities[0].receive(NOW, line, Network::Connect);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    /// Takes TPKTs in, down to the last.
    fn take(&mut self, own: usize) {
        for octets in core::mem::take(&mut self.to[own]) {
            let reassembler = &mut self.reassemblers[own];
            assert_eq!(reassembler.push(&octets), octets.len());
            while let Some(tpdu) = reassembler.take_tpdu().unwrap() {
                let data = Network::Data(Packet::new(tpdu));
                self.entities[own].receive(NOW, self.lines[own], data);
            }
        }
    }

    fn serve(&mut self) {
        self.take(1);
        while let Some(addressed) = self.entities[1].poll() {
            self.server.receive(NOW, addressed);
            while let Some(output) = self.server.poll() {
                if let Output::Send(addressed) = output {
                    self.entities[1].request(NOW, addressed);
                }
            }
        }
        self.below(1);
    }

    fn receive_answers(&mut self) {
        self.take(0);
        while let Some(addressed) = self.entities[0].poll() {
            self.client.receive(NOW, addressed.primitive);
            while let Some(output) = self.client.poll() {
                match output {
                    Output::Deliver(Indication::Ended { end: End::Response(pdu), .. }) => {
                        self.read += black_box(values(&pdu)).1;
                    }
                    Output::Send(primitive) => {
                        let endpoint = self.endpoint;
                        self.entities[0].request(NOW, Addressed { endpoint, primitive });
                    }
                    Output::Deliver(_) | Output::Note(_) => {}
                }
            }
        }
        self.below(0);
    }
}

fn client(proposal: Proposal) -> Client {
    Client::new(client::Params {
        addresses: Addresses::default(),
        calling: Title::default(),
        called: Title::default(),
        context: CONTEXT,
        proposal,
        patience: Duration::from_secs(10),
        waiting: BATCH,
    })
}

/// Nanoseconds of a call in each of its steps.
#[derive(Default)]
struct Steps {
    request: f64,
    serve: f64,
    answer: f64,
}

fn whole(n: usize) -> Steps {
    let mut world = World::new();
    let call = call(n);
    let mut steps = Steps::default();
    for _ in 0..BATCHES {
        let start = cpu_nanos();
        for _ in 0..BATCH {
            world.client.request(NOW, client::Request::Call(call.clone()));
            world.send_requests();
        }
        let sent = cpu_nanos();
        world.serve();
        let served = cpu_nanos();
        world.receive_answers();
        let end = cpu_nanos();
        steps.request += sent - start;
        steps.serve += served - sent;
        steps.answer += end - served;
    }
    let calls = (BATCH * BATCHES) as f64;
    assert_eq!(world.read, BATCH * BATCHES * n);
    steps.request /= calls;
    steps.serve /= calls;
    steps.answer /= calls;
    steps
}

// ---- layers alone ---------------------------------------------------------------------------------

/// PDUs of one call, taken from a whole run.
struct Sample {
    call: Call,
    request: Bytes,
    answer: Bytes,
}

impl Sample {
    fn new(n: usize) -> Self {
        let mut world = World::new();
        let call = call(n);
        world.client.request(NOW, client::Request::Call(call.clone()));
        let Some(Output::Send(primitive)) = world.client.poll() else { panic!("no request") };
        let upper::Primitive::Data(request) = primitive.clone() else { panic!("no data") };
        let endpoint = world.endpoint;
        world.entities[0].request(NOW, Addressed { endpoint, primitive });
        world.below(0);
        world.serve();
        world.take(0);
        let answer = world.entities[0].poll().unwrap().primitive;
        let upper::Primitive::Data(answer) = answer else { panic!("no data") };
        Self { call, request: request.octets, answer: answer.octets }
    }
}

/// Nanoseconds of a call of `step`.
fn each(mut step: impl FnMut()) -> f64 {
    let n = BATCH * BATCHES;
    let start = cpu_nanos();
    (0..n).for_each(|_| step());
    (cpu_nanos() - start) / n as f64
}

fn pdv(octets: &Bytes) -> Pdv {
    Pdv { context: CONTEXT, octets: octets.clone() }
}

/// Costs of one layer: a request on its way down, its answer on its way up.
struct Cost {
    down: f64,
    up: f64,
}

/// Invoke identifiers that have one octet.
const SHORT_INVOKES: u8 = 127;

/// Machine of the client; each call is answered at once. Its PDUs include the codec's work of a
/// request.
fn of_client(sample: &Sample) -> f64 {
    let mut answer = sample.answer.to_vec();
    // The invoke identifier is behind the header of the PDU.
    let place = answer.windows(2).position(|pair| pair == [2, 1]).unwrap() + 2;
    let runs = BATCH * BATCHES / usize::from(SHORT_INVOKES);
    let mut nanos = 0.0;
    for _ in 0..runs {
        let World { mut client, .. } = World::new();
        let start = cpu_nanos();
        for invoke in 1..=SHORT_INVOKES {
            client.request(NOW, client::Request::Call(sample.call.clone()));
            let Some(Output::Send(data)) = client.poll() else { panic!("no request") };
            black_box(data);
            answer[place] = invoke;
            client.receive(NOW, upper::Primitive::Data(pdv(&Bytes::copy_from_slice(&answer))));
            assert!(matches!(client.poll(), Some(Output::Deliver(Indication::Ended { .. }))));
        }
        nanos += cpu_nanos() - start;
    }
    nanos / (runs * usize::from(SHORT_INVOKES)) as f64
}

/// Session connection after its opening, and presentation entity after its own.
struct Layers {
    session: session::Connection,
    presentation: Presentation,
}

impl Layers {
    fn new() -> Self {
        let mut sides = [Self::closed(), Self::closed()];
        let data = Pdv { context: 1, octets: Bytes::from_static(&[0x60, 0]) };
        let addresses = Addresses::default();
        sides[0].presentation.request(NOW, Presented::Connect { addresses, data: data.clone() });
        while (0..2).any(|own| Self::step(&mut sides, own, &data)) {}
        let [own, _] = sides;
        assert_eq!(own.session.state(), session::State::Sta713);
        own
    }

    fn closed() -> Self {
        let params = stack::presentation::Params::mms();
        let kernel = stack::presentation::Kernel::new(params);
        Self {
            session: session::Connection::new(session::Params::version_2()),
            presentation: Presentation::Kernel(kernel),
        }
    }

    fn step(sides: &mut [Self; 2], own: usize, data: &Pdv) -> bool {
        if let Some(output) = sides[own].presentation.poll() {
            match output {
                Output::Send(primitive) => sides[own].session.request(NOW, primitive),
                Output::Deliver(Presented::Connect { .. }) => {
                    sides[own].presentation.request(NOW, Presented::Accept { data: data.clone() });
                }
                Output::Deliver(_) | Output::Note(_) => {}
            }
        } else if let Some(output) = sides[own].session.poll() {
            match output {
                Output::Send(below) => {
                    if below == Below::Connect {
                        sides[own].session.receive(NOW, Below::Connect);
                    }
                    sides[1 - own].session.receive(NOW, below);
                }
                Output::Deliver(primitive) => sides[own].presentation.receive(NOW, primitive),
                Output::Note(_) => {}
            }
        } else {
            return false;
        }
        true
    }
}

fn of_presentation(sample: &Sample) -> Cost {
    let Layers { mut presentation, .. } = Layers::new();
    presentation.request(NOW, Presented::Data(pdv(&sample.answer)));
    let Some(Output::Send(arriving)) = presentation.poll() else { panic!("lost") };
    let down = each(|| {
        presentation.request(NOW, Presented::Data(pdv(&sample.request)));
        assert!(matches!(black_box(presentation.poll()), Some(Output::Send(_))));
    });
    let up = each(|| {
        presentation.receive(NOW, arriving.clone());
        assert!(matches!(black_box(presentation.poll()), Some(Output::Deliver(_))));
    });
    Cost { down, up }
}

fn of_session(sample: &Sample) -> Cost {
    let Layers { mut session, .. } = Layers::new();
    let down_ssdu = presented(&sample.request);
    let tsdu = [&wire::session::DATA[..], &presented(&sample.answer)].concat();
    let arriving = Bytes::from(tsdu);
    let down = each(|| {
        session.request(NOW, session::Primitive::Data { ssdu: down_ssdu.clone() });
        assert!(matches!(black_box(session.poll()), Some(Output::Send(_))));
    });
    let up = each(|| {
        session.receive(NOW, Below::Data(arriving.clone()));
        assert!(matches!(black_box(session.poll()), Some(Output::Deliver(_))));
    });
    Cost { down, up }
}

fn presented(pdu: &[u8]) -> Bytes {
    let mut out = Writer::new();
    out.put(pdu);
    wire::presentation::wrap(CONTEXT, 0, &mut out);
    Bytes::copy_from_slice(out.octets())
}

fn of_transport(sample: &Sample) -> Cost {
    let mut entity = tp0::Entity::new(tp0::Params::class0());
    let line = entity.incoming(NOW).unwrap();
    let cr = Packet::new(Bytes::from_static(&[9, 0xE0, 0, 0, 0, 9, 0, 0xC0, 1, 0x0B]));
    entity.receive(NOW, (line, Network::Data(cr)));
    let endpoint = Endpoint::from(line);
    entity.request(NOW, Transport::Accept { endpoint, data: Bytes::new() });
    while entity.poll().is_some() {}
    let tsdu = |pdu| Bytes::from([&wire::session::DATA[..], &presented(pdu)].concat());
    let (request, answer) = (tsdu(&sample.request), tsdu(&sample.answer));
    let down = each(|| {
        entity.request(NOW, Transport::Data { endpoint, tsdu: request.clone() });
        while let Some(output) = entity.poll() {
            if let Output::Send((line, Network::Data(packet))) = output {
                let octets = black_box(tpkt(&packet)).len() - 4;
                entity.receive(NOW, (line, Network::Taken { octets }));
            }
        }
    });
    let mut reassembler = Reassembler::new();
    let dt = [&[2, 0xF0, 0x80][..], &answer].concat();
    let arriving = tpkt(&Packet::new(Bytes::from(dt)));
    let mut octets = 0;
    let up = each(|| {
        reassembler.push(&arriving);
        let tpdu = reassembler.take_tpdu().unwrap().unwrap();
        entity.receive(NOW, (line, Network::Data(Packet::new(tpdu))));
        while let Some(output) = entity.poll() {
            if let Output::Deliver(Transported::Data { octets: data, .. }) = output {
                octets += data.len();
            }
        }
    });
    assert_eq!(octets, answer.len() * BATCH * BATCHES);
    Cost { down, up }
}

fn of_codec(sample: &Sample) -> Cost {
    let Ok(pdu) = Pdu::decode(&sample.request) else { panic!("no request") };
    let down = each(|| {
        let mut out = Writer::new();
        pdu.encode(&mut out);
        black_box(Bytes::copy_from_slice(out.octets()));
    });
    let up = each(|| {
        black_box(values(&sample.answer));
    });
    Cost { down, up }
}

// ---- the table ------------------------------------------------------------------------------------

fn row(name: &str, figures: Vec<f64>) {
    println!("{name:44} {:>26}", shown(figures));
}

fn rows(name: &str, run: impl Fn() -> Cost) {
    let costs: Vec<Cost> = (0..ROUNDS).map(|_| run()).collect();
    row(&format!("{name}, down"), costs.iter().map(|it| it.down).collect());
    row(&format!("{name}, up"), costs.iter().map(|it| it.up).collect());
}

fn table(n: usize) {
    let sample = Sample::new(n);
    let [request, answer] = [sample.request.len(), sample.answer.len()];
    println!("\nread of {n}: request {request} octets of MMS, response {answer}");
    let steps: Vec<Steps> = (0..ROUNDS).map(|_| whole(n)).collect();
    row("client: call to TPKT", steps.iter().map(|it| it.request).collect());
    row("server: TPKT to TPKT", steps.iter().map(|it| it.serve).collect());
    row("client: TPKT to values", steps.iter().map(|it| it.answer).collect());
    row("client: both", steps.iter().map(|it| it.request + it.answer).collect());
    rows("  MMS codec", || of_codec(&sample));
    row("  MMS client, both", (0..ROUNDS).map(|_| of_client(&sample)).collect());
    rows("  presentation", || of_presentation(&sample));
    rows("  session", || of_session(&sample));
    rows("  transport", || of_transport(&sample));
}

fn main() {
    if std::env::args().any(|argument| argument == "client") {
        (0..ROUNDS).for_each(|_| {
            black_box(whole(1));
        });
        return;
    }
    println!("thread CPU time per call, median [least to most] of {ROUNDS} rounds");
    [1, 100].into_iter().for_each(table);
}
