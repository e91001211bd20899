//! Publishers of a file: the control blocks of GOOSE and Sampled Values with all that their frames show.
//!
//! ```text
//! GSEControl, SampledValueControl of LLN0 ── name, identifier, data set, confRev
//! Communication section, GSE and SMV      ── MAC address, APPID, VLAN, MinTime, MaxTime
//! ```
//!
//! A control block without an address or a data set does not publish (IEC 61850-7-2, 18.2.1).

use crate::communication::Multicast;
use crate::control::{DataSet, GooseControl, SampledControl};
use crate::model::{AccessPoint, Document, Ied, LogicalDevice, LogicalNode};

/// Publisher: a control block of GOOSE or Sampled Values.
#[derive(Clone, Copy, Debug)]
pub struct Publisher<'a> {
    /// Device.
    pub ied: &'a Ied,
    /// Access point of its server.
    pub point: &'a AccessPoint,
    /// Logical device.
    pub device: &'a LogicalDevice,
    /// Logical node: LLN0.
    pub node: &'a LogicalNode,
    /// Control block.
    pub control: Control<'a>,
}

/// Control block of a publisher.
#[derive(Clone, Copy, Debug)]
pub enum Control<'a> {
    /// Of GOOSE.
    Goose(&'a GooseControl),
    /// Of Sampled Values.
    Sampled(&'a SampledControl),
}

impl Document {
    /// Publishers in the order of the file.
    pub fn publishers(&self) -> impl Iterator<Item = Publisher<'_>> {
        let points = self
            .ieds
            .iter()
            .flat_map(|ied| ied.access_points.iter().map(move |point| (ied, point)));
        let devices = points
            .flat_map(|(ied, point)| point.devices.iter().map(move |device| (ied, point, device)));
        devices.flat_map(|(ied, point, device)| {
            device.nodes.iter().flat_map(move |node| {
                let goose = node.goose.iter().map(Control::Goose);
                let controls = goose.chain(node.sampled.iter().map(Control::Sampled));
                controls.map(move |control| Publisher { ied, point, device, node, control })
            })
        })
    }
}

impl Publisher<'_> {
    /// Reference of the control block, as frames of GOOSE have it: `FEEDLD0/LLN0$GO$trip`.
    #[must_use]
    pub fn reference(&self) -> String {
        let (constraint, name) = match self.control {
            Control::Goose(control) => ("GO", &control.name),
            Control::Sampled(control) => ("MS", &control.name),
        };
        format!("{}/{}${constraint}${name}", self.device.domain, self.node.name)
    }

    /// Reference of its data set; none if it has none.
    #[must_use]
    pub fn data_set_reference(&self) -> Option<String> {
        let name = self.data_set_name()?;
        Some(format!("{}/{}${name}", self.device.domain, self.node.name))
    }

    /// Data set; none if it has none, or the file lacks it.
    #[must_use]
    pub fn data_set(&self) -> Option<&DataSet> {
        let name = self.data_set_name()?;
        self.node.data_sets.iter().find(|set| set.name == name)
    }

    /// Destination; none if the file has none.
    #[must_use]
    pub const fn address(&self) -> Option<Multicast> {
        match self.control {
            Control::Goose(control) => control.address,
            Control::Sampled(control) => control.address,
        }
    }

    /// True if it publishes as the file has it.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.address().is_some() && self.data_set_name().is_some()
    }

    fn data_set_name(&self) -> Option<&str> {
        let name = match self.control {
            Control::Goose(control) => &control.data_set,
            Control::Sampled(control) => &control.data_set,
        };
        name.as_deref().filter(|name| !name.is_empty())
    }
}
