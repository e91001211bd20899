//! Class 4 on the wire, compared with the kernel's TCP: bulk, round trips, and transfers over a
//! lossy path.
//!
//! Frames have at most 1,514 octets, and all offloads are off. TCP's bulk is iperf3's; its round
//! trips are those of two sockets with TCP_NODELAY that poll, like all other programs here.

use crate::bare::{Bare, Batches, Tcp};
use crate::host::pin;
use crate::xdp::Xdp;
use crate::{
    ROUND_TRIPS, Rate, in_turns, percentile, rate_of, ratios, round_trips, spread, station,
};
use core::time::Duration;
use live::clock;
use live::port::{AfPacket, AfPacketParams, AfXdp, AfXdpParams, Faulty, FaultyParams};
use live::port::{Port, PortError, Stamp, Wait};
use live::runner::{Control, Runner};
use stack::clnp;
use stack::fault::{Faults, Plan};
use stack::host::{Host, HostParams};
use stack::load::{Event, Flow, FlowId, Pattern, Service};
use stack::messaging::Priority;
use stack::profile::Framing;
use stack::tp4::{Params, Retransmission, RetransmissionTimer};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use wire::addr::Nsap;
use wire::time::Instant;

/// Octets of a TSDU of bulk data.
const TSDU: usize = 100_000;
/// Octets of bulk data in a round.
const BULK: u64 = 400_000_000;
/// Maximum length of an LLC frame on this wire, without FCS.
const LARGEST_FRAME: usize = 1_514;

/// Class 4 parameters for bulk data.
fn bulk_params() -> Params {
    Params {
        checksum: false,
        tpdu_octets: 2_048,
        nsdu_octets: 1_496,
        window: 256,
        acknowledge_every: 32,
        acknowledgement_delay: Duration::from_millis(1),
        queue_octets: 1 << 20,
        retransmission_time: Duration::from_millis(20),
        transmissions: 30,
        ..Params::lan()
    }
}

/// Kind of port at both hosts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Over {
    /// Packet sockets.
    Packets,
    /// AF_XDP.
    Xdp,
}

/// Location of two hosts, and their way of running: with a processor each if they poll.
#[derive(Clone, Copy)]
pub(crate) struct Ends<'a> {
    pub(crate) over: Over,
    pub(crate) names: &'a [String; 2],
    /// Share of the incoming frames that each port loses.
    pub(crate) loss: f64,
    pub(crate) wait: Wait,
}

impl<'a> Ends<'a> {
    const fn polling(names: &'a [String; 2], loss: f64) -> Self {
        Self { over: Over::Packets, names, loss, wait: Wait::Spin }
    }

    const fn xdp(names: &'a [String; 2]) -> Self {
        Self { over: Over::Xdp, names, loss: 0.0, wait: Wait::Spin }
    }

    fn settle(&self, of: usize) {
        if self.wait == Wait::Spin {
            pin(of);
        }
    }
}

fn port(ends: &Ends<'_>, of: usize) -> Result<Box<dyn Port>, PortError> {
    let Ends { over, names, loss, wait } = *ends;
    let (interface, namespace) = (crate::INTERFACE.to_owned(), Some(names[of].clone()));
    let (station, groups, stamp) = (Some(station(of)), vec![], Stamp::User);
    let port: Box<dyn Port> = match over {
        Over::Packets => {
            let params = AfPacketParams { interface, namespace, station, groups, wait, stamp };
            Box::new(AfPacket::open(&params)?)
        }
        Over::Xdp => {
            let params = AfXdpParams { interface, namespace, station, groups, wait };
            Box::new(AfXdp::open(&params)?)
        }
    };
    if loss == 0.0 {
        return Ok(port);
    }
    let plan = Plan { loss, ..Plan::harmless(Duration::from_millis(500)) };
    let receiving = Some(Faults::new(plan, 7, &of.to_string()).unwrap());
    let params = FaultyParams { receiving, sending: None, held_frames: 4_096 };
    Ok(Box::new(Faulty::new(port, params)))
}

fn host(of: usize, transport: Params, flows: Vec<Flow>) -> Host {
    let params = HostParams {
        address: station(of),
        transport,
        network: clnp::Params::inactive(Nsap::of_station(station(of))),
        last_reference: 0,
        accepts: of == 1,
        saps: vec![],
        framing: Framing::Ieee8023,
        messaging: None,
    };
    Host::new(params, flows)
}

