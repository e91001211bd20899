//! Memory that the meter takes for connections and hosts, printed before it measures.

use crate::quantity::counted;

/// Octets of memory of a connection of class 4 over LLC: the benchmark `connections`.
const CLASS_4_OCTETS: usize = 432;
/// Octets of memory of a connection of class 0, its TCP connection included: likewise.
const CLASS_0_OCTETS: usize = 416;
/// Octets of memory of such a connection whose response times spread over many classes.
const ANSWERED_OCTETS: usize = 8_306;
/// Octets of memory of such a connection that carries an association with one service of MMS and
/// few response times: counted by a test.
const ASSOCIATED_OCTETS: usize = 2_800;
/// Octets of memory of such an association with four services, each with 40 response times that
/// spread over many classes: likewise.
const SERVED_OCTETS: usize = 39_000;
/// Octets of memory of a host with its counts of both directions, as measured with 16,000 hosts.
const HOST_OCTETS: usize = 2_400;

/// Text of the memory that this number of connections takes, by kind of connection.
pub(super) fn of_connections(connections: usize) -> String {
    let [class_4, class_0, answered, associated, served] =
        [CLASS_4_OCTETS, CLASS_0_OCTETS, ANSWERED_OCTETS, ASSOCIATED_OCTETS, SERVED_OCTETS]
            .map(|octets| megabytes(connections.saturating_mul(octets)));
    format!(
        "{}: about {class_4} in class 4 and {class_0} over TCP, {answered} if each has \
         many different response times; with MMS {associated}, and {served} if each has many \
         different response times of four services",
        counted(connections as u64, "connection")
    )
}

/// Text of the memory that this number of hosts takes.
pub(super) fn of_hosts(hosts: usize) -> String {
    let octets = megabytes(hosts.saturating_mul(HOST_OCTETS));
    format!("{}: about {octets}", counted(hosts as u64, "host"))
}

/// Memory in whole megabytes, rounded up.
fn megabytes(octets: usize) -> String {
    format!("{} MB", octets.div_ceil(1_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::Ipv4Addr;
    use core::time::Duration;
    use meter::{Meter, Settings};
    use wire::addr::Mac;
    use wire::dissect::Link;
    use wire::tcp::{self, Flags};
    use wire::time::Instant;
    use wire::{ipv4, mac};

    const CONNECTIONS: u16 = 200;
    const INTERVAL: Duration = Duration::from_secs(60);
    /// Response times of a service: from 100 µs, four in each doubling.
    const TIMES: i32 = 40;
    /// Read, write, getNameList, getVariableAccessAttributes.
    const SERVICES: [u8; 4] = [0xA4, 0xA5, 0xA1, 0xA6];

    /// Connections between a client and a server, one after the other in each step.
    struct World {
        meter: Meter,
        nanos: u64,
        /// Octets sent by each side of each connection.
        sent: [u32; 2],
    }

    impl World {
        fn send(&mut self, side: usize, tpdu: &[u8], after_ns: u64) {
            self.nanos += after_ns;
            let length = (tpdu.len() as u16 + 4).to_be_bytes();
            let packet = [&[3, 0], &length[..], tpdu].concat();
            for connection in 0..CONNECTIONS {
                let ports = [1_024 + connection, 102];
                let (mut segment, mut datagram, mut frame) = (Vec::new(), Vec::new(), Vec::new());
                let sent = [side, 1 - side].map(|side| self.sent[side]);
                let ends = [ports[side], ports[1 - side]];
                tcp::Pdu::between(ends, Flags(0x18), sent, &packet).encode(&mut segment);
                let hosts = [side, 1 - side].map(|side| Ipv4Addr::new(10, 0, 0, 1 + side as u8));
                ipv4::Pdu::carrying(tcp::PROTOCOL, hosts, &segment).encode(&mut datagram);
                let [source, destination] = [side, 1 - side].map(|side| Mac::local(side as u32));
                let kind = mac::Kind::Type(0x0800);
                let (tags, data, padding) = (Default::default(), &datagram[..], &[][..]);
                mac::Pdu { destination, source, tags, kind, data, padding }.encode(&mut frame);
                let at = Instant::from_nanos(self.nanos);
                self.meter.observe(at, Link::Ethernet, &frame, frame.len());
            }
            self.sent[side] += packet.len() as u32;
        }

        /// Sends an MMS PDU in a DT.
        fn mms(&mut self, side: usize, pdu: [u8; 7], after_ns: u64) {
            let head = [2, 0xF0, 0x80, 1, 0, 1, 0, 0x61, 14, 0x30, 12, 2, 1, 3, 0xA0, 7];
            self.send(side, &[&head[..], &pdu].concat(), after_ns);
        }
    }

    /// Connections of class 0 that have been opened.
    fn opened() -> World {
        let settings = Settings::every(INTERVAL);
        let mut world = World { meter: Meter::new(settings), nanos: 0, sent: [1_000; 2] };
        world.send(0, &[6, 0xE0, 0, 0, 0, 1, 0], 0);
        world.send(1, &[6, 0xD0, 0, 1, 0, 2, 0], 1_000);
        world
    }

    /// Octets that a connection takes, once these services had this number of response times each,
    /// both in an earlier interval and in the latest.
    fn octets(services: &[u8], times: i32) -> usize {
        let mut world = opened();
        let counted = allocation_counter::measure(|| {
            for nth in (0..times).chain(0..times) {
                if nth == 0 {
                    world.nanos = world.nanos.next_multiple_of(INTERVAL.as_nanos() as u64);
                }
                for service in services {
                    let after_ns = 100_000.0 * f64::from(nth).exp2().powf(0.25);
                    // The meter keeps the packets of 10 ms, which are not those of a connection.
                    world.mms(0, [0xA0, 5, 2, 1, nth as u8, *service, 0], 20_000_000);
                    world.mms(1, [0xA1, 5, 2, 1, nth as u8, *service, 0], after_ns as u64);
                }
            }
        });
        assert_eq!(world.meter.each_connection().count(), usize::from(CONNECTIONS));
        for connection in world.meter.each_connection() {
            let association = connection.association.expect("an association");
            assert_eq!(association.services.len(), services.len());
            assert!(association.services.iter().all(|it| it.responses.count == 2 * times as u64));
        }
        CLASS_0_OCTETS + counted.bytes_current as usize / usize::from(CONNECTIONS)
    }

    /// Checks that the stated number is the one found, rounded up by a tenth at most.
    fn check(stated: usize, found: usize) {
        println!("seen: {found} octets, stated {stated}");
        assert!((found..=found + found / 10).contains(&stated), "{found} octets, not {stated}");
    }

    #[test]
    fn an_association_takes_the_memory_that_is_stated() {
        check(ASSOCIATED_OCTETS, octets(&SERVICES[..1], 4));
        check(SERVED_OCTETS, octets(&SERVICES, TIMES));
    }
}
