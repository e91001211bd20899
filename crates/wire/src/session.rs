//! Session protocol of ISO 8327 (X.225): the SPDUs of the kernel with the duplex functional unit,
//! versions 1 and 2.
//!
//! ```text
//! octet  0   1                        2
//!        SI  LI (or FF and 2 octets)  parameters: PI or PGI, length, value
//! ```
//!
//! A TSDU carries one SPDU, or a GT or PT followed by a second SPDU (8327 8.1, basic
//! concatenation). GT and DT have one identifier: DT is the second. So user data begins
//! `01 00 01 00`, and extends to the end of the TSDU.
//!
//! Unknown parameters are skipped, and a known one that occurs twice counts as it
//! occurred last. Short SPDUs (X.225 amendment 1, used by ATN) are recognised, and their contents
//! kept. Left out: the other functional units, of which SPDUs keep their identifier and octets.

use crate::ber::{Hex, Writer};
use crate::read::{Malformed, Reader};
use core::fmt;

/// Bit of version 1 in the version number.
pub const VERSION_1: u8 = 1;
/// Bit of version 2 in the version number.
pub const VERSION_2: u8 = 2;
/// Session user requirements: the duplex functional unit alone.
pub const DUPLEX: u16 = 2;
/// Octets in front of user data: an empty GT and an empty DT.
pub const DATA: [u8; 4] = [1, 0, 1, 0];
/// Longest user data of PI C1 in a CN; longer ones have PI C2, in version 2 (8327 8.3.1).
pub const LONGEST_USER_DATA: usize = 512;

/// Kind of SPDU.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// CONNECT.
    Cn,
    /// ACCEPT.
    Ac,
    /// REFUSE.
    Rf,
    /// FINISH.
    Fn,
    /// DISCONNECT.
    Dn,
    /// ABORT.
    Ab,
    /// ABORT ACCEPT.
    Aa,
    /// GIVE TOKENS, alone.
    Gt,
    /// PLEASE TOKENS, alone.
    Pt,
    /// DATA TRANSFER, behind a GT or PT.
    Dt,
    /// Short SPDU of the efficiency enhancements (ATN), by its first octet.
    Short(u8),
    /// SPDU of another functional unit, by its identifier: 0F is CONNECT DATA OVERFLOW, 10 OVERFLOW
    /// ACCEPT.
    Other(u8),
}

impl Kind {
    /// Returns the kind for the identifier of a first SPDU.
    #[must_use]
    pub const fn of_code(code: u8) -> Self {
        match code {
            0x01 => Self::Gt,
            0x02 => Self::Pt,
            0x09 => Self::Fn,
            0x0A => Self::Dn,
            0x0C => Self::Rf,
            0x0D => Self::Cn,
            0x0E => Self::Ac,
            0x19 => Self::Ab,
            0x1A => Self::Aa,
            // SRFC, SRF, SCN, SACC, SAC, in the upper five bits.
            0xA0..=0xA7 | 0xE0..=0xEF | 0xF0..=0xFF => Self::Short(code),
            other => Self::Other(other),
        }
    }

    /// Identifier (SI).
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Gt | Self::Dt => 0x01,
            Self::Pt => 0x02,
            Self::Fn => 0x09,
            Self::Dn => 0x0A,
            Self::Rf => 0x0C,
            Self::Cn => 0x0D,
            Self::Ac => 0x0E,
            Self::Ab => 0x19,
            Self::Aa => 0x1A,
            Self::Short(code) | Self::Other(code) => code,
        }
    }

    /// Two-letter name in the standard.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cn => "CN",
            Self::Ac => "AC",
            Self::Rf => "RF",
            Self::Fn => "FN",
            Self::Dn => "DN",
            Self::Ab => "AB",
            Self::Aa => "AA",
            Self::Gt => "GT",
            Self::Pt => "PT",
            Self::Dt => "DT",
            Self::Short(_) => "short",
            Self::Other(_) => "other",
        }
    }
}

/// SPDU in front of another in the same TSDU (8327 8.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Prefix {
    /// None: the SPDU is alone.
    Nothing,
    /// GT with its token item.
    Give(Option<u8>),
    /// PT with its token item.
    Please(Option<u8>),
}

