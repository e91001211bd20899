//! Records of a meter's counts: written, read, judged, laid out as tables.
//!
//! NBSIR 85-3104 has three subsystems: collection, measurement, and analysis and display. Records stand between the last
//! two. They are NDJSON, `tidewire.measures/2`; [`json_schema`] defines each record.
//!
//! ```text
//! frames -> Recorder -> Item -> Record -> a line of NDJSON, text, a screen, a page
//!                         |        ^ `Reader`, where it came from another process
//!                         |        `-> state -> findings
//!                         `-> tables (CSV, Zeek, Parquet), requirements, Prometheus families
//! ```
//!
//! Screens therefore show exactly the content of the records, whichever process wrote them. Nothing
//! here prints, opens a file or a socket, or reads a clock.
#![forbid(unsafe_code)]

pub mod associations;
mod baseline;
mod brief;
pub mod calendar;
mod collection;
pub mod comparison;
pub mod counts;
mod cyclic;
mod ends;
pub mod families;
pub mod findings;
mod followed_streams;
mod histograms;
mod import;
mod item;
mod line;
mod named;
mod origin;
mod plant;
mod publishers;
pub mod quantity;
mod ranking;
mod read;
mod record;
mod recorder;
pub mod require;
mod responses;
mod schema;
mod slowest;
mod stamps;
pub mod state;
mod stream_extra;
mod subset;
pub mod tables;
pub mod text;
mod transactions;

pub use associations::{Block, ControlBlocks, Service, Services, ServicesInterval};
pub use brief::BriefConnections;
pub use collection::Collection;
pub use compact_str::CompactString as Text;
pub use counts::Counts;
pub use cyclic::{CyclicStream, CyclicStreams, CyclicTotals, StreamInterval};
pub use ends::{end_name, ending_name, ends_name};
pub use histograms::{Histograms, delay_name, delay_names};
pub use import::{Imported, import};
pub use item::Item;
pub use named::{Named, sum};
pub use origin::{DEMO, Origin};
pub use plant::Plant;
pub use publishers::{Expectation, Publisher, PublisherState, PublisherTotals, Publishers};
pub use read::{Entry, Reader, Unreadable};
pub use record::{
    Connection, ConnectionInterval, End, Finding, Head, Host, HostInterval, Identity, Interval,
    Place, Record, Sample, Total,
};
pub use recorder::{Details, Recorder, Spans};
pub use responses::Responses;
pub use schema::json_schema;
pub use slowest::{ENOUGH, Replies, Slowness};
pub use stamps::{StampClock, Stamps};
pub use stream_extra::StreamExtra;
pub use subset::Subset;
pub use text::{back, of_all_kinds, shortened, shortened_ends, tpdus};
pub use transactions::{TransactionTotals, Transactions, TransactionsInterval};

/// Schema that the first record of a stream names.
pub const SCHEMA: &str = "tidewire.measures/2";
/// Previous version, whose streams are still read: later versions only added names.
pub const OLDER_SCHEMA: &str = "tidewire.measures/1";
