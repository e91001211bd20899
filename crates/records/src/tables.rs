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

/// Columns of each kind, and a row of them, for the tests of typed forms.
#[cfg(all(test, any(feature = "arrow", feature = "parquet")))]
mod each_kind {
    use super::{Cell, Kind};
    use wire::time::Instant;

    pub(super) const COLUMNS: [(&str, Kind); 6] = [
        ("at", Kind::Time),
        ("took", Kind::Span),
        ("count", Kind::Count),
        ("port", Kind::Port),
        ("x", Kind::Real),
        ("who", Kind::Text),
    ];

    pub(super) fn row() -> Vec<Cell> {
        vec![
            Cell::Time(Instant::from_nanos(1_500_000_001)),
            Cell::Nanos(7),
            Cell::Count(u64::MAX),
            Cell::Count(65_535),
            Cell::Real(0.25),
            Cell::Text("é".into()),
        ]
    }
}
