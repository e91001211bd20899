//! Class 4 compared with smoltcp's TCP and with KCP: both ends and the wire between them in one
//! thread, in thread CPU time.
//!
//! `cargo bench -p tidewire-stack --bench in_memory`. Rounds of both alternate; the table shows
//! medians and their ratio. User data per segment is 1,400 octets on both sides; TCP has 64 KiB
//! buffers and class 4 an equivalent window of 46 DTs. In the comparison with KCP, messages have
//! 100 octets and windows 256 segments. The number of acknowledgements is shown, because each costs
//! about as much as a segment. `-- class4` runs class 4 alone, for a profiler;
//! `-- class4 "no checksum"` runs one row of it once.
#![expect(clippy::unwrap_used, reason = "a benchmark stops at what it did not expect")]

mod host_loop;

use bytes::Bytes;
use host_loop::HostLoop;
use kcp::Kcp;
use rustix::time::{ClockId, clock_gettime};
use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::phy::{ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp;
use smoltcp::time::Instant as TcpInstant;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr, IpEndpoint};
use stack::machine::{Machine, Output};
use stack::tp4::{Address, Endpoint, Entity, Indication, Params, Request};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::Write;
use std::rc::Rc;
use wire::addr::Mac;
use wire::packet::Packet;
use wire::time::Instant;
use wire::tp::Kind;

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

/// Median, minimum and maximum.
fn spread(mut figures: Vec<f64>) -> [f64; 3] {
    figures.sort_by(f64::total_cmp);
    [figures[figures.len() / 2], figures[0], figures[figures.len() - 1]]
}

fn shown([middle, least, most]: [f64; 3]) -> String {
    format!("{middle:.0} [{least:.0} to {most:.0}] ns")
}

// ---- class 4 ------------------------------------------------------------------------------------------

/// Configuration of a class 4 run.
#[derive(Clone, Copy)]
struct Task {
    name: &'static str,
    /// User data of a DT, in octets.
    octets: usize,
    checksum: bool,
    /// True to copy each packet into contiguous octets on its way, as a wire would.
    copies: bool,
    /// Number of DTs per AK.
    acknowledge_every: u16,
    window: u16,
    peer: Peer,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Peer {
    Tcp,
    Kcp,
}

/// Nanoseconds per segment, and acknowledgements per segment.
struct Cost {
    nanos: f64,
    acknowledgements: f64,
}

struct Pair {
    entities: [Entity; 2],
    received: usize,
    copies: bool,
}

impl Pair {
    fn address(of: usize) -> Address {
        Address::Station(Mac::local(of as u32 + 1))
    }

