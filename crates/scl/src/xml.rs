//! Tree of the elements of a file, in bounded memory.
//!
//! A document type declaration is refused, so that there are no entities but the five of XML and
//! characters by number, and nothing outside the file is read. Namespaces are dropped from names.
//! Sections that no reader needs are checked and not kept.

use crate::error::Fault;
use quick_xml::XmlVersion;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::reader::Reader;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Largest file in octets.
pub const MOST_OCTETS: usize = 100_000_000;
/// Maximum number of elements that are kept.
const MOST_ELEMENTS: usize = 1_000_000;
/// Maximum depth of elements.
const DEEPEST: usize = 64;
/// Longest name of an element or attribute, in octets.
const LONGEST_NAME: usize = 256;
/// Longest value of an attribute, and longest text of an element, in octets.
const LONGEST_VALUE: usize = 65_536;
/// Maximum number of attributes of an element.
const MOST_ATTRIBUTES: usize = 64;
/// Maximum number of attributes that are kept.
const MOST_ATTRIBUTES_IN_ALL: usize = 4_000_000;
/// Maximum number of different names of elements and attributes.
const MOST_NAMES: usize = 4_096;
/// Sections that are checked and not kept.
const SKIPPED: [&str; 8] =
    ["Private", "Text", "Header", "Substation", "Process", "Line", "Services", "History"];

/// Element.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Element {
    /// Name, without its namespace.
    pub(crate) name: Arc<str>,
    /// Offset in the file.
    pub(crate) offset: usize,
    /// Text directly in it, without space around it.
    pub(crate) text: String,
    /// Elements directly in it.
    pub(crate) children: Vec<Self>,
    attributes: Vec<Attribute>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Attribute {
    name: Arc<str>,
    value: Box<str>,
}

impl Element {
    /// Value of an attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|attribute| *attribute.name == *name);
        found.map(|attribute| &*attribute.value)
    }

    /// Value of an attribute that may be absent; empty if it is.
    pub(crate) fn optional(&self, name: &str) -> &str {
        self.attribute(name).unwrap_or_default()
    }

    /// Value of an attribute that must not be absent.
    pub(crate) fn required(&self, name: &str) -> Result<&str, Fault> {
        self.attribute(name).ok_or_else(|| self.fault(format!("without {name}")))
    }

    /// Number in an attribute; `None` if the attribute is absent.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u32>, Fault> {
        let Some(text) = self.attribute(name) else { return Ok(None) };
        let number = text.trim().parse();
        number.map(Some).map_err(|_| self.fault(format!("{name}={text:?} is no number")))
    }

    /// Truth of an attribute; `default` if the attribute is absent.
    pub(crate) fn flag(&self, name: &str, default: bool) -> bool {
        self.attribute(name).map_or(default, |text| matches!(text.trim(), "true" | "1"))
    }

    /// Elements of a name directly in it.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.children.iter().filter(move |child| *child.name == *name)
    }

    /// First element of a name directly in it.
    pub(crate) fn first(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| *child.name == *name)
    }

    /// Fault of this element.
    pub(crate) fn fault(&self, reason: impl core::fmt::Display) -> Fault {
        let names = ["name", "id", "inst", "desc"];
        let own = names.iter().find_map(|name| self.attribute(name));
        let own = own.map_or_else(String::new, |own| format!(" {own:?}"));
        Fault::at(self.offset, format!("{}{own}: {reason}", self.name))
    }
}

/// Reads the tree of a file, without sections of these names and those that no reader needs.
pub(crate) fn read(octets: &[u8], left_out: &'static [&'static str]) -> Result<Element, Fault> {
    if octets.len() > MOST_OCTETS {
        let reason = format!("{} octets, more than {MOST_OCTETS}", octets.len());
        return Err(Fault { offset: None, reason });
    }
    let text = core::str::from_utf8(octets).map_err(|error| {
        Fault::at(error.valid_up_to(), "not UTF-8 text: an SCL file (SCD, CID) is XML in UTF-8")
    })?;
    let mut reader = Reader::from_str(text);
    let mut tree = Tree { left_out, ..Tree::default() };
    loop {
        let offset = position(&reader);
        let event = reader.read_event();
        let event =
            event.map_err(|error| Fault::at(position(&reader).max(offset), error.to_string()))?;
        match event {
            Event::Start(start) => tree.open(&start, offset)?,
            Event::Empty(start) => {
                tree.open(&start, offset)?;
                tree.close();
            }
            Event::End(_) => tree.close(),
            Event::Text(text) => tree.text(&text, offset)?,
            Event::CData(data) => tree.text(&data, offset)?,
            Event::GeneralRef(reference) => {
                let character = character(&reference)
                    .ok_or_else(|| Fault::at(offset, "an entity other than those of XML itself"))?;
                tree.text(character.encode_utf8(&mut [0; 4]), offset)?;
            }
            Event::DocType(_) => {
                return Err(Fault::at(
                    offset,
                    "document type declarations (<!DOCTYPE) are refused: remove it",
                ));
            }
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) => {}
            Event::Eof => return tree.finish(offset),
        }
    }
}

