//! Reads TOML tables key by key, gathering every problem on the way.
//!
//! The place of each key and value is known, so that each problem can show it. What was set from
//! outside carries a place of its own.

use super::problem::{MOST_ADVISED, Problem, meant};
use super::quantity::{Length, NotAQuantity, Rate, Share, Size, Span};
use core::ops::Range;
use core::str::FromStr;
use toml::de::{DeInteger, DeTable, DeValue};

/// A value and its place in the text.
pub(crate) type Placed<'a> = toml::Spanned<DeValue<'a>>;

/// Something that can be read from a value.
pub(crate) trait Read: Sized {
    /// Reads it, or adds a problem.
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self>;
}

/// A table being read: every key must be requested, or is reported as unknown.
pub(crate) struct Fields<'t, 'a> {
    table: &'t DeTable<'a>,
    span: Range<usize>,
    known: Vec<&'static str>,
    /// Keys that had to be there and were not.
    missing: Vec<&'static str>,
}

impl<'t, 'a> Fields<'t, 'a> {
    /// The keys of the document itself.
    pub(crate) fn document(table: &'t DeTable<'a>, span: Range<usize>) -> Self {
        Self { table, span, known: Vec::new(), missing: Vec::new() }
    }

    /// The keys of a value, which must be a table.
    pub(crate) fn of(value: &'t Placed<'a>, problems: &mut Vec<Problem>) -> Option<Self> {
        match value.get_ref() {
            DeValue::Table(table) => Some(Self::document(table, value.span())),
            other => {
                problems.push(wrong_type(value, other, "a table"));
                None
            }
        }
    }

    /// The place of the whole table.
    pub(crate) fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// The place of a key's value, or of the table without it.
    pub(crate) fn span_of(&self, key: &str) -> Range<usize> {
        self.table.get(key).map_or(self.span(), toml::Spanned::span)
    }

    /// True if the table has this key.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// The value of a key as written.
    pub(crate) fn value(&mut self, key: &'static str) -> Option<&'t Placed<'a>> {
        self.known.push(key);
        self.table.get(key)
    }

    /// A key that may be missing. If its value is wrong, a problem is added.
    pub(crate) fn optional<T: Read>(
        &mut self,
        key: &'static str,
        problems: &mut Vec<Problem>,
    ) -> Option<T> {
        self.value(key).and_then(|value| T::read(value, problems))
    }

    /// A key that must be there.
    pub(crate) fn required<T: Read>(
        &mut self,
        key: &'static str,
        problems: &mut Vec<Problem>,
    ) -> Option<T> {
        let value = self.value(key);
        if value.is_none() {
            self.missing.push(key);
            problems.push(missing(self.span(), key));
        }
        value.and_then(|value| T::read(value, problems))
    }

