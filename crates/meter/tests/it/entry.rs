//! What the fuzz target calls: octets in, frames and segments out of them, claims checked.

use core::time::Duration;
use meter::{Meter, Settings};
use wire::dissect::Link;
use wire::time::Instant;

/// Connections, and TCP connections, that a fuzzed meter follows.
const CONNECTIONS: usize = 8;

/// Octets as a script: each step is a head of 8 octets and as many octets as it says. It makes a TCP
/// segment between few sockets, or stands for a frame itself.
pub(crate) fn script(octets: &[u8]) {
    let settings = Settings {
        maximum_connections: CONNECTIONS,
        maximum_hosts: 2,
        ..Settings::every(Duration::from_secs(1))
    };
    let mut meter = Meter::new(settings);
    let (mut rest, mut nanos) = (octets, 0_u64);
    while let Some((head, behind)) = rest.split_first_chunk::<8>() {
        let [kind, ends, flags, high, low, acknowledged, cut, length] = *head;
        let (body, behind) = behind.split_at(usize::from(length).min(behind.len()));
        rest = behind;
        nanos += u64::from(cut) * 1_000_000;
        let at = Instant::from_nanos(nanos);
        let missing = usize::from(cut >> 4);
        if kind & 1 == 0 {
            let link = if kind & 2 == 0 { Link::Ethernet } else { Link::Other(u32::from(kind)) };
            meter.observe(at, link, body, body.len() + missing);
        } else {
            let sequence = u32::from(high & 3) << 8 | u32::from(low);
            let frame = segment(ends, flags, sequence, u32::from(acknowledged), body);
            let captured = frame.len() - usize::from(kind >> 5).min(body.len());
            meter.observe(at, Link::Other(101), &frame[..captured], frame.len());
        }
        assert!(meter.connections() <= CONNECTIONS);
        while meter.take_interval().is_some() {}
    }
    let total = meter.finish();
    let measures = &total.measures;
    let all = measures.traffic.transport.all();
    assert!(all.information_octets <= all.data_octets && all.retransmissions <= all.tpdus);
    assert!(measures.streams.copies <= measures.streams.segments);
    let sent: u64 = meter.each_host().map(|host| host.sent.transport.all().tpdus).sum();
    assert_eq!(sent, all.tpdus, "what hosts sent is what there was");
}

/// A TCP segment in a packet of IPv4 between a few sockets.
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
