//! Decoded TPDUs: fixed part field by field, parameters, user data.

use super::{Kind, Parameter, Parameters, Raw, Reference};
use crate::printable::Printable;
use crate::read::{Malformed, Reader};
use core::fmt;

/// Format of sequence numbers, agreed when the connection opens.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Format {
    /// Class 0 or 1 DT: no reference, one octet of number.
    Class0,
    /// 7-bit numbers, 4-bit credit.
    Normal,
    /// 31-bit numbers, 16-bit credit.
    Extended,
}

impl Format {
    /// Length of the fixed part, after the length indicator, of a TPDU of `kind`.
    const fn fixed_octets(self, kind: Kind) -> usize {
        match (self, kind) {
            (_, Kind::Cr | Kind::Cc | Kind::Dr) => 6,
            (_, Kind::Dc) => 5,
            (Self::Class0, Kind::Dt) => 2,
            (_, Kind::Er) => 4,
            (Self::Class0 | Self::Normal, Kind::Dt | Kind::Ed | Kind::Ea | Kind::Ak | Kind::Rj) => {
                4
            }
            (Self::Extended, Kind::Dt | Kind::Ed | Kind::Ea) => 7,
            (Self::Extended, Kind::Ak | Kind::Rj) => 9,
        }
    }

    /// Modulus of sequence numbers: 2^7 or 2^31.
    #[must_use]
    pub const fn modulus(self) -> u32 {
        match self {
            Self::Class0 | Self::Normal => 1 << 7,
            Self::Extended => 1 << 31,
        }
    }

    /// Infers the format of a TPDU, for readers that did not capture the opening of its connection.
    ///
    /// The length indicator alone is ambiguous, because a parameter of odd length changes it. A
    /// format fits only if the remaining variable part is complete and consists of parameters
    /// defined for this kind of TPDU.
    #[must_use]
    pub fn guess(raw: &Raw<'_>) -> Option<Self> {
        let header = raw.header();
        if raw.kind == Kind::Dt && header.len() == 3 {
            return Some(Self::Class0);
        }
        let fits = |format: &Self| {
            let variable = header.get(format.fixed_octets(raw.kind) + 1..);
            let parameters = variable.map(|octets| Parameters::decode(raw.kind, octets));
            matches!(parameters, Some(Ok(parameters)) if parameters.are_known())
        };
        let whole = |format: &Self| {
            let variable = header.get(format.fixed_octets(raw.kind) + 1..);
            variable.is_some_and(|octets| Parameters::decode(raw.kind, octets).is_ok())
        };
        let formats = [Self::Normal, Self::Extended];
        formats.into_iter().find(fits).or_else(|| formats.into_iter().find(whole))
    }
}

/// CLASS OPTION: class and options.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClassOption {
    /// Class, 0 to 4; other values are undefined.
    pub class: u8,
    /// Extended format of sequence numbers and credit (classes 2, 3, 4).
    pub extended: bool,
    /// Non-use of explicit flow control in class 2.
    pub without_flow_control: bool,
    /// The two reserved bits, as received.
    pub reserved: u8,
}

impl ClassOption {
    /// Class 4 with extended or normal format.
    #[must_use]
    pub const fn class4(extended: bool) -> Self {
        Self { class: 4, extended, without_flow_control: false, reserved: 0 }
    }

    /// Decodes the octet on the wire.
    #[must_use]
    pub const fn from_octet(octet: u8) -> Self {
        Self {
            class: octet >> 4,
            extended: octet & 0x02 != 0,
            without_flow_control: octet & 0x01 != 0,
            reserved: octet & 0x0C,
        }
    }

    /// Encodes the octet on the wire.
    #[must_use]
    pub const fn to_octet(self) -> u8 {
        self.class << 4
            | (self.extended as u8) << 1
            | self.without_flow_control as u8
            | self.reserved & 0x0C
    }

    /// Format of the connection's TPDUs if both sides agree on this class and these options.
    #[must_use]
    pub const fn format(self) -> Format {
        match (self.class, self.extended) {
            (0 | 1, _) => Format::Class0,
            (_, true) => Format::Extended,
            (_, false) => Format::Normal,
        }
    }
}

