//! Stations behind machines, on a ring and on an ideal wire: timelines, refusals, conservation.

use bytes::Bytes;
use core::time::Duration;
use sim::host::{Cost, Interface, Level, NoBuffer, Params, Resource, Task, Tasks, WithCpu};
use sim::medium::framing::Framing;
use sim::medium::ideal::{self, Ideal};
use sim::medium::token_ring::{Params as Ring, TokenRing};
use sim::medium::{Medium, Passage};
use sim::world::World;
use stack::clnp;
use stack::host::{Host, HostParams};
use stack::load::{Event, Flow, FlowId, Pattern, Service};
use stack::machine::Deadline;
use stack::messaging::Priority;
use stack::station::{Frame, Station, Transmission};
use stack::tp4::{self, Acknowledgement};
use std::collections::{BTreeSet, VecDeque};
use wire::addr::{Mac, Nsap};
use wire::time::Instant;

const CPU: usize = 0;
const DMA: usize = 1;

/// Station that sends its frames as given, repeats refused ones, and logs.
struct Sender {
    address: Mac,
    frames: VecDeque<Frame>,
    /// Frame that the medium has, kept if refused frames are repeated.
    sending: Option<Frame>,
    sent: Vec<Instant>,
    refusals: u32,
    heard: Vec<Instant>,
}

impl Sender {
    fn new(number: u32, to: u32, frames: usize, octets: usize) -> Self {
        let address = Mac::local(number);
        let mut frame = Frame::new(Bytes::from(vec![0; octets]));
        frame.prepend(&wire::mac::header(Mac::local(to), address, 0));
        let frames = core::iter::repeat_n(frame, frames).collect();
        Self { address, frames, sending: None, sent: vec![], refusals: 0, heard: vec![] }
    }
}

impl Station for Sender {
    fn addr(&self) -> Mac {
        self.address
    }
    fn receive(&mut self, now: Instant, _frame: Frame) {
        self.heard.push(now);
    }
    fn expire(&mut self, _now: Instant) {}
    fn deadline(&self) -> Option<Deadline> {
        None
    }
    fn poll(&mut self) -> Option<Frame> {
        if self.sending.is_some() {
            return None;
        }
        self.sending = self.frames.pop_front();
        self.sending.clone()
    }
    fn transmitted(&mut self, now: Instant, _queue: u8, outcome: Transmission) {
        let frame = self.sending.take();
        match outcome {
            Transmission::Sent => self.sent.push(now),
            Transmission::Refused | Transmission::GivenUp | Transmission::NotTaken => {
                self.refusals += 1;
                self.frames.extend(frame);
            }
        }
    }
}

fn task(name: &str, uses: usize, level: Level, fixed_us: u64, octet_ns: u64) -> Task {
    let cost = Cost {
        fixed: Duration::from_micros(fixed_us),
        octet_picos: octet_ns * 1_000,
        ..Cost::default()
    };
    Task { name: name.to_owned(), uses: vec![uses], level, cost, sap: None }
}

/// Framing 1 ms, DMA of 1 us an octet either way, an interrupt of 500 us for each frame sent or
/// received.
fn machine(interface: Interface, no_buffer: NoBuffer) -> Params {
    let resource = |name: &str, is_processor| Resource { name: name.to_owned(), is_processor };
    Params {
        resources: vec![resource("cpu", true), resource("dma", false)],
        tasks: Tasks {
            send: vec![task("frame", CPU, Level::Base, 1_000, 0)],
            write: vec![task("out", DMA, Level::Base, 0, 1_000)],
            complete: vec![task("sent", CPU, Level::Interrupt, 500, 0)],
            read: vec![task("in", DMA, Level::Interrupt, 0, 1_000)],
            receive: vec![task("received", CPU, Level::Interrupt, 500, 0)],
            ..Tasks::default()
        },
        interface,
        no_buffer,
        queue_frames: 10,
    }
}

fn costed(station: Sender, params: &Params) -> WithCpu<Sender> {
    WithCpu::new(station, params.clone(), BTreeSet::new()).expect("the machine is valid")
}

/// 10 Mbit/s, no framing, no propagation: 100 octets of data take 114 octet times, 91.2 us.
fn wire() -> Ideal {
    Ideal::new(ideal::Params {
        rate: Some(wire::units::BitRate::mbps(10)),
        propagation: Duration::ZERO,
        framing: Framing::BARE,
        queue_frames: 10,
    })
}

