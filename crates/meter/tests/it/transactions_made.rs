//! Requests and replies of Modbus in captures made here: each count is known.

use crate::modbus_wire::{Connection, From, adu};
use core::time::Duration;
use meter::{Meter, Settings, TransactionCounts, TransactionReport};
use wire::dissect::Link;
use wire::modbus;
use wire::tcp::Flags;
use wire::time::Instant;

/// Request to read two registers from this one on.
fn read(transaction: u16, unit: u8, register: u8) -> Vec<u8> {
    adu(transaction, unit, 3, &[0, register, 0, 2])
}

fn values(transaction: u16, unit: u8) -> Vec<u8> {
    adu(transaction, unit, 3, &[4, 0, 1, 0, 2])
}

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * 1_000_000)
}

/// Meter that receives frames with their times in milliseconds.
fn metered(frames: &[(u64, Vec<u8>)]) -> Meter {
    metered_by(Meter::new(Settings::every(Duration::from_secs(5))), frames)
}

fn metered_by(mut meter: Meter, frames: &[(u64, Vec<u8>)]) -> Meter {
    for (millis, frame) in frames {
        meter.observe(at(*millis), Link::Ethernet, frame, frame.len());
    }
    meter.finish();
    meter
}

/// Only function of a meter.
fn only(meter: &Meter) -> TransactionReport {
    let mut all = meter.each_transaction();
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

#[test]
fn every_kind_of_reply_is_found_to_the_frame() {
    let mut one = Connection::new((1, 40_000), 9, modbus::PORT);
    let mut frames = Vec::new();
    // A poll each 100 ms, answered in 7 ms.
    for n in 0..200_u16 {
        let start = u64::from(n) * 100;
        // The network loses these requests, and the server answers the last of these after 12 s.
        frames.push((start, one.send(From::Client, &read(n, 1, 5))));
        match n {
            20 | 30 | 31 => {}
            // An exception.
            40..50 => frames.push((start + 7, one.send(From::Server, &adu(n, 1, 0x83, &[6])))),
            // Answered twice.
            60 => {
                frames.push((start + 7, one.send(From::Server, &values(n, 1))));
                frames.push((start + 9, one.send(From::Server, &values(n, 1))));
            }
            // Sent again by the client after 40 ms.
            70 | 71 => {
                frames.push((start + 40, one.send(From::Client, &read(n, 1, 5))));
                frames.push((start + 47, one.send(From::Server, &values(n, 1))));
            }
            // Two milliseconds later, and the slowest.
            80 => frames.push((start + 9, one.send(From::Server, &values(n, 1)))),
            90 => frames.push((start + 90, one.send(From::Server, &values(n, 1)))),
            _ => frames.push((start + 7, one.send(From::Server, &values(n, 1)))),
        }
        if n == 151 {
            frames.push((start + 8, one.send(From::Server, &values(31, 1))));
        }
    }
    // To no request, and one that has no time left to be answered.
    frames.push((19_990, one.send(From::Server, &values(999, 1))));
    frames.push((20_000, one.send(From::Client, &read(1_000, 1, 5))));
    let meter = metered(&frames);
    let found = only(&meter);
    let counts = TransactionCounts {
        requests: 203,
        retries: 2,
        replies: 200,
        exceptions: 10,
        unanswered: 3,
        ambiguous: 2,
        repeated: 1,
        late: 1,
        unrequested: 1,
        dropped: 0,
        polls_dropped: 0,
        // Of those without a reply 30 and 31 are outstanding with the next.
        most_outstanding: 4,
    };
    assert_eq!(found.all.counts, counts);
    assert_eq!(found.outstanding, 1);
    let responses = found.all.responses;
    // All but three that have none and two that are ambiguous.
    assert_eq!((responses.count, responses.max_ns), (195, 90_000_000));
    assert_eq!(responses.total_ns, 193 * 7_000_000 + 9_000_000 + 90_000_000);
    let periods = found.all.periods;
    assert_eq!((periods.count, periods.min_ns, periods.max_ns), (200, 100_000_000, 100_000_000));
    // Intervals of 5 s: the last has the request that is outstanding, and what came late no more.
    assert_eq!(found.latest, at(20_000));
    assert_eq!((found.in_latest.counts.requests, found.in_latest.counts.replies), (1, 0));
}

#[test]
fn segments_that_tcp_repeats_or_divides_count_once() {
    let mut one = Connection::new((1, 40_000), 9, modbus::PORT);
    let push = Flags(0x18);
    let (request, reply) = (read(1, 1, 5), values(1, 1));
    let mut frames = one.opened(0);
    frames.push((0, one.send(From::Client, &request)));
    // Retransmitted by TCP.
    frames.push((300, one.frame(From::Client, -12, push, &request)));
    // Of the reply the second part comes first.
    frames.push((310, one.frame(From::Server, 5, push, &reply[5..])));
    frames.push((320, one.send(From::Server, &reply[..5])));
    one.send(From::Server, &reply[5..]);
    // Three requests in one segment; their replies in two that divide one of them.
    let three = [read(2, 1, 5), read(3, 1, 6), read(4, 2, 7)].concat();
    frames.push((1_000, one.send(From::Client, &three)));
    let replies = [values(2, 1), values(3, 1), values(4, 2)].concat();
    frames.push((1_010, one.send(From::Server, &replies[..17])));
    frames.push((1_020, one.send(From::Server, &replies[17..])));
    let all = metered(&frames).each_transaction();
    let [first, second] = &all[..] else { panic!("{all:?}") };
    let counts = |of: &TransactionReport| {
        let counts = of.all.counts;
        [counts.requests, counts.replies, counts.retries, of.all.responses.count]
    };
    assert_eq!((counts(first), counts(second)), ([3, 3, 0, 3], [1, 1, 0, 1]));
    assert_eq!(first.all.counts.most_outstanding, 2);
    assert_eq!(second.all.counts.most_outstanding, 3);
    // 320 ms, 10 and 20 ms; the other unit 20 ms.
    let totals = [first, second].map(|of| of.all.responses.total_ns / 1_000_000);
    assert_eq!(totals, [350, 20]);
}

#[test]
fn a_request_has_ten_seconds_for_its_reply() {
    for (millis, expected) in [(10_000, [1, 0, 0]), (10_001, [0, 1, 1])] {
        let mut one = Connection::new((1, 40_000), 9, modbus::PORT);
        let frames = vec![
            (0, one.send(From::Client, &read(1, 1, 5))),
            (millis, one.send(From::Server, &values(1, 1))),
        ];
        let found = only(&metered(&frames));
        let counts = found.all.counts;
        let named = [found.all.responses.count, counts.unanswered, counts.late];
        assert_eq!(named, expected, "after {millis} ms");
    }
}

#[test]
fn a_capture_that_begins_in_the_middle_guesses_nothing() {
    let mut one = Connection::new((1, 40_000), 9, modbus::PORT);
    let frames = vec![
        // The rest of a reply, a reply, and a request whose answer is behind it.
        (0, one.send(From::Server, &values(6, 1)[4..])),
        (1, one.send(From::Server, &values(7, 1))),
        (2, one.send(From::Client, &read(8, 1, 5))),
        (9, one.send(From::Server, &values(8, 1))),
    ];
    let found = only(&metered(&frames));
    let counts = found.all.counts;
    let named = [counts.requests, counts.replies, counts.unrequested, counts.unanswered];
    assert_eq!(named, [1, 2, 1, 0]);
    assert_eq!(found.all.responses.total_ns, 7_000_000);
}

#[test]
fn a_closed_connection_answers_no_more() {
    let mut one = Connection::new((1, 40_000), 9, modbus::PORT);
    let mut two = Connection::new((1, 40_001), 9, modbus::PORT);
    let mut frames = vec![
        (0, one.send(From::Client, &read(1, 1, 5))),
        (1, one.send(From::Client, &read(2, 1, 5))),
        (2, two.send(From::Client, &read(1, 1, 5))),
    ];
    frames.push((5, one.frame(From::Server, 0, Flags(0x11), &[])));
    // A client that has sent its last request still receives the reply.
    frames.push((6, two.frame(From::Client, 0, Flags(0x11), &[])));
    frames.push((9, two.send(From::Server, &values(1, 1))));
    // The same ports again: replies to earlier requests do not count for these.
    let mut again = Connection::new((1, 40_000), 9, modbus::PORT);
    again.begin_at([77_000, 88_000]);
    frames.push((20, again.frame(From::Client, -1, Flags::SYN, &[])));
    frames.push((30, again.send(From::Client, &read(2, 1, 5))));
    frames.push((34, again.send(From::Server, &values(2, 1))));
    let found = only(&metered(&frames));
    let counts = found.all.counts;
    let named = [counts.requests, counts.replies, counts.unanswered, counts.late];
    assert_eq!(named, [4, 2, 2, 0]);
    assert_eq!(found.all.responses.total_ns, 11_000_000);
}

#[test]
fn octets_that_were_not_captured_end_no_pairing() {
    let mut one = Connection::new((1, 40_000), 9, modbus::PORT);
    let request = one.send(From::Client, &read(1, 1, 5));
    let reply = one.send(From::Server, &values(1, 1));
    let other = [one.send(From::Client, &read(2, 1, 5)), one.send(From::Server, &values(2, 1))];
    let mut meter = Meter::new(Settings::every(Duration::from_secs(5)));
    // Both end behind the function: 54 octets of headers, and eight of the ADU.
    for (millis, frame) in [(0, &request), (7, &reply), (10, &other[0]), (15, &other[1])] {
        let cut = if millis < 10 { &frame[..62] } else { frame };
        meter.observe(at(millis), Link::Ethernet, cut, frame.len());
    }
    meter.finish();
    let found = only(&meter);
    assert_eq!((found.all.counts.requests, found.all.counts.replies), (2, 2), "{found:?}");
    assert_eq!(found.all.responses.total_ns, 12_000_000, "{found:?}");
}

/// Frame with a datagram between port 9600 of both ends, from this host to that.
fn datagram(from: u8, to: u8, octets: &[u8]) -> Vec<u8> {
    let length = octets.len() as u8;
    let packet = [0x45, 0, 0, 28 + length, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, from, 10, 0, 0, to];
    let header = [0x25, 0x80, 0x25, 0x80, 0, 8 + length, 0, 0];
    [&[2; 12][..], &[8, 0], &packet, &header, octets].concat()
}

#[test]
fn fins_in_datagrams_tells_the_server_by_its_requests() {
    let fins = |icf: u8, service: u8, more: &[u8]| {
        [&[icf, 0, 2, 0, 9, 0, 0, 1, 0, service, 1, 1][..], more].concat()
    };
    let mut frames = Vec::new();
    for n in 0..10_u8 {
        let start = u64::from(n) * 100;
        frames.push((start, datagram(1, 9, &fins(0x80, n, &[0x82, 0, 100, 0, 0, 1]))));
        // Half of the requests of the other controller are answered, one of them with an error.
        frames.push((start + 1, datagram(9, 1, &fins(0xC0, n, &[0, 0, 0, 7]))));
        frames.push((start + 2, datagram(9, 1, &fins(0x80, n, &[0x82, 0, 50, 0, 0, 1]))));
        if n % 2 == 0 {
            frames.push((start + 7, datagram(1, 9, &fins(0xC0, n, &[u8::from(n == 4), 0]))));
        }
    }
    // No FINS at all.
    frames.push((2_000, datagram(1, 9, &[7; 20])));
    let all = metered(&frames).each_transaction();
    let [one, nine] = &all[..] else { panic!("{all:?}") };
    let of = |report: &TransactionReport| {
        let counts = report.all.counts;
        let open = counts.unanswered + report.outstanding;
        [counts.requests, counts.replies, counts.exceptions, open]
    };
    assert_eq!((one.key.server.to_string().as_str(), of(one)), ("10.0.0.1", [10, 5, 1, 5]));
    assert_eq!((nine.key.server.to_string().as_str(), of(nine)), ("10.0.0.9", [10, 10, 0, 0]));
    assert_eq!(one.all.responses.max_ns, 5_000_000);
    assert_eq!(nine.all.periods.count, 9);
}

#[test]
fn a_million_units_displace_none_that_is_known() {
    let mut known = Connection::new((1, 40_000), 9, modbus::PORT);
    let mut meter = Meter::new(Settings::every(Duration::from_secs(3_600)));
    let mut observe = |millis: u64, frame: &[u8]| {
        meter.observe(at(millis), Link::Ethernet, frame, frame.len());
    };
    observe(0, &known.send(From::Client, &read(1, 1, 5)));
    observe(1, &known.send(From::Server, &values(1, 1)));
    let mut flood = Connection::new((2, 40_000), 8, modbus::PORT);
    for n in 0..20_000_u32 {
        // 50 requests in a segment: 256 units of 128 functions on many servers.
        flood.server.0 = (n >> 9) as u8;
        flood.client.1 = 20_000 + n as u16;
        let requests: Vec<u8> = (0..50)
            .flat_map(|more| {
                let n = n * 50 + more;
                adu(n as u16, n as u8, (n >> 8) as u8 & 0x7F, &[0; 4])
            })
            .collect();
        observe(2 + u64::from(n) / 10, &flood.send(From::Client, &requests));
    }
    observe(60_000, &known.send(From::Client, &read(2, 1, 5)));
    observe(60_004, &known.send(From::Server, &values(2, 1)));
    let total = meter.finish();
    let all = meter.each_transaction();
    assert_eq!(all.len(), 8_192, "functions followed");
    let server = |of: &TransactionReport| of.key.server.to_string();
    let found = all.iter().find(|it| server(it) == "10.0.0.9").unwrap();
    assert_eq!((found.all.counts.requests, found.all.responses.count), (2, 2));
    let requests: u64 = all.iter().map(|it| it.all.counts.requests).sum();
    let counted = |name: &str| {
        let mut all = total.oddities.iter();
        all.find(|(_, known, _)| *known == name).map_or(0, |(.., times)| times)
    };
    let beyond = counted("PDU of one more function than is followed");
    println!("seen: {beyond} PDUs of functions beyond the limit");
    assert_eq!(requests + beyond, 1_000_002, "each request is counted");
    // What is outstanding at the end is no longer than ten seconds old.
    assert!(all.iter().all(|it| it.outstanding == 0), "ten seconds are over");
}

#[test]
fn each_client_of_a_function_has_its_polls() {
    let mut regular = Connection::new((1, 40_000), 9, modbus::PORT);
    let mut odd = Connection::new((2, 40_000), 9, modbus::PORT);
    let mut frames = Vec::new();
    for n in 0..20_u16 {
        // Two kinds of data each 100 ms, answered in 7 ms; some requests are sent again.
        let start = u64::from(n) * 100;
        for (register, after) in [(5, 0), (6, 30)] {
            let id = n * 2 + u16::from(register);
            frames.push((start + after, regular.send(From::Client, &read(id, 1, register))));
            frames.push((start + after + 7, regular.send(From::Server, &values(id, 1))));
        }
    }
    // Times between requests double.
    for n in 0..12_u16 {
        let start = 3_000 + (10 << n);
        frames.push((start, odd.send(From::Client, &read(n, 1, 5))));
    }
    let found = only(&metered(&frames));
    let [one, two] = &found.clients[..] else { panic!("{found:?}") };
    assert_eq!((one.client.to_string().as_str(), one.is_periodic()), ("10.0.0.1", true));
    assert_eq!((one.requests, one.replies, one.polls), (40, 40, 2));
    // A request has 12 octets, a reply 13.
    assert_eq!((one.request_octets, one.reply_octets), (480, 520));
    assert_eq!((one.first, one.last), (at(0), at(1_930)));
    let periods = one.periods;
    assert_eq!((periods.count, periods.min_ns, periods.max_ns), (38, 100_000_000, 100_000_000));
    assert_eq!((one.judged_periods, one.regular_periods), (36, 36));
    assert_eq!((one.responses.count, one.responses.mean_ns()), (40, Some(7_000_000)));
    assert_eq!((two.client.to_string().as_str(), two.is_periodic()), ("10.0.0.2", false));
    assert_eq!((two.requests, two.replies, two.judged_periods), (12, 0, 10));
    assert_eq!(two.regular_periods, 0);
}

#[test]
fn times_between_requests_deviate_as_they_were_made() {
    // Each 100 ms; from the 101st on each tenth is 20 ms late, so that the next gap is as much shorter.
    let metered_client = |n: u16| {
        let mut one = Connection::new((1, 40_000), 9, modbus::PORT);
        let mut frames = Vec::new();
        for n in 0..n {
            let late = if n > 100 && n % 10 == 0 { 20 } else { 0 };
            let start = u64::from(n) * 100 + late;
            // Whichever data they are for.
            frames.push((start, one.send(From::Client, &read(n, 1, (n % 2) as u8))));
            frames.push((start + 30, one.send(From::Server, &values(n, 1))));
        }
        assert_eq!(only(&metered(&frames)).clients[0].gaps, None, "not requested");
        let mut meter = Meter::new(Settings::every(Duration::from_secs(5)));
        meter.keep_request_gaps();
        let meter = metered_by(meter, &frames);
        let without = meter.transactions().all(|report| report.clients[0].gaps.is_none());
        assert!(without, "reports of intervals have no quantiles");
        only(&meter).clients[0].clone()
    };
    assert_eq!(metered_client(64).gaps, None, "63 gaps");
    let gaps = metered_client(465).gaps.unwrap();
    assert_eq!(gaps.period_ns, 100_000_000);
    // 400 deviations, of which 36 are late and 36 early.
    let at = |share: u64| {
        let mut of = gaps.quantiles.iter().rev().filter(|it| it.share <= share * 1_000_000);
        of.next().map(|it| it.deviation_ns)
    };
    assert_eq!((at(0), at(89)), (Some(-20_000_000), Some(-20_000_000)));
    assert_eq!((at(500), at(909)), (Some(0), Some(0)));
    assert_eq!((at(960), at(1_000)), (Some(20_000_000), Some(20_000_000)));
}

#[test]
fn bursts_of_requests_are_no_polls() {
    // Ten requests for each of two kinds of data, and one request that never recurs.
    let asked = |gap_ms: u64, apart_ms: u64| {
        let mut one = Connection::new((1, 40_000), 9, modbus::PORT);
        let mut times: Vec<(u64, u8)> = (0..10)
            .flat_map(|n| [(n * gap_ms, 0), (n * gap_ms + apart_ms, 1)])
            .chain([(7_777, 9)])
            .collect();
        times.sort_unstable();
        let mut request = |(n, (millis, register)): (usize, &(u64, u8))| {
            (*millis, one.send(From::Client, &read(n as u16, 1, *register)))
        };
        let frames: Vec<_> = times.iter().enumerate().map(&mut request).collect();
        let client = only(&metered(&frames)).clients[0].clone();
        assert_eq!((client.requests, client.polls), (21, 2));
        assert_eq!((client.judged_periods, client.regular_periods), (16, 16));
        client.is_periodic()
    };
    assert!(asked(1_000, 300), "polls of 9 s in 9.3 s");
    assert!(!asked(5, 10_300), "polls of 45 ms in 10.3 s");
}

/// Link frame of DNP3 between master 1 and outstation 10.
fn dnp3(is_request: bool, data: &[u8]) -> Vec<u8> {
    let (control, ends) = if is_request { (0xC4, [10, 0, 1, 0]) } else { (0x44, [1, 0, 10, 0]) };
    let mut frame = vec![0x05, 0x64, data.len() as u8 + 5, control];
    frame.extend(ends);
    frame.extend(wire::dnp3::crc(&frame).to_le_bytes());
    for block in data.chunks(16) {
        frame.extend(block);
        frame.extend(wire::dnp3::crc(block).to_le_bytes());
    }
    frame
}

#[test]
fn a_dnp3_reply_has_the_octets_of_all_its_frames() {
    let mut one = Connection::new((1, 40_000), 9, wire::dnp3::PORT);
    let mut frames = Vec::new();
    for n in 0..8_u8 {
        let start = u64::from(n) * 1_000;
        let request = dnp3(true, &[0xC0, 0xC0 | n, 1, 60, 1, 6]);
        frames.push((start, one.send(From::Client, &request)));
        // FIR alone, neither, FIN alone.
        let first = [&[0x40, 0xC0 | n, 129, 0, 0][..], &[7; 40]].concat();
        let reply = [first, [&[1][..], &[7; 49]].concat(), vec![0x82, 7]];
        let reply: Vec<u8> = reply.iter().flat_map(|data| dnp3(false, data)).collect();
        frames.push((start + 20, one.send(From::Server, &reply)));
        // An unsolicited response in two frames is none.
        let unsolicited = [dnp3(false, &[0x40, 0xD0, 130, 0, 0]), dnp3(false, &[0x81, 7])].concat();
        frames.push((start + 500, one.send(From::Server, &unsolicited)));
    }
    let found = only(&metered(&frames));
    let [client] = &found.clients[..] else { panic!("{found:?}") };
    // Headers of 10 octets; CRCs for one block, and for three, four and one.
    assert_eq!((client.requests, client.request_octets), (8, 8 * (10 + 6 + 2)));
    let reply = (10 + 45 + 6) + (10 + 50 + 8) + (10 + 2 + 2);
    assert_eq!((client.replies, client.reply_octets), (8, 8 * reply));
}
