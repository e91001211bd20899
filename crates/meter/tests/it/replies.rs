//! Pairing of replies and requests: by the PDU reference of S7, and without a key.

use crate::capture::shared;
use core::net::Ipv4Addr;
use core::time::Duration;
use meter::measure::Summary;
use meter::{Address, Meter, Settings};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::process::{Command, Stdio};
use wire::addr::Mac;
use wire::capture::Capture;
use wire::dissect::Link;
use wire::tcp::{self, Flags};
use wire::time::Instant;
use wire::{ipv4, mac};

/// End of a stream: the last octet of the address, and the port.
#[derive(Clone, Copy)]
pub(crate) struct End {
    pub(crate) host: u8,
    pub(crate) port: u16,
}

/// Frame with a segment that holds a TPDU in a TPKT, from the first end to the second.
pub(crate) fn frame(
    ends: [End; 2],
    numbers: [u32; 2],
    identification: u16,
    tpdu: &[u8],
) -> Vec<u8> {
    let length = (tpdu.len() as u16 + 4).to_be_bytes();
    let packet = [&[3, 0], &length[..], tpdu].concat();
    let mut segment = Vec::new();
    tcp::Pdu::between(ends.map(|end| end.port), Flags(0x18), numbers, &packet).encode(&mut segment);
    let hosts = ends.map(|end| Ipv4Addr::new(10, 0, 0, end.host));
    let carried = ipv4::Pdu::carrying(tcp::PROTOCOL, hosts, &segment);
    let mut datagram = Vec::new();
    ipv4::Pdu { identification, ..carried }.encode(&mut datagram);
    let mut frame = Vec::new();
    mac::Pdu {
        destination: Mac::local(ends[1].host.into()),
        source: Mac::local(ends[0].host.into()),
        tags: Default::default(),
        kind: mac::Kind::Type(0x0800),
        data: &datagram,
        padding: &[],
    }
    .encode(&mut frame);
    frame
}

/// Stream between a client, side 0, and a server, side 1.
pub(crate) struct Stream {
    pub(crate) meter: Meter,
    next: [u32; 2],
    frames: u16,
}

impl Stream {
    pub(crate) fn new() -> Self {
        Self::every(Duration::from_secs(3_600))
    }

    /// Stream that is measured in intervals of this length.
    pub(crate) fn every(interval: Duration) -> Self {
        let meter = Meter::new(Settings::every(interval));
        Self { meter, next: [1_000, 5_000], frames: 0 }
    }

    /// Sends a DT of class 0 in one segment.
    pub(crate) fn dt(&mut self, millis: u64, side: usize, data: &[u8], ends: bool) {
        let number = if ends { 0x80 } else { 0 };
        self.tpdu(millis, side, &[&[2, 0xF0, number], data].concat());
    }

    /// Sends a TPDU in one segment.
    pub(crate) fn tpdu(&mut self, millis: u64, side: usize, tpdu: &[u8]) {
        self.frames += 1;
        let ports = [49_152, 102];
        let ends = [side, 1 - side].map(|end| End { host: end as u8 + 1, port: ports[end] });
        let numbers = [side, 1 - side].map(|end| self.next[end]);
        let frame = frame(ends, numbers, self.frames, tpdu);
        self.next[side] += tpdu.len() as u32 + 4;
        let at = Instant::from_nanos(millis * 1_000_000);
        self.meter.observe(at, Link::Ethernet, &frame, frame.len());
    }

    /// Complete S7 PDU.
    fn s7(&mut self, millis: u64, side: usize, kind: u8, reference: u8) {
        self.dt(millis, side, &[0x32, kind, 0, 0, 0, reference, 0, 2, 0, 0, 4, 1], true);
    }

    /// Response times of the server in milliseconds (count, total, minimum, maximum), and ambiguous
    /// replies.
    fn replied(&self) -> ([u64; 4], u64) {
        let server = Address::Internet(Ipv4Addr::new(10, 0, 0, 2).to_ipv6_mapped());
        let host = self.meter.each_host().find(|host| host.address == Some(server)).unwrap();
        let Summary { count, total_ns, min_ns, max_ns, .. } = host.replied.summary();
        let of_connection = self.meter.each_connection().next().unwrap().directions;
        let of_sides = of_connection.map(|sent| (sent.replied.count, sent.replied.max_ns));
        assert!(of_sides.contains(&(count, max_ns)));
        let ms = [total_ns, min_ns, max_ns].map(|nanos| nanos / 1_000_000);
        ([count, ms[0], ms[1], ms[2]], host.sent.waits.ambiguous_responses)
    }
}

