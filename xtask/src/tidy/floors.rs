//! Crates import downwards only, according to the table under `## Floors` in ARCHITECTURE.md.
//!
//! The table and the manifests are compared in both directions: they must agree exactly.

use super::Rule;
use super::manifest::{Purpose, crates};
use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const RULE: Rule = Rule { name: "floors", check };

const PAGE: &str = "ARCHITECTURE.md";

struct Row {
    floor: u8,
    imports: BTreeSet<String>,
}

fn check(tree: &Tree) -> Vec<String> {
    let Some(page) = tree.text(PAGE) else { return vec![format!("{PAGE}: missing")] };
    let rows = table(page);
    let mut finds = Vec::new();
    for name in tree.crates() {
        if !rows.contains_key(name) {
            finds.push(format!("{PAGE}: no row for crates/{name}"));
        }
    }
    for (name, row) in &rows {
        finds.extend(upwards(&rows, name, row));
        if !tree.has(&format!("crates/{name}")) {
            finds.push(format!("{PAGE}: a row for {name}, but no crates/{name}"));
            continue;
        }
        match crates(tree, name, Purpose::Normal) {
            Ok(used) => finds.extend(differences(name, &row.imports, &used)),
            Err(complaint) => finds.push(complaint),
        }
        match crates(tree, name, Purpose::DevOrBuild) {
            Ok(used) => finds.extend(tests_upwards(&rows, name, row, &used)),
            Err(complaint) => finds.push(complaint),
        }
    }
    finds
}

/// Rows `| floor | crate | imports | …` of the section.
fn table(page: &str) -> BTreeMap<String, Row> {
    let lines = page.lines().skip_while(|line| *line != "## Floors").skip(1);
    lines.take_while(|line| !line.starts_with("## ")).filter_map(row).collect()
}

fn row(line: &str) -> Option<(String, Row)> {
    let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
    let floor = cells.next()?.parse().ok()?;
    let name = quoted(cells.next()?).next()?.to_owned();
    let imports = quoted(cells.next()?).map(str::to_owned).collect();
    Some((name, Row { floor, imports }))
}

/// Texts between backquotes.
fn quoted(cell: &str) -> impl Iterator<Item = &str> {
    cell.split('`').skip(1).step_by(2)
}

fn upwards(rows: &BTreeMap<String, Row>, name: &str, row: &Row) -> Vec<String> {
    let is_below = |import: &&String| rows.get(*import).is_some_and(|r| r.floor < row.floor);
    let wrong = row.imports.iter().filter(|import| !is_below(import));
    wrong.map(|import| format!("{PAGE}: {name} imports {import}, which is not below it")).collect()
}

fn differences(name: &str, said: &BTreeSet<String>, used: &BTreeSet<String>) -> Vec<String> {
    let manifest = format!("crates/{name}/Cargo.toml");
    let unsaid = used.difference(said).map(|i| format!("{manifest}: imports {i}; {PAGE} does not"));
    let unused = said.difference(used).map(|i| format!("{PAGE}: {name} imports {i}; it does not"));
    unsaid.chain(unused).collect()
}

/// Tests may use a neighbour, but nothing higher up.
fn tests_upwards(
    rows: &BTreeMap<String, Row>,
    name: &str,
    row: &Row,
    used: &BTreeSet<String>,
) -> Vec<String> {
    let is_above = |import: &&String| rows.get(*import).is_none_or(|r| r.floor > row.floor);
    let complain = |i| format!("crates/{name}/Cargo.toml: its tests reach up to {i}");
    used.iter().filter(is_above).map(complain).collect()
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    const TABLE: &str = "# Page\n## Floors\n\n| floor | crate | imports | owns |\n|---|---|---|---|\n\
                         | 0 | `wire` | – | octets |\n| 1 | `meter` | `wire` | `Metric` |\n\
                         | 1 | `stack` | `wire` | machines |\n\n## Next\n| 0 | `no` | – | – |\n";
    const WIRE: (&str, &str) = ("crates/wire/Cargo.toml", "");
    const STACK: (&str, &str) = ("crates/stack/Cargo.toml", "[dependencies]\ntidewire-wire = '1'");

    #[track_caller]
    fn meter(manifest: &str, expected: &[&str]) {
        let meter = ("crates/meter/Cargo.toml", manifest);
        check(&RULE, &[(PAGE, TABLE), ("Cargo.toml", ""), WIRE, STACK, meter], expected);
    }

    #[test]
    fn an_import_in_the_table_is_allowed() {
        meter("[dependencies]\ntidewire-wire = '1'", &[]);
    }

    #[test]
    fn an_import_the_table_lacks_is_found() {
        meter(
            "[dependencies]\ntidewire-wire = '1'\ntidewire-stack = '1'",
            &["crates/meter/Cargo.toml: imports stack; ARCHITECTURE.md does not"],
        );
    }

    #[test]
    fn an_import_the_manifest_lacks_is_found() {
        meter("", &["ARCHITECTURE.md: meter imports wire; it does not"]);
    }

    #[test]
    fn tests_may_use_a_neighbour_but_nothing_above() {
        let downwards = "[dependencies]\ntidewire-wire = '1'\n[dev-dependencies]\n";
        meter(&format!("{downwards}tidewire-stack = '1'"), &[]);
        meter(
            &format!("{downwards}tidewire-bench = '1'"),
            &["crates/meter/Cargo.toml: its tests reach up to bench"],
        );
    }

    #[test]
    fn the_table_itself_may_not_point_sideways() {
        let page = "## Floors\n| 1 | `a` | `b` | |\n| 1 | `b` | – | |\n";
        let a = ("crates/a/Cargo.toml", "[dependencies]\ntidewire-b = '1'");
        check(
            &RULE,
            &[(PAGE, page), ("Cargo.toml", ""), a, ("crates/b/Cargo.toml", "")],
            &["ARCHITECTURE.md: a imports b, which is not below it"],
        );
    }

    #[test]
    fn a_crate_without_a_row_and_a_row_without_a_crate_are_found() {
        check(
            &RULE,
            &[(PAGE, "## Floors\n| 0 | `b` | – | |\n"), ("crates/a/Cargo.toml", "")],
            &[
                "ARCHITECTURE.md: no row for crates/a",
                "ARCHITECTURE.md: a row for b, but no crates/b",
            ],
        );
    }
}
