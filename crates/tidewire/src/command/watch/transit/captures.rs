//! Two captures read in parallel, the one that is behind first; no frame is stored.

use super::tap::Source;
use super::{LONGEST, open, told};
use crate::args::Watch;
use crate::exit::Failure;
use crate::interrupt;
use crate::output::Output;
use crate::quantity::counted;
use core::time::Duration;
use meter::transit::clock::{Clocks, Course};
use meter::transit::{Found, Limits, Stamps, Tap, Transit};
use wire::time::{self, Instant};

/// Maximum offset at which two clocks are taken as synchronised.
const ONE_TIME: Duration = Duration::from_secs(1);

/// Offset of the far clock.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Apart {
    /// None, unless TPDUs indicate one.
    Perhaps,
    /// Known offset in nanoseconds.
    By(i64),
}

/// Result of a pass over both captures.
struct Passed {
    taps: [Source; 2],
    found: Found,
    /// Time of the first frame of each.
    firsts: [Option<Instant>; 2],
}

/// Reads both captures to their ends and returns the best result. The first pass assumes
/// synchronised timestamps, so nothing waits for a tap that was not open yet. If few TPDUs match,
/// further passes drop that assumption, then use the offset that TPDUs indicate, or align the
/// starts of the captures.
pub(super) fn run(
    watch: &Watch,
    taps: [Source; 2],
    output: &Output,
) -> Result<([Source; 2], Found), Failure> {
    if watch.one_clock {
        return Ok(by_one_clock(taps, output));
    }
    let can_reopen = [watch.source.read.first(), watch.far.as_ref()]
        .into_iter()
        .all(|path| path.is_some_and(|path| path.as_os_str() != "-"));
    if !can_reopen {
        let Passed { taps, found, .. } = pass(taps, Apart::Perhaps);
        return Ok((taps, found));
    }
    let mut best = pass(taps, Apart::By(0));
    let mut tried = vec![Apart::By(0)];
    while let Some(apart) = next(&best, &tried) {
        let other = pass(open(watch, output)?, apart);
        tried.push(apart);
        if rank(&other.found) > rank(&best.found) {
            best = other;
        }
    }
    Ok((best.taps, best.found))
}

/// Reads both captures in the order of their stamps, and warns of frames that are not in this order.
fn by_one_clock(mut taps: [Source; 2], output: &Output) -> ([Source; 2], Found) {
    let mut transit = Transit::new(Stamps::OneClock { longest: LONGEST }, Limits::USUAL);
    let (mut last, mut earlier) = (Instant::ZERO, 0_u64);
    while !interrupt::requested() {
        taps.iter_mut().for_each(|source| source.look(Instant::ZERO));
        let due = match taps.each_ref().map(Source::next_at) {
            [Some(near), Some(far)] if far < near => Tap::Far,
            [Some(_), _] => Tap::Near,
            [None, Some(_)] => Tap::Far,
            // What a filter passed over was no frame: the next may be one.
            [None, None] if taps.iter().any(Source::is_silent) => continue,
            [None, None] => break,
        };
        // The other may have an older frame behind those that a filter passed over.
        if taps[due.other() as usize].is_silent() {
            continue;
        }
        let source = &mut taps[due as usize];
        let at = source.next_at().unwrap_or(last);
        earlier += u64::from(at < last);
        last = last.max(at);
        source.hand_over(due, (Instant::ZERO, Instant::MAX), &mut transit);
    }
    if earlier > 0 {
        let frames = counted(earlier, "frame");
        output.remark(format_args!(
            "warning: {frames} with an earlier time than one before in the same capture: --one-clock takes frames \
             in the order of their times, and may not match these"
        ));
    }
    let found = told(&taps, transit);
    (taps, found)
}

/// Returns the offset to try next, if any.
fn next(best: &Passed, tried: &[Apart]) -> Option<Apart> {
    let Passed { taps, found, firsts } = best;
    if taps.iter().any(|tap| tap.failure.is_some()) || interrupt::requested() || tried.len() > 2 {
        return None;
    }
    let is_new = |apart: &Apart| match *apart {
        Apart::Perhaps => !tried.contains(apart),
        Apart::By(nanos) => tried.iter().all(|tried| match tried {
            Apart::Perhaps => true,
            Apart::By(tried) => tried.abs_diff(nanos) > time::nanos(ONE_TIME),
        }),
    };
    let offset = found.clocks.as_ref().and_then(|clocks| clocks.offset_ns);
    let by_tpdus = offset.map(|offset| Apart::By(offset.value as i64)).filter(is_new);
    let [near, far] = found.matching.tpdus;
    if 2 * found.matching.matched >= near.min(far) {
        return by_tpdus;
    }
    let first = |tap: usize| firsts[tap].map(|at| i128::from(at.as_nanos()));
    let together = || i64::try_from(first(1)? - first(0)?).ok().map(Apart::By).filter(is_new);
    let any = Some(Apart::Perhaps).filter(is_new);
    any.or(by_tpdus).or_else(together)
}

/// Ranks results: those with transits first, then by the number of TPDUs.
fn rank(found: &Found) -> (bool, u64) {
    let is_told = |clocks: &Clocks| !matches!(clocks.course, Course::Broken { .. });
    (found.clocks.as_ref().is_some_and(is_told), found.matching.matched)
}

/// Reads both captures.
fn pass(mut taps: [Source; 2], apart: Apart) -> Passed {
    let mut transit = Transit::new(Stamps::TwoClocks, Limits::USUAL);
    if let Apart::By(nanos) = apart {
        transit.clocks_are_apart(nanos);
    }
    while !interrupt::requested() {
        let tap = match taps.each_ref().map(|source| source.is_over) {
            [false, false] => transit.turn(),
            [false, true] => Tap::Near,
            [true, false] => Tap::Far,
            [true, true] => break,
        };
        let source = &mut taps[tap as usize];
        source.pass(tap, &mut transit);
        if source.is_over {
            transit.end(tap);
        }
    }
    let firsts = taps.each_ref().map(|source| source.first_at);
    let found = told(&taps, transit);
    Passed { taps, found, firsts }
}
