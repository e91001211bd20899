//! pcapng, the capture format of Wireshark (draft-ietf-opsawg-pcapng).
//!
//! A file is a row of blocks: type, length, body, length again. A section header starts a section
//! and gives the order of octets in it; interface descriptions number the interfaces of the section
//! from 0; packet blocks refer to them. Blocks of other kinds are passed over. Reading goes through
//! [`Capture`](crate::capture::Capture).
//!
//! Not read: comments, name resolution, decryption secrets, custom blocks.

use crate::capture::{
    CaptureError, Interface, MAX_RECORD_OCTETS, Order, Record, Resolution, SNAP_OCTETS, Source,
    Statistics, lengths,
};
use crate::dissect::Link;
use crate::read::Malformed;
use crate::time::Instant;
use core::ops::Range;
use std::io::{self, Write};

/// The type of the section header block, the same in both orders of octets.
pub(crate) const MAGIC: [u8; 4] = [0x0A, 0x0D, 0x0D, 0x0A];
const ORDER_MAGIC: u32 = 0x1A2B_3C4D;

const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE_DESCRIPTION: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const INTERFACE_STATISTICS: u32 = 5;
const ENHANCED_PACKET: u32 = 6;

const END_OF_OPTIONS: u16 = 0;
const COMMENT: u16 = 1;
/// How a comment of ours says how often a ring was full.
const RING_FULL: &str = "ring full ";
const TIMES: &str = " times";
const INTERFACE_NAME: u16 = 2;
const PACKET_FLAGS: u16 = 2;
const INTERFACE_RESOLUTION: u16 = 9;
const INTERFACE_FCS: u16 = 13;
const INTERFACE_OFFSET: u16 = 14;
const RECEIVED: u16 = 4;
const DROPPED_BY_INTERFACE: u16 = 5;
const ACCEPTED: u16 = 6;
const DROPPED_BY_SYSTEM: u16 = 7;
const DELIVERED: u16 = 8;

/// Type and length in front of a body.
const HEAD_OCTETS: usize = 8;
/// Head, the least body of all, and the length again.
const MIN_BLOCK_OCTETS: usize = 12;
/// More interfaces than this are not believed.
const MAX_INTERFACES: usize = 65_536;
const MAX_NAME_CHARS: usize = 64;

/// The fields of a block, in the order of octets of its section.
struct Fields<'a> {
    octets: crate::read::Reader<'a>,
    order: Order,
}

impl<'a> Fields<'a> {
    fn u16(&mut self, field: &'static str) -> Result<u16, Malformed> {
        Ok(self.order.u16(self.octets.array(field)?))
    }

    fn u32(&mut self, field: &'static str) -> Result<u32, Malformed> {
        Ok(self.order.u32(self.octets.array(field)?))
    }

    /// Octets and the pad behind them, which only the end of the block may lack.
    fn padded(&mut self, field: &'static str, count: usize) -> Result<&'a [u8], Malformed> {
        let octets = self.octets.take(field, count)?;
        let pad = (count.next_multiple_of(4) - count).min(self.octets.rest().len());
        self.octets.take(field, pad)?;
        Ok(octets)
    }

    /// The next option; `None` where they end, with or without an end of options.
    fn option(&mut self) -> Result<Option<(u16, &'a [u8])>, Malformed> {
        if self.octets.is_empty() {
            return Ok(None);
        }
        let code = self.u16("option code")?;
        let length = self.u16("option length")?;
        if code == END_OF_OPTIONS {
            return Ok(None);
        }
        Ok(Some((code, self.padded("option", usize::from(length))?)))
    }
}

/// A packet found in a block: what [`Record`] is, with a place instead of octets.
struct Packet {
    at: Option<Instant>,
    interface: usize,
    /// Within the block.
    place: Range<usize>,
    original_octets: usize,
}

/// What is known of a file from the blocks so far.
#[derive(Debug)]
pub(crate) struct Reader {
    order: Order,
    /// Those of all sections.
    interfaces: Vec<Interface>,
    /// The first one of this section.
    section: usize,
    last: Instant,
}

impl Reader {
    pub(crate) const fn new() -> Self {
        Self { order: Order::Little, interfaces: Vec::new(), section: 0, last: Instant::ZERO }
    }

