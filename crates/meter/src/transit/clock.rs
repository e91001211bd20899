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

mod wander;

use std::collections::BTreeMap;

/// No two clocks that work drift apart faster: 500 in a million.
pub const MOST_SKEW: f64 = 500e-6;
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
    /// From readings in the order of the near clock, whose stamps and those of the far one are rounded
    /// to steps of no more than this; nothing where there are none.
    #[must_use]
    pub fn of(readings: &[Reading], step_ns: u64) -> Option<Self> {
        let (first, last) = (readings.first()?, readings.last()?);
        let middle = first.near_ns.midpoint(last.near_ns);
        let base = first.difference_ns as f64;
        let sides = Sides::of(readings);
        let mut points = Vec::with_capacity(readings.len());
        let mut unplaced = 0;
        for reading in readings {
            let Some(is_back) = sides.is_back(reading.ends) else {
                unplaced += 1;
                continue;
            };
            points.push(Point {
                seconds: (reading.near_ns.cast_signed() - middle.cast_signed()) as f64 / 1e9,
                nanos: (reading.difference_ns - first.difference_ns) as f64,
                is_back,
            });
        }
        let way =
            |is_back| points.iter().filter(|point| point.is_back == is_back).copied().collect();
        let ways: [Vec<Point>; 2] = [way(false), way(true)];
        let corridor = Corridor { there: &ways[0], back: &ways[1], step_ns: step_ns as f64 };
        let half = (last.near_ns - first.near_ns) as f64 / 2e9;
        let clocks = match corridor.slope() {
            None => Self::one_way(&ways),
            Some(skew) if corridor.width(skew.value) >= 0.0 => Self::steady(&corridor, skew, half),
            Some(_) => Self::changing(&points, step_ns as f64, middle),
        };
        let offset_ns = clocks.offset_ns.map(|Bounded { value, least, most }| {
            let [value, least, most] = [value, least, most].map(|nanos| nanos + base);
            Bounded { value, least, most }
        });
        Some(Self { offset_ns, unplaced, ..clocks })
    }

    fn untold(course: Course, ways: [Option<Way>; 2]) -> Self {
        Self { offset_ns: None, course, skew: None, error_ns: None, unplaced: 0, ways }
    }

    /// Nothing went the other way.
    fn one_way(ways: &[Vec<Point>; 2]) -> Self {
        Self::untold(Course::Steady, ways.each_ref().map(|way| beyond_the_fastest(way)))
    }

    /// The skew is the same for half of the time from the middle on, and before.
    fn steady(corridor: &Corridor<'_>, skew: Bounded, half: f64) -> Self {
        let offset = corridor.offset(skew, 0.0);
        let of = |points: &[Point], sign: f64| {
            let at =
                |point: &Point| sign * (point.nanos - offset.value - skew.value * point.seconds);
            Way::of(points.iter().map(at).collect())
        };
        // Bounds are widest at one of the ends.
        let error_at = |seconds| {
            let Bounded { value, least, most } = corridor.offset(skew, seconds);
            (most - value).max(value - least)
        };
        let error_ns = [-half, 0.0, half].map(error_at).into_iter().fold(0.0, f64::max);
        Self {
            offset_ns: Some(offset),
            skew: Some(skew.over(1e9)),
            error_ns: Some(error_ns),
            ways: [of(corridor.there, 1.0), of(corridor.back, -1.0)],
            ..Self::untold(Course::Steady, [None; 2])
        }
    }

    /// The skew changes.
    fn changing(points: &[Point], step_ns: f64, middle: u64) -> Self {
        let offsets = match wander::offsets(points, MOST_SKEW * 1e9, step_ns) {
            Ok(offsets) => offsets,
            Err(seconds) => {
                let near_ns = middle.saturating_add_signed((seconds * 1e9) as i64);
                return Self::untold(Course::Broken { near_ns }, [None; 2]);
            }
        };
        let of = |is_back: bool| {
            let both = points.iter().zip(&offsets).filter(|(point, _)| point.is_back == is_back);
            let transit = |(point, offset): (&Point, &Bounded)| (point.nanos - offset.value).abs();
            Way::of(both.map(transit).collect())
        };
        let error = |offset: &Bounded| offset.most - offset.value;
        let at_middle = points.partition_point(|point| point.seconds < 0.0);
        Self {
            offset_ns: offsets.get(at_middle).copied(),
            skew: wander::average_skew(points, &offsets).map(|skew| skew.over(1e9)),
            error_ns: offsets.iter().map(error).max_by(f64::total_cmp),
            ways: [of(false), of(true)],
            ..Self::untold(Course::Changing, [None; 2])
        }
    }
}

