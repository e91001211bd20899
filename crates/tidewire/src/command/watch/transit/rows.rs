//! Live transits between two ports, interval by interval.

use super::print::with_matching;
use crate::output::Output;
use crate::quantity::{enough, significant};
use core::time::Duration;
use meter::transit::clock::Way;
use meter::transit::{Found, Transit};
use records::calendar;
use serde_json::json;
use std::io;
use wire::time::{Instant, nanos};

/// Number of intervals ending at once from which they become one: the host slept, or its clock was
/// set.
const LONG: u32 = 1_000;

/// Heading of the lines; times are microseconds.
const HEADING: [&str; 2] = [
    "                             alone at     near to far, us       far to near, us",
    "     start (UTC)  matched  near  far     p50    p99    max     p50    p99    max",
];

/// Intervals with one clock, printed as they end.
pub(super) struct Rows<'a> {
    length: Duration,
    start: Instant,
    index: u64,
    output: &'a Output,
}

impl<'a> Rows<'a> {
    /// Starts intervals of this length.
    pub(super) fn begin(
        length: Duration,
        start: Instant,
        transit: &mut Transit,
        output: &'a Output,
    ) -> io::Result<Self> {
        transit.take_interval();
        HEADING.iter().try_for_each(|line| output.line(line))?;
        Ok(Self { length, start, index: 0, output })
    }

    /// Prints the intervals that are over, before frames of the next are passed.
    pub(super) fn advance(&mut self, now: Instant, transit: &mut Transit) -> io::Result<()> {
        if now.since(self.start) > self.length * LONG {
            transit.advance(now);
            return self.tell(now, &transit.take_interval());
        }
        while now >= self.start + self.length {
            let end = self.start + self.length;
            transit.advance(end);
            self.tell(end, &transit.take_interval())?;
        }
        Ok(())
    }

    /// Prints the current interval, which ends now.
    pub(super) fn finish(&mut self, now: Instant, transit: &mut Transit) -> io::Result<()> {
        self.advance(now, transit)?;
        if now > self.start { self.tell(now, &transit.take_interval()) } else { Ok(()) }
    }

    fn tell(&mut self, end: Instant, found: &Found) -> io::Result<()> {
        let Found { matching, clocks, .. } = found;
        let (start, index) = (self.start, self.index);
        (self.start, self.index) = (end, self.index + 1);
        let head = json!({
            "type": "transit-interval", "index": index, "start_ns": start.as_nanos(),
            "length_ns": nanos(end - start),
        });
        self.output.record(&with_matching(head, matching, clocks.as_ref()))?;
        self.output.line(row(index, start, found))
    }
}

/// Formats an interval as a line.
fn row(index: u64, start: Instant, found: &Found) -> String {
    let Found { matching, clocks, .. } = found;
    let milliseconds = Instant::from_nanos(start.as_nanos() / 1_000_000 * 1_000_000);
    let us = |nanos: i64| significant(nanos as f64 / 1e3, 3);
    let of = |way: Option<Way>| {
        let quantile = |share, of: fn(&Way) -> i64| {
            let nanos = way.and_then(|way| enough(share, way.count, Some(of(&way))));
            nanos.map_or_else(|| "-".to_owned(), us)
        };
        let [median, p99] = [quantile(0.5, |way| way.median_ns), quantile(0.99, |way| way.p99_ns)];
        let most = way.map_or_else(|| "-".to_owned(), |way| us(way.most_ns));
        format!("{median:>8} {p99:>6} {most:>6}")
    };
    let [there, back] = clocks.as_ref().map_or([None; 2], |clocks| clocks.ways).map(of);
    let [near, far] = matching.unmatched;
    format!(
        "{index:>4} {:<12} {:>7} {near:>5} {far:>4}{there}{back}",
        calendar::time_of_day(milliseconds),
        matching.matched,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use meter::transit::Matching;
    use meter::transit::clock::{Reading, Readings};

    #[test]
    fn a_line_has_its_numbers_below_their_names_and_fits_a_terminal() {
        let reading = |near_ns, difference_ns| Reading { near_ns, difference_ns, ends: [0, 1] };
        // Forward 50 times 1.18 us and 50 times 28 ms, return 99 times 999 ms: too few for a 99th percentile.
        let mut readings = Readings::of_one(1_000);
        let differences = [(50, 1_180), (50, 28_000_000), (99, -999_000_000)];
        let each = differences.into_iter().flat_map(|(n, of)| core::iter::repeat_n(of, n));
        for (near_ns, difference_ns) in (0..).zip(each) {
            readings.push(reading(near_ns, difference_ns));
        }
        let matching = Matching { matched: 123_456, unmatched: [12, 3], ..Matching::default() };
        let (streams, beyond_streams) = (Vec::new(), 0);
        let found = Found { matching, clocks: readings.tell(1), streams, beyond_streams };
        let start = Instant::from_nanos(3_723_456_789_000);
        let expected = [
            "                             alone at     near to far, us       far to near, us",
            "     start (UTC)  matched  near  far     p50    p99    max     p50    p99    max",
            "  17 01:02:03.456  123456    12    3    1.18  28000  28000  999000      - 999000",
        ];
        let row = row(17, start, &found);
        assert_eq!([HEADING[0], HEADING[1], &row], expected);
        assert!(expected.iter().all(|line| line.chars().count() <= 80));
    }
}