/// CR or CC: connection request or connection confirm.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Connect<'a> {
    /// CDT: initial credit of the sender, 0 to 15 DTs.
    pub credit: u8,
    /// DST-REF: zero in CR.
    pub destination_reference: Reference,
    /// SRC-REF: the sender's reference of the connection.
    pub source_reference: Reference,
    /// CLASS OPTION: preferred class (CR) or selected class (CC).
    pub class: ClassOption,
    /// Variable part.
    pub parameters: Parameters<'a>,
    /// User data, up to 32 octets.
    pub data: &'a [u8],
}

/// DR: release of a connection, or refusal of one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Disconnect<'a> {
    /// DST-REF: the receiver's reference of the connection.
    pub destination_reference: Reference,
    /// SRC-REF: the sender's reference; zero if it assigned none.
    pub source_reference: Reference,
    /// Reason (ISO 8073 13.5.3).
    pub reason: u8,
    /// Variable part.
    pub parameters: Parameters<'a>,
    /// User data, up to 64 octets.
    pub data: &'a [u8],
}

/// DC: confirmation of a release.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DisconnectConfirm<'a> {
    /// DST-REF.
    pub destination_reference: Reference,
    /// SRC-REF.
    pub source_reference: Reference,
    /// Variable part.
    pub parameters: Parameters<'a>,
}

/// DT: segment of a TSDU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Data<'a> {
    /// Format of the sequence number.
    pub format: Format,
    /// DST-REF; zero in class 0 and 1, in which DTs have none.
    pub destination_reference: Reference,
    /// TPDU-NR: sequence number among the DTs of this direction, modulo [`Format::modulus`].
    pub number: u32,
    /// EOT: end of the TSDU.
    pub end_of_tsdu: bool,
    /// ROA: an AK is requested at once (1995 edition).
    pub acknowledgement_requested: bool,
    /// Variable part.
    pub parameters: Parameters<'a>,
    /// User data.
    pub data: &'a [u8],
}

/// ED: expedited data of up to 16 octets, which may overtake normal data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Expedited<'a> {
    /// Format of the sequence number.
    pub format: Format,
    /// DST-REF.
    pub destination_reference: Reference,
    /// EDTPDU-NR: sequence number among the EDs of this direction.
    pub number: u32,
    /// Variable part.
    pub parameters: Parameters<'a>,
    /// User data.
    pub data: &'a [u8],
}

/// AK, or RJ, which has the same layout.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Acknowledgement<'a> {
    /// Format of numbers and credit.
    pub format: Format,
    /// DST-REF.
    pub destination_reference: Reference,
    /// YR-TU-NR: next DT expected; all DTs before it have arrived.
    pub next: u32,
    /// CDT: number of DTs that may be sent from there on.
    pub credit: u16,
    /// Variable part.
    pub parameters: Parameters<'a>,
}

/// EA: acknowledgement of an ED.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ExpeditedAcknowledgement<'a> {
    /// Format of the sequence number.
    pub format: Format,
    /// DST-REF.
    pub destination_reference: Reference,
    /// YR-EDTU-NR: number of the acknowledged ED.
    pub number: u32,
    /// Variable part.
    pub parameters: Parameters<'a>,
}

/// ER: error report on an invalid TPDU.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rejected<'a> {
    /// DST-REF.
    pub destination_reference: Reference,
    /// Reject cause: 0 no reason, 1 parameter code, 2 TPDU type, 3 parameter value.
    pub cause: u8,
    /// Variable part.
    pub parameters: Parameters<'a>,
}

