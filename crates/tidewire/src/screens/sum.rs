//! Adding up named values of several intervals.

use crate::stream::{Named, is_greatest};

/// Names kept: a meter has some hundred.
const NAMES: usize = 4_096;

/// How values of two times make one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rule {
    Add,
    Greater,
    Less,
    Later,
    /// A quantile of both cannot be told from the quantiles of each.
    Nothing,
}

fn rule(name: &str) -> Rule {
    if name.ends_with("_so_far_ns") || name.ends_with("_so_far") {
        Rule::Later
    } else if name.ends_with("_p50_ns") || name.ends_with("_p99_ns") {
        Rule::Nothing
    } else if is_greatest(name) {
        Rule::Greater
    } else if name.ends_with("_min_ns") {
        Rule::Less
    } else if name.ends_with("_number") || name.ends_with("_since_ns") {
        Rule::Later
    } else {
        Rule::Add
    }
}

/// Adds the values of a later time.
pub(super) fn add(sum: &mut Named<u64>, more: &Named<u64>) {
    if sum.0.is_empty() {
        sum.clone_from(more);
        return;
    }
    sum.0.retain(|(name, _)| !matches!(rule(name), Rule::Later | Rule::Nothing));
    for (place, (name, value)) in more.0.iter().enumerate() {
        let rule = rule(name);
        if rule == Rule::Nothing {
            continue;
        }
        // Most lists have the same names in the same places.
        let at = sum.0.get(place).filter(|(known, _)| known == name).map(|_| place);
        let at = at.or_else(|| sum.0.iter().position(|(known, _)| known == name));
        let known = sum.0.len();
        match at.and_then(|at| sum.0.get_mut(at)) {
            None if known < NAMES => sum.0.push((name.clone(), *value)),
            None => {}
            Some((_, known)) => match rule {
                Rule::Add => *known = known.saturating_add(*value),
                Rule::Greater => *known = (*known).max(*value),
                // Nothing has no least, and is told as zero.
                Rule::Less if *known == 0 || *value == 0 => *known = (*known).max(*value),
                Rule::Less => *known = (*known).min(*value),
                Rule::Later | Rule::Nothing => *known = *value,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(values: &[(&'static str, u64)]) -> Named<u64> {
        Named(values.iter().map(|(name, value)| ((*name).into(), *value)).collect())
    }

    #[test]
    fn a_quantile_is_that_of_one_time_and_never_of_several() {
        let one = named(&[("ack_delay_p99_ns", 6), ("tpdus", 1)]);
        let mut sum = Named::default();
        add(&mut sum, &one);
        assert_eq!(sum, one);
        add(&mut sum, &one);
        assert_eq!(sum, named(&[("tpdus", 2)]));
    }

    #[test]
    fn values_are_added_or_compared_as_their_names_say() {
        let mut sum = named(&[("tpdus", 1), ("ack_delay_min_ns", 0), ("sent_number", 9)]);
        let one = [("tpdus", 2), ("ack_delay_min_ns", 5), ("ack_delay_max_ns", 7)];
        add(&mut sum, &named(&one));
        let other = [("ack_delay_max_ns", 6), ("ack_delay_min_ns", 8), ("ack_delay_p99_ns", 6)];
        add(&mut sum, &named(&other));
        let expected = [("tpdus", 3), ("ack_delay_min_ns", 5), ("ack_delay_max_ns", 7)];
        assert_eq!(sum, named(&expected), "a number that is not told any more is no longer known");
    }
}
