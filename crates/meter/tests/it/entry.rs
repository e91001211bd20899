//! Entry point of the fuzz target: frames and segments from octets, with invariants checked.
//!
//! Two meters process each frame. One records observations, and so dissects every frame; the other
//! uses its fast path. Their results must be equal.

use core::time::Duration;
use meter::measure::{BOUNDS_OCTETS, Traffic};
use meter::user::User;
use meter::{Host, HostKey, Meter, Remarks, Settings, TsduLimits};
use wire::addr::Mac;
use wire::dissect::Link;
use wire::time::Instant;
use wire::tp;

/// Limit of connections, and of TCP connections, of a fuzzed meter.
const CONNECTIONS: usize = 8;
/// Limits of TSDUs: of one, and of all.
const TSDU_LIMITS: TsduLimits = TsduLimits { octets_each: 64, octets_total: 2_048 };

/// Meter with dissection and meter with fast path.
struct Both {
    short: Meter,
    long: Meter,
    remarks: Remarks,
    /// Hosts when they were compared before, and the time of that.
    hosts: Vec<Host>,
    since: Instant,
}

impl Both {
    fn new() -> Self {
        let settings = Settings {
            maximum_connections: CONNECTIONS,
            maximum_hosts: 2,
            silence: Duration::from_secs(2),
            ..Settings::every(Duration::from_secs(1))
        };
        let [short, mut long] = [0, 1].map(|_| Meter::new(settings.clone()));
        // Passing TSDUs changes no count.
        long.pass_tsdus(|user| user != User::Rdp, TSDU_LIMITS);
        let (hosts, since) = (Vec::new(), Instant::ZERO);
        Self { short, long, remarks: Remarks::default(), hosts, since }
    }

    fn observe(&mut self, at: Instant, link: Link, octets: &[u8], original_octets: usize) {
        self.short.observe(at, link, octets, original_octets);
        self.long.observe_remarking(at, link, octets, original_octets, &mut self.remarks);
        assert!(self.short.connections() <= CONNECTIONS);
        assert_eq!(self.short.held_octets(), self.long.held_octets());
        while let Some(tsdu) = self.long.take_tsdu() {
            assert!(tsdu.octets.len() <= TSDU_LIMITS.octets_each, "{tsdu:?}");
            assert!(tsdu.octets.len() as u64 <= tsdu.length && tsdu.began <= tsdu.at, "{tsdu:?}");
        }
        self.compare_over();
    }

    /// Compares intervals that are over and evicted connections.
    fn compare_over(&mut self) {
        loop {
            let both = [&mut self.short, &mut self.long].map(Meter::take_interval);
            let [short, long] =
                both.map(|over| over.map(|of| (of.index, of.measures, of.oddities)));
            assert_eq!(short, long);
            if short.is_none() {
                break;
            }
        }
        while let Some(short) = self.short.take_connection() {
            assert_eq!(Some(short), self.long.take_connection());
        }
        assert_eq!(self.long.take_connection(), None);
    }

    /// Compares results while measuring goes on.
    fn compare(&mut self) {
        let [short, long] = [&self.short, &self.long].map(|meter| {
            let under_way = meter.under_way().map(|of| (of.length, of.measures, of.oddities));
            let hosts: Vec<Host> = meter.each_host().collect();
            (meter.last(), under_way, meter.each_connection().collect::<Vec<_>>(), hosts)
        });
        assert_eq!(short, long);
        self.compare_changed(short.3);
    }

    /// Compares the hosts that changed since the last comparison with all hosts.
    fn compare_changed(&mut self, hosts: Vec<Host>) {
        let changed = self.short.changed_hosts(self.since);
        assert!(changed.is_sorted_by_key(|host| host.key) && changed.len() <= hosts.len());
        let keys: Vec<HostKey> = changed.iter().map(|host| host.key).collect();
        let replied = self.short.replies_of(&keys);
        for host in &hosts {
            let is_it = |address| address == host.address;
            let Some(place) = changed.iter().position(|changed| is_it(changed.address)) else {
                let before = self.hosts.iter().find(|before| is_it(before.address));
                assert_eq!(before.unwrap_or(&Host { address: host.address, ..none() }), host);
                continue;
            };
            assert_eq!(*changed[place].traffic, [host.sent.clone(), host.received.clone()]);
            assert_eq!(replied[place], host.replied);
        }
        self.short.forget_changes();
        (self.hosts, self.since) = (hosts, self.short.last().unwrap_or_default());
    }

    fn finish(mut self) {
        let [total, long] = [&mut self.short, &mut self.long].map(Meter::finish);
        assert_eq!((&total.measures, &total.oddities), (&long.measures, &long.oddities));
        self.compare_over();
        self.compare();
        let measures = &total.measures;
        let all = measures.traffic.transport.all();
        assert!(all.information_octets <= all.data_octets && all.retransmissions <= all.tpdus);
        assert!(measures.streams.copies <= measures.streams.segments);
        let sent: u64 = self.short.each_host().map(|host| host.sent.transport.all().tpdus).sum();
        assert_eq!(sent, all.tpdus, "the sum over all senders is the total");
    }
}

/// Host without traffic.
fn none() -> Host {
    let [sent, received] = [0, 1].map(|_| Traffic::new(BOUNDS_OCTETS));
    Host { sent, received, ..Host::default() }
}

