//! Sums over kinds of TPDUs, and addresses shortened to a number of columns.

use super::{Counts, sum};
use meter::registry::{KindCount, Measure};

/// Returns the number of TPDUs of all kinds in these values.
pub fn tpdus(values: &Counts) -> u64 {
    of_all_kinds(values, KindCount::Tpdus)
}

/// Sums a count over all kinds of TPDUs.
pub fn of_all_kinds(values: &Counts, count: KindCount) -> u64 {
    let is_wanted = |measure: &Measure| matches!(measure, Measure::OfKind(_, of) if *of == count);
    sum(values.0.iter().filter(|(measure, _)| is_wanted(measure)).map(|(_, value)| *value))
}

/// Shortens a text to `columns`, keeping its front and its back.
pub fn shortened(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.to_owned();
    }
    let half = columns.saturating_sub(2) / 2;
    let front: String = text.chars().take(half).collect();
    let back: String = text.chars().skip(text.chars().count() - half).collect();
    format!("{front}..{back}")
}

/// Formats the two ends of a connection in `columns` columns: of each its back, which distinguishes
/// addresses better than the front.
pub fn shortened_ends<T: AsRef<str>>([from, to]: &[T; 2], columns: usize) -> String {
    let (from, to) = (from.as_ref(), to.as_ref());
    if from.chars().count() + to.chars().count() < columns {
        return format!("{from}>{to}");
    }
    let half = columns.saturating_sub(1) / 2;
    format!("{}>{}", back(from, half), back(to, half))
}

/// Returns the back of an address.
pub fn back(address: &str, columns: usize) -> String {
    let count = address.chars().count();
    if count <= columns {
        return address.to_owned();
    }
    let kept: String = address.chars().skip(count + 2 - columns.max(2)).collect();
    format!("..{kept}")
}

/// Returns true if a name matches a pattern: its parts in order, the first and the last at the
/// ends.
pub fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(first) else { return false };
    let (middle, last) = rest.rsplit_once('*').unwrap_or(("", rest));
    for part in middle.split('*') {
        let Some(at) = name.find(part) else { return false };
        name = name.get(at + part.len()..).unwrap_or_default();
    }
    name.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_ends_the_backs_are_kept() {
        let ends = ["02:00:00:00:00:01", "02:00:00:00:00:02"].map(str::to_owned);
        assert_eq!(shortened_ends(&ends, 35), "02:00:00:00:00:01>02:00:00:00:00:02");
        // Nine columns each: two dots and seven letters.
        assert_eq!(shortened_ends(&ends, 19), "..0:00:01>..0:00:02");
        let uneven = ["10.0.0.1:1025", "a"].map(str::to_owned);
        assert_eq!(shortened_ends(&uneven, 15), "10.0.0.1:1025>a");
    }
}