impl Bounded {
    fn over(self, divisor: f64) -> Self {
        let Self { value, least, most } = self;
        let [value, least, most] = [value, least, most].map(|part| part / divisor);
        Self { value, least, most }
    }
}

impl Clocks {
    /// From readings of one clock; nothing where there are none.
    #[must_use]
    pub fn of_one(readings: &[Reading]) -> Option<Self> {
        let mut ways: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
        for Reading { difference_ns, .. } in readings {
            ways[usize::from(*difference_ns < 0)].push(difference_ns.unsigned_abs() as f64);
        }
        let none = Some(Bounded { value: 0.0, least: 0.0, most: 0.0 });
        let ways = ways.map(Way::of);
        let is_none = ways == [None; 2];
        let clocks = Self::untold(Course::Steady, ways);
        let clocks = Self { offset_ns: none, skew: none, error_ns: Some(0.0), ..clocks };
        (!is_none).then_some(clocks)
    }
}

/// A reading, as seconds from the middle and nanoseconds from the first.
#[derive(Clone, Copy, Debug)]
struct Point {
    seconds: f64,
    nanos: f64,
    /// Whether it is of a TPDU that passed the far tap first.
    is_back: bool,
}

/// Which hosts are at which tap.
struct Sides {
    /// Whether a host is at the far tap.
    is_far: BTreeMap<u32, bool>,
    /// Of whom to go by where nobody heard an answer: who sent the first TPDU to whom.
    first: Option<[u32; 2]>,
}

impl Sides {
    /// Two hosts with TPDUs both ways tell their sides: of TPDUs that follow each other, the one that
    /// passes the near tap first has the greater reading, whatever the clocks do in the long run.
    fn of(readings: &[Reading]) -> Self {
        let mut latest: BTreeMap<[u32; 2], i64> = BTreeMap::new();
        let mut votes: BTreeMap<[u32; 2], i64> = BTreeMap::new();
        for Reading { ends: [from, to], difference_ns, .. } in readings {
            if let Some(other) = latest.get(&[*to, *from]) {
                let vote = (difference_ns - other).signum();
                let pair = [*from.min(to), *from.max(to)];
                *votes.entry(pair).or_default() += if from > to { -vote } else { vote };
            }
            latest.insert([*from, *to], *difference_ns);
        }
        let mut is_far = BTreeMap::new();
        for ([a, b], vote) in votes {
            if vote != 0 {
                is_far.entry(a).or_insert(vote < 0);
                is_far.entry(b).or_insert(vote > 0);
            }
        }
        let first = readings.first().map(|reading| reading.ends).filter(|_| is_far.is_empty());
        Self { is_far, first }
    }

    /// Whether what goes between these passes the far tap first; nothing where that is not known.
    fn is_back(&self, [from, to]: [u32; 2]) -> Option<bool> {
        let of_sender = self.is_far.get(&from).copied();
        let of_receiver = self.is_far.get(&to).map(|is_far| !is_far);
        of_sender.or(of_receiver).or((self.first == Some([from, to])).then_some(false))
    }
}

/// The lines that lie below all readings there and above all readings back.
struct Corridor<'a> {
    there: &'a [Point],
    back: &'a [Point],
    /// By how much stamps may be rounded.
    step_ns: f64,
}

impl Corridor<'_> {
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

/// How much longer than the fastest each took.
fn beyond_the_fastest(points: &[Point]) -> Option<Way> {
    let fastest = points.iter().map(|point| point.nanos).min_by(f64::total_cmp)?;
    Way::of(points.iter().map(|point| point.nanos - fastest).collect())
}

impl Way {
    /// Nothing where there are none.
    fn of(mut nanos: Vec<f64>) -> Option<Self> {
        nanos.sort_by(f64::total_cmp);
        let count = nanos.len();
        // The rank of a quantile, from 1: at least so large a share is no greater.
        let quantile = |thousandths: usize| {
            let rank = (count * thousandths).div_ceil(1_000).max(1);
            nanos.get(rank - 1).map(|nanos| nanos.round() as i64)
        };
        let mean = nanos.iter().sum::<f64>() / count.max(1) as f64;
        Some(Self {
            count: count as u64,
            least_ns: quantile(0)?,
            mean_ns: mean.round() as i64,
            median_ns: quantile(500)?,
            p99_ns: quantile(990)?,
            most_ns: quantile(1_000)?,
        })
    }
}