    pub(crate) fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    pub(crate) fn next<'s>(
        &mut self,
        source: &'s mut Source,
    ) -> Result<Option<Record<'s>>, CaptureError> {
        loop {
            let offset = source.offset();
            let Some((kind, octets)) = self.head(source)? else { return Ok(None) };
            let Some(block) = source.whole(octets)?.and_then(|rest| rest.get(..octets)) else {
                return Err(CaptureError::CutShort { offset });
            };
            let packet = self.block(kind, block).map_err(|malformed| CaptureError::Malformed {
                offset: offset + malformed.offset as u64,
                field: malformed.field,
            })?;
            let Some(packet) = packet else {
                source.take(octets);
                continue;
            };
            let Some(interface) = self.interfaces.get(packet.interface) else {
                return Err(CaptureError::Malformed { offset, field: "interface" });
            };
            self.last = packet.at.unwrap_or(self.last);
            return Ok(Some(Record {
                at: self.last,
                link: interface.link,
                octets: source.take(octets).get(packet.place).unwrap_or_default(),
                original_octets: packet.original_octets,
                interface: packet.interface as u32,
            }));
        }
    }

    /// Type and length of the next block. A section header changes the order of octets.
    fn head(&mut self, source: &mut Source) -> Result<Option<(u32, usize)>, CaptureError> {
        let offset = source.offset();
        let malformed = |at, field| CaptureError::Malformed { offset: offset + at, field };
        let Some(head) = source.whole(MIN_BLOCK_OCTETS)? else { return Ok(None) };
        let Some((&[kind, length, magic], _)) = head.as_chunks::<4>().0.split_first_chunk::<3>()
        else {
            return Err(CaptureError::CutShort { offset });
        };
        if kind == MAGIC {
            self.order = match (Order::Big.u32(magic), Order::Little.u32(magic)) {
                (ORDER_MAGIC, _) => Order::Big,
                (_, ORDER_MAGIC) => Order::Little,
                _ => return Err(malformed(8, "byte-order magic")),
            };
        }
        let octets = self.order.u32(length) as usize;
        if octets > MAX_RECORD_OCTETS {
            return Err(CaptureError::TooLong { offset, octets: octets as u64 });
        }
        if octets < MIN_BLOCK_OCTETS || !octets.is_multiple_of(4) {
            return Err(malformed(4, "block total length"));
        }
        Ok(Some((self.order.u32(kind), octets)))
    }

    /// Takes in a whole block; offsets count from its start.
    fn block(&mut self, kind: u32, block: &[u8]) -> Result<Option<Packet>, Malformed> {
        let trailer = block.len() - 4;
        let field = "block total length";
        match block.split_last_chunk() {
            Some((_, length)) if self.order.u32(*length) as usize == block.len() => {}
            _ => return Err(Malformed { field, offset: trailer }),
        }
        let body = block.get(HEAD_OCTETS..trailer).unwrap_or_default();
        let fields = Fields { octets: crate::read::Reader::new(body), order: self.order };
        let packet = match kind {
            SECTION_HEADER => self.section_header(fields).map(|()| None),
            INTERFACE_DESCRIPTION => self.interface_description(fields).map(|()| None),
            // No frame is kept from being read by what somebody counted.
            INTERFACE_STATISTICS => {
                self.last_counted(fields).ok();
                Ok(None)
            }
            ENHANCED_PACKET => self.enhanced_packet(fields).map(Some),
            PACKET => self.obsolete_packet(fields).map(Some),
            SIMPLE_PACKET => self.simple_packet(fields).map(Some),
            _ => Ok(None),
        };
        packet.map_err(|malformed| malformed.within(HEAD_OCTETS))
    }

    fn section_header(&mut self, mut fields: Fields<'_>) -> Result<(), Malformed> {
        fields.u32("byte-order magic")?;
        let place = fields.octets.malformed("version");
        // 1.2 stands in files of some writers and means 1.0.
        if fields.u16("version")? != 1 {
            return Err(place);
        }
        self.section = self.interfaces.len();
        Ok(())
    }

    fn interface_description(&mut self, mut fields: Fields<'_>) -> Result<(), Malformed> {
        if self.interfaces.len() == MAX_INTERFACES {
            return Err(fields.octets.malformed("interfaces"));
        }
        let link = fields.u16("link type")?;
        fields.u16("reserved")?;
        let mut interface = Interface {
            link: Link::from_dlt(u32::from(link)),
            name: String::new(),
            snap_octets: fields.u32("snap length")?,
            fcs_octets: 0,
            resolution: Resolution::MICRO,
            offset_seconds: 0,
            statistics: Statistics::default(),
        };
        while let Some((code, value)) = fields.option()? {
            match (code, value) {
                (INTERFACE_NAME, name) => {
                    let name = String::from_utf8_lossy(name);
                    interface.name =
                        name.chars().take_while(|c| *c != '\0').take(MAX_NAME_CHARS).collect();
                }
                (INTERFACE_RESOLUTION, &[value]) => interface.resolution = resolution(value),
                (INTERFACE_OFFSET, value) => {
                    if let Some(octets) = value.first_chunk() {
                        interface.offset_seconds = self.order.i64(*octets);
                    }
                }
                // The draft counts bits, its example octets. No FCS has 16 octets or less than 8
                // bits.
                (INTERFACE_FCS, &[value]) => {
                    interface.fcs_octets = if value < 16 { value } else { value / 8 };
                }
                _ => {}
            }
        }
        self.interfaces.push(interface);
        Ok(())
    }

    fn interface(&self, number: usize, place: Malformed) -> Result<(usize, &Interface), Malformed> {
        let index = self.section + number;
        self.interfaces.get(index).map(|interface| (index, interface)).ok_or(place)
    }

    /// Counts since the capture began: those of a later block take the place of earlier ones.
    fn last_counted(&mut self, mut fields: Fields<'_>) -> Result<(), Malformed> {
        let place = fields.octets.malformed("interface");
        let number = fields.u32("interface")? as usize;
        let (index, _) = self.interface(number, place)?;
        fields.u32("time")?;
        fields.u32("time")?;
        let mut statistics = Statistics::default();
        while let Some((code, value)) = fields.option()? {
            let count = value.first_chunk().map(|octets| self.order.i64(*octets).cast_unsigned());
            match code {
                RECEIVED => statistics.received = count,
                DROPPED_BY_INTERFACE => statistics.dropped_by_interface = count,
                ACCEPTED => statistics.accepted = count,
                DROPPED_BY_SYSTEM => statistics.dropped_by_system = count,
                DELIVERED => statistics.delivered = count,
                COMMENT => statistics.ring_full = ring_full(value).or(statistics.ring_full),
                _ => {}
            }
        }
        if let Some(interface) = self.interfaces.get_mut(index) {
            interface.statistics = statistics;
        }
        Ok(())
    }

    fn enhanced_packet(&self, mut fields: Fields<'_>) -> Result<Packet, Malformed> {
        let place = fields.octets.malformed("interface");
        let number = fields.u32("interface")? as usize;
        self.timed_packet(number, place, fields)
    }

    fn obsolete_packet(&self, mut fields: Fields<'_>) -> Result<Packet, Malformed> {
        let place = fields.octets.malformed("interface");
        let number = usize::from(fields.u16("interface")?);
        fields.u16("drops count")?;
        self.timed_packet(number, place, fields)
    }

    /// What enhanced and obsolete packets share, from the time on.
    fn timed_packet(
        &self,
        number: usize,
        place: Malformed,
        mut fields: Fields<'_>,
    ) -> Result<Packet, Malformed> {
        let (index, interface) = self.interface(number, place)?;
        let high = fields.u32("time")?;
        let low = fields.u32("time")?;
        let captured = fields.u32("captured length")? as usize;
        let original = fields.u32("original length")? as usize;
        let start = HEAD_OCTETS + fields.octets.offset();
        fields.padded("captured length", captured)?;
        let mut fcs_octets = usize::from(interface.fcs_octets);
        while let Some((code, value)) = fields.option()? {
            if let (PACKET_FLAGS, &[a, b, c, d]) = (code, value) {
                // Bits 5 to 8; 0 if the writer does not know.
                let told = self.order.u32([a, b, c, d]) >> 5 & 0xF;
                fcs_octets = if told == 0 { fcs_octets } else { told as usize };
            }
        }
        let original_octets = original.max(captured).saturating_sub(fcs_octets);
        Ok(Packet {
            at: Some(instant(interface, u64::from(high) << 32 | u64::from(low))),
            interface: index,
            place: start..start + captured.min(original_octets),
            original_octets,
        })
    }

    /// A simple packet belongs to the first interface, has no time, and is as long as the snap
    /// length lets it be.
    fn simple_packet(&self, mut fields: Fields<'_>) -> Result<Packet, Malformed> {
        let (index, interface) = self.interface(0, fields.octets.malformed("interface"))?;
        let original = fields.u32("original length")? as usize;
        let start = HEAD_OCTETS + fields.octets.offset();
        let snap = match interface.snap_octets {
            0 => usize::MAX,
            octets => octets as usize,
        };
        let captured = original.min(snap);
        fields.octets.take("original length", captured)?;
        let original_octets = original.saturating_sub(usize::from(interface.fcs_octets));
        Ok(Packet {
            at: None,
            interface: index,
            place: start..start + captured.min(original_octets),
            original_octets,
        })
    }
}

