//! Memo of a slow function: a report of many flows needs the same quantiles again and again.

/// Number of results kept.
const CAPACITY: usize = 64;

/// The latest results of a function, by its arguments. Results are those of the function.
#[derive(Debug)]
pub(crate) struct Memo<const N: usize, T> {
    results: Vec<([u64; N], T)>,
    /// Result replaced next.
    oldest: usize,
}

impl<const N: usize, T: Copy> Memo<N, T> {
    pub(crate) const fn new() -> Self {
        Self { results: Vec::new(), oldest: 0 }
    }

    /// Result for these arguments, computed unless it is known.
    pub(crate) fn value(&mut self, arguments: [u64; N], compute: impl FnOnce() -> T) -> T {
        if let Some((_, known)) = self.results.iter().find(|(known, _)| *known == arguments) {
            return *known;
        }
        let value = compute();
        if self.results.len() < CAPACITY {
            self.results.push((arguments, value));
        } else {
            self.results[self.oldest] = (arguments, value);
            self.oldest = (self.oldest + 1) % CAPACITY;
        }
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_known_result_is_not_computed_again() {
        let computed = Cell::new(0);
        let mut memo = Memo::new();
        let mut square = |x: u64| {
            memo.value([x], || {
                computed.set(computed.get() + 1);
                x * x
            })
        };
        assert_eq!([3, 4, 3, 4].map(&mut square), [9, 16, 9, 16]);
        assert_eq!(computed.get(), 2);
        // More than are kept: the first are computed once more.
        (100..200).for_each(|x| assert_eq!(square(x), x * x));
        assert_eq!([square(3), square(199)], [9, 199 * 199]);
        assert_eq!(computed.get(), 2 + 100 + 1);
        assert_eq!(memo.results.len(), CAPACITY);
    }
}
