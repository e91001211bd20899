//! Presentation protocol of ISO 8823 (X.226): the PPDUs of the kernel in normal mode, in BER.
//!
//! The SPDU that carries a PPDU determines its kind: CP in CN, CPA in AC, CPR in RF, ARU and ARP in
//! AB, user data in DT, FN and DN. Members of a SET may have any order, and so may those of a
//! SEQUENCE here, because implementations differ; unknown members are skipped.
//!
//! ```text
//! user data: 61 L { 30 L { [transfer syntax] 02 n context  A0 L value } ... }
//! ```
//!
//! X.410 mode (X.400 of 1984) is recognised, so that it can be refused; so are the short PPDUs of
//! the efficiency enhancements (ATN). Left out: context management and restoration.

mod value;

pub use value::{Context, Defined, Name, Outcome, Pdv, UserData, Value, wrap};

use crate::ber::{BitString, Element, Hex, List, Oid, Reader, Tag, Writer};
use crate::read::Malformed;
use crate::session;
use core::fmt;
use value::{FULL, SIMPLE};

/// Object identifier of the basic encoding rules, 2.1.1: the transfer syntax.
pub const BER: Oid<'static> = Oid(&[0x51, 1]);

/// Parameters of CP, CPA and CPR in normal mode. Each has some of them; absent ones are `None`, and
/// absent lists are empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Parameters<'a> {
    /// Protocol versions, one bit each; version 1 if absent.
    pub version: Option<BitString<'a>>,
    /// Calling PSAP selector of a CP.
    pub calling: Option<&'a [u8]>,
    /// Called PSAP selector of a CP.
    pub called: Option<&'a [u8]>,
    /// Responding PSAP selector of a CPA or CPR.
    pub responding: Option<&'a [u8]>,
    /// Proposed contexts of a CP.
    pub contexts: List<'a, Context<'a>>,
    /// Results for the contexts, in a CPA or CPR.
    pub outcomes: List<'a, Outcome<'a>>,
    /// Default context name of a CP, undivided.
    pub default_context: Option<&'a [u8]>,
    /// Result for the default context, in a CPA or CPR.
    pub default_outcome: Option<i64>,
    /// Presentation functional units, one bit each; the kernel has none.
    pub requirements: Option<BitString<'a>>,
    /// Session functional units of the users, one bit each.
    pub session_requirements: Option<BitString<'a>>,
    /// Reason of the provider, in a CPR.
    pub reason: Option<i64>,
    /// User data.
    pub user_data: Option<UserData<'a>>,
}

impl<'a> Parameters<'a> {
    fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let mut found = Self::default();
        while !reader.is_empty() {
            let element = reader.element("presentation parameter")?;
            match element.tag {
                Tag(0x80) => found.version = Some(BitString::of(&element, "protocol version")?),
                Tag(0x81) => found.calling = Some(element.content),
                Tag(0x82) => found.called = Some(element.content),
                Tag(0x83) => found.responding = Some(element.content),
                Tag(0xA4) => found.contexts = List::decode(element.reader())?,
                Tag(0xA5) => found.outcomes = List::decode(element.reader())?,
                Tag(0xA6) => found.default_context = Some(element.content),
                Tag(0x87) => {
                    found.default_outcome = Some(element.integer("default context result")?);
                }
                Tag(0x88) => {
                    let bits = BitString::of(&element, "presentation requirements")?;
                    found.requirements = Some(bits);
                }
                Tag(0x89) => {
                    let bits = BitString::of(&element, "user session requirements")?;
                    found.session_requirements = Some(bits);
                }
                Tag(0x8A) => found.reason = Some(element.integer("provider reason")?),
                SIMPLE | FULL => found.user_data = UserData::of(&element)?,
                _ => {}
            }
        }
        Ok(found)
    }

    fn encode(&self, out: &mut Writer) {
        if let Some(data) = &self.user_data {
            data.encode(out);
        }
        out.optional(Tag(0x8A), self.reason);
        for (tag, bits) in [(0x89, self.session_requirements), (0x88, self.requirements)] {
            if let Some(bits) = bits {
                out.bits(Tag(tag), bits);
            }
        }
        out.optional(Tag(0x87), self.default_outcome);
        out.optional_element(Tag(0xA6), self.default_context);
        let list = |octets: &'a [u8]| Some(octets).filter(|it| !it.is_empty());
        out.optional_element(Tag(0xA5), list(self.outcomes.octets()));
        out.optional_element(Tag(0xA4), list(self.contexts.octets()));
        out.optional_element(Tag(0x83), self.responding);
        out.optional_element(Tag(0x82), self.called);
        out.optional_element(Tag(0x81), self.calling);
        if let Some(bits) = self.version {
            out.bits(Tag(0x80), bits);
        }
    }
}

/// PPDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pdu<'a> {
    /// CP: connect.
    Cp(Parameters<'a>),
    /// CPA: connect accepted.
    Cpa(Parameters<'a>),
    /// CPR: connect rejected.
    Cpr(Parameters<'a>),
    /// ARU: abort by a user.
    Aru {
        /// Contexts of the user data.
        contexts: List<'a, Defined<'a>>,
        /// User data.
        user_data: Option<UserData<'a>>,
    },
    /// ARP: abort by the provider.
    Arp {
        /// Reason: 0 not specified, 1 PPDU not recognised, 2 PPDU unexpected, 4 parameter not
        /// recognised, 5 parameter unexpected, 6 parameter invalid.
        reason: Option<i64>,
        /// Event that caused it.
        event: Option<i64>,
    },
    /// User data alone: TD.
    Data(UserData<'a>),
    /// PPDU in X.410 mode, undivided.
    X410(&'a [u8]),
    /// Short PPDU of the efficiency enhancements, undivided.
    Short(&'a [u8]),
}

impl<'a> Pdu<'a> {
    /// Decodes the PPDU in the user data of an SPDU of `kind`.
    ///
    /// # Errors
    /// Names the field that is missing or invalid.
    pub fn decode(kind: session::Kind, ssdu: &'a [u8]) -> Result<Self, Malformed> {
        use session::Kind;
        // X.226 amendment 1: the low two bits of a short PPDU are 10, or 00 in a CPR with reason.
        if matches!(kind, Kind::Short(_)) {
            return Ok(Self::Short(ssdu));
        }
        let mut reader = Reader::new(ssdu);
        let element = reader.element("PPDU")?;
        reader.finish("PPDU")?;
        match (kind, element.tag) {
            (Kind::Cn | Kind::Ac, Tag::SET) => connect(kind, ssdu, &element),
            (Kind::Rf, Tag::SEQUENCE) => Parameters::decode(element.reader()).map(Self::Cpr),
            (Kind::Rf | Kind::Ab, Tag::SET) => Ok(Self::X410(ssdu)),
            (Kind::Ab, Tag(0xA0)) => user_abort(element.reader()),
            (Kind::Ab, Tag::SEQUENCE) => provider_abort(element.reader()),
            (_, SIMPLE | FULL) => match UserData::of(&element)? {
                Some(data) => Ok(Self::Data(data)),
                None => Err(element.malformed("PPDU")),
            },
            _ => Err(element.malformed("PPDU")),
        }
    }

    /// Writes the PPDU in front of what `out` holds.
    pub fn encode(&self, out: &mut Writer) {
        let before = out.len();
        match self {
            Self::Cp(parameters) | Self::Cpa(parameters) => {
                parameters.encode(out);
                out.close(Tag(0xA2), before);
                let mode = out.len();
                out.integer(Tag(0x80), 1);
                out.close(Tag(0xA0), mode);
                out.close(Tag::SET, before);
            }
            Self::Cpr(parameters) => {
                parameters.encode(out);
                out.close(Tag::SEQUENCE, before);
            }
            Self::Aru { contexts, user_data } => {
                if let Some(data) = user_data {
                    data.encode(out);
                }
                if !contexts.is_empty() {
                    out.element(Tag(0xA0), contexts.octets());
                }
                out.close(Tag(0xA0), before);
            }
            Self::Arp { reason, event } => {
                out.optional(Tag(0x81), *event);
                out.optional(Tag(0x80), *reason);
                out.close(Tag::SEQUENCE, before);
            }
            Self::Data(data) => data.encode(out),
            Self::X410(octets) | Self::Short(octets) => out.put(octets),
        }
    }

    /// User data.
    #[must_use]
    pub const fn user_data(&self) -> Option<UserData<'a>> {
        match self {
            Self::Cp(it) | Self::Cpa(it) | Self::Cpr(it) => it.user_data,
            Self::Aru { user_data, .. } => *user_data,
            Self::Data(data) => Some(*data),
            Self::Arp { .. } | Self::X410(_) | Self::Short(_) => None,
        }
    }

    /// Name in the standard.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Cp(_) => "CP",
            Self::Cpa(_) => "CPA",
            Self::Cpr(_) => "CPR",
            Self::Aru { .. } => "ARU",
            Self::Arp { .. } => "ARP",
            Self::Data(_) => "TD",
            Self::X410(_) => "X.410 mode",
            Self::Short(_) => "short",
        }
    }
}

/// Decodes the SET of a CP or CPA.
fn connect<'a>(
    kind: session::Kind,
    ssdu: &'a [u8],
    set: &Element<'a>,
) -> Result<Pdu<'a>, Malformed> {
    let (mut mode, mut parameters) = (None, None);
    let mut reader = set.reader();
    while !reader.is_empty() {
        let element = reader.element("presentation parameter")?;
        match element.tag {
            Tag(0xA0) => {
                let value = element.reader().expect("mode value", Tag(0x80))?;
                mode = Some((value.integer("mode value")?, value.malformed("mode value")));
            }
            Tag(0xA2) => parameters = Some(Parameters::decode(element.reader())?),
            _ => {}
        }
    }
    match (mode, parameters) {
        (Some((0, _)), _) => Ok(Pdu::X410(ssdu)),
        (Some((1, _)), parameters) => {
            let parameters = parameters.unwrap_or_default();
            Ok(if kind == session::Kind::Cn { Pdu::Cp(parameters) } else { Pdu::Cpa(parameters) })
        }
        (Some((_, fault)), _) => Err(fault),
        (None, _) => Err(set.malformed("mode selector")),
    }
}

