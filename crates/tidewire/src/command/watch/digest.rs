//! SHA-256 of each capture that was read, for the run folder.

use crate::interrupt;
use reports::provenance::ReadCapture;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

const CHUNK_OCTETS: usize = 64 << 10;

/// Hash under way, and the octets that it covers.
#[derive(Default)]
struct Hash {
    hash: Sha256,
    octets: u64,
}

impl Hash {
    fn add(&mut self, octets: &[u8]) {
        self.hash.update(octets);
        self.octets += octets.len() as u64;
    }

    fn end(self, name: String) -> ReadCapture {
        let mut sha256 = String::with_capacity(64);
        for octet in self.hash.finalize() {
            write!(sha256, "{octet:02x}").expect("a string takes all text");
        }
        ReadCapture { file: name, octets: self.octets, sha256: Some(sha256) }
    }
}

/// Hash of a stream, which is read once: of the octets that were read.
#[derive(Clone, Default)]
pub(in crate::command) struct StreamDigest(Arc<Mutex<Hash>>);

impl StreamDigest {
    /// The stream, whose octets are hashed as they are read.
    pub(in crate::command) fn of<R: Read>(&self, from: R) -> impl Read + use<R> {
        Hashed { from, digest: self.clone() }
    }

    fn add(&self, octets: &[u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(octets);
    }

    fn take(&self) -> Hash {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

struct Hashed<R> {
    from: R,
    digest: StreamDigest,
}

impl<R: Read> Read for Hashed<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let octets = self.from.read(room)?;
        self.digest.add(room.get(..octets).unwrap_or_default());
        Ok(octets)
    }
}

/// Digest of a capture that has been read: of a stream as it was read, of a file as it is now, in a
/// second pass. Without a digest if the file cannot be read again, or if an interrupt ends the pass.
pub(in crate::command) fn of_read(path: &Path, name: String, stream: &StreamDigest) -> ReadCapture {
    let hash = stream.take();
    if hash.octets > 0 {
        return hash.end(name);
    }
    let octets = path.metadata().map_or(0, |about| about.len());
    match of_file(path) {
        Some(hash) => hash.end(name),
        None => ReadCapture { file: name, octets, sha256: None },
    }
}

/// Hash of a file; none of one that cannot be read to its end.
fn of_file(path: &Path) -> Option<Hash> {
    let (mut file, mut hash) = (interrupt::open(path).ok()?, Hash::default());
    let mut chunk = vec![0; CHUNK_OCTETS];
    loop {
        if interrupt::requested() {
            return None;
        }
        match file.read(&mut chunk) {
            Ok(0) => return Some(hash),
            Ok(octets) => hash.add(chunk.get(..octets)?),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}
