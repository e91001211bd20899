//! Capture files, read as a whole.

use std::path::PathBuf;
use wire::time::Instant;

/// Frame with its time and its length on the wire.
pub(crate) struct Frame {
    pub(crate) at: Instant,
    pub(crate) octets: Vec<u8>,
    pub(crate) original_octets: usize,
}

/// Path of a shared capture or table outside the repository; `None`, and a message, if it is
/// missing.
pub(crate) fn shared(folder: &str, file: &str) -> Option<PathBuf> {
    let shared = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared");
    let path = PathBuf::from(shared).join(folder).join(file);
    let is_there = path.exists();
    if !is_there {
        println!("skipped: no ../shared/{folder}/{file}");
    }
    is_there.then_some(path)
}

/// Frames of a pcap file with little-endian microseconds.
pub(crate) fn frames(pcap: &[u8]) -> Vec<Frame> {
    let word = |at: usize| u32::from_le_bytes(pcap[at..at + 4].try_into().unwrap());
    assert_eq!(word(0), 0xA1B2_C3D4, "not a pcap file of this kind");
    let mut frames = Vec::new();
    let mut at = 24;
    while at < pcap.len() {
        let nanos = u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4)) * 1_000;
        let captured = word(at + 8) as usize;
        frames.push(Frame {
            at: Instant::from_nanos(nanos),
            octets: pcap[at + 16..at + 16 + captured].to_vec(),
            original_octets: word(at + 12) as usize,
        });
        at += 16 + captured;
    }
    frames
}
