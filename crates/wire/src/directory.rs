//! Queries to a directory of application titles, and its answers, as data of an association.
//!
//! ```text
//! octet  0            1-6                            then
//!        1 query      -                              title
//!        2 address    address of the station         title
//!        3 unknown    -                              title
//! ```
//!
//! MAP 2.1 names the service and no PDU of it was found: the octets are an assumption of this project.

use crate::addr::Mac;
use crate::read::{Malformed, Reader};
use core::fmt;

/// Longest title in octets.
pub const LONGEST_TITLE: usize = 64;

const QUERY: u8 = 1;
const ADDRESS: u8 = 2;
const UNKNOWN: u8 = 3;

/// PDU of the directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pdu<'a> {
    /// Request for the address of a title.
    Query(&'a str),
    /// Address of a title.
    Address {
        /// Title.
        title: &'a str,
        /// Station on which its application is.
        station: Mac,
    },
    /// Statement that the directory has no such title.
    Unknown(&'a str),
}

impl<'a> Pdu<'a> {
    /// Decodes the data of an A-TRANSFER.
    ///
    /// # Errors
    /// Names the field that is missing or invalid.
    pub fn decode(octets: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        match reader.u8("kind")? {
            QUERY => Ok(Self::Query(title(reader.rest(), 1)?)),
            ADDRESS => {
                let station = Mac(reader.array("station")?);
                Ok(Self::Address { station, title: title(reader.rest(), 7)? })
            }
            UNKNOWN => Ok(Self::Unknown(title(reader.rest(), 1)?)),
            _ => Err(Malformed { field: "kind", offset: 0 }),
        }
    }

    /// Octets of the PDU. A title longer than [`LONGEST_TITLE`] makes one that no decoder accepts.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::Query(title) => [&[QUERY], title.as_bytes()].concat(),
            Self::Address { title, station } => {
                [&[ADDRESS], &station.0[..], title.as_bytes()].concat()
            }
            Self::Unknown(title) => [&[UNKNOWN], title.as_bytes()].concat(),
        }
    }
}

fn title(octets: &[u8], offset: usize) -> Result<&str, Malformed> {
    let wrong = Malformed { field: "title", offset };
    if octets.is_empty() || octets.len() > LONGEST_TITLE {
        return Err(wrong);
    }
    core::str::from_utf8(octets).map_err(|_| wrong)
}

impl fmt::Display for Pdu<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Query(title) => write!(f, "directory query {title:?}"),
            Self::Address { title, station } => write!(f, "directory {title:?} is {station}"),
            Self::Unknown(title) => write!(f, "directory unknown {title:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pdus_are_read_back_as_written() {
        let station = Mac::local(7);
        let title = "cell4.welder";
        for pdu in [Pdu::Query(title), Pdu::Address { title, station }, Pdu::Unknown(title)] {
            assert_eq!(Pdu::decode(&pdu.encode()), Ok(pdu), "{pdu}");
        }
    }

    #[test]
    fn octets_that_are_no_pdu_are_refused_by_field() {
        let long = [&[QUERY][..], &[b'a'; LONGEST_TITLE + 1]].concat();
        let cases: [(&[u8], &str); 7] = [
            (&[], "kind"),
            (&[9, b'a'], "kind"),
            (&[QUERY], "title"),
            (&[UNKNOWN, 0xFF], "title"),
            (&[ADDRESS, 2, 0, 0], "station"),
            (&[ADDRESS, 2, 0, 0, 0, 0, 7], "title"),
            (&long, "title"),
        ];
        for (octets, field) in cases {
            assert_eq!(Pdu::decode(octets).map_err(|it| it.field), Err(field), "{octets:?}");
        }
    }
}
