//! Readings in bounded memory.
//!
//! For each direction the count, the sums and the [`Outline`] are kept; they give offset, skew,
//! error, and the minimum, maximum and mean transit of all readings. Quantiles are those of the
//! readings kept one by one: all up to a limit, then a half, a quarter and so on. The sample is
//! chosen by a hash of the stamps alone, so that no rhythm of the traffic is preferred.
//!
//! Bias: if a clock changes its speed, all transits are computed from the readings kept one by one,
//! and, beyond the limit, the corners of the outline; the bounds are then wider than necessary.

use super::outline::Outline;
use super::sides::{Placed, Sides};
use super::{Clocks, Corridor, MOST_DIFFERENCE_NS, Origin, Reading, Shape};

/// Method that finds the tap passed first.
#[derive(Clone, Debug)]
pub(super) enum Placing {
    /// Two clocks: sender and receiver.
    BySides(Sides),
    /// One clock: a TPDU that passed the far tap first has a negative difference.
    BySign,
}

/// Readings of one direction.
#[derive(Clone, Debug, Default)]
pub(super) struct Gathered {
    pub(super) count: u64,
    /// Sums of near stamps and of differences.
    near_sum: i128,
    difference_sum: i128,
    pub(super) outline: Outline,
}

impl Gathered {
    /// Mean of the stamps, and mean of the differences.
    pub(super) fn means(&self, origin: &Origin) -> (f64, f64) {
        let count = i128::from(self.count.max(1));
        let mean = |sum: i128, from: i128| (sum - from * count) as f64 / count as f64;
        let seconds = mean(self.near_sum, i128::from(origin.near_ns)) / 1e9;
        (seconds, mean(self.difference_sum, i128::from(origin.difference_ns)))
    }
}

/// Readings; a limited number is kept one by one.
#[derive(Clone, Debug)]
pub struct Readings {
    placing: Placing,
    kept: Vec<Reading>,
    /// Number of readings at the front that are gathered.
    gathered: usize,
    limit: usize,
    /// Number of times that the sample was halved.
    halvings: u32,
    dropped: u64,
    unplaced: u64,
    ways: [Gathered; 2],
    /// First and last near stamp of all, and the difference of the first.
    span: Option<(Reading, u64)>,
}

impl Readings {
    /// No readings, with a clock at each tap.
    #[must_use]
    pub fn of_two(limit: usize) -> Self {
        Self::new(Placing::BySides(Sides::default()), limit)
    }

    /// No readings, with one clock for both taps.
    #[must_use]
    pub fn of_one(limit: usize) -> Self {
        Self::new(Placing::BySign, limit)
    }

    fn new(placing: Placing, limit: usize) -> Self {
        Self {
            placing,
            kept: Vec::new(),
            gathered: 0,
            limit: limit.max(2),
            halvings: 0,
            dropped: 0,
            unplaced: 0,
            ways: Default::default(),
            span: None,
        }
    }

    /// Adds a reading.
    pub fn push(&mut self, reading: Reading) {
        let most = MOST_DIFFERENCE_NS;
        let difference_ns = reading.difference_ns.clamp(-most, most);
        self.kept.push(Reading { difference_ns, ..reading });
        if self.kept.len() >= self.limit {
            self.gather();
            while self.kept.len() > self.limit / 2 {
                self.halve();
            }
            self.gathered = self.kept.len();
        }
    }

    /// Number of readings not kept one by one.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Number of readings kept one by one.
    #[must_use]
    pub const fn kept_one_by_one(&self) -> usize {
        self.kept.len()
    }

    /// Drops about every second reading.
    fn halve(&mut self) {
        self.halvings += 1;
        let (before, halvings) = (self.kept.len(), self.halvings);
        self.kept.retain(|reading| halvings < u64::BITS && mixed(reading) >> (64 - halvings) == 0);
        self.dropped += (before - self.kept.len()) as u64;
    }

    /// Gathers the readings since the last call, and drops those without a direction.
    fn gather(&mut self) {
        let Some(fresh) = self.kept.get_mut(self.gathered..) else { return };
        fresh.sort_unstable_by_key(|reading| (reading.near_ns, reading.difference_ns));
        let (Some(first), Some(last)) = (fresh.first(), fresh.last()) else { return };
        let (earliest, latest) = self.span.unwrap_or((*first, last.near_ns));
        let earliest = if first.near_ns < earliest.near_ns { *first } else { earliest };
        self.span = Some((earliest, latest.max(last.near_ns)));
        if let Placing::BySides(sides) = &mut self.placing {
            match sides.learn(fresh) {
                Placed::Right => {}
                Placed::Wrong => self.ways.swap(0, 1),
                Placed::Untold => self.displace(),
            }
        }
        let mut outlines: [Outline; 2] = Default::default();
        let (mut place, before) = (0, self.kept.len());
        self.kept.retain(|reading| {
            place += 1;
            if place <= self.gathered {
                return true;
            }
            let Some(is_back) = is_back(&self.placing, reading) else { return false };
            let way = usize::from(is_back);
            self.ways[way].count += 1;
            self.ways[way].near_sum += i128::from(reading.near_ns);
            self.ways[way].difference_sum += i128::from(reading.difference_ns);
            outlines[way].add(*reading);
            true
        });
        self.unplaced += (before - self.kept.len()) as u64;
        self.gathered = self.kept.len();
        for (way, outline) in self.ways.iter_mut().zip(outlines) {
            way.outline.merge(outline);
        }
    }

