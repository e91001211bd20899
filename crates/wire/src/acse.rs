//! ACSE, association control (ISO 8650, X.227): its five APDUs, with authentication.
//!
//! Members may have any order, because implementations differ; unknown members are skipped. Titles
//! and qualifiers have several forms: they are kept as elements, and those with an object
//! identifier or an integer are printed. Left out: connectionless association control.

use crate::ber::{BitString, Element, Hex, Item, List, Oid, Reader, Tag, Writer};
use crate::presentation::Value;
use crate::read::Malformed;
use core::fmt;

/// Abstract syntax of ACSE, 2.2.1.0.1.
pub const SYNTAX: Oid<'static> = Oid(&[0x52, 1, 0, 1]);
/// Authentication mechanism: password, 2.2.3.1.
pub const PASSWORD: Oid<'static> = Oid(&[0x52, 3, 1]);

/// Application entity: title and qualifier, and identifiers of invocations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Entity<'a> {
    /// AP title, as its element: an object identifier or a directory name.
    pub title: Option<&'a [u8]>,
    /// AE qualifier, as its element: an integer or a name.
    pub qualifier: Option<&'a [u8]>,
    /// AP invocation identifier.
    pub ap_invocation: Option<i64>,
    /// AE invocation identifier.
    pub ae_invocation: Option<i64>,
}

impl<'a> Entity<'a> {
    /// AP title in the form of an object identifier.
    #[must_use]
    pub fn title_oid(&self) -> Option<Oid<'a>> {
        let element = Reader::new(self.title?).expect("AP title", Tag::OBJECT_IDENTIFIER).ok()?;
        Oid::of(&element, "AP title").ok()
    }

    /// AE qualifier in the form of an integer.
    #[must_use]
    pub fn qualifier_number(&self) -> Option<i64> {
        let element = Reader::new(self.qualifier?).expect("AE qualifier", Tag::INTEGER).ok()?;
        element.integer("AE qualifier").ok()
    }

    /// Takes a member whose tag is `place` above the first of the four.
    fn note(&mut self, place: u32, element: &Element<'a>) -> Result<(), Malformed> {
        let number = |field| element.reader().expect(field, Tag::INTEGER)?.integer(field);
        match place {
            0 => self.title = Some(element.content),
            1 => self.qualifier = Some(element.content),
            2 => self.ap_invocation = Some(number("AP invocation identifier")?),
            _ => self.ae_invocation = Some(number("AE invocation identifier")?),
        }
        Ok(())
    }

    /// Writes the members, of which the first has the number `first`.
    fn encode(&self, first: u32, out: &mut Writer) {
        explicit(Tag::constructed(first + 3), self.ae_invocation, out);
        explicit(Tag::constructed(first + 2), self.ap_invocation, out);
        out.optional_element(Tag::constructed(first + 1), self.qualifier);
        out.optional_element(Tag::constructed(first), self.title);
    }
}

/// Writes an integer in an element of its own, if there is one.
fn explicit(tag: Tag, value: Option<i64>, out: &mut Writer) {
    if let Some(value) = value {
        let before = out.len();
        out.integer(Tag::INTEGER, value);
        out.close(tag, before);
    }
}

/// Authentication functional unit (X.227 amendment 1).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Authentication<'a> {
    /// ACSE requirements: bit 0 for authentication.
    pub requirements: Option<BitString<'a>>,
    /// Mechanism name.
    pub mechanism: Option<Oid<'a>>,
    /// Authentication value, as its element: \[0\] is a character string, \[1\] a bit string, \[2\]
    /// an EXTERNAL.
    pub value: Option<&'a [u8]>,
}

