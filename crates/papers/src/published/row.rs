//! Claims of a paper, as rows of a file in a form that a program can judge.
//!
//! Ids and kinds are those of the list of targets that was drawn from the papers; the words are our
//! own.

use serde::{Deserialize, Serialize};

/// Kind of a row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum Kind {
    /// Configuration: the setup, not a result.
    C,
    /// A formula.
    F,
    /// Measured.
    M,
    /// Simulated.
    S,
    /// Derived from other rows by arithmetic.
    D,
    /// A cell of a table.
    T,
    /// Shape that can be tested.
    Q,
}

impl Kind {
    /// All kinds, in the order of output.
    pub const ALL: [Self; 7] = [Self::C, Self::F, Self::M, Self::S, Self::D, Self::T, Self::Q];
}

/// Row of a paper.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Row {
    /// Name in the list of targets.
    pub id: String,
    /// Kind.
    pub kind: Kind,
    /// Published value, as in the list of targets.
    pub value: String,
    /// Conditions; empty if none are stated.
    #[serde(default)]
    pub conditions: String,
    /// Row that states the same in other words: both count once.
    pub restates: Option<String>,
    /// Rows from which it follows by arithmetic, for derived rows.
    #[serde(default)]
    pub derived_from: Vec<String>,
    /// Rows that are inputs of the model and largely determine this one.
    #[serde(default)]
    pub implied_by: Vec<String>,
    /// True if the model is built to have this property, so that agreement is trivial.
    #[serde(default)]
    pub assumed: bool,
    /// Claims that can be judged.
    #[serde(rename = "claim")]
    pub claims: Vec<Claim>,
}

/// One quantity of a row.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Claim {
    /// Quantity, in a few words.
    pub asks: String,
    /// Unit of all its numbers; empty for ratios and for counts that need none.
    #[serde(default)]
    pub unit: String,
    /// Published value.
    pub is: Option<f64>,
    /// Lower end of a published range.
    pub least: Option<f64>,
    /// Upper end of a published range.
    pub most: Option<f64>,
    /// Reading error: possible deviation of the published number in either direction.
    #[serde(default)]
    pub error: f64,
    /// Reason for the size of the reading error.
    #[serde(default)]
    pub error_because: String,
    /// True if the paper shows a single run: our result is then the band in which 90 % of single
    /// runs lie.
    #[serde(default)]
    pub one_run: bool,
    /// Places of the published value in the figures.
    #[serde(default)]
    pub drawn: Vec<Drawn>,
    /// True if the numbers are our rendering of a shape that the paper describes in words.
    #[serde(default)]
    pub shape: bool,
    /// Name of the source that obtains our result.
    pub ours: Option<String>,
    /// Reason why it cannot be obtained here.
    pub not_here: Option<String>,
    /// Reason why our result differs, printed only if it does.
    #[serde(default)]
    pub differs_because: String,
}

/// Place of a published value in a figure.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Drawn {
    /// Number of the figure.
    pub figure: String,
    /// Horizontal position in the figure's unit; without it the value itself is horizontal, as a
    /// vertical line.
    pub at: Option<f64>,
    /// Units of the figure per unit of the claim.
    #[serde(default = "one")]
    pub scale: f64,
}

const fn one() -> f64 {
    1.0
}

impl Claim {
    /// Published range; infinite on a side that is not bounded.
    #[must_use]
    pub fn published(&self) -> (f64, f64) {
        let least = self.is.or(self.least).unwrap_or(f64::NEG_INFINITY);
        (least, self.is.or(self.most).unwrap_or(f64::INFINITY))
    }

    /// Error in the definition of the claim, if there is one.
    fn problem(&self) -> Option<&'static str> {
        let bounds = self.least.is_some() || self.most.is_some();
        let (least, most) = self.published();
        if self.is.is_some() == bounds {
            return Some("it needs `is`, or `least` or `most`");
        }
        if least > most || self.error < 0.0 {
            return Some("its range is empty");
        }
        if (self.error > 0.0) == self.error_because.is_empty() {
            return Some("a reading error needs its reason, and a reason its error");
        }
        if self.ours.is_some() == self.not_here.is_some() {
            return Some("it needs `ours`, or `not-here`");
        }
        None
    }
}

