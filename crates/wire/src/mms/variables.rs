//! Services of variables: read, write, attributes, named lists (ISO 9506-2 14).

use super::data::{AccessResult, Data, Printed};
use super::names::{ObjectName, Variable, VariableAccess};
use super::types::TypeDescription;
use crate::ber::{Hex, Item, List, Reader, Tag, Text, Writer};
use crate::read::Malformed;
use core::fmt;

/// Request to read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadRequest<'a> {
    /// True if the response shall repeat the specification; false if absent.
    pub with_specification: Option<bool>,
    /// Variables.
    pub variables: VariableAccess<'a>,
}

impl<'a> ReadRequest<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let with = reader.optional("specification with result", Tag(0x80))?;
        let with_specification =
            with.map(|it| it.boolean("specification with result")).transpose()?;
        let inside = reader.expect("variable access specification", Tag(0xA1))?;
        let variables = VariableAccess::take(&mut inside.reader())?;
        Ok(Self { with_specification, variables })
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        let before = out.len();
        self.variables.put(out);
        out.close(Tag(0xA1), before);
        if let Some(with) = self.with_specification {
            out.boolean(Tag(0x80), with);
        }
    }
}

impl fmt::Display for ReadRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.variables.fmt(f)
    }
}

/// Response with values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadResponse<'a> {
    /// Variables, if the request asked for their specification.
    pub variables: Option<VariableAccess<'a>>,
    /// Results in the order of the variables.
    pub results: List<'a, AccessResult<'a>>,
}

impl<'a> ReadResponse<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let inside = reader.optional("variable access specification", Tag(0xA0))?;
        let variables = inside.map(|it| VariableAccess::take(&mut it.reader())).transpose()?;
        let results = List::decode(reader.expect("list of access results", Tag(0xA1))?.reader())?;
        Ok(Self { variables, results })
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        out.element(Tag(0xA1), self.results.octets());
        if let Some(variables) = &self.variables {
            let before = out.len();
            variables.put(out);
            out.close(Tag(0xA0), before);
        }
    }
}

impl fmt::Display for ReadResponse<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(variables) = &self.variables {
            write!(f, "{variables}: ")?;
        }
        write!(f, "{}", Printed(self.results))
    }
}

/// Request to write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WriteRequest<'a> {
    /// Variables.
    pub variables: VariableAccess<'a>,
    /// Values in the order of the variables.
    pub data: List<'a, Data<'a>>,
}

impl<'a> WriteRequest<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let variables = VariableAccess::take(&mut reader)?;
        let data = List::decode(reader.expect("list of data", Tag(0xA0))?.reader())?;
        Ok(Self { variables, data })
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        out.element(Tag(0xA0), self.data.octets());
        self.variables.put(out);
    }
}

impl fmt::Display for WriteRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.variables, Printed(self.data))
    }
}

/// Attributes of a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct VariableAttributes<'a> {
    /// True if a client may delete the variable.
    pub deletable: bool,
    /// Address, undivided.
    pub address: Option<&'a [u8]>,
    /// Type.
    pub description: TypeDescription<'a>,
}

impl<'a> VariableAttributes<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let deletable = reader.expect("MMS deletable", Tag(0x80))?.boolean("MMS deletable")?;
        let address = reader.optional("address", Tag(0xA1))?.map(|it| it.content);
        let description = reader.expect("type description", Tag(0xA2))?;
        let description = TypeDescription::take(&mut description.reader())?;
        Ok(Self { deletable, address, description })
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        let before = out.len();
        self.description.put(out);
        out.close(Tag(0xA2), before);
        out.optional_element(Tag(0xA1), self.address);
        out.boolean(Tag(0x80), self.deletable);
    }
}

impl fmt::Display for VariableAttributes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.description.fmt(f)?;
        if let Some(address) = self.address {
            write!(f, " address={}", Hex(address))?;
        }
        f.write_str(if self.deletable { " deletable" } else { "" })
    }
}

/// Definition of a named variable list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListDefinition<'a> {
    /// Name.
    pub name: ObjectName<'a>,
    /// Variables.
    pub variables: List<'a, Variable<'a>>,
}