#[test]
fn replies_of_s7_pair_by_reference_in_any_order() {
    let mut stream = Stream::new();
    for (millis, reference) in [(0, 1), (10, 2), (20, 3)] {
        stream.s7(millis, 0, 1, reference);
    }
    for (millis, reference) in [(25, 2), (40, 1), (43, 3)] {
        stream.s7(millis, 1, 3, reference);
    }
    // 15, 40 and 23 ms.
    assert_eq!(stream.replied(), ([3, 78, 15, 40], 0));
    let total = stream.meter.finish().measures.delays;
    assert_eq!((total.response.count, total.response.max_ns), (3, 40_000_000));
}

#[test]
fn a_reply_without_a_request_is_ambiguous() {
    let mut stream = Stream::new();
    stream.s7(0, 0, 1, 1);
    stream.s7(5, 1, 3, 9);
    stream.s7(7, 1, 3, 1);
    assert_eq!(stream.replied(), ([1, 7, 7, 7], 1));
}

#[test]
fn a_reference_outstanding_twice_pairs_with_neither_request() {
    let mut stream = Stream::new();
    stream.s7(0, 0, 1, 1);
    stream.s7(10, 0, 1, 1);
    stream.s7(12, 1, 3, 1);
    // The next exchange pairs again.
    stream.s7(20, 0, 1, 1);
    stream.s7(23, 1, 3, 1);
    assert_eq!(stream.replied(), ([1, 3, 3, 3], 1));
}

#[test]
fn the_type_of_s7_user_data_is_request_reply_or_indication() {
    let mut stream = Stream::new();
    let user_data = |kind: u8| {
        [0x32, 7, 0, 0, 0, 5, 0, 8, 0, 4, 0, 1, 0x12, 4, 0x11, kind << 4 | 4, 1, 0, 10, 0, 0, 0]
    };
    stream.dt(0, 0, &user_data(4), true);
    stream.dt(3, 1, &user_data(0), true);
    stream.dt(8, 1, &user_data(8), true);
    assert_eq!(stream.replied(), ([1, 8, 8, 8], 0));
}

#[test]
fn a_request_of_several_dts_is_outstanding_from_its_end() {
    let mut stream = Stream::new();
    stream.s7(0, 0, 1, 7);
    stream.dt(1, 0, &[0x32, 1, 0, 0, 0, 8, 0, 2], false);
    stream.dt(30, 0, &[0; 40], true);
    stream.s7(34, 1, 3, 7);
    stream.dt(36, 1, &[0x32, 3, 0, 0, 0, 8, 0, 2], false);
    stream.dt(90, 1, &[0; 40], true);
    // 34 ms, and 6 ms from the end of the request to the beginning of the reply.
    assert_eq!(stream.replied(), ([2, 40, 6, 34], 0));
}

#[test]
fn replies_without_a_key_pair_with_a_single_request_only() {
    let mut stream = Stream::new();
    let (request, reply) = ([1, 2, 3], [4, 5]);
    stream.dt(0, 0, &request, true);
    stream.dt(4, 1, &reply, true);
    // Two are outstanding: the first reply may answer either, and so may the second.
    stream.dt(10, 0, &request, true);
    stream.dt(11, 0, &request, true);
    stream.dt(15, 1, &reply, true);
    stream.dt(50, 1, &reply, true);
    stream.dt(60, 0, &request, true);
    stream.dt(66, 1, &reply, true);
    assert_eq!(stream.replied(), ([2, 10, 4, 6], 2));
}

#[test]
fn a_late_reply_does_not_pair_with_a_third_request() {
    let mut stream = Stream::new();
    stream.dt(0, 0, &[1], true);
    stream.dt(1, 0, &[1], true);
    stream.dt(5, 1, &[2], true);
    stream.dt(6, 0, &[1], true);
    // It answers the second request, 19 ms after that, not the third.
    stream.dt(20, 1, &[2], true);
    assert_eq!(stream.replied(), ([0, 0, 0, 0], 2));
}

