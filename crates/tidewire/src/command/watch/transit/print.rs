//! Report on two taps: number of TPDUs matched, their transit times, and the accuracy of these.

use super::streams;
use crate::interrupt;
use crate::output::Output;
use crate::quantity::{enough, significant};
use crate::table::{Align, Table};
use bench::paragraph::wrapped;
use meter::transit::clock::{Bounded, Clocks, Course, MOST_SKEW, Way};
use meter::transit::{Found, Matching};
use records::calendar;
use serde_json::{Value, json};
use std::io;
use wire::time::Instant;

/// Advice for two captures of a simulated network.
const SIMULATED: &str = "Both captures state that their network was simulated, where all stations have one \
    clock: add --one-clock, and each transit is right as it stands.";

/// The near and the far tap.
pub(super) struct Taps {
    pub(super) names: [String; 2],
    /// Frames lost during collection, as far as they were counted.
    pub(super) dropped: [Option<u64>; 2],
    /// Both captures state that their network was simulated.
    pub(super) are_simulated: bool,
    /// One clock stamped at both.
    pub(super) has_one_clock: bool,
    /// If it is that of this host, the number of times it was set meanwhile.
    pub(super) clock_was_set: Option<u64>,
}

impl Taps {
    /// Returns true if frames are known to be missing.
    pub(super) fn lack_frames(&self) -> bool {
        self.dropped.iter().any(|dropped| dropped.is_some_and(|dropped| dropped > 0))
    }
}

/// Prints the report as lines or as records; `error` says why it is incomplete.
pub(super) fn tell(
    taps: &Taps,
    found: &Found,
    error: Option<&str>,
    output: &Output,
) -> io::Result<()> {
    let Found { matching, clocks, streams, beyond_streams } = found;
    output.record(&record(taps, matching, clocks.as_ref()))?;
    streams.iter().try_for_each(|stream| output.record(&streams::record(stream)))?;
    let is_complete = error.is_none() && !interrupt::requested();
    output.record(&json!({ "type": "end", "complete": is_complete }))?;
    if output.json {
        return Ok(());
    }
    if taps.are_simulated && !taps.has_one_clock {
        output.line(wrapped("", SIMULATED))?;
        output.line("")?;
    }
    streams::print(streams, *beyond_streams, taps.has_one_clock, output)?;
    if matching.tpdus == [0; 2] && !streams.is_empty() {
        return losses(taps).map_or(Ok(()), |sentence| output.line(wrapped("", &sentence)));
    }
    output.line(counts(taps, matching))?;
    match clocks {
        Some(clocks) if clocks.ways == [None; 2] => output.line("")?,
        Some(clocks) => output.line(format_args!("\n{}\n", ways(clocks)))?,
        None => output.line("\nno TPDU was seen at both taps")?,
    }
    let of_clocks = clocks.iter().flat_map(|clocks| sentences(taps, clocks));
    for sentence in of_clocks.chain(limits(matching)).chain(losses(taps)) {
        output.line(wrapped("", &sentence))?;
    }
    Ok(())
}

fn counts(taps: &Taps, matching: &Matching) -> Table {
    let Matching { tpdus, matched, unmatched, ambiguous, recut, .. } = matching;
    let columns = [("", Align::Left), ("near", Align::Right), ("far", Align::Right)];
    let mut counts = Table::new(columns);
    for (name, [near, far]) in [
        ("TPDUs", *tpdus),
        ("the same at both taps", [*matched; 2]),
        ("at this tap alone", *unmatched),
        ("copies, which cannot be told", *ambiguous),
        ("in TCP segments cut elsewhere", *recut),
    ] {
        counts.row([name.to_owned(), near.to_string(), far.to_string()]);
    }
    if taps.dropped != [None; 2] {
        let [near, far] =
            taps.dropped.map(|dropped| dropped.map_or_else(String::new, |n| n.to_string()));
        counts.row(["frames dropped by the kernel".to_owned(), near, far]);
    }
    counts
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
        let ms = |nanos: Option<i64>| {
            let known = nanos.and_then(transit_ns);
            known.map_or_else(|| "n/a".to_owned(), |nanos| significant(nanos as f64 / 1e6, 3))
        };
        table.row([
            name.to_owned(),
            count.to_string(),
            ms(Some(least_ns)),
            ms(Some(mean_ns)),
            ms(enough(0.5, count, Some(median_ns))),
            ms(enough(0.99, count, Some(p99_ns))),
            ms(Some(most_ns)),
            "ms".to_owned(),
        ]);
    }
    table
}

/// Returns a transit; none if it is negative, as it can be by the error of the clocks or their resolution.
const fn transit_ns(nanos: i64) -> Option<i64> {
    if nanos < 0 { None } else { Some(nanos) }
}

