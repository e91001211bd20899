//! One-way transits between two captures of the same traffic.

use super::file;
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::output::Output;
use crate::paragraph::wrapped;
use crate::quantity::significant;
use crate::table::{Align, Table};
use meter::transit::clock::{Bounded, Clocks, Way};
use meter::transit::{Found, Limits, Matching, Tap, Transit};
use serde_json::{Value, json};
use std::io;
use std::path::Path;
use wire::capture::{Capture, CaptureError};
use wire::dissect::Link;
use wire::time::Instant;

/// Reads both captures and tells what came of them.
pub(super) fn run(near: &Path, far: &Path, output: &Output) -> anyhow::Result<Exit> {
    interrupt::install()?;
    let mut transit = Transit::new(Limits::USUAL);
    let mut taps = [Source::open(near, output)?, Source::open(far, output)?];
    // The one whose next frame is older goes first, so that few TPDUs wait for the other.
    while let Some(tap) = earlier(&taps)
        && !interrupt::requested()
    {
        let source = &mut taps[tap as usize];
        if let Some(Frame { at, link, octets, original_octets }) = &source.next {
            transit.observe(tap, *at, *link, octets, *original_octets);
        }
        source.advance();
    }
    let found = transit.finish();
    tell(&found, output)?;
    let failure = taps.into_iter().find_map(|source| source.failure);
    match (failure, interrupt::requested()) {
        (_, true) => Ok(Exit::Interrupted),
        (Some(failure), _) => Err(failure.into()),
        (None, false) => Ok(Exit::Ok),
    }
}

/// The tap whose next frame is the older one; nothing where both are through.
fn earlier([near, far]: &[Source; 2]) -> Option<Tap> {
    let at = |source: &Source| source.next.as_ref().map(|frame| frame.at);
    match (at(near), at(far)) {
        (Some(near), Some(far)) => Some(if near <= far { Tap::Near } else { Tap::Far }),
        (Some(_), None) => Some(Tap::Near),
        (None, Some(_)) => Some(Tap::Far),
        (None, None) => None,
    }
}

/// A frame of a capture.
struct Frame {
    at: Instant,
    link: Link,
    octets: Vec<u8>,
    original_octets: usize,
}

/// A capture and its next frame.
struct Source {
    name: String,
    capture: Capture,
    next: Option<Frame>,
    failure: Option<Failure>,
}

impl Source {
    fn open(path: &Path, output: &Output) -> Result<Self, Failure> {
        let capture = file::open(path, output)?;
        let mut source = Self { name: file::name(path), capture, next: None, failure: None };
        source.advance();
        Ok(source)
    }

    fn advance(&mut self) {
        let read: Result<_, CaptureError> = self.capture.next();
        self.next = match read {
            Ok(record) => record.map(|record| Frame {
                at: record.at,
                link: record.link,
                octets: record.octets.to_vec(),
                original_octets: record.original_octets,
            }),
            Err(error) => {
                self.failure = Some(Failure::failed(format!("{}: {error}", self.name)));
                None
            }
        };
    }
}

fn tell(found: &Found, output: &Output) -> io::Result<()> {
    let Found { matching, clocks } = found;
    output.record(&record(matching, clocks.as_ref()))?;
    output.record(&json!({ "type": "end", "complete": !interrupt::requested() }))?;
    if output.json {
        return Ok(());
    }
    let Matching { tpdus, matched, unmatched, ambiguous, beyond } = matching;
    let mut counts = Table::new([("", Align::Left), ("near", Align::Right), ("far", Align::Right)]);
    for (name, [near, far]) in [
        ("TPDUs", *tpdus),
        ("the same at both taps", [*matched; 2]),
        ("at this tap alone", *unmatched),
        ("copies, which cannot be told", *ambiguous),
        ("pairs beyond the limit", [*beyond; 2]),
    ] {
        counts.row([name.to_owned(), near.to_string(), far.to_string()]);
    }
    output.line(counts)?;
    let Some(clocks) = clocks else {
        return output.line("\nno TPDU was seen at both taps");
    };
    output.line(format_args!("\n{}\n", ways(clocks)))?;
    for sentence in sentences(clocks) {
        output.line(wrapped("", &sentence))?;
    }
    Ok(())
}