impl<'a> Authentication<'a> {
    /// Password: an authentication value that is a character string.
    #[must_use]
    pub fn password(&self) -> Option<&'a [u8]> {
        Some(Reader::new(self.value?).expect("authentication value", Tag(0x80)).ok()?.content)
    }

    /// Takes a member whose tag is `place` above the first of the three.
    fn note(&mut self, place: u32, element: &Element<'a>) -> Result<(), Malformed> {
        match place {
            0 => self.requirements = Some(BitString::of(element, "ACSE requirements")?),
            1 => self.mechanism = Some(Oid::of(element, "mechanism name")?),
            _ => self.value = Some(element.content),
        }
        Ok(())
    }

    fn encode(&self, first: u32, out: &mut Writer) {
        out.optional_element(Tag::constructed(first + 2), self.value);
        if let Some(mechanism) = self.mechanism {
            out.oid(Tag::primitive(first + 1), mechanism);
        }
        if let Some(requirements) = self.requirements {
            out.bits(Tag::primitive(first), requirements);
        }
    }
}

/// User information: EXTERNAL (X.227 9).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct External<'a> {
    /// Direct reference: transfer syntax name.
    pub direct: Option<Oid<'a>>,
    /// Indirect reference: presentation context identifier.
    pub indirect: Option<i64>,
    /// Data value descriptor.
    pub descriptor: Option<&'a [u8]>,
    /// Value.
    pub value: Value<'a>,
}

impl<'a> Item<'a> for External<'a> {
    fn take(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        let mut inside = reader.expect("user information", Tag::EXTERNAL)?.reader();
        let direct = inside.optional("direct reference", Tag::OBJECT_IDENTIFIER)?;
        let direct = direct.map(|it| Oid::of(&it, "direct reference")).transpose()?;
        let indirect = inside.optional("indirect reference", Tag::INTEGER)?;
        let indirect = indirect.map(|it| it.integer("indirect reference")).transpose()?;
        let descriptor = inside.optional("data value descriptor", Tag(0x07))?;
        let value = Value::of(&inside.element("encoding")?, "encoding")?;
        inside.finish("user information")?;
        Ok(Self { direct, indirect, descriptor: descriptor.map(|it| it.content), value })
    }

    fn put(&self, out: &mut Writer) {
        let before = out.len();
        self.value.encode(out);
        out.optional_element(Tag(0x07), self.descriptor);
        out.optional(Tag::INTEGER, self.indirect);
        if let Some(direct) = self.direct {
            out.oid(Tag::OBJECT_IDENTIFIER, direct);
        }
        out.close(Tag::EXTERNAL, before);
    }
}

/// AARQ: association request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Request<'a> {
    /// Protocol versions, one bit each; version 1 if absent.
    pub version: Option<BitString<'a>>,
    /// Application context name.
    pub context_name: Option<Oid<'a>>,
    /// Called application entity.
    pub called: Entity<'a>,
    /// Calling application entity.
    pub calling: Entity<'a>,
    /// Authentication.
    pub authentication: Authentication<'a>,
    /// Application context name list, undivided.
    pub names: Option<&'a [u8]>,
    /// Implementation information.
    pub implementation: Option<&'a [u8]>,
    /// User information.
    pub information: List<'a, External<'a>>,
}

/// Source of a diagnostic.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Diagnostic {
    /// Service user: 0 null, 1 no reason, 2 application context not supported, 3 to 10 names not
    /// recognised, 11 to 14 authentication.
    User(i64),
    /// Service provider: 0 null, 1 no reason, 2 no version in common.
    Provider(i64),
}

/// AARE: association response.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Response<'a> {
    /// Protocol versions, one bit each; version 1 if absent.
    pub version: Option<BitString<'a>>,
    /// Application context name.
    pub context_name: Option<Oid<'a>>,
    /// Result: 0 accepted, 1 rejected permanently, 2 rejected for now.
    pub result: i64,
    /// Diagnostic.
    pub diagnostic: Option<Diagnostic>,
    /// Responding application entity.
    pub responding: Entity<'a>,
    /// Authentication.
    pub authentication: Authentication<'a>,
    /// Application context name list, undivided.
    pub names: Option<&'a [u8]>,
    /// Implementation information.
    pub implementation: Option<&'a [u8]>,
    /// User information.
    pub information: List<'a, External<'a>>,
}

