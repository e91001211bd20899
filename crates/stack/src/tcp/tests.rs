//! Two stations over a wire with selectable losses.

use super::*;
use crate::machine::{Machine as _, Output};
use bytes::Bytes;
use core::time::Duration;
use stats::rng::Stream;
use wire::addr::Mac;
use wire::packet::Packet;
use wire::time::Instant;

const WAY: Duration = Duration::from_micros(50);

/// Fate of a datagram on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Arrives,
    Lost,
    Twice,
    Late,
    Damaged,
}

/// Two entities on a wire of 50 us.
struct Pair {
    now: Instant,
    ends: [Entity; 2],
    /// Datagrams on their way, with the receiver.
    wire: Vec<Crossing>,
    told: [Vec<Indication>; 2],
    /// Octets received by each side.
    data: [Vec<u8>; 2],
    lines: Vec<String>,
}

struct Crossing {
    at: Instant,
    number: usize,
    to: usize,
    datagram: Datagram,
}

const HERE: Socket = Socket(1);

impl Pair {
    fn new() -> Self {
        let end = |number| {
            let params = Params { first_sequence: u32::MAX - 5, ..Params::lan(Mac::local(number)) };
            Entity::new(params)
        };
        Self {
            now: Instant::ZERO,
            ends: [end(1), end(2)],
            wire: Vec::new(),
            told: Default::default(),
            data: Default::default(),
            lines: Vec::new(),
        }
    }

    fn opened() -> Self {
        let mut pair = Self::new();
        let socket = pair.ends[0].socket();
        pair.ends[0].request(pair.now, Request::Connect { socket, peer: Mac::local(2) });
        pair.run(Duration::from_millis(1), |_| Fate::Arrives);
        assert_eq!(pair.told[0], [Indication::Opened { socket: HERE }]);
        let accepted = Indication::Accepted { socket: HERE, peer: Mac::local(1) };
        assert_eq!(pair.told[1], [accepted]);
        pair
    }

    fn send(&mut self, of: usize, octets: Vec<u8>) {
        let octets = Bytes::from(octets);
        self.ends[of].request(self.now, Request::Data { socket: HERE, octets });
    }

    /// Runs for a time; `fate` decides for each datagram by its number.
    fn run(&mut self, time: Duration, mut fate: impl FnMut(usize) -> Fate) {
        let until = self.now + time;
        let mut number = 0;
        loop {
            self.drain(&mut number, &mut fate);
            let next = self.wire.iter().map(|it| it.at).min();
            let timer = self.ends.iter().filter_map(Entity::deadline).map(|it| it.at).min();
            let at = next.unwrap_or(Instant::MAX).min(timer.unwrap_or(Instant::MAX));
            if at > until {
                self.now = until;
                return;
            }
            self.now = self.now.max(at);
            self.ends.iter_mut().for_each(|end| end.expire(self.now));
            let due = self.wire.iter().enumerate().filter(|(_, it)| it.at <= self.now);
            let first = due.min_by_key(|(_, it)| (it.at, it.number)).map(|(place, _)| place);
            if let Some(place) = first {
                let Crossing { to, datagram, .. } = self.wire.remove(place);
                self.ends[to].receive(self.now, datagram);
            }
        }
    }

    fn drain(&mut self, number: &mut usize, fate: &mut impl FnMut(usize) -> Fate) {
        for of in [0, 1] {
            while let Some(output) = self.ends[of].poll() {
                match output {
                    Output::Send(datagram) => self.cross(of, datagram, number, fate(*number)),
                    Output::Deliver(Indication::Data { octets, .. }) => {
                        self.data[of].extend_from_slice(&octets);
                    }
                    Output::Deliver(indication) => self.told[of].push(indication),
                    Output::Note(_) => {}
                }
            }
        }
    }