fn position(reader: &Reader<&[u8]>) -> usize {
    usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX)
}

/// Character of a reference by number, or of one of the five entities of XML.
fn character(reference: &BytesRef<'_>) -> Option<char> {
    if let Ok(Some(character)) = reference.resolve_char_ref() {
        return Some(character);
    }
    match &**reference {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "apos" => Some('\''),
        "quot" => Some('"'),
        _ => None,
    }
}

/// Elements that are open, and the root once it is closed.
#[derive(Default)]
struct Tree {
    open: Vec<Element>,
    root: Option<Element>,
    kept: usize,
    kept_attributes: usize,
    /// Names so far: elements share them.
    names: BTreeSet<Arc<str>>,
    /// Sections that are checked and not kept, in addition to those that no reader needs.
    left_out: &'static [&'static str],
    /// Depth within a section that is not kept.
    skipped: usize,
}

impl Tree {
    fn open(&mut self, start: &BytesStart<'_>, offset: usize) -> Result<(), Fault> {
        if self.open.len() + self.skipped >= DEEPEST {
            return Err(Fault::at(offset, format!("more than {DEEPEST} elements in each other")));
        }
        if self.open.is_empty() && self.root.is_some() {
            return Err(Fault::at(offset, "a second root element"));
        }
        let own = start.local_name();
        let own: &str = own.as_ref();
        if self.skipped > 0 || SKIPPED.contains(&own) || self.left_out.contains(&own) {
            check_name(own, offset)?;
            self.skipped += 1;
            return Ok(());
        }
        let name = self.name(own, offset)?;
        self.kept += 1;
        if self.kept > MOST_ELEMENTS {
            return Err(Fault::at(offset, format!("more than {MOST_ELEMENTS} elements")));
        }
        let attributes = self.attributes(start, offset)?;
        self.open.push(Element { name, offset, attributes, ..Element::default() });
        Ok(())
    }

    fn close(&mut self) {
        if self.skipped > 0 {
            self.skipped -= 1;
            return;
        }
        let Some(mut closed) = self.open.pop() else { return };
        closed.text = closed.text.trim().to_owned();
        match self.open.last_mut() {
            Some(parent) => parent.children.push(closed),
            None => self.root = Some(closed),
        }
    }

    fn text(&mut self, text: &str, offset: usize) -> Result<(), Fault> {
        let Some(open) = self.open.last_mut().filter(|_| self.skipped == 0) else { return Ok(()) };
        // Space between elements would only take memory.
        if open.text.is_empty() && text.trim().is_empty() {
            return Ok(());
        }
        if open.text.len() + text.len() > LONGEST_VALUE {
            return Err(Fault::at(offset, format!("text of more than {LONGEST_VALUE} octets")));
        }
        open.text.push_str(text);
        Ok(())
    }

    fn finish(self, offset: usize) -> Result<Element, Fault> {
        if let Some(open) = self.open.last() {
            return Err(open.fault("the file ends within it"));
        }
        self.root.ok_or_else(|| Fault::at(offset, "no XML element: not an SCL file"))
    }
}

fn check_name(name: &str, offset: usize) -> Result<(), Fault> {
    if name.len() > LONGEST_NAME {
        return Err(Fault::at(offset, format!("a name of more than {LONGEST_NAME} octets")));
    }
    Ok(())
}

impl Tree {
    /// Name of an element or attribute.
    fn name(&mut self, name: &str, offset: usize) -> Result<Arc<str>, Fault> {
        check_name(name, offset)?;
        if let Some(known) = self.names.get(name) {
            return Ok(Arc::clone(known));
        }
        if self.names.len() >= MOST_NAMES {
            let reason = format!("more than {MOST_NAMES} different names of elements");
            return Err(Fault::at(offset, reason));
        }
        let name: Arc<str> = name.into();
        self.names.insert(Arc::clone(&name));
        Ok(name)
    }

