//! Class 4 beside smoltcp's TCP: both ends and the wire between them in one thread, in thread CPU time.
//!
//! `cargo bench -p tidewire-stack --bench in_memory`. Rounds of both alternate; the table shows medians
//! and their ratio. User data per segment is 1,400 octets on both sides; TCP has 64 KiB buffers and class
//! 4 a window of 46 DTs, which is as much.
#![expect(clippy::unwrap_used, reason = "a benchmark stops at what it did not expect")]

use bytes::Bytes;
use rustix::time::{ClockId, clock_gettime};
use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::phy::{ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp;
use smoltcp::time::Instant as TcpInstant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, IpEndpoint};
use stack::machine::{Machine, Output};
use stack::tp4::{Address, Endpoint, Entity, Indication, Nsdu, Params, Request};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use wire::addr::Mac;
use wire::packet::Packet;
use wire::time::Instant;

const SEGMENT: usize = 1_400;
const SEGMENTS: usize = 100_000;
const ROUNDS: usize = 9;

fn cpu_nanos() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// Nanoseconds of thread CPU time per segment.
fn per_segment(run: impl FnOnce()) -> f64 {
    let before = cpu_nanos();
    run();
    (cpu_nanos() - before) / SEGMENTS as f64
}

/// Median, least and most.
fn spread(mut figures: Vec<f64>) -> [f64; 3] {
    figures.sort_by(f64::total_cmp);
    [figures[figures.len() / 2], figures[0], figures[figures.len() - 1]]
}

fn shown([middle, least, most]: [f64; 3]) -> String {
    format!("{middle:.0} [{least:.0} to {most:.0}] ns")
}

// ---- class 4 ------------------------------------------------------------------------------------------

struct Pair {
    entities: [Entity; 2],
    received: usize,
    /// Whether each packet is copied into one piece on its way, as a wire would.
    copies: bool,
}

impl Pair {
    fn address(of: usize) -> Address {
        Address::Station(Mac::local(of as u32 + 1))
    }

    fn new(checksum: bool, copies: bool) -> (Self, Endpoint) {
        let params = Params {
            checksum,
            extended: true,
            tpdu_octets: 2_048,
            nsdu_octets: SEGMENT + 8 + if checksum { 4 } else { 0 },
            window: 46,
            acknowledge_every: 2,
            ..Params::lan()
        };
        let entities = [Entity::new(params.clone(), 0), Entity::new(params, 0)];
        let mut pair = Self { entities, received: 0, copies };
        let endpoint = pair.entities[0].endpoint();
        let (called, calling, data) = (Bytes::new(), Bytes::new(), Bytes::new());
        let peer = Self::address(1);
        pair.entities[0]
            .request(Instant::ZERO, Request::Connect { endpoint, peer, called, calling, data });
        while pair.exchange() {}
        (pair, endpoint)
    }

    /// Carries everything there is once each way; whether there was anything.
    fn exchange(&mut self) -> bool {
        let mut busy = false;
        for of in [0, 1] {
            while let Some(output) = self.entities[of].poll() {
                busy = true;
                match output {
                    Output::Send(Nsdu { packet, .. }) => {
                        let packet =
                            if self.copies { Packet::new(packet.to_bytes()) } else { packet };
                        let nsdu = Nsdu { peer: Self::address(of), packet };
                        self.entities[1 - of].receive(Instant::ZERO, nsdu);
                    }
                    Output::Deliver(Indication::Connect { endpoint, .. }) => {
                        let accept = Request::Accept { endpoint, data: Bytes::new() };
                        self.entities[of].request(Instant::ZERO, accept);
                    }
                    Output::Deliver(Indication::Data { octets, .. }) => {
                        self.received += octets.len();
                    }
                    Output::Deliver(_) | Output::Note(_) => {}
                }
            }
        }
        busy
    }
}

fn class4(checksum: bool, copies: bool) -> f64 {
    let (mut pair, endpoint) = Pair::new(checksum, copies);
    let tsdu = Bytes::from(vec![0x55; SEGMENT * 40]);
    let figure = per_segment(|| {
        let mut sent = 0;
        while pair.received < SEGMENT * SEGMENTS {
            while sent < SEGMENTS && pair.entities[0].room(endpoint) >= tsdu.len() {
                let tsdu = tsdu.clone();
                pair.entities[0].request(Instant::ZERO, Request::Data { endpoint, tsdu });
                sent += 40;
            }
            pair.exchange();
        }
    });
    assert_eq!(pair.entities[0].counters().t1, 0);
    figure
}

