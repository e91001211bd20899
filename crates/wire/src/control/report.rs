//! Report of a responder: the arrivals that it recorded, page by page, one entry per message.
//!
//! ```text
//!   octet 14   18                  Fetch   first
//!   octet 14   18     22     23    Page    first, kept, whether that is all, arrivals of 34 octets each
//! ```
//!
//! The head is that of every control session PDU; the two kinds are separate. A Fetch requests the
//! arrivals from a number on. The initiator repeats it until the Page arrives. The responder
//! answers at the agreed rate, and no more often than a whole report takes with every Fetch
//! repeated.

use super::{MAGIC, VERSION};
use crate::read::{Malformed, Reader};
use crate::time::Instant;
use arrayvec::ArrayVec;
use bytes::BufMut;

const FETCH: u8 = 7;
const PAGE: u8 = 8;
/// Arrivals per page: 23 + 40 x 34 octets fit into any 802.3 frame.
pub const ON_A_PAGE: usize = 40;

/// Encoding of an unknown time.
const NOT_KNOWN: Instant = Instant::from_nanos(u64::MAX);

/// Arrival of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Arrival {
    /// Flow number.
    pub flow: u16,
    /// Sequence number of the message in its flow.
    pub sequence: u32,
    /// Length of the message in octets.
    pub octets: u32,
    /// Planned time of the message, on the sender's clock.
    pub planned: Instant,
    /// Time of handover to the service, on the sender's clock, if known; all ones otherwise.
    pub sent: Option<Instant>,
    /// Arrival time, on the receiver's clock.
    pub at: Instant,
}

/// Part of the arrivals of a session.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Page {
    /// Index of the first of these among all stored arrivals.
    pub first: u32,
    /// Number of stored arrivals.
    pub kept: u32,
    /// True if every arrival was stored.
    pub is_all: bool,
    /// Arrivals of this page.
    pub arrivals: ArrayVec<Arrival, ON_A_PAGE>,
}

/// Body of a report PDU.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Body {
    /// Initiator to responder: request for the arrivals from this index on.
    Fetch(u32),
    /// Responder to initiator: arrivals.
    Page(Box<Page>),
}

/// PDU of the report.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pdu {
    /// Nonce of the session; a Page has that of its Fetch.
    pub nonce: u64,
    /// Body of the PDU.
    pub body: Body,
}

impl Pdu {
    /// Decodes a PDU; `None` for a control session PDU of another kind or version. Octets after it are
    /// ignored.
    ///
    /// # Errors
    /// Names the missing field.
    pub fn decode(octets: &[u8]) -> Result<Option<Self>, Malformed> {
        let mut reader = Reader::new(octets);
        if reader.array("control magic")? != MAGIC || reader.u8("version")? != VERSION {
            return Ok(None);
        }
        let kind = reader.u8("kind")?;
        let nonce = reader.array("nonce").map(u64::from_be_bytes)?;
        let body = match kind {
            FETCH => Body::Fetch(reader.u32("first arrival")?),
            PAGE => Body::Page(Box::new(page(&mut reader)?)),
            _ => return Ok(None),
        };
        Ok(Some(Self { nonce, body }))
    }

    /// Writes the PDU.
    pub fn encode(&self, out: &mut impl BufMut) {
        let kind = if matches!(self.body, Body::Fetch(_)) { FETCH } else { PAGE };
        out.put_slice(&MAGIC);
        out.put_u8(VERSION);
        out.put_u8(kind);
        out.put_u64(self.nonce);
        match &self.body {
            Body::Fetch(first) => out.put_u32(*first),
            Body::Page(page) => {
                let Page { first, kept, is_all, arrivals } = &**page;
                out.put_u32(*first);
                out.put_u32(*kept);
                // The highest bit is set if all arrivals were stored; the others are the number
                // that follows.
                out.put_u8(u8::from(*is_all) << 7 | arrivals.len() as u8);
                for arrival in arrivals {
                    out.put_u16(arrival.flow);
                    out.put_u32(arrival.sequence);
                    out.put_u32(arrival.octets);
                    let sent = arrival.sent.unwrap_or(NOT_KNOWN);
                    for instant in [arrival.planned, sent, arrival.at] {
                        out.put_u64(instant.as_nanos());
                    }
                }
            }
        }
    }
}

fn page(reader: &mut Reader<'_>) -> Result<Page, Malformed> {
    let first = reader.u32("first arrival")?;
    let kept = reader.u32("arrivals kept")?;
    let complaint = reader.malformed("number of arrivals");
    let count = reader.u8("number of arrivals")?;
    let mut page = Page { first, kept, is_all: count & 0x80 != 0, arrivals: ArrayVec::new() };
    for _ in 0..count & 0x7F {
        let arrival = Arrival {
            flow: reader.u16("flow")?,
            sequence: reader.u32("sequence")?,
            octets: reader.u32("octets")?,
            planned: instant(reader)?,
            sent: Some(instant(reader)?).filter(|sent| *sent != NOT_KNOWN),
            at: instant(reader)?,
        };
        page.arrivals.try_push(arrival).map_err(|_| complaint)?;
    }
    Ok(page)
}

fn instant(reader: &mut Reader<'_>) -> Result<Instant, Malformed> {
    reader.array("time").map(u64::from_be_bytes).map(Instant::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(number: u64) -> Arrival {
        Arrival {
            flow: 3,
            sequence: number as u32,
            octets: 100,
            planned: Instant::from_nanos(number),
            sent: (!number.is_multiple_of(3)).then(|| Instant::from_nanos(number + 1)),
            at: Instant::from_nanos(u64::MAX),
        }
    }

    fn full() -> Pdu {
        let arrivals = (0..ON_A_PAGE as u64).map(arrival).collect();
        let page = Page { first: 80, kept: 120, is_all: true, arrivals };
        Pdu { nonce: 9, body: Body::Page(Box::new(page)) }
    }

    fn octets(pdu: &Pdu) -> Vec<u8> {
        let mut octets = Vec::new();
        pdu.encode(&mut octets);
        octets
    }

    #[test]
    fn a_report_reads_as_it_was_written_and_fits_into_a_frame() {
        for pdu in [full(), Pdu { nonce: 1, body: Body::Fetch(80) }] {
            let mut octets = octets(&pdu);
            // 1,500 octets of data in a frame, of which LLC has three.
            assert!(octets.len() <= 1_497);
            octets.extend([0; 46]);
            assert_eq!(Pdu::decode(&octets), Ok(Some(pdu)));
        }
        assert_eq!(octets(&full()).len(), 23 + 40 * 34);
    }

    #[test]
    fn a_cut_report_names_a_field_and_too_full_a_page_is_refused() {
        let whole = octets(&full());
        for length in 0..whole.len() {
            assert!(Pdu::decode(&whole[..length]).is_err(), "{length}");
        }
        let mut more = whole;
        more[22] += 1;
        more.extend([0; 34]);
        let complaint = Pdu::decode(&more).unwrap_err();
        assert_eq!(complaint.to_string(), "malformed number of arrivals at octet 22");
    }

    #[test]
    fn other_rendezvous_pdus_are_not_decoded() {
        let mut octets = Vec::new();
        crate::control::Pdu { nonce: 1, body: crate::control::Body::Stop }.encode(&mut octets);
        assert_eq!(Pdu::decode(&octets), Ok(None));
    }
}