/// The highest bit tells powers of two from powers of ten.
const fn resolution(value: u8) -> Resolution {
    if value & 0x80 == 0 { Resolution::Decimal(value) } else { Resolution::Binary(value & 0x7F) }
}

fn instant(interface: &Interface, ticks: u64) -> Instant {
    let nanos = interface.resolution.nanos(ticks);
    let offset = interface.offset_seconds.unsigned_abs().saturating_mul(1_000_000_000);
    Instant::from_nanos(if interface.offset_seconds < 0 {
        nanos.saturating_sub(offset)
    } else {
        nanos.saturating_add(offset)
    })
}

/// Writes a pcapng file of one section, least significant octet first, times in nanoseconds.
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
    /// Those of `out`.
    pub fn new(out: W) -> io::Result<Self> {
        let mut writer = Self { out, interfaces: 0, block: Vec::new() };
        writer.block.extend(ORDER_MAGIC.to_le_bytes());
        writer.block.extend([1, 0, 0, 0]);
        // The length of the section: not told.
        writer.block.extend([0xFF; 8]);
        writer.end_block(SECTION_HEADER)?;
        Ok(writer)
    }

    /// Describes an interface and gives its number, which counts from 0.
    ///
    /// # Errors
    /// Those of the output; `InvalidInput` for a link type or a name of more than 65535.
    pub fn interface(&mut self, link: Link, name: &str) -> io::Result<u32> {
        self.interface_cut(link, name, SNAP_OCTETS as u32, "")
    }

    /// The same of an interface of whose frames at the most `snap_octets` are kept, with a comment
    /// unless that is empty.
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

    /// Writes one frame of which `octets` were captured, with a comment unless that is empty.
    ///
    /// # Errors
    /// Those of the output; `InvalidInput` for an interface not described, for more octets than
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

    /// Writes what has been counted at an interface up to `at`.
    ///
    /// # Errors
    /// Those of the output; `InvalidInput` for an interface not described.
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

    /// Where it is written to.
    pub const fn get_mut(&mut self) -> &mut W {
        &mut self.out
    }

    /// Hands what is written on to where it goes.
    ///
    /// # Errors
    /// Those of the output.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Gives back the output.
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

/// What a comment of ours says of a ring.
fn ring_full(comment: &[u8]) -> Option<u64> {
    let text = core::str::from_utf8(comment).ok()?;
    text.strip_prefix(RING_FULL)?.strip_suffix(TIMES)?.parse().ok()
}

fn refused(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

#[cfg(test)]
mod tests;
