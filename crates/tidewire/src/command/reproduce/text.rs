//! A reproduction for people: tables that fit 80 columns, then why rows differ, then the count.

use crate::output::Output;
use crate::quantity::trimmed;
use crate::table::{Align, Table};
use bench::paragraph::wrapped;
use papers::published::row::Claim;
use papers::published::summary::{Summary, summarise};
use papers::published::value::Value;
use papers::published::verdict::{Role, Verdict};
use papers::published::{AtTier, Outcome, Paper, Reproduction};
use std::collections::BTreeSet;
use std::io;

/// Order of the roles: those that can succeed first.
const ROLES: [Role; 8] = [
    Role::Prediction,
    Role::Qualitative,
    Role::Implied,
    Role::Assumption,
    Role::CalibrationInput,
    Role::Formula,
    Role::Table,
    Role::Configuration,
];

/// First line: the paper.
pub(super) fn heading(paper: &Paper) -> String {
    wrapped(&format!("{}: ", paper.name), paper.title)
}

/// Rows that are final, by role.
pub(super) fn rows(outcomes: &[Outcome], output: &Output) -> io::Result<()> {
    for role in ROLES {
        let here: Vec<&Outcome> = outcomes.iter().filter(|o| o.role == role).collect();
        if !here.is_empty() {
            output.line(format_args!("\n{role}"))?;
            output.line(table(&here))?;
        }
    }
    Ok(())
}

/// Notes on all rows: conditions, reasons and counts.
pub(super) fn end(
    reproduction: &Reproduction,
    summary: &Summary,
    output: &Output,
) -> io::Result<()> {
    output.line("\nhow ours was obtained")?;
    for remark in &reproduction.remarks {
        output.line(wrapped("  ", remark))?;
    }
    if !reproduction.tiers.is_empty() {
        output.line("\ncalibration by tiers: inputs of each, and predictions that agree")?;
        output.line(tiers(&reproduction.tiers))?;
        output.line("\nrows whose role or verdict depends on the tier")?;
        output.line(by_tier(&reproduction.tiers))?;
    }
    let reasons = reasons(&reproduction.outcomes);
    if !reasons.is_empty() {
        output.line("\nwhy")?;
    }
    for (ids, why) in reasons {
        let ids: Vec<&str> = ids.into_iter().map(short).collect();
        output.line(wrapped(&format!("  {}  ", ids.join(" ")), &sentence(why)))?;
    }
    output.line(format_args!("\nrows by kind and verdict\n{}\n", counts(summary)))?;
    for sentence in closing(summary) {
        output.line(wrapped("", &sentence))?;
    }
    Ok(())
}

fn table(outcomes: &[&Outcome]) -> Table {
    let mut table = Table::new([
        ("row", Align::Left),
        ("asked", Align::Left),
        ("published", Align::Right),
        ("ours", Align::Right),
        ("verdict", Align::Left),
    ]);
    for Outcome { row, answers, .. } in outcomes {
        for (place, (claim, answer)) in row.claims.iter().zip(answers).enumerate() {
            let id = if place == 0 { short(&row.id) } else { "" };
            table.row([
                id.to_owned(),
                asked(claim),
                published(claim),
                answer.ours.map_or_else(|| "-".to_owned(), ours),
                answer.verdict.to_string(),
            ]);
        }
    }
    table
}

/// The number of a row, without the name of its paper.
pub(super) fn short(id: &str) -> &str {
    id.rsplit('-').next().unwrap_or(id)
}

/// The question of a claim, with its unit.
pub(super) fn asked(claim: &Claim) -> String {
    let is_word = matches!(claim.unit.as_str(), "" | "count" | "ratio");
    let unit = if is_word { String::new() } else { format!(", {}", claim.unit) };
    format!("{}{unit}", claim.asks)
}

pub(super) fn published(claim: &Claim) -> String {
    let number = |number: f64| trimmed(number, 4);
    let (least, most) = claim.published();
    let range = match (least.is_finite(), most.is_finite()) {
        (true, true) if least.total_cmp(&most).is_eq() => number(least),
        (true, true) => format!("{} to {}", number(least), number(most)),
        (false, _) => format!("at most {}", number(most)),
        (true, false) => format!("at least {}", number(least)),
    };
    if claim.error > 0.0 { format!("{range} ± {}", number(claim.error)) } else { range }
}

/// A value alone where its interval cannot be seen in its digits.
pub(super) fn ours(found: Value) -> String {
    let number = |number: f64| trimmed(number, 4);
    let Value { value, low, high, .. } = found;
    if !high.is_finite() {
        return format!("over {}", number(low));
    }
    let [least, most] = [low, high].map(|end| trimmed(end, 3));
    if least == most { number(value) } else { format!("{least} to {most}") }
}

/// Each reason once, with the rows it is about.
fn reasons(outcomes: &[Outcome]) -> Vec<(Vec<&str>, &str)> {
    let mut reasons: Vec<(Vec<&str>, &str)> = Vec::new();
    let unexplained = "Not explained.";
    for Outcome { row, answers, .. } in outcomes {
        let mut told = BTreeSet::new();
        for answer in answers {
            let why = match (&answer.why, answer.verdict.calls_for_a_reason()) {
                (Some(why), _) => why.as_str(),
                (None, true) => unexplained,
                (None, false) => continue,
            };
            if !told.insert(why) {
                continue;
            }
            match reasons.iter_mut().find(|(_, known)| *known == why) {
                Some((ids, _)) => ids.push(&row.id),
                None => reasons.push((vec![&row.id], why)),
            }
        }
    }
    reasons
}

