//! Streams with a mark on those that changed, so that an interval costs time for these alone.

use super::report::StreamReport;
use super::{Cyclic, Stream, figures};
use crate::Meter;
use core::ops::{Deref, DerefMut};

/// Stream that marks itself as changed at each mutable use.
#[derive(Clone, Debug)]
pub(super) struct Tracked {
    stream: Stream,
    is_changed: bool,
}

impl Tracked {
    pub(super) const fn new(stream: Stream) -> Self {
        Self { stream, is_changed: true }
    }
}

impl Deref for Tracked {
    type Target = Stream;

    #[inline]
    fn deref(&self) -> &Stream {
        &self.stream
    }
}

impl DerefMut for Tracked {
    #[inline]
    fn deref_mut(&mut self) -> &mut Stream {
        self.is_changed = true;
        &mut self.stream
    }
}

/// Streams whose reports changed.
#[derive(Clone, Debug, Default)]
pub struct ChangedStreams {
    /// True if these are all streams followed, because one was removed.
    pub are_all: bool,
    /// Their reports, in no order.
    pub reports: Vec<StreamReport>,
}

impl Cyclic {
    /// Begins an interval: figures of the interval count from now.
    pub(crate) fn begin_interval(&mut self) {
        for place in self.slab.places() {
            let Some(Tracked { stream, is_changed }) = self.slab.get_mut(place) else { continue };
            let missing = stream.counts().order.missing;
            let Stream { start, report, period, .. } = stream;
            *is_changed |= figures::Start::begin(start, report, missing, period);
        }
    }

    /// Takes the reports of streams that changed since the last call.
    fn take_changed(&mut self) -> ChangedStreams {
        let are_all = core::mem::take(&mut self.has_removed);
        let mut reports = Vec::new();
        for place in self.slab.places() {
            let Some(Tracked { stream, is_changed }) = self.slab.get_mut(place) else { continue };
            if core::mem::take(is_changed) || are_all {
                reports.push(stream.report());
            }
        }
        ChangedStreams { are_all, reports }
    }
}

impl Meter {
    /// Begins an interval of streams of cyclic data: [`StreamReport::in_interval`] counts from now. A
    /// call copies the distributions of streams that had frames since the last one.
    pub fn begin_stream_interval(&mut self) {
        self.cyclic.begin_interval();
    }

    /// Takes the reports of streams of cyclic data that changed since the last call, without the
    /// quantiles of their deviations.
    pub fn take_changed_streams(&mut self) -> ChangedStreams {
        self.cyclic.take_changed()
    }
}
