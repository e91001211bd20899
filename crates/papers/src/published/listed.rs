//! Checks for the rows of every paper: they are those of the list of targets, their sources exist,
//! and they fit their column.

use super::row::{self, Claim, Row};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Row of the list of targets, by the names of its columns.
type Target = BTreeMap<String, String>;

/// Checks that `rows` contain every row of the list of targets for this paper, with its kind and
/// value.
#[track_caller]
pub(crate) fn check_rows(paper: &str, rows: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/papers/targets.csv");
    let Ok(mut list) = csv::Reader::from_path(&path) else {
        println!("skipped: the list of targets is not at hand: {}", path.display());
        return;
    };
    let targets: Vec<Target> = list
        .deserialize()
        .map(Result::unwrap)
        .filter(|target: &Target| target["paper"] == paper)
        .collect();
    let rows = row::parse(rows).unwrap();
    let ids = |rows: &[Row]| rows.iter().map(|row| row.id.clone()).collect::<Vec<_>>();
    let listed: Vec<String> = targets.iter().map(|target| target["id"].clone()).collect();
    assert_eq!(ids(&rows), listed);
    for (row, target) in rows.iter().zip(&targets) {
        let kind = format!("{:?}", row.kind);
        assert_eq!((&kind, &row.value), (&target["kind"], &target["value"]), "{}", row.id);
        for claim in &row.claims {
            check_claim(&row.id, claim, target);
        }
    }
    println!("seen: {} rows of the list of targets", rows.len());
}

/// Checks that a claim has the numbers and the unit of the list, unless it renders a shape.
#[track_caller]
fn check_claim(id: &str, claim: &Claim, target: &Target) {
    if claim.shape {
        return;
    }
    let said = ["value", "quantity", "conditions", "unit"].map(|name| target[name].as_str());
    let said = said.join(" ");
    let known = numbers(&said);
    for number in [claim.is, claim.least, claim.most].into_iter().flatten() {
        assert!(known.contains(&number), "{id}: {number} is not in {said:?}");
    }
    assert!(said.contains(&claim.unit), "{id}: {} is not in {said:?}", claim.unit);
}

fn numbers(text: &str) -> Vec<f64> {
    let text = text.replace("..", " ");
    let is_other = |c: char| !(c.is_ascii_digit() || c == '.');
    text.split(is_other).filter_map(|word| word.parse().ok()).collect()
}

/// Checks that the sources that rows use are exactly those in `known`.
#[track_caller]
pub(crate) fn check_sources(rows: &str, known: &[&str]) {
    let rows = row::parse(rows).unwrap();
    let asked: BTreeSet<&str> =
        rows.iter().flat_map(|row| &row.claims).filter_map(|claim| claim.ours.as_deref()).collect();
    assert_eq!(asked, known.iter().copied().collect());
    assert_eq!(asked.len(), known.len(), "one is known twice");
}

/// Checks that claims fit the column that they are printed in.
#[track_caller]
pub(crate) fn check_widths(rows: &str) {
    for row in row::parse(rows).unwrap() {
        for claim in &row.claims {
            let width = claim.asks.chars().count() + claim.unit.chars().count() + 2;
            assert!(width <= 34, "{}: {} ({}) is {width} wide", row.id, claim.asks, claim.unit);
        }
    }
}

/// Changes below this, in percent, come from finding the token at another place.
const VISIBLE_PERCENT: f64 = 0.5;

/// Rows whose answer changes when an input of a profile grows by a tenth. `input` names the input
/// and its profile.
pub(crate) fn moved<'a>(
    input: &str,
    before: &[(&'a str, f64)],
    after: &[(&'a str, f64)],
) -> BTreeSet<&'a str> {
    let changes = before.iter().zip(after).filter_map(|((name, was), (_, is))| {
        let change = (is / was - 1.0) * 100.0;
        (change.abs() > VISIBLE_PERCENT).then_some((*name, change))
    });
    let changes: Vec<(&str, f64)> = changes.collect();
    let changed: Vec<String> =
        changes.iter().map(|(name, change)| format!("{name} {change:+.1} %")).collect();
    println!("seen: {input}: {}", changed.join(", "));
    changes.iter().map(|(name, _)| *name).collect()
}