/// Parameters of an SPDU. Each kind has some of them; absent ones are `None`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Parameters<'a> {
    /// Connection identifier (PGI 01), undivided.
    pub identifier: Option<&'a [u8]>,
    /// Protocol options (13): bit 1 for extended concatenation.
    pub options: Option<u8>,
    /// Longest TSDU from initiator to responder, and back (15); 0 is without limit, and without
    /// segmenting.
    pub longest_tsdu: Option<[u16; 2]>,
    /// Versions proposed or selected, one bit each (16).
    pub version: Option<u8>,
    /// Initial serial number (17), in digits.
    pub serial: Option<&'a [u8]>,
    /// Initial assignment of tokens (1A).
    pub token_setting: Option<u8>,
    /// Token item (10).
    pub tokens: Option<u8>,
    /// Transport disconnect (11): bit 1 releases the transport connection, 2 is user abort, 3
    /// protocol error, 4 no reason.
    pub disconnect: Option<u8>,
    /// Functional units (14), one bit each; the kernel has none.
    pub requirements: Option<u16>,
    /// Enclosure item (19): bit 1 for the beginning of an SSDU, bit 2 for the end.
    pub enclosure: Option<u8>,
    /// Reflected octets of an invalid SPDU (31).
    pub reflected: Option<&'a [u8]>,
    /// Reason of an RF (32).
    pub reason: Option<u8>,
    /// Calling SSAP selector (33).
    pub calling: Option<&'a [u8]>,
    /// Called or responding SSAP selector (34).
    pub called: Option<&'a [u8]>,
    /// User data (C1 or C2); of an RF, the octets behind its reason.
    pub user_data: Option<&'a [u8]>,
}

/// SPDU, and the one in front of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Pdu<'a> {
    /// SPDU in front.
    pub prefix: Prefix,
    /// Kind.
    pub kind: Kind,
    /// Parameters; none for kinds that are not decoded.
    pub parameters: Parameters<'a>,
    /// User information behind the parameters, to the end of the TSDU: of a DT. Of kinds that are
    /// not decoded, everything behind the identifier.
    pub data: &'a [u8],
}

impl<'a> Pdu<'a> {
    /// Creates an SPDU without user information.
    #[must_use]
    pub const fn new(kind: Kind, parameters: Parameters<'a>) -> Self {
        Self { prefix: Prefix::Nothing, kind, parameters, data: &[] }
    }

    /// Decodes the SPDUs of a TSDU.
    ///
    /// # Errors
    /// Names the field that is missing or invalid.
    pub fn decode(tsdu: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(tsdu);
        let code = reader.u8("SPDU identifier")?;
        let first = Kind::of_code(code);
        if matches!(first, Kind::Short(_) | Kind::Other(_)) {
            return Ok(Self { data: reader.rest(), ..Self::new(first, Parameters::default()) });
        }
        let (parameters, behind) = parameters(first, &mut reader)?;
        if reader.is_empty() {
            return Ok(Self::new(first, parameters));
        }
        let prefix = match first {
            Kind::Gt => Prefix::Give(parameters.tokens),
            Kind::Pt => Prefix::Please(parameters.tokens),
            // Only GT and PT are concatenated.
            _ => return Err(Malformed { field: "SPDU length indicator", offset: behind }),
        };
        let code = reader.u8("SPDU identifier")?;
        if code != Kind::Dt.code() {
            let (kind, data) = (Kind::Other(code), reader.rest());
            return Ok(Self { prefix, kind, parameters: Parameters::default(), data });
        }
        let (parameters, _) = self::parameters(Kind::Dt, &mut reader)?;
        Ok(Self { prefix, kind: Kind::Dt, parameters, data: reader.rest() })
    }

    /// Writes the SPDUs in front of what `out` holds.
    pub fn encode(&self, out: &mut Writer) {
        out.put(self.data);
        if !matches!(self.kind, Kind::Short(_) | Kind::Other(_)) {
            let before = out.len();
            write_parameters(self.kind, &self.parameters, out);
            write_length(out.len() - before, out);
        }
        out.put_u8(self.kind.code());
        let (kind, tokens) = match self.prefix {
            Prefix::Nothing => return,
            Prefix::Give(tokens) => (Kind::Gt, tokens),
            Prefix::Please(tokens) => (Kind::Pt, tokens),
        };
        let before = out.len();
        write_parameters(kind, &Parameters { tokens, ..Parameters::default() }, out);
        write_length(out.len() - before, out);
        out.put_u8(kind.code());
    }

    /// Octets for the layer above: user data, or the user information of a DT.
    #[must_use]
    pub fn ssdu(&self) -> &'a [u8] {
        match self.kind {
            Kind::Dt => self.data,
            _ => self.parameters.user_data.unwrap_or_default(),
        }
    }
}

/// Reads a length: one octet, or FF and two octets (8327 8.2).
fn length(reader: &mut Reader<'_>, field: &'static str) -> Result<usize, Malformed> {
    let offset = reader.offset();
    let complaint = |_| Malformed { field, offset };
    match reader.u8(field).map_err(complaint)? {
        0xFF => reader.u16(field).map(usize::from).map_err(complaint),
        short => Ok(usize::from(short)),
    }
}

