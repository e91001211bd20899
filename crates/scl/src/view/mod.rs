//! MMS view of a server (IEC 61850-8-1, clauses 13 to 17): each logical device is a domain, each
//! logical node a named variable, a structure of functional constraints, and each data set a named
//! variable list.
//!
//! Names of parts join the names from the node down with `$`: `MMXU1$MX$TotW$mag$f`.

mod blocks;

use crate::control::{Member, ReportControl};
use crate::error::Error;
use crate::kinds::{Basic, Constraint};
use crate::model::{AccessPoint, LogicalDevice, LogicalNode};
use crate::templates::{Attribute, AttributeKind, DataObject, ObjectMember};

/// Maximum number of variables of a view, in all domains together. Types in types grow fast.
const MOST_VARIABLES: usize = 500_000;
/// Longest name of MMS (ISO 9506-2, Identifier of edition 1 is 32; IEC 61850-8-1 has 64 and 129).
const LONGEST_ITEM: usize = 129;

/// MMS objects of a server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct View {
    /// Domains, one for each logical device.
    pub domains: Vec<Domain>,
}

/// Domain: a logical device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Domain {
    /// Name.
    pub name: String,
    /// Named variables, one for each logical node.
    pub variables: Vec<Variable>,
    /// Named variable lists.
    pub lists: Vec<List>,
    /// Report control blocks, one for each instance.
    pub reports: Vec<Report>,
}

/// Named variable, or a part of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// Name: the last part.
    pub name: String,
    /// Contents.
    pub shape: Shape,
}

/// Contents of a variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Structure.
    Structure(Vec<Variable>),
    /// Array.
    Array {
        /// Number of elements.
        count: u32,
        /// Each element.
        element: Box<Self>,
    },
    /// Leaf.
    Leaf {
        /// Type.
        basic: Basic,
        /// Value as text: a bit string is a text of the digits 0 and 1, a name of an enumeration is
        /// its number. `None` if the file gives none.
        value: Option<String>,
    },
}

/// Named variable list: a data set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct List {
    /// Name: that of the node and that of the data set, joined with `$`.
    pub name: String,
    /// Members in order.
    pub members: Vec<Named>,
}

/// Name of a variable in a domain.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Named {
    /// Domain.
    pub domain: String,
    /// Name in the domain.
    pub item: String,
}

/// Instance of a report control block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// Name of its variable: `LLN0$RP$name` or `LLN0$BR$name`.
    pub item: String,
    /// Node that has it.
    pub node: String,
    /// Control block.
    pub control: ReportControl,
}

impl View {
    /// MMS objects of the server at an access point.
    ///
    /// # Errors
    /// There are too many variables, or a name is too long for MMS.
    pub fn of(point: &AccessPoint) -> Result<Self, Error> {
        let mut room = MOST_VARIABLES;
        let domains = point.devices.iter().map(|device| domain(point, device, &mut room));
        Ok(Self { domains: domains.collect::<Result<_, _>>()? })
    }

    /// Number of leaves, elements of arrays counted once.
    #[must_use]
    pub fn leaves(&self) -> usize {
        let nodes = self.domains.iter().flat_map(|domain| &domain.variables);
        nodes.map(|node| node.shape.leaves()).sum()
    }
}

impl Shape {
    /// Number of leaves, elements of an array counted once.
    #[must_use]
    pub fn leaves(&self) -> usize {
        match self {
            Self::Structure(members) => members.iter().map(|member| member.shape.leaves()).sum(),
            Self::Array { element, .. } => element.leaves(),
            Self::Leaf { .. } => 1,
        }
    }

    /// Part of this name, with `$` between the names.
    #[must_use]
    pub fn part(&self, path: &str) -> Option<&Self> {
        let mut shape = self;
        for name in path.split('$') {
            let Self::Structure(members) = shape else { return None };
            shape = &members.iter().find(|member| member.name == name)?.shape;
        }
        Some(shape)
    }
}

fn error(reason: String) -> Error {
    Error { place: None, reason }
}

fn take(room: &mut usize, count: usize) -> Result<(), Error> {
    let left = room.checked_sub(count);
    *room = left.ok_or_else(|| error(format!("more than {MOST_VARIABLES} variables")))?;
    Ok(())
}

