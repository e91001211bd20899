//! Runs the examples' programs, unchanged, over the network named on the command line.
//!
//! `cargo run -p tidewire-live --example acknowledged` runs within the process. After `--` may
//! follow `udp`, `simulated`, or `ethernet INTERFACE HERE THERE` with two network namespaces, the
//! first station in one and the others in the other.

use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use live::clock;
use live::port::{
    AfPacket, AfPacketParams, Hub, Port, PortError, Reach, Stamp, Udp, UdpParams, Wait,
};
use live::runner::Runner;
use sim::medium::framing::Framing;
use sim::medium::ideal::{Ideal, Params as IdealParams};
use sim::world::World;
use stack::messaging::{Address, Params};
use stack::profile::{Messenger, Programmed};
use wire::{addr::Mac, time::Instant, units::BitRate};

/// A station's program, called once at the start and after every event; returns the latest time of
/// the next call.
pub(crate) type Program = Box<dyn FnMut(&mut Messenger, Instant) -> Option<Instant> + Send>;
/// Group to which every station belongs.
pub(crate) const GROUP: Mac = Mac([0x03, 0, 0, 0, 0, 0x07]);
/// Time limit in case of an error.
const MOST: Duration = Duration::from_secs(20);
static DONE: AtomicBool = AtomicBool::new(false);

/// Ends the example.
pub(crate) fn done() {
    DONE.store(true, Ordering::Relaxed);
}

/// Socket of one of the stations, which are numbered from 1.
pub(crate) const fn at(station: u32, socket: u8) -> Address {
    Address { station: Mac::local(station), socket }
}

/// Runs the programs, each on its station, until one calls [`done`].
pub(crate) fn run(programs: Vec<Program>) {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let programs: Vec<Program> = programs.into_iter().map(until_done).collect();
    let count = programs.len();
    let ports = match words.as_slice() {
        ["simulated"] => return simulate(programs),
        [] | ["in-process"] => Ok(in_process(count)),
        ["udp"] => udp(count),
        ["ethernet", interface, here, there] => ethernet(count, interface, [here, there]),
        _ => panic!("in-process, udp, simulated or ethernet INTERFACE HERE THERE"),
    };
    let ports = ports.unwrap_or_else(|error| panic!("{error}"));
    std::thread::scope(|scope| {
        for (program, mut port) in programs.into_iter().zip(ports) {
            scope.spawn(move || {
                let mut station = Programmed::new(messenger(port.addr()), program);
                let (until, go_on) =
                    (clock::now() + MOST, |_: &mut _, _| live::runner::Control::Continue);
                Runner::new()
                    .run(&mut station, &mut *port, until, &DONE, go_on)
                    .expect("the port works");
            });
        }
    });
}

/// Wraps a program so that it does nothing once the example is done.
fn until_done(mut program: Program) -> Program {
    let is_done = || DONE.load(Ordering::Relaxed);
    Box::new(move |it, now| if is_done() { None } else { program(it, now) })
}

fn messenger(station: Mac) -> Messenger {
    Messenger::new(station, Params::lan()).expect("the parameters are valid")
}

fn stations(count: usize) -> impl Iterator<Item = Mac> {
    (1..=count as u32).map(Mac::local)
}

fn simulate(programs: Vec<Program>) {
    let (rate, framing) = (Some(BitRate::mbps(10)), Framing::IEEE_802_3);
    let medium = IdealParams { rate, propagation: Duration::ZERO, framing, queue_frames: 100 };
    let stations = stations(programs.len()).zip(programs);
    let stations = stations.map(|(station, program)| Programmed::new(messenger(station), program));
    let mut world = World::new(Ideal::new(medium), stations.collect())
        .expect("the medium has places for all stations");
    let step = Duration::from_millis(1);
    let mut now = Instant::ZERO;
    while !DONE.load(Ordering::Relaxed) && now < Instant::ZERO + MOST {
        now += step;
        world.run(now, |_| {}).expect("time advances");
    }
}

fn in_process(count: usize) -> Vec<Box<dyn Port>> {
    let hub = Hub::new(100);
    stations(count).map(|station| Box::new(hub.port(station)) as Box<dyn Port>).collect()
}

/// Ports that each have the sockets of all others as static entries.
fn udp(count: usize) -> Result<Vec<Box<dyn Port>>, PortError> {
    let free = |_| std::net::UdpSocket::bind("127.0.0.1:0")?.local_addr();
    let addresses: Result<Vec<_>, std::io::Error> = (0..count).map(free).collect();
    let addresses =
        addresses.map_err(|source| PortError::System { doing: "find ports", source })?;
    let peers: Vec<_> = stations(count).zip(addresses).collect();
    let open = |(station, address): &(Mac, _)| {
        let others = peers.iter().filter(|(other, _)| other != station);
        let port = Udp::open(UdpParams {
            address: *address,
            station: *station,
            peers: others.copied().collect(),
            learn: false,
            reach: Reach::ThisHost,
            wait: Wait::Block,
        })?;
        Ok(Box::new(port) as Box<dyn Port>)
    };
    peers.iter().map(open).collect()
}

fn ethernet(
    count: usize,
    interface: &str,
    [here, there]: [&str; 2],
) -> Result<Vec<Box<dyn Port>>, PortError> {
    let open = |station| {
        let namespace = if station == Mac::local(1) { here } else { there };
        let port = AfPacket::open(&AfPacketParams {
            interface: interface.to_owned(),
            namespace: Some(namespace.to_owned()),
            station: Some(station),
            groups: vec![GROUP],
            wait: Wait::Block,
            stamp: Stamp::Kernel,
        })?;
        Ok(Box::new(port) as Box<dyn Port>)
    };
    stations(count).map(open).collect()
}