/// Reads the length indicator and the parameters of an SPDU; also returns the offset of the former.
fn parameters<'a>(
    kind: Kind,
    reader: &mut Reader<'a>,
) -> Result<(Parameters<'a>, usize), Malformed> {
    let offset = reader.offset();
    let octets = length(reader, "SPDU length indicator")?;
    let start = reader.offset();
    let Ok(field) = reader.take("parameters", octets) else {
        return Err(Malformed { field: "SPDU length indicator", offset });
    };
    let mut found = Parameters::default();
    units(field, start, &mut |unit| match unit.code {
        // PGI: connect or accept item.
        0x05 => units(unit.value, unit.offset, &mut |unit| found.note(kind, &unit)),
        _ => found.note(kind, &unit),
    })?;
    Ok((found, offset))
}

/// Parameter, or group of parameters.
struct Unit<'a> {
    code: u8,
    value: &'a [u8],
    /// Offset of the value.
    offset: usize,
}

/// Passes each unit of a parameter field that begins at `start`.
fn units<'a>(
    field: &'a [u8],
    start: usize,
    note: &mut dyn FnMut(Unit<'a>) -> Result<(), Malformed>,
) -> Result<(), Malformed> {
    let mut reader = Reader::new(field);
    while !reader.is_empty() {
        let at = reader.offset();
        let wrong = |_| Malformed { field: "parameter length", offset: start + at + 1 };
        let code = reader.u8("parameter identifier")?;
        let octets = length(&mut reader, "parameter length").map_err(wrong)?;
        let offset = start + reader.offset();
        let value = reader.take("parameter", octets).map_err(wrong)?;
        note(Unit { code, value, offset })?;
    }
    Ok(())
}

impl<'a> Parameters<'a> {
    fn note(&mut self, kind: Kind, unit: &Unit<'a>) -> Result<(), Malformed> {
        let wrong = |field| Malformed { field, offset: unit.offset };
        let octet = |field| match unit.value {
            [octet] => Ok(Some(*octet)),
            _ => Err(wrong(field)),
        };
        match unit.code {
            0x01 => self.identifier = Some(unit.value),
            0x10 => self.tokens = octet("token item")?,
            0x11 => self.disconnect = octet("transport disconnect")?,
            0x13 => self.options = octet("protocol options")?,
            0x14 => match *unit.value {
                [high, low] => self.requirements = Some(u16::from_be_bytes([high, low])),
                _ => return Err(wrong("session user requirements")),
            },
            0x15 => match *unit.value {
                [a, b, c, d] => {
                    let [there, back] = [[a, b], [c, d]].map(u16::from_be_bytes);
                    self.longest_tsdu = Some([there, back]);
                }
                _ => return Err(wrong("TSDU maximum size")),
            },
            0x16 => self.version = octet("version number")?,
            0x17 => self.serial = Some(unit.value),
            0x19 => self.enclosure = octet("enclosure item")?,
            0x1A => self.token_setting = octet("token setting item")?,
            0x31 => self.reflected = Some(unit.value),
            // 8327 8.3.5: user data of an RF follow the reason in its parameter.
            0x32 => {
                let (reason, data) = unit.value.split_first().ok_or(wrong("reason code"))?;
                self.reason = Some(*reason);
                if kind == Kind::Rf && !data.is_empty() {
                    self.user_data = Some(data);
                }
            }
            0x33 => self.calling = Some(unit.value),
            0x34 => self.called = Some(unit.value),
            0xC1 | 0xC2 if kind != Kind::Rf => self.user_data = Some(unit.value),
            _ => {}
        }
        Ok(())
    }
}

/// Writes parameters in the order of the standard's tables, so from the last to the first.
fn write_parameters(kind: Kind, parameters: &Parameters<'_>, out: &mut Writer) {
    let data = parameters.user_data;
    if kind == Kind::Rf {
        let before = out.len();
        if let Some(reason) = parameters.reason {
            out.put(data.unwrap_or_default());
            out.put_u8(reason);
            write_unit(0x32, before, out);
        }
    } else {
        let is_extended = kind == Kind::Cn && data.is_some_and(|it| it.len() > LONGEST_USER_DATA);
        let code = if is_extended { 0xC2 } else { 0xC1 };
        write_value(code, data, out);
        write_octet(0x32, parameters.reason, out);
    }
    write_value(0x34, parameters.called, out);
    write_value(0x33, parameters.calling, out);
    write_value(0x31, parameters.reflected, out);
    write_octet(0x19, parameters.enclosure, out);
    let is_grouped = matches!(kind, Kind::Cn | Kind::Ac);
    if !is_grouped {
        write_octet(0x1A, parameters.token_setting, out);
        write_octet(0x16, parameters.version, out);
    }
    let requirements = parameters.requirements.map(u16::to_be_bytes);
    write_value(0x14, requirements.as_ref().map(<[u8; 2]>::as_slice), out);
    write_octet(0x11, parameters.disconnect, out);
    write_octet(0x10, parameters.tokens, out);
    write_item(is_grouped, parameters, out);
    write_value(0x01, parameters.identifier, out);
}

