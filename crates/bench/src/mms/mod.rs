//! MMS without a network: names, models of servers, requests, and the measurements of a server.
//!
//! Scenarios, calibration and sessions over TCP ([`crate::session::mms`]) use it.

mod files;
pub(crate) mod found;
mod model;
mod names;
pub(crate) mod services;

pub use files::{FilesError, files};
pub use found::{FileRead, Found, LayerCost, OwnCost, Pipelining, Reports, Rung};
pub(crate) use model::model_of;
pub use model::{BUILT_IN, NoModel, model};
pub use names::{Forbidden, Item};
pub(crate) use services::{VARIABLES, names as name_list, read, read_list};