/// RLRQ or RLRE: release.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Release<'a> {
    /// Reason: 0 normal, 1 urgent or not finished, 30 defined by the user.
    pub reason: Option<i64>,
    /// User information.
    pub information: List<'a, External<'a>>,
}

/// ABRT: abort.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Abort<'a> {
    /// Source: 0 user, 1 provider.
    pub source: Option<i64>,
    /// Diagnostic: 1 no reason, 2 protocol error, 3 and 4 authentication.
    pub diagnostic: Option<i64>,
    /// User information.
    pub information: List<'a, External<'a>>,
}

/// APDU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pdu<'a> {
    /// Association request.
    Aarq(Request<'a>),
    /// Association response.
    Aare(Response<'a>),
    /// Release request.
    Rlrq(Release<'a>),
    /// Release response.
    Rlre(Release<'a>),
    /// Abort.
    Abrt(Abort<'a>),
}

impl<'a> Pdu<'a> {
    /// Decodes the APDU in `octets`.
    ///
    /// # Errors
    /// Names the field that is missing or invalid.
    pub fn decode(octets: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        let element = reader.element("APDU")?;
        reader.finish("APDU")?;
        match element.tag {
            Tag(0x60) => request(element.reader()).map(Self::Aarq),
            Tag(0x61) => response(&element).map(Self::Aare),
            Tag(0x62) => release(element.reader()).map(Self::Rlrq),
            Tag(0x63) => release(element.reader()).map(Self::Rlre),
            Tag(0x64) => abort(element.reader()).map(Self::Abrt),
            _ => Err(element.malformed("APDU")),
        }
    }

    /// Writes the APDU in front of what `out` holds.
    pub fn encode(&self, out: &mut Writer) {
        let before = out.len();
        information(self.information(), out);
        match self {
            Self::Aarq(pdu) => {
                out.optional_element(Tag(0x9D), pdu.implementation);
                out.optional_element(Tag(0xAD), pdu.names);
                pdu.authentication.encode(10, out);
                pdu.calling.encode(6, out);
                pdu.called.encode(2, out);
                opening(pdu.version, pdu.context_name, out);
                out.close(Tag(0x60), before);
            }
            Self::Aare(pdu) => {
                out.optional_element(Tag(0x9D), pdu.implementation);
                out.optional_element(Tag(0xAB), pdu.names);
                pdu.authentication.encode(8, out);
                pdu.responding.encode(4, out);
                match pdu.diagnostic {
                    Some(Diagnostic::User(number)) => diagnostic(Tag(0xA1), number, out),
                    Some(Diagnostic::Provider(number)) => diagnostic(Tag(0xA2), number, out),
                    None => {}
                }
                explicit(Tag(0xA2), Some(pdu.result), out);
                opening(pdu.version, pdu.context_name, out);
                out.close(Tag(0x61), before);
            }
            Self::Rlrq(pdu) => {
                out.optional(Tag(0x80), pdu.reason);
                out.close(Tag(0x62), before);
            }
            Self::Rlre(pdu) => {
                out.optional(Tag(0x80), pdu.reason);
                out.close(Tag(0x63), before);
            }
            Self::Abrt(pdu) => {
                out.optional(Tag(0x81), pdu.diagnostic);
                out.optional(Tag(0x80), pdu.source);
                out.close(Tag(0x64), before);
            }
        }
    }

    /// User information.
    #[must_use]
    pub const fn information(&self) -> List<'a, External<'a>> {
        match self {
            Self::Aarq(pdu) => pdu.information,
            Self::Aare(pdu) => pdu.information,
            Self::Rlrq(pdu) | Self::Rlre(pdu) => pdu.information,
            Self::Abrt(pdu) => pdu.information,
        }
    }

    /// Name in the standard.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Aarq(_) => "AARQ",
            Self::Aare(_) => "AARE",
            Self::Rlrq(_) => "RLRQ",
            Self::Rlre(_) => "RLRE",
            Self::Abrt(_) => "ABRT",
        }
    }
}

fn information(list: List<'_, External<'_>>, out: &mut Writer) {
    if !list.is_empty() {
        out.element(Tag(0xBE), list.octets());
    }
}

/// Writes the members that begin AARQ and AARE.
fn opening(version: Option<BitString<'_>>, context_name: Option<Oid<'_>>, out: &mut Writer) {
    if let Some(name) = context_name {
        let before = out.len();
        out.oid(Tag::OBJECT_IDENTIFIER, name);
        out.close(Tag(0xA1), before);
    }
    if let Some(version) = version {
        out.bits(Tag(0x80), version);
    }
}

fn diagnostic(source: Tag, number: i64, out: &mut Writer) {
    let before = out.len();
    explicit(source, Some(number), out);
    out.close(Tag(0xA3), before);
}

fn context_name<'a>(element: &Element<'a>) -> Result<Option<Oid<'a>>, Malformed> {
    let field = "application context name";
    let name = element.reader().expect(field, Tag::OBJECT_IDENTIFIER)?;
    Oid::of(&name, field).map(Some)
}