    fn attributes(
        &mut self,
        start: &BytesStart<'_>,
        offset: usize,
    ) -> Result<Vec<Attribute>, Fault> {
        let mut found = Vec::new();
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|error| Fault::at(offset, error.to_string()))?;
            let own = self.name(attribute.key.local_name().as_ref(), offset)?;
            if attribute.value.len() > LONGEST_VALUE {
                let reason = format!("{own} of more than {LONGEST_VALUE} octets");
                return Err(Fault::at(offset, reason));
            }
            if found.len() >= MOST_ATTRIBUTES {
                let reason = format!("more than {MOST_ATTRIBUTES} attributes");
                return Err(Fault::at(offset, reason));
            }
            let value = attribute.normalized_value(XmlVersion::Implicit1_0);
            let value = value.map_err(|error| Fault::at(offset, format!("{own}: {error}")))?;
            found.push(Attribute { name: own, value: value.into() });
        }
        self.kept_attributes += found.len();
        if self.kept_attributes > MOST_ATTRIBUTES_IN_ALL {
            let reason = format!("more than {MOST_ATTRIBUTES_IN_ALL} attributes in all");
            return Err(Fault::at(offset, reason));
        }
        found.shrink_to_fit();
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_attributes_and_text_are_read() {
        let root =
            read(b"<a xmlns:s='u' s:x='1 &lt; 2'>\n <b>one &amp; &#50;</b><b/></a>", &[]).unwrap();
        assert_eq!((&*root.name, root.attribute("x")), ("a", Some("1 < 2")));
        assert_eq!(root.first("b").unwrap().text, "one & 2");
        assert_eq!(root.all("b").count(), 2);
    }

    #[test]
    fn a_document_type_is_refused_whatever_it_declares() {
        let laughs = "<?xml version='1.0'?>\n<!DOCTYPE SCL [<!ENTITY a 'ha'><!ENTITY b \
                      '&a;&a;&a;&a;'><!ENTITY c '&b;&b;&b;'>]>\n<SCL>&c;</SCL>";
        check(laughs.as_bytes(), "document type declarations (<!DOCTYPE) are refused: remove it");
        check(b"<!DOCTYPE SCL SYSTEM 'file:///etc/passwd'><SCL/>", "document type declarations");
        check(b"<SCL>&c;</SCL>", "an entity other than those of XML itself");
        check(b"<SCL a='&c;'/>", "a:");
    }

    #[test]
    fn a_file_of_more_than_100_mb_is_refused() {
        check(&vec![b' '; MOST_OCTETS + 1], "100000001 octets, more than 100000000");
    }

    #[test]
    fn names_values_depth_and_attributes_are_bounded() {
        check("<a>".repeat(65).as_bytes(), "more than 64 elements in each other");
        check(format!("<SCL><Private>{}", "<a>".repeat(65)).as_bytes(), "more than 64 elements");
        check(format!("<{}/>", "a".repeat(257)).as_bytes(), "a name of more than 256 octets");
        check(format!("<a x='{}'/>", "a".repeat(65_537)).as_bytes(), "x of more than 65536");
        check(format!("<a>{}</a>", "a".repeat(65_537)).as_bytes(), "text of more than 65536");
        let many: String = (0..65).map(|number| format!(" x{number}=''")).collect();
        check(format!("<a{many}/>").as_bytes(), "more than 64 attributes");
    }

    #[test]
    fn what_is_no_document_is_refused() {
        check(b"", "no XML element: not an SCL file");
        check(b"<a><b>", "the file ends within it");
        check(b"<a/><b/>", "a second root element");
        check(b"<a>\xff</a>", "not UTF-8");
        check(b"<a></b>", "");
    }

    #[test]
    fn sections_that_are_not_needed_are_not_kept() {
        let root = read(b"<SCL><Private><IED/></Private><IED name='x'/></SCL>", &[]).unwrap();
        assert_eq!(root.children.len(), 1);
    }

    #[track_caller]
    fn check(octets: &[u8], reason: &str) {
        let fault = read(octets, &[]).unwrap_err();
        assert!(fault.reason.contains(reason), "{}", fault.reason);
    }
}
