//! Devices of a file, their access points, logical devices and logical nodes.

use crate::communication::Address;
use crate::control::{DataSet, GooseControl, ReportControl, SampledControl};
use crate::templates::NodeType;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Contents of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Document {
    /// Devices (IEDs) in order.
    pub ieds: Vec<Ied>,
}

/// Device (IED).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ied {
    /// Name.
    pub name: String,
    /// Maker; empty if the file has none.
    pub vendor: String,
    /// Model; empty if the file has none.
    pub model: String,
    /// Revision of its configuration; empty if the file has none.
    pub revision: String,
    /// Access points in order.
    pub access_points: Vec<AccessPoint>,
}

/// Access point of a device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccessPoint {
    /// Name.
    pub name: String,
    /// Address, if the file has one.
    pub address: Option<Address>,
    /// Logical devices of its server; none if it is a client.
    pub devices: Vec<LogicalDevice>,
}

/// Logical device.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogicalDevice {
    /// Instance, as references in the file have it.
    pub instance: String,
    /// Name of its MMS domain: its own, or that of the device with the instance.
    pub domain: String,
    /// Logical nodes in order, LLN0 first.
    pub nodes: Vec<LogicalNode>,
}

/// Logical node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogicalNode {
    /// Name: prefix, class and instance.
    pub name: String,
    /// Type.
    pub kind: Arc<NodeType>,
    /// Values as text, by the path of the attribute with points.
    pub values: BTreeMap<String, String>,
    /// Data sets.
    pub data_sets: Vec<DataSet>,
    /// Report control blocks.
    pub reports: Vec<ReportControl>,
    /// GOOSE control blocks.
    pub goose: Vec<GooseControl>,
    /// Control blocks of sampled values.
    pub sampled: Vec<SampledControl>,
}

impl Document {
    /// Device of this name; without a name the first one with a server.
    #[must_use]
    pub fn ied(&self, name: Option<&str>) -> Option<&Ied> {
        self.ieds.iter().find(|ied| match name {
            Some(name) => ied.name == name,
            None => ied.server().is_some(),
        })
    }
}

impl Ied {
    /// First access point with a server.
    #[must_use]
    pub fn server(&self) -> Option<&AccessPoint> {
        self.access_points.iter().find(|point| !point.devices.is_empty())
    }
}