    fn cross(&mut self, of: usize, datagram: Datagram, number: &mut usize, fate: Fate) {
        let octets = datagram.packet.to_bytes();
        let network = wire::ipv4::Pdu::decode(&octets).unwrap();
        let pdu = wire::tcp::Pdu::decode(network.data).unwrap();
        let (flags, octets) = (pdu.flags, pdu.data.len());
        self.lines.push(format!("{} {of} {flags} {octets}", self.now.as_nanos() / 1_000));
        *number += 1;
        assert_eq!(datagram.station, Mac::local(2 - of as u32));
        let mut put = |at, datagram| {
            self.wire.push(Crossing { at, number: *number, to: 1 - of, datagram });
        };
        let packet = datagram.packet;
        let arrives = |packet| Datagram { station: Mac::local(1 + of as u32), packet };
        match fate {
            Fate::Lost => {}
            Fate::Arrives => put(self.now + WAY, arrives(packet)),
            Fate::Late => put(self.now + 5 * WAY, arrives(packet)),
            Fate::Twice => {
                put(self.now + WAY, arrives(packet.clone()));
                put(self.now + 3 * WAY, arrives(packet));
            }
            Fate::Damaged => {
                let mut octets = packet.to_bytes().to_vec();
                let last = octets.len() - 1;
                octets[last] ^= 0x10;
                put(self.now + WAY, arrives(Packet::new(octets.into())));
            }
        }
    }

    fn taken(&self, of: usize) -> usize {
        let octets = self.told[of].iter().map(|it| match it {
            Indication::Taken { octets, .. } => *octets,
            _ => 0,
        });
        octets.sum()
    }
}

fn octets(count: usize) -> Vec<u8> {
    (0..count).map(|place| (place % 251) as u8).collect()
}

#[test]
fn a_stream_is_cut_at_the_mss_and_acknowledged_at_each_second() {
    let mut pair = Pair::opened();
    pair.lines.clear();
    pair.send(0, octets(4_000));
    pair.run(Duration::from_millis(100), |_| Fate::Arrives);
    assert_eq!(pair.data[1], octets(4_000));
    assert_eq!(pair.taken(0), 4_000);
    // 4,000 = 2 x 1,460 + 1,080. The third is acknowledged 40 ms after its arrival.
    let expected = [
        "1000 0 PSH,ACK 1460",
        "1000 0 PSH,ACK 1460",
        "1000 0 PSH,ACK 1080",
        "1050 1 ACK 0",
        "41050 1 ACK 0",
    ];
    assert_eq!(pair.lines, expected);
}

#[test]
fn an_acknowledgement_rides_on_an_answer() {
    let mut pair = Pair::opened();
    pair.send(0, octets(60));
    pair.run(Duration::from_micros(60), |_| Fate::Arrives);
    pair.lines.clear();
    pair.send(1, octets(200));
    pair.run(Duration::from_millis(1), |_| Fate::Arrives);
    assert_eq!(pair.taken(0), 60);
    assert_eq!(pair.lines, ["1060 1 PSH,ACK 200"]);
}

#[test]
fn a_lost_request_is_retransmitted_after_the_rto() {
    let mut pair = Pair::opened();
    pair.lines.clear();
    pair.send(0, octets(60));
    pair.run(Duration::from_secs(2), |number| [Fate::Lost, Fate::Arrives][number.min(1)]);
    assert_eq!(pair.data[1], octets(60));
    // The round trip of 100 us is far below the least RTO, 200 ms.
    assert_eq!(pair.lines[..2], ["1000 0 PSH,ACK 60", "201000 0 PSH,ACK 60"]);
    assert_eq!(pair.ends[0].counters().retransmitted, 1);
}

#[test]
fn each_timeout_in_a_row_is_twice_as_long_until_the_end() {
    let mut pair = Pair::opened();
    pair.lines.clear();
    pair.send(0, octets(60));
    pair.run(Duration::from_secs(600), |_| Fate::Lost);
    let times: Vec<u64> =
        pair.lines.iter().map(|it| it.split(' ').next().unwrap().parse().unwrap()).collect();
    // 200 ms, 400 ms, ... 51.2 s for the ninth, after which the connection is lost.
    let expected: Vec<u64> = (0..9).map(|it| 1_000 + 200_000 * ((1 << it) - 1)).collect();
    assert_eq!(times, expected);
    assert_eq!(pair.told[0].last(), Some(&Indication::Ended { socket: HERE, lost: true }));
    assert_eq!(pair.ends[0].connections(), 0);
}

