//! FTAM-like file transfer, not FTAM: the services of ISO 8571's kernel, read, write and unstructured
//! files, as data of CASE.
//!
//! ```text
//! octet  0            then
//!        0, 1         version | result           F-INITIALIZE request, response
//!        2            name                       F-SELECT request
//!        3            result, length (8)         F-SELECT response
//!        4, 5         mode | result              F-OPEN request, response
//!        6            eot, block (2)             F-READ request
//!        7            length (8)                 F-WRITE request
//!        8            data                       F-DATA request
//!        9            result, length (8)         F-DATA-END request
//!        10, 11       - | result, length (8)     F-TRANSFER-END request, response
//!        12 to 17     -                          F-CLOSE, F-DESELECT, F-TERMINATE, each with response
//! ```
//!
//! ISO 8571 encodes these in ASN.1 over a presentation layer. No peer of 1988 is left to compare with,
//! so the octets are an assumption of this project, and the service is called FTAM-like.

use crate::read::{Malformed, Reader};
use core::fmt;

/// Version that this module describes.
pub const VERSION: u8 = 1;
/// Octets of an F-DATA in front of its data.
pub const DATA_HEADER_OCTETS: usize = 1;
/// Longest name of a file in octets.
pub const LONGEST_NAME: usize = 255;

/// Direction of a transfer, from the point of view of the initiator.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Mode {
    /// The initiator reads the file.
    Read,
    /// The initiator writes the file.
    Write,
}

/// Result of a service, or of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Status {
    /// Success.
    Ok,
    /// There is no file of this name, or it may not be written.
    NoSuchFile,
    /// The file became shorter than the length that its sender has announced.
    Shrunk,
    /// The receiver has other octets than the file, or another number of them.
    Differs,
    /// The receiver has no room for the file.
    TooLong,
    /// The service is not permitted now.
    OutOfPlace,
}

impl Status {
    const ALL: [Self; 6] =
        [Self::Ok, Self::NoSuchFile, Self::Shrunk, Self::Differs, Self::TooLong, Self::OutOfPlace];

    fn code(self) -> u8 {
        Self::ALL.iter().position(|one| *one == self).map_or(0, |place| place as u8)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ok => "success",
            Self::NoSuchFile => "no such file",
            Self::Shrunk => "the file became shorter while it was sent",
            Self::Differs => "the octets received are not those of the file",
            Self::TooLong => "no room for the file",
            Self::OutOfPlace => "service not permitted now",
        })
    }
}

/// PDU of the file transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pdu<'a> {
    /// F-INITIALIZE request.
    Initialize {
        /// Version of the initiator.
        version: u8,
    },
    /// F-INITIALIZE response.
    Initialized(Status),
    /// F-SELECT request.
    Select {
        /// Name of the file, in octets of any meaning.
        name: &'a [u8],
    },
    /// F-SELECT response.
    Selected {
        /// Result.
        status: Status,
        /// Length of the file in octets; zero of one that is to be written.
        octets: u64,
    },
    /// F-OPEN request.
    Open(Mode),
    /// F-OPEN response.
    Opened(Status),
    /// F-READ request.
    Read {
        /// True if each F-DATA is to have CASE's EOT: stop-and-wait.
        each_eot: bool,
        /// Octets of each F-DATA, at least 1.
        block_octets: u16,
    },
    /// F-WRITE request.
    Write {
        /// Length of the file in octets.
        octets: u64,
    },
    /// F-DATA request.
    Data(&'a [u8]),
    /// F-DATA-END request.
    DataEnd {
        /// Result, of the sender of the data.
        status: Status,
        /// Octets that were sent.
        octets: u64,
    },
    /// F-TRANSFER-END request.
    TransferEnd,
    /// F-TRANSFER-END response.
    TransferEnded {
        /// Result, of the responder.
        status: Status,
        /// Octets that it has sent or received.
        octets: u64,
    },
    /// F-CLOSE request.
    Close,
    /// F-CLOSE response.
    Closed,
    /// F-DESELECT request.
    Deselect,
    /// F-DESELECT response.
    Deselected,
    /// F-TERMINATE request.
    Terminate,
    /// F-TERMINATE response.
    Terminated,
}

