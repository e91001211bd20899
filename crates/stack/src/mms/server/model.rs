//! Objects of a server: domains with named variables and named variable lists.

use super::value::Value;
use std::collections::BTreeMap;
use wire::ber::{Item as _, Tag, Writer};

/// Objects of a server, and its identification.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Model {
    /// Vendor.
    pub vendor: String,
    /// Model.
    pub model: String,
    /// Revision.
    pub revision: String,
    /// Domains by name.
    pub domains: BTreeMap<String, Domain>,
}

/// Domain.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Domain {
    /// Named variables.
    pub variables: BTreeMap<String, Node>,
    /// Named variable lists.
    pub lists: BTreeMap<String, List>,
    /// Names of the variables that are report control blocks (IEC 61850-8-1).
    pub blocks: Vec<String>,
}

/// Named variable list.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct List {
    /// Members in order.
    pub members: Vec<Named>,
    /// True if a client has defined it, and may delete it.
    pub deletable: bool,
}

/// Name in a domain.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Named {
    /// Domain.
    pub domain: String,
    /// Name in the domain.
    pub item: String,
}

/// Variable, or a part of one.
#[derive(Clone, PartialEq, Debug)]
pub enum Node {
    /// Structure, with its members in order.
    Structure(Vec<Member>),
    /// Array.
    Array(Vec<Self>),
    /// Leaf.
    Leaf(Value),
}

/// Member of a structure.
#[derive(Clone, PartialEq, Debug)]
pub struct Member {
    /// Name.
    pub name: String,
    /// Contents.
    pub node: Node,
}

impl Model {
    /// Variable of a name, or a part of one: parts are joined with `$`.
    #[must_use]
    pub fn node(&self, domain: &str, item: &str) -> Option<&Node> {
        let mut parts = item.split('$');
        let mut node = self.domains.get(domain)?.variables.get(parts.next()?)?;
        for part in parts {
            let Node::Structure(members) = node else { return None };
            node = &members.iter().find(|member| member.name == part)?.node;
        }
        Some(node)
    }

    /// Leaf of a name, to be changed.
    pub(super) fn leaf_mut(&mut self, domain: &str, item: &str) -> Option<&mut Value> {
        let mut parts = item.split('$');
        let mut node = self.domains.get_mut(domain)?.variables.get_mut(parts.next()?)?;
        for part in parts {
            let Node::Structure(members) = node else { return None };
            node = &mut members.iter_mut().find(|member| member.name == part)?.node;
        }
        match node {
            Node::Leaf(value) => Some(value),
            Node::Structure(_) | Node::Array(_) => None,
        }
    }

    /// Leaf of a name.
    pub(super) fn leaf(&self, domain: &str, item: &str) -> Option<&Value> {
        match self.node(domain, item)? {
            Node::Leaf(value) => Some(value),
            Node::Structure(_) | Node::Array(_) => None,
        }
    }

    /// Number of leaves.
    #[must_use]
    pub fn leaves(&self) -> usize {
        let variables = self.domains.values().flat_map(|domain| domain.variables.values());
        variables.map(Node::leaves).sum()
    }
}

impl Domain {
    /// Names of all variables and their parts, in the order of the characters.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (name, node) in &self.variables {
            node.names(name.clone(), &mut names);
        }
        names.sort_unstable();
        names
    }
}

impl Node {
    fn names(&self, own: String, names: &mut Vec<String>) {
        if let Self::Structure(members) = self {
            for member in members {
                member.node.names(format!("{own}${}", member.name), names);
            }
        }
        names.push(own);
    }

    fn leaves(&self) -> usize {
        match self {
            Self::Structure(members) => members.iter().map(|member| member.node.leaves()).sum(),
            Self::Array(elements) => elements.iter().map(Self::leaves).sum(),
            Self::Leaf(_) => 1,
        }
    }

    /// Writes the value in front of what `out` holds.
    pub(super) fn put(&self, out: &mut Writer) {
        let before = out.len();
        match self {
            Self::Structure(members) => {
                members.iter().rev().for_each(|member| member.node.put(out));
                out.close(Tag(0xA2), before);
            }
            Self::Array(elements) => {
                elements.iter().rev().for_each(|element| element.put(out));
                out.close(Tag(0xA1), before);
            }
            Self::Leaf(value) => value.put(out),
        }
    }

    /// Writes the type in front of what `out` holds (ISO 9506-2 14.2.2, `TypeSpecification`).
    pub(super) fn put_type(&self, out: &mut Writer) {
        let before = out.len();
        match self {
            Self::Structure(members) => {
                for member in members.iter().rev() {
                    let start = out.len();
                    member.node.put_type(out);
                    out.close(Tag(0xA1), start);
                    out.element(Tag(0x80), member.name.as_bytes());
                    out.close(Tag::SEQUENCE, start);
                }
                out.close(Tag(0xA1), before);
                out.close(Tag(0xA2), before);
            }
            Self::Array(elements) => {
                if let Some(element) = elements.first() {
                    element.put_type(out);
                }
                out.close(Tag(0xA2), before);
                out.integer(Tag(0x81), i64::try_from(elements.len()).unwrap_or(i64::MAX));
                out.close(Tag(0xA1), before);
            }
            Self::Leaf(value) => value.description().put(out),
        }
    }
}
