//! The problems of a scenario: the place, the expected form, the likely intention.

use crate::paragraph::{COLUMNS, wrapped};
use core::fmt;
use core::ops::Range;
use std::collections::BTreeMap;
use strsim::osa_distance;
use wire::printable::Printable;

/// Lines of a scenario's problems that are shown, those of the first in any case; further problems are
/// only counted. With what a command prints before and after them they are fifty.
const MOST_LINES: usize = 46;
/// Problems of a scenario beyond which others are stated without the words to choose from: they are not shown.
pub(super) const MOST_ADVISED: usize = 50;
/// Characters of a line that are shown before the caret, and after it.
const MOST_BEFORE: usize = 100;
const MOST_BEHIND: usize = 100;

/// Name of the place of settings from outside the file.
pub(super) const OUTSIDE: &str = "command line";

/// A scenario's text and its origin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    /// The name of the file, as given by the user.
    pub file: String,
    /// Its text; after that, each on its own line, the settings from the command line, and the texts of
    /// the scenarios that it extends.
    pub text: String,
    /// The number of octets of the text that come from the file.
    pub file_octets: usize,
    /// The scenarios that it extends, in the order of their texts.
    bases: Vec<Appended>,
}

/// Text of another file behind that of a source.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Appended {
    file: String,
    start: usize,
}

impl Source {
    /// A file alone.
    #[must_use]
    pub fn new(file: &str, text: &str) -> Self {
        let (file, text) = (file.to_owned(), text.to_owned());
        Self { file, file_octets: text.len(), text, bases: Vec::new() }
    }

    /// Appends the text of another file; returns its place.
    pub(super) fn append(&mut self, file: &str, text: &str) -> usize {
        self.text.push('\n');
        let start = self.text.len();
        self.text.push_str(text);
        self.bases.push(Appended { file: file.to_owned(), start });
        start
    }

    /// The file's text.
    #[must_use]
    pub fn file_text(&self) -> &str {
        self.text.get(..self.file_octets).unwrap_or_default()
    }

    /// Finds the lines of the text, to name the places of octets.
    #[must_use]
    pub fn lines(&self) -> Lines<'_> {
        let newlines = self.text.match_indices('\n').map(|(at, _)| at).collect();
        Lines { source: self, newlines }
    }
}

/// Lines of a source.
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    source: &'a Source,
    /// Places of the ends of lines.
    newlines: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// Place of an octet.
    #[must_use]
    pub fn place(&self, octet: usize) -> Place<'a> {
        let Source { file, text, file_octets, bases } = self.source;
        let octet = octet.min(text.len());
        let base = bases.iter().rev().find(|base| base.start <= octet);
        let (name, origin) = match base {
            Some(base) => (base.file.as_str(), base.start),
            None if octet <= *file_octets => (file.as_str(), 0),
            None => (OUTSIDE, file_octets + 1),
        };
        let ended = |octet: usize| self.newlines.partition_point(|newline| *newline < octet);
        let (above, before) = (ended(origin), ended(octet));
        let newline = before.checked_sub(1).and_then(|last| self.newlines.get(last));
        let start = newline.map_or(0, |newline| newline + 1).max(origin);
        let line = text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
        let column = text.get(start..octet).unwrap_or_default().chars().count() + 1;
        Place { file: name, line: before.saturating_sub(above) + 1, column, text: line }
    }
}

/// Place in a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place<'a> {
    /// Name of the file.
    pub file: &'a str,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// The text of the line.
    pub text: &'a str,
}

/// The severity of a problem.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// The scenario cannot run.
    Error,
    /// The scenario can run, but perhaps not as intended.
    Warning,
}

/// One thing wrong with a scenario. Its place is the octets of a text, or, for a scenario that never
/// was text, the path of a key: `flow.0.size`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem<Place = Range<usize>> {
    /// Its severity.
    pub severity: Severity,
    /// The mistake, in lower case.
    pub message: String,
    /// The octets that contain the mistake, or the path of its key.
    pub place: Place,
    /// The text at the caret.
    pub label: Option<String>,
    /// The remedy.
    pub help: Option<String>,
    /// Problems of a file that the scenario names there.
    pub cause: Option<Box<ScenarioError>>,
    /// The runs that it matters for.
    pub matters: Matters,
}

/// Runs that a problem matters for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Matters {
    /// Every run.
    Always,
    /// Simulated runs.
    WhenSimulated,
}

impl<Place> Problem<Place> {
    /// An error at this place.
    #[must_use]
    pub fn error(place: impl Into<Place>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            message: message.into(),
            place: place.into(),
            label: None,
            help: None,
            cause: None,
            matters: Matters::Always,
        }
    }

    /// A warning at this place.
    #[must_use]
    pub fn warning(place: impl Into<Place>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(place, message) }
    }

    /// Returns the problem as one that matters only if the stations are simulated.
    #[must_use]
    pub const fn when_simulated(mut self) -> Self {
        self.matters = Matters::WhenSimulated;
        self
    }

    /// Returns the problem with a text at its caret.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Returns the problem with advice.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Returns the problem with those of the file that it refers to.
    #[must_use]
    pub fn cause(mut self, cause: Box<ScenarioError>) -> Self {
        self.cause = Some(cause);
        self
    }

    /// Returns the problem at another place.
    #[must_use]
    pub fn moved<Other>(self, place: Other) -> Problem<Other> {
        let Self { severity, message, place: _, label, help, cause, matters } = self;
        Problem { severity, message, place, label, help, cause, matters }
    }
}