fn domain(point: &AccessPoint, device: &LogicalDevice, room: &mut usize) -> Result<Domain, Error> {
    let mut found = Domain {
        name: device.domain.clone(),
        variables: Vec::new(),
        lists: Vec::new(),
        reports: Vec::new(),
    };
    for node in &device.nodes {
        let mut groups = Vec::new();
        for constraint in Constraint::ALL {
            let members = Walk { node, constraint, room }.objects(&node.kind.objects, "")?;
            if !members.is_empty() {
                let name = constraint.name().to_owned();
                groups.push(Variable { name, shape: Shape::Structure(members) });
            }
        }
        let reports = blocks::reports(node);
        take(room, 16 * reports.len())?;
        groups.extend(blocks::groups(&reports, &device.domain));
        found.reports.extend(reports);
        for set in &node.data_sets {
            let members = set.members.iter().map(|member| named(point, member));
            let name = format!("{}${}", node.name, set.name);
            found.lists.push(List { name, members: members.collect::<Result<_, _>>()? });
        }
        let shape = Shape::Structure(groups);
        found.variables.push(Variable { name: node.name.clone(), shape });
    }
    Ok(found)
}

/// Name of the variable of a member of a data set.
fn named(point: &AccessPoint, member: &Member) -> Result<Named, Error> {
    let device = point.devices.iter().find(|device| device.instance == member.device);
    let device = device.ok_or_else(|| {
        error(format!(
            "a data set names the logical device {:?}, which is not there",
            member.device
        ))
    })?;
    let mut item = format!("{}${}", member.node, member.constraint.name());
    let parts = member.object.split('.').chain(member.attribute.split('.'));
    for part in parts.filter(|part| !part.is_empty()) {
        item.push('$');
        item.push_str(part);
    }
    if item.len() > LONGEST_ITEM {
        return Err(error(format!("{item:?} is longer than {LONGEST_ITEM} octets")));
    }
    Ok(Named { domain: device.domain.clone(), item })
}

/// Walk over the types of a node, for one functional constraint.
struct Walk<'a> {
    node: &'a LogicalNode,
    constraint: Constraint,
    room: &'a mut usize,
}

impl Walk<'_> {
    fn objects(&mut self, objects: &[DataObject], path: &str) -> Result<Vec<Variable>, Error> {
        let mut found = Vec::new();
        for object in objects {
            found.extend(self.object(object, path)?);
        }
        Ok(found)
    }

    fn object(&mut self, object: &DataObject, path: &str) -> Result<Option<Variable>, Error> {
        take(self.room, 1)?;
        let path = join(path, &object.name);
        let mut members = Vec::new();
        for member in &object.kind.members {
            match member {
                ObjectMember::Object(inner) => members.extend(self.object(inner, &path)?),
                ObjectMember::Attribute { constraint, attribute } => {
                    if *constraint == self.constraint {
                        members.push(self.attribute(attribute, &path)?);
                    }
                }
            }
        }
        if members.is_empty() {
            return Ok(None);
        }
        let shape = repeated(Shape::Structure(members), object.count);
        Ok(Some(Variable { name: object.name.clone(), shape }))
    }

    fn attribute(&mut self, attribute: &Attribute, path: &str) -> Result<Variable, Error> {
        take(self.room, 1)?;
        let path = join(path, &attribute.name);
        let value = self.node.values.get(&path).or(attribute.value.as_ref()).cloned();
        let shape = match &attribute.kind {
            AttributeKind::Basic(basic) => Shape::Leaf { basic: *basic, value },
            // IEC 61850-8-1, table 20: an enumeration is an integer of 8 bits.
            AttributeKind::Enumeration(kind) => {
                let number = value.and_then(|name| kind.number(&name));
                let value = number.map(|number| number.to_string());
                Shape::Leaf { basic: Basic::Integer { bits: 8 }, value }
            }
            AttributeKind::Structure(kind) => {
                let members = kind.members.iter().map(|member| self.attribute(member, &path));
                Shape::Structure(members.collect::<Result<_, _>>()?)
            }
        };
        let shape = repeated(shape, attribute.count);
        Ok(Variable { name: attribute.name.clone(), shape })
    }
}

fn repeated(shape: Shape, count: u32) -> Shape {
    if count == 0 { shape } else { Shape::Array { count, element: Box::new(shape) } }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}
