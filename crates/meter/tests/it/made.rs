//! `captures/mms.pcapng`: a client of IEC 61850 that polls three devices, made here frame by frame.
//!
//! The client asks each device for five values every 500 ms, several requests at the same time. The
//! device 10.0.0.13 answers late now and then, and does not know one of the variables. Its reports
//! come every second, but one comes two seconds late. The device 10.0.0.12 answers no more in the end, and the
//! client aborts. `BLESS=1` writes the file.

use crate::Draws;
use crate::associations::{INITIATED, accept, connect, in_context, report};
use crate::replies::{End, frame};
use std::fs;
use wire::acse::Diagnostic;
use wire::dissect::Link;
use wire::pcapng::Writer;
use wire::time::Instant;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/mms.pcapng");
/// Seconds of polling.
const SECONDS: u64 = 15;
/// Last octets of the addresses of the devices, and their usual response times in microseconds.
const DEVICES: [(u8, u64); 3] = [(11, 900), (12, 1_400), (13, 2_500)];
/// Variable that a device does not know: object-non-existent (ISO 9506-2 14.4.3).
const NON_EXISTENT: u8 = 10;

/// TPDU at a time, sent by the client or a device.
struct Sent {
    micros: u64,
    device: u8,
    is_answer: bool,
    tpdu: Vec<u8>,
}

/// Frames of the client and of the devices.
struct Script {
    sent: Vec<Sent>,
    draws: Draws,
}

impl Script {
    fn tpdu(&mut self, micros: u64, device: u8, is_answer: bool, tpdu: &[u8]) {
        self.sent.push(Sent { micros, device, is_answer, tpdu: tpdu.to_vec() });
    }

    fn tsdu(&mut self, micros: u64, device: u8, is_answer: bool, tsdu: &[u8]) {
        self.tpdu(micros, device, is_answer, &[&[2, 0xF0, 0x80], tsdu].concat());
    }

    /// CR, CC, CN and AC.
    fn associate(&mut self, micros: u64, device: u8) {
        self.tpdu(micros, device, false, &[6, 0xE0, 0, 0, 0, device, 0]);
        self.tpdu(micros + 400, device, true, &[6, 0xD0, 0, device, 0, 1, 0]);
        self.tsdu(micros + 600, device, false, &connect());
        let accepted = accept(0, Diagnostic::User(0), &INITIATED);
        self.tsdu(micros + 9_000, device, true, &accepted);
    }

    /// A read of one value, and its response after this time.
    fn read(&mut self, micros: u64, device: u8, read: Read) {
        let Read { invoke, took, result } = read;
        let [high, low] = invoke.to_be_bytes();
        let name = b"MMXU1$MX$A$phsA$cVal$mag$f";
        let domain = b"LD0";
        let [names, domains] = [name.len(), domain.len()].map(|octets| octets as u8);
        let inner = names + domains + 4;
        let mut pdu = vec![0xA0, inner + 16, 2, 2, high, low, 0xA4, inner + 10];
        pdu.extend([0xA1, inner + 8, 0xA0, inner + 6, 0x30, inner + 4, 0xA0, inner + 2]);
        pdu.extend([0xA1, inner, 0x1A, domains]);
        pdu.extend(domain);
        pdu.extend([0x1A, names]);
        pdu.extend(name);
        self.tsdu(micros, device, false, &in_context(3, &pdu));
        let Some(took) = took else { return };
        let value: &[u8] = match result {
            None => &[0x87, 5, 8, 0x42, 0x28, 0, 0],
            Some(error) => &[0x80, 1, error],
        };
        let octets = value.len() as u8;
        let mut pdu = vec![0xA1, octets + 8, 2, 2, high, low, 0xA4, octets + 2, 0xA1, octets];
        pdu.extend(value);
        self.tsdu(micros + took, device, true, &in_context(3, &pdu));
    }
}

/// A read, the time of its response, and its access error.
#[derive(Clone, Copy)]
struct Read {
    invoke: u16,
    took: Option<u64>,
    result: Option<u8>,
}

fn script() -> Script {
    let mut script = Script { sent: Vec::new(), draws: Draws(61_850) };
    for (device, usual) in DEVICES {
        let start = u64::from(device) * 10_000;
        script.associate(start, device);
        let mut invoke = 0;
        for poll in 0..SECONDS * 2 {
            let at = start + 100_000 + poll * 500_000;
            for nth in 0..5 {
                invoke += 1;
                // One of 20 answers of 13 is late.
                let is_late = device == 13 && script.draws.below(20) == 0;
                let late = if is_late { 60_000 + script.draws.below(90_000) as u64 } else { 0 };
                let took = usual + script.draws.below(usual as usize / 2) as u64 + late;
                let is_silent = device == 12 && poll + 1 == SECONDS * 2;
                let result = (device == 13 && nth == 3).then_some(NON_EXISTENT);
                let read = Read { invoke, took: (!is_silent).then_some(took), result };
                script.read(at + nth * 150, device, read);
            }
        }
        if device == 13 {
            // Two seconds are without a report.
            for second in (0..SECONDS).filter(|second| !matches!(second, 8 | 9)) {
                let late = script.draws.below(3_000) as u64;
                let at = start + 150_000 + second * 1_000_000 + late;
                script.tsdu(at, device, true, &report(b"LD0/LLN0$RP$urcbMeas01"));
            }
        }
        if device == 12 {
            // ABORT by the user, with an ARU and an ABRT.
            let abort = "1915 11010b c110 a00e 610c 300a 020101 a005 6403800100";
            let digits: String = abort.split_whitespace().collect();
            let octet = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
            let abort: Vec<u8> = (0..digits.len()).step_by(2).map(octet).collect();
            script.tsdu(start + SECONDS * 1_000_000 + 700_000, device, false, &abort);
        }
    }
    script.sent.sort_by_key(|sent| sent.micros);
    script
}

/// Capture of the script.
fn made() -> Vec<u8> {
    let mut capture = Writer::new(Vec::new()).unwrap();
    let interface = capture.interface(Link::Ethernet, "client").unwrap();
    let mut next = [[1_000_u32; 2]; 256];
    for (place, Sent { micros, device, is_answer, tpdu }) in script().sent.into_iter().enumerate() {
        let ends =
            [End { host: 1, port: 49_152 + u16::from(device) }, End { host: device, port: 102 }];
        let numbers = next[usize::from(device)];
        let (side, ends, numbers) = match is_answer {
            false => (0, ends, numbers),
            true => (1, [ends[1], ends[0]], [numbers[1], numbers[0]]),
        };
        let frame = frame(ends, numbers, place as u16, &tpdu);
        next[usize::from(device)][side] += tpdu.len() as u32 + 4;
        let at = Instant::from_nanos(micros * 1_000);
        capture.write(interface, at, &frame, frame.len(), "").unwrap();
    }
    capture.into_inner()
}

#[test]
fn the_capture_of_a_client_of_three_devices_is_made_here() {
    let made = made();
    if std::env::var_os("BLESS").is_some() {
        fs::write(FILE, &made).unwrap();
    }
    assert!(fs::read(FILE).unwrap() == made, "captures/mms.pcapng differs: BLESS=1 writes it");
}