/// Runs a script: each step is a head of 8 octets and the number of octets it specifies.
///
/// The first octet of the head is the kind of these octets. 1: a segment of a TCP stream between
/// few sockets, 2 with it over the link in the upper half of the second octet, Ethernet if that is
/// zero, and 4 numbered from its sender's position. Else 4: TPDUs
/// over LLC between two of few stations; else a frame, 2 of any link. 8: the meters are compared
/// before. 16: time goes back. From 32 on: the number of octets not captured; 128 in the second
/// octet means that they were not on the wire either.
pub(crate) fn script(octets: &[u8]) {
    let mut meters = Both::new();
    let (mut rest, mut nanos, mut next) = (octets, 0_u64, [0_u32; 16]);
    while let Some((head, behind)) = rest.split_first_chunk::<8>() {
        let [kind, ends, flags, high, low, acknowledged, passed, length] = *head;
        let (body, behind) = behind.split_at(usize::from(length).min(behind.len()));
        rest = behind;
        let step = u64::from(passed) * 1_000_000;
        nanos = if kind & 16 == 0 { nanos + step } else { nanos.saturating_sub(step) };
        let at = Instant::from_nanos(nanos);
        if kind & 8 != 0 {
            meters.compare();
            meters.short.advance(at);
            meters.long.advance(at);
        }
        let cut = usize::from(kind >> 5).min(body.len());
        let missing = if ends & 128 == 0 { cut } else { 0 };
        if kind & 1 != 0 {
            let way = usize::from(ends & 15);
            let back = way >> 2 | (way & 3) << 2;
            let numbers = if kind & 4 == 0 {
                [u32::from(high & 3) << 8 | u32::from(low), u32::from(acknowledged)]
            } else {
                let ahead = i32::from(i16::from_be_bytes([high, low]));
                let heard = next[back].wrapping_sub(acknowledged.into());
                [next[way].wrapping_add_signed(ahead), heard]
            };
            next[way] = numbers[0].wrapping_add(body.len() as u32 + u32::from(flags >> 1 & 1));
            let packet = segment(ends, flags, numbers[0], numbers[1], body);
            let is_ethernet = kind & 2 != 0;
            let (link, before) = on_link(if is_ethernet { ends >> 4 & 7 } else { 5 });
            let frame = [&before[..], &packet].concat();
            let captured = &frame[..frame.len() - cut];
            meters.observe(at, link, captured, captured.len() + missing);
        } else if kind & 4 != 0 {
            let frame = datagram(ends, flags, body);
            let captured = &frame[..frame.len() - cut];
            meters.observe(at, Link::Ethernet, captured, captured.len() + missing);
        } else {
            let link = if kind & 2 == 0 { Link::Ethernet } else { Link::Other(ends.into()) };
            meters.observe(at, link, body, body.len() + usize::from(passed >> 4));
        }
    }
    meters.finish();
}

/// Link with this number, and its header before an IPv4 packet; Ethernet if it has none.
fn on_link(number: u8) -> (Link, Vec<u8>) {
    match number {
        1 => (Link::Other(113), [&[0; 14][..], &[8, 0]].concat()),
        2 => (Link::Other(276), [&[8, 0][..], &[0; 18]].concat()),
        3 => (Link::Ethernet, [&[0; 12][..], &[0x81, 0, 0, 7, 8, 0]].concat()),
        4 => (Link::Other(0), vec![2, 0, 0, 0]),
        5 => (Link::Other(101), Vec::new()),
        _ => (Link::Ethernet, [&[0; 12][..], &[8, 0]].concat()),
    }
}

/// TPDUs over LLC and the inactive network layer between a few stations, with `flags % 16` octets
/// of pad. The checksum of the first is corrected unless `flags` has 16; 32 to 128 each change one
/// octet above MAC.
fn datagram(ends: u8, flags: u8, tpdus: &[u8]) -> Vec<u8> {
    let station = |number: u8| Mac::local(u32::from(number & 3)).0;
    let mut tpdus = tpdus.to_vec();
    let first = tpdus.first().map_or(0, |indicator| usize::from(*indicator) + 1);
    let at = first.saturating_sub(4);
    if let Some([0xC3, 2, slot @ ..]) = tpdus.get_mut(at..first)
        && flags & 16 == 0
    {
        slot.fill(0);
        let (header, data) = tpdus.split_at_mut(first);
        tp::seal(header, at + 2, data);
    }
    let length = (tpdus.len() as u16 + 4).to_be_bytes();
    let (mut above_mac, pad) = ([0xFE, 0xFE, 3, 0], usize::from(flags % 16));
    if let Some(octet) = usize::from(flags >> 5).checked_sub(1) {
        above_mac[octet % 4] ^= 1;
    }
    [&station(ends >> 2), &station(ends), &length[..], &above_mac, &tpdus, &[0; 15][..pad]].concat()
}

/// TCP segment in an IPv4 packet between a few sockets.
pub(crate) fn segment(
    ends: u8,
    flags: u8,
    sequence: u32,
    acknowledged: u32,
    data: &[u8],
) -> Vec<u8> {
    let (from, to) = (ends & 3, ends >> 2 & 3);
    let total = u16::try_from(40 + data.len()).unwrap();
    let mut packet = vec![0x45, 0];
    packet.extend(total.to_be_bytes());
    packet.extend([0, ends, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, from, 10, 0, 0, to]);
    packet.extend([4, from, 4, to]);
    packet.extend(sequence.to_be_bytes());
    packet.extend(acknowledged.to_be_bytes());
    packet.extend([0x50, flags, 0x20, 0, data.len() as u8, sequence as u8, 0, 0]);
    packet.extend(data);
    packet
}