/// Each tier with its inputs and its successes, which are counted separately.
fn tiers(tiers: &[AtTier]) -> Table {
    let mut table = Table::new([
        ("tier", Align::Left),
        ("adds", Align::Left),
        ("inputs", Align::Right),
        ("models", Align::Right),
        ("agree", Align::Right),
    ]);
    for AtTier { name, title, models, outcomes } in tiers {
        let Summary { candidates, successes, .. } = summarise(outcomes);
        let is_input = |outcome: &&Outcome| outcome.role == Role::CalibrationInput;
        table.row([
            name.clone(),
            title.clone(),
            outcomes.iter().filter(is_input).count().to_string(),
            models.to_string(),
            format!("{successes} of {candidates}"),
        ]);
    }
    table
}

/// Rows that are an input at one tier and a prediction at another, or whose verdict changes.
fn by_tier(tiers: &[AtTier]) -> Table {
    let names = tiers.iter().map(|tier| (tier.name.as_str(), Align::Left));
    let mut table = Table::of(core::iter::once(("row", Align::Left)).chain(names));
    let rows = tiers.first().map(|tier| tier.outcomes.as_slice()).unwrap_or_default();
    for (place, outcome) in rows.iter().enumerate() {
        let here: Vec<Verdict> = tiers
            .iter()
            .filter_map(|tier| tier.outcomes.get(place).map(|outcome| outcome.verdict))
            .collect();
        if here.windows(2).any(|pair| pair.first() != pair.last()) {
            let cells = here.iter().map(ToString::to_string);
            table.add(core::iter::once(short(&outcome.row.id).to_owned()).chain(cells).collect());
        }
    }
    table
}

fn counts(summary: &Summary) -> Table {
    let [first, second, third, fourth, fifth, sixth, seventh, eighth] =
        ["match", "within", "run", "open", "differs", "n/a", "input", "missed"]
            .map(|name| (name, Align::Right));
    let mut table = Table::new([
        ("", Align::Left),
        ("", Align::Left),
        first,
        second,
        third,
        fourth,
        fifth,
        sixth,
        seventh,
        eighth,
    ]);
    for group in &summary.groups {
        let number = |count: usize| if count == 0 { "-".to_owned() } else { count.to_string() };
        let [a, b, c, d, e, f, g, h] = group.verdicts.map(number);
        let kind = format!("{:?}", group.kind);
        table.row([kind, group.role.to_string(), a, b, c, d, e, f, g, h]);
    }
    table
}

pub(super) fn closing(summary: &Summary) -> [String; 2] {
    let Summary { candidates, successes, restatements, .. } = summary;
    [
        format!(
            "{successes} of {candidates} predictions and shapes agree; {restatements} rows that \
             restate another are not counted again. Configuration, formulas, tables, assumptions, \
             inputs and rows that follow from inputs are no successes."
        ),
        format!(
            "{}: ours lies in the published range; {}: in that range widened by the reading error \
             (±); {}: the paper's single run lies in the band that holds 90 % of our single runs; \
             {}: partly; {}: outside.",
            Verdict::Reproduced,
            Verdict::WithinReadingError,
            Verdict::OneOfOurs,
            Verdict::NotDecided,
            Verdict::Differs
        ),
    ]
}

/// With a capital and a full stop.
fn sentence(words: &str) -> String {
    let mut letters = words.trim_end_matches('.').chars();
    let first = letters.next().map(char::to_uppercase);
    let mut sentence: String = first.into_iter().flatten().chain(letters).collect();
    sentence.push('.');
    sentence
}

#[cfg(test)]
mod tests {
    use super::*;
    use bench::paragraph::COLUMNS;
    use papers::published::Answer;

    #[test]
    fn rows_of_every_paper_fit_80_columns_with_wide_intervals() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../papers/reproduce");
        for name in ["tr-88-08", "tr-88-04", "nbs-1986", "nbsir-85-3104", "tr-88-17"] {
            let rows = std::fs::read_to_string(folder.join(format!("{name}.toml"))).unwrap();
            let rows = papers::published::row::parse(&rows).unwrap();
            let ours = Some(Value { value: 0.5, low: 0.0511, high: 0.209, observations: 5 });
            let verdict = Verdict::NotDecided;
            let outcomes = rows.into_iter().map(|row| Outcome {
                answers: vec![Answer { ours, verdict, why: None }; row.claims.len()],
                row,
                role: Role::Prediction,
                verdict,
            });
            let outcomes: Vec<Outcome> = outcomes.collect();
            let text = table(&outcomes.iter().collect::<Vec<_>>()).to_string();
            let wide = text.lines().find(|line| line.chars().count() > COLUMNS);
            assert_eq!(wide, None, "{name}");
            assert_eq!(text.matches("0.0511 to 0.209").count(), claims(&outcomes), "{name}");
        }
    }

    fn claims(outcomes: &[Outcome]) -> usize {
        outcomes.iter().map(|outcome| outcome.row.claims.len()).sum()
    }

    #[test]
    fn a_value_is_told_with_its_interval_where_that_has_a_width() {
        let found = |low, value, high| Value { value, low, high, observations: 5 };
        assert_eq!(ours(found(4.1, 4.1, 4.1)), "4.1");
        assert_eq!(ours(found(1.0, 2.0, 3.0)), "1 to 3");
        assert_eq!(ours(found(300.0, 2046.0, f64::INFINITY)), "over 300");
    }
}
