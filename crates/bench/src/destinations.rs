//! Destinations of the records of a run: its sample, and its messages one by one.

use crate::collect::Collector;
use crate::messages::{Messages, Reported};
use stack::load::Record;

/// Destinations of records.
pub(crate) struct Destinations<'a> {
    /// Collector of the sample.
    pub(crate) collector: Collector,
    /// Messages one by one, if they are requested.
    pub(crate) messages: Option<Messages<'a>>,
}

impl Destinations<'_> {
    /// Takes a record.
    pub(crate) fn record(&mut self, record: &Record) {
        self.collector.record(record);
        if let Some(messages) = &mut self.messages {
            messages.record(record);
        }
    }

    /// Passes on the messages that remain; returns the collector, and the number of messages without a row.
    pub(crate) fn finish(self, reported: Reported) -> (Collector, u64) {
        let left_out = self.messages.map_or(0, |messages| messages.finish(reported));
        (self.collector, left_out)
    }
}