/// File of rows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    row: Vec<Row>,
}

/// Invalid file of rows.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadRows {
    /// Invalid TOML, or an unexpected structure.
    #[error("{0}")]
    Syntax(String),
    /// A row contradicts itself.
    #[error("{id}: {problem}")]
    Row {
        /// Row.
        id: String,
        /// Contradiction.
        problem: &'static str,
    },
}

/// Reads the rows of a paper.
///
/// # Errors
/// Returns the error of the file, or of the first invalid row.
pub fn parse(text: &str) -> Result<Vec<Row>, BadRows> {
    let file: File = toml::from_str(text).map_err(|error| BadRows::Syntax(error.to_string()))?;
    for (place, row) in file.row.iter().enumerate() {
        let bad = |problem| BadRows::Row { id: row.id.clone(), problem };
        if let Some(problem) = row.claims.iter().find_map(Claim::problem) {
            return Err(bad(problem));
        }
        let earlier = file.row.get(..place).unwrap_or_default();
        if earlier.iter().any(|other| other.id == row.id) {
            return Err(bad("another row has this id"));
        }
        let known = |id: &String| earlier.iter().any(|other| other.id == *id);
        if !row.restates.iter().chain(&row.derived_from).chain(&row.implied_by).all(known) {
            return Err(bad("it refers to a row that does not stand before it"));
        }
        if (row.kind == Kind::D) == row.derived_from.is_empty() {
            return Err(bad("a derived row, and no other, says what it is derived from"));
        }
    }
    Ok(file.row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_with_its_ranges() {
        let rows = parse(&row("is = 4\nerror = 0.5\nerror-because = \"read off\"\n")).unwrap();
        let [Row { claims, kind: Kind::M, .. }] = rows.as_slice() else { panic!("{rows:?}") };
        assert_eq!(claims[0].published(), (4.0, 4.0));
        let rows = parse(&row("most = 4\n")).unwrap();
        assert_eq!(rows[0].claims[0].published(), (f64::NEG_INFINITY, 4.0));
    }

    #[test]
    fn a_row_that_contradicts_itself_is_named() {
        check("is = 4\nmost = 5\n", "A-1: it needs `is`, or `least` or `most`");
        check("", "A-1: it needs `is`, or `least` or `most`");
        check("least = 4\nmost = 3\n", "A-1: its range is empty");
        let error = "A-1: a reading error needs its reason, and a reason its error";
        check("is = 4\nerror = 1\n", error);
        check("is = 4\nerror-because = \"read off\"\n", error);
        check("is = 4\nnot-here = \"no ring\"\n", "A-1: it needs `ours`, or `not-here`");
    }

    #[test]
    fn rows_refer_to_rows_before_them() {
        let twice = row("is = 4\n").repeat(2);
        assert_eq!(parse(&twice).unwrap_err().to_string(), "A-1: another row has this id");
        let lost = row("is = 4\n").replace("kind", "restates = \"A-0\"\nkind");
        let error = parse(&lost).unwrap_err().to_string();
        assert_eq!(error, "A-1: it refers to a row that does not stand before it");
        let derived = row("is = 4\n").replace("\"M\"", "\"D\"");
        let error = parse(&derived).unwrap_err().to_string();
        assert_eq!(error, "A-1: a derived row, and no other, says what it is derived from");
    }

    fn row(claim: &str) -> String {
        let head = "[[row]]\nid = \"A-1\"\nkind = \"M\"\nvalue = \"4\"\n";
        format!("{head}[[row.claim]]\nasks = \"delay\"\nunit = \"ms\"\nours = \"delay\"\n{claim}")
    }

    #[track_caller]
    fn check(claim: &str, error: &str) {
        assert_eq!(parse(&row(claim)).unwrap_err().to_string(), error);
    }
}
