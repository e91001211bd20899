//! Whole TSDUs of a capture: TCP streams and TSDUs put together, for tests of the layers above.
//!
//! Octets that the capture lacks are skipped: a stream goes on with the next packet that begins a
//! segment. Class 4 is read in the order of its numbers, without waiting for a lost DT.

use crate::captures::each_record;
use std::collections::BTreeMap;
use std::path::Path;
use wire::addr::Socket;
use wire::dissect::{NoNsdu, Piece, levels};
use wire::tcp::Flags;
use wire::{tp, tpkt};

/// Segments of a stream that wait for one before them.
const MOST_WAITING: usize = 64;

/// Direction of a TCP connection.
#[derive(Default)]
struct Stream {
    /// Next sequence number; `None` before the first segment.
    next: Option<u32>,
    /// Segments beyond a hole, by their distance from the first sequence number seen.
    waiting: BTreeMap<u32, Vec<u8>>,
    tpdus: tpkt::Reassembler,
    tsdu: Vec<u8>,
}

impl Stream {
    fn segment(&mut self, piece: &Piece<'_>, see: &mut dyn FnMut(&[u8])) {
        if piece.flags.has(Flags::SYN) {
            *self = Self { next: Some(piece.sequence.wrapping_add(1)), ..Self::default() };
            return;
        }
        if piece.octets.is_empty() {
            return;
        }
        if self.next.is_none() && !tpkt::is_believable(piece.octets) {
            return;
        }
        self.next.get_or_insert(piece.sequence);
        self.waiting.insert(piece.sequence, piece.octets.to_vec());
        self.drain(see);
        if self.waiting.len() > MOST_WAITING {
            self.jump(see);
        }
    }

    /// Takes the segments that continue the stream.
    fn drain(&mut self, see: &mut dyn FnMut(&[u8])) {
        let Some(mut next) = self.next else { return };
        let is_due = |next: u32, begins: u32| next.wrapping_sub(begins) < 1 << 31;
        while let Some(begins) = self.waiting.keys().copied().find(|it| is_due(next, *it)) {
            let octets = self.waiting.remove(&begins).unwrap();
            let known = next.wrapping_sub(begins) as usize;
            let Some(fresh) = octets.get(known..) else { continue };
            next = next.wrapping_add(fresh.len() as u32);
            self.push(fresh, see);
        }
        self.next = Some(next);
    }

    /// Gives up the hole in front of the segments that wait.
    fn jump(&mut self, see: &mut dyn FnMut(&[u8])) {
        let Some(next) = self.next else { return };
        while let Some(begins) = self.waiting.keys().copied().min_by_key(|it| it.wrapping_sub(next))
        {
            if tpkt::is_believable(&self.waiting[&begins]) {
                (self.next, self.tpdus) = (Some(begins), tpkt::Reassembler::new());
                self.tsdu.clear();
                return self.drain(see);
            }
            self.waiting.remove(&begins);
        }
    }

    fn push(&mut self, mut octets: &[u8], see: &mut dyn FnMut(&[u8])) {
        if self.tpdus.held_octets() == 0 && !tpkt::is_believable(octets) {
            return;
        }
        while !octets.is_empty() {
            let taken = self.tpdus.push(octets);
            octets = &octets[taken..];
            loop {
                match self.tpdus.take_tpdu() {
                    Ok(Some(tpdu)) => data(&tpdu, &mut self.tsdu, see),
                    Ok(None) => break,
                    // The next segment that begins with a packet synchronises the stream.
                    Err(_) => {
                        self.tpdus = tpkt::Reassembler::new();
                        self.tsdu.clear();
                        return;
                    }
                }
            }
        }
    }
}

/// Appends the user data of a DT, and passes the TSDU that ends with it.
fn data(nsdu: &[u8], tsdu: &mut Vec<u8>, see: &mut dyn FnMut(&[u8])) {
    for raw in tp::tpdus(nsdu).flatten() {
        let Ok(tp::Pdu::Dt(dt)) = tp::Pdu::decode(&raw, None) else { continue };
        tsdu.extend_from_slice(dt.data);
        if dt.end_of_tsdu {
            see(tsdu);
            tsdu.clear();
        }
    }
}

/// Passes every TSDU of a capture to `see`.
pub(crate) fn each_tsdu(path: &Path, mut see: impl FnMut(&[u8])) {
    let see: &mut dyn FnMut(&[u8]) = &mut see;
    let mut streams = BTreeMap::<[Socket; 2], Stream>::new();
    let mut directions = BTreeMap::<_, Vec<u8>>::new();
    each_record(path, |record| {
        let found = levels(record.link, record.octets, record.original_octets);
        match found.nsdu {
            Ok(nsdu) if nsdu.segment.is_none() && nsdu.missing_octets == 0 => {
                let key = (nsdu.source, nsdu.destination, nsdu.source_nsap, nsdu.destination_nsap);
                data(nsdu.octets, directions.entry(key).or_default(), see);
            }
            Err(NoNsdu::Stream(piece)) => {
                let stream = streams.entry([piece.source, piece.destination]).or_default();
                stream.segment(&piece, see);
            }
            _ => {}
        }
    });
    for stream in streams.values_mut() {
        while !stream.waiting.is_empty() {
            stream.jump(see);
        }
    }
}
