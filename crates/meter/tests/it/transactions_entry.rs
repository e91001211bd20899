//! Entry point of the fuzz target: requests and replies from octets, with invariants checked.

use crate::modbus_wire::{Connection, From};
use crate::request_pdus::{Fields, PORTS};
use core::time::Duration;
use meter::{Meter, Settings, TransactionReport};
use wire::dissect::Link;
use wire::tcp::Flags;
use wire::time::Instant;

/// Octets of a step of the script: kind, connection, time since the last frame, transaction, unit and
/// function, an octet that is changed, and its value.
const STEP: usize = 8;

/// Meters the segments of a script and checks what is found.
pub(crate) fn transactions(script: &[u8]) {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(1)));
    meter.keep_request_gaps();
    // Two of Modbus, and one of each other protocol.
    let mut connections: [Connection; 8] = core::array::from_fn(|place| {
        Connection::new((place as u8, 40_000), 9, PORTS[place % PORTS.len()])
    });
    let (mut at, mut pdus) = (0_u64, 0_u64);
    for step in script.chunks_exact(STEP) {
        let [kind, which, gap, transaction, unit, data, place, value] = *step else { return };
        let from = if kind & 1 == 0 { From::Client } else { From::Server };
        let place_of_it = usize::from(which & 7);
        let connection = &mut connections[place_of_it];
        let protocol = place_of_it % PORTS.len();
        let mut octets = Fields { from, identifier: transaction, unit, data }.pdu(protocol);
        pdus += 1;
        if kind & 0x30 == 0x30 {
            let identifier = transaction.wrapping_add(1);
            octets.extend(Fields { from, identifier, unit: unit & 0x7F, data }.pdu(protocol));
            pdus += 1;
        }
        if kind & 0xC0 == 0xC0 {
            let place = usize::from(place) % octets.len();
            octets[place] = value;
            // The rest may be any PDUs of the length of a function.
            pdus += octets.len() as u64;
        }
        let part = if kind & 0x08 != 0 { usize::from(place) % octets.len() } else { 0 };
        let flags = match (kind >> 1 & 3, value & 7) {
            (3, 0) => Flags(0x02),
            (3, 1) => Flags(0x11),
            (3, 2) => Flags(0x14),
            _ => Flags(0x18),
        };
        let frame = match kind >> 1 & 3 {
            // Again, beyond a gap, or with flags.
            1 => connection.frame(from, -(octets.len() as i32), Flags(0x18), &octets),
            2 => connection.frame(from, i32::from(value & 31), Flags(0x18), &octets),
            3 => connection.frame(from, 0, flags, &octets[part..]),
            _ => connection.send(from, &octets[part..]),
        };
        at += u64::from(gap) * if which & 0x80 == 0 { 1_000_000 } else { 100_000_000 };
        let cut = if which & 0x70 == 0x70 { usize::from(value & 15) } else { 0 };
        let captured = &frame[..frame.len() - cut];
        meter.observe(Instant::from_nanos(at), Link::Ethernet, captured, frame.len());
        while meter.take_transaction().is_some() {}
    }
    meter.finish();
    let all = meter.each_transaction();
    all.iter().for_each(check);
    // What is divided, or held, is joined with what follows it.
    let found: u64 = all.iter().map(|it| it.all.counts.requests + it.all.counts.replies).sum();
    assert!(found <= 8 * pdus, "{found} of {pdus}");
}

fn check(report: &TransactionReport) {
    let (counts, responses) = (report.all.counts, report.all.responses);
    let apart = counts.ambiguous + counts.repeated + counts.late + counts.unrequested;
    assert_eq!(counts.replies, responses.count + apart, "{report:?}");
    let ended = responses.count + counts.ambiguous + counts.unanswered + counts.dropped;
    assert_eq!(counts.requests, ended + counts.retries + report.outstanding, "{report:?}");
    assert!(counts.exceptions <= counts.replies, "{report:?}");
    assert!(responses.max_ns <= 30_000_000_000, "{report:?}");
    assert!(report.all.periods.count <= counts.requests - counts.retries, "{report:?}");
    let (all, part) = (counts, report.in_latest.counts);
    assert!(part.requests <= all.requests && part.replies <= all.replies, "{report:?}");
    assert!(report.first <= report.last, "{report:?}");
    assert!(counts.most_outstanding <= 64, "{report:?}");
}
