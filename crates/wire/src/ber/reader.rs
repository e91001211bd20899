//! Reading of elements.

use super::{DEEPEST, Tag};
use crate::read::Malformed;

/// Cursor over elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    offset: usize,
}

/// Element: identifier, length and contents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Element<'a> {
    /// Identifier octets.
    pub tag: Tag,
    /// Contents, without the end-of-contents octets of the indefinite form.
    pub content: &'a [u8],
    /// Identifier, length and contents.
    pub whole: &'a [u8],
    /// Offset of the identifier from the start of the decoded octets.
    pub offset: usize,
    /// Offset of the contents from the start of the decoded octets.
    pub content_offset: usize,
}

/// Identifier and length of an element.
#[derive(Clone, Copy)]
struct Header {
    tag: Tag,
    octets: usize,
    /// Length of the contents; `None` for the indefinite form.
    length: Option<usize>,
}

impl<'a> Reader<'a> {
    /// Creates a reader at the first of `octets`.
    #[must_use]
    pub const fn new(octets: &'a [u8]) -> Self {
        Self::at(octets, 0)
    }

    /// Creates a reader whose errors count from `offset` octets before the first of `octets`.
    #[must_use]
    pub const fn at(octets: &'a [u8], offset: usize) -> Self {
        Self { rest: octets, offset }
    }

    /// Offset of the next element from the start of the decoded octets.
    #[must_use]
    pub const fn offset(&self) -> usize {
        self.offset
    }

    /// Octets not read yet.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Returns true if all octets were read.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Error that `field`, at the current position, is invalid.
    #[must_use]
    pub const fn malformed(&self, field: &'static str) -> Malformed {
        Malformed { field, offset: self.offset }
    }

    /// Tag of the next element; `None` at the end, and for an invalid identifier.
    #[must_use]
    #[inline]
    pub fn peek(&self) -> Option<Tag> {
        tag(self.rest).map(|(tag, _)| tag)
    }

