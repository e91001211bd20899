//! One-way transits from the readings of two clocks, with the bounds that the readings allow.
//!
//! A TPDU that passes the near tap first is read `offset + transit` later by the far clock; one
//! that passes the far tap first, `offset - transit`. No transit is negative, so the offset lies
//! between the greatest reading of one direction and the least of the other. The width of that gap
//! is the least round trip between the taps. Its middle is the estimate of the offset: exact if the
//! least transits of both directions are equal, and wrong by half the gap at most. Readings alone
//! allow no better estimate: adding a constant to all transits of one direction and subtracting it
//! from all of the other leaves the readings unchanged. The sum of both directions has no such
//! error.
//!
//! Clocks also drift apart. If one offset fits all readings, no skew is assumed. Otherwise, of the
//! straight lines that separate the two directions, the estimate is the line with the widest
//! margin. The bounds of offset and skew in both cases are those of all such lines.
//!
//! One clock that stamps for both taps has neither offset nor skew: each difference is a transit,
//! and its sign gives the direction.
//!
//! If no straight line separates the directions, a clock changed its speed, and `wander` estimates
//! the offset. A stamp is rounded, and may be wrong by its step.
//!
//! Assumed: the skew is constant during the measurement, unless readings contradict that, and below
//! [`MOST_SKEW`]. Bias: if delays change steadily with time, an apparent skew is seen; its bounds
//! still hold. A change of speed that is too small to be seen makes the bounds too narrow.

mod outline;
mod readings;
mod sides;
mod wander;

use readings::Gathered;
pub use readings::Readings;

/// Limit of the skew of working clocks: 500 in a million.
pub const MOST_SKEW: f64 = 500e-6;
/// Limit of the difference of the clocks: 73 years.
const MOST_DIFFERENCE_NS: i64 = 1 << 61;
/// Steps of a search that halves or thirds its range: the result is exact to far below a nanosecond
/// in an hour.
const STEPS: usize = 100;

/// Readings of the same copy of a TPDU at both taps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    /// Time at the near tap, by its clock.
    pub near_ns: u64,
    /// Far clock minus near clock.
    pub difference_ns: i64,
    /// Sender and receiver.
    pub ends: [u32; 2],
}

/// Estimate with its lower and upper bound.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bounded {
    /// Estimate.
    pub value: f64,
    /// Lower bound.
    pub least: f64,
    /// Upper bound.
    pub most: f64,
}

/// Transits of one direction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way {
    /// Number.
    pub count: u64,
    /// Minimum.
    pub least_ns: i64,
    /// Mean.
    pub mean_ns: i64,
    /// Median: at least half are no longer.
    pub median_ns: i64,
    /// 99th percentile: 99 % are no longer.
    pub p99_ns: i64,
    /// Maximum.
    pub most_ns: i64,
}

/// Course of the clock difference during the measurement.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Course {
    /// No reading contradicts a constant skew.
    Steady,
    /// The skew changed, and was below [`MOST_SKEW`]: offsets follow from the readings around each
    /// time.
    Changing,
    /// Even a changing skew does not explain the readings: a clock was set, or copies were matched
    /// wrongly. There is no offset and no transit.
    Broken {
        /// First reading that contradicts those before it, by the near clock.
        near_ns: u64,
    },
}

/// Relation of two clocks, and the transits that follow from it.
#[derive(Clone, PartialEq, Debug)]
pub struct Clocks {
    /// Far clock minus near clock in the middle of the measurement, in nanoseconds; none if TPDUs
    /// went one way only.
    pub offset_ns: Option<Bounded>,
    /// Course of the offset during the measurement.
    pub course: Course,
    /// Rate by which the far clock is faster, as a fraction; the average if it changed.
    pub skew: Option<Bounded>,
    /// Largest error of a transit, in nanoseconds: with opposite sign in the two directions.
    pub error_ns: Option<f64>,
    /// Pairs between hosts with traffic in one direction only, so that the tap they passed first is
    /// unknown.
    pub unplaced: u64,
    /// Transits from the near tap to the far one, then back. If TPDUs went one way only, the excess
    /// of each transit over the least.
    pub ways: [Option<Way>; 2],
}

impl Clocks {
    fn without_estimate(course: Course, ways: [Option<Way>; 2]) -> Self {
        Self { offset_ns: None, course, skew: None, error_ns: None, unplaced: 0, ways }
    }

    /// Result for one direction without the other.
    fn one_way(readings: &Readings, origin: &Origin) -> Self {
        let beyond_the_fastest = |is_back: bool| {
            let of = &readings.ways()[usize::from(is_back)];
            let lower = of.outline.lower().iter().map(|corner| origin.point(corner).nanos);
            let fastest = lower.min_by(f64::total_cmp)?;
            let beyond = |reading: &Reading| origin.point(reading).nanos - fastest;
            Some(Way::of(readings.shape(is_back, beyond)?, of.means(origin).1 - fastest))
        };
        Self::without_estimate(Course::Steady, [false, true].map(beyond_the_fastest))
    }

