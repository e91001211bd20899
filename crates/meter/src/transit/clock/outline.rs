//! Convex hull of readings: the corners that bound them from below and from above.
//!
//! A straight line lies below all readings if it lies below all corners, and the extreme distances
//! of readings from a line are those of corners. So a line can be fitted to any number of readings,
//! with memory for the corners alone: some dozens for random delays.
//!
//! Left out: every second corner if there are more than [`MOST`], as for a clock that changes its
//! speed all the time. A bound then still holds, but may be wider than necessary.

use super::Reading;

/// Limit of corners on either side.
const MOST: usize = 1 << 12;

/// Corners of readings, in the order of the near clock.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Outline {
    lower: Vec<Reading>,
    upper: Vec<Reading>,
}

/// Side of a chain on which the readings are.
#[derive(Clone, Copy)]
enum Side {
    Above,
    Below,
}

impl Outline {
    /// Adds a reading that is not earlier than the previous one.
    pub(super) fn add(&mut self, reading: Reading) {
        extend(&mut self.lower, reading, Side::Above);
        extend(&mut self.upper, reading, Side::Below);
    }

    /// Adds all readings of another outline, of any time.
    pub(super) fn merge(&mut self, other: Self) {
        let merge = |chain: &mut Vec<Reading>, more: Vec<Reading>, side: Side| {
            let mut all = core::mem::take(chain);
            all.extend(more);
            all.sort_by_key(|reading| reading.near_ns);
            all.into_iter().for_each(|reading| extend(chain, reading, side));
        };
        merge(&mut self.lower, other.lower, Side::Above);
        merge(&mut self.upper, other.upper, Side::Below);
    }

    /// Corners below the readings.
    pub(super) fn lower(&self) -> &[Reading] {
        &self.lower
    }

    /// Corners above the readings.
    pub(super) fn upper(&self) -> &[Reading] {
        &self.upper
    }
}

/// Appends a reading to a chain, and removes points that are no corners any more.
fn extend(chain: &mut Vec<Reading>, reading: Reading, side: Side) {
    let is_beyond = |corner: &Reading| match side {
        Side::Above => reading.difference_ns < corner.difference_ns,
        Side::Below => reading.difference_ns > corner.difference_ns,
    };
    if chain.last().is_some_and(|last| last.near_ns == reading.near_ns && !is_beyond(last)) {
        return;
    }
    chain.pop_if(|last| last.near_ns == reading.near_ns);
    while let [.., before, last] = chain.as_slice()
        && !is_corner(before, last, &reading, side)
    {
        chain.pop();
    }
    chain.push(reading);
    if chain.len() > MOST {
        let mut place = 0;
        chain.retain(|_| {
            place += 1;
            place % 2 == 1 || place > MOST
        });
    }
}

/// True if the middle of three readings lies beyond the line through the others.
fn is_corner(first: &Reading, middle: &Reading, last: &Reading, side: Side) -> bool {
    let run = |to: &Reading| i128::from(to.near_ns) - i128::from(first.near_ns);
    let rise = |to: &Reading| i128::from(to.difference_ns) - i128::from(first.difference_ns);
    let turn = run(middle) * rise(last) - rise(middle) * run(last);
    match side {
        Side::Above => turn > 0,
        Side::Below => turn < 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Draw;

    fn reading(near_ns: u64, difference_ns: i64) -> Reading {
        Reading { near_ns, difference_ns, ends: [0, 1] }
    }

    fn of(mut readings: Vec<Reading>) -> Outline {
        readings.sort_by_key(|reading| reading.near_ns);
        let mut outline = Outline::default();
        readings.into_iter().for_each(|reading| outline.add(reading));
        outline
    }

    /// Minimum and maximum above a line through the origin.
    fn extremes(readings: &[Reading], slope: i64) -> Option<(i64, i64)> {
        let above = |reading: &Reading| reading.difference_ns - slope * reading.near_ns as i64;
        Some((readings.iter().map(above).min()?, readings.iter().map(above).max()?))
    }

    #[test]
    fn a_square_with_its_centre_has_four_corners() {
        let corners = [(0, 0), (0, 10), (10, 0), (10, 10)].map(|(x, y)| reading(x, y));
        let outline = of([&corners[..], &[reading(5, 5), reading(5, 0)]].concat());
        assert_eq!(outline.lower(), [corners[0], corners[2]]);
        assert_eq!(outline.upper(), [corners[1], corners[3]]);
    }

    #[test]
    fn corners_bound_every_line_as_all_readings_do() {
        for seed in 1..=200 {
            let mut draw = Draw(0x2026_1122 + seed);
            // Some of them at the same time, and some on a line.
            let [wide, high] = [draw.below(40), draw.below(60)].map(|most| u64::from(most) + 1);
            let count = draw.below(300) as usize + 1;
            let readings: Vec<_> = core::iter::repeat_with(|| {
                reading(draw.below(wide).into(), i64::from(draw.below(high)) - 20)
            })
            .take(count)
            .collect();
            let whole = of(readings.clone());
            let mut parts = Outline::default();
            readings.chunks(70).for_each(|part| parts.merge(of(part.to_vec())));
            assert_eq!(parts, whole, "seed {seed}");
            for slope in -30..=30 {
                let (least, most) = extremes(&readings, slope).unwrap();
                assert_eq!(extremes(whole.lower(), slope).unwrap().0, least, "seed {seed}");
                assert_eq!(extremes(whole.upper(), slope).unwrap().1, most, "seed {seed}");
            }
        }
    }

    #[test]
    fn the_number_of_corners_is_limited_and_all_are_readings() {
        let curve = |x: u64| reading(x, (x * x) as i64);
        let outline = of((0..20_000).map(curve).collect());
        assert!((MOST / 2..=MOST).contains(&outline.lower().len()));
        assert_eq!(outline.upper(), [curve(0), curve(19_999)]);
        assert!(outline.lower().iter().all(|corner| *corner == curve(corner.near_ns)));
        assert_eq!([outline.lower()[0], *outline.lower().last().unwrap()], [0, 19_999].map(curve));
    }

    #[test]
    fn stamps_at_the_ends_of_time_do_not_overflow() {
        let most = super::super::MOST_DIFFERENCE_NS;
        let far = [(0, most), (1, -most), (u64::MAX - 1, most), (u64::MAX, -most)];
        let outline = of(far.map(|(near, difference)| reading(near, difference)).to_vec());
        assert_eq!((outline.lower().len(), outline.upper().len()), (3, 3));
    }
}
