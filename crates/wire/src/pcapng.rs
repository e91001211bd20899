//! pcapng, the capture format of Wireshark (draft-ietf-opsawg-pcapng).
//!
//! A file is a sequence of blocks: type, length, body, length again. A section header starts a
//! section and gives its byte order; interface descriptions number the interfaces of the section
//! from 0; packet blocks refer to them. Other blocks are skipped. Files are read through
//! [`Capture`](crate::capture::Capture).
//!
//! Left out: comments, except for tidewire's own on omitted user data and on counters; name
//! resolution, decryption secrets, custom blocks.

mod writer;

pub use writer::Writer;

use crate::capture::record::{
    CaptureError, Interface, MAX_RECORD_OCTETS, Record, Resolution, Statistics,
};
use crate::capture::source::{Order, Source};
use crate::dissect::Link;
use crate::read::Malformed;
use crate::time::Instant;
use core::ops::Range;

/// Type of the section header block, the same in both byte orders.
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
/// End of the comment of an interface whose frames are stored without user data.
pub const WITHOUT_DATA: &str = "user data is left out";
/// Start of tidewire's comment with the number of times that a ring was full.
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

/// Length of type and length in front of a body.
const HEAD_OCTETS: usize = 8;
/// Shortest block: head and trailing length, with an empty body.
const MIN_BLOCK_OCTETS: usize = 12;
/// Length of head, interface, time and lengths of an enhanced packet block.
const PACKET_AT: usize = 28;
/// Largest accepted number of interfaces.
const MAX_INTERFACES: usize = 65_536;
const MAX_NAME_CHARS: usize = 64;

