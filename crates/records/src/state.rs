//! State of a network according to the records so far: connections, hosts, events, the latest
//! intervals.

pub mod course;
pub mod event;
pub mod history;
pub mod known;
pub mod model;

pub use course::{Course, Moment};
pub use event::Event;
pub use history::History;
pub use known::{Known, Side, Stand};
pub use model::Model;
