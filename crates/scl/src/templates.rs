//! Data type templates (IEC 61850-6, 9.5): types of nodes, objects and attributes, resolved by
//! name. Each type is shared by all that use it; a type that contains itself is refused.

use crate::error::Fault;
use crate::kinds::{Basic, Constraint};
use crate::xml::Element;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of types in each other.
const DEEPEST: usize = 16;
/// Maximum number of elements of an array.
const LONGEST_ARRAY: u32 = 4_096;

/// Type of logical nodes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NodeType {
    /// Identifier.
    pub id: String,
    /// Class, such as `MMXU`.
    pub class: String,
    /// Data objects.
    pub objects: Vec<DataObject>,
}

/// Data object, or one within another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataObject {
    /// Name.
    pub name: String,
    /// Type.
    pub kind: Arc<ObjectType>,
    /// Number of elements, if it is an array; otherwise 0.
    pub count: u32,
}

/// Type of data objects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ObjectType {
    /// Identifier.
    pub id: String,
    /// Common data class, such as `MV`.
    pub class: String,
    /// Members in order.
    pub members: Vec<ObjectMember>,
}

/// Member of a data object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ObjectMember {
    /// Data object within it.
    Object(DataObject),
    /// Attribute, with its functional constraint.
    Attribute {
        /// Functional constraint.
        constraint: Constraint,
        /// Attribute.
        attribute: Attribute,
    },
}

/// Attribute of a data object, or one within a structured attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attribute {
    /// Name.
    pub name: String,
    /// Type.
    pub kind: AttributeKind,
    /// Number of elements, if it is an array; otherwise 0.
    pub count: u32,
    /// Value as text, if the template gives one.
    pub value: Option<String>,
}

/// Type of an attribute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AttributeKind {
    /// Basic type.
    Basic(Basic),
    /// Enumeration.
    Enumeration(Arc<EnumType>),
    /// Structure.
    Structure(Arc<AttributeType>),
}

/// Type of structured attributes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AttributeType {
    /// Identifier.
    pub id: String,
    /// Members in order.
    pub members: Vec<Attribute>,
}

/// Enumeration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EnumType {
    /// Identifier.
    pub id: String,
    /// Names by number.
    pub names: BTreeMap<i64, String>,
}

impl EnumType {
    /// Number of a name.
    #[must_use]
    pub fn number(&self, name: &str) -> Option<i64> {
        let found = self.names.iter().find(|(_, own)| *own == name);
        found.map(|(number, _)| *number)
    }
}

/// Templates of a file. Types are resolved once, when they are first used.
#[derive(Default)]
pub(crate) struct Templates<'a> {
    nodes: BTreeMap<&'a str, &'a Element>,
    objects: BTreeMap<&'a str, &'a Element>,
    attributes: BTreeMap<&'a str, &'a Element>,
    enumerations: BTreeMap<&'a str, &'a Element>,
    known: Known<'a>,
    /// Types being resolved, each within the one before.
    path: Vec<&'a str>,
}

/// Types that are resolved.
#[derive(Default)]
struct Known<'a> {
    nodes: BTreeMap<&'a str, Arc<NodeType>>,
    objects: BTreeMap<&'a str, Arc<ObjectType>>,
    attributes: BTreeMap<&'a str, Arc<AttributeType>>,
    enumerations: BTreeMap<&'a str, Arc<EnumType>>,
}

impl<'a> Templates<'a> {
    /// Collects the templates of a file.
    pub(crate) fn of(root: &'a Element) -> Result<Self, Fault> {
        let mut templates = Self::default();
        let sections = root.all("DataTypeTemplates");
        for element in sections.flat_map(|section| &section.children) {
            let kind = match &*element.name {
                "LNodeType" => &mut templates.nodes,
                "DOType" => &mut templates.objects,
                "DAType" => &mut templates.attributes,
                "EnumType" => &mut templates.enumerations,
                _ => continue,
            };
            if kind.insert(element.required("id")?, element).is_some() {
                return Err(element.fault("a second type of this id"));
            }
        }
        Ok(templates)
    }

    /// Type of the nodes of an element with `lnType`.
    pub(crate) fn node(&mut self, user: &'a Element) -> Result<Arc<NodeType>, Fault> {
        let id = user.required("lnType")?;
        if let Some(known) = self.known.nodes.get(id) {
            return Ok(Arc::clone(known));
        }
        let element = find(&self.nodes, id, user, "LNodeType")?;
        let objects = element.all("DO").map(|object| self.object(object));
        let objects = objects.collect::<Result<_, _>>()?;
        let class = element.optional("lnClass").to_owned();
        let node = Arc::new(NodeType { id: id.to_owned(), class, objects });
        self.known.nodes.insert(id, Arc::clone(&node));
        Ok(node)
    }

