//! Two captures: whichever is behind goes on, and none of their frames is kept.

use super::tap::Source;
use super::{open, told};
use crate::args::Watch;
use crate::exit::Failure;
use crate::interrupt;
use crate::output::Output;
use core::time::Duration;
use meter::transit::{Found, Limits, Matching, Stamps, Tap, Transit};
use wire::time::{Instant, nanos};

/// Clocks that seem to be no further apart are taken for clocks of one time.
const ONE_TIME: Duration = Duration::from_secs(10);

/// Looks at both to their ends, and tells what came of it. Frames go by the time of their stamps. Where little
/// comes of that, and the stamps of the first ones are far apart, the captures may have begun together by clocks
/// of different times, and it is tried that way.
pub(super) fn run(
    watch: &Watch,
    mut taps: [Source; 2],
    output: &Output,
) -> Result<([Source; 2], Found), Failure> {
    let (found, firsts) = pass(&mut taps, 0);
    let Some(apart) = apart(firsts) else { return Ok((taps, found)) };
    let is_good = 2 * found.matching.matched >= shorter(&found.matching);
    let is_gone = [watch.source.read.first(), watch.far.as_ref()]
        .into_iter()
        .any(|path| path.is_none_or(|path| path.as_os_str() == "-"));
    if is_good || is_gone || taps.iter().any(|tap| tap.failure.is_some()) || interrupt::requested()
    {
        return Ok((taps, found));
    }
    let mut again = open(watch, output)?;
    let (other, _) = pass(&mut again, apart);
    let is_better = other.matching.matched > found.matching.matched;
    Ok(if is_better { (again, other) } else { (taps, found) })
}

/// TPDUs of the tap that saw fewer.
fn shorter(matching: &Matching) -> u64 {
    let [near, far] = matching.tpdus;
    near.min(far)
}

/// By how much the far clock is ahead if both captures began together, where that is much.
fn apart([near, far]: [Option<Instant>; 2]) -> Option<i64> {
    let [near, far] = [near?, far?].map(|at| i128::from(at.as_nanos()));
    let apart = i64::try_from(far - near).ok()?;
    (apart.unsigned_abs() > nanos(ONE_TIME)).then_some(apart)
}

/// Looks at both, where the far clock is taken to be so much ahead; when the first frame of each was seen.
fn pass(taps: &mut [Source; 2], apart: i64) -> (Found, [Option<Instant>; 2]) {
    let mut transit = Transit::new(Stamps::TwoClocks, Limits::USUAL);
    transit.clocks_are_apart(apart);
    while !interrupt::requested() {
        let tap = match taps.each_ref().map(|source| source.is_over) {
            [false, false] => transit.turn(),
            [false, true] => Tap::Near,
            [true, false] => Tap::Far,
            [true, true] => break,
        };
        taps[tap as usize].pass(tap, &mut transit);
    }
    let firsts = taps.each_ref().map(|source| source.first_at);
    (told(taps, transit), firsts)
}
