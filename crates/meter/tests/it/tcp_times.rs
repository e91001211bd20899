//! TCP delays of hosts and connections against those of the network, for every capture. They are
//! compared while it is read and at its end, with all connections and with few that are evicted
//! early.

use crate::entry;
use crate::every_capture::captures;
use core::time::Duration;
use meter::measure::{Delays, Distribution, Times, Waits};
use meter::{Address, Meter, Settings};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use wire::capture::Capture;
use wire::dissect::Link;
use wire::time::Instant;

/// Frames read of a capture.
const FRAMES: usize = 20_000;

/// Results of a capture: round trips and halves of handshakes of the network, and those of hosts.
#[derive(Default)]
struct Found {
    network: [u64; 2],
    hosts: [u64; 2],
    connections: [u64; 2],
}

fn of_tcp(waits: &Waits) -> [Times; 3] {
    let mut trips = waits.round_trip;
    trips.add(&waits.delayed_ack);
    [trips, waits.callee_handshake, waits.caller_handshake]
}

fn counts([trips, callee, caller]: [u64; 3]) -> [u64; 2] {
    [trips, callee + caller]
}

/// Checks that all hosts sent as much as they received, and at most as much as the network carried.
#[track_caller]
fn compare(name: &str, meter: &Meter, network: &Delays) -> [Times; 3] {
    let mut hosts = [Waits::default(); 2];
    for host in meter.each_host() {
        hosts[0].add(&host.sent.waits);
        hosts[1].add(&host.received.waits);
    }
    let [sent, received] = hosts.map(|waits| of_tcp(&waits));
    assert_eq!(sent, received, "{name}");
    let mut trips = network.round_trip.clone();
    trips.add(&network.delayed_ack);
    let all = [&trips, &network.callee_handshake, &network.caller_handshake];
    for (times, all) in sent.iter().zip(all) {
        let Distribution { count, total_ns, max_ns, .. } = all;
        assert!(times.count <= *count && times.total_ns <= *total_ns, "{name}: {times:?} {all:?}");
        if times.count == *count {
            assert_eq!((times.total_ns, times.max_ns), (*total_ns, *max_ns), "{name}");
        }
    }
    sent
}

fn check(path: &Path, few: bool) -> Found {
    let name = path.display().to_string();
    let mut settings = Settings::every(Duration::from_secs(10 * 365 * 86_400));
    if few {
        (settings.maximum_connections, settings.silence) = (3, Duration::from_secs(5));
    }
    let mut meter = Meter::new(settings);
    let mut capture = Capture::open(File::open(path).unwrap()).unwrap();
    let mut connections = Waits::default();
    let mut keep = |connection: meter::Connection| {
        connection.directions.iter().for_each(|sent| connections.add(&sent.waits));
    };
    let mut frames = 0;
    while let Ok(Some(record)) = capture.next() {
        frames += 1;
        meter.observe(record.at, record.link, record.octets, record.original_octets);
        // Evicted connections may be taken late.
        if frames % 3 == 0 {
            core::iter::from_fn(|| meter.take_connection()).for_each(&mut keep);
        }
        if frames % 97 == 0 && meter.began().is_some() {
            let before = meter.clone();
            let all = meter.clone().finish();
            compare(&name, &before, &all.measures.delays);
        }
        if frames == FRAMES {
            break;
        }
    }
    let total = meter.finish();
    let delays = &total.measures.delays;
    core::iter::from_fn(|| meter.take_connection()).for_each(&mut keep);
    meter.each_connection().for_each(&mut keep);
    let sent = compare(&name, &meter, delays);
    let trips = delays.round_trip.count + delays.delayed_ack.count;
    let network = counts([trips, delays.callee_handshake.count, delays.caller_handshake.count]);
    let hosts = counts(sent.map(|times| times.count));
    let connections = counts(of_tcp(&connections).map(|times| times.count));
    assert!(connections[0] <= hosts[0] && connections[1] <= hosts[1], "{name}");
    Found { network, hosts, connections }
}

#[test]
fn tcp_delays_of_all_hosts_add_up_to_those_of_the_network() {
    let Some((folder, files)) = captures() else { return };
    for few in [false, true] {
        let mut sum = Found::default();
        for name in &files {
            let Found { network, hosts, connections } = check(&folder.join(name), few);
            assert_eq!(hosts, network, "{name}");
            // Each is of class 0; an evicted connection receives no later delays.
            assert!(few || connections == hosts, "{name}: {connections:?} of {hosts:?}");
            for which in [0, 1] {
                sum.hosts[which] += hosts[which];
                sum.connections[which] += connections[which];
            }
        }
        let Found { hosts: [trips, halves], connections, .. } = sum;
        println!(
            "seen: {trips} round trips and {halves} halves of handshakes at hosts, {connections:?} of them at \
             connections"
        );
        assert!(trips > 10_000 && halves > 100 && connections[0] > trips * 99 / 100);
    }
}

/// tshark takes seconds for longer files.
const SHORT_OCTETS: u64 = 600_000;

/// Capture for which tshark has another handshake time: a mirror port copied the SYN, and tshark
/// counts from the copy.
const OF_A_COPY: &str = "s7/s7-1200-hmi.pcap";

/// Two ends, the lower first.
type Ends = [String; 2];

fn sorted(mut ends: Ends) -> Ends {
    ends.sort();
    ends
}