#[test]
fn three_repeated_acknowledgements_repair_a_loss_at_once() {
    let mut pair = Pair::opened();
    pair.lines.clear();
    pair.send(0, octets(10 * 1_460));
    pair.run(
        Duration::from_millis(150),
        |number| {
            if number == 1 { Fate::Lost } else { Fate::Arrives }
        },
    );
    assert_eq!(pair.data[1], octets(10 * 1_460));
    let counters = pair.ends[0].counters();
    assert_eq!((counters.retransmitted, pair.taken(0)), (1, 14_600));
    assert!(pair.lines.contains(&"1100 0 PSH,ACK 1460".to_owned()), "{:?}", pair.lines);
}

#[test]
fn two_holes_of_a_flight_take_no_timeout() {
    let mut pair = Pair::opened();
    pair.send(0, octets(20 * 1_460));
    let lost = [1, 4];
    pair.run(Duration::from_millis(150), |number| {
        if lost.contains(&number) { Fate::Lost } else { Fate::Arrives }
    });
    assert_eq!(pair.data[1], octets(20 * 1_460));
    assert_eq!(pair.ends[0].counters().retransmitted, 2);
}

#[test]
fn any_path_delivers_every_octet_in_order_once() {
    for seed in 0..200 {
        let mut stream = Stream::named(seed, "tcp");
        let mut pair = Pair::opened();
        for of in [0, 1] {
            for _ in 0..10 {
                let count = 1 + stream.below(5_000) as usize;
                let sent = octets(count);
                pair.send(of, sent);
            }
        }
        let fates = [Fate::Lost, Fate::Twice, Fate::Late, Fate::Damaged];
        let mut clone = stream.clone();
        pair.run(Duration::from_secs(300), |_| match clone.below(20) {
            kind @ 0..4 => fates[kind as usize],
            _ => Fate::Arrives,
        });
        for of in [0, 1] {
            assert_eq!(pair.taken(of), pair.data[1 - of].len(), "seed {seed}");
            let mut rest = &pair.data[1 - of][..];
            while !rest.is_empty() {
                let piece =
                    rest.iter().skip(1).position(|it| *it == 0).map_or(rest.len(), |it| it + 1);
                assert_eq!(rest[..piece], octets(piece), "seed {seed}");
                rest = &rest[piece..];
            }
        }
        for of in [0, 1] {
            pair.ends[of].request(pair.now, Request::Release { socket: HERE });
        }
        pair.run(Duration::from_secs(300), |_| match clone.below(20) {
            kind @ 0..4 => fates[kind as usize],
            _ => Fate::Arrives,
        });
        assert_eq!([0, 1].map(|of| pair.ends[of].connections()), [0, 0], "seed {seed}");
    }
}

#[test]
fn a_release_sends_what_waits_and_both_ends_report_it() {
    let mut pair = Pair::opened();
    pair.send(0, octets(3_000));
    pair.ends[0].request(pair.now, Request::Release { socket: HERE });
    pair.run(Duration::from_millis(10), |_| Fate::Arrives);
    let ended = Indication::Ended { socket: HERE, lost: false };
    assert_eq!(pair.data[1].len(), 3_000);
    assert_eq!(pair.told[1].last(), Some(&ended));
    assert_eq!(pair.ends[0].state(HERE), Some(State::FinWait2));
    // The other direction stays open.
    pair.send(1, octets(70));
    pair.ends[1].request(pair.now, Request::Release { socket: HERE });
    pair.run(Duration::from_millis(10), |_| Fate::Arrives);
    assert_eq!((pair.data[0].len(), pair.told[0].last()), (70, Some(&ended)));
    assert_eq!([0, 1].map(|of| pair.ends[of].state(HERE)), [Some(State::TimeWait), None]);
    pair.run(Duration::from_secs(2), |_| Fate::Arrives);
    assert_eq!(pair.ends[0].connections(), 0);
}