/// TPDU of any kind.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Pdu<'a> {
    /// Connection request.
    Cr(Connect<'a>),
    /// Connection confirm.
    Cc(Connect<'a>),
    /// Disconnect request.
    Dr(Disconnect<'a>),
    /// Disconnect confirm.
    Dc(DisconnectConfirm<'a>),
    /// Data.
    Dt(Data<'a>),
    /// Expedited data.
    Ed(Expedited<'a>),
    /// Data acknowledgement.
    Ak(Acknowledgement<'a>),
    /// Expedited data acknowledgement.
    Ea(ExpeditedAcknowledgement<'a>),
    /// Reject.
    Rj(Acknowledgement<'a>),
    /// TPDU error.
    Er(Rejected<'a>),
}

/// EOT, and the bit that must be zero in AK and EA.
const TOP: (u8, u32) = (0x80, 0x8000_0000);

/// Reads a sequence number and the bit above it.
fn number(
    reader: &mut Reader<'_>,
    format: Format,
    field: &'static str,
) -> Result<(u32, bool), Malformed> {
    if format == Format::Extended {
        reader.u32(field).map(long_number)
    } else {
        reader.u8(field).map(short_number)
    }
}

/// Splits a number of the normal format.
const fn short_number(octet: u8) -> (u32, bool) {
    ((octet & !TOP.0) as u32, octet & TOP.0 != 0)
}

/// Splits a number of the extended format.
const fn long_number(word: u32) -> (u32, bool) {
    (word & !TOP.1, word & TOP.1 != 0)
}

impl<'a> Data<'a> {
    /// Decodes a DT in this format. The kind in its code octet is not checked.
    ///
    /// # Errors
    /// Names the field that cannot be read; offsets count from the length indicator.
    #[inline]
    pub fn decode(raw: &Raw<'a>, format: Format) -> Result<Self, Malformed> {
        let fields = match (format, raw.header()) {
            (Format::Class0, [_, code, number, variable @ ..]) => {
                (code, Reference(0), short_number(*number), variable)
            }
            (Format::Normal, [_, code, a, b, number, variable @ ..]) => {
                (code, Reference(u16::from_be_bytes([*a, *b])), short_number(*number), variable)
            }
            (Format::Extended, [_, code, a, b, c, d, e, f, variable @ ..]) => {
                let number = long_number(u32::from_be_bytes([*c, *d, *e, *f]));
                (code, Reference(u16::from_be_bytes([*a, *b])), number, variable)
            }
            (Format::Class0 | Format::Normal | Format::Extended, _) => {
                return Err(Malformed { field: "length indicator", offset: 0 });
            }
        };
        let (code, destination_reference, (number, end_of_tsdu), variable) = fields;
        let before = raw.header().len() - variable.len();
        let parameters = Parameters::decode(Kind::Dt, variable).map_err(|it| it.within(before))?;
        Ok(Self {
            format,
            destination_reference,
            number,
            end_of_tsdu,
            acknowledgement_requested: code & 0x0F == 1,
            parameters,
            data: raw.data(),
        })
    }

    /// Length of the header in octets, length indicator included.
    #[must_use]
    #[inline]
    pub const fn header_octets(&self) -> usize {
        1 + self.format.fixed_octets(Kind::Dt) + self.parameters.octets().len()
    }
}

impl<'a> Pdu<'a> {
    /// Decodes a TPDU in the format agreed for its connection, or in the inferred format for
    /// `None`.
    ///
    /// # Errors
    /// Names the field that cannot be read; offsets count from the length indicator.
    pub fn decode(raw: &Raw<'a>, format: Option<Format>) -> Result<Self, Malformed> {
        let guessed = match (raw.kind, format) {
            (Kind::Dt, Some(format)) if raw.header_octets > 3 => Some(format),
            (Kind::Ed | Kind::Ak | Kind::Ea | Kind::Rj, Some(format)) => Some(format),
            (Kind::Cr | Kind::Cc | Kind::Dr | Kind::Dc | Kind::Er, _) => Some(Format::Normal),
            _ => Format::guess(raw),
        };
        let format = guessed.ok_or(Malformed { field: "length indicator", offset: 0 })?;
        if raw.kind == Kind::Dt {
            return Data::decode(raw, format).map(Self::Dt);
        }
        let fixed = format.fixed_octets(raw.kind) + 1;
        let Some((fixed_part, variable)) = raw.header().split_at_checked(fixed) else {
            return Err(Malformed { field: "length indicator", offset: 0 });
        };
        let parameters =
            Parameters::decode(raw.kind, variable).map_err(|complaint| complaint.within(fixed))?;
        let mut reader = Reader::new(fixed_part);
        reader.u8("length indicator")?;
        let low = reader.u8("TPDU code")? & 0x0F;
        match raw.kind {
            Kind::Cr | Kind::Cc | Kind::Dr | Kind::Dc => {
                Self::of_connection(raw, low, &mut reader, parameters)
            }
            // A DT was decoded above.
            Kind::Dt | Kind::Ed => Self::expedited(raw, format, &mut reader, parameters),
            Kind::Ak | Kind::Ea | Kind::Rj | Kind::Er => {
                Self::without_data(raw, low, format, &mut reader, parameters)
            }
        }
    }

    fn of_connection(
        raw: &Raw<'a>,
        credit: u8,
        reader: &mut Reader<'a>,
        parameters: Parameters<'a>,
    ) -> Result<Self, Malformed> {
        let destination_reference = Reference(reader.u16("DST-REF")?);
        let source_reference = Reference(reader.u16("SRC-REF")?);
        if raw.kind == Kind::Dc {
            let dc = DisconnectConfirm { destination_reference, source_reference, parameters };
            return Ok(Self::Dc(dc));
        }
        let last = reader.u8(if raw.kind == Kind::Dr { "reason" } else { "class option" })?;
        let (data, class) = (raw.data(), ClassOption::from_octet(last));
        let connect =
            Connect { credit, destination_reference, source_reference, class, parameters, data };
        Ok(match raw.kind {
            Kind::Cr => Self::Cr(connect),
            Kind::Cc => Self::Cc(connect),
            _ => Self::Dr(Disconnect {
                destination_reference,
                source_reference,
                reason: last,
                parameters,
                data,
            }),
        })
    }

    fn expedited(
        raw: &Raw<'a>,
        format: Format,
        reader: &mut Reader<'a>,
        parameters: Parameters<'a>,
    ) -> Result<Self, Malformed> {
        let destination_reference = Reference(reader.u16("DST-REF")?);
        let eot = reader.malformed("EOT");
        let (number, end_of_tsdu) = number(reader, format, "TPDU-NR")?;
        // 13.8.3: an ED always ends its (expedited) TSDU.
        if !end_of_tsdu {
            return Err(eot);
        }
        let data = raw.data();
        Ok(Self::Ed(Expedited { format, destination_reference, number, parameters, data }))
    }

    fn without_data(
        raw: &Raw<'a>,
        low: u8,
        format: Format,
        reader: &mut Reader<'a>,
        parameters: Parameters<'a>,
    ) -> Result<Self, Malformed> {
        let destination_reference = Reference(reader.u16("DST-REF")?);
        if raw.kind == Kind::Er {
            let cause = reader.u8("reject cause")?;
            return Ok(Self::Er(Rejected { destination_reference, cause, parameters }));
        }
        // 13.9.3: the top bit is zero. The standard does not define a receiver's reaction if it is
        // set; it is not kept.
        let (next, _) = number(reader, format, "YR-TU-NR")?;
        if raw.kind == Kind::Ea {
            let number = next;
            return Ok(Self::Ea(ExpeditedAcknowledgement {
                format,
                destination_reference,
                number,
                parameters,
            }));
        }
        let credit = match format {
            Format::Extended => reader.u16("CDT")?,
            Format::Class0 | Format::Normal => u16::from(low),
        };
        let ak = Acknowledgement { format, destination_reference, next, credit, parameters };
        Ok(if raw.kind == Kind::Ak { Self::Ak(ak) } else { Self::Rj(ak) })
    }

    /// Kind of the TPDU.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self {
            Self::Cr(_) => Kind::Cr,
            Self::Cc(_) => Kind::Cc,
            Self::Dr(_) => Kind::Dr,
            Self::Dc(_) => Kind::Dc,
            Self::Dt(_) => Kind::Dt,
            Self::Ed(_) => Kind::Ed,
            Self::Ak(_) => Kind::Ak,
            Self::Ea(_) => Kind::Ea,
            Self::Rj(_) => Kind::Rj,
            Self::Er(_) => Kind::Er,
        }
    }

    /// Variable part.
    #[must_use]
    pub const fn parameters(&self) -> Parameters<'a> {
        match self {
            Self::Cr(pdu) | Self::Cc(pdu) => pdu.parameters,
            Self::Dr(pdu) => pdu.parameters,
            Self::Dc(pdu) => pdu.parameters,
            Self::Dt(pdu) => pdu.parameters,
            Self::Ed(pdu) => pdu.parameters,
            Self::Ak(pdu) | Self::Rj(pdu) => pdu.parameters,
            Self::Ea(pdu) => pdu.parameters,
            Self::Er(pdu) => pdu.parameters,
        }
    }

    /// User data; empty for kinds without user data.
    #[must_use]
    pub const fn data(&self) -> &'a [u8] {
        match self {
            Self::Cr(pdu) | Self::Cc(pdu) => pdu.data,
            Self::Dr(pdu) => pdu.data,
            Self::Dt(pdu) => pdu.data,
            Self::Ed(pdu) => pdu.data,
            Self::Dc(_) | Self::Ak(_) | Self::Ea(_) | Self::Rj(_) | Self::Er(_) => &[],
        }
    }

    /// DST-REF: the receiver's reference of the connection.
    #[must_use]
    pub const fn destination_reference(&self) -> Reference {
        match self {
            Self::Cr(pdu) | Self::Cc(pdu) => pdu.destination_reference,
            Self::Dr(pdu) => pdu.destination_reference,
            Self::Dc(pdu) => pdu.destination_reference,
            Self::Dt(pdu) => pdu.destination_reference,
            Self::Ed(pdu) => pdu.destination_reference,
            Self::Ak(pdu) | Self::Rj(pdu) => pdu.destination_reference,
            Self::Ea(pdu) => pdu.destination_reference,
            Self::Er(pdu) => pdu.destination_reference,
        }
    }

    pub(super) const fn fixed_octets(&self) -> usize {
        let format = match self {
            Self::Dt(pdu) => pdu.format,
            Self::Ed(pdu) => pdu.format,
            Self::Ak(pdu) | Self::Rj(pdu) => pdu.format,
            Self::Ea(pdu) => pdu.format,
            Self::Cr(_) | Self::Cc(_) | Self::Dr(_) | Self::Dc(_) | Self::Er(_) => Format::Normal,
        };
        format.fixed_octets(self.kind())
    }
}

impl fmt::Display for Pdu<'_> {
    /// Prints one line: kind, references, numbers, parameters except the checksum octets, user
    /// data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let references = |f: &mut fmt::Formatter<'_>, to: Reference, from: Reference| {
            write!(f, "TP {} {from}>{to}", self.kind())
        };
        match self {
            Self::Cr(pdu) | Self::Cc(pdu) => {
                references(f, pdu.destination_reference, pdu.source_reference)?;
                write!(f, " class={} credit={}", pdu.class.class, pdu.credit)?;
                if pdu.class.extended {
                    f.write_str(" extended")?;
                }
            }
            Self::Dr(pdu) => {
                references(f, pdu.destination_reference, pdu.source_reference)?;
                write!(f, " reason={}", pdu.reason)?;
            }
            Self::Dc(pdu) => references(f, pdu.destination_reference, pdu.source_reference)?,
            Self::Dt(pdu) => {
                write!(f, "TP DT {} nr={}", pdu.destination_reference, pdu.number)?;
                f.write_str(if pdu.end_of_tsdu { " eot" } else { "" })?;
                f.write_str(if pdu.acknowledgement_requested { " roa" } else { "" })?;
            }
            Self::Ed(pdu) => write!(f, "TP ED {} nr={}", pdu.destination_reference, pdu.number)?,
            Self::Ak(pdu) | Self::Rj(pdu) => {
                let (to, kind) = (pdu.destination_reference, self.kind());
                write!(f, "TP {kind} {to} nr={} credit={}", pdu.next, pdu.credit)?;
            }
            Self::Ea(pdu) => write!(f, "TP EA {} nr={}", pdu.destination_reference, pdu.number)?,
            Self::Er(pdu) => write!(f, "TP ER {} cause={}", pdu.destination_reference, pdu.cause)?,
        }
        if let Some(text) = self.parameters().text() {
            let end = text.iter().position(|octet| *octet == b'\r').unwrap_or(text.len());
            let (line, rest) = text.split_at(end);
            write!(f, " RDP \"{}\"", Printable(&String::from_utf8_lossy(line)))?;
            let negotiation_octets = rest.len().saturating_sub(b"\r\n".len());
            if negotiation_octets > 0 {
                write!(f, " and {negotiation_octets} octets of negotiation")?;
            }
        }
        for parameter in self.parameters().iter() {
            match parameter {
                Parameter::Checksum(_) => f.write_str(" checksum")?,
                other => write!(f, " {other}")?,
            }
        }
        match (self.data().len(), self.kind()) {
            (0, kind) if kind != Kind::Dt && kind != Kind::Ed => Ok(()),
            (octets, _) => write!(f, " {octets} octets"),
        }
    }
}