/// Describes the basis of the transits and their accuracy.
fn sentences(taps: &Taps, clocks: &Clocks) -> Vec<String> {
    if let Some(times) = taps.clock_was_set {
        return of_one_clock(times);
    }
    if taps.has_one_clock {
        return vec![
            "By --one-clock the stamps of both captures are of one clock: each transit is the \
             difference of two of them."
                .to_owned(),
        ];
    }
    let mut sentences = match clocks.course {
        Course::Broken { near_ns } => vec![of_broken(near_ns)],
        Course::Steady | Course::Changing => of_two_clocks(clocks),
    };
    if clocks.unplaced > 0 {
        sentences.push(format!(
            "{} TPDUs are left out: nothing went the other way, so it cannot be told which tap they \
             passed first.",
            clocks.unplaced
        ));
    }
    sentences
}

/// Formats a value and its bounds times `factor`, to `digits` significant digits, and to more where the bounds need
/// them: to two digits of their difference.
fn bounded(of: Bounded, factor: f64, digits: usize) -> [String; 3] {
    let difference = ((of.most - of.least) * factor).abs();
    let decimals = match difference > 0.0 {
        true => (1.0 - difference.log10().floor()).clamp(0.0, 9.0) as usize,
        false => 0,
    };
    [of.value, of.least, of.most].map(|it| {
        let usual = significant(it * factor, digits);
        let has = usual.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        if has < decimals { format!("{:.decimals$}", it * factor) } else { usual }
    })
}

fn of_two_clocks(clocks: &Clocks) -> Vec<String> {
    let ms = |nanos: f64| significant(nanos / 1e6, 4);
    let (Some(offset), Some(skew), Some(error)) = (clocks.offset_ns, clocks.skew, clocks.error_ns)
    else {
        return vec![
            "TPDUs went one way only, so the clocks cannot be compared: times are what each took \
             longer than the fastest."
                .to_owned(),
        ];
    };
    let (offset, skew) = (bounded(offset, 1e-6, 4), bounded(skew, 1e6, 3));
    let is_steady = clocks.course == Course::Steady;
    let on_average = if is_steady { "" } else { "on the average " };
    let mut sentences = vec![format!(
        "The far clock is {} ms ahead ({} to {}) in the middle of the capture and {on_average}{} in \
         a million faster ({} to {}).",
        offset[0], offset[1], offset[2], skew[0], skew[1], skew[2],
    )];
    if !is_steady {
        sentences.push(
            "Its rate relative to the near clock changed: each transit is corrected by the readings \
             around it, which bound the offset less narrowly than a steady clock does."
                .to_owned(),
        );
    }
    if clocks.ways.iter().flatten().any(|way| transit_ns(way.least_ns).is_none()) {
        sentences.push(
            "n/a stands for a transit that would be negative: it is less than the error of the clocks."
                .to_owned(),
        );
    }
    sentences.push(format!(
        "Each transit may be wrong by {} ms: all of one way longer and all of the other shorter by \
         as much. The sum of both ways is not. The middle is right where the fastest TPDU took as \
         long both ways; readings alone cannot tell.",
        ms(error)
    ));
    sentences
}

fn of_broken(near_ns: u64) -> String {
    let at = calendar::rfc_3339(Instant::from_nanos(near_ns));
    format!(
        "No offset that drifts by less than {} in a million explains the times: a clock was set, or \
         copies were taken for others, shortly before {at} by the near clock. Cut both captures \
         there, and compare the parts; or add --one-clock if one clock stamped both.",
        significant(MOST_SKEW * 1e6, 3)
    )
}

fn of_one_clock(times: u64) -> Vec<String> {
    let mut sentences = vec![
        "One clock stamped at both taps, this host's, so that no transit is wrong for a difference \
         of clocks. A stamp is of when a frame reached this host's network stack, or left it: what \
         adapters and interrupts take is in it."
            .to_owned(),
    ];
    if times > 0 {
        let times = if times == 1 { "once".to_owned() } else { format!("{times} times") };
        sentences.push(format!(
            "The clock was set {times} meanwhile: transits of what was under way then are wrong."
        ));
    }
    sentences
}

/// Describes the effects of the limits on memory.
fn limits(matching: &Matching) -> impl Iterator<Item = String> {
    let Matching { beyond, crowded, .. } = *matching;
    let beyond = (beyond > 0).then(|| {
        format!(
            "Of {beyond} pairs the times were not kept one by one: medians and other percentiles are \
             of a share of all, chosen without regard to them; the rest is of all."
        )
    });
    let crowded = (crowded > 0).then(|| {
        format!(
            "{crowded} TPDUs were let go to make room before they were seen at both taps: some of \
             what counts as seen at one tap alone may have been seen at the other."
        )
    });
    beyond.into_iter().chain(crowded)
}