impl fmt::Display for Problem<String> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", Printable(&self.place), Printable(&self.message))
    }
}

impl Problem {
    /// Formats the problem for a terminal: message, place, line, caret, advice.
    #[must_use]
    pub fn render(&self, lines: &Lines<'_>) -> String {
        let Place { file: name, line: number, column, text: line } = lines.place(self.place.start);
        let margin = " ".repeat(number.to_string().len());
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        // A problem over several lines is marked to the end of its first.
        let octets = self.place.end.saturating_sub(self.place.start);
        let Excerpt { text, indent, marked } = Excerpt::of(line, column - 1, octets);
        let label = self.label.as_ref().map(|label| Printable(label).to_string());
        let (at_caret, below) = match label {
            Some(label) if margin.len() + 4 + indent.len() + marked + label.len() > COLUMNS => {
                (String::new(), Some(label))
            }
            Some(label) => (format!(" {label}"), None),
            None => (String::new(), None),
        };
        let mut shown = format!(
            "{severity}: {message}\n{margin}--> {name}:{number}:{column}\n{margin} |\n\
             {number} | {text}\n{margin} | {indent}{carets}{at_caret}\n",
            message = Printable(&self.message),
            name = Printable(name),
            carets = "^".repeat(marked),
        );
        let help = self.help.as_ref().map(|help| format!("help: {}", Printable(help)));
        let notes: Vec<String> = below.into_iter().chain(help).collect();
        if !notes.is_empty() {
            shown.push_str(&format!("{margin} |\n"));
        }
        for note in notes {
            shown.push_str(&wrapped(&format!("{margin} = "), &note));
            shown.push('\n');
        }
        if let Some(cause) = &self.cause {
            shown.push_str(&format!("\n{cause}\n"));
        }
        shown
    }
}

/// Part of a line around a problem that fits a terminal, unprintable characters escaped.
struct Excerpt {
    text: String,
    /// Blanks up to the first caret, tabs where the line has tabs.
    indent: String,
    /// Carets.
    marked: usize,
}

impl Excerpt {
    /// The part of `line` around the characters after the first `before`, over `octets` octets.
    fn of(line: &str, before: usize, octets: usize) -> Self {
        let skipped = before.saturating_sub(MOST_BEFORE);
        let mut excerpt = Self { text: String::new(), indent: String::new(), marked: 0 };
        if skipped > 0 {
            excerpt.text.push_str("...");
            excerpt.indent.push_str("   ");
        }
        let mut behind = 0;
        let end = line.char_indices().nth(before).map_or(line.len(), |(at, _)| at) + octets;
        for (place, (at, symbol)) in line.char_indices().enumerate().skip(skipped) {
            if place >= before + MOST_BEHIND {
                excerpt.text.push_str("...");
                break;
            }
            let shown = match symbol {
                '\t' => "\t".to_owned(),
                _ => Printable(symbol.encode_utf8(&mut [0; 4])).to_string(),
            };
            if place < before {
                let blank = if symbol == '\t' { '\t' } else { ' ' };
                excerpt.indent.extend(shown.chars().map(|_| blank));
            } else if at < end {
                behind += shown.chars().count();
            }
            excerpt.text.push_str(&shown);
        }
        excerpt.marked = behind.max(1);
        excerpt
    }
}

/// A scenario that cannot run, and why.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ScenarioError {
    /// The text that was read.
    pub source: Source,
    /// The problems, in order of place; at least one of them an error.
    pub problems: Vec<Problem>,
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.source.lines();
        let mut shown = fitting(self.problems.iter().map(|problem| problem.render(&lines)));
        let more = self.problems.len() - shown.len();
        shown.extend((more > 0).then(|| and_more(more, "problem")));
        f.write_str(shown.join("\n").trim_end())
    }
}

impl core::error::Error for ScenarioError {}

/// States the number of further ones.
fn and_more(count: usize, noun: &str) -> String {
    format!("and {count} more {noun}{}", if count == 1 { "" } else { "s" })
}

/// Texts as far as there is room for their lines, with a line between them; the first in any case.
fn fitting(texts: impl Iterator<Item = String>) -> Vec<String> {
    let (mut shown, mut room) = (Vec::new(), MOST_LINES);
    for text in texts {
        let taken = text.lines().count() + 1;
        if taken > room && !shown.is_empty() {
            break;
        }
        shown.push(text);
        room = room.saturating_sub(taken);
    }
    shown
}