fn run<M: Medium>(medium: M, stations: Vec<WithCpu<Sender>>, ms: u64) -> World<M, WithCpu<Sender>> {
    let mut world = World::new(medium, stations).expect("one place per station");
    let end = Instant::from_nanos(ms * 1_000_000);
    world.run(end, |_| {}).expect("time advances");
    for station in world.stations() {
        for usage in station.usage() {
            assert!(usage.busy <= Duration::from_millis(ms), "{usage:?} of {ms} ms");
        }
    }
    world
}

fn micros(instants: &[Instant]) -> Vec<f64> {
    instants.iter().map(|at| at.as_nanos() as f64 / 1e3).collect()
}

#[test]
fn a_frame_passes_its_tasks_one_after_the_other() {
    let params = machine(Interface::Shared, NoBuffer::Refused);
    let stations = [Sender::new(1, 2, 2, 100), Sender::new(2, 1, 0, 100)];
    let world = run(wire(), stations.map(|s| costed(s, &params)).into(), 50);
    let [sender, receiver] = world.stations() else { panic!("two stations") };
    // 1,000 framing + 100 written + 91.2 sent + 500: 1,691.2 us, and then the next.
    assert_eq!(micros(&sender.station().sent), [1_691.2, 3_382.4]);
    // 1,191.2 on the wire; 100 read + 500 more.
    assert_eq!(micros(&receiver.station().heard), [1_791.2, 3_482.4]);
    assert_eq!(sender.processor_time(), Duration::from_micros(3_000));
    assert_eq!(receiver.processor_time(), Duration::from_micros(1_000));
    assert_eq!(sender.time_by_task()["out"], Duration::from_micros(200));
}

#[test]
fn a_machine_without_costs_changes_nothing() {
    let stations = || [Sender::new(1, 2, 3, 100), Sender::new(2, 1, 2, 40)];
    let on_machines = run(wire(), stations().map(|s| costed(s, &Params::ideal())).into(), 5);
    let mut plain = World::new(wire(), stations().into()).expect("one place per station");
    plain.run(Instant::from_nanos(5_000_000), |_| {}).expect("time advances");
    for (one, other) in on_machines.stations().iter().zip(plain.stations()) {
        assert_eq!(one.station().sent, other.sent);
        assert_eq!(one.station().heard, other.heard);
        assert!(!other.sent.is_empty());
    }
}

#[test]
fn a_ring_refuses_frames_without_a_buffer_and_retries_deliver() {
    // Three stations without costs send to one whose buffer is taken for 2 ms a frame.
    let slow = Params {
        tasks: Tasks {
            read: vec![task("in", DMA, Level::Interrupt, 2_000, 0)],
            ..Tasks::default()
        },
        ..machine(Interface::Shared, NoBuffer::Refused)
    };
    let ring = TokenRing::new(Ring::pronet_10(4, 100.0)).expect("the ring is allowed");
    let senders = (2..=4).map(|number| costed(Sender::new(number, 1, 5, 100), &Params::ideal()));
    let stations = core::iter::once(costed(Sender::new(1, 2, 0, 100), &slow)).chain(senders);
    let world = run(ring, stations.collect(), 100);
    let receiver = &world.stations()[0];
    let heard = &receiver.station().heard;
    assert_eq!(heard.len(), 15, "each frame once");
    assert!(heard.windows(2).all(|pair| pair[1].since(pair[0]) >= Duration::from_millis(2)));
    let refusals: u32 = world.stations()[1..].iter().map(|s| s.station().refusals).sum();
    assert_eq!(u64::from(refusals), world.medium().statistics().refused);
    println!("seen: {refusals} refusals of 15 frames");
    assert!(refusals > 15, "a frame takes 88 us and the buffer 2 ms");
    assert_eq!((receiver.counters().arrived, receiver.counters().lost), (15, 0));
    assert_eq!(receiver.counters().late, 0, "no frame was admitted without a buffer");
}

#[test]
fn on_other_media_a_frame_without_a_buffer_is_lost() {
    let slow = Params {
        tasks: Tasks { read: vec![task("in", DMA, Level::Interrupt, 150, 0)], ..Tasks::default() },
        ..machine(Interface::Shared, NoBuffer::Lost)
    };
    let stations = vec![
        costed(Sender::new(1, 2, 10, 100), &Params::ideal()),
        costed(Sender::new(2, 1, 0, 1), &slow),
    ];
    let world = run(wire(), stations, 10);
    // A frame arrives every 91.2 us and is read for 150: every second one is lost.
    let counters = world.stations()[1].counters();
    assert_eq!((counters.arrived, counters.lost), (10, 5));
    assert_eq!(world.stations()[1].station().heard.len(), 5);
}

