//! A reproduction on a page: rows that are final, and trials of `--live`.

use super::text::{asked, ours, published, short};
use crate::quantity::trimmed;
use papers::published::Outcome;
use papers::published::verdict::Verdict;
use papers::transfer::rounds::Rounds;
use papers::transfer::{Question, Trial};
use web::{Line, Sheet};

/// The table of rows, empty.
pub(super) fn rows_sheet() -> Sheet {
    sheet("rows", "Rows that are final", &["row", "asked", "published", "ours", "verdict"])
}

/// The table of trials, empty.
pub(super) fn trials_sheet() -> Sheet {
    let heads = ["trial", "service", "measured", "octets", "readings", "median"];
    sheet("trials", "Trials so far", &heads)
}

fn sheet(id: &'static str, title: &str, heads: &[&str]) -> Sheet {
    let heads = heads.iter().copied().map(str::to_owned).collect();
    Sheet { id, title: title.to_owned(), about: String::new(), heads, rows: Vec::new() }
}

/// A row for each claim.
pub(super) fn lines(outcomes: &[Outcome]) -> Vec<Line> {
    let claims = outcomes.iter().flat_map(|outcome| {
        outcome.row.claims.iter().zip(&outcome.answers).map(move |pair| (outcome, pair))
    });
    claims
        .map(|(outcome, (claim, answer))| Line {
            grade: grade(answer.verdict),
            cells: vec![
                short(&outcome.row.id).to_owned(),
                asked(claim),
                published(claim),
                answer.ours.map_or_else(|| "-".to_owned(), ours),
                answer.verdict.to_string(),
            ],
        })
        .collect()
}

/// A row for each trial, with the median of its readings.
pub(super) fn trials(rounds: &Rounds) -> Vec<Line> {
    let row = |(place, trial): (usize, &Trial)| {
        let is_delay = trial.question == Question::Delay;
        let unit = if is_delay { "ms" } else { "kbyte/s" };
        let mut values: Vec<f64> = rounds.readings(place).iter().map(|it| it.value).collect();
        values.sort_by(f64::total_cmp);
        let median = values.get(values.len() / 2).filter(|_| values.len() % 2 == 1);
        let between =
            values.get((values.len() / 2).wrapping_sub(1)).zip(values.get(values.len() / 2));
        let median = median.copied().or_else(|| between.map(|(low, high)| (low + high) / 2.0));
        let median =
            median.map_or_else(|| "-".to_owned(), |it| format!("{} {unit}", trimmed(it, 4)));
        let cells = [
            (place + 1).to_string(),
            trial.service.name().to_owned(),
            format!("{:?}", trial.question).to_lowercase(),
            trial.octets.to_string(),
            values.len().to_string(),
            median,
        ];
        Line { grade: None, cells: cells.to_vec() }
    };
    rounds.trials.iter().enumerate().map(row).collect()
}

/// Severity of a verdict.
const fn grade(verdict: Verdict) -> Option<&'static str> {
    match verdict {
        Verdict::Reproduced | Verdict::WithinReadingError | Verdict::OneOfOurs => Some("good"),
        Verdict::Differs | Verdict::InputMissed => Some("look"),
        Verdict::NotDecided | Verdict::NotReproducibleHere | Verdict::Input => None,
    }
}
