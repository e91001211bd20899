//! Entry point of the fuzz target `follower`: a script of TSDUs on a connection of class 0 over TCP for
//! the follower of associations, also run by plain tests over the corpus.
//!
//! Each octet of a script is an operation in its low three bits, and an argument. The claims are:
//!
//! 1. Nothing panics, and the rows of an association are bounded.
//! 2. Each request has one end: an answer, a reject, none, or it is outstanding.
//! 3. The services of the network are the sum of those of the connections.

use crate::entry::segment;
use core::time::Duration;
use meter::{Meter, Settings};
use wire::dissect::Link;
use wire::time::Instant;

/// Sockets of the client and of the server, as [`segment`] numbers them.
const ENDS: [u8; 2] = [4, 1];
const ACK: u8 = 0x10;
const FIN: u8 = 0x11;

/// TSDUs of an opening, a release and an abort.
const SHEET: [&[u8]; 12] = [
    include_bytes!("../../../../fuzz/corpus/upper/cn"),
    include_bytes!("../../../../fuzz/corpus/upper/ac"),
    include_bytes!("../../../../fuzz/corpus/upper/rf"),
    include_bytes!("../../../../fuzz/corpus/upper/rf-cpr"),
    include_bytes!("../../../../fuzz/corpus/upper/fn"),
    include_bytes!("../../../../fuzz/corpus/upper/dn"),
    include_bytes!("../../../../fuzz/corpus/upper/ab"),
    include_bytes!("../../../../fuzz/corpus/upper/ab-provider"),
    include_bytes!("../../../../fuzz/corpus/upper/aa"),
    include_bytes!("../../../../fuzz/corpus/upper/conclude"),
    include_bytes!("../../../../fuzz/corpus/upper/report"),
    include_bytes!("../../../../fuzz/corpus/upper/reject"),
];

/// Result of a script, to find out how far it went.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Followed {
    pub(crate) answers: u64,
    pub(crate) errors: u64,
    pub(crate) rejects: u64,
    pub(crate) unanswered: u64,
    pub(crate) reports: u64,
    pub(crate) unrequested: u64,
    pub(crate) repeated: u64,
}

struct Script {
    meter: Meter,
    nanos: u64,
    next: [u32; 2],
    side: usize,
    /// Place and value of the octet to be changed in the next TSDU.
    damage: Option<(u8, u8)>,
    /// Octets of a DT, if the next TSDU is cut into several.
    piece: usize,
    /// Octets that the capture lacks at the end of the next segment.
    missing: usize,
}

/// Runs a script, and checks the claims.
pub(crate) fn association(octets: &[u8]) -> Followed {
    let settings = Settings {
        maximum_connections: 4,
        maximum_hosts: 2,
        ..Settings::every(Duration::from_secs(3_600))
    };
    let mut script = Script {
        meter: Meter::new(settings),
        nanos: 1,
        next: [1_000, 5_000],
        side: 0,
        damage: None,
        piece: usize::MAX,
        missing: 0,
    };
    let mut rest = octets.iter().copied();
    while let Some(code) = rest.next() {
        let argument = code >> 3;
        match code & 7 {
            0 | 1 => {
                script.side = usize::from(code & 1);
                script.tsdu(SHEET[usize::from(argument) % SHEET.len()].to_vec());
            }
            2 | 3 => {
                script.side = usize::from(code & 1);
                let invoke = rest.next().unwrap_or(0);
                script.tsdu(message(argument, invoke));
            }
            4 => script.tsdu(rest.by_ref().take(usize::from(argument) * 2).collect()),
            5 => script.damage = Some((argument * 2, rest.next().unwrap_or(0))),
            6 => script.nanos += u64::from(argument).pow(3) * 1_000_000,
            _ => script.change(argument),
        }
    }
    script.finish()
}

