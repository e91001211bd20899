//! From readings of two clocks to one-way transits, with what cannot be known of them.
//!
//! A TPDU that passes the near tap first is read `offset + transit` later by the far clock; one that
//! passes the far tap first, `offset - transit`. No transit is negative, so the offset lies between the
//! greatest reading of one way and the least of the other. The width of that gap is the least round
//! trip between the taps. Its middle is taken for the offset, which is right if the least transits of
//! both ways are equal, and wrong by half the gap at the most. From readings alone nobody can tell more:
//! what is added to all transits of one way and taken from all of the other leaves them as they are.
//! The sum of both ways has no such error.
//!
//! Clocks also drift apart. Where one offset fits all readings no skew is taken; else, of the straight
//! lines that separate the two ways, the one that leaves most room to both. The bounds of offset and skew
//! are those of all such lines either way.
//!
//! One clock that stamps for both taps has neither offset nor skew to itself: each difference is a transit,
//! and its sign says which way.
//!
//! Where no straight line separates the ways, a clock changed its speed meanwhile, and `wander` tells
//! what holds then. A stamp is rounded, and may be wrong by its step.
//!
//! Assumed: the skew is constant while it is looked at, unless readings say that it is not, and below
//! [`MOST_SKEW`]. Bias: where delays change in step with time, a skew is seen that is none; its bounds
//! still hold. A change of speed that is too small to be seen makes them too narrow.

mod outline;
mod readings;
mod sides;
mod wander;

use readings::Gathered;
pub use readings::Readings;

/// No two clocks that work drift apart faster: 500 in a million.
pub const MOST_SKEW: f64 = 500e-6;
/// What the clocks differ by at the most: 73 years.
const MOST_DIFFERENCE_NS: i64 = 1 << 61;
/// How often a search halves or thirds its range: far below a nanosecond in an hour.
const STEPS: usize = 100;

/// The same copy of a TPDU at both taps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reading {
    /// When the near tap saw it, by its clock.
    pub near_ns: u64,
    /// What the far clock said less what the near one did.
    pub difference_ns: i64,
    /// From whom it went to whom.
    pub ends: [u32; 2],
}

/// An estimate with the least and the greatest that cannot be ruled out.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bounded {
    /// The estimate.
    pub value: f64,
    /// The least it may be.
    pub least: f64,
    /// The greatest it may be.
    pub most: f64,
}

/// Transits of one way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Way {
    /// How many.
    pub count: u64,
    /// The least.
    pub least_ns: i64,
    /// The mean.
    pub mean_ns: i64,
    /// The median: at least half are no longer.
    pub median_ns: i64,
    /// 99 % are no longer.
    pub p99_ns: i64,
    /// The greatest.
    pub most_ns: i64,
}

/// What the difference of two clocks did while it was looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Course {
    /// Nothing speaks against a skew that stays the same.
    Steady,
    /// The skew changed, and was below [`MOST_SKEW`]: offsets are told from the readings around each.
    Changing,
    /// Not even that explains the readings: a clock was set, or copies were matched wrongly. No
    /// offset and no transit is told.
    Broken {
        /// The first reading that those before it rule out, by the near clock.
        near_ns: u64,
    },
}

/// How two clocks stand to each other, and what follows for the transits.
#[derive(Clone, PartialEq, Debug)]
pub struct Clocks {
    /// The far clock less the near one in the middle of what was seen, in nanoseconds; nothing where
    /// TPDUs went one way only.
    pub offset_ns: Option<Bounded>,
    /// What became of that meanwhile.
    pub course: Course,
    /// By how much the far clock runs faster, in parts of one; on the average, where that changed.
    pub skew: Option<Bounded>,
    /// By how much a transit may be wrong at the most, in nanoseconds: up one way and down the other.
    pub error_ns: Option<f64>,
    /// Pairs between hosts of which nothing went the other way, so that it cannot be told which tap
    /// they passed first.
    pub unplaced: u64,
    /// Transits from the near tap to the far one, then back. Where TPDUs went one way only, what each
    /// took longer than the fastest.
    pub ways: [Option<Way>; 2],
}

impl Clocks {
    fn untold(course: Course, ways: [Option<Way>; 2]) -> Self {
        Self { offset_ns: None, course, skew: None, error_ns: None, unplaced: 0, ways }
    }

