//! Variable part of a TPDU header: parameters as code, length and value (ISO 8073 13.2.3).

use super::Kind;
use crate::read::{Malformed, Reader};
use arrayvec::ArrayVec;
use core::fmt;

/// Flow control confirmation: values of the last AK received, repeated in an AK (ISO 8073 13.9.4 c;
/// code 8C, which RFC 905 misprints).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowControlConfirmation {
    /// Confirmed lower window edge (LWE).
    pub lower_window_edge: u32,
    /// Confirmed subsequence number.
    pub subsequence: u16,
    /// Confirmed credit.
    pub credit: u16,
}

/// Parameter, decoded as far as its length and its TPDU permit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Parameter<'a> {
    /// C0: maximum TPDU size, as an exponent of two (7 is 128 octets, 13 is 8,192).
    TpduSize(u8),
    /// C1 in CR and CC: TSAP identifier of the calling user.
    CallingTsap(&'a [u8]),
    /// C2: TSAP identifier of the called user.
    CalledTsap(&'a [u8]),
    /// C1 in ER: rejected TPDU, up to the octet that was wrong.
    InvalidTpdu(&'a [u8]),
    /// C3: checksum octets.
    Checksum([u8; 2]),
    /// C4: protocol version; 1.
    Version(u8),
    /// C5: protection, agreed between the users.
    Protection(&'a [u8]),
    /// C6: additional options as bits: 1 expedited data, 2 **non**-use of the checksum.
    AdditionalOptions(u8),
    /// C7: acceptable alternative classes.
    AlternativeClasses(&'a [u8]),
    /// 85: acknowledge time: the sender's maximum, in milliseconds (A_L).
    AcknowledgeTime(u16),
    /// 86: residual error rate: target and minimum as powers of ten, TSDU size as a power of two.
    ResidualErrorRate([u8; 3]),
    /// 87: priority, 0 the highest.
    Priority(u16),
    /// 88: transit delay in milliseconds: calling-called target and maximum, then called-calling.
    TransitDelay([u16; 4]),
    /// 89: throughput figures of three octets each, as received.
    Throughput(&'a [u8]),
    /// 8A: subsequence number, which orders AKs with the same YR-TU-NR.
    Subsequence(u16),
    /// 8B: maximum time for reassignment after failure, in seconds (classes 1 and 3).
    ReassignmentTime(u16),
    /// 8C: flow control confirmation.
    FlowControlConfirmation(FlowControlConfirmation),
    /// 8F: selective acknowledgement blocks (1995 edition), as received.
    SelectiveAcknowledgement(&'a [u8]),
    /// E0 in DR: additional information from the user or the provider.
    AdditionalInformation(&'a [u8]),
    /// F0: preferred maximum TPDU size, in units of 128 octets.
    PreferredTpduSize(u32),
    /// F2: inactivity time, in milliseconds.
    InactivityTime(u32),
    /// Unknown code for this kind of TPDU, or a value of invalid length for the code.
    Unknown {
        /// Parameter code.
        code: u8,
        /// Value as received.
        octets: &'a [u8],
    },
}

fn unsigned(octets: &[u8]) -> u32 {
    octets.iter().fold(0, |value, octet| value << 8 | u32::from(*octet))
}

impl<'a> Parameter<'a> {
    /// Decodes `octets` under `code` in a TPDU of `kind`.
    #[must_use]
    pub fn decode(kind: Kind, code: u8, octets: &'a [u8]) -> Self {
        let connecting = matches!(kind, Kind::Cr | Kind::Cc);
        Self::common(code, octets)
            .or_else(|| if connecting { Self::of_connection(code, octets) } else { None })
            .or_else(|| Self::of_others(kind, code, octets))
            .unwrap_or(Self::Unknown { code, octets })
    }

    const fn common(code: u8, octets: &[u8]) -> Option<Self> {
        match (code, octets) {
            (0xC3, [x, y]) => Some(Self::Checksum([*x, *y])),
            _ => None,
        }
    }

    fn of_connection(code: u8, octets: &'a [u8]) -> Option<Self> {
        Some(match (code, octets) {
            (0xC0, [size]) => Self::TpduSize(*size),
            (0xC1, _) => Self::CallingTsap(octets),
            (0xC2, _) => Self::CalledTsap(octets),
            (0xC4, [version]) => Self::Version(*version),
            (0xC5, _) => Self::Protection(octets),
            (0xC6, [options]) => Self::AdditionalOptions(*options),
            (0xC7, _) => Self::AlternativeClasses(octets),
            (0x85, [a, b]) => Self::AcknowledgeTime(u16::from_be_bytes([*a, *b])),
            (0x86, [a, b, c]) => Self::ResidualErrorRate([*a, *b, *c]),
            (0x87, [a, b]) => Self::Priority(u16::from_be_bytes([*a, *b])),
            (0x88, [a, b, c, d, e, f, g, h]) => Self::TransitDelay([
                u16::from_be_bytes([*a, *b]),
                u16::from_be_bytes([*c, *d]),
                u16::from_be_bytes([*e, *f]),
                u16::from_be_bytes([*g, *h]),
            ]),
            (0x89, _) if matches!(octets.len(), 12 | 24) => Self::Throughput(octets),
            (0x8B, [a, b]) => Self::ReassignmentTime(u16::from_be_bytes([*a, *b])),
            (0xF0, [_, ..]) if octets.len() <= 4 => Self::PreferredTpduSize(unsigned(octets)),
            (0xF2, [_, _, _, _]) => Self::InactivityTime(unsigned(octets)),
            _ => return None,
        })
    }

    fn of_others(kind: Kind, code: u8, octets: &'a [u8]) -> Option<Self> {
        Some(match (kind, code, octets) {
            (Kind::Er, 0xC1, _) => Self::InvalidTpdu(octets),
            (Kind::Dr, 0xE0, _) => Self::AdditionalInformation(octets),
            (Kind::Ak, 0x8A, [a, b]) => Self::Subsequence(u16::from_be_bytes([*a, *b])),
            (Kind::Ak, 0x8C, [a, b, c, d, e, f, g, h]) => {
                Self::FlowControlConfirmation(FlowControlConfirmation {
                    lower_window_edge: u32::from_be_bytes([*a, *b, *c, *d]),
                    subsequence: u16::from_be_bytes([*e, *f]),
                    credit: u16::from_be_bytes([*g, *h]),
                })
            }
            (Kind::Ak, 0x8F, _) if octets.len().is_multiple_of(4) => {
                Self::SelectiveAcknowledgement(octets)
            }
            _ => return None,
        })
    }

    /// Parameter code.
    #[must_use]
    pub const fn code(&self) -> u8 {
        match self {
            Self::TpduSize(_) => 0xC0,
            Self::CallingTsap(_) | Self::InvalidTpdu(_) => 0xC1,
            Self::CalledTsap(_) => 0xC2,
            Self::Checksum(_) => 0xC3,
            Self::Version(_) => 0xC4,
            Self::Protection(_) => 0xC5,
            Self::AdditionalOptions(_) => 0xC6,
            Self::AlternativeClasses(_) => 0xC7,
            Self::AcknowledgeTime(_) => 0x85,
            Self::ResidualErrorRate(_) => 0x86,
            Self::Priority(_) => 0x87,
            Self::TransitDelay(_) => 0x88,
            Self::Throughput(_) => 0x89,
            Self::Subsequence(_) => 0x8A,
            Self::ReassignmentTime(_) => 0x8B,
            Self::FlowControlConfirmation(_) => 0x8C,
            Self::SelectiveAcknowledgement(_) => 0x8F,
            Self::AdditionalInformation(_) => 0xE0,
            Self::PreferredTpduSize(_) => 0xF0,
            Self::InactivityTime(_) => 0xF2,
            Self::Unknown { code, .. } => *code,
        }
    }

    fn value(&self) -> ArrayVec<u8, 255> {
        let mut value = ArrayVec::new();
        let mut put = |octets: &[u8]| {
            value.extend(octets.iter().copied().take(value.remaining_capacity()));
        };
        match self {
            Self::TpduSize(octet) | Self::Version(octet) | Self::AdditionalOptions(octet) => {
                put(&[*octet]);
            }
            Self::CallingTsap(octets)
            | Self::CalledTsap(octets)
            | Self::InvalidTpdu(octets)
            | Self::Protection(octets)
            | Self::AlternativeClasses(octets)
            | Self::Throughput(octets)
            | Self::SelectiveAcknowledgement(octets)
            | Self::AdditionalInformation(octets)
            | Self::Unknown { octets, .. } => put(octets),
            Self::Checksum(octets) => put(octets),
            Self::ResidualErrorRate(octets) => put(octets),
            Self::AcknowledgeTime(number)
            | Self::Priority(number)
            | Self::Subsequence(number)
            | Self::ReassignmentTime(number) => put(&number.to_be_bytes()),
            Self::TransitDelay(delays) => delays.iter().for_each(|d| put(&d.to_be_bytes())),
            Self::FlowControlConfirmation(confirmed) => {
                put(&confirmed.lower_window_edge.to_be_bytes());
                put(&confirmed.subsequence.to_be_bytes());
                put(&confirmed.credit.to_be_bytes());
            }
            Self::PreferredTpduSize(number) => {
                let skip = (number.leading_zeros() / 8).min(3) as usize;
                put(number.to_be_bytes().get(skip..).unwrap_or_default());
            }
            Self::InactivityTime(number) => put(&number.to_be_bytes()),
        }
        value
    }
}

struct Hex<'a>(&'a [u8]);

impl fmt::Display for Hex<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|octet| write!(f, "{octet:02x}"))
    }
}

impl fmt::Display for Parameter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TpduSize(exponent @ 0..=31) => write!(f, "tpdu-size={}", 1_u64 << exponent),
            Self::TpduSize(exponent) => write!(f, "tpdu-size=2^{exponent}"),
            Self::CallingTsap(octets) => write!(f, "calling={}", Hex(octets)),
            Self::CalledTsap(octets) => write!(f, "called={}", Hex(octets)),
            Self::InvalidTpdu(octets) => write!(f, "invalid={}", Hex(octets)),
            Self::Checksum(octets) => write!(f, "checksum={}", Hex(octets)),
            Self::Version(version) => write!(f, "version={version}"),
            Self::Protection(octets) => write!(f, "protection={}", Hex(octets)),
            Self::AdditionalOptions(options) => write!(f, "options={options:02x}"),
            Self::AlternativeClasses(octets) => write!(f, "alternatives={}", Hex(octets)),
            Self::AcknowledgeTime(ms) => write!(f, "ack-time={ms}ms"),
            Self::ResidualErrorRate(octets) => write!(f, "error-rate={}", Hex(octets)),
            Self::Priority(priority) => write!(f, "priority={priority}"),
            Self::TransitDelay([a, b, c, d]) => write!(f, "transit-delay={a},{b},{c},{d}ms"),
            Self::Throughput(octets) => write!(f, "throughput={}", Hex(octets)),
            Self::Subsequence(number) => write!(f, "subsequence={number}"),
            Self::ReassignmentTime(s) => write!(f, "reassignment-time={s}s"),
            Self::FlowControlConfirmation(c) => {
                write!(f, "confirms={}/{}/{}", c.lower_window_edge, c.subsequence, c.credit)
            }
            Self::SelectiveAcknowledgement(octets) => write!(f, "selective={}", Hex(octets)),
            Self::AdditionalInformation(octets) => write!(f, "information={}", Hex(octets)),
            Self::PreferredTpduSize(units) => {
                write!(f, "preferred-size={}", u64::from(*units) * 128)
            }
            Self::InactivityTime(ms) => write!(f, "inactivity-time={ms}ms"),
            Self::Unknown { code, octets } => write!(f, "?{code:02x}={}", Hex(octets)),
        }
    }
}