    fn object(&mut self, user: &'a Element) -> Result<DataObject, Fault> {
        let id = user.required("type")?;
        let name = named(user)?;
        let count = count(user)?;
        if let Some(known) = self.known.objects.get(id) {
            return Ok(DataObject { name, kind: Arc::clone(known), count });
        }
        let element = find(&self.objects, id, user, "DOType")?;
        self.enter(id, user)?;
        let mut members = Vec::new();
        for child in &element.children {
            match &*child.name {
                "SDO" => members.push(ObjectMember::Object(self.object(child)?)),
                "DA" => {
                    let letters = child.required("fc")?;
                    // Constraints of control blocks are no data.
                    let constraint = Constraint::of(letters)
                        .ok_or_else(|| child.fault(format!("unknown fc {letters:?}")))?;
                    let attribute = self.attribute(child)?;
                    members.push(ObjectMember::Attribute { constraint, attribute });
                }
                _ => {}
            }
        }
        self.path.pop();
        let class = element.optional("cdc").to_owned();
        let kind = Arc::new(ObjectType { id: id.to_owned(), class, members });
        self.known.objects.insert(id, Arc::clone(&kind));
        Ok(DataObject { name, kind, count })
    }

    fn attribute(&mut self, user: &'a Element) -> Result<Attribute, Fault> {
        let basic = user.required("bType")?;
        let kind = match basic {
            "Struct" => AttributeKind::Structure(self.structure(user.required("type")?, user)?),
            "Enum" => AttributeKind::Enumeration(self.enumeration(user)?),
            "PhyComAddr" => AttributeKind::Structure(Arc::new(physical_address())),
            _ => AttributeKind::Basic(
                Basic::of(basic).ok_or_else(|| user.fault(format!("unknown bType {basic:?}")))?,
            ),
        };
        let value = user.first("Val").map(|value| value.text.clone());
        Ok(Attribute { name: named(user)?, kind, count: count(user)?, value })
    }

    fn structure(&mut self, id: &'a str, user: &Element) -> Result<Arc<AttributeType>, Fault> {
        if let Some(known) = self.known.attributes.get(id) {
            return Ok(Arc::clone(known));
        }
        let element = find(&self.attributes, id, user, "DAType")?;
        self.enter(id, user)?;
        let members = element.all("BDA").map(|member| self.attribute(member));
        let members = members.collect::<Result<_, _>>()?;
        self.path.pop();
        let kind = Arc::new(AttributeType { id: id.to_owned(), members });
        self.known.attributes.insert(id, Arc::clone(&kind));
        Ok(kind)
    }

    fn enumeration(&mut self, user: &'a Element) -> Result<Arc<EnumType>, Fault> {
        let id = user.required("type")?;
        if let Some(known) = self.known.enumerations.get(id) {
            return Ok(Arc::clone(known));
        }
        let element = find(&self.enumerations, id, user, "EnumType")?;
        let mut names = BTreeMap::new();
        for value in element.all("EnumVal") {
            let text = value.required("ord")?;
            let number = text.trim().parse::<i64>();
            let number = number.map_err(|_| value.fault(format!("ord={text:?} is no number")))?;
            names.insert(number, value.text.clone());
        }
        let kind = Arc::new(EnumType { id: id.to_owned(), names });
        self.known.enumerations.insert(id, Arc::clone(&kind));
        Ok(kind)
    }

    /// Enters a type; refuses one that contains itself.
    fn enter(&mut self, id: &'a str, user: &Element) -> Result<(), Fault> {
        if self.path.contains(&id) {
            let path = self.path.join(" > ");
            return Err(user.fault(format!("type {id:?} contains itself: {path} > {id}")));
        }
        if self.path.len() >= DEEPEST {
            return Err(user.fault(format!("more than {DEEPEST} types in each other")));
        }
        self.path.push(id);
        Ok(())
    }
}

fn find<'a>(
    types: &BTreeMap<&'a str, &'a Element>,
    id: &str,
    user: &Element,
    kind: &str,
) -> Result<&'a Element, Fault> {
    types.get(id).copied().ok_or_else(|| user.fault(format!("no {kind} {id:?}")))
}

/// Name of a member: the characters of an MMS identifier, without `$`.
pub(crate) fn named(user: &Element) -> Result<String, Fault> {
    let name = user.required("name")?;
    checked(name, user)?;
    Ok(name.to_owned())
}

/// Checks that a text may be part of an MMS identifier.
pub(crate) fn checked(name: &str, user: &Element) -> Result<(), Fault> {
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !is_plain || name.len() > 64 {
        return Err(user.fault(format!("{name:?} is no name of up to 64 letters and digits")));
    }
    Ok(())
}

/// Number of elements of an array. A name of an attribute instead of a number counts as no array.
fn count(user: &Element) -> Result<u32, Fault> {
    let count = user.attribute("count").and_then(|text| text.trim().parse().ok()).unwrap_or(0);
    if count > LONGEST_ARRAY {
        return Err(user.fault(format!("an array of {count}, more than {LONGEST_ARRAY}")));
    }
    Ok(count)
}

/// Structure of an address of a multicast control block (IEC 61850-8-1, table 47).
pub(crate) fn physical_address() -> AttributeType {
    let member = |name: &str, basic| Attribute {
        name: name.to_owned(),
        kind: AttributeKind::Basic(basic),
        count: 0,
        value: None,
    };
    AttributeType {
        id: "PhyComAddr".to_owned(),
        members: vec![
            member("Addr", Basic::OctetsUpTo { octets: 6 }),
            member("PRIORITY", Basic::Unsigned { bits: 8 }),
            member("VID", Basic::Unsigned { bits: 16 }),
            member("APPID", Basic::Unsigned { bits: 16 }),
        ],
    }
}
