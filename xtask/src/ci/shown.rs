//! Relevant part of the output of `cargo test -- --show-output`: failures, reasons for skipping,
//! and the `seen: ` lines of tests of many runs.

use std::collections::BTreeMap;

/// Takes the output line by line and keeps the reasons for which tests skipped something.
#[derive(Default)]
pub(super) struct Filter {
    is_among_successes: bool,
    /// Number of tests that gave each reason.
    reasons: BTreeMap<String, usize>,
}

impl Filter {
    /// Returns whether this line is shown: not if a passed test printed it.
    pub(super) fn shows(&mut self, line: &str) -> bool {
        if line == "successes:" {
            self.is_among_successes = true;
        } else if line == "failures:" || line.starts_with("test result:") {
            self.is_among_successes = false;
        } else if let Some(reason) = line.strip_prefix("skipped: ") {
            *self.reasons.entry(reason.to_owned()).or_default() += 1;
        }
        !self.is_among_successes || line.starts_with("seen: ")
    }

    /// Each reason once, with the number of tests that gave it.
    pub(super) fn skipped(self) -> Vec<String> {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let line = |(why, count)| format!("{why} ({count} test{})", plural(count));
        self.reasons.into_iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_of_passed_tests_is_hidden_except_skip_reasons() {
        // As libtest prints it: the output of tests that passed, their names, then the rest.
        let lines = [
            "test a ... ok",
            "",
            "successes:",
            "",
            "---- a stdout ----",
            "skipped: no captures",
            "seen: 200 seeds",
            "---- b stdout ----",
            "skipped: no captures",
            "successes:",
            "    a",
            "failures:",
            "---- c stdout ----",
            "left: 1",
            "test result: FAILED. 2 passed; 1 failed",
        ];
        let mut filter = Filter::default();
        let shown: Vec<&str> = lines.into_iter().filter(|line| filter.shows(line)).collect();
        assert_eq!(
            shown,
            [
                "test a ... ok",
                "",
                "seen: 200 seeds",
                "failures:",
                "---- c stdout ----",
                "left: 1",
                "test result: FAILED. 2 passed; 1 failed",
            ]
        );
        assert_eq!(filter.skipped(), ["no captures (2 tests)"]);
    }
}