fn user_abort(mut reader: Reader<'_>) -> Result<Pdu<'_>, Malformed> {
    let (mut contexts, mut user_data) = (List::EMPTY, None);
    while !reader.is_empty() {
        let element = reader.element("presentation parameter")?;
        match element.tag {
            Tag(0xA0) => contexts = List::decode(element.reader())?,
            SIMPLE | FULL => user_data = UserData::of(&element)?,
            _ => {}
        }
    }
    Ok(Pdu::Aru { contexts, user_data })
}

fn provider_abort(mut reader: Reader<'_>) -> Result<Pdu<'_>, Malformed> {
    let (mut reason, mut event) = (None, None);
    while !reader.is_empty() {
        let element = reader.element("presentation parameter")?;
        match element.tag {
            Tag(0x80) => reason = Some(element.integer("provider reason")?),
            Tag(0x81) => event = Some(element.integer("event identifier")?),
            _ => {}
        }
    }
    Ok(Pdu::Arp { reason, event })
}

impl fmt::Display for Pdu<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "presentation {}", self.name())?;
        match self {
            Self::Cp(parameters) | Self::Cpa(parameters) | Self::Cpr(parameters) => {
                parameters.fmt(f)?;
            }
            Self::Aru { contexts, .. } => {
                for context in *contexts {
                    write!(f, " {}={}", context.identifier, context.transfer)?;
                }
            }
            Self::Arp { reason, event } => {
                for (name, value) in [("reason", reason), ("event", event)] {
                    if let Some(value) = value {
                        write!(f, " {name}={value}")?;
                    }
                }
            }
            Self::Data(_) => {}
            Self::X410(octets) | Self::Short(octets) => write!(f, " {} octets", octets.len())?,
        }
        match self.user_data() {
            Some(data) => data.fmt(f),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Parameters<'_> {
    /// Prints each parameter but the user data, with a space in front.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let selectors =
            [("calling", self.calling), ("called", self.called), ("responding", self.responding)];
        for (name, selector) in selectors {
            if let Some(selector) = selector {
                write!(f, " {name}={}", Hex(selector))?;
            }
        }
        for context in self.contexts {
            write!(f, " {}={}", context.identifier, context.abstract_syntax)?;
        }
        for outcome in self.outcomes {
            match (outcome.result, outcome.reason) {
                (0, _) => f.write_str(" accepted")?,
                (by, Some(reason)) => write!(f, " rejected={by}/{reason}")?,
                (by, None) => write!(f, " rejected={by}")?,
            }
        }
        let bits = [
            ("versions", self.version),
            ("requirements", self.requirements),
            ("session-requirements", self.session_requirements),
        ];
        for (name, bits) in bits {
            if let Some(bits) = bits {
                write!(f, " {name}={bits}")?;
            }
        }
        let numbers = [("default-result", self.default_outcome), ("reason", self.reason)];
        for (name, number) in numbers {
            if let Some(number) = number {
                write!(f, " {name}={number}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
