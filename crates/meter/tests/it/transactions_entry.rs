//! Entry point of the fuzz target: requests and replies from octets, with invariants checked.

use crate::modbus_wire::{Connection, From, adu};
use core::time::Duration;
use meter::{Meter, Settings, TransactionReport};
use wire::dissect::Link;
use wire::modbus;
use wire::tcp::Flags;
use wire::time::Instant;

/// Octets of a step of the script: kind, connection, time since the last frame, transaction, unit and
/// function, an octet that is changed, and its value.
const STEP: usize = 8;

/// Meters the segments of a script and checks what is found.
pub(crate) fn transactions(script: &[u8]) {
    let mut meter = Meter::new(Settings::every(Duration::from_secs(1)));
    let mut connections =
        [1, 2, 3, 4].map(|client| Connection::new((client, 40_000), 9, modbus::PORT));
    let (mut at, mut pdus) = (0_u64, 0_u64);
    for step in script.chunks_exact(STEP) {
        let [kind, which, gap, transaction, unit, data, place, value] = *step else { return };
        let from = if kind & 1 == 0 { From::Client } else { From::Server };
        let connection = &mut connections[usize::from(which & 3)];
        let transaction = u16::from(transaction & 7);
        // An eighth of the replies are exceptions.
        let function = (3 + (unit >> 4 & 3)) | if unit & 0xE0 == 0xE0 { 0x80 } else { 0 };
        let mut octets = adu(transaction, unit & 3, function, &[0, data & 7, 0, 2]);
        pdus += 1;
        if kind & 0x30 == 0x30 {
            octets.extend(adu(transaction + 1, unit & 3, function & 0x7F, &[0, 9]));
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
    assert!(responses.max_ns <= 10_000_000_000, "{report:?}");
    assert!(report.all.periods.count <= counts.requests - counts.retries, "{report:?}");
    let (all, part) = (counts, report.in_latest.counts);
    assert!(part.requests <= all.requests && part.replies <= all.replies, "{report:?}");
    assert!(report.first <= report.last, "{report:?}");
    assert!(counts.most_outstanding <= 64, "{report:?}");
}