    /// A key whose value is one of some words.
    pub(crate) fn word<T: Copy>(
        &mut self,
        key: &'static str,
        words: &[(&'static str, T)],
        problems: &mut Vec<Problem>,
    ) -> Option<T> {
        let span = self.span_of(key);
        let written: String = self.required(key, problems)?;
        pick(&written, span, key, words, problems)
    }

    /// Reports every key that was not requested.
    pub(crate) fn finish(self, problems: &mut Vec<Problem>) {
        for key in self.table.keys() {
            let name = key.get_ref().as_ref();
            if self.known.contains(&name) {
                continue;
            }
            let mut problem = Problem::error(key.span(), format!("unknown key `{name}`"));
            // Beyond those that are shown it only matters which key is not missing.
            let mut choice = &self.missing;
            if problems.len() < MOST_ADVISED {
                choice = &self.known;
                let mut known = self.known.clone();
                known.sort_unstable();
                known.dedup();
                problem = problem.label(one_of(known, '`'));
            }
            let Some(key) = meant(name, choice.iter().copied()) else {
                problems.push(problem);
                continue;
            };
            // A misspelt key is not also missing. What this table lacks was reported last.
            if self.missing.contains(&key) {
                let missing = missing(self.span.clone(), key);
                if let Some(at) = problems.iter().rposition(|problem| *problem == missing) {
                    problems.remove(at);
                }
            }
            problems.push(problem.help(format!("did you mean `{key}`?")));
        }
    }
}

fn missing(table: Range<usize>, key: &str) -> Problem {
    Problem::error(table, format!("missing key `{key}`"))
}

/// The words to choose from, each between marks.
fn one_of<'w>(words: impl IntoIterator<Item = &'w str>, mark: char) -> String {
    let mut text = "expected one of ".to_owned();
    for (number, word) in words.into_iter().enumerate() {
        text.push_str(if number > 0 { ", " } else { "" });
        text.push(mark);
        text.push_str(word);
        text.push(mark);
    }
    text
}

/// Finds a word among some.
pub(crate) fn pick<T: Copy>(
    written: &str,
    span: Range<usize>,
    what: &str,
    words: &[(&'static str, T)],
    problems: &mut Vec<Problem>,
) -> Option<T> {
    if let Some((_, found)) = words.iter().find(|(word, _)| *word == written) {
        return Some(*found);
    }
    let problem = Problem::error(span, format!("unknown {what} \"{written}\""))
        .label(one_of(words.iter().map(|(word, _)| *word), '"'));
    problems.push(match meant(written, words.iter().map(|(word, _)| *word)) {
        Some(word) => problem.help(format!("did you mean \"{word}\"?")),
        None => problem,
    });
    None
}

fn wrong_type(value: &Placed<'_>, found: &DeValue<'_>, expected: &str) -> Problem {
    let article = match found.type_str() {
        kind @ ("integer" | "array") => format!("an {kind}"),
        kind => format!("a {kind}"),
    };
    Problem::error(value.span(), format!("expected {expected}, found {article}"))
}

impl Read for String {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        match value.get_ref() {
            DeValue::String(text) => Some(text.clone().into_owned()),
            other => {
                problems.push(wrong_type(value, other, "a string"));
                None
            }
        }
    }
}

impl Read for bool {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let found = value.get_ref().as_bool();
        if found.is_none() {
            problems.push(wrong_type(value, value.get_ref(), "true or false"));
        }
        found
    }
}

impl Read for u64 {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let DeValue::Integer(integer) = value.get_ref() else {
            problems.push(wrong_type(value, value.get_ref(), "a whole number"));
            return None;
        };
        let found = whole(integer);
        if found.is_none() {
            let range = format!("expected a whole number from 0 to {}", i64::MAX);
            problems.push(Problem::error(value.span(), range));
        }
        found
    }
}

fn whole(integer: &DeInteger<'_>) -> Option<u64> {
    let found = u64::from_str_radix(integer.as_str(), integer.radix()).ok()?;
    // TOML's integers have 63 bits and a sign; more would not survive being written back.
    i64::try_from(found).is_ok().then_some(found)
}

fn quantity<T: FromStr<Err = NotAQuantity>>(
    value: &Placed<'_>,
    problems: &mut Vec<Problem>,
) -> Option<T> {
    // A bare number where a quantity belongs is best answered by what was expected.
    let text = match value.get_ref() {
        DeValue::String(text) => text.clone().into_owned(),
        DeValue::Integer(integer) => integer.to_string(),
        DeValue::Float(float) => float.to_string(),
        other => {
            problems.push(wrong_type(value, other, "a string with a number and its unit"));
            return None;
        }
    };
    match text.parse() {
        Ok(found) if value.get_ref().is_str() => return Some(found),
        Ok(_) => problems.push(Problem::error(value.span(), "a quantity is written as a string")),
        Err(wrong) => {
            let problem = Problem::error(value.span(), format!("expected {}", wrong.expected));
            problems.push(match wrong.because {
                Some(because) => problem.label(because),
                None => problem,
            });
        }
    }
    None
}

impl Read for Span {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        quantity(value, problems)
    }
}

impl Read for Rate {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        quantity(value, problems)
    }
}

impl Read for Size {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        quantity(value, problems)
    }
}

impl Read for Length {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        quantity(value, problems)
    }
}

impl Read for Share {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let share: Self = quantity(value, problems)?;
        if share > Self::WHOLE {
            problems.push(Problem::error(value.span(), "a share is at most 100 %"));
            return None;
        }
        Some(share)
    }
}

/// The place of a value by its path, `flow.0.size`, or of the last part of the path there is.
pub(super) fn place_of(document: &Placed<'_>, path: &str) -> Range<usize> {
    let mut value = document;
    // A value without a place is a table that another key created.
    let mut place = value.span();
    for part in path.split('.') {
        let next = match value.get_ref() {
            DeValue::Table(table) => table.get(part),
            DeValue::Array(items) => part.parse().ok().and_then(|i: usize| items.get(i)),
            _ => None,
        };
        let Some(next) = next else { break };
        value = next;
        place = value.span();
    }
    place
}
