//! Repetition of a capture: n copies one after the other, on request each among stations of its
//! own.
//!
//! Link type, captured octets and original lengths stay. A copy begins after the last frame of the
//! copy before it, later by the mean time between two frames. Times never go backwards, even where
//! those of the source do. The first copy keeps the times of the source.
//!
//! New addresses are numbered across all copies, so that no two copies share a station: MAC
//! addresses 02:00:…, IPv4 addresses from 10.0.0.0 on, IPv6 addresses from fd00:: on, and in an
//! NSAP up to four octets in front of its selector. Group addresses and unspecified addresses stay.
//! Checksums of IPv4, TCP and CLNP follow; those of UDP do not, nor do addresses in ARP and in user
//! data.

use core::cell::{Cell, RefCell};
use core::time::Duration;
use std::collections::BTreeMap;
use std::io::Write;
use wire::addr::Mac;
use wire::capture::Capture;
use wire::dissect::Link;
use wire::pcap::Writer;
use wire::rewrite::{Names, rename};
use wire::time::Instant;

type Failed = Box<dyn core::error::Error>;

/// Number of octets of an IPv4 address.
const IPV4_OCTETS: usize = 4;

/// Addresses of the copies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Addresses {
    /// Those of the source.
    Same,
    /// Other ones in each copy.
    New,
}

/// A frame of the source.
struct Frame {
    at: Instant,
    octets: Vec<u8>,
    original_octets: usize,
}

/// Capture to be repeated, whole in memory.
pub(crate) struct Source {
    link: Link,
    frames: Vec<Frame>,
}

impl Source {
    /// Reads a capture.
    ///
    /// # Errors
    /// Errors of the capture; no frames, or frames of several link types, which pcap cannot hold.
    pub(crate) fn read(capture: &mut Capture) -> Result<Self, Failed> {
        let (mut link, mut frames) = (None, Vec::new());
        while let Some(record) = capture.next()? {
            if *link.get_or_insert(record.link) != record.link {
                return Err("frames of several link types".into());
            }
            frames.push(Frame {
                at: record.at,
                octets: record.octets.to_vec(),
                original_octets: record.original_octets,
            });
        }
        Ok(Self { link: link.ok_or("no frames")?, frames })
    }

    /// Number of frames of one copy.
    pub(crate) const fn len(&self) -> usize {
        self.frames.len()
    }

    /// Writes `copies` copies as pcap.
    ///
    /// # Errors
    /// Errors of `out`, and times that pcap cannot hold.
    pub(crate) fn repeat(
        &self,
        copies: u64,
        addresses: Addresses,
        out: impl Write,
    ) -> Result<(), Failed> {
        let Some(first) = self.frames.first() else { return Ok(()) };
        let mut writer = Writer::new(out, self.link)?;
        let (mut start, mut last) = (first.at, first.at);
        let gap = self.mean_gap();
        let stations = Stations::default();
        for _ in 0..copies {
            stations.forget();
            for frame in &self.frames {
                last = last.max(start + frame.at.since(first.at));
                let Frame { octets, original_octets, .. } = frame;
                match addresses {
                    Addresses::Same => writer.write(last, octets, *original_octets)?,
                    Addresses::New => {
                        let renamed = rename(&stations, self.link, octets, *original_octets);
                        writer.write(last, &renamed.octets, *original_octets)?;
                    }
                }
            }
            start = last + gap;
        }
        writer.flush()?;
        Ok(())
    }

    /// Returns the mean time between two frames, at least one nanosecond.
    fn mean_gap(&self) -> Duration {
        let [Some(first), Some(last)] =
            [self.frames.first(), self.frames.iter().max_by_key(|it| it.at)]
        else {
            return Duration::ZERO;
        };
        let gaps = self.frames.len().saturating_sub(1).max(1) as u64;
        Duration::from_nanos((last.at.nanos_since(first.at) / gaps).max(1))
    }
}

/// New addresses: each different address of a copy takes the next number.
#[derive(Default)]
struct Stations {
    /// Numbers of the addresses of the present copy.
    numbers: RefCell<BTreeMap<Vec<u8>, u32>>,
    used: Cell<u32>,
}

impl Stations {
    /// Begins the next copy.
    fn forget(&self) {
        self.numbers.borrow_mut().clear();
    }

    fn number(&self, address: &[u8]) -> u32 {
        let mut numbers = self.numbers.borrow_mut();
        *numbers.entry(address.to_vec()).or_insert_with(|| {
            self.used.set(self.used.get() + 1);
            self.used.get()
        })
    }

    /// Writes the number of an address into its last octets.
    fn replace(&self, address: &mut [u8], prefix: u8) {
        let number = self.number(address).to_be_bytes();
        address.fill(0);
        address.iter_mut().rev().zip(number.iter().rev()).for_each(|(to, octet)| *to = *octet);
        if let Some(first) = address.first_mut() {
            *first = prefix;
        }
    }
}

impl Names for Stations {
    fn internet(&self, address: &mut [u8]) {
        let (is_group, prefix) = match (address.len(), address.first()) {
            (IPV4_OCTETS, Some(first)) => (*first >= 224, 10),
            (_, Some(first)) => (*first == 0xFF, 0xFD),
            (_, None) => return,
        };
        if !is_group && address.iter().any(|octet| *octet != 0) {
            self.replace(address, prefix);
        }
    }

    fn station(&self, address: &mut [u8]) {
        let is_group = address.first().is_some_and(|first| first & 1 != 0);
        if !is_group && address.iter().any(|octet| *octet != 0) {
            let Mac(new) = Mac::local(self.number(address));
            address.iter_mut().zip(new).for_each(|(to, octet)| *to = octet);
        }
    }

    /// Keeps the format and the selector of an NSAP, its first octet and its last.
    fn network(&self, address: &mut [u8]) {
        let number = self.number(address).to_be_bytes();
        if let [_, middle @ .., _] = address {
            middle.iter_mut().rev().zip(number.iter().rev()).for_each(|(to, octet)| *to = *octet);
        }
    }

    fn selector(&self, _: &mut [u8]) {}
}