impl<'a> ListDefinition<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let name = ObjectName::take(&mut reader)?;
        let variables = List::decode(reader.expect("list of variables", Tag(0xA0))?.reader())?;
        Ok(Self { name, variables })
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        out.element(Tag(0xA0), self.variables.octets());
        self.name.put(out);
    }
}

impl fmt::Display for ListDefinition<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}", self.name, Printed(self.variables))
    }
}

/// Attributes of a named variable list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListAttributes<'a> {
    /// True if a client may delete the list.
    pub deletable: bool,
    /// Variables.
    pub variables: List<'a, Variable<'a>>,
}

impl<'a> ListAttributes<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let deletable = reader.expect("MMS deletable", Tag(0x80))?.boolean("MMS deletable")?;
        let variables = List::decode(reader.expect("list of variables", Tag(0xA1))?.reader())?;
        Ok(Self { deletable, variables })
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        out.element(Tag(0xA1), self.variables.octets());
        out.boolean(Tag(0x80), self.deletable);
    }
}

impl fmt::Display for ListAttributes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Printed(self.variables))?;
        f.write_str(if self.deletable { " deletable" } else { "" })
    }
}

/// Request to delete named variable lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListDeletion<'a> {
    /// Scope: 0 the lists named, 1 those of the association, 2 of a domain, 3 of the device; 0 if
    /// absent.
    pub scope: Option<i64>,
    /// Names, in an explicit list.
    pub names: Option<List<'a, ObjectName<'a>>>,
    /// Domain.
    pub domain: Option<&'a [u8]>,
}

impl<'a> ListDeletion<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let scope = reader.optional("scope of delete", Tag(0x80))?;
        let scope = scope.map(|it| it.integer("scope of delete")).transpose()?;
        let names = reader.optional("list of variable list names", Tag(0xA1))?;
        let names = names.map(|it| List::decode(it.reader())).transpose()?;
        let domain = reader.optional("domain name", Tag(0x82))?.map(|it| it.content);
        Ok(Self { scope, names, domain })
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        out.optional_element(Tag(0x82), self.domain);
        out.optional_element(Tag(0xA1), self.names.map(|names| names.octets()));
        out.optional(Tag(0x80), self.scope);
    }
}

impl fmt::Display for ListDeletion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "scope={}", self.scope.unwrap_or_default())?;
        if let Some(names) = self.names {
            write!(f, " {}", Printed(names))?;
        }
        match self.domain {
            Some(domain) => write!(f, " domain={}", Text(domain)),
            None => Ok(()),
        }
    }
}

/// Result of deleting named variable lists.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Deleted {
    /// Lists that the request matched.
    pub matched: u32,
    /// Lists deleted.
    pub deleted: u32,
}

impl Deleted {
    pub(super) fn decode(mut reader: Reader<'_>) -> Result<Self, Malformed> {
        let matched = reader.expect("number matched", Tag(0x80))?.unsigned("number matched")?;
        let deleted = reader.expect("number deleted", Tag(0x81))?.unsigned("number deleted")?;
        Ok(Self { matched, deleted })
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        out.integer(Tag(0x81), i64::from(self.deleted));
        out.integer(Tag(0x80), i64::from(self.matched));
    }
}

impl fmt::Display for Deleted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "matched={} deleted={}", self.matched, self.deleted)
    }
}

/// Information report: values that a device sends without a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct InformationReport<'a> {
    /// Variables.
    pub variables: VariableAccess<'a>,
    /// Results in the order of the variables.
    pub results: List<'a, AccessResult<'a>>,
}

impl<'a> InformationReport<'a> {
    pub(super) fn decode(mut reader: Reader<'a>) -> Result<Self, Malformed> {
        let variables = VariableAccess::take(&mut reader)?;
        let results = List::decode(reader.expect("list of access results", Tag(0xA0))?.reader())?;
        Ok(Self { variables, results })
    }

    pub(super) fn encode(&self, out: &mut Writer) {
        out.element(Tag(0xA0), self.results.octets());
        self.variables.put(out);
    }
}

impl fmt::Display for InformationReport<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.variables, Printed(self.results))
    }
}