fn losses(taps: &Taps) -> Option<String> {
    taps.lack_frames().then(|| {
        "Frames were dropped before they could be read: their TPDUs count as seen at the other tap \
         alone, and cannot be distinguished from those lost between the taps. Transits of matched \
         TPDUs are right."
            .to_owned()
    })
}

/// Returns the transits of a direction as a record.
fn way_record(way: Option<Way>) -> Value {
    way.map_or(Value::Null, |way| {
        json!({
            "count": way.count, "min_ns": transit_ns(way.least_ns), "mean_ns": transit_ns(way.mean_ns),
            "p50_ns": transit_ns(way.median_ns), "p99_ns": transit_ns(way.p99_ns),
            "max_ns": transit_ns(way.most_ns),
        })
    })
}

fn record(taps: &Taps, matching: &Matching, clocks: Option<&Clocks>) -> Value {
    let Taps { names, dropped, has_one_clock, clock_was_set, are_simulated: _ } = taps;
    let bounded = |bounded: Option<Bounded>| {
        bounded.map(|Bounded { value, least, most }| {
            json!({
                "value": value, "least": least, "most": most,
            })
        })
    };
    let (course, broken_at) = match clocks.map(|clocks| clocks.course) {
        None => (None, None),
        Some(Course::Steady) => (Some("steady"), None),
        Some(Course::Changing) => (Some("changing"), None),
        Some(Course::Broken { near_ns }) => (Some("broken"), Some(near_ns)),
    };
    let of_clocks = json!({
        "type": "transit", "taps": names, "dropped_by_kernel": dropped,
        "one_clock": has_one_clock, "clock_was_set": clock_was_set,
        "unplaced": clocks.map_or(0, |clocks| clocks.unplaced),
        "course": course, "broken_at_ns": broken_at,
        "offset_ns": bounded(clocks.and_then(|clocks| clocks.offset_ns)),
        "skew": bounded(clocks.and_then(|clocks| clocks.skew)),
        "error_ns": clocks.and_then(|clocks| clocks.error_ns),
    });
    with_matching(of_clocks, matching, clocks)
}

/// Returns a record of the matching and the transits.
pub(super) fn with_matching(
    mut record: Value,
    matching: &Matching,
    clocks: Option<&Clocks>,
) -> Value {
    let Matching { tpdus, matched, unmatched, ambiguous, recut, beyond, crowded } = matching;
    let [there, back] = clocks.map_or([None; 2], |clocks| clocks.ways).map(way_record);
    let more = json!({
        "tpdus": tpdus, "matched": matched, "unmatched": unmatched, "ambiguous": ambiguous,
        "recut": recut, "beyond": beyond, "crowded": crowded, "there": there, "back": back,
    });
    if let (Some(record), Value::Object(mut more)) = (record.as_object_mut(), more) {
        record.append(&mut more);
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check([value, least, most]: [f64; 3], expected: [&str; 3]) {
        assert_eq!(bounded(Bounded { value, least, most }, 1e-6, 4), expected);
    }

    #[test]
    fn a_transit_that_would_be_negative_is_not_available() {
        let way = |least_ns| Way {
            count: 200,
            least_ns,
            mean_ns: -100,
            median_ns: 0,
            p99_ns: 1_200_000,
            most_ns: 2_000_000,
        };
        let record = way_record(Some(way(-1)));
        let times = ["min_ns", "mean_ns", "p50_ns", "p99_ns"].map(|name| record[name].as_i64());
        assert_eq!(times, [None, None, Some(0), Some(1_200_000)]);
        let clocks = |least_ns| {
            let bounded = |value| Some(Bounded { value, least: value - 1.0, most: value + 1.0 });
            Clocks {
                offset_ns: bounded(5.0),
                skew: bounded(0.0),
                error_ns: Some(500.0),
                course: Course::Steady,
                ways: [Some(way(least_ns)), None],
                unplaced: 0,
            }
        };
        let table = ways(&clocks(-1)).to_string();
        assert!(table.ends_with("  200  n/a   n/a    0  1.20  2.00  ms"), "{table}");
        let says = |least_ns| of_two_clocks(&clocks(least_ns)).iter().any(|it| it.contains("n/a"));
        assert_eq!((says(-1), says(0)), (true, false));
    }

    #[test]
    fn bounds_of_an_offset_differ_however_large_it_is() {
        // Nanoseconds in, milliseconds out; the bounds are 0.004 ms apart.
        let expected = ["-2250.0010", "-2250.0030", "-2249.9990"];
        check([-2_250_001_000.0, -2_250_003_000.0, -2_249_999_000.0], expected);
        check([-1_110.0, -5_110.0, 2_812.0], ["-0.001110", "-0.005110", "0.002812"]);
        check([5e6, 5e6, 5e6], ["5.000", "5.000", "5.000"]);
    }
}