    /// Drops all gathered readings, whose directions proved unknown.
    fn displace(&mut self) {
        let ways = core::mem::take(&mut self.ways);
        self.unplaced += ways.iter().map(|way| way.count).sum::<u64>();
        self.kept.drain(..self.gathered);
        self.gathered = 0;
    }

    /// Clocks and transits, if stamps are rounded to steps of at most `step_ns`; none without
    /// readings.
    #[must_use]
    pub fn tell(mut self, step_ns: u64) -> Option<Clocks> {
        self.gather();
        let (earliest, latest) = self.span?;
        let middle = earliest.near_ns.midpoint(latest);
        let half = (latest - earliest.near_ns) as f64 / 2e9;
        let origin = match self.placing {
            Placing::BySides(_) => Origin { near_ns: middle, ..Origin::of(&earliest) },
            Placing::BySign => Origin { near_ns: middle, difference_ns: 0 },
        };
        let clocks = match self.placing {
            Placing::BySign => Clocks::of_one(&self, &origin),
            Placing::BySides(_) => {
                let corridor = Corridor::of(&self.ways, &origin, step_ns);
                match corridor.slope() {
                    None => Clocks::one_way(&self, &origin),
                    Some(skew) if corridor.width(skew.value) >= 0.0 => {
                        Clocks::steady(&self, &origin, &corridor, skew, half)
                    }
                    Some(_) => {
                        self.keep_corners();
                        Clocks::changing(&self, &origin, step_ns)
                    }
                }
            }
        };
        Some(Clocks { unplaced: self.unplaced, ..clocks })
    }

    /// If readings were dropped, adds the corners to those kept, in the order of the near clock.
    fn keep_corners(&mut self) {
        if self.halvings == 0 {
            return;
        }
        for Gathered { outline, .. } in &self.ways {
            self.kept.extend(outline.lower());
            self.kept.extend(outline.upper());
        }
        self.kept.sort_unstable_by_key(|reading| (reading.near_ns, reading.difference_ns));
    }

    /// Readings kept one by one, of both directions.
    #[cfg(test)]
    pub(crate) fn all(&self) -> &[Reading] {
        &self.kept
    }

    /// Readings kept one by one.
    pub(super) fn kept(&self) -> &[Reading] {
        &self.kept
    }

    /// True if a kept reading is of a TPDU that passed the far tap first.
    pub(super) fn is_back(&self, reading: &Reading) -> bool {
        is_back(&self.placing, reading).unwrap_or(false)
    }

    pub(super) const fn ways(&self) -> &[Gathered; 2] {
        &self.ways
    }

    /// Transits of a direction; `transit` is the distance of a reading from the line.
    pub(super) fn shape(&self, is_back: bool, transit: impl Fn(&Reading) -> f64) -> Option<Shape> {
        let Gathered { count, outline, .. } = &self.ways[usize::from(is_back)];
        let corners = || outline.lower().iter().chain(outline.upper()).map(&transit);
        let of_way = self.kept.iter().filter(|reading| self.is_back(reading) == is_back);
        let mut nanos: Vec<f64> = of_way.map(&transit).collect();
        if nanos.is_empty() {
            nanos = corners().collect();
        }
        let least = corners().min_by(f64::total_cmp)?;
        let most = corners().max_by(f64::total_cmp)?;
        Some(Shape { count: *count, least, most, nanos })
    }
}

fn is_back(placing: &Placing, reading: &Reading) -> Option<bool> {
    match placing {
        Placing::BySides(sides) => sides.is_back(reading.ends),
        Placing::BySign => Some(reading.difference_ns < 0),
    }
}