#[test]
fn with_one_buffer_a_station_cannot_receive_while_it_sends() {
    // Both send at once. Their writing overlaps, so neither has a buffer when the other's frame
    // arrives.
    let heard_at = |interface| {
        let params = machine(interface, NoBuffer::Lost);
        let stations = [Sender::new(1, 2, 1, 100), Sender::new(2, 1, 1, 1_000)];
        let world = run(wire(), stations.map(|s| costed(s, &params)).into(), 20);
        world.stations().iter().map(|s| micros(&s.station().heard)).collect::<Vec<_>>()
    };
    // Station 2 writes from 1,000 to 2,000 us and sends for 811.2; a frame arrives at 1,191.2. The
    // buffer of station 1 is free again at 1,191.2, before the frame that arrives at 2,811.2.
    let short = heard_at(Interface::Shared);
    assert_eq!(short, [vec![2_811.2 + 1_000.0 + 500.0], vec![]]);
    // With two buffers the first frame is read when the DMA has finished writing, at 2,000.
    let both = heard_at(Interface::Separate);
    assert_eq!(both, [vec![4_311.2], vec![2_000.0 + 100.0 + 500.0]]);
}

#[test]
fn behind_a_front_end_a_request_and_its_reply_cross_four_times() {
    // A request of 20 octets and a reply of 100: down, out, in and up cost 1,000, 200, 300 and
    // 2,000 us each way, and each unit of 64 octets 10 us more at each crossing: 7,000 us, two
    // crossings of one unit and two of two, 60 us. Datagrams have 17 octets around the data, 2 x 17
    // + 120 octets in 123.2 us; class 4 has 13 more, 144.0 us.
    let mut params = machine(Interface::Unlimited, NoBuffer::Lost);
    let named = |name: &str| Resource { name: name.to_owned(), is_processor: true };
    params.resources = ["host", "front end"].map(named).to_vec();
    let unit = |fixed_us| Cost {
        fixed: Duration::from_micros(fixed_us),
        unit: Duration::from_micros(10),
        unit_octets: 64,
        ..Cost::default()
    };
    let crossing = |name: &str, cost| Task { cost, ..task(name, 0, Level::Base, 0, 0) };
    params.tasks = Tasks {
        submit: vec![crossing("down", unit(1_000))],
        deliver: vec![crossing("up", unit(2_000))],
        send: vec![task("send", 1, Level::Base, 200, 0)],
        receive: vec![task("receive", 1, Level::Base, 300, 0)],
        ..Tasks::default()
    };
    for (service, micros) in [(Service::Datagram, 7_183), (Service::Class4, 7_204)] {
        let pattern = Pattern::MaximumRateRequest { reply_octets: 100 };
        let host = |number: u32, flows| {
            WithCpu::new(host(number, flows).behind_front_end(), params.clone(), BTreeSet::new())
        };
        let asker = host(1, vec![asking(service, pattern)]).unwrap();
        let mut world = World::new(wire(), vec![asker, host(2, Vec::new()).unwrap()]).unwrap();
        world.run(Instant::ZERO + Duration::from_secs(1), &mut |_: &Passage| {}).unwrap();
        let asker = world.stations_mut()[0].station_mut();
        let answers = core::iter::from_fn(|| asker.record()).filter_map(|record| {
            let Event::Answered { planned, .. } = record.event else { return None };
            Some(record.at.since(planned).as_micros())
        });
        let answers: Vec<u128> = answers.collect();
        // Over class 4 no AK of one message delays another here: front ends take 0.5 ms for it
        // while user data cross for at least 3 ms.
        assert_eq!(answers, [micros; 3], "{service:?}");
    }
}

/// Host of a LAN with these flows.
fn host(number: u32, flows: Vec<Flow>) -> Host {
    let address = Mac::local(number);
    let params = HostParams {
        address,
        transport: tp4::Params { acknowledgement: Acknowledgement::Each, ..tp4::Params::lan() },
        network: clnp::Params::inactive(Nsap::of_station(address)),
        last_reference: 0,
        accepts: true,
        saps: Vec::new(),
        framing: stack::profile::Framing::Ieee8023,
        messaging: None,
    };
    Host::new(params, flows)
}

/// Three requests of 20 octets from host 1 to host 2.
fn asking(service: Service, pattern: Pattern) -> Flow {
    Flow {
        id: FlowId(1),
        peer: Mac::local(2),
        service,
        priority: Priority::LOWEST,
        pattern,
        size_octets: 20,
        messages: Some(3),
        start: Instant::ZERO,
        seed: 1,
    }
}