    fn new(task: Task) -> (Self, Endpoint) {
        let Task { octets, checksum, copies, acknowledge_every, window, .. } = task;
        let params = Params {
            checksum,
            extended: true,
            tpdu_octets: 2_048,
            nsdu_octets: octets + 8 + if checksum { 4 } else { 0 },
            window,
            acknowledge_every,
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

    /// Carries all waiting packets once each way; returns true if there were any.
    fn exchange(&mut self) -> bool {
        let mut busy = false;
        for of in [0, 1] {
            while let Some(output) = self.entities[of].poll() {
                busy = true;
                match output {
                    Output::Send(mut nsdu) => {
                        nsdu.peer = Self::address(of);
                        if self.copies {
                            nsdu.packet = Packet::new(nsdu.packet.to_bytes());
                        }
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

/// Runs class 4: TSDUs of 40 segments for the comparison with TCP, which has no messages; of one
/// segment for KCP.
fn class4(task: Task) -> Cost {
    let (mut pair, endpoint) = Pair::new(task);
    let segments = if task.peer == Peer::Tcp { 40 } else { 1 };
    let tsdu = Bytes::from(vec![0x55; task.octets * segments]);
    let nanos = per_segment(|| {
        let mut sent = 0;
        while pair.received < task.octets * SEGMENTS {
            while sent < SEGMENTS && pair.entities[0].room(endpoint) >= tsdu.len() {
                let tsdu = tsdu.clone();
                pair.entities[0].request(Instant::ZERO, Request::Data { endpoint, tsdu });
                sent += segments;
            }
            pair.exchange();
        }
    });
    let counters = [0, 1].map(|of| pair.entities[of].counters());
    assert_eq!(counters[0].t1, 0);
    let [dts, aks] = [(0, Kind::Dt), (1, Kind::Ak)]
        .map(|(of, kind)| counters[of].sent[kind as usize] as f64 / SEGMENTS as f64);
    assert!((0.999..1.001).contains(&dts), "one segment is one DT");
    Cost { nanos, acknowledgements: aks }
}

// ---- TCP ----------------------------------------------------------------------------------------------

type Queue = Rc<RefCell<VecDeque<Vec<u8>>>>;

struct Wire {
    incoming: Queue,
    outgoing: Queue,
    checksum: bool,
    sent: Rc<Cell<usize>>,
}

struct Arrived(Vec<u8>);
struct Room(Queue, Rc<Cell<usize>>);

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
        self.1.set(self.1.get() + 1);
        result
    }
}

impl Device for Wire {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Room;

    fn receive(&mut self, _: TcpInstant) -> Option<(Arrived, Room)> {
        let octets = self.incoming.borrow_mut().pop_front()?;
        Some((Arrived(octets), Room(Rc::clone(&self.outgoing), Rc::clone(&self.sent))))
    }

    fn transmit(&mut self, _: TcpInstant) -> Option<Room> {
        Some(Room(Rc::clone(&self.outgoing), Rc::clone(&self.sent)))
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

fn tcp(checksum: bool) -> Cost {
    let (one, other) = (Queue::default(), Queue::default());
    let now = TcpInstant::ZERO;
    let mut ends: Vec<_> = [(&one, &other), (&other, &one)]
        .into_iter()
        .zip([1, 2])
        .map(|((incoming, outgoing), host)| {
            let mut wire = Wire {
                incoming: Rc::clone(incoming),
                outgoing: Rc::clone(outgoing),
                checksum,
                sent: Rc::default(),
            };
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
    let nanos = per_segment(|| {
        while received < SEGMENT * SEGMENTS {
            // Time advances a little; otherwise the delayed acknowledgement would never be sent.
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
    });
    Cost { nanos, acknowledgements: ends[1].0.sent.get() as f64 / SEGMENTS as f64 }
}

// ---- KCP ----------------------------------------------------------------------------------------------

const MESSAGE: usize = 100;

#[derive(Clone, Default)]
struct Datagrams(Rc<RefCell<VecDeque<Vec<u8>>>>);

impl Write for Datagrams {
    fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().push_back(octets.to_vec());
        Ok(octets.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Fast mode of KCP's documentation: no delay, no congestion window, retransmission after two later
/// acknowledgements.
fn kcp() -> Cost {
    const CONVERSATION: u32 = 7;
    let wires = [Datagrams::default(), Datagrams::default()];
    let mut ends = wires.clone().map(|wire| {
        let mut end = Kcp::new(CONVERSATION, wire);
        end.set_nodelay(true, 10, 2, true);
        end.set_wndsize(256, 256);
        end.update(0).unwrap();
        end
    });
    let (data, mut sink) = ([0x55; MESSAGE], [0; 2_000]);
    let (mut sent, mut received, mut now, mut back) = (0, 0, 0, 0);
    let nanos = per_segment(|| {
        while received < SEGMENTS {
            now += 10;
            while sent < SEGMENTS && ends[0].wait_snd() < 256 {
                ends[0].send(&data).unwrap();
                sent += 1;
            }
            for of in [0, 1] {
                ends[of].update(now).unwrap();
                let datagrams = core::mem::take(&mut *wires[of].0.borrow_mut());
                back += if of == 1 { datagrams.len() } else { 0 };
                for datagram in datagrams {
                    ends[1 - of].input(&datagram).unwrap();
                }
            }
            while ends[1].recv(&mut sink).is_ok() {
                received += 1;
            }
        }
    });
    Cost { nanos, acknowledgements: back as f64 / SEGMENTS as f64 }
}

// ---- the table ----------------------------------------------------------------------------------------

const WITH_TCP: Task = Task {
    name: "",
    octets: SEGMENT,
    checksum: false,
    copies: false,
    acknowledge_every: 16,
    window: 46,
    peer: Peer::Tcp,
};

const WITH_KCP: Task = Task { octets: MESSAGE, window: 256, peer: Peer::Kcp, ..WITH_TCP };

const TASKS: [Task; 8] = [
    Task { name: "no checksum", ..WITH_TCP },
    Task { name: "no checksum, AK per 2", acknowledge_every: 2, ..WITH_TCP },
    Task { name: "no checksum, copied once", copies: true, ..WITH_TCP },
    Task { name: "checksum", checksum: true, ..WITH_TCP },
    Task { name: "checksum, AK per 2", checksum: true, acknowledge_every: 2, ..WITH_TCP },
    Task { name: "checksum, copied once", checksum: true, copies: true, ..WITH_TCP },
    Task { name: "100 octets, no checksum", ..WITH_KCP },
    Task { name: "100 octets, checksum, copied", checksum: true, copies: true, ..WITH_KCP },
];

fn compared(task: Task, host: &mut HostLoop) {
    let (mut ours, mut theirs, mut ratios, mut back) = (vec![], vec![], vec![], [0.0; 2]);
    for _ in 0..ROUNDS {
        host.run();
        let own = class4(task);
        let other = match task.peer {
            Peer::Tcp => tcp(task.checksum),
            Peer::Kcp => kcp(),
        };
        back = [own.acknowledgements, other.acknowledgements];
        ratios.push(own.nanos / other.nanos);
        ours.push(own.nanos);
        theirs.push(other.nanos);
    }
    let [middle, least, most] = spread(ratios);
    println!(
        "{:30} {:>21} {:5.3}  {} {:>21} {:5.3}  {middle:.2} [{least:.2} to {most:.2}]",
        task.name,
        shown(spread(ours)),
        back[0],
        if task.peer == Peer::Tcp { "TCP" } else { "KCP" },
        shown(spread(theirs)),
        back[1],
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(place) = arguments.iter().position(|argument| argument == "class4") {
        // A name after it selects a single run of that task, for a profiler.
        let only = arguments.get(place + 1);
        for task in TASKS.into_iter().filter(|task| only.is_none_or(|name| name == task.name)) {
            let rounds = if only.is_some() { 1 } else { ROUNDS };
            let figures = (0..rounds).map(|_| class4(task).nanos).collect();
            println!("{:30} {:>21}", task.name, shown(spread(figures)));
        }
        return;
    }
    println!("thread CPU time per segment, median [least to most] of {ROUNDS} rounds;");
    println!("after each, packets returned per segment; last, ratio of class 4 to its peer\n");
    let mut host = HostLoop::new();
    TASKS.into_iter().for_each(|task| compared(task, &mut host));
    host.print();
}
