//! Objects of a server from an SCL file.

use scl::view::{Shape, Variable, View};
use scl::{Basic, Document, Ied};
use stack::mms::server::{Domain, List, Member, Model, Named, Node, Value};
use std::collections::BTreeMap;

/// SCL file of the server that needs none.
pub const BUILT_IN: &str = include_str!("../../models/feeder.cid");

/// Most devices that a message names.
const MOST_NAMED: usize = 8;

/// Error of a device without objects for a server.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoModel {
    /// The file is no SCL, or the device has too many objects.
    #[error("{0}")]
    Wrong(#[from] scl::Error),
    /// The file has no such device with a server.
    #[error("{}", no_server(.name.as_deref(), .devices))]
    NoServer {
        /// Name of the device; `None` for the first one.
        name: Option<String>,
        /// Devices with a server.
        devices: Vec<String>,
    },
}

fn no_server(name: Option<&str>, devices: &[String]) -> String {
    let wanted = match name {
        Some(name) => format!("no device {name:?} with a server"),
        None => "no device with a server".to_owned(),
    };
    if devices.is_empty() {
        return wanted;
    }
    let more = if devices.len() > MOST_NAMED { ", ..." } else { "" };
    let shown: Vec<&str> = devices.iter().take(MOST_NAMED).map(String::as_str).collect();
    format!("{wanted}; there are {}{more}", shown.join(", "))
}

/// Reads the objects of a device; without a name those of the first one with a server.
///
/// # Errors
/// The file is no SCL, or has no such server.
pub fn model(octets: &[u8], ied: Option<&str>) -> Result<Model, NoModel> {
    model_of(&Document::read(octets)?, ied)
}

/// Objects of a device of a file; without a name those of the first one with a server.
///
/// # Errors
/// The file has no such server, or it has too many objects.
pub(crate) fn model_of(document: &Document, ied: Option<&str>) -> Result<Model, NoModel> {
    let found = document.ied(ied).and_then(|ied| Some((ied, ied.server()?)));
    let Some((ied, point)) = found else {
        let with_server = document.ieds.iter().filter(|ied| ied.server().is_some());
        let devices = with_server.map(|ied| ied.name.clone()).collect();
        return Err(NoModel::NoServer { name: ied.map(str::to_owned), devices });
    };
    Ok(of_view(ied, &View::of(point)?))
}

fn of_view(ied: &Ied, view: &View) -> Model {
    let domains = view.domains.iter().map(|domain| {
        let own = |variable: &Variable| (variable.name.clone(), node(&variable.shape));
        let lists = domain.lists.iter().map(|list| {
            let members = list
                .members
                .iter()
                .map(|member| Named { domain: member.domain.clone(), item: member.item.clone() });
            (list.name.clone(), List { members: members.collect(), deletable: false })
        });
        let found = Domain {
            variables: domain.variables.iter().map(own).collect(),
            lists: lists.collect(),
            blocks: domain.reports.iter().map(|report| report.item.clone()).collect(),
        };
        (domain.name.clone(), found)
    });
    let or = |text: &str, default: &str| {
        if text.is_empty() { default.to_owned() } else { text.to_owned() }
    };
    Model {
        vendor: or(&ied.vendor, "tidewire"),
        model: or(&ied.model, &ied.name),
        revision: or(&ied.revision, env!("CARGO_PKG_VERSION")),
        domains: domains.collect::<BTreeMap<_, _>>(),
    }
}

fn node(shape: &Shape) -> Node {
    match shape {
        Shape::Structure(members) => Node::Structure(
            members
                .iter()
                .map(|member| Member { name: member.name.clone(), node: node(&member.shape) })
                .collect(),
        ),
        Shape::Array { count, element } => {
            Node::Array((0..*count).map(|_| node(element)).collect())
        }
        Shape::Leaf { basic, value } => {
            Node::Leaf(leaf(*basic, value.as_deref().unwrap_or_default()))
        }
    }
}

/// Value of a text; zero, false or empty for a text that is none of its type.
fn leaf(basic: Basic, text: &str) -> Value {
    let text = text.trim();
    let bits = |most: u8| text.bytes().take(usize::from(most)).map(|it| it == b'1').collect();
    let cut = |most: u16| {
        let mut end = text.len().min(usize::from(most));
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.get(..end).unwrap_or_default().to_owned()
    };
    match basic {
        Basic::Boolean => Value::Boolean(matches!(text, "true" | "1")),
        Basic::Integer { bits } => Value::Integer { bits, value: text.parse().unwrap_or(0) },
        Basic::Unsigned { bits } => Value::Unsigned { bits, value: text.parse().unwrap_or(0) },
        Basic::Float { bits: 64 } => Value::Float64(text.parse().unwrap_or(0.0)),
        Basic::Float { .. } => Value::Float32(text.parse().unwrap_or(0.0)),
        Basic::Bits { bits: most } => {
            let mut bits: Vec<bool> = bits(most);
            bits.resize(usize::from(most), false);
            Value::Bits { varies: false, most, bits }
        }
        Basic::BitsUpTo { bits: most } => {
            let mut bits: Vec<bool> = bits(most);
            bits.resize(usize::from(most), false);
            Value::Bits { varies: true, most, bits }
        }
        Basic::Octets { octets: most } => {
            Value::Octets { varies: false, most, octets: vec![0; usize::from(most)] }
        }
        Basic::OctetsUpTo { octets: most } => {
            Value::Octets { varies: true, most, octets: Vec::new() }
        }
        Basic::Visible { octets: most } => Value::Visible { most, text: cut(most) },
        Basic::Unicode { octets: most } => Value::Text { most, text: cut(most) },
        Basic::UtcTime => Value::UtcTime([0; 8]),
        Basic::BinaryTime => Value::BinaryTime([0; 6]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_model_has_a_data_set_and_reports() {
        let model = model(BUILT_IN.as_bytes(), None).unwrap();
        let domain = &model.domains["FEEDLD0"];
        assert!(domain.lists.contains_key("LLN0$loads"));
        assert_eq!(domain.blocks[0], "LLN0$RP$urcb01");
        let leaf = model.node("FEEDLD0", "MMXU1$MX$TotW$mag$f");
        assert_eq!(leaf, Some(&Node::Leaf(Value::Float32(12.5))));
    }

    #[test]
    fn a_text_that_is_no_value_of_its_type_is_zero() {
        assert_eq!(leaf(Basic::Integer { bits: 8 }, "x"), Value::Integer { bits: 8, value: 0 });
        let bits = vec![false, true];
        assert_eq!(
            leaf(Basic::Bits { bits: 2 }, "01"),
            Value::Bits { varies: false, most: 2, bits }
        );
        let text = Value::Visible { most: 3, text: "ab".to_owned() };
        assert_eq!(leaf(Basic::Visible { octets: 3 }, "ab\u{e9}"), text);
    }
}
