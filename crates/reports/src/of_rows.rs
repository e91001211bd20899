//! Report of a reproduction: the rows of a paper next to ours.

mod figures;

use crate::document::{
    Acceptance, Check, Document, Fact, Grade, Illustration, Kind, MOST_NUMBERS, Number,
    Requirement, Table, Verdict,
};
use crate::glossary::Glossary;
use crate::of_study::command_line;
use crate::provenance::Provenance;
use crate::text::Text;
use records::quantity::{counted, significant};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::{self, BufRead, Read as _};

/// Longest record.
const LONGEST_LINE_OCTETS: u64 = 16 << 20;
/// Rows that are kept.
const MOST_KEPT: usize = 1_000;
/// Rows of the table.
const MOST_ROWS: usize = 150;
/// Figures.
const MOST_FIGURES: usize = 24;

/// Head of the records.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(crate) struct Paper {
    paper: String,
    title: String,
    seed: String,
    repetitions: Option<u64>,
    rounds: Option<u64>,
    #[serde(default)]
    live: bool,
    #[serde(default)]
    host: BTreeMap<String, String>,
}

/// A row of the paper.
#[derive(Clone, PartialEq, Debug, Deserialize)]
struct Row {
    id: String,
    role: String,
    value: String,
    conditions: String,
    restates: Option<String>,
    verdict: String,
    claims: Vec<Claim>,
}

/// A number of a row, and ours.
#[derive(Clone, PartialEq, Debug, Deserialize)]
struct Claim {
    asks: String,
    unit: String,
    least: Option<f64>,
    most: Option<f64>,
    ours: Option<Ours>,
    verdict: String,
    why: Option<String>,
}

/// Our value.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize)]
struct Ours {
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    observations: u64,
}

/// A trial of experiments that were measured live.
#[derive(Clone, PartialEq, Debug, Deserialize)]
struct Trial {
    trial: u64,
    service: String,
    question: String,
    octets: u64,
    unit: String,
    median: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    values: Vec<Option<f64>>,
}

#[derive(Deserialize)]
struct Summary {
    #[serde(default)]
    remarks: Vec<String>,
}

#[derive(Deserialize)]
struct End {
    complete: bool,
    error: Option<String>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Line {
    Paper(Paper),
    Row(Row),
    Trial(Trial),
    Figure(figures::Figure),
    Summary(Summary),
    End(End),
    #[serde(other)]
    Other,
}

/// Records of a reproduction.
#[derive(Clone, PartialEq, Debug)]
pub struct Rows {
    paper: Paper,
    rows: Vec<Row>,
    trials: Vec<Trial>,
    figures: Vec<figures::Figure>,
    left_out: usize,
    remarks: Vec<String>,
    /// Reason of an early end; none of a complete reproduction.
    cut: Option<String>,
}

impl Rows {
    /// Reads the records of a reproduction.
    ///
    /// # Errors
    /// Errors of the input, and input that begins with other records.
    pub fn read(mut from: impl BufRead) -> io::Result<Self> {
        let foreign =
            || io::Error::new(io::ErrorKind::InvalidData, "not the records of a reproduction");
        let mut line = Vec::new();
        let Some(Line::Paper(paper)) = next(&mut from, &mut line)? else { return Err(foreign()) };
        let mut rows = Self {
            paper,
            rows: Vec::new(),
            trials: Vec::new(),
            figures: Vec::new(),
            left_out: 0,
            remarks: Vec::new(),
            cut: Some("the end record is missing".to_owned()),
        };
        while let Some(line) = next(&mut from, &mut line)? {
            rows.take(line);
        }
        Ok(rows)
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Row(row) if self.rows.len() < MOST_KEPT => self.rows.push(row),
            Line::Row(_) => self.left_out += 1,
            Line::Trial(trial) if self.trials.len() < MOST_KEPT => self.trials.push(trial),
            Line::Figure(figure) if self.figures.len() < MOST_FIGURES => self.figures.push(figure),
            Line::Summary(summary) => self.remarks = summary.remarks,
            Line::End(End { complete: true, .. }) => self.cut = None,
            Line::End(end) => {
                self.cut = Some(end.error.unwrap_or_else(|| "it ended early".to_owned()))
            }
            Line::Paper(_) | Line::Trial(_) | Line::Figure(_) | Line::Other => {}
        }
    }
}

