//! Time series of bounded length: neighbouring spans are merged, however long a run lasts.

/// Most spans of a series.
const MOST_SPANS: usize = 120;

/// Counts of a span of time.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Span {
    pub(crate) start_ns: u64,
    pub(crate) length_ns: u64,
    pub(crate) frames: u64,
    pub(crate) octets: u64,
    pub(crate) dts: u64,
    pub(crate) retransmissions: u64,
    /// Frames in a second of the busiest interval.
    pub(crate) busiest: f64,
}

impl Span {
    /// The span of both.
    fn with(self, later: &Self) -> Self {
        Self {
            start_ns: self.start_ns,
            length_ns: self.length_ns.saturating_add(later.length_ns),
            frames: self.frames.saturating_add(later.frames),
            octets: self.octets.saturating_add(later.octets),
            dts: self.dts.saturating_add(later.dts),
            retransmissions: self.retransmissions.saturating_add(later.retransmissions),
            busiest: self.busiest.max(later.busiest),
        }
    }

    /// A count in a second.
    pub(crate) fn rate(&self, count: u64) -> f64 {
        if self.length_ns == 0 { 0.0 } else { count as f64 * 1e9 / self.length_ns as f64 }
    }
}

/// Spans in order of time; each holds the same number of intervals.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Series {
    pub(crate) spans: Vec<Span>,
    /// Intervals of a span.
    pub(crate) each: u64,
    /// Intervals in the last span.
    last: u64,
    /// All intervals.
    pub(crate) intervals: u64,
}

impl Series {
    pub(crate) const fn new() -> Self {
        Self { spans: Vec::new(), each: 1, last: 0, intervals: 0 }
    }

    /// Ends the last interval with the last frame: its record has its full length.
    pub(crate) fn end_at(&mut self, until_ns: Option<u64>) {
        let (Some(last), Some(until)) = (self.spans.last_mut(), until_ns) else { return };
        let heard = until.saturating_sub(last.start_ns);
        if heard > 0 && heard < last.length_ns {
            last.length_ns = heard;
            last.busiest = last.busiest.max(last.rate(last.frames));
        }
    }

    /// Adds an interval.
    pub(crate) fn add(&mut self, span: Span) {
        self.intervals += 1;
        match self.spans.last_mut() {
            Some(last) if self.last < self.each => {
                *last = last.with(&span);
                self.last += 1;
                return;
            }
            _ => {}
        }
        if self.spans.len() == MOST_SPANS {
            let pairs = self.spans.chunks(2);
            self.spans = pairs
                .map(|pair| match pair {
                    [one, other] => one.with(other),
                    rest => rest.first().copied().unwrap_or_default(),
                })
                .collect();
            self.each *= 2;
        }
        self.spans.push(span);
        self.last = 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_series_of_any_length_keeps_its_sums_and_stays_short() {
        let mut series = Series::new();
        for second in 0..604_800 {
            let (start_ns, length_ns) = (second * 1_000_000_000, 1_000_000_000);
            let busiest = if second == 345_678 { 9.0 } else { 2.0 };
            series.add(Span { start_ns, length_ns, frames: 2, busiest, ..Span::default() });
        }
        assert!(series.spans.len() <= MOST_SPANS && series.spans.len() > MOST_SPANS / 2 - 1);
        assert_eq!(series.spans.iter().map(|span| span.frames).sum::<u64>(), 2 * 604_800);
        // 604,800 intervals in at most 120 spans of a power of two: 8,192 each.
        assert_eq!((series.each, series.intervals), (8_192, 604_800));
        let most = series.spans.iter().map(|span| span.busiest).fold(0.0, f64::max);
        assert_eq!(most, 9.0, "the busiest interval survives");
        let starts: Vec<u64> = series.spans.iter().map(|span| span.start_ns).collect();
        assert!(starts.is_sorted());
        assert_eq!(starts[1] - starts[0], 8_192 * 1_000_000_000);
    }
}
