//! Intervals, hosts and connections as tables: rows of cells, and the forms in which they are written.

#[cfg(feature = "parquet")]
pub mod columnar;
pub mod comma;
#[cfg(feature = "arrow")]
pub mod ipc;
pub mod publishers;
pub mod rows;
pub mod streams;
pub mod table;
pub mod transactions;
pub mod zeek;

#[cfg(feature = "parquet")]
pub use columnar::Columnar;
pub use comma::Comma;
#[cfg(feature = "arrow")]
pub use ipc::Ipc;
pub use table::{Cell, Column, Kind, Layout, Sheet};
pub use zeek::Log;