/// Formats warnings for a terminal: each of them, or, where there is no room for all, the first with each message and the
/// number of those like it.
#[must_use]
pub fn warnings<'a>(
    all: impl Iterator<Item = &'a Problem> + Clone,
    lines: &Lines<'_>,
) -> Vec<String> {
    let rendered = |problem: &Problem| problem.render(lines).trim_end().to_owned();
    let each = fitting(all.clone().map(rendered));
    let count = all.clone().count();
    if each.len() == count {
        return each;
    }
    let mut alike: BTreeMap<&str, usize> = BTreeMap::new();
    all.clone().for_each(|it| *alike.entry(&it.message).or_default() += 1);
    let first = all.filter_map(|it| Some((it, alike.remove(it.message.as_str())?)));
    let first: Vec<(&Problem, usize)> = first.collect();
    let mut shown = fitting(first.iter().map(|(problem, alike)| match alike {
        1 => rendered(problem),
        _ => format!("{}\n{} like it", rendered(problem), and_more(*alike - 1, "warning")),
    }));
    let told: usize = first.iter().take(shown.len()).map(|(_, alike)| alike).sum();
    shown.extend((told < count).then(|| and_more(count - told, "warning")));
    shown
}

/// The candidate that was probably meant: the nearest one, if near enough.
#[must_use]
pub fn meant<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let written = folded(written);
    let length = written.chars().count();
    let steps_to = |candidate: &'a str| {
        let of_candidate = candidate.chars().count();
        let most = (of_candidate / 3).max(1);
        // Each character of a difference in length costs a step: a long text need not be compared
        // with a key.
        let may_be_near = length.abs_diff(of_candidate) <= most;
        let steps = may_be_near.then(|| osa_distance(&written, &folded(candidate)));
        steps.filter(|steps| *steps <= most)
    };
    candidates
        .into_iter()
        .filter_map(|candidate| Some((steps_to(candidate)?, candidate)))
        .min()
        .map(|(_, candidate)| candidate)
}

/// A word for a comparison that ignores case and the choice of `-` or `_`.
fn folded(word: &str) -> String {
    word.to_lowercase().replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_meant_and_no_far_one() {
        let keys = ["period", "pattern", "peer", "mean-interval"];
        assert_eq!(meant("perod", keys), Some("period"));
        assert_eq!(meant("peroid", keys), Some("period"));
        assert_eq!(meant("mean_interval", keys), Some("mean-interval"));
        assert_eq!(meant("PERIOD", keys), Some("period"));
        assert_eq!(meant("colour", keys), None);
        // "peer" may be a step away, "pattern" two.
        assert_eq!(meant("peerx", keys), Some("peer"));
        assert_eq!(meant("peerxx", keys), None);
        assert_eq!(meant("patternxx", keys), Some("pattern"));
        assert_eq!(meant(&"period".repeat(1_000), keys), None);
    }

    #[test]
    fn a_place_behind_the_file_is_the_command_line() {
        let mut source = Source::new("a.toml", "seed = 1\n");
        source.text.push_str("\nbackground.load = 30\n");
        let problem = Problem::error(10 + 18..10 + 20, "expected a share");
        assert_eq!(
            problem.render(&source.lines()),
            "error: expected a share\n --> command line:1:19\n  |\n\
             1 | background.load = 30\n  |                   ^^\n"
        );
    }

    #[test]
    fn many_warnings_are_told_by_their_messages() {
        let text = "x = 1\n".repeat(1_000);
        let source = Source::new("a.toml", &text);
        let of = |messages: &[&str], many: usize| -> Vec<String> {
            let places = (0..many).map(|line| line * 6..line * 6 + 1);
            let each = places.zip(messages.iter().cycle());
            let all: Vec<Problem> =
                each.map(|(place, message)| Problem::warning(place, *message)).collect();
            warnings(all.iter(), &source.lines())
        };
        let two = of(&["odd"], 2);
        assert!(two.len() == 2 && two[1].contains("a.toml:2:1"), "{two:?}");
        let many = of(&["odd", "even"], 1_000);
        assert_eq!(many.len(), 2);
        assert!(
            many[1].starts_with("warning: even")
                && many[1].ends_with("and 499 more warnings like it")
        );
        let names: Vec<String> = (0..1_000).map(|number| format!("odd {number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let distinct = of(&names, 1_000);
        let lines: usize = distinct.iter().map(|text| text.lines().count() + 1).sum();
        assert!(lines < 50, "{distinct:?}");
        let told = distinct.len() - 1;
        assert_eq!(distinct.last(), Some(&format!("and {} more warnings", 1_000 - told)));
    }

    #[test]
    fn a_problem_over_many_lines_is_marked_on_its_first() {
        let source = Source::new("a.toml", "x = [\n 1,\n]\n");
        let shown = Problem::warning(4..11, "odd").label("here").render(&source.lines());
        assert!(shown.ends_with("1 | x = [\n  |     ^ here\n"), "{shown}");
    }
}