/// Writes the connect or accept item.
fn write_item(is_grouped: bool, parameters: &Parameters<'_>, out: &mut Writer) {
    let before = out.len();
    if is_grouped {
        write_octet(0x1A, parameters.token_setting, out);
    }
    write_value(0x17, parameters.serial, out);
    if is_grouped {
        write_octet(0x16, parameters.version, out);
    }
    if let Some([[a, b], [c, d]]) = parameters.longest_tsdu.map(|it| it.map(u16::to_be_bytes)) {
        write_value(0x15, Some(&[a, b, c, d]), out);
    }
    write_octet(0x13, parameters.options, out);
    if is_grouped && out.len() > before {
        write_unit(0x05, before, out);
    }
}

fn write_octet(code: u8, value: Option<u8>, out: &mut Writer) {
    write_value(code, value.as_ref().map(core::slice::from_ref), out);
}

fn write_value(code: u8, value: Option<&[u8]>, out: &mut Writer) {
    if let Some(value) = value {
        let before = out.len();
        out.put(value);
        write_unit(code, before, out);
    }
}

/// Writes code and length in front of a value that was written since `out` had `before` octets.
fn write_unit(code: u8, before: usize, out: &mut Writer) {
    write_length(out.len() - before, out);
    out.put_u8(code);
}

fn write_length(octets: usize, out: &mut Writer) {
    if octets < 0xFF {
        return out.put_u8(octets as u8);
    }
    // No TSDU of these protocols is longer; the receiver refuses it.
    out.put(&u16::try_from(octets).unwrap_or(u16::MAX).to_be_bytes());
    out.put_u8(0xFF);
}

/// Returns the name of a reason in an RF (8327 8.3.5).
#[must_use]
pub const fn reason_name(reason: u8) -> &'static str {
    match reason {
        0 => "rejected by the called user",
        1 => "called user congested",
        2 => "rejected by the called user, with data",
        0x81 => "session selector unknown",
        0x82 => "user not attached",
        0x83 => "congestion",
        0x84 => "no version in common",
        0x85 => "rejected by the provider",
        0x86 => "implementation restriction",
        _ => "unknown reason",
    }
}

impl fmt::Display for Pdu<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "session {}", self.kind.name())?;
        if let Kind::Short(code) | Kind::Other(code) = self.kind {
            write!(f, " {code:02x}")?;
        }
        if let Prefix::Give(Some(tokens)) | Prefix::Please(Some(tokens)) = self.prefix {
            write!(f, " tokens={tokens:02x}")?;
        }
        self.parameters.fmt(f)?;
        match (self.kind, self.parameters.user_data) {
            (Kind::Dt | Kind::Short(_) | Kind::Other(_), _) => {
                write!(f, " {} octets", self.data.len())
            }
            (_, Some(data)) => write!(f, " {} octets", data.len()),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Parameters<'_> {
    /// Prints each parameter with a space in front.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.version {
            Some(VERSION_1) => f.write_str(" v1")?,
            Some(VERSION_2) => f.write_str(" v2")?,
            Some(3) => f.write_str(" v1|2")?,
            Some(other) => write!(f, " versions={other:02x}")?,
            None => {}
        }
        match self.requirements {
            Some(DUPLEX) => f.write_str(" duplex")?,
            Some(units) => write!(f, " units={units:04x}")?,
            None => {}
        }
        if let Some([there, back]) = self.longest_tsdu {
            write!(f, " tsdu={there}/{back}")?;
        }
        let numbers = [
            ("options", self.options.filter(|options| *options != 0)),
            ("tokens", self.tokens),
            ("token-setting", self.token_setting),
            ("disconnect", self.disconnect),
            ("enclosure", self.enclosure),
        ];
        for (name, value) in numbers {
            if let Some(value) = value {
                write!(f, " {name}={value:02x}")?;
            }
        }
        let octets = [
            ("identifier", self.identifier.filter(|octets| !octets.is_empty())),
            ("serial", self.serial),
            ("calling", self.calling),
            ("called", self.called),
            ("reflected", self.reflected),
        ];
        for (name, value) in octets {
            if let Some(value) = value {
                write!(f, " {name}={}", Hex(value))?;
            }
        }
        match self.reason {
            Some(reason) => write!(f, " reason={reason} ({})", reason_name(reason)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