/// Parameters of one TPDU: complete and in order, with their values not yet decoded.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Parameters<'a> {
    kind: Kind,
    octets: &'a [u8],
}

impl<'a> Parameters<'a> {
    /// No parameters.
    #[must_use]
    pub const fn none(kind: Kind) -> Self {
        Self { kind, octets: &[] }
    }

    /// Checksum alone, zero until [`super::seal`] sets it.
    #[must_use]
    pub const fn checksum_to_seal(kind: Kind) -> Parameters<'static> {
        Parameters { kind, octets: &[0xC3, 2, 0, 0] }
    }

    /// Checks the variable part `octets` of a TPDU of `kind`.
    ///
    /// # Errors
    /// Names the parameter whose length reaches past the end; offsets count from the variable part.
    #[inline]
    pub fn decode(kind: Kind, octets: &'a [u8]) -> Result<Self, Malformed> {
        // Nearly every TPDU has only a checksum parameter, or none.
        if matches!(octets, [] | [_, 2, _, _]) {
            return Ok(Self { kind, octets });
        }
        Self::decode_each(kind, octets)
    }

    fn decode_each(kind: Kind, octets: &'a [u8]) -> Result<Self, Malformed> {
        if is_text(kind, octets) {
            return Ok(Self { kind, octets });
        }
        let mut reader = Reader::new(octets);
        while !reader.is_empty() {
            reader.u8("parameter code")?;
            let length = reader.u8("parameter length")?;
            reader.take("parameter value", usize::from(length))?;
        }
        Ok(Self { kind, octets })
    }

    /// Octets of the variable part.
    #[must_use]
    pub const fn octets(&self) -> &'a [u8] {
        self.octets
    }

    /// Text that RDP clients write in place of the parameters of a CR, including the octets after
    /// it: a routing token or cookie, and optionally a negotiation request (\[MS-RDPBCGR\]
    /// 2.2.1.1).
    #[must_use]
    pub fn text(&self) -> Option<&'a [u8]> {
        is_text(self.kind, self.octets).then_some(self.octets)
    }

    /// Iterates over the parameters in order; yields none if a text replaces them.
    pub fn iter(&self) -> impl Iterator<Item = Parameter<'a>> + use<'a> {
        let kind = self.kind;
        self.values().map(move |(code, value)| Parameter::decode(kind, code, value))
    }

    /// Value of the last parameter with this code: of duplicates the last one counts.
    #[must_use]
    pub fn value(&self, code: u8) -> Option<&'a [u8]> {
        self.values().filter(|(found, _)| *found == code).last().map(|(_, value)| value)
    }

    /// Checksum octets, if there is a checksum parameter of the right length.
    #[must_use]
    #[inline]
    pub fn checksum(&self) -> Option<[u8; 2]> {
        match self.octets {
            [] => None,
            [0xC3, 2, x, y] => Some([*x, *y]),
            _ => self.checksum_of_several(),
        }
    }

    fn checksum_of_several(&self) -> Option<[u8; 2]> {
        self.value(0xC3).and_then(|value| value.try_into().ok())
    }

    /// Returns true if every parameter is defined for this kind of TPDU.
    #[must_use]
    pub fn are_known(&self) -> bool {
        self.iter().all(|parameter| !matches!(parameter, Parameter::Unknown { .. }))
    }

    fn values(&self) -> impl Iterator<Item = (u8, &'a [u8])> + use<'a> {
        let mut reader = Reader::new(if self.text().is_some() { &[] } else { self.octets });
        core::iter::from_fn(move || {
            let code = reader.u8("parameter code").ok()?;
            let length = reader.u8("parameter length").ok()?;
            Some((code, reader.take("parameter value", usize::from(length)).ok()?))
        })
    }
}

