//! Results of a study in words: groups of flows, deadlines, differences of runs.

mod cells;
mod difference;
mod groups;
mod met;
mod notes;
mod order;

pub use cells::{because, bound, deadline, interval, quantile, share, spans, told, verdict};
pub use difference::{apart, paired, shown};
pub use groups::{Ranked, Summed, lines, over_points, ranked, summed};
pub use met::Met;
pub use notes::notes;
pub use order::{TOP, clearest, differing, worst_first};

use crate::document::{Grade, Verdict};
use crate::text::Text;
use bench::verdict::Verdict as Decided;
use std::collections::BTreeMap;

/// Confidence level of all intervals.
pub const LEVEL: f64 = 0.95;

/// Settings of a point, in one line.
#[must_use]
pub fn settings(settings: &BTreeMap<String, String>) -> String {
    let pairs: Vec<String> =
        settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    if pairs.is_empty() { "as the scenario says".to_owned() } else { pairs.join(", ") }
}

/// Verdict on requirements: the number of all, of those that failed, and of those that are not decided. `first` describes
/// the first requirement with a verdict.
#[must_use]
pub fn verdict_words([of, failed, open]: [usize; 3], first: &dyn Fn(Decided) -> String) -> Verdict {
    let (grade, word, reason) = match (of, failed, open) {
        (1, 0, 0) => {
            (Grade::Pass, "PASS", format!("The requirement holds: {}.", first(Decided::Pass)))
        }
        (_, 0, 0) => (Grade::Pass, "PASS", format!("All {of} requirements hold.")),
        (1, 0, _) => (
            Grade::Open,
            "UNDECIDED",
            format!("The requirement is not decided: {}.", first(Decided::Undecided)),
        ),
        (_, 0, _) => (
            Grade::Open,
            "UNDECIDED",
            format!(
                "{open} of {of} requirements are not decided, first {}.",
                first(Decided::Undecided)
            ),
        ),
        (1, ..) => (
            Grade::Fail,
            "FAIL",
            format!("The requirement does not hold: {}.", first(Decided::Fail)),
        ),
        _ => (
            Grade::Fail,
            "FAIL",
            format!("{failed} of {of} requirements do not hold, first {}.", first(Decided::Fail)),
        ),
    };
    Verdict { grade, word: word.into(), reason: Text::long(reason) }
}