// ---- TCP ----------------------------------------------------------------------------------------------

type Queue = Rc<RefCell<VecDeque<Vec<u8>>>>;

struct Wire {
    incoming: Queue,
    outgoing: Queue,
    checksum: bool,
}

struct Arrived(Vec<u8>);
struct Room(Queue);

impl RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl TxToken for Room {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, f: F) -> R {
        let mut octets = vec![0; length];
        let result = f(&mut octets);
        self.0.borrow_mut().push_back(octets);
        result
    }
}

impl Device for Wire {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Room;

    fn receive(&mut self, _: TcpInstant) -> Option<(Arrived, Room)> {
        let octets = self.incoming.borrow_mut().pop_front()?;
        Some((Arrived(octets), Room(Rc::clone(&self.outgoing))))
    }

    fn transmit(&mut self, _: TcpInstant) -> Option<Room> {
        Some(Room(Rc::clone(&self.outgoing)))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = SEGMENT + 40;
        if !self.checksum {
            capabilities.checksum = ChecksumCapabilities::ignored();
        }
        capabilities
    }
}

fn tcp(checksum: bool) -> f64 {
    let (one, other) = (Queue::default(), Queue::default());
    let now = TcpInstant::ZERO;
    let mut ends: Vec<_> = [(&one, &other), (&other, &one)]
        .into_iter()
        .zip([1, 2])
        .map(|((incoming, outgoing), host)| {
            let mut wire =
                Wire { incoming: Rc::clone(incoming), outgoing: Rc::clone(outgoing), checksum };
            let mut interface = Interface::new(Config::new(HardwareAddress::Ip), &mut wire, now);
            let address = IpCidr::new(IpAddress::v4(192, 168, 0, host), 24);
            interface.update_ip_addrs(|addresses| addresses.push(address).unwrap());
            let buffer = || tcp::SocketBuffer::new(vec![0; 65_536]);
            let mut sockets = SocketSet::new(Vec::new());
            let handle = sockets.add(tcp::Socket::new(buffer(), buffer()));
            (wire, interface, sockets, handle)
        })
        .collect();
    let (_, _, sockets, handle) = &mut ends[1];
    sockets.get_mut::<tcp::Socket<'_>>(*handle).listen(4_000).unwrap();
    let (_, interface, sockets, handle) = &mut ends[0];
    let to = IpEndpoint::new(IpAddress::v4(192, 168, 0, 2), 4_000);
    let socket = sockets.get_mut::<tcp::Socket<'_>>(*handle);
    socket.connect(interface.context(), to, 5_000).unwrap();
    let data = vec![0x55; SEGMENT * 40];
    let mut sink = vec![0; 65_536];
    let (mut received, mut now) = (0, 0);
    per_segment(|| {
        while received < SEGMENT * SEGMENTS {
            // Time moves a little, or the delayed acknowledgement never comes.
            now += 10;
            for (of, end) in ends.iter_mut().enumerate() {
                let (wire, interface, sockets, handle) = end;
                interface.poll(TcpInstant::from_micros(now), wire, sockets);
                let socket = sockets.get_mut::<tcp::Socket<'_>>(*handle);
                if of == 0 && socket.may_send() && socket.can_send() {
                    socket.send_slice(&data).unwrap();
                }
                if socket.can_recv() {
                    received += socket.recv_slice(&mut sink).unwrap();
                }
            }
        }
    })
}

fn main() {
    println!("thread CPU time per 1,400-octet segment, median [least to most] of {ROUNDS} rounds");
    println!("{:34} {:>22} {:>22} {:>7}", "", "class 4", "smoltcp TCP", "ratio");
    for (name, checksum, copies) in [
        ("no checksum, payload handed over", false, false),
        ("no checksum, payload copied once", false, true),
        ("checksum, payload handed over", true, false),
        ("checksum, payload copied once", true, true),
    ] {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            ours.push(class4(checksum, copies));
            theirs.push(tcp(checksum));
        }
        let (ours, theirs) = (spread(ours), spread(theirs));
        let ratio = ours[0] / theirs[0];
        println!("{name:34} {:>22} {:>22} {ratio:>7.2}", shown(ours), shown(theirs));
    }
}
