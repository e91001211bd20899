//! Primitives of association control (ISO 8649), titles and notes.

use crate::presentation::{self, Addresses, Pdv, Refusal};
use bytes::Bytes;
use wire::acse::Diagnostic;
use wire::ber::{Oid, Tag, Writer};
use wire::read::Malformed;

/// Application context name: the contents of an object identifier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ContextName(pub &'static [u8]);

impl ContextName {
    /// MMS, 1.0.9506.2.3.
    pub const MMS: Self = Self(&[0x28, 0xCA, 0x22, 2, 3]);
    /// CASE of MAP 2.1, 1.0.8650: an assumption, because the name of 1985 was not found.
    pub const CASE: Self = Self(&[0x28, 0xC3, 0x4A]);
}

/// Application entity: its AP title and AE qualifier, each as its element; empty ones are absent.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Entity {
    /// AP title.
    pub title: Bytes,
    /// AE qualifier.
    pub qualifier: Bytes,
}

impl Entity {
    /// Creates an entity of the arcs of its title and its qualifier. The first two arcs count as one
    /// (X.690 8.19.4).
    #[must_use]
    pub fn new(title: &[u32], qualifier: Option<u32>) -> Self {
        let mut out = Writer::new();
        if let Some(qualifier) = qualifier {
            out.integer(Tag::INTEGER, i64::from(qualifier));
        }
        let qualifier = Bytes::copy_from_slice(out.octets());
        let [first, second, rest @ ..] = title else {
            return Self { title: Bytes::new(), qualifier };
        };
        let mut contents = Vec::new();
        arc(first.saturating_mul(40).saturating_add(*second), &mut contents);
        rest.iter().for_each(|number| arc(*number, &mut contents));
        out.clear();
        out.oid(Tag::OBJECT_IDENTIFIER, Oid(&contents));
        Self { title: Bytes::copy_from_slice(out.octets()), qualifier }
    }
}

/// Appends an arc in groups of seven bits.
fn arc(number: u32, out: &mut Vec<u8>) {
    for shift in [28, 21, 14, 7] {
        if number >> shift != 0 {
            out.push(0x80 | (number >> shift & 0x7F) as u8);
        }
    }
    out.push((number & 0x7F) as u8);
}

/// Contents of an A-ASSOCIATE request and indication.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Associate {
    /// Selectors of both ends.
    pub addresses: Addresses,
    /// Calling entity.
    pub calling: Entity,
    /// Called entity.
    pub called: Entity,
    /// User information, in the context of its abstract syntax.
    pub information: Option<Pdv>,
}

/// Primitive of association control: a request or response of the user, or an indication or confirm
/// to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Primitive {
    /// A-ASSOCIATE request and indication.
    Associate(Box<Associate>),
    /// A-ASSOCIATE response and confirm, accepting.
    Accept {
        /// User information.
        information: Option<Pdv>,
    },
    /// A-ASSOCIATE response and confirm, rejecting.
    Reject {
        /// Rejection. That of a response is by the user.
        rejection: Rejection,
        /// User information.
        information: Option<Pdv>,
    },
    /// A-RELEASE request and indication.
    Release,
    /// A-RELEASE response and confirm.
    Released,
    /// A-ABORT request and indication.
    Abort {
        /// Source.
        source: Source,
    },
    /// A-P-ABORT indication.
    ProviderAbort {
        /// Reason of the presentation layer.
        reason: presentation::Reason,
    },
}

/// Layer that rejected an association, and its reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rejection {
    /// AARE.
    Association {
        /// True if another attempt may be accepted (rejected transient).
        is_transient: bool,
        /// Diagnostic.
        diagnostic: Option<Diagnostic>,
    },
    /// Presentation or session layer.
    Below(Refusal),
}

/// Source of an A-ABORT.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Source {
    /// User of the association.
    User,
    /// Association control: a protocol error.
    Provider,
}

/// Note for observers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Note {
    /// Octets arrived that are no APDU.
    Malformed(Malformed),
    /// An APDU arrived that is not permitted in this state.
    OutOfPlace,
    /// A request of the user is not permitted in this state.
    Refused,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_has_the_octets_of_libiec61850() {
        let entity = Entity::new(&[1, 1, 1, 999, 1], Some(12));
        assert_eq!(entity.title[..], [6, 5, 0x29, 1, 0x87, 0x67, 1]);
        assert_eq!(entity.qualifier[..], [2, 1, 12]);
        assert_eq!(Entity::new(&[], None), Entity::default());
    }
}