fn ways(clocks: &Clocks) -> Table {
    let [what, unit] = [("one-way transit", Align::Left), ("", Align::Left)];
    let [a, b, c, d, e, f] =
        ["count", "min", "mean", "p50", "p99", "max"].map(|name| (name, Align::Right));
    let mut table = Table::new([what, a, b, c, d, e, f, unit]);
    for (name, way) in ["near to far", "far to near"].into_iter().zip(clocks.ways) {
        let Some(Way { count, least_ns, mean_ns, median_ns, p99_ns, most_ns }) = way else {
            continue;
        };
        let ms = |nanos: i64| significant(nanos as f64 / 1e6, 3);
        table.row([
            name.to_owned(),
            count.to_string(),
            ms(least_ns),
            ms(mean_ns),
            ms(median_ns),
            ms(p99_ns),
            ms(most_ns),
            "ms".to_owned(),
        ]);
    }
    table
}

/// What the transits rest on, and how wrong they may be.
fn sentences(clocks: &Clocks) -> Vec<String> {
    let mut sentences = Vec::new();
    let ms = |nanos: f64| significant(nanos / 1e6, 4);
    match (clocks.offset_ns, clocks.skew, clocks.error_ns) {
        (Some(offset), Some(skew), Some(error)) => {
            let parts = |skew: f64| significant(skew * 1e6, 3);
            sentences.push(format!(
                "The far clock is {} ms ahead ({} to {}) in the middle of the capture and {} in a \
                 million faster ({} to {}).",
                ms(offset.value),
                ms(offset.least),
                ms(offset.most),
                parts(skew.value),
                parts(skew.least),
                parts(skew.most)
            ));
            sentences.push(format!(
                "Each transit may be wrong by {} ms: all of one way longer and all of the other \
                 shorter by as much. The sum of both ways is not. The middle is right where the \
                 fastest TPDU took as long both ways; readings alone cannot tell.",
                ms(error)
            ));
        }
        _ => sentences.push(
            "TPDUs went one way only, so the clocks cannot be compared: times are what each took \
             longer than the fastest."
                .to_owned(),
        ),
    }
    if clocks.unplaced > 0 {
        sentences.push(format!(
            "{} TPDUs are left out: nothing went the other way, so it cannot be told which tap they \
             passed first.",
            clocks.unplaced
        ));
    }
    sentences
}

fn record(matching: &Matching, clocks: Option<&Clocks>) -> Value {
    let Matching { tpdus, matched, unmatched, ambiguous, beyond } = matching;
    let bounded = |bounded: Option<Bounded>| {
        bounded.map(|Bounded { value, least, most }| {
            json!({
                "value": value, "least": least, "most": most,
            })
        })
    };
    let way = |place: usize| {
        clocks.and_then(|clocks| clocks.ways[place]).map(|way| {
            json!({
                "count": way.count, "min_ns": way.least_ns, "mean_ns": way.mean_ns,
                "p50_ns": way.median_ns, "p99_ns": way.p99_ns, "max_ns": way.most_ns,
            })
        })
    };
    json!({
        "type": "transit", "tpdus": tpdus, "matched": matched, "unmatched": unmatched,
        "ambiguous": ambiguous, "beyond": beyond,
        "unplaced": clocks.map_or(0, |clocks| clocks.unplaced),
        "offset_ns": bounded(clocks.and_then(|clocks| clocks.offset_ns)),
        "skew": bounded(clocks.and_then(|clocks| clocks.skew)),
        "error_ns": clocks.and_then(|clocks| clocks.error_ns),
        "there": way(0), "back": way(1),
    })
}
