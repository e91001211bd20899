//! Offset of a clock that changes its speed, from readings that bound it.
//!
//! A forward reading is an upper bound of the offset at its time, a backward one a lower bound. A
//! moment later the offset may differ by as much as the greatest skew allows. So every reading
//! bounds the offset at every time, and the nearest reading bounds it most. The result at a time is
//! the intersection of all bounds. Only the limit of the skew is assumed; the price is that fast
//! TPDUs bound the offset only near themselves, so errors are greater than with a constant skew.

use super::{Bounded, Point};

/// Lower and upper bound of the offset at each reading, in the order of their times, if it changes
/// by at most `limit` nanoseconds per second; or the time of the first reading that no offset
/// explains together with the earlier ones. `point` returns the position of a reading, and whether
/// it is of a TPDU that passed the far tap first.
pub(super) fn offsets<T>(
    seen: &[T],
    point: impl Fn(&T) -> (Point, bool),
    limit: f64,
    step_ns: f64,
) -> Result<Vec<(f64, f64)>, f64> {
    let bound = |seen: &T| match point(seen) {
        (Point { nanos, .. }, true) => (nanos - step_ns, f64::INFINITY),
        (Point { nanos, .. }, false) => (f64::NEG_INFINITY, nanos + step_ns),
    };
    let mut bounds: Vec<(f64, f64)> = seen.iter().map(bound).collect();
    let narrow = |bounds: &mut [(f64, f64)], from: usize, to: usize| {
        let (Some(by), Some(there)) = (seen.get(from), seen.get(to)) else { return };
        let room = limit * (point(there).0.seconds - point(by).0.seconds).abs();
        let (Some((least, most)), Some(narrowed)) = (bounds.get(from).copied(), bounds.get_mut(to))
        else {
            return;
        };
        *narrowed = (narrowed.0.max(least - room), narrowed.1.min(most + room));
    };
    // Reachable range from the past; if it is empty, the clock was set at this reading.
    for place in 0..seen.len() {
        if place > 0 {
            narrow(&mut bounds, place - 1, place);
        }
        let is_impossible = bounds.get(place).is_some_and(|(least, most)| least > most);
        if let Some(seen) = seen.get(place).filter(|_| is_impossible) {
            return Err(point(seen).0.seconds);
        }
    }
    // Intersection with the reachable range from the future.
    for place in (1..seen.len()).rev() {
        narrow(&mut bounds, place, place - 1);
    }
    Ok(bounds)
}

/// Offset between bounds.
pub(super) const fn offset((least, most): (f64, f64)) -> Bounded {
    Bounded { value: least.midpoint(most), least, most }
}

/// Average skew from the first reading to the last, in nanoseconds per second.
pub(super) fn average_skew<T>(
    seen: &[T],
    point: impl Fn(&T) -> (Point, bool),
    bounds: &[(f64, f64)],
) -> Option<Bounded> {
    let seconds = point(seen.last()?).0.seconds - point(seen.first()?).0.seconds;
    let (first, last) = (offset(*bounds.first()?), offset(*bounds.last()?));
    let skew = Bounded {
        value: last.value - first.value,
        least: last.least - first.most,
        most: last.most - first.least,
    };
    (seconds > 0.0).then(|| skew.over(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(seconds: f64, nanos: f64, is_back: bool) -> (Point, bool) {
        (Point { seconds, nanos }, is_back)
    }

    #[test]
    fn each_reading_bounds_the_offset_around_it() {
        // 10 ns a second: at 0 s at most 100, at 2 s at least 60, at 4 s at most 110.
        let points = [point(0.0, 100.0, false), point(2.0, 60.0, true), point(4.0, 110.0, false)];
        let bounds = offsets(&points, |point| *point, 10.0, 0.0).unwrap();
        // 60 less 20 to both sides; 100 and 20, which is less than 110 and 20.
        assert_eq!(bounds, [(40.0, 100.0), (60.0, 120.0), (40.0, 110.0)]);
        assert_eq!(offset(bounds[1]).value, 90.0);
        // From 70 (40 to 100) to 75 (40 to 110) in 4 s.
        let skew = average_skew(&points, |point| *point, &bounds).unwrap();
        assert_eq!((skew.value, skew.least, skew.most), (1.25, -15.0, 17.5));
    }

    #[test]
    fn a_clock_that_is_set_is_found_at_its_reading() {
        let points = [
            point(0.0, 100.0, false),
            point(1.0, 90.0, true),
            point(2.0, 1_090.0, true),
            point(3.0, 1_100.0, false),
        ];
        // 1,090 at least, where 100 two seconds ago limits it to 120.
        assert_eq!(offsets(&points, |point| *point, 10.0, 0.0), Err(2.0));
        assert!(offsets(&points, |point| *point, 600.0, 0.0).is_ok());
    }

    #[test]
    fn rounded_stamps_contradict_nothing() {
        let points = [point(0.0, 100.0, false), point(0.0, 101.0, true)];
        assert!(offsets(&points, |point| *point, 10.0, 0.0).is_err());
        assert_eq!(offset(offsets(&points, |point| *point, 10.0, 1.0).unwrap()[0]).value, 100.5);
    }
}