/// Fields of a block, in the byte order of its section.
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

    /// Takes octets and their padding, which may be missing only at the end of the block.
    fn padded(&mut self, field: &'static str, count: usize) -> Result<&'a [u8], Malformed> {
        let octets = self.octets.take(field, count)?;
        let pad = (count.next_multiple_of(4) - count).min(self.octets.rest().len());
        self.octets.take(field, pad)?;
        Ok(octets)
    }

    /// Takes the next option; `None` after the last, with or without an end of options.
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

/// Packet found in a block: a [`Record`] with a position instead of octets.
struct Packet {
    at: Option<Instant>,
    interface: usize,
    /// Position within the block.
    place: Range<usize>,
    original_octets: usize,
}

/// Properties of a file, from the blocks read so far.
#[derive(Debug)]
pub(crate) struct Reader {
    order: Order,
    /// Interfaces of all sections.
    interfaces: Vec<Interface>,
    /// Index of the first interface of this section.
    section: usize,
    last: Instant,
    /// Number of blocks that described an interface or stated its counters.
    descriptions: u64,
}

impl Reader {
    pub(crate) const fn new() -> Self {
        Self {
            order: Order::Little,
            interfaces: Vec::new(),
            section: 0,
            last: Instant::ZERO,
            descriptions: 0,
        }
    }

    pub(crate) fn interfaces(&self) -> &[Interface] {
        &self.interfaces
    }

    /// Number of blocks so far that described an interface or stated its counters.
    pub(crate) const fn descriptions(&self) -> u64 {
        self.descriptions
    }

    #[inline]
    pub(crate) fn next<'s>(
        &mut self,
        source: &'s mut Source,
    ) -> Result<Option<Record<'s>>, CaptureError> {
        match self.plain_packet(source.at_hand()).filter(|_| source.is_sound()) {
            Some((octets, link, packet)) => Ok(Some(self.record(octets, link, packet, source))),
            None => self.next_packet(source),
        }
    }

    /// Fast path for an enhanced packet block without options that is completely in the buffer:
    /// length of the block, link type, and packet.
    #[inline]
    fn plain_packet(&self, at_hand: &[u8]) -> Option<(usize, Link, Packet)> {
        let (words, _) = at_hand.first_chunk::<PACKET_AT>()?.as_chunks::<4>();
        let words: &[[u8; 4]; PACKET_AT / 4] = words.first_chunk()?;
        let [kind, length, interface, high, low, captured, original] = *words;
        let number = |word| self.order.u32(word);
        let (kind, length, captured) = (number(kind), number(length), number(captured));
        let (octets, captured) = (length as usize, captured as usize);
        let is_plain = kind == ENHANCED_PACKET
            && octets.checked_sub(PACKET_AT + 4) == Some(captured.next_multiple_of(4));
        let (_, again) = at_hand.get(..octets).filter(|_| is_plain)?.split_last_chunk()?;
        if self.order.u32(*again) != length {
            return None;
        }
        let index = self.section + number(interface) as usize;
        let interface = self.interfaces.get(index)?;
        let ticks = u64::from(number(high)) << 32 | u64::from(number(low));
        let original_octets =
            (number(original) as usize).max(captured).saturating_sub(interface.fcs_octets.into());
        let packet = Packet {
            at: Some(instant(interface, ticks)),
            interface: index,
            place: PACKET_AT..PACKET_AT + captured.min(original_octets),
            original_octets,
        };
        Some((octets, interface.link, packet))
    }

    /// Takes the record of a packet in a block of `octets` octets that is completely in the buffer.
    #[inline]
    fn record<'s>(
        &mut self,
        octets: usize,
        link: Link,
        packet: Packet,
        source: &'s mut Source,
    ) -> Record<'s> {
        self.last = packet.at.unwrap_or(self.last);
        Record {
            at: self.last,
            link,
            octets: source.take(octets, (packet.place.start, packet.place.len())),
            original_octets: packet.original_octets,
            interface: packet.interface as u32,
        }
    }

    /// Returns the next packet, from a block of any kind.
    fn next_packet<'s>(
        &mut self,
        source: &'s mut Source,
    ) -> Result<Option<Record<'s>>, CaptureError> {
        loop {
            let offset = source.offset();
            let Some((kind, octets)) = self.head(source)? else { return Ok(None) };
            let Some(block) = source.whole(octets)?.and_then(|rest| rest.get(..octets)) else {
                return Err(CaptureError::CutShort { offset });
            };
            let packet = match self.block(kind, block) {
                Ok(packet) => packet,
                Err(malformed) => {
                    source.check()?;
                    let offset = offset + malformed.offset as u64;
                    return Err(CaptureError::Malformed { offset, field: malformed.field });
                }
            };
            let Some(packet) = packet else {
                source.take(octets, (0, 0));
                continue;
            };
            let Some(interface) = self.interfaces.get(packet.interface) else {
                return Err(CaptureError::Malformed { offset, field: "interface" });
            };
            let link = interface.link;
            return Ok(Some(self.record(octets, link, packet, source)));
        }
    }

    /// Reads type and length of the next block. A section header sets the byte order.
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
        let is_malformed = octets < MIN_BLOCK_OCTETS || !octets.is_multiple_of(4);
        if is_malformed || !source.is_sound() {
            source.check()?;
        }
        if octets > MAX_RECORD_OCTETS {
            return Err(CaptureError::TooLong { offset, octets: octets as u64 });
        }
        if is_malformed {
            return Err(malformed(4, "block total length"));
        }
        Ok(Some((self.order.u32(kind), octets)))
    }

    /// Evaluates a whole block; offsets count from its start.
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
            // Malformed counters do not prevent the frames from being read.
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
        // Some writers use 1.2 for 1.0.
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
            leaves_out_data: false,
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
                // The draft states bits, its example octets. No FCS has 16 octets or fewer than 8
                // bits.
                (INTERFACE_FCS, &[value]) => {
                    interface.fcs_octets = if value < 16 { value } else { value / 8 };
                }
                (COMMENT, comment) => {
                    interface.leaves_out_data |= comment.ends_with(WITHOUT_DATA.as_bytes());
                }
                _ => {}
            }
        }
        self.interfaces.push(interface);
        self.descriptions += 1;
        Ok(())
    }

    fn interface(&self, number: usize, place: Malformed) -> Result<(usize, &Interface), Malformed> {
        let index = self.section + number;
        self.interfaces.get(index).map(|interface| (index, interface)).ok_or(place)
    }

    /// Counters accumulate from the start of the capture, so those of a later block replace earlier
    /// ones.
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
            self.descriptions += 1;
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

    /// Decodes the fields common to enhanced and obsolete packets, from the time on.
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
                // Bits 5 to 8; 0 if the writer has no information.
                let flagged = self.order.u32([a, b, c, d]) >> 5 & 0xF;
                fcs_octets = if flagged == 0 { fcs_octets } else { flagged as usize };
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

    /// A simple packet belongs to the first interface, has no time, and is at most as long as the
    /// snap length.
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

/// Converts the option: the highest bit selects powers of two instead of powers of ten.
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

/// Parses tidewire's comment on a full ring.
fn ring_full(comment: &[u8]) -> Option<u64> {
    let text = core::str::from_utf8(comment).ok()?;
    text.strip_prefix(RING_FULL)?.strip_suffix(TIMES)?.parse().ok()
}

#[cfg(test)]
mod tests;