impl<'a> Pdu<'a> {
    /// Decodes the data of an A-TRANSFER.
    ///
    /// # Errors
    /// Names the field that is missing or invalid.
    pub fn decode(octets: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        let pdu = match reader.u8("kind")? {
            0 => Self::Initialize { version: reader.u8("version")? },
            1 => Self::Initialized(status(&mut reader)?),
            2 => return name(reader.rest()),
            3 => Self::Selected { status: status(&mut reader)?, octets: length(&mut reader)? },
            4 => Self::Open(match reader.u8("mode")? {
                0 => Mode::Read,
                1 => Mode::Write,
                _ => return Err(Malformed { field: "mode", offset: 1 }),
            }),
            5 => Self::Opened(status(&mut reader)?),
            6 => Self::Read {
                each_eot: match reader.u8("eot")? {
                    0 => false,
                    1 => true,
                    _ => return Err(Malformed { field: "eot", offset: 1 }),
                },
                block_octets: match reader.u16("block")? {
                    0 => return Err(Malformed { field: "block", offset: 2 }),
                    octets => octets,
                },
            },
            7 => Self::Write { octets: length(&mut reader)? },
            8 => return Ok(Self::Data(reader.rest())),
            9 => Self::DataEnd { status: status(&mut reader)?, octets: length(&mut reader)? },
            10 => Self::TransferEnd,
            11 => {
                Self::TransferEnded { status: status(&mut reader)?, octets: length(&mut reader)? }
            }
            12 => Self::Close,
            13 => Self::Closed,
            14 => Self::Deselect,
            15 => Self::Deselected,
            16 => Self::Terminate,
            17 => Self::Terminated,
            _ => return Err(Malformed { field: "kind", offset: 0 }),
        };
        let offset = octets.len() - reader.rest().len();
        if reader.rest().is_empty() { Ok(pdu) } else { Err(Malformed { field: "end", offset }) }
    }

    /// Octets of the PDU. A name longer than [`LONGEST_NAME`] makes one that no decoder accepts.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let with_length = |kind: u8, status: Status, octets: u64| {
            [&[kind, status.code()], &octets.to_be_bytes()[..]].concat()
        };
        match self {
            Self::Initialize { version } => vec![0, *version],
            Self::Initialized(status) => vec![1, status.code()],
            Self::Select { name } => [&[2], *name].concat(),
            Self::Selected { status, octets } => with_length(3, *status, *octets),
            Self::Open(mode) => vec![4, u8::from(*mode == Mode::Write)],
            Self::Opened(status) => vec![5, status.code()],
            Self::Read { each_eot, block_octets } => {
                [&[6, u8::from(*each_eot)], &block_octets.to_be_bytes()[..]].concat()
            }
            Self::Write { octets } => [&[7], &octets.to_be_bytes()[..]].concat(),
            Self::Data(data) => [&[8], *data].concat(),
            Self::DataEnd { status, octets } => with_length(9, *status, *octets),
            Self::TransferEnd => vec![10],
            Self::TransferEnded { status, octets } => with_length(11, *status, *octets),
            Self::Close => vec![12],
            Self::Closed => vec![13],
            Self::Deselect => vec![14],
            Self::Deselected => vec![15],
            Self::Terminate => vec![16],
            Self::Terminated => vec![17],
        }
    }
}

fn name(octets: &[u8]) -> Result<Pdu<'_>, Malformed> {
    if octets.is_empty() || octets.len() > LONGEST_NAME {
        return Err(Malformed { field: "name", offset: 1 });
    }
    Ok(Pdu::Select { name: octets })
}

fn status(reader: &mut Reader<'_>) -> Result<Status, Malformed> {
    let code = reader.u8("result")?;
    Status::ALL.get(usize::from(code)).copied().ok_or(Malformed { field: "result", offset: 1 })
}