    /// Takes an element of which the end may be missing; its contents end with the octets that
    /// there are. `None` if identifier or length are missing or invalid.
    #[inline]
    pub fn cut(&mut self) -> Option<Element<'a>> {
        let header = header(self.rest)?;
        let there = self.rest.get(header.octets..)?;
        let length = header.length.unwrap_or(there.len()).min(there.len());
        let (whole, rest) = self.rest.split_at_checked(header.octets + length)?;
        let element = Element {
            tag: header.tag,
            content: there.get(..length)?,
            whole,
            offset: self.offset,
            content_offset: self.offset + header.octets,
        };
        self.rest = rest;
        self.offset += whole.len();
        Some(element)
    }

    /// Takes the next element, of any tag.
    ///
    /// # Errors
    /// Names `field` if its identifier or length is invalid, or its contents end too early.
    #[inline]
    pub fn element(&mut self, field: &'static str) -> Result<Element<'a>, Malformed> {
        let fault = self.malformed(field);
        let header = header(self.rest).ok_or(fault)?;
        let behind = self.rest.get(header.octets..).ok_or(fault)?;
        let (length, trailer) = match header.length {
            Some(length) => (length, 0),
            None if header.tag.is_constructed() => (indefinite(behind).ok_or(fault)?, 2),
            None => return Err(fault),
        };
        let content = behind.get(..length).ok_or(fault)?;
        let end = header.octets + length + trailer;
        let (whole, rest) = self.rest.split_at_checked(end).ok_or(fault)?;
        let (offset, content_offset) = (self.offset, self.offset + header.octets);
        self.rest = rest;
        self.offset += end;
        Ok(Element { tag: header.tag, content, whole, offset, content_offset })
    }

    /// Takes the next element, which must have a certain tag.
    ///
    /// # Errors
    /// Names `field` if the element is missing, invalid, or has another tag.
    #[inline]
    pub fn expect(&mut self, field: &'static str, tag: Tag) -> Result<Element<'a>, Malformed> {
        // Most elements have an identifier and a length of one octet each.
        if let [first, length @ 0..=0x7F, ..] = *self.rest
            && first & 0x1F != 0x1F
            && Tag(first.into()) == tag
            && let Some((whole, rest)) = self.rest.split_at_checked(2 + usize::from(length))
            && let Some(content) = whole.get(2..)
        {
            let (offset, content_offset) = (self.offset, self.offset + 2);
            self.rest = rest;
            self.offset += whole.len();
            return Ok(Element { tag, content, whole, offset, content_offset });
        }
        self.expect_any(field, tag)
    }

    /// Takes the next element, which must have a certain tag, and returns its contents.
    ///
    /// # Errors
    /// See [`Reader::expect`].
    // Always inline, so that no `Element` is made of fields of known tags.
    #[inline(always)]
    pub fn contents(&mut self, field: &'static str, tag: Tag) -> Result<&'a [u8], Malformed> {
        if let [first, length @ 0..=0x7F, ref behind @ ..] = *self.rest
            && first & 0x1F != 0x1F
            && Tag(first.into()) == tag
            && let Some((content, rest)) = behind.split_at_checked(length.into())
        {
            self.rest = rest;
            self.offset += 2 + content.len();
            return Ok(content);
        }
        self.expect_any(field, tag).map(|element| element.content)
    }

    /// Takes the next element if it has a certain tag, and returns its contents.
    ///
    /// # Errors
    /// See [`Reader::optional`].
    #[inline(always)]
    pub fn optional_contents(
        &mut self,
        field: &'static str,
        tag: Tag,
    ) -> Result<Option<&'a [u8]>, Malformed> {
        if self.peek() == Some(tag) { self.contents(field, tag).map(Some) } else { Ok(None) }
    }

    /// Takes the next element, of any length, which must have a certain tag.
    #[inline(never)]
    fn expect_any(&mut self, field: &'static str, tag: Tag) -> Result<Element<'a>, Malformed> {
        let fault = self.malformed(field);
        let element = self.element(field)?;
        if element.tag == tag { Ok(element) } else { Err(fault) }
    }

    /// Takes the next element if it has a certain tag.
    ///
    /// # Errors
    /// Names `field` if the element has the tag and is invalid.
    pub fn optional(
        &mut self,
        field: &'static str,
        tag: Tag,
    ) -> Result<Option<Element<'a>>, Malformed> {
        if self.peek() == Some(tag) { self.element(field).map(Some) } else { Ok(None) }
    }

    /// Checks that all octets were read.
    ///
    /// # Errors
    /// Names `field` if octets are left.
    pub const fn finish(&self, field: &'static str) -> Result<(), Malformed> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.malformed(field)) }
    }
}

/// Returns the tag at the start of `octets`, and the length of its identifier. Numbers up to 30
/// must have the short form (X.690 8.1.2.2), and identifiers have at most four octets.
#[inline]
fn tag(octets: &[u8]) -> Option<(Tag, usize)> {
    let (&first, rest) = octets.split_first()?;
    let mut code = u32::from(first);
    if first & 0x1F != 0x1F {
        return Some((Tag(code), 1));
    }
    for (place, &octet) in rest.iter().take(3).enumerate() {
        code = code << 8 | u32::from(octet);
        if place == 0 && (octet == 0x80 || octet < 31) {
            return None;
        }
        if octet & 0x80 == 0 {
            return Some((Tag(code), place + 2));
        }
    }
    None
}

#[inline]
fn header(octets: &[u8]) -> Option<Header> {
    // Most elements have an identifier and a length of few octets.
    let (first, octets, length) = match *octets {
        [first, length @ 0..=0x7F, ..] if first & 0x1F != 0x1F => (first, 2, usize::from(length)),
        [first, 0x81, length, ..] if first & 0x1F != 0x1F => (first, 3, usize::from(length)),
        [first, 0x82, high, low, ..] if first & 0x1F != 0x1F => {
            (first, 4, usize::from(u16::from_be_bytes([high, low])))
        }
        _ => return long_header(octets),
    };
    Some(Header { tag: Tag(first.into()), octets, length: Some(length) })
}

fn long_header(octets: &[u8]) -> Option<Header> {
    let (tag, tag_octets) = tag(octets)?;
    let (&first, rest) = octets.get(tag_octets..)?.split_first()?;
    let (length, length_octets) = match first {
        0..=0x7F => (Some(usize::from(first)), 1),
        0x80 => (None, 1),
        // X.690 8.1.3.5 c: reserved.
        0xFF => return None,
        _ => {
            let count = usize::from(first & 0x7F);
            let digits = rest.get(..count)?;
            // A length beyond the address space is beyond the input as well.
            let longer = |value: usize, digit: &u8| {
                value.checked_mul(256).map_or(usize::MAX, |high| high | usize::from(*digit))
            };
            (Some(digits.iter().fold(0, longer)), 1 + count)
        }
    };
    Some(Header { tag, octets: tag_octets + length_octets, length })
}

/// Length of contents that end with the end-of-contents octets of their level (X.690 8.1.5).
fn indefinite(octets: &[u8]) -> Option<usize> {
    let (mut at, mut levels) = (0_usize, 1_usize);
    loop {
        let rest = octets.get(at..)?;
        if rest.starts_with(&[0, 0]) {
            levels -= 1;
            if levels == 0 {
                return Some(at);
            }
            at += 2;
            continue;
        }
        let header = header(rest)?;
        at = at.checked_add(header.octets)?;
        match header.length {
            Some(length) => at = at.checked_add(length)?,
            None if header.tag.is_constructed() && levels < DEEPEST => levels += 1,
            None => return None,
        }
    }
}

impl<'a> Element<'a> {
    /// Reader of the elements in the contents.
    #[must_use]
    pub const fn reader(&self) -> Reader<'a> {
        Reader::at(self.content, self.content_offset)
    }

    /// Error that `field`, which this element holds, is invalid.
    #[must_use]
    pub const fn malformed(&self, field: &'static str) -> Malformed {
        Malformed { field, offset: self.offset }
    }

    /// Reader of the contents of a constructed element.
    ///
    /// # Errors
    /// Names `field` if the encoding is primitive.
    pub const fn inside(&self, field: &'static str) -> Result<Reader<'a>, Malformed> {
        if self.tag.is_constructed() { Ok(self.reader()) } else { Err(self.malformed(field)) }
    }

    /// Integer that fits 64 bits.
    ///
    /// # Errors
    /// Names `field` for any other.
    #[inline]
    pub fn integer(&self, field: &'static str) -> Result<i64, Malformed> {
        let sign = match self.content.first() {
            Some(first) if self.content.len() <= 8 => -i64::from(first >> 7),
            _ => return Err(self.malformed(field)),
        };
        Ok(self.content.iter().fold(sign, |value, octet| value << 8 | i64::from(*octet)))
    }

    /// Integer from 0 to 2^32 - 1.
    ///
    /// # Errors
    /// Names `field` for any other.
    pub fn unsigned(&self, field: &'static str) -> Result<u32, Malformed> {
        let fault = self.malformed(field);
        self.integer(field).and_then(|value| u32::try_from(value).map_err(|_| fault))
    }

    /// Boolean.
    ///
    /// # Errors
    /// Names `field` if the contents are not one octet.
    pub const fn boolean(&self, field: &'static str) -> Result<bool, Malformed> {
        match self.content {
            [octet] => Ok(*octet != 0),
            _ => Err(self.malformed(field)),
        }
    }

    /// Nothing: the contents of NULL.
    ///
    /// # Errors
    /// Names `field` if there are contents.
    pub const fn null(&self, field: &'static str) -> Result<(), Malformed> {
        if self.content.is_empty() { Ok(()) } else { Err(self.malformed(field)) }
    }
}
