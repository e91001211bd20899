//! Rates over the whole measurement, in a bounded number of moments: when they become too many, two
//! neighbours merge into one with the greater value of each.

/// Maximum number of moments; merging halves it.
const MOMENTS: usize = 600;

/// One point of the course: the greatest rates of one or several reports.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Moment {
    /// End of the last of these reports, in nanoseconds since the first interval began.
    pub until_ns: u64,
    /// TPDUs per second.
    pub tpdus_per_second: f64,
    /// Retransmitted DTs per second.
    pub again_per_second: f64,
}

impl Moment {
    fn max(self, other: Self) -> Self {
        Self {
            until_ns: self.until_ns.max(other.until_ns),
            tpdus_per_second: self.tpdus_per_second.max(other.tpdus_per_second),
            again_per_second: self.again_per_second.max(other.again_per_second),
        }
    }
}

/// Rates over the whole measurement.
#[derive(Clone, Debug)]
pub struct Course {
    moments: Vec<Moment>,
    /// Number of reports that a moment stands for, and that the last moment holds so far.
    reports: u64,
    in_last: u64,
    /// Greatest rates of the last moment without its latest report.
    before_latest: Moment,
}

impl Course {
    /// Creates a course without moments.
    pub(crate) const fn new() -> Self {
        Self {
            moments: Vec::new(),
            reports: 1,
            in_last: 0,
            before_latest: Moment { until_ns: 0, tpdus_per_second: 0.0, again_per_second: 0.0 },
        }
    }

    /// Adds a report.
    pub fn push(&mut self, report: Moment) {
        if let Some(last) = self.moments.last_mut().filter(|_| self.in_last < self.reports) {
            self.before_latest = *last;
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
        self.before_latest = Moment::default();
        self.in_last = 1;
    }

    /// Replaces the latest report by one that ends earlier.
    pub(crate) fn shorten(&mut self, report: Moment) {
        if let Some(last) = self.moments.last_mut() {
            *last = self.before_latest.max(report);
        }
    }

    /// Returns the moments from the beginning to now.
    pub fn moments(&self) -> &[Moment] {
        &self.moments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_course_keeps_its_beginning_and_its_maxima() {
        let mut course = Course::new();
        for report in 0..5_000_u32 {
            let again_per_second = if report == 3 { 7.0 } else { 0.0 };
            course.push(Moment {
                until_ns: u64::from(report) + 1,
                tpdus_per_second: f64::from(report),
                again_per_second,
            });
        }
        // 600, 1,200, 2,400 and 4,800 reports fill the moments available by then: a moment finally
        // stands for 16 reports, and 5,000 are 312 times 16 and 8 more.
        let moments = course.moments();
        assert_eq!((moments.len(), course.reports, course.in_last), (313, 16, 8));
        let first = Moment { until_ns: 16, tpdus_per_second: 15.0, again_per_second: 7.0 };
        assert_eq!(moments[0], first);
        assert_eq!(moments[311].tpdus_per_second, 4_991.0);
        assert_eq!(moments[312].tpdus_per_second, 4_999.0);
        assert!(moments[1..].iter().all(|moment| moment.again_per_second == 0.0));
    }
}
