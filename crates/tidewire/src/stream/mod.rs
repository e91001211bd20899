//! The stream of measures: what joins the meter to whatever shows, stores or judges what it found.
//!
//! NBSIR 85-3104 has three subsystems: collection, measurement, and analysis and display. The stream
//! stands between the last two. It is NDJSON, `tidewire.measures/2`, and `help/measures.schema.json`
//! says what each record holds. `watch`, `meter` and `show` are made of the same pieces:
//!
//! ```text
//! frames -> Recorder -> Item -> Record -> a line of NDJSON, or the lines of `Lines`, or a screen
//!                                 ^ `read`, where it came from another process
//! ```
//!
//! So what a screen shows is what the stream says, whoever wrote it.

mod baseline;
mod collection;
#[cfg(test)]
pub(crate) mod hostile;
mod item;
mod lines;
mod named;
mod origin;
mod ranking;
mod read;
mod record;
mod recorder;
mod slowest;
mod subset;
mod tables;

pub(crate) use collection::Collection;
pub(crate) use item::Item;
pub(crate) use lines::Lines;
pub(crate) use named::{Named, is_greatest, sum};
pub(crate) use origin::Origin;
pub(crate) use read::Reader;
pub(crate) use record::{
    Connection, ConnectionInterval, End, Finding, Head, Host, HostInterval, Identity, Interval,
    Place, Record, Sample, Total, end_name, ending_name, ends_name, replied, sent_of, waits,
};
pub(crate) use recorder::{Details, Recorder, Spans};
pub(crate) use slowest::{Replies, Slowness};
pub(crate) use subset::Subset;
pub(crate) use tables::{back, of_all_kinds, shortened, shortened_ends, tpdus};

/// What the first record of a stream calls it.
pub(crate) const SCHEMA: &str = "tidewire.measures/2";
/// Version before it, whose streams are read too: names were only added.
pub(crate) const OLDER_SCHEMA: &str = "tidewire.measures/1";
/// The stream, record by record, as a JSON Schema.
pub(crate) const JSON_SCHEMA: &str = include_str!("../../help/measures.schema.json");
