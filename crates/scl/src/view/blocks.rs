//! Report control blocks as variables (IEC 61850-8-1, tables 35 and 36).

use super::{Report, Shape, Variable};
use crate::control::ReportControl;
use crate::kinds::Basic;
use crate::model::LogicalNode;

/// Instances of the report control blocks of a node.
pub(super) fn reports(node: &LogicalNode) -> Vec<Report> {
    let mut found = Vec::new();
    for control in &node.reports {
        let group = if control.is_buffered { "BR" } else { "RP" };
        for number in 1..=control.instances {
            let name = match control.is_indexed {
                true => format!("{}{number:02}", control.name),
                false => control.name.clone(),
            };
            let control = ReportControl { name: name.clone(), ..control.clone() };
            let item = format!("{}${group}${name}", node.name);
            found.push(Report { item, node: node.name.clone(), control });
            if !found.last().is_some_and(|report| report.control.is_indexed) {
                break;
            }
        }
    }
    found
}

/// Groups `BR` and `RP` of a node.
pub(super) fn groups(reports: &[Report], domain: &str) -> Vec<Variable> {
    let group = |name: &str, is_buffered| {
        let own = reports.iter().filter(|report| report.control.is_buffered == is_buffered);
        let members: Vec<Variable> = own
            .map(|report| Variable {
                name: report.control.name.clone(),
                shape: Shape::Structure(members(report, domain)),
            })
            .collect();
        let shape = Shape::Structure(members);
        Variable { name: name.to_owned(), shape }
    };
    let groups = [group("BR", true), group("RP", false)];
    let is_there = |group: &Variable| group.shape.leaves() > 0;
    groups.into_iter().filter(is_there).collect()
}

fn members(report: &Report, domain: &str) -> Vec<Variable> {
    let control = &report.control;
    let leaf = |name: &str, basic, value: String| Variable {
        name: name.to_owned(),
        shape: Shape::Leaf { basic, value: Some(value) },
    };
    let number =
        |name: &str, bits, value: u32| leaf(name, Basic::Unsigned { bits }, value.to_string());
    let truth = |name: &str| leaf(name, Basic::Boolean, "false".to_owned());
    let set = control.data_set.as_ref();
    let set = set.map_or_else(String::new, |set| format!("{domain}/{}${set}", report.node));
    let id = control.report_id.clone().unwrap_or_else(|| format!("{domain}/{}", report.item));
    let text = Basic::Visible { octets: 129 };
    let mut members = vec![leaf("RptID", text, id), truth("RptEna")];
    if !control.is_buffered {
        members.push(truth("Resv"));
    }
    members.extend([
        leaf("DatSet", text, set),
        number("ConfRev", 32, control.revision),
        leaf("OptFlds", Basic::BitsUpTo { bits: 10 }, digits(&control.fields)),
        number("BufTm", 32, control.buffer_ms),
        number("SqNum", if control.is_buffered { 16 } else { 8 }, 0),
        leaf("TrgOps", Basic::BitsUpTo { bits: 6 }, digits(&control.triggers)),
        number("IntgPd", 32, control.integrity_ms),
        truth("GI"),
    ]);
    if control.is_buffered {
        members.extend([
            truth("PurgeBuf"),
            leaf("EntryID", Basic::Octets { octets: 8 }, String::new()),
            leaf("TimeOfEntry", Basic::BinaryTime, String::new()),
        ]);
    }
    members
}

fn digits(bits: &[bool]) -> String {
    bits.iter().map(|bit| if *bit { '1' } else { '0' }).collect()
}
