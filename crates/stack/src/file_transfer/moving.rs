//! Data of one file on its way: the part that both ends share.

use super::store::Store;
use bytes::{BufMut, Bytes, BytesMut};
use wire::file_transfer::{DATA_HEADER_OCTETS, Pdu, Status};

/// File that this side sends.
#[derive(Clone, Debug)]
pub(super) struct Sending {
    pub(super) name: Bytes,
    /// Octets sent so far.
    pub(super) offset: u64,
    /// Length that was announced.
    pub(super) announced: u64,
    /// Octets of each F-DATA.
    pub(super) block_octets: u16,
    /// True for EOT on each F-DATA.
    pub(super) each_eot: bool,
}

impl Sending {
    /// Next F-DATA; the status of the end if there is none.
    pub(super) fn next(&mut self, store: &Store) -> Result<Bytes, Status> {
        let left = self.announced - self.offset;
        if left == 0 {
            return Err(Status::Ok);
        }
        let n =
            usize::try_from(left).unwrap_or(usize::MAX).min(usize::from(self.block_octets.max(1)));
        let data = store.read(&self.name, self.offset, n);
        if data.is_empty() {
            return Err(Status::Shrunk);
        }
        self.offset += data.len() as u64;
        let mut octets = BytesMut::with_capacity(DATA_HEADER_OCTETS + data.len());
        octets.put_slice(&Pdu::Data(&[]).encode());
        octets.put_slice(&data);
        Ok(octets.freeze())
    }
}

/// File that this side receives.
#[derive(Clone, Debug)]
pub(super) struct Receiving {
    pub(super) name: Bytes,
    /// Octets received so far.
    pub(super) offset: u64,
    announced: u64,
    pub(super) status: Status,
}

impl Receiving {
    /// Begins to receive a file of the length that its sender has announced.
    pub(super) fn new(name: Bytes, announced: u64, store: &mut Store) -> Self {
        let status = store.create(&name, announced);
        Self { name, offset: 0, announced, status }
    }

    /// Takes the data of an F-DATA. After a failure, the rest is dropped.
    pub(super) fn take(&mut self, data: &[u8], store: &mut Store) {
        if self.status == Status::Ok {
            self.status = store.write(&self.name, self.offset, data);
        }
        self.offset = self.offset.saturating_add(data.len() as u64);
    }

    /// Takes the F-DATA-END, with the number of octets that were sent.
    pub(super) fn end(&mut self, status: Status, octets: u64) {
        let is_whole = self.offset == octets && octets == self.announced;
        self.status = match (self.status, status) {
            (Status::Ok, Status::Ok) if !is_whole => Status::Differs,
            (Status::Ok, other) => other,
            (own, _) => own,
        };
    }
}