    /// Result for a constant skew; `half` is the time from the middle to either end.
    fn steady(
        readings: &Readings,
        origin: &Origin,
        corridor: &Corridor,
        skew: Bounded,
        half: f64,
    ) -> Self {
        let offset = corridor.offset(skew, 0.0);
        let of = |is_back: bool| {
            let sign = if is_back { -1.0 } else { 1.0 };
            let above =
                |Point { seconds, nanos }| sign * (nanos - offset.value - skew.value * seconds);
            let (seconds, nanos) = readings.ways()[usize::from(is_back)].means(origin);
            let shape = readings.shape(is_back, |reading| above(origin.point(reading)))?;
            Some(Way::of(shape, above(Point { seconds, nanos })))
        };
        // Bounds are widest at one of the ends.
        let error_at = |seconds| {
            let Bounded { value, least, most } = corridor.offset(skew, seconds);
            (most - value).max(value - least)
        };
        let error_ns = [-half, 0.0, half].map(error_at).into_iter().fold(0.0, f64::max);
        Self {
            offset_ns: Some(offset.from(origin)),
            skew: Some(skew.over(1e9)),
            error_ns: Some(error_ns),
            ways: [false, true].map(of),
            ..Self::without_estimate(Course::Steady, [None; 2])
        }
    }

    /// Result for a changing skew.
    fn changing(readings: &Readings, origin: &Origin, step_ns: u64) -> Self {
        let kept = readings.kept();
        let point = |reading: &Reading| (origin.point(reading), readings.is_back(reading));
        let bounds = match wander::offsets(kept, point, MOST_SKEW * 1e9, step_ns as f64) {
            Ok(bounds) => bounds,
            Err(seconds) => {
                let near_ns = origin.near_ns.saturating_add_signed((seconds * 1e9) as i64);
                return Self::without_estimate(Course::Broken { near_ns }, [None; 2]);
            }
        };
        let of = |is_back: bool| {
            let both = kept.iter().zip(&bounds);
            let of_way = both.filter(|(reading, _)| readings.is_back(reading) == is_back);
            let transit = |(reading, bounds): (&Reading, &(f64, f64))| {
                (origin.point(reading).nanos - wander::offset(*bounds).value).abs()
            };
            let nanos: Vec<f64> = of_way.map(transit).collect();
            let (least, most) = (
                nanos.iter().copied().min_by(f64::total_cmp)?,
                nanos.iter().copied().max_by(f64::total_cmp)?,
            );
            let mean = nanos.iter().sum::<f64>() / nanos.len() as f64;
            let count = readings.ways()[usize::from(is_back)].count;
            Some(Way::of(Shape { count, least, most, nanos }, mean))
        };
        let error = |bounds: &(f64, f64)| wander::offset(*bounds).error();
        let at_middle = kept.partition_point(|reading| origin.point(reading).seconds < 0.0);
        let in_middle = bounds.get(at_middle).map(|bounds| wander::offset(*bounds).from(origin));
        Self {
            offset_ns: in_middle,
            skew: wander::average_skew(kept, point, &bounds).map(|skew| skew.over(1e9)),
            error_ns: bounds.iter().map(error).max_by(f64::total_cmp),
            ways: [false, true].map(of),
            ..Self::without_estimate(Course::Changing, [None; 2])
        }
    }

    /// Result for one clock: each difference is a transit.
    fn of_one(readings: &Readings, origin: &Origin) -> Self {
        let none = Some(Bounded { value: 0.0, least: 0.0, most: 0.0 });
        let of = |is_back: bool| {
            let (_, nanos) = readings.ways()[usize::from(is_back)].means(origin);
            let transit = |reading: &Reading| reading.difference_ns.unsigned_abs() as f64;
            Some(Way::of(readings.shape(is_back, transit)?, nanos.abs()))
        };
        let clocks = Self::without_estimate(Course::Steady, [false, true].map(of));
        Self { offset_ns: none, skew: none, error_ns: Some(0.0), ..clocks }
    }
}

impl Bounded {
    fn over(self, divisor: f64) -> Self {
        let Self { value, least, most } = self;
        let [value, least, most] = [value, least, most].map(|part| part / divisor);
        Self { value, least, most }
    }

    /// Absolute value of a difference relative to an origin.
    fn from(self, origin: &Origin) -> Self {
        let base = origin.difference_ns as f64;
        let Self { value, least, most } = self;
        let [value, least, most] = [value, least, most].map(|nanos| nanos + base);
        Self { value, least, most }
    }

    /// Largest error.
    fn error(self) -> f64 {
        self.most - self.value
    }
}

/// Origin of readings, which keeps their digits few.
#[derive(Clone, Copy, Debug)]
struct Origin {
    near_ns: u64,
    difference_ns: i64,
}