#[test]
fn a_segment_for_no_connection_is_reset() {
    let mut pair = Pair::opened();
    pair.ends[1] = Entity::new(Params::lan(Mac::local(2)));
    pair.send(0, octets(60));
    pair.run(Duration::from_millis(1), |_| Fate::Arrives);
    assert_eq!(pair.told[0].last(), Some(&Indication::Ended { socket: HERE, lost: true }));
    assert_eq!(pair.ends.each_ref().map(Entity::connections), [0, 0]);
}

#[test]
fn a_closed_port_and_a_full_station_refuse_a_caller() {
    for params in [
        Params { port: 103, ..Params::lan(Mac::local(2)) },
        Params { connections: 0, ..Params::lan(Mac::local(2)) },
    ] {
        let mut pair = Pair::new();
        pair.ends[1] = Entity::new(params);
        let socket = pair.ends[0].socket();
        pair.ends[0].request(pair.now, Request::Connect { socket, peer: Mac::local(2) });
        pair.run(Duration::from_millis(1), |_| Fate::Arrives);
        assert_eq!(pair.told[0], [Indication::Ended { socket, lost: true }]);
    }
}

#[test]
fn datagrams_that_make_no_sense_are_counted() {
    let mut pair = Pair::opened();
    let mut stream = Stream::named(1, "nonsense");
    for length in 0..2_000 {
        let octets: Vec<u8> = (0..length % 70).map(|_| stream.below(256) as u8).collect();
        let packet = Packet::new(octets.into());
        let datagram = Datagram { station: Mac::local(2), packet };
        pair.ends[0].receive(pair.now, datagram);
    }
    assert_eq!(pair.ends[0].counters().dropped, 2_000);
    assert_eq!(pair.ends[0].state(HERE), Some(State::Established));
}

/// A segment with right checksums from station 2, with fields near those that are expected or far away.
fn forged(stream: &mut Stream, pair: &Pair) -> Datagram {
    let known = pair.ends[0].params().first_sequence;
    let mut number = || match stream.below(4) {
        0 => known.wrapping_add(stream.below(200_000) as u32),
        1 => known.wrapping_sub(stream.below(200_000) as u32),
        2 => [0, u32::MAX, 1 << 31][stream.below(3) as usize],
        _ => stream.below(1 << 32) as u32,
    };
    let (sequence, acknowledgement) = (number(), number());
    let data = Bytes::from(vec![7; stream.below(1_500) as usize]);
    let segment = segment::Segment {
        flags: wire::tcp::Flags(stream.below(64) as u8),
        sequence,
        acknowledgement,
        window: stream.below(65_536) as u16,
        mss: (stream.below(2) == 0).then(|| stream.below(2_000) as u16),
        data,
    };
    let ports = match stream.below(3) {
        0 => segment::Ports { source: 102, destination: 49_153 },
        1 => segment::Ports { source: stream.below(65_536) as u16, destination: 102 },
        _ => segment::Ports { source: 102, destination: stream.below(65_536) as u16 },
    };
    let datagram = segment.datagram(Mac::local(2), Mac::local(1), ports);
    Datagram { station: Mac::local(2), ..datagram }
}

#[test]
fn forged_segments_are_survived_in_bounded_memory() {
    for seed in 0..20 {
        let mut stream = Stream::named(seed, "forged");
        let mut pair = Pair::opened();
        for _ in 0..3_000 {
            let datagram = forged(&mut stream, &pair);
            let octets = Bytes::from(vec![1; 1 + stream.below(3_000) as usize]);
            if stream.below(4) == 0 {
                pair.ends[0].request(pair.now, Request::Data { socket: HERE, octets });
            }
            pair.now += Duration::from_micros(1 + stream.below(20_000));
            pair.ends[0].expire(pair.now);
            pair.ends[0].receive(pair.now, datagram);
            let outputs = core::iter::from_fn(|| pair.ends[0].poll()).count();
            // A window of 64 KiB in segments of one octet is the most that an announced MSS can cause.
            assert!(outputs <= 1 << 17, "seed {seed}: {outputs}");
        }
        assert!(pair.ends[0].connections() <= 3_001);
    }
}