    /// Nothing went the other way.
    fn one_way(readings: &Readings, origin: &Origin) -> Self {
        let beyond_the_fastest = |is_back: bool| {
            let of = &readings.ways()[usize::from(is_back)];
            let lower = of.outline.lower().iter().map(|corner| origin.point(corner).nanos);
            let fastest = lower.min_by(f64::total_cmp)?;
            let beyond = |reading: &Reading| origin.point(reading).nanos - fastest;
            Some(Way::of(readings.shape(is_back, beyond)?, of.means(origin).1 - fastest))
        };
        Self::untold(Course::Steady, [false, true].map(beyond_the_fastest))
    }

    /// The skew is the same for half of the time from the middle on, and before.
    fn steady(
        readings: &Readings,
        origin: &Origin,
        (corridor, skew, half): (&Corridor, Bounded, f64),
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
            ..Self::untold(Course::Steady, [None; 2])
        }
    }

    /// The skew changes.
    fn changing(readings: &Readings, origin: &Origin, step_ns: u64) -> Self {
        let kept = readings.kept();
        let point = |reading: &Reading| (origin.point(reading), readings.is_back(reading));
        let bounds = match wander::offsets(kept, point, MOST_SKEW * 1e9, step_ns as f64) {
            Ok(bounds) => bounds,
            Err(seconds) => {
                let near_ns = origin.near_ns.saturating_add_signed((seconds * 1e9) as i64);
                return Self::untold(Course::Broken { near_ns }, [None; 2]);
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
            ..Self::untold(Course::Changing, [None; 2])
        }
    }

    /// Of one clock, each difference is a transit.
    fn of_one(readings: &Readings, origin: &Origin) -> Self {
        let none = Some(Bounded { value: 0.0, least: 0.0, most: 0.0 });
        let of = |is_back: bool| {
            let (_, nanos) = readings.ways()[usize::from(is_back)].means(origin);
            let transit = |reading: &Reading| reading.difference_ns.unsigned_abs() as f64;
            Some(Way::of(readings.shape(is_back, transit)?, nanos.abs()))
        };
        let clocks = Self::untold(Course::Steady, [false, true].map(of));
        Self { offset_ns: none, skew: none, error_ns: Some(0.0), ..clocks }
    }
}

impl Bounded {
    fn over(self, divisor: f64) -> Self {
        let Self { value, least, most } = self;
        let [value, least, most] = [value, least, most].map(|part| part / divisor);
        Self { value, least, most }
    }

    /// Of a difference from that of an origin, the whole.
    fn from(self, origin: &Origin) -> Self {
        let base = origin.difference_ns as f64;
        let Self { value, least, most } = self;
        let [value, least, most] = [value, least, most].map(|nanos| nanos + base);
        Self { value, least, most }
    }

    /// By how much it may be wrong.
    fn error(self) -> f64 {
        self.most - self.value
    }
}

/// From where readings are counted, so that their digits are few.
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

/// A reading, as seconds and nanoseconds from the origin.
#[derive(Clone, Copy, Debug)]
struct Point {
    seconds: f64,
    nanos: f64,
}

/// Transits of one way, before they are put in order.
struct Shape {
    count: u64,
    least: f64,
    most: f64,
    /// Those that are kept one by one.
    nanos: Vec<f64>,
}

/// The lines that lie below all readings there and above all readings back.
struct Corridor {
    /// The corners below readings there.
    there: Vec<Point>,
    /// The corners above readings back.
    back: Vec<Point>,
    /// By how much stamps may be rounded.
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

    /// Where a line of this slope, in nanoseconds a second, may stand at a time: from the greatest
    /// reading back to the least there.
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

    /// The slope of the line that is taken, and the bounds of all that could be; nothing where one of
    /// the ways is missing.
    fn slope(&self) -> Option<Bounded> {
        if self.there.is_empty() || self.back.is_empty() {
            return None;
        }
        let limit = MOST_SKEW * 1e9;
        // The width is concave: the least of straight lines less the greatest of some. In a short
        // capture it would be widest with a skew that nothing speaks for.
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

    /// Where the line of this slope that is taken stands at a time, and the bounds of all that could be.
    fn offset(&self, slope: Bounded, seconds: f64) -> Bounded {
        let (low, high) = self.room(slope.value, 0.0);
        let value = low.midpoint(high) + slope.value * seconds;
        let lowest = highest(slope.least, slope.most, |slope| -self.room(slope, seconds).0);
        let top = highest(slope.least, slope.most, |slope| self.room(slope, seconds).1);
        let least = self.room(lowest, seconds).0.min(value);
        Bounded { value, least, most: self.room(top, seconds).1.max(value) }
    }
}

/// Where a concave function is highest; in the middle where it is so over a range.
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
        // The rank of a quantile, from 1: at least so large a share is no greater.
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