/// MMS PDU by kind, with an invoke identifier, in context 3.
fn message(kind: u8, invoke: u8) -> Vec<u8> {
    let services = [0xA4, 0xA5, 0xA1, 0x82, 0xA6, 0xAC, 0xAB, 0x80];
    let pdu = match kind {
        0..=7 => vec![0xA0, 5, 2, 1, invoke, services[usize::from(kind)], 0],
        8..=15 => vec![0xA1, 5, 2, 1, invoke, services[usize::from(kind) - 8], 0],
        // Access error, service error, reject with and without identifier, cancel, conclude.
        16 => vec![0xA1, 10, 2, 1, invoke, 0xA4, 5, 0xA1, 3, 0x80, 1, 10],
        17 => vec![0xA2, 10, 0x80, 1, invoke, 0xA2, 5, 0xA0, 3, 0x87, 1, 2],
        18 => vec![0xA4, 6, 0x80, 1, invoke, 0x81, 1, 1],
        19 => vec![0xA4, 3, 0x81, 1, 1],
        20 => vec![0x85, 1, invoke],
        21 => vec![0x8C, 0],
        _ => {
            let name = [b'r', b'0' + (invoke & 63)];
            let head = [0xA3, 15, 0xA0, 13, 0xA1, 5, 0x80, 3, b'R', b'P', b'T', 0xA0, 4, 0x8A, 2];
            [&head[..], &name].concat()
        }
    };
    let context = if kind == 31 { 1 } else { 3 };
    let length = |more: usize| (pdu.len() + more) as u8;
    let head = [1, 0, 1, 0, 0x61, length(7), 0x30, length(5), 2, 1, context, 0xA0, length(0)];
    [&head[..], &pdu].concat()
}

impl Script {
    /// Changes the way of what follows.
    fn change(&mut self, argument: u8) {
        match argument {
            0 => self.side = 1 - self.side,
            1 => self.tpdu(&[6, 0xE0, 0, 0, 0, 1, 0]),
            2 => self.tpdu(&[6, 0xD0, 0, 1, 0, 2, 0]),
            3 => self.tpdu(&[6, 0x80, 0, 1, 0, 2, 0x80]),
            4 => self.send(FIN, &[]),
            // A segment that the tap has lost, and one that is captured again.
            5 => self.next[self.side] = self.next[self.side].wrapping_add(20),
            6 => self.next[self.side] = self.next[self.side].wrapping_sub(20),
            7..=11 => self.missing = usize::from(argument - 6) * 4,
            _ => self.piece = usize::from(argument - 11) * 5,
        }
    }

    fn tsdu(&mut self, mut octets: Vec<u8>) {
        if let Some((place, value)) = self.damage.take()
            && let Some(octet) = octets.get_mut(usize::from(place))
        {
            *octet ^= value;
        }
        let piece = core::mem::replace(&mut self.piece, usize::MAX);
        let last = octets.chunks(piece).count().saturating_sub(1);
        for (place, piece) in octets.chunks(piece).enumerate() {
            let end = if place == last { 0x80 } else { 0 };
            self.tpdu(&[&[2, 0xF0, end], piece].concat());
        }
    }

    /// Sends a TPDU in a segment of its own.
    fn tpdu(&mut self, tpdu: &[u8]) {
        let [high, low] = (tpdu.len() as u16 + 4).to_be_bytes();
        self.send(ACK, &[&[3, 0, high, low], tpdu].concat());
    }

    fn send(&mut self, flags: u8, data: &[u8]) {
        let [own, other] = [self.side, 1 - self.side].map(|side| self.next[side]);
        let frame = segment(ENDS[self.side], flags, own, other, data);
        self.next[self.side] = own.wrapping_add(data.len() as u32);
        let missing = core::mem::take(&mut self.missing).min(data.len());
        let captured = &frame[..frame.len() - missing];
        self.nanos += 1_000;
        self.meter.observe(
            Instant::from_nanos(self.nanos),
            Link::Other(101),
            captured,
            frame.len(),
        );
    }

    fn finish(mut self) -> Followed {
        let reports = self.meter.each_connection().filter_map(|it| it.association);
        let reports: Vec<_> = reports.collect();
        let (mut followed, mut requests) = (Followed::default(), 0);
        for report in &reports {
            assert!(report.services.len() <= 26 && report.control_blocks.len() <= 64);
            assert!(report.most_outstanding <= 128 && report.outstanding <= 256);
            followed.unrequested += report.unrequested;
            followed.repeated += report.repeated;
            followed.reports += report.control_blocks.iter().map(|it| it.reports).sum::<u64>();
            let mut outstanding = 0;
            for of in &report.services {
                let ends = of.responses.count + of.rejects + of.unanswered + of.outstanding;
                assert_eq!(of.requests, ends, "{of:?}");
                assert!(of.errors + of.failed_accesses <= of.responses.count, "{of:?}");
                outstanding += of.outstanding;
                requests += of.requests;
                followed.answers += of.responses.count;
                followed.errors += of.errors + of.failed_accesses;
                followed.rejects += of.rejects;
                followed.unanswered += of.unanswered;
            }
            assert_eq!(outstanding, report.outstanding);
        }
        let total = self.meter.finish();
        let of_all: u64 = total.measures.mms.services().map(|(_, counts)| counts.requests).sum();
        assert!(requests <= of_all, "{requests} requests of the {of_all} of the network");
        followed
    }
}