/// Start of the text of RDP clients, and end of its line.
const TEXT: (&[u8], &[u8]) = (b"Cookie: msts", b"\r\n");

/// Returns true if a text of RDP replaces the parameters.
fn is_text(kind: Kind, octets: &[u8]) -> bool {
    let (begin, end) = TEXT;
    kind == Kind::Cr
        && octets.starts_with(begin)
        && octets.windows(end.len()).any(|window| window == end)
}

/// Buffer of parameters for a TPDU to send.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ParameterBuffer(ArrayVec<u8, 244>);

impl ParameterBuffer {
    /// Creates an empty buffer.
    #[must_use]
    pub const fn new() -> Self {
        Self(ArrayVec::new_const())
    }

    /// Appends a parameter. Returns `None` and appends nothing if the header would become too long.
    #[must_use]
    pub fn push(&mut self, parameter: &Parameter<'_>) -> Option<()> {
        let value = parameter.value();
        let length = u8::try_from(value.len()).ok()?;
        if self.0.remaining_capacity() < value.len() + 2 {
            return None;
        }
        self.0.extend([parameter.code(), length]);
        self.0.extend(value);
        Some(())
    }

    /// Parameters in the buffer, for a TPDU of `kind`.
    #[must_use]
    pub fn parameters(&self, kind: Kind) -> Parameters<'_> {
        Parameters { kind, octets: &self.0 }
    }
}