/// The next record; none at the end, or at a last line that was cut off.
fn next(from: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<Line>> {
    line.clear();
    let octets = from.by_ref().take(LONGEST_LINE_OCTETS).read_until(b'\n', line)?;
    if octets == 0 || !line.ends_with(b"\n") {
        return Ok(None);
    }
    serde_json::from_slice(line).map(Some).map_err(io::Error::from)
}

/// True if our result and the paper agree.
fn agrees(verdict: &str) -> bool {
    ["reproduced", "within-reading-error", "one-of-ours"].contains(&verdict)
}

/// True for a row that the model has not seen and that can therefore succeed.
fn is_candidate(row: &Row) -> bool {
    ["prediction", "qualitative"].contains(&row.role.as_str()) && row.restates.is_none()
}

fn grade(verdict: &str) -> Grade {
    match verdict {
        "differs" | "input-missed" => Grade::Fail,
        "not-decided" | "not-reproducible-here" => Grade::Open,
        "input" => Grade::Note,
        _ => Grade::Pass,
    }
}

/// The report of a reproduction.
#[must_use]
pub fn of_rows(
    rows: &Rows,
    provenance: Option<&Provenance>,
    acceptance: Acceptance,
    glossary: &Glossary,
) -> Document {
    let command = match provenance {
        Some(provenance) => command_line(&provenance.command),
        None => rows.command(),
    };
    let mut facts = provenance.map(Provenance::facts).unwrap_or_default();
    facts.push(Fact::new("seed", &rows.paper.seed));
    if let Some(repetitions) = rows.paper.repetitions {
        facts.push(Fact::new("repetitions", repetitions.to_string()));
    }
    facts.extend(rows.paper.host.iter().map(|(name, value)| Fact::new(name, value)));
    facts.extend(rows.remarks.iter().map(|remark| Fact::new("basis", remark)));
    let mut document = Document {
        kind: Kind::Reproduced,
        title: Text::from(&rows.paper.title),
        verdict: rows.verdict(),
        next: Vec::new(),
        numbers: rows.numbers(),
        about: Text::long(rows.about()),
        acceptance,
        requirements: rows.requirements(),
        findings: Vec::new(),
        tables: rows.tables(),
        pictures: rows
            .figures
            .iter()
            .map(|figure| Illustration {
                picture: figure.picture(&rows.paper.paper, &rows.paper.seed, rows.paper.live),
                thinned: Text::default(),
            })
            .collect(),
        checks: rows.checks(),
        comparison: None,
        provenance: facts,
        commands: vec![Fact::new("repeat the run", command)],
        glossary: Vec::new(),
    };
    document.weigh_checks();
    document.glossary =
        glossary.of_document(&document, &["confidence interval", "replication", "seed"]);
    document
}

impl Rows {
    fn command(&self) -> String {
        let Paper { paper, seed, repetitions, live, rounds, .. } = &self.paper;
        let paper = records::findings::quoted(paper);
        let live = if *live { " --live" } else { "" };
        let runs = repetitions.map(|n| format!(" -n {n}")).unwrap_or_default();
        let rounds = rounds.map(|n| format!(" --rounds {n}")).unwrap_or_default();
        let seed = records::findings::quoted(seed);
        format!("tidewire reproduce {paper}{live} --seed {seed}{runs}{rounds}")
    }

    fn candidates(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| is_candidate(row))
    }

    /// Number of candidates, of those that agree, of those that differ, and of those that are not decided.
    fn counts(&self) -> [usize; 4] {
        let number =
            |is: fn(&str) -> bool| self.candidates().filter(|row| is(&row.verdict)).count();
        [
            self.candidates().count(),
            number(agrees),
            number(|verdict| verdict == "differs"),
            number(|verdict| grade(verdict) == Grade::Open),
        ]
    }

    fn verdict(&self) -> Verdict {
        let [all, agree, differ, open] = self.counts();
        if !self.paper.live && self.rows.is_empty() {
            let reason = "The reproduction ended before its first row was final; no row of the paper is judged.";
            return Verdict { grade: Grade::Note, word: "ENDED".into(), reason: reason.into() };
        }
        if self.paper.live {
            let reason = "The experiments of the paper were measured on this network; no row of the paper is judged.";
            return Verdict { grade: Grade::Note, word: "MEASURED".into(), reason: reason.into() };
        }
        let grade = match (differ, open) {
            (0, 0) => Grade::Pass,
            (0, _) => Grade::Open,
            _ => Grade::Fail,
        };
        let reason = format!(
            "Of {all} predictions and shapes that the model has not seen, {agree} agree with the paper, {differ} differ, \
             and {open} are not decided or cannot be obtained here. Inputs of the model never count."
        );
        Verdict {
            grade,
            word: Text::from(format!("{agree} OF {all} AGREE")),
            reason: Text::long(reason),
        }
    }

    /// Candidates that differ, then those that are not decided, then those that agree; of a live run trials.
    fn numbers(&self) -> Vec<Number> {
        let mut rows: Vec<&Row> = self.candidates().collect();
        rows.sort_by_key(|row| core::cmp::Reverse(grade(&row.verdict)));
        let of_rows = rows.into_iter().filter_map(|row| {
            let claim = row.claims.iter().find(|claim| claim.verdict == row.verdict)?;
            let ours = claim.ours?;
            let paper = published(claim);
            Some(Number {
                name: Text::from(format!("{}: {}", row.id, claim.asks)),
                value: Text::from(with_unit(ours.value, &claim.unit)),
                spread: Text::from(format!("{}; the paper: {paper}", interval(&ours))),
                count: Text::from(format!("n = {}; {}", ours.observations, worded(&claim.verdict))),
                grade: grade(&row.verdict),
            })
        });
        let of_trials = self.trials.iter().map(|trial| Number {
            name: Text::from(format!(
                "{} of {}, {} octets",
                trial.question, trial.service, trial.octets
            )),
            value: Text::from(with_unit(trial.median, &trial.unit)),
            spread: Text::from(format!("median; {} to {}", shown(trial.low), shown(trial.high))),
            count: Text::from(format!("n = {}", counted(trial.values.len() as u64, "round"))),
            grade: Grade::Note,
        });
        of_rows.chain(of_trials).take(MOST_NUMBERS).collect()
    }

    fn about(&self) -> String {
        let Paper { paper, repetitions, rounds, live, .. } = &self.paper;
        let n = match (repetitions, rounds) {
            (Some(n), _) => format!(" with {n} repetitions of each operation or run"),
            (None, Some(n)) => format!(" in {n} rounds"),
            _ => String::new(),
        };
        let how = if *live { "measured the experiments of" } else { "simulated" };
        format!(
            "tidewire {how} {}{n}, and compared {} of the paper with its own results.",
            Text::from(paper),
            counted((self.rows.len() + self.left_out) as u64, "row")
        )
    }

    /// The candidates, for an acceptance test.
    fn requirements(&self) -> Vec<Requirement> {
        let mut rows: Vec<Requirement> = self
            .candidates()
            .flat_map(|row| row.claims.iter().map(move |claim| (row, claim)))
            .map(|(row, claim)| Requirement {
                text: Text::from(format!("{}: {}, {}", row.id, claim.asks, published(claim))),
                of: Text::from(&row.conditions),
                found: Text::from(
                    claim
                        .ours
                        .map_or_else(|| "n/a".to_owned(), |it| with_unit(it.value, &claim.unit)),
                ),
                interval: Text::from(claim.ours.map_or_else(String::new, |it| interval(&it))),
                grade: grade(&claim.verdict),
                verdict: Text::from(match &claim.why {
                    Some(why) if !why.is_empty() => format!("{}: {why}", worded(&claim.verdict)),
                    _ => worded(&claim.verdict),
                }),
            })
            .collect();
        rows.sort_by_key(|row| core::cmp::Reverse(row.grade));
        rows
    }

    fn tables(&self) -> Vec<Table> {
        let others = self.rows.iter().filter(|row| !is_candidate(row)).map(|row| {
            let cells = [&row.id, &row.role, &row.value, &row.conditions].map(Clone::clone);
            cells.into_iter().chain([worded(&row.verdict)]).collect()
        });
        let heads = ["row", "role", "published", "conditions", "result"];
        let mut rows = Table::of(
            "Rows that cannot succeed: inputs, settings, formulas, and what follows from them",
            &heads,
            others,
            MOST_ROWS,
        );
        rows.left_out += self.left_out;
        let trials = self.trials.iter().map(|trial| {
            let Trial { trial, service, question, octets, unit, median, low, high, values } = trial;
            let words = [trial.to_string(), service.clone(), question.clone(), octets.to_string()];
            let numbers =
                [with_unit(*median, unit), shown(*low), shown(*high), values.len().to_string()];
            words.into_iter().chain(numbers).collect()
        });
        let heads = ["trial", "service", "question", "octets", "median", "from", "to", "n"];
        let trials = Table::of("Trials, measured live", &heads, trials, MOST_ROWS);
        [rows, trials].into_iter().filter(|table| !table.rows.is_empty()).collect()
    }

    fn checks(&self) -> Vec<Check> {
        let check = |name, grade, text: &str| Check { name, grade, text: Text::long(text) };
        let n = self.paper.repetitions.or(self.paper.rounds).unwrap_or(0);
        let complete = match &self.cut {
            None => check("complete", Grade::Pass, "every row was judged"),
            Some(cut) => check("complete", Grade::Fail, cut),
        };
        let (clock, noise) = if self.paper.live {
            let wake = self
                .paper
                .host
                .get(bench::folder::LATEST_WAKE)
                .and_then(|it| it.parse::<u64>().ok());
            let wake = wake.map_or_else(
                || "not recorded".to_owned(),
                |it| {
                    format!(
                        "before the run, the host woke up to {} late",
                        records::quantity::span(it)
                    )
                },
            );
            (
                check("clock", Grade::Pass, "round trips by the clock of this host"),
                check("host noise", Grade::Note, &wake),
            )
        } else {
            (
                check("clock", Grade::Pass, "one simulated clock, without error"),
                check(
                    "host noise",
                    Grade::Pass,
                    "simulated: this host has no effect on the numbers",
                ),
            )
        };
        let drops = "frames are lost only where an experiment of the paper demands it";
        let warm_up = "as each experiment of the paper states; see its conditions";
        vec![
            complete,
            check("drops", Grade::Pass, drops),
            clock,
            noise,
            check("warm-up", Grade::Note, warm_up),
            check(
                "repetition",
                if n > 1 { Grade::Pass } else { Grade::Open },
                &format!("{n} repetitions"),
            ),
        ]
    }
}

fn shown(number: Option<f64>) -> String {
    number.map_or_else(|| "n/a".to_owned(), |number| significant(number, 3))
}

fn with_unit(number: Option<f64>, unit: &str) -> String {
    let unit = if unit == "1" { "" } else { unit };
    format!("{} {unit}", shown(number)).trim_end().to_owned()
}

fn interval(ours: &Ours) -> String {
    format!("{} to {}", shown(ours.low), shown(ours.high))
}

fn published(claim: &Claim) -> String {
    let Claim { least, most, unit, .. } = claim;
    match (least, most) {
        (Some(least), Some(most)) if least.total_cmp(most).is_eq() => with_unit(Some(*least), unit),
        (Some(least), Some(most)) => {
            format!("{} to {}", shown(Some(*least)), with_unit(Some(*most), unit))
        }
        (Some(least), None) => format!("at least {}", with_unit(Some(*least), unit)),
        (None, Some(most)) => format!("at most {}", with_unit(Some(*most), unit)),
        (None, None) => "no number".to_owned(),
    }
}

/// A verdict of the records in words.
fn worded(verdict: &str) -> String {
    verdict.replace('-', " ")
}