/// Result of a flow.
pub(crate) struct Run {
    nanos: f64,
    /// Messages that arrived whole, in order, with the octets sent.
    delivered: u64,
    damaged: u64,
    sent_again: u64,
    /// For requests: time until each answer.
    answers: Vec<u64>,
}

/// Runs one flow from the first station to the second, which checks every octet.
fn run(
    ends: &Ends<'_>,
    transport: &Params,
    pattern: Pattern,
    messages: u64,
    size_octets: usize,
) -> Run {
    let [mut sending, mut receiving] = [0, 1].map(|of| port(ends, of).unwrap());
    let flow = Flow {
        id: FlowId(1),
        peer: station(1),
        service: Service::Class4,
        priority: Priority::LOWEST,
        pattern,
        size_octets,
        messages: Some(messages),
        start: clock::now(),
        seed: 1,
    };
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            ends.settle(1);
            let (mut delivered, mut damaged) = (0, 0);
            let mut host = host(1, transport.clone(), vec![]);
            let ran =
                Runner::new().run(&mut host, &mut receiving, Instant::MAX, &done, |host, _| {
                    while let Some(record) = host.record() {
                        match record.event {
                            Event::Delivered { sequence, octets, .. }
                                if u64::from(sequence) == delivered && octets == size_octets =>
                            {
                                delivered += 1;
                            }
                            Event::Delivered { .. } | Event::Damaged { .. } => damaged += 1,
                            _ => {}
                        }
                    }
                    Control::Continue
                });
            ran.unwrap();
            (delivered, damaged)
        });
        let sender = scope.spawn(|| {
            ends.settle(0);
            let mut answers = Vec::new();
            let mut host = host(0, transport.clone(), vec![flow]);
            let begun = clock::now();
            let stop = AtomicBool::new(false);
            let ran = Runner::new().run(&mut host, &mut sending, Instant::MAX, &stop, |host, _| {
                while let Some(record) = host.record() {
                    if let Event::Answered { sent, .. } = record.event {
                        answers.push(
                            (record.at - sent.expect("the messages are long enough")).as_nanos()
                                as u64,
                        );
                    }
                }
                if host.is_done() { Control::Stop } else { Control::Continue }
            });
            ran.unwrap();
            let nanos = (clock::now() - begun).as_nanos() as f64;
            (nanos, host.transport().counters().sent_again, answers)
        });
        let (nanos, sent_again, answers) = sender.join().unwrap();
        done.store(true, Ordering::Relaxed);
        let (delivered, damaged) = receiver.join().unwrap();
        Run { nanos, delivered, damaged, sent_again, answers }
    })
}

/// Sends `octets` of bulk data; returns the goodput in Gbit/s.
pub(crate) fn bulk(ends: &Ends<'_>, transport: &Params, octets: u64) -> (f64, Run) {
    let size = TSDU.min(octets as usize);
    let messages = octets / size as u64;
    let run = run(ends, transport, Pattern::Bulk, messages, size);
    assert_eq!((run.delivered, run.damaged), (messages, 0), "all messages arrived exactly");
    (octets as f64 * 8.0 / run.nanos, run)
}

/// An iperf3 server, ended on drop.
pub(crate) struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn within(namespace: &str) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace]).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

/// Starts a server at the second end, run `under` a program that sets its scheduling.
pub(crate) fn iperf3(names: &[String; 2], under: &[&str]) -> Option<Server> {
    let server = [under, &["iperf3", "-s"]].concat();
    let child = within(&names[1]).args(server).stdout(Stdio::null()).spawn().ok()?;
    clock::sleep_until(clock::now() + Duration::from_millis(500));
    Some(Server(child))
}

/// Data rate received by iperf3 over `seconds`, in Gbit/s.
pub(crate) fn kernel_tcp(names: &[String; 2], under: &[&str], seconds: u32) -> Option<f64> {
    let seconds = seconds.to_string();
    let client = [under, &["iperf3", "-c", "10.0.0.2", "-t", &seconds, "-f", "m"]].concat();
    let output = within(&names[0]).args(client).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text.lines().find(|line| line.contains("receiver"))?;
    let words: Vec<_> = line.split_whitespace().collect();
    let unit = words.iter().position(|word| *word == "Mbits/sec")?;
    words[unit - 1].parse::<f64>().ok().map(|mbits| mbits / 1e3)
}

