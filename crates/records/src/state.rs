//! State of a network according to the records so far: connections, hosts, events, the latest
//! intervals.

pub mod connection_row;
pub mod event;
mod figures;
pub mod history;
pub mod model;
pub mod trend;

pub use connection_row::{Known, Side, Stand};
pub use event::Event;
pub use figures::Figures;
pub use history::History;
pub use model::Model;
pub use trend::{Course, Moment};