fn request(mut reader: Reader<'_>) -> Result<Request<'_>, Malformed> {
    let mut pdu = Request::default();
    while !reader.is_empty() {
        let element = reader.element("ACSE parameter")?;
        match element.tag {
            Tag(0x80) => pdu.version = Some(BitString::of(&element, "protocol version")?),
            Tag(0xA1) => pdu.context_name = context_name(&element)?,
            Tag(code @ 0xA2..=0xA5) => pdu.called.note(code - 0xA2, &element)?,
            Tag(code @ 0xA6..=0xA9) => pdu.calling.note(code - 0xA6, &element)?,
            Tag(code @ (0x8A | 0x8B)) => pdu.authentication.note(code - 0x8A, &element)?,
            Tag(0xAC) => pdu.authentication.note(2, &element)?,
            Tag(0xAD) => pdu.names = Some(element.content),
            Tag(0x9D) => pdu.implementation = Some(element.content),
            Tag(0xBE) => pdu.information = List::decode(element.reader())?,
            _ => {}
        }
    }
    Ok(pdu)
}

fn response<'a>(whole: &Element<'a>) -> Result<Response<'a>, Malformed> {
    let (mut pdu, mut result) = (Response::default(), None);
    let mut reader = whole.reader();
    while !reader.is_empty() {
        let element = reader.element("ACSE parameter")?;
        match element.tag {
            Tag(0x80) => pdu.version = Some(BitString::of(&element, "protocol version")?),
            Tag(0xA1) => pdu.context_name = context_name(&element)?,
            Tag(0xA2) => {
                let number = element.reader().expect("result", Tag::INTEGER)?;
                result = Some(number.integer("result")?);
            }
            Tag(0xA3) => {
                let field = "result source diagnostic";
                let source = element.reader().element(field)?;
                let number = source.inside(field)?.expect(field, Tag::INTEGER)?.integer(field)?;
                pdu.diagnostic = match source.tag {
                    Tag(0xA1) => Some(Diagnostic::User(number)),
                    Tag(0xA2) => Some(Diagnostic::Provider(number)),
                    _ => return Err(source.malformed(field)),
                };
            }
            Tag(code @ 0xA4..=0xA7) => pdu.responding.note(code - 0xA4, &element)?,
            Tag(code @ (0x88 | 0x89)) => pdu.authentication.note(code - 0x88, &element)?,
            Tag(0xAA) => pdu.authentication.note(2, &element)?,
            Tag(0xAB) => pdu.names = Some(element.content),
            Tag(0x9D) => pdu.implementation = Some(element.content),
            Tag(0xBE) => pdu.information = List::decode(element.reader())?,
            _ => {}
        }
    }
    pdu.result = result.ok_or(whole.malformed("result"))?;
    Ok(pdu)
}

