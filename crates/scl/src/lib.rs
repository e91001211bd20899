//! Substation configuration files (SCL, IEC 61850-6): devices, addresses, data models, control
//! blocks, and the MMS objects that follow from them (IEC 61850-8-1).
//!
//! ```text
//!   octets ── xml ── tree of elements, bounded        no DTD, no entities of a document
//!     ├ templates ── types, resolved by name           cycles are refused
//!     ├ communication ── addresses of access points and of control blocks
//!     └ document ── devices, access points, nodes, data sets, control blocks
//!                     ├ publishers ── GOOSE and Sampled Values, with their addresses
//!                     └ view ── domains, named variables, lists: the MMS view
//! ```
//!
//! ICD, CID and SCD files of any edition are read. Elements and attributes that are not needed are
//! skipped. Left out: substation and process sections, services, setting groups, log control blocks
//! and private sections.
#![forbid(unsafe_code)]

mod communication;
mod control;
mod document;
mod error;
mod kinds;
mod model;
mod publishers;
mod sizes;
mod templates;
pub mod view;
mod xml;

pub use communication::{Address, Multicast};
pub use control::{DataSet, GooseControl, Member, ReportControl, SampleMode, SampledControl};
pub use error::{Error, Place};
pub use kinds::{Basic, Constraint};
pub use model::{AccessPoint, Document, Ied, LogicalDevice, LogicalNode};
pub use publishers::{Control, Publisher};
pub use templates::{
    Attribute, AttributeKind, AttributeType, DataObject, EnumType, NodeType, ObjectMember,
    ObjectType,
};
pub use xml::MOST_OCTETS;