fn length(reader: &mut Reader<'_>) -> Result<u64, Malformed> {
    reader.array("length").map(u64::from_be_bytes)
}

impl fmt::Display for Pdu<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FTAM-like ")?;
        match self {
            Self::Initialize { version } => write!(f, "F-INITIALIZE request, version {version}"),
            Self::Initialized(status) => write!(f, "F-INITIALIZE response: {status}"),
            Self::Select { name } => write!(f, "F-SELECT request, name of {} octets", name.len()),
            Self::Selected { status, octets } => {
                write!(f, "F-SELECT response: {status}, {octets} octets")
            }
            Self::Open(Mode::Read) => f.write_str("F-OPEN request, to read"),
            Self::Open(Mode::Write) => f.write_str("F-OPEN request, to write"),
            Self::Opened(status) => write!(f, "F-OPEN response: {status}"),
            Self::Read { each_eot: true, .. } => f.write_str("F-READ request, EOT on each F-DATA"),
            Self::Read { each_eot: false, .. } => f.write_str("F-READ request"),
            Self::Write { octets } => write!(f, "F-WRITE request, {octets} octets"),
            Self::Data(data) => write!(f, "F-DATA, {} octets", data.len()),
            Self::DataEnd { status, octets } => {
                write!(f, "F-DATA-END: {status}, {octets} octets")
            }
            Self::TransferEnd => f.write_str("F-TRANSFER-END request"),
            Self::TransferEnded { status, octets } => {
                write!(f, "F-TRANSFER-END response: {status}, {octets} octets")
            }
            Self::Close => f.write_str("F-CLOSE request"),
            Self::Closed => f.write_str("F-CLOSE response"),
            Self::Deselect => f.write_str("F-DESELECT request"),
            Self::Deselected => f.write_str("F-DESELECT response"),
            Self::Terminate => f.write_str("F-TERMINATE request"),
            Self::Terminated => f.write_str("F-TERMINATE response"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pdus_are_read_back_as_written() {
        let octets = 0x0102_0304_0506_0708;
        let all = [
            Pdu::Initialize { version: VERSION },
            Pdu::Select { name: b"part.nc" },
            Pdu::Open(Mode::Read),
            Pdu::Open(Mode::Write),
            Pdu::Read { each_eot: true, block_octets: 1_000 },
            Pdu::Read { each_eot: false, block_octets: 1 },
            Pdu::Write { octets },
            Pdu::Data(&[]),
            Pdu::Data(&[1, 2, 3]),
            Pdu::TransferEnd,
            Pdu::Close,
            Pdu::Closed,
            Pdu::Deselect,
            Pdu::Deselected,
            Pdu::Terminate,
            Pdu::Terminated,
        ];
        let with_status = Status::ALL.into_iter().flat_map(|status| {
            [
                Pdu::Initialized(status),
                Pdu::Selected { status, octets },
                Pdu::Opened(status),
                Pdu::DataEnd { status, octets },
                Pdu::TransferEnded { status, octets },
            ]
        });
        for pdu in all.into_iter().chain(with_status) {
            assert_eq!(Pdu::decode(&pdu.encode()), Ok(pdu), "{pdu}");
            assert!(pdu.to_string().starts_with("FTAM-like "), "{pdu}");
        }
    }

    #[test]
    fn octets_that_are_no_pdu_are_refused_by_field() {
        let long = [&[2][..], &[b'a'; LONGEST_NAME + 1]].concat();
        let cases: [(&[u8], &str); 11] = [
            (&[], "kind"),
            (&[18], "kind"),
            (&[0], "version"),
            (&[1, 9], "result"),
            (&[2], "name"),
            (&long, "name"),
            (&[3, 0, 1], "length"),
            (&[4, 2], "mode"),
            (&[6, 2], "eot"),
            (&[6, 1, 0, 0], "block"),
            (&[12, 0], "end"),
        ];
        for (octets, field) in cases {
            assert_eq!(Pdu::decode(octets).map_err(|it| it.field), Err(field), "{octets:?}");
        }
    }
}