fn release(mut reader: Reader<'_>) -> Result<Release<'_>, Malformed> {
    let mut pdu = Release::default();
    while !reader.is_empty() {
        let element = reader.element("ACSE parameter")?;
        match element.tag {
            Tag(0x80) => pdu.reason = Some(element.integer("reason")?),
            Tag(0xBE) => pdu.information = List::decode(element.reader())?,
            _ => {}
        }
    }
    Ok(pdu)
}

fn abort(mut reader: Reader<'_>) -> Result<Abort<'_>, Malformed> {
    let mut pdu = Abort::default();
    while !reader.is_empty() {
        let element = reader.element("ACSE parameter")?;
        match element.tag {
            Tag(0x80) => pdu.source = Some(element.integer("abort source")?),
            Tag(0x81) => pdu.diagnostic = Some(element.integer("abort diagnostic")?),
            Tag(0xBE) => pdu.information = List::decode(element.reader())?,
            _ => {}
        }
    }
    Ok(pdu)
}

impl fmt::Display for Pdu<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ACSE {}", self.name())?;
        match self {
            Self::Aarq(pdu) => {
                named(f, "context", pdu.context_name)?;
                entity(f, "called", &pdu.called)?;
                entity(f, "calling", &pdu.calling)?;
                pdu.authentication.fmt(f)?;
            }
            Self::Aare(pdu) => {
                named(f, "context", pdu.context_name)?;
                write!(f, " result={}", pdu.result)?;
                match pdu.diagnostic {
                    Some(Diagnostic::User(number)) => write!(f, " user={number}")?,
                    Some(Diagnostic::Provider(number)) => write!(f, " provider={number}")?,
                    None => {}
                }
                entity(f, "responding", &pdu.responding)?;
                pdu.authentication.fmt(f)?;
            }
            Self::Rlrq(pdu) | Self::Rlre(pdu) => named(f, "reason", pdu.reason)?,
            Self::Abrt(pdu) => {
                named(f, "source", pdu.source)?;
                named(f, "diagnostic", pdu.diagnostic)?;
            }
        }
        for external in self.information() {
            named(f, "context", external.indirect)?;
            write!(f, " {} octets", external.value.octets().len())?;
        }
        Ok(())
    }
}

fn named(f: &mut fmt::Formatter<'_>, name: &str, value: Option<impl fmt::Display>) -> fmt::Result {
    match value {
        Some(value) => write!(f, " {name}={value}"),
        None => Ok(()),
    }
}

/// Prints title and qualifier: `called=1.1.1.999.1/12`.
fn entity(f: &mut fmt::Formatter<'_>, name: &str, entity: &Entity<'_>) -> fmt::Result {
    match (entity.title_oid(), entity.title) {
        (Some(oid), _) => write!(f, " {name}={oid}")?,
        (None, Some(octets)) => write!(f, " {name}={}", Hex(octets))?,
        (None, None) => {}
    }
    match (entity.qualifier_number(), entity.qualifier) {
        (Some(number), _) => write!(f, "/{number}"),
        (None, Some(octets)) => write!(f, "/{}", Hex(octets)),
        (None, None) => Ok(()),
    }
}

impl fmt::Display for Authentication<'_> {
    /// Prints the mechanism and the length of the value, with a space in front; a password is not
    /// printed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        named(f, "mechanism", self.mechanism)?;
        match (self.password(), self.value) {
            (Some(password), _) => write!(f, " password of {} octets", password.len()),
            (None, Some(value)) => write!(f, " authentication of {} octets", value.len()),
            (None, None) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
