//! Writer of pcapng: one section, little-endian, times in nanoseconds.

use super::{
    ACCEPTED, COMMENT, DELIVERED, DROPPED_BY_INTERFACE, DROPPED_BY_SYSTEM, END_OF_OPTIONS,
    ENHANCED_PACKET, INTERFACE_DESCRIPTION, INTERFACE_NAME, INTERFACE_RESOLUTION,
    INTERFACE_STATISTICS, MIN_BLOCK_OCTETS, ORDER_MAGIC, RECEIVED, RING_FULL, SECTION_HEADER,
    TIMES,
};
use crate::capture::record::{SNAP_OCTETS, Statistics, lengths};
use crate::dissect::Link;
use crate::time::Instant;
use std::io::{self, Write};

/// Writer of pcapng files with one section, little-endian, times in nanoseconds.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: W,
    interfaces: u32,
    block: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Writes the section header.
    ///
    /// # Errors
    /// Errors of `out`.
    pub fn new(out: W) -> io::Result<Self> {
        let mut writer = Self { out, interfaces: 0, block: Vec::new() };
        writer.block.extend(ORDER_MAGIC.to_le_bytes());
        writer.block.extend([1, 0, 0, 0]);
        // Length of the section: unspecified.
        writer.block.extend([0xFF; 8]);
        writer.end_block(SECTION_HEADER)?;
        Ok(writer)
    }

    /// Describes an interface and returns its number, counted from 0.
    ///
    /// # Errors
    /// Errors of the output; `InvalidInput` for a link type above 65535, or a name of more than
    /// 65535 octets.
    pub fn interface(&mut self, link: Link, name: &str) -> io::Result<u32> {
        self.interface_cut(link, name, SNAP_OCTETS as u32, "")
    }

    /// Describes an interface whose frames are cut to at most `snap_octets`, with a comment if that
    /// is not empty.
    ///
    /// # Errors
    /// As [`Writer::interface`], also for the comment.
    pub fn interface_cut(
        &mut self,
        link: Link,
        name: &str,
        snap_octets: u32,
        comment: &str,
    ) -> io::Result<u32> {
        let link = u16::try_from(link.dlt()).map_err(|_| refused("link type above 65535"))?;
        self.block.clear();
        self.block.extend(link.to_le_bytes());
        self.block.extend([0; 2]);
        self.block.extend(snap_octets.to_le_bytes());
        if !comment.is_empty() {
            self.option(COMMENT, comment.as_bytes())?;
        }
        if !name.is_empty() {
            self.option(INTERFACE_NAME, name.as_bytes())?;
        }
        self.option(INTERFACE_RESOLUTION, &[9])?;
        self.option(END_OF_OPTIONS, &[])?;
        self.end_block(INTERFACE_DESCRIPTION)?;
        self.interfaces += 1;
        Ok(self.interfaces - 1)
    }

    /// Writes one frame of which `octets` were captured, with a comment if that is not empty.
    ///
    /// # Errors
    /// Errors of the output; `InvalidInput` for an interface not described, for more octets than
    /// [`SNAP_OCTETS`] or than there were originally, and for a comment of more than 65535 octets.
    pub fn write(
        &mut self,
        interface: u32,
        at: Instant,
        octets: &[u8],
        original_octets: usize,
        comment: &str,
    ) -> io::Result<()> {
        if interface >= self.interfaces {
            return Err(refused("interface not described"));
        }
        let (captured, original) = lengths(octets, original_octets)?;
        let (high, low) = ((at.as_nanos() >> 32) as u32, at.as_nanos() as u32);
        self.block.clear();
        for word in [interface, high, low, captured, original] {
            self.block.extend(word.to_le_bytes());
        }
        self.padded(octets);
        if !comment.is_empty() {
            self.option(COMMENT, comment.as_bytes())?;
            self.option(END_OF_OPTIONS, &[])?;
        }
        self.end_block(ENHANCED_PACKET)
    }

    /// Writes the counters of an interface up to `at`.
    ///
    /// # Errors
    /// Errors of the output; `InvalidInput` for an interface not described.
    pub fn statistics(
        &mut self,
        interface: u32,
        at: Instant,
        statistics: &Statistics,
    ) -> io::Result<()> {
        if interface >= self.interfaces {
            return Err(refused("interface not described"));
        }
        let (high, low) = ((at.as_nanos() >> 32) as u32, at.as_nanos() as u32);
        self.block.clear();
        for word in [interface, high, low] {
            self.block.extend(word.to_le_bytes());
        }
        if let Some(times) = statistics.ring_full {
            self.option(COMMENT, format!("{RING_FULL}{times}{TIMES}").as_bytes())?;
        }
        for (code, count) in [
            (RECEIVED, statistics.received),
            (DROPPED_BY_INTERFACE, statistics.dropped_by_interface),
            (ACCEPTED, statistics.accepted),
            (DROPPED_BY_SYSTEM, statistics.dropped_by_system),
            (DELIVERED, statistics.delivered),
        ] {
            if let Some(count) = count {
                self.option(code, &count.to_le_bytes())?;
            }
        }
        self.option(END_OF_OPTIONS, &[])?;
        self.end_block(INTERFACE_STATISTICS)
    }

    /// Output of the writer.
    pub const fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Flushes the output.
    ///
    /// # Errors
    /// Errors of the output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Returns the output.
    pub fn into_inner(self) -> W {
        self.out
    }

    fn option(&mut self, code: u16, value: &[u8]) -> io::Result<()> {
        let length =
            u16::try_from(value.len()).map_err(|_| refused("option above 65535 octets"))?;
        self.block.extend(code.to_le_bytes());
        self.block.extend(length.to_le_bytes());
        self.padded(value);
        Ok(())
    }

    fn padded(&mut self, octets: &[u8]) {
        self.block.extend(octets);
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    fn end_block(&mut self, kind: u32) -> io::Result<()> {
        let length = (MIN_BLOCK_OCTETS + self.block.len()) as u32;
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&length.to_le_bytes())?;
        self.out.write_all(&self.block)?;
        self.out.write_all(&length.to_le_bytes())
    }
}

fn refused(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}