/// Time from SYN to ACK in nanoseconds, by tshark; none if there is no tshark.
fn by_tshark(path: &Path) -> Option<BTreeMap<Ends, Vec<u64>>> {
    let mut tshark = Command::new("tshark");
    tshark.args(["-Y", "tcp.analysis.initial_rtt", "-T", "fields", "-r"]).arg(path);
    for field in ["ip.src", "tcp.srcport", "ip.dst", "tcp.dstport", "tcp.analysis.initial_rtt"] {
        tshark.args(["-e", field]);
    }
    let output = tshark.stderr(Stdio::null()).output().ok()?;
    let mut found: BTreeMap<Ends, Vec<u64>> = BTreeMap::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let [from, from_port, to, to_port, seconds] = line.split('\t').collect::<Vec<_>>()[..]
        else {
            panic!("{line}");
        };
        // A packet of IP in IP has two of each.
        let Ok(seconds) = seconds.parse::<f64>() else { continue };
        let ends = sorted([format!("{from}:{from_port}"), format!("{to}:{to_port}")]);
        found.entry(ends).or_default().push((seconds * 1e9).round() as u64);
    }
    Some(found)
}

/// Time from SYN to ACK of each connection of which both halves were timed.
fn handshakes(path: &Path) -> Vec<(Ends, u64)> {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(3_600)));
    let mut capture = Capture::open(File::open(path).unwrap()).unwrap();
    let mut found = Vec::new();
    while let Ok(Some(record)) = capture.next() {
        meter.observe(record.at, record.link, record.octets, record.original_octets);
        found.extend(core::iter::from_fn(|| meter.take_connection()));
    }
    meter.finish();
    found.extend(meter.each_connection());
    let halves = |connection: &meter::Connection| {
        let mut halves = Times::default();
        for sent in &*connection.directions {
            halves.add(&sent.waits.callee_handshake);
            halves.add(&sent.waits.caller_handshake);
        }
        let ends = connection.ends.map(|(address, port)| format!("{address}:{port}"));
        (halves.count == 2).then(|| (sorted(ends), halves.total_ns))
    };
    found.iter().filter_map(halves).collect()
}

#[test]
fn a_handshake_takes_as_long_as_tshark_says() {
    let Some((folder, files)) = captures() else { return };
    let (mut same, mut differing) = (0, Vec::<&str>::new());
    for name in &files {
        let path = folder.join(name);
        if fs::metadata(&path).unwrap().len() > SHORT_OCTETS {
            continue;
        }
        let ours = handshakes(&path);
        if ours.is_empty() {
            continue;
        }
        let Some(theirs) = by_tshark(&path) else {
            println!("skipped: no tshark to compare handshakes with");
            return;
        };
        for (ends, nanos) in ours {
            if theirs.get(&ends).is_some_and(|theirs| theirs.contains(&nanos)) {
                same += 1;
            } else {
                differing.push(name);
            }
        }
    }
    assert_eq!(differing, [OF_A_COPY]);
    println!("seen: {same} handshakes as long as tshark says");
    assert!(same > 50, "{same}");
}

/// Sender and receiver, as [`entry::segment`] encodes them.
const fn ends(from: u8, to: u8) -> u8 {
    to << 2 | from
}

#[test]
fn an_evicted_connection_has_its_tcp_delays_for_either_order() {
    const CR: [u8; 11] = [3, 0, 0, 11, 6, 0xE0, 0, 0, 0, 1, 0];
    const CC: [u8; 11] = [3, 0, 0, 11, 6, 0xD0, 0, 1, 0, 2, 0];
    for [caller, callee] in [[1, 2], [2, 1]] {
        let (there, back) = (ends(caller, callee), ends(callee, caller));
        let silence = Duration::from_secs(2);
        let mut meter = Meter::new(Settings { silence, ..Settings::every(silence) });
        // SYN, its answer 1 ms later, the answer to that 3 ms later with the CR, whose ACK takes 5
        // ms with the CC.
        for (ms, ends, flags, numbers, data) in [
            (10, there, 0x02, [0, 0], &[][..]),
            (11, back, 0x12, [0, 1], &[]),
            (14, there, 0x10, [1, 1], &CR),
            (19, back, 0x10, [1, 12], &CC),
        ] {
            let frame = entry::segment(ends, flags, numbers[0], numbers[1], data);
            let at = Instant::from_nanos(ms * 1_000_000);
            meter.observe(at, Link::Other(101), &frame, frame.len());
        }
        // Class 4 without TCP, once the connection was silent long enough.
        let other =
            [&[2; 12][..], &[0, 11, 0xFE, 0xFE, 3, 0], &[6, 0xE1, 0, 0, 0, 1, 0x40]].concat();
        meter.observe(Instant::from_nanos(9_000_000_000), Link::Ethernet, &other, other.len());
        let evicted = meter.take_connection().unwrap();
        let sent = |host: u8| {
            let is_it = |end: &&(Address, _)| end.0.to_string() == format!("10.0.0.{host}");
            let side = evicted.ends.iter().position(|end| is_it(&end)).unwrap();
            of_tcp(&evicted.directions[side].waits).map(|times| times.total_ns / 1_000_000)
        };
        // Round trips of each sender, and its delay as the callee and as the caller.
        assert_eq!([sent(caller), sent(callee)], [[5, 0, 3], [0, 1, 0]], "{caller} to {callee}");
    }
}
