//! Report of files of percentiles alone, and their table in the report of a study.

use crate::document::{Acceptance, Document, Fact, Grade, Illustration, Kind, Table, Verdict};
use crate::figure::Picture;
use crate::glossary::Glossary;
use crate::hgrm::read::Percentiles;
use crate::tail::{Tail, tail_of_files};
use crate::text::Text;
use records::findings::quoted;
use records::quantity::counted;

/// Most files of a report: more curves of one figure cannot be told apart.
pub const MOST_FILES: usize = 12;
/// Quantiles of the table, and their headings.
pub const QUANTILES: [(f64, &str); 5] =
    [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99.9"), (1.0, "max")];

/// The report of files of percentiles.
#[must_use]
pub fn of_percentiles(
    files: &[Percentiles],
    acceptance: Acceptance,
    glossary: &Glossary,
) -> Document {
    let names: Vec<String> = files.iter().map(|file| quoted(&file.name)).collect();
    let reason = "A file of percentiles has no requirement.".into();
    let times: u128 = files.iter().map(|file| u128::from(file.count())).sum();
    let mut document = Document {
        kind: Kind::Percentiles,
        title: Text::from(names.join(", ")),
        verdict: Verdict { grade: Grade::Note, word: "NOT JUDGED".into(), reason },
        next: Vec::new(),
        numbers: Vec::new(),
        about: Text::long(format!(
            "{times} times in {}. The files state neither runs nor deadlines, so nothing is judged and \
             nothing has an interval.",
            counted(files.len() as u64, "file")
        )),
        acceptance,
        requirements: Vec::new(),
        findings: Vec::new(),
        tables: table(files).into_iter().collect(),
        pictures: tail_of_files(files).map(illustration).into_iter().collect(),
        checks: Vec::new(),
        comparison: None,
        provenance: Vec::new(),
        commands: vec![Fact::new(
            "repeat the report",
            format!("tidewire report {}", names.join(" ")),
        )],
        glossary: Vec::new(),
    };
    document.glossary = glossary.of_document(&document, &["p50, p99"]);
    document
}

/// Quantiles of files; none without files.
pub(crate) fn table(files: &[Percentiles]) -> Option<Table> {
    if files.is_empty() {
        return None;
    }
    let heads: Vec<&str> =
        ["file"].into_iter().chain(QUANTILES.map(|(_, name)| name)).chain(["n"]).collect();
    let rows = files.iter().map(|file| {
        let quantiles = QUANTILES.map(|(share, _)| file.quantile_text(share));
        let row = [file.name.clone()].into_iter().chain(quantiles);
        row.chain([file.count().to_string()]).collect()
    });
    let mut table = Table::of("Files of percentiles", &heads, rows, MOST_FILES);
    table.notes.push("A quantile is the first value of the file at or above it.".into());
    Some(table)
}

/// The figure of a report.
pub(crate) fn illustration(Tail { figure, thinned }: Tail) -> Illustration {
    Illustration { picture: Picture::Curves(figure), thinned: thinned.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::html::html;
    use crate::markdown::markdown;
    use std::collections::BTreeMap;

    #[test]
    fn a_report_of_files_has_their_quantiles_and_a_curve_each() {
        let file = |name: &str, classes: &[(u64, u64)]| Percentiles {
            name: name.to_owned(),
            classes: BTreeMap::from_iter(classes.iter().copied()),
            longest: classes.last().unwrap().0,
        };
        let files = [
            file("before.hgrm", &[(1_000_000, 99), (5_000_000, 1)]),
            file("after.hgrm", &[(2_000_000, 1)]),
        ];
        let glossary = Glossary::read("");
        let document = of_percentiles(&files, Acceptance::default(), &glossary);
        let row: Vec<&str> = document.tables[0].rows[0].iter().map(Text::as_str).collect();
        // 99 of 100 times are 1 ms; of 100 times no 99.9 % is known.
        let expected = ["before.hgrm", "1.00 ms", "1.00 ms", "1.00 ms", "n/a", "5.00 ms", "100"];
        assert_eq!(row, expected);
        let Picture::Curves(figure) = &document.pictures[0].picture else { unreachable!() };
        let names: Vec<&str> = figure.series.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["before.hgrm", "after.hgrm"]);
        assert!(figure.caption.contains("before.hgrm n = 100"), "{}", figure.caption);
        // Nothing is checked, and a table has rows.
        for page in [html(&document), markdown(&document)] {
            assert!(page.contains("before.hgrm") && !page.contains("Validity"), "{page}");
        }
    }

    #[test]
    fn counts_of_all_files_together_may_exceed_64_bits() {
        let classes = BTreeMap::from([(1_000, u64::MAX)]);
        let file = Percentiles { name: "a".to_owned(), classes, longest: 1_000 };
        let glossary = Glossary::read("");
        let document = of_percentiles(&[file.clone(), file], Acceptance::default(), &glossary);
        assert!(document.about.as_str().starts_with("36893488147419103230 times in 2 files."));
    }
}
