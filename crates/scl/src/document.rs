//! Reading of a whole file.

use crate::communication::{Communication, Point};
use crate::control::{self, Destinations, node_name};
use crate::error::{Error, Fault};
use crate::model::{AccessPoint, Document, Ied, LogicalDevice, LogicalNode};
use crate::templates::{Templates, checked, named};
use crate::xml::{self, Element};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl Document {
    /// Reads an SCL file.
    ///
    /// # Errors
    /// The file is too long, no XML, has a document type declaration, or is no SCL: the reason, with
    /// its place.
    pub fn read(octets: &[u8]) -> Result<Self, Error> {
        let octets = octets.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(octets);
        Self::without(octets, &[])
    }

    /// Reads an SCL file without its data models: of each device the control blocks and data sets of LLN0,
    /// which is all that publishes. A type that is missing or not known does no harm.
    ///
    /// # Errors
    /// Those of [`Document::read`], but for types.
    pub fn read_publishers(octets: &[u8]) -> Result<Self, Error> {
        Self::without(octets, &NO_PUBLISHERS)
    }

    fn without(octets: &[u8], left_out: &'static [&'static str]) -> Result<Self, Error> {
        let octets = octets.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(octets);
        let root = xml::read(octets, left_out).map_err(|fault| fault.placed(octets))?;
        of(&root, left_out.is_empty()).map_err(|fault| fault.placed(octets))
    }
}

/// Sections without publishers.
const NO_PUBLISHERS: [&str; 8] = [
    "DataTypeTemplates",
    "LN",
    "DOI",
    "ReportControl",
    "LogControl",
    "SettingControl",
    "Inputs",
    "Log",
];

fn of(root: &Element, has_types: bool) -> Result<Document, Fault> {
    if &*root.name != "SCL" {
        return Err(root.fault("not the root of an SCL file, which is SCL"));
    }
    let templates = if has_types { Some(Templates::of(root)?) } else { None };
    let communication = Communication::of(root)?;
    let mut reading = Reading { templates, communication };
    let mut names = BTreeSet::new();
    for ied in root.all("IED") {
        if !names.insert(ied.required("name")?) {
            return Err(ied.fault("a second device of this name"));
        }
    }
    let ieds = root.all("IED").map(|ied| reading.ied(ied)).collect::<Result<_, _>>()?;
    Ok(Document { ieds })
}

struct Reading<'a> {
    /// None if types are not read.
    templates: Option<Templates<'a>>,
    communication: Communication,
}

impl<'a> Reading<'a> {
    fn ied(&mut self, element: &'a Element) -> Result<Ied, Fault> {
        let name = named(element)?;
        let mut access_points = Vec::new();
        let mut instances = BTreeSet::new();
        for point in element.all("AccessPoint") {
            let key = Point { ied: name.clone(), access_point: point.required("name")?.to_owned() };
            for device in point.all("Server").flat_map(|server| server.all("LDevice")) {
                if !instances.insert(device.required("inst")?) {
                    return Err(device.fault("a second logical device of this instance"));
                }
            }
            let servers = point.all("Server").flat_map(|server| server.all("LDevice"));
            let devices = servers.map(|device| self.device(device, &key));
            let devices = devices.collect::<Result<_, _>>()?;
            let address = self.communication.points.get(&key).cloned();
            access_points.push(AccessPoint { name: key.access_point, address, devices });
        }
        Ok(Ied {
            name,
            vendor: element.optional("manufacturer").to_owned(),
            model: element.optional("type").to_owned(),
            revision: element.optional("configVersion").to_owned(),
            access_points,
        })
    }

    fn device(&mut self, element: &'a Element, point: &Point) -> Result<LogicalDevice, Fault> {
        let instance = element.required("inst")?.to_owned();
        checked(&instance, element)?;
        let domain = match element.attribute("ldName").filter(|name| !name.is_empty()) {
            Some(name) => name.to_owned(),
            None => format!("{}{instance}", point.ied),
        };
        checked(&domain, element)?;
        let elements = element.all("LN0").chain(element.all("LN"));
        let nodes: Vec<LogicalNode> =
            elements.map(|node| self.node(node, point, &instance)).collect::<Result<_, _>>()?;
        let mut names = BTreeMap::new();
        for node in &nodes {
            if names.insert(&node.name, ()).is_some() {
                return Err(element.fault(format!("a second logical node {:?}", node.name)));
            }
        }
        Ok(LogicalDevice { instance, domain, nodes })
    }

    fn node(
        &mut self,
        element: &'a Element,
        point: &Point,
        device: &str,
    ) -> Result<LogicalNode, Fault> {
        let kind = match &mut self.templates {
            Some(templates) => templates.node(element)?,
            None => Arc::default(),
        };
        let mut values = BTreeMap::new();
        for object in element.all("DOI") {
            collect(object, &mut String::new(), &mut values)?;
        }
        let destinations = Destinations { communication: &self.communication, point, device };
        let goose = element.all("GSEControl").filter(|it| it.attribute("type") != Some("GSSE"));
        let sampled = element.all("SampledValueControl").filter(|it| it.flag("multicast", true));
        for kind in ["DataSet", "GSEControl", "SampledValueControl"] {
            let mut names = BTreeSet::new();
            for named in element.all(kind) {
                if !names.insert(named.required("name")?) {
                    return Err(named.fault("a second one of this name"));
                }
            }
        }
        Ok(LogicalNode {
            name: node_name(element)?,
            kind,
            values,
            data_sets: element.all("DataSet").map(control::data_set).collect::<Result<_, _>>()?,
            reports: element.all("ReportControl").map(control::report).collect::<Result<_, _>>()?,
            goose: goose.map(|it| destinations.goose(it)).collect::<Result<_, _>>()?,
            sampled: sampled.map(|it| destinations.sampled(it)).collect::<Result<_, _>>()?,
        })
    }
}

/// Collects the values below an element of an instance. The depth of elements is bounded.
fn collect(
    element: &Element,
    path: &mut String,
    values: &mut BTreeMap<String, String>,
) -> Result<(), Fault> {
    let length = path.len();
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(element.required("name")?);
    if let Some(value) = element.first("Val") {
        values.insert(path.clone(), value.text.clone());
    }
    for child in element.children.iter().filter(|it| matches!(&*it.name, "SDI" | "DAI")) {
        collect(child, path, values)?;
    }
    path.truncate(length);
    Ok(())
}
