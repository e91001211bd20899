//! The course of things from the beginning to now, in so many moments: where they become too many, two
//! of them become one, which has the greater of each.

/// Moments kept at the most; half as many after two have become one.
const MOMENTS: usize = 600;

/// One moment in the course of things: the greatest of one report or of several.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Moment {
    pub(super) tpdus_per_second: f64,
    pub(super) again_per_second: f64,
}

impl Moment {
    fn max(self, other: Self) -> Self {
        Self {
            tpdus_per_second: self.tpdus_per_second.max(other.tpdus_per_second),
            again_per_second: self.again_per_second.max(other.again_per_second),
        }
    }
}

/// The course of things.
#[derive(Clone, Debug)]
pub(super) struct Course {
    moments: Vec<Moment>,
    /// How many reports a moment stands for, and the last for so far.
    reports: u64,
    in_last: u64,
}

impl Course {
    pub(super) const fn new() -> Self {
        Self { moments: Vec::new(), reports: 1, in_last: 0 }
    }

    /// Adds a report.
    pub(super) fn push(&mut self, report: Moment) {
        if let Some(last) = self.moments.last_mut().filter(|_| self.in_last < self.reports) {
            *last = last.max(report);
            self.in_last += 1;
            return;
        }
        if self.moments.len() == MOMENTS {
            let pairs = self.moments.chunks(2);
            self.moments = pairs
                .map(|pair| pair.iter().copied().fold(Moment::default(), Moment::max))
                .collect();
            self.reports *= 2;
        }
        self.moments.push(report);
        self.in_last = 1;
    }

    /// Moments from the beginning to now.
    pub(super) fn moments(&self) -> &[Moment] {
        &self.moments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_course_reaches_back_to_its_beginning_and_keeps_what_is_greatest() {
        let mut course = Course::new();
        for report in 0..5_000_u32 {
            let again_per_second = if report == 3 { 7.0 } else { 0.0 };
            course.push(Moment { tpdus_per_second: f64::from(report), again_per_second });
        }
        // 600, 1,200, 2,400 and 4,800 reports are as many as there is room for by then: a moment stands
        // for 16 in the end, and 5,000 are 312 times 16 and 8 more.
        let moments = course.moments();
        assert_eq!((moments.len(), course.reports, course.in_last), (313, 16, 8));
        assert_eq!(moments[0], Moment { tpdus_per_second: 15.0, again_per_second: 7.0 });
        assert_eq!(moments[311].tpdus_per_second, 4_991.0);
        assert_eq!(moments[312].tpdus_per_second, 4_999.0);
        assert!(moments[1..].iter().all(|moment| moment.again_per_second == 0.0));
    }
}
