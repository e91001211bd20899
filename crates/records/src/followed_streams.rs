//! Streams of cyclic data that are followed, as they were last reported.
//!
//! An interval converts those alone that changed in it. A stream that became silent changes, too.

use crate::cyclic::CyclicStream;
use crate::item::FollowedStream;
use meter::{ChangedStreams, StreamKey, StreamReport};
use std::collections::BTreeMap;
use std::sync::Arc;
use wire::time::Instant;

/// Streams by their keys.
#[derive(Debug, Default)]
pub(crate) struct FollowedStreams {
    streams: BTreeMap<StreamKey, Arc<FollowedStream>>,
}

impl FollowedStreams {
    /// Takes the streams that changed, and those that are silent at `until`, up to which the meter
    /// measured; none before the first frame.
    pub(crate) fn update(&mut self, changed: ChangedStreams, until: Option<Instant>) {
        if changed.are_all {
            self.streams.clear();
        }
        for report in changed.reports {
            let figures = CyclicStream::figures(&report, until.unwrap_or(report.last));
            let key = report.key.clone();
            self.streams.insert(key, Arc::new(FollowedStream { report, figures }));
        }
        let Some(until) = until else { return };
        for stream in self.streams.values_mut() {
            let is_silent = stream.report.is_silent(until);
            if stream.figures.silent_at_end != is_silent {
                Arc::make_mut(stream).figures.silent_at_end = is_silent;
            }
        }
    }

    /// True if no stream is followed.
    pub(crate) fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// The streams in the order of their keys.
    pub(crate) fn each(&self) -> Vec<Arc<FollowedStream>> {
        self.streams.values().cloned().collect()
    }

    /// Their reports.
    pub(crate) fn reports(&self) -> impl Iterator<Item = &StreamReport> {
        self.streams.values().map(|stream| &stream.report)
    }
}
