//! Data sets and control blocks of reports, GOOSE and sampled values (IEC 61850-6, 9.3.7 to
//! 9.3.11).

use crate::communication::{Communication, Group, Multicast, Point};
use crate::error::Fault;
use crate::kinds::Constraint;
use crate::templates::{checked, named};
use crate::xml::Element;
use std::collections::BTreeSet;

/// Maximum number of instances of a report control block.
const MOST_INSTANCES: u32 = 99;

/// Data set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataSet {
    /// Name.
    pub name: String,
    /// Members in order.
    pub members: Vec<Member>,
}

/// Member of a data set: functionally constrained data, or one attribute of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// Instance of the logical device.
    pub device: String,
    /// Name of the logical node.
    pub node: String,
    /// Functional constraint.
    pub constraint: Constraint,
    /// Names of the data objects from the outermost, separated by points.
    pub object: String,
    /// Names of the attributes from the outermost, separated by points; empty for all.
    pub attribute: String,
}

/// Report control block; it stands for `instances` of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReportControl {
    /// Name, without the number of an instance.
    pub name: String,
    /// True for a buffered one.
    pub is_buffered: bool,
    /// True if the name of each instance ends with its number.
    pub is_indexed: bool,
    /// Number of instances.
    pub instances: u32,
    /// Name of the data set in the same node.
    pub data_set: Option<String>,
    /// Devices of its clients (`ClientLN`), as far as the file names them.
    pub clients: Vec<String>,
    /// Identifier in its reports.
    pub report_id: Option<String>,
    /// Configuration revision.
    pub revision: u32,
    /// Buffer time in milliseconds.
    pub buffer_ms: u32,
    /// Integrity period in milliseconds.
    pub integrity_ms: u32,
    /// Trigger options in the order of their bits: reserved, data change, quality change, data
    /// update, integrity, general interrogation.
    pub triggers: [bool; 6],
    /// Optional fields in the order of their bits: reserved, sequence number, time stamp, reason,
    /// data set, data reference, buffer overflow, entry identifier, revision, segmentation.
    pub fields: [bool; 10],
}

/// GOOSE control block.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GooseControl {
    /// Name.
    pub name: String,
    /// Name of the data set in the same node.
    pub data_set: Option<String>,
    /// GOOSE identifier.
    pub id: String,
    /// Configuration revision.
    pub revision: u32,
    /// Destination, if the file has one.
    pub address: Option<Multicast>,
    /// MinTime: time to the first retransmission of a state, in milliseconds.
    pub min_ms: Option<u32>,
    /// MaxTime: longest time between frames, in milliseconds.
    pub max_ms: Option<u32>,
    /// Devices that subscribe (`IEDName`), as far as the file names them.
    pub subscribers: Vec<String>,
}

/// Unit of the rate of samples (`smpMod`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SampleMode {
    /// Samples in a period of the power system.
    PerPeriod,
    /// Samples in a second.
    PerSecond,
    /// Seconds from one sample to the next.
    SecondsPerSample,
}

/// Control block of sampled values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SampledControl {
    /// Name.
    pub name: String,
    /// Name of the data set in the same node.
    pub data_set: Option<String>,
    /// Identifier of the stream.
    pub id: String,
    /// Configuration revision.
    pub revision: u32,
    /// Rate, in the unit of `mode`.
    pub rate: u32,
    /// Unit of the rate.
    pub mode: SampleMode,
    /// Number of ASDUs in a frame.
    pub asdus: u32,
    /// Destination, if the file has one.
    pub address: Option<Multicast>,
    /// Devices that subscribe (`IEDName`), as far as the file names them.
    pub subscribers: Vec<String>,
}

/// Name of a logical node: prefix, class and instance.
pub(crate) fn node_name(element: &Element) -> Result<String, Fault> {
    let instance = element.attribute("lnInst").or_else(|| element.attribute("inst"));
    let [prefix, class] = ["prefix", "lnClass"].map(|name| element.optional(name));
    let name = format!("{prefix}{class}{}", instance.unwrap_or_default());
    checked(&name, element)?;
    if class.is_empty() {
        return Err(element.fault("without lnClass"));
    }
    Ok(name)
}