pub(crate) fn offloads_off(names: &[String; 2]) -> bool {
    let off = ["tso", "off", "gso", "off", "gro", "off", "sg", "off", "tx", "off", "rx", "off"];
    names.iter().all(|name| {
        let status = within(name).args(["ethtool", "-K", crate::INTERFACE]).args(off).status();
        status.is_ok_and(|status| status.success())
    })
}

/// Peak memory of this process, in MiB (VmHWM).
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.map_or_else(|| "unknown".to_owned(), |text| text.trim().to_owned())
}

/// Scheduling of iperf3 at either end, if each thread has a processor of its own.
const SCHEDULED: [[&str; 6]; 2] =
    [["taskset", "-c", "0", "chrt", "-f", "50"], ["taskset", "-c", "1", "chrt", "-f", "50"]];

fn rates(names: &[String; 2], rounds: usize) {
    let server = iperf3(names, &SCHEDULED[1]);
    let with_tcp = server.is_some() && kernel_tcp(names, &SCHEDULED[0], 1).is_some();
    let [ends, over_xdp] = [Ends::polling(names, 0.0), Ends::xdp(names)];
    if !with_tcp {
        println!("skipped: iperf3 does not run here");
    }
    let checked = Params { checksum: true, ..bulk_params() };
    let mut frame = crate::ours::frame(station(0), station(1));
    frame.resize(LARGEST_FRAME, 0x55);
    frame[12..14].copy_from_slice(&1_500_u16.to_be_bytes());
    // User data of a DT in the extended format: 1,500 octets less LLC, network layer and header.
    let (user_data, frames) = (1_488.0, BULK / 1_488);
    let arrived = |rate: Rate| rate.taken as f64 * user_data * 8.0 / rate.nanos;
    let figures = in_turns(
        rounds,
        &mut [
            &mut || kernel_tcp(names, &SCHEDULED[0], 1).unwrap_or(f64::NAN),
            &mut || bulk(&ends, &bulk_params(), BULK).0,
            &mut || bulk(&ends, &checked, BULK).0,
            &mut || bulk(&over_xdp, &bulk_params(), BULK).0,
            &mut || bulk(&over_xdp, &checked, BULK).0,
            &mut || arrived(rate_of(crate::pair(names, Bare::open), frames, &frame)),
            &mut || arrived(rate_of(crate::pair(names, Batches::open), frames, &frame)),
            &mut || arrived(rate_of(crate::pair(names, Xdp::open), frames, &frame)),
        ],
    );
    println!("\nbulk data, frames of 1,514 octets, all offloads off, Gbit/s, n = {rounds}");
    let programs = [
        "iperf3, kernel TCP",
        "class 4",
        "with checksum",
        "class 4 over AF_XDP",
        "with checksum",
        "bare packet socket",
        "the same by 64",
        "bare AF_XDP by 64",
    ];
    for (name, own) in programs.iter().zip(&figures) {
        let over = spread(ratios(own, &figures[0]), 2);
        println!("  {name:<25} {:<22} over TCP {over}", spread(own.clone(), 2));
    }
}

/// Times of the replies.
fn answers(ends: &Ends<'_>, checksum: bool) -> Vec<u64> {
    // An AK is a separate frame, and is sent before the reply.
    let params = Params { checksum, acknowledge_every: 16, ..Params::lan() };
    let pattern = Pattern::MaximumRateRequest { reply_octets: 100 };
    run(ends, &params, pattern, ROUND_TRIPS as u64, 100).answers
}

/// One program alone, for a profiler: bulk data, or requests and replies.
pub(crate) fn profile(names: &[String; 2], is_bulk: bool, over: Over) {
    let _ = offloads_off(names);
    let ends = Ends { over, ..Ends::polling(names, 0.0) };
    if is_bulk {
        println!("bulk {:.2} Gbit/s", bulk(&ends, &bulk_params(), BULK).0);
    } else {
        println!("p50 {:.2} us", percentile(&mut answers(&ends, false), 0.5));
    }
}

