//! The greatest of many items, in bounded memory; the caller sums the rest.

/// Keeps the greatest `most` items; hands out the rest to be summed.
#[derive(Clone, Debug)]
pub(crate) struct Ranking<T> {
    kept: Vec<(u64, u64, T)>,
    most: usize,
    /// Insertion counter; breaks ties in favour of the first.
    order: u64,
}

impl<T> Ranking<T> {
    /// Creates a ranking of the greatest `most` items.
    pub(crate) const fn new(most: usize) -> Self {
        Self { kept: Vec::new(), most, order: 0 }
    }

    /// Inserts an item, and passes items that are no longer among the greatest to `rest`.
    pub(crate) fn put(&mut self, size: u64, thing: T, rest: impl FnMut(T)) {
        self.kept.push((u64::MAX - size, self.order, thing));
        self.order += 1;
        if self.kept.len() > 2 * self.most + 64 {
            self.cut(rest);
        }
    }

    fn cut(&mut self, mut rest: impl FnMut(T)) {
        self.kept.sort_by_key(|(size, order, _)| (*size, *order));
        let most = self.most.min(self.kept.len());
        self.kept.drain(most..).for_each(|(_, _, thing)| rest(thing));
    }

    /// Returns the greatest items in order.
    pub(crate) fn finish(mut self, rest: impl FnMut(T)) -> Vec<T> {
        self.cut(rest);
        self.kept.into_iter().map(|(_, _, thing)| thing).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greatest_are_kept_in_order_and_nothing_is_lost() {
        let (mut ranking, mut rest) = (Ranking::new(3), Vec::new());
        // 0, 7, 14, ... modulo 1,000 gives each number below 1,000 once.
        (0..1_000).map(|n| n * 7 % 1_000).for_each(|n| ranking.put(n, n, |n| rest.push(n)));
        let kept = ranking.finish(|n| rest.push(n));
        assert_eq!(kept, [999, 998, 997]);
        rest.sort_unstable();
        assert!(rest.iter().copied().eq(0..997));
    }
}