pub(crate) fn data_set(element: &Element) -> Result<DataSet, Fault> {
    let members = element.all("FCDA").map(|member| {
        let letters = member.required("fc")?;
        let constraint = Constraint::of(letters)
            .ok_or_else(|| member.fault(format!("unknown fc {letters:?}")))?;
        let device = member.required("ldInst")?;
        checked(device, member)?;
        let [object, attribute] = ["doName", "daName"].map(|name| member.optional(name));
        for part in object.split('.').chain(attribute.split('.')) {
            checked(part, member)?;
        }
        Ok(Member {
            device: device.to_owned(),
            node: node_name(member)?,
            constraint,
            object: object.to_owned(),
            attribute: attribute.to_owned(),
        })
    });
    Ok(DataSet { name: named(element)?, members: members.collect::<Result<_, _>>()? })
}

pub(crate) fn report(element: &Element) -> Result<ReportControl, Fault> {
    let most = element.first("RptEnabled").map(|enabled| enabled.number("max")).transpose()?;
    let instances = most.flatten().unwrap_or(1).max(1);
    if instances > MOST_INSTANCES {
        return Err(element.fault(format!("{instances} instances, more than {MOST_INSTANCES}")));
    }
    let clients = element.all("RptEnabled").flat_map(|enabled| enabled.all("ClientLN"));
    let mut clients: Vec<String> = clients
        .map(|client| client.required("iedName").map(str::to_owned))
        .collect::<Result<_, _>>()?;
    once(&mut clients);
    let triggers = element.first("TrgOps");
    let fields = element.first("OptFields");
    let trigger = |name: &str, default| triggers.map_or(default, |it| it.flag(name, default));
    let field = |name: &str| fields.is_some_and(|it| it.flag(name, false));
    Ok(ReportControl {
        name: named(element)?,
        is_buffered: element.flag("buffered", false),
        is_indexed: element.flag("indexed", true),
        instances,
        data_set: element.attribute("datSet").map(str::to_owned),
        clients,
        report_id: element.attribute("rptID").filter(|id| !id.is_empty()).map(str::to_owned),
        revision: element.number("confRev")?.unwrap_or(0),
        buffer_ms: element.number("bufTime")?.unwrap_or(0),
        integrity_ms: element.number("intgPd")?.unwrap_or(0),
        triggers: [
            false,
            trigger("dchg", false),
            trigger("qchg", false),
            trigger("dupd", false),
            trigger("period", false),
            trigger("gi", true),
        ],
        fields: [
            false,
            field("seqNum"),
            field("timeStamp"),
            field("reasonCode"),
            field("dataSet"),
            field("dataRef"),
            field("bufOvfl"),
            field("entryID"),
            field("configRef"),
            false,
        ],
    })
}

/// Keeps each name once, in order.
fn once(names: &mut Vec<String>) {
    let mut seen = BTreeSet::new();
    names.retain(|name| seen.insert(name.clone()));
}

/// Devices that the file names as subscribers of a control block, each once.
fn subscribers(element: &Element) -> Vec<String> {
    let mut names: Vec<String> = element.all("IEDName").map(|it| it.text.clone()).collect();
    once(&mut names);
    names
}

/// Destinations of the control blocks of a logical device.
pub(crate) struct Destinations<'a> {
    pub(crate) communication: &'a Communication,
    pub(crate) point: &'a Point,
    pub(crate) device: &'a str,
}

impl Destinations<'_> {
    fn of(&self, name: &str) -> Group {
        self.communication.group(self.point, self.device, name)
    }

    pub(crate) fn goose(&self, element: &Element) -> Result<GooseControl, Fault> {
        let name = named(element)?;
        let Group { address, min_ms, max_ms } = self.of(&name);
        Ok(GooseControl {
            address,
            min_ms,
            max_ms,
            subscribers: subscribers(element),
            name,
            data_set: element.attribute("datSet").map(str::to_owned),
            id: element.optional("appID").to_owned(),
            revision: element.number("confRev")?.unwrap_or(0),
        })
    }

    pub(crate) fn sampled(&self, element: &Element) -> Result<SampledControl, Fault> {
        let name = named(element)?;
        let mode = match element.attribute("smpMod") {
            None | Some("SmpPerPeriod") => SampleMode::PerPeriod,
            Some("SmpPerSec") => SampleMode::PerSecond,
            Some("SecPerSmp") => SampleMode::SecondsPerSample,
            Some(mode) => return Err(element.fault(format!("unknown smpMod {mode:?}"))),
        };
        Ok(SampledControl {
            address: self.of(&name).address,
            mode,
            subscribers: subscribers(element),
            name,
            data_set: element.attribute("datSet").map(str::to_owned),
            id: element.optional("smvID").to_owned(),
            revision: element.number("confRev")?.unwrap_or(0),
            rate: element.number("smpRate")?.unwrap_or(0),
            asdus: element.number("nofASDU")?.unwrap_or(1),
        })
    }
}