/// Hash in which every bit of the stamps takes part (the finish of splitmix64, Steele, Lea and
/// Flood 2014).
const fn mixed(reading: &Reading) -> u64 {
    let word = reading.near_ns ^ reading.difference_ns.cast_unsigned().rotate_left(32);
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transit::clock::{Course, Way};

    /// A request forward each millisecond and its reply back: the far clock is 7 ms ahead and 30 in
    /// a million faster. Forward 100 us and up to 99 us more, back 50 us and up to 58 us more.
    fn traffic(turns: u64) -> Vec<Reading> {
        let ahead = |near: i64| 7_000_000 + near * 3 / 100_000;
        (0..turns)
            .flat_map(|turn| {
                let [there, back] =
                    [100 + turn * 37 % 100, 50 + turn * 11 % 59].map(|us| us * 1_000);
                let near = turn * 1_000_000;
                let later = near + 400_000;
                let reading = |near_ns: u64, transit: i64, ends| Reading {
                    near_ns,
                    difference_ns: ahead(near_ns as i64) + transit,
                    ends,
                };
                [reading(near, there as i64, [1, 2]), reading(later, -(back as i64), [2, 1])]
            })
            .collect()
    }

    fn measured(readings: &[Reading], limit: usize) -> (Clocks, u64) {
        let mut all = Readings::of_two(limit);
        for reading in readings {
            all.push(*reading);
            assert!(all.kept.len() < limit);
        }
        let dropped = all.dropped();
        (all.tell(1).unwrap(), dropped)
    }

    #[test]
    fn beyond_the_limit_only_quantiles_are_of_a_sample() {
        let readings = traffic(20_000);
        let (all, dropped) = measured(&readings, 1 << 20);
        let (some, more) = measured(&readings, 1_000);
        assert_eq!((dropped, all.course, some.course), (0, Course::Steady, Course::Steady));
        assert!((39_000..40_000).contains(&more), "{more}");
        assert_eq!(
            (some.offset_ns, some.skew, some.error_ns),
            (all.offset_ns, all.skew, all.error_ns)
        );
        for (all, some) in all.ways.into_iter().zip(some.ways) {
            let (all, some) = (all.unwrap(), some.unwrap());
            let Way { median_ns, p99_ns, .. } = all;
            assert_eq!(Way { median_ns, p99_ns, ..some }, all);
            // Some 400 a direction: the share below the estimated median has a deviation of 2.5 %,
            // and transits are spread evenly over 100 us at most.
            assert!((median_ns - some.median_ns).abs() < 10_000, "{all:?} {some:?}");
            assert!((p99_ns - some.p99_ns).abs() < 3_000, "{all:?} {some:?}");
        }
    }

    #[test]
    fn the_sample_of_periodic_traffic_is_fair() {
        let mut all = Readings::of_two(4_096);
        traffic(60_000).into_iter().for_each(|reading| all.push(reading));
        all.gather();
        let back = all.kept.iter().filter(|reading| all.is_back(reading)).count();
        // Half of them, with a deviation of at most 32.
        let half = all.kept.len() / 2;
        assert!(back.abs_diff(half) < 130, "{back} of {}", all.kept.len());
    }

    #[test]
    fn dropped_readings_without_a_direction_are_counted() {
        let mut readings = traffic(600);
        readings.extend((0..50).map(|turn| Reading {
            near_ns: turn,
            difference_ns: 5,
            ends: [8, 9],
        }));
        let (clocks, _) = measured(&readings, 400);
        assert_eq!(clocks.unplaced, 50);
        assert_eq!(clocks.ways.map(|way| way.unwrap().count), [600, 600]);
    }

    #[test]
    fn a_guessed_direction_is_dropped_once_others_are_known() {
        // 9 to 8 passes the far tap first, which is unknown because nothing is answered: 1 ms back,
        // of clocks that differ by 7 ms. Beyond the limit it is gathered before any other reading.
        let alone =
            (0..40).map(|turn| Reading { near_ns: turn, difference_ns: 6_000_000, ends: [9, 8] });
        let readings: Vec<_> = alone.chain(traffic(600)).collect();
        for limit in [16, 400, 1 << 20] {
            let (clocks, _) = measured(&readings, limit);
            assert_eq!(clocks.unplaced, 40);
            assert_eq!(clocks.ways.map(|way| way.unwrap().count), [600, 600]);
            let offset = clocks.offset_ns.unwrap();
            // 30 in a million of 0.3 s in the middle.
            assert!(offset.least <= 7_009_000.0 && 7_009_000.0 <= offset.most, "{offset:?}");
        }
    }

    #[test]
    fn a_changing_clock_is_estimated_from_the_sample() {
        // 30 in a million faster, and slower by 470 from the middle on.
        let mut readings = traffic(40_000);
        let turn = 20_000_000_000;
        for reading in &mut readings {
            let beyond = reading.near_ns.saturating_sub(turn) as i64;
            reading.difference_ns -= beyond / 2_000;
        }
        let (clocks, dropped) = measured(&readings, 4_000);
        assert_eq!(clocks.course, Course::Changing);
        assert!(dropped > 70_000);
        // 7 ms and 600 us in the middle.
        let offset = clocks.offset_ns.unwrap();
        assert!(offset.least <= 7_600_000.0 && 7_600_000.0 <= offset.most, "{offset:?}");
        let error = clocks.error_ns.unwrap();
        let [there, back] = clocks.ways.map(Option::unwrap);
        // 149.5 us and 79 us on average.
        assert!((there.mean_ns as f64 - 149_500.0).abs() <= error, "{there:?} {error}");
        assert!((back.mean_ns as f64 - 79_000.0).abs() <= error, "{back:?} {error}");
        assert_eq!([there.count, back.count], [40_000; 2]);
    }

    #[test]
    fn no_stamps_make_it_panic() {
        let mut readings = Readings::of_two(8);
        for (near_ns, difference_ns) in [(0, i64::MAX), (u64::MAX, i64::MIN), (1, 0), (u64::MAX, 0)]
        {
            readings.push(Reading { near_ns, difference_ns, ends: [0, 1] });
            readings.push(Reading { near_ns, difference_ns, ends: [1, 0] });
        }
        assert!(readings.tell(1).is_some());
        assert_eq!(Readings::of_two(8).tell(1), None);
    }
}
