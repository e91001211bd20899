//! Our result for a published figure: a value and its interval.

/// Value with its interval, and the number of observations behind it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Value {
    /// The value, in the unit of its claim.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Observations behind it; 0 if it is computed or read from the program.
    pub observations: u64,
}

/// Meaning of the interval of our result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Spread {
    /// The mean of all runs lies in it with a confidence of 95 %.
    Mean,
    /// 90 % of single runs fall in it.
    SingleRuns,
}

impl Value {
    /// Value without spread.
    #[must_use]
    pub const fn exact(value: f64) -> Self {
        Self { value, low: value, high: value, observations: 0 }
    }

    /// Interval from the least low to the greatest high of all, with the value of the first.
    #[must_use]
    pub fn hull(all: &[Self]) -> Option<Self> {
        let low = all.iter().map(|found| found.low).min_by(f64::total_cmp)?;
        let high = all.iter().map(|found| found.high).max_by(f64::total_cmp)?;
        let observations = all.iter().map(|found| found.observations).sum();
        Some(Self { low, high, observations, ..*all.first()? })
    }

    /// Product with an exact factor.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Self {
        let ends = [self.low * factor, self.high * factor];
        self.between(self.value * factor, ends)
    }

    /// Reciprocal; `None` if the value may be zero.
    #[must_use]
    pub fn reciprocal(self) -> Option<Self> {
        let has_zero = self.low <= 0.0 && self.high >= 0.0;
        (!has_zero).then(|| self.between(self.value.recip(), [self.low.recip(), self.high.recip()]))
    }

    /// Sum. Intervals add up, as if both errors had the same sign.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            value: self.value + other.value,
            low: self.low + other.low,
            high: self.high + other.high,
            observations: self.observations + other.observations,
        }
    }

    /// Difference. Intervals add up, as if both errors had opposite signs.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        self.plus(other.scaled(-1.0))
    }

    /// Quotient of two positive quantities; `None` if the divisor may be zero.
    #[must_use]
    pub fn over(self, other: Self) -> Option<Self> {
        let inverse = other.reciprocal()?;
        let ends = [self.low * inverse.low, self.high * inverse.high];
        let observations = self.observations + other.observations;
        Some(Self { observations, ..self.between(self.value * inverse.value, ends) })
    }

    fn between(self, value: f64, ends: [f64; 2]) -> Self {
        let [first, second] = ends;
        Self {
            value,
            low: first.min(second),
            high: first.max(second),
            observations: self.observations,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FOUR: Value = Value { value: 4.0, low: 3.0, high: 5.0, observations: 10 };
    const TWO: Value = Value { value: 2.0, low: 1.0, high: 2.5, observations: 5 };

    #[test]
    fn intervals_are_never_narrower_than_their_inputs() {
        let is = |value, low, high| Value { value, low, high, observations: 15 };
        assert_eq!(FOUR.plus(TWO), is(6.0, 4.0, 7.5));
        assert_eq!(FOUR.minus(TWO), is(2.0, 0.5, 4.0));
        // 3/2.5 and 5/1.
        assert_eq!(FOUR.over(TWO), Some(is(2.0, 1.2000000000000002, 5.0)));
    }

    #[test]
    fn a_divisor_that_may_be_zero_gives_no_quotient() {
        let about_zero = Value { low: -0.1, ..TWO };
        assert_eq!((about_zero.reciprocal(), FOUR.over(about_zero)), (None, None));
        assert_eq!(Value::exact(0.25).reciprocal(), Some(Value::exact(4.0)));
    }

    #[test]
    fn several_models_that_fit_give_a_band_around_the_first() {
        let band = Value { value: 4.0, low: 1.0, high: 5.0, observations: 15 };
        assert_eq!(Value::hull(&[FOUR, TWO]), Some(band));
        assert_eq!(Value::hull(&[FOUR]), Some(FOUR));
        assert_eq!(Value::hull(&[]), None);
    }
}