impl Origin {
    const fn of(reading: &Reading) -> Self {
        Self { near_ns: reading.near_ns, difference_ns: reading.difference_ns }
    }

    fn point(&self, reading: &Reading) -> Point {
        let near_ns = i128::from(reading.near_ns) - i128::from(self.near_ns);
        Point {
            seconds: near_ns as f64 / 1e9,
            nanos: (reading.difference_ns - self.difference_ns) as f64,
        }
    }
}

/// Reading in seconds and nanoseconds from the origin.
#[derive(Clone, Copy, Debug)]
struct Point {
    seconds: f64,
    nanos: f64,
}

/// Unsorted transits of one direction.
struct Shape {
    count: u64,
    least: f64,
    most: f64,
    /// Transits that are kept one by one.
    nanos: Vec<f64>,
}

/// Lines below all forward readings and above all backward readings.
struct Corridor {
    /// Lower corners of the forward readings.
    there: Vec<Point>,
    /// Upper corners of the backward readings.
    back: Vec<Point>,
    /// Largest rounding of stamps.
    step_ns: f64,
}

impl Corridor {
    fn of([there, back]: &[Gathered; 2], origin: &Origin, step_ns: u64) -> Self {
        let points =
            |corners: &[Reading]| corners.iter().map(|corner| origin.point(corner)).collect();
        Self {
            there: points(there.outline.lower()),
            back: points(back.outline.upper()),
            step_ns: step_ns as f64,
        }
    }

    /// Range of a line of this slope, in nanoseconds per second, at a time: from the greatest
    /// backward reading to the least forward one.
    fn room(&self, slope: f64, seconds: f64) -> (f64, f64) {
        let standing = |point: &Point| point.nanos - slope * (point.seconds - seconds);
        let least = self.back.iter().map(standing).fold(f64::NEG_INFINITY, f64::max);
        let most = self.there.iter().map(standing).fold(f64::INFINITY, f64::min);
        (least - self.step_ns, most + self.step_ns)
    }

    fn width(&self, slope: f64) -> f64 {
        let (least, most) = self.room(slope, 0.0);
        most - least
    }

    /// Slope of the estimated line, and the bounds of all possible slopes; none if one direction is
    /// missing.
    fn slope(&self) -> Option<Bounded> {
        if self.there.is_empty() || self.back.is_empty() {
            return None;
        }
        let limit = MOST_SKEW * 1e9;
        // The width is concave: the minimum of straight lines minus the maximum of others. In a
        // short capture its maximum is often at a skew without evidence.
        let best = if self.width(0.0) >= 0.0 {
            0.0
        } else {
            highest(-limit, limit, |slope| self.width(slope))
        };
        let edge = |outer: f64| {
            if self.width(outer) >= 0.0 {
                return outer;
            }
            let (mut inside, mut outside) = (best, outer);
            for _ in 0..STEPS {
                let between = inside.midpoint(outside);
                let half = if self.width(between) >= 0.0 { &mut inside } else { &mut outside };
                *half = between;
            }
            inside
        };
        Some(Bounded { value: best, least: edge(-limit), most: edge(limit) })
    }

    /// Value of the estimated line of this slope at a time, and the bounds of all possible values.
    fn offset(&self, slope: Bounded, seconds: f64) -> Bounded {
        let (low, high) = self.room(slope.value, 0.0);
        let value = low.midpoint(high) + slope.value * seconds;
        let lowest = highest(slope.least, slope.most, |slope| -self.room(slope, seconds).0);
        let top = highest(slope.least, slope.most, |slope| self.room(slope, seconds).1);
        let least = self.room(lowest, seconds).0.min(value);
        Bounded { value, least, most: self.room(top, seconds).1.max(value) }
    }
}

/// Position of the maximum of a concave function; the middle if it is flat there.
fn highest(mut low: f64, mut high: f64, of: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..STEPS {
        let third = (high - low) / 3.0;
        let (left, right) = (low + third, high - third);
        let (at_left, at_right) = (of(left), of(right));
        if at_left <= at_right {
            low = left;
        }
        if at_right <= at_left {
            high = right;
        }
    }
    low.midpoint(high)
}

impl Way {
    fn of(shape: Shape, mean: f64) -> Self {
        let Shape { count, least, most, mut nanos } = shape;
        // Rank of a quantile, from 1: at least this share is no greater.
        let mut quantile = |thousandths: usize| {
            let rank = (nanos.len() * thousandths).div_ceil(1_000).max(1);
            let (_, nanos, _) = nanos.select_nth_unstable_by(rank - 1, f64::total_cmp);
            nanos.round() as i64
        };
        Self {
            count,
            least_ns: least.round() as i64,
            mean_ns: mean.round() as i64,
            median_ns: quantile(500),
            p99_ns: quantile(990),
            most_ns: most.round() as i64,
        }
    }
}
