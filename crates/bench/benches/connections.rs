//! Memory of the meter per connection, with a million connections.
//!
//! Each connection is opened, then sends an acknowledged DT in each of some rounds: class 4 over
//! LLC, and class 0 over TCP, where the TCP connection is tracked too. The benchmark prints the
//! growth of the process's resident memory (from /proc) per connection. Frames are built from their
//! layouts alone, one at a time.
//!
//! `cargo bench -p tidewire-bench --bench connections`. `TIDEWIRE_CONNECTIONS` sets the number.

use core::net::Ipv4Addr;
use core::time::Duration;
use meter::{Meter, Settings};
use wire::addr::Mac;
use wire::dissect::Link;
use wire::tcp::{self, Flags};
use wire::time::Instant;
use wire::{ipv4, mac};

const CONNECTIONS: u32 = 1_000_000;
const ROUNDS: u8 = 4;
/// Number of connections between two stations; references and ports have 16 bits.
const OF_A_PAIR: u32 = 50_000;
/// Time between two frames. A round of a million connections lasts ten seconds.
const STEP_NANOS: u64 = 5_000;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;
/// LLC from network layer to network layer, UI; then the inactive network layer.
const LLC: [u8; 4] = [0xFE, 0xFE, 0x03, 0x00];

type Failed = Box<dyn core::error::Error>;

/// Returns the resident memory of this process in octets.
fn resident() -> Result<u64, Failed> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages: u64 =
        text.split(' ').nth(1).ok_or("no second field in /proc/self/statm")?.parse()?;
    Ok(pages * rustix::param::page_size() as u64)
}

/// A side of a connection.
#[derive(Clone, Copy)]
struct End {
    station: u32,
    /// Its reference, or its port.
    name: u16,
}

/// Returns both sides of a connection, the initiator first.
fn ends(connection: u32) -> [End; 2] {
    let (pair, place) = (connection / OF_A_PAIR, connection % OF_A_PAIR);
    let name = place as u16 + 1_024;
    [End { station: 1 + pair, name }, End { station: 1_001 + pair, name }]
}

/// Returns the frame from one side to the other, padded to Ethernet's minimum.
fn frame([from, to]: [End; 2], kind: mac::Kind, data: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    mac::Pdu {
        destination: Mac::local(to.station),
        source: Mac::local(from.station),
        tags: Default::default(),
        kind,
        data,
        padding: [0; 46].get(data.len()..).unwrap_or_default(),
    }
    .encode(&mut frame);
    frame
}

/// Carrier of TPDUs.
trait Way {
    const NAME: &'static str;

    /// Returns the frames that open a connection.
    fn set_up(ends: [End; 2]) -> Vec<Vec<u8>>;

    /// Returns the frames of a DT and its acknowledgement.
    fn round(ends: [End; 2], number: u8) -> Vec<Vec<u8>>;
}

fn data(number: u8) -> Vec<u8> {
    vec![number; 20 + 100 * usize::from(number % 2)]
}

struct Class4;

impl Class4 {
    fn frame([from, to]: [End; 2], tpdu: &[u8]) -> Vec<u8> {
        let llc = [&LLC, tpdu].concat();
        frame([from, to], mac::Kind::Length(llc.len() as u16), &llc)
    }
}

impl Way for Class4 {
    const NAME: &'static str = "class 4 over LLC";

    fn set_up([one, other]: [End; 2]) -> Vec<Vec<u8>> {
        let ([a, b], [c, d]) = (one.name.to_be_bytes(), other.name.to_be_bytes());
        vec![
            Self::frame([one, other], &[6, 0xE2, 0, 0, a, b, 0x40]),
            Self::frame([other, one], &[6, 0xD2, a, b, c, d, 0x40]),
        ]
    }

    fn round([one, other]: [End; 2], number: u8) -> Vec<Vec<u8>> {
        let ([a, b], [c, d]) = (one.name.to_be_bytes(), other.name.to_be_bytes());
        let dt = [&[4, 0xF0, c, d, 0x80 | number], &data(number)[..]].concat();
        vec![
            Self::frame([one, other], &dt),
            Self::frame([other, one], &[4, 0x62, a, b, number + 1]),
        ]
    }
}

struct Class0;

impl Class0 {
    /// Returns a segment; `sent` are the octets that its sender and its receiver have sent before
    /// it.
    fn frame([from, to]: [End; 2], flags: u8, sent: [u32; 2], data: &[u8]) -> Vec<u8> {
        let (mut segment, mut packet) = (Vec::new(), Vec::new());
        let address = |end: End| Ipv4Addr::from_bits(0x0A00_0000 | end.station);
        tcp::Pdu::between([from.name, to.name], Flags(flags), sent, data).encode(&mut segment);
        ipv4::Pdu::carrying(tcp::PROTOCOL, [from, to].map(address), &segment).encode(&mut packet);
        frame([from, to], mac::Kind::Type(0x0800), &packet)
    }
}

impl Way for Class0 {
    const NAME: &'static str = "class 0 over TCP";

    fn set_up([one, other]: [End; 2]) -> Vec<Vec<u8>> {
        vec![
            Self::frame([one, other], SYN, [0, 0], &[]),
            Self::frame([other, one], SYN | ACK, [0, 1], &[]),
            Self::frame([one, other], ACK, [1, 1], &[3, 0, 0, 11, 6, 0xE0, 0, 0, 0, 1, 0]),
            Self::frame([other, one], ACK, [1, 12], &[3, 0, 0, 11, 6, 0xD0, 0, 1, 0, 2, 0]),
        ]
    }

    fn round([one, other]: [End; 2], number: u8) -> Vec<Vec<u8>> {
        let packet = |number: u8| {
            [&[3, 0, 0, 7 + data(number).len() as u8, 2, 0xF0, 0x80], &data(number)[..]].concat()
        };
        let before = 12 + (0..number).map(|number| packet(number).len() as u32).sum::<u32>();
        let packet = packet(number);
        let behind = before + packet.len() as u32;
        vec![
            Self::frame([one, other], ACK, [before, 12], &packet),
            Self::frame([other, one], ACK, [12, behind], &[]),
        ]
    }
}

/// Meters `connections` connections, and prints the memory per connection after each round.
fn fill<W: Way>(connections: u32) -> Result<(), Failed> {
    let settings = Settings {
        maximum_connections: connections as usize,
        silence: Duration::from_secs(86_400),
        ..Settings::every(Duration::from_secs(10))
    };
    let (mut meter, before, mut frames) = (Meter::new(settings), resident()?, 0);
    for round in 0..=ROUNDS {
        for connection in 0..connections {
            let ends = ends(connection);
            let all = if round == 0 { W::set_up(ends) } else { W::round(ends, round - 1) };
            for frame in all {
                let at = Instant::from_nanos(frames * STEP_NANOS);
                meter.observe(at, Link::Ethernet, &frame, frame.len());
                while meter.take_interval().is_some() {}
                frames += 1;
            }
        }
        let octets = resident()?.saturating_sub(before) / u64::from(connections);
        let known = meter.connections();
        println!("{}, {known} connections, {round} DTs each: {octets} octets each", W::NAME);
    }
    let total = meter.finish();
    if !total.oddities.is_empty() {
        return Err(format!("what was made up is odd: {:?}", total.oddities).into());
    }
    Ok(())
}

fn main() -> Result<(), Failed> {
    let connections = match std::env::var("TIDEWIRE_CONNECTIONS") {
        Ok(text) => text.parse()?,
        Err(_) => CONNECTIONS,
    };
    fill::<Class4>(connections)?;
    fill::<Class0>(connections)
}