fn trips(names: &[String; 2], rounds: usize) {
    let half = |mut times: Vec<u64>| percentile(&mut times, 0.5);
    let [ends, over_xdp] = [Ends::polling(names, 0.0), Ends::xdp(names)];
    let figures = in_turns(
        rounds,
        &mut [
            &mut || half(round_trips(crate::pair(names, Bare::open), ROUND_TRIPS)),
            &mut || half(round_trips(Tcp::pair(names), ROUND_TRIPS)),
            &mut || half(answers(&ends, false)),
            &mut || half(answers(&ends, true)),
            &mut || half(answers(&over_xdp, false)),
            &mut || half(round_trips(crate::pair(names, Xdp::open), ROUND_TRIPS)),
        ],
    );
    println!("\nrequest and reply of 100 octets, busy poll, p50 in us, n = {rounds}");
    let programs = [
        "bare packet socket",
        "TCP_NODELAY",
        "class 4",
        "with checksum",
        "class 4 over AF_XDP",
        "bare AF_XDP",
    ];
    for (name, own) in programs.iter().zip(&figures) {
        let [bare, tcp] = [0, 1].map(|of| spread(ratios(own, &figures[of]), 2));
        println!("  {name:<19} {:<24} over bare {bare}, over TCP {tcp}", spread(own.clone(), 2));
    }
}

/// Retransmission policy, and T1 in milliseconds, or its initial value.
const POLICIES: [(&str, Retransmission, RetransmissionTimer, u64); 10] = [
    ("first, 20 ms", Retransmission::First, RetransmissionTimer::Fixed, 20),
    ("all, 20 ms", Retransmission::All, RetransmissionTimer::Fixed, 20),
    ("selective, 20 ms", Retransmission::Selective, RetransmissionTimer::Fixed, 20),
    ("selective, 2 ms", Retransmission::Selective, RetransmissionTimer::Fixed, 2),
    ("selective, adaptive", Retransmission::Selective, RetransmissionTimer::Adaptive, 20),
    ("early, 20 ms", Retransmission::Early, RetransmissionTimer::Fixed, 20),
    ("early, 2 ms", Retransmission::Early, RetransmissionTimer::Fixed, 2),
    ("missing, 20 ms", Retransmission::Missing, RetransmissionTimer::Fixed, 20),
    ("missing, 2 ms", Retransmission::Missing, RetransmissionTimer::Fixed, 2),
    ("missing, adaptive", Retransmission::Missing, RetransmissionTimer::Adaptive, 20),
];

pub(crate) fn policy(place: usize) -> (&'static str, Params) {
    let (name, retransmission, retransmission_timer, milliseconds) = POLICIES[place];
    let retransmission_time = Duration::from_millis(milliseconds);
    let params = Params {
        checksum: true,
        retransmission,
        retransmission_timer,
        retransmission_time,
        ..bulk_params()
    };
    (name, params)
}

fn transfers(names: &[String; 2]) {
    println!("\ntransfers, with checksum; every octet is compared; loss in each direction");
    let transfer = |name: &str, params: &Params, octets: u64, loss: f64| {
        let (goodput, run) = bulk(&Ends::polling(names, loss), params, octets);
        println!(
            "  {name:<20} {octets:>13} octets, loss {loss:>5}: exact, {:>8.1} Mbit/s, {} DTs retransmitted",
            goodput * 1e3,
            run.sent_again
        );
    };
    for (name, params) in (0..POLICIES.len()).map(policy) {
        for loss in [0.0, 0.001, 0.01, 0.05] {
            transfer(name, &params, 100_000, loss);
            transfer(name, &params, 10_000_000, loss);
        }
    }
    for (name, params) in [3, 4].map(policy) {
        transfer(name, &params, 1_000_000_000, 0.0);
        transfer(name, &params, 1_000_000_000, 0.001);
    }
    println!("  peak memory so far: {}", peak_memory());
}

/// Prints all results.
pub(crate) fn show(names: &[String; 2], rounds: usize) {
    if !offloads_off(names) {
        println!("skipped: ethtool cannot turn the offloads off");
    }
    rates(names, rounds);
    trips(names, rounds);
}

/// Transfers over a lossy path.
pub(crate) fn show_transfers(names: &[String; 2]) {
    let _ = offloads_off(names);
    transfers(names);
}