#[test]
fn outstanding_requests_are_limited_and_the_latest_pair() {
    let mut stream = Stream::new();
    for n in 0..60_000_u32 {
        let [.., high, low] = n.to_be_bytes();
        let request = [0x32, 1, 0, 0, high, low, 0, 2, 0, 0, 4, 1];
        stream.dt(u64::from(n), 0, &request, true);
    }
    let [.., high, low] = 59_999_u32.to_be_bytes();
    stream.dt(60_005, 1, &[0x32, 3, 0, 0, high, low, 0, 2, 0, 0, 4, 1], true);
    stream.dt(60_006, 1, &[0x32, 3, 0, 0, 0, 9, 0, 2, 0, 0, 4, 1], true);
    // The last request is stored, the tenth was evicted.
    assert_eq!(stream.replied(), ([1, 6, 6, 6], 1));
}

/// Response times in nanoseconds by host, ascending, paired by PDU reference in the output of
/// tshark.
fn by_tshark(path: &Path) -> Option<BTreeMap<Ipv4Addr, Vec<u64>>> {
    let mut tshark = Command::new("tshark");
    tshark.args(["-Y", "s7comm", "-T", "fields", "-E", "occurrence=a"]);
    for field in ["frame.time_epoch", "tcp.stream", "ip.src", "ip.dst"] {
        tshark.args(["-e", field]);
    }
    tshark.args(["-e", "s7comm.header.rosctr", "-e", "s7comm.header.pduref", "-r"]).arg(path);
    let output = tshark.stderr(Stdio::null()).output().ok()?;
    let mut asked: BTreeMap<(String, String, String), u64> = BTreeMap::new();
    let mut found: BTreeMap<Ipv4Addr, Vec<u64>> = BTreeMap::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let [at, stream, from, to, kinds, references] =
            line.split('\t').collect::<Vec<_>>()[..].try_into().unwrap();
        let (seconds, nanos) = at.split_once('.').unwrap();
        let at = seconds.parse::<u64>().unwrap() * 1_000_000_000 + nanos.parse::<u64>().unwrap();
        for (kind, reference) in kinds.split(',').zip(references.split(',')) {
            let key = |asker: &str| (stream.to_owned(), asker.to_owned(), reference.to_owned());
            if kind == "1" {
                asked.insert(key(from), at);
            } else if let Some(since) = asked.remove(&key(to)) {
                found.entry(from.parse().unwrap()).or_default().push(at - since);
            }
        }
    }
    found.values_mut().for_each(|times| times.sort_unstable());
    Some(found)
}

#[test]
fn tshark_pairs_the_same_requests_and_replies() {
    for name in ["s7/Plant1_S7comm.pcap", "s7/mb2_modbus_plus_s7.pcap"] {
        let Some(path) = shared("captures", name) else { return };
        let Some(theirs) = by_tshark(&path).filter(|found| !found.is_empty()) else {
            println!("skipped: no tshark to pair replies with");
            return;
        };
        let mut meter = Meter::new(Settings::every(Duration::from_secs(3_600)));
        let mut capture = Capture::open(File::open(&path).unwrap()).unwrap();
        while let Some(record) = capture.next().unwrap() {
            meter.observe(record.at, record.link, record.octets, record.original_octets);
        }
        meter.finish();
        let mut compared = 0;
        for host in meter.each_host() {
            let Some(Address::Internet(address)) = host.address else { continue };
            let Some(times) = address.to_ipv4_mapped().and_then(|known| theirs.get(&known)) else {
                assert_eq!(host.replied.count, 0, "{name} {address}");
                continue;
            };
            compared += 1;
            let ours = host.replied.summary();
            let n = times.len();
            let exact = [n as u64, times.iter().sum(), times[0], times[n - 1]];
            assert_eq!([ours.count, ours.total_ns, ours.min_ns, ours.max_ns], exact, "{address}");
            assert_eq!(host.sent.waits.ambiguous_responses, 0, "{name} {address}");
            // By nearest rank, the upper edge of a class that is at most 1/128 wide.
            for (quantile, per_cent) in [(ours.p50_ns, 50), (ours.p99_ns, 99)] {
                let rank = times[(n * per_cent).div_ceil(100) - 1];
                assert!((rank..=rank + rank / 128).contains(&quantile), "{address} p{per_cent}");
            }
        }
        assert_eq!(compared, theirs.len(), "{name}");
        println!("seen: {name}, replies of {compared} hosts as tshark pairs them");
    }
}
