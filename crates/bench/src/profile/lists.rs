//! Lists of a profile's TOML, and the names by which their entries refer to each other.

use super::Unit;
use crate::scenario::fields::{Fields, Placed, Read};
use crate::scenario::names::wrong_name;
use crate::scenario::{Problem, meant};
use std::collections::BTreeSet;
use toml::de::DeValue;

/// The most resources of a machine.
pub(super) const MOST_RESOURCES: usize = 64;

/// The name of an entry of a list, if it has one.
fn name_of<'t>(item: &'t Placed<'_>) -> Option<(&'t str, core::ops::Range<usize>)> {
    let name = item.get_ref().get("name")?;
    Some((name.get_ref().as_str()?, name.span()))
}

/// The names of a list's entries in their order, wrong ones included. Each may occur once.
pub(super) fn once<'t>(
    what: &str,
    list: Option<&'t Placed<'_>>,
    problems: &mut Vec<Problem>,
) -> Vec<&'t str> {
    let Some(DeValue::Array(items)) = list.map(toml::Spanned::get_ref) else { return Vec::new() };
    let mut seen = BTreeSet::new();
    let mut names = Vec::new();
    for item in items.iter() {
        let (name, span) = name_of(item).unwrap_or(("", item.span()));
        let wrong = wrong_name(name).or_else(|| {
            let is_first = name.is_empty() || seen.insert(name);
            (!is_first).then(|| format!("there are two {what}s \"{name}\""))
        });
        problems.extend(wrong.map(|message| Problem::error(span, message)));
        names.push(name);
    }
    names
}

/// Names of inputs, and their units if they are valid.
pub(super) struct Names<'a> {
    pub(super) inputs: Vec<&'a str>,
    pub(super) units: Vec<Option<Unit>>,
}

impl<'a> Names<'a> {
    pub(super) fn of(list: Option<&'a Placed<'_>>, problems: &mut Vec<Problem>) -> Self {
        let inputs = once("input", list, problems);
        let items = list.and_then(|list| list.get_ref().as_array());
        // An invalid unit is reported where the input is read.
        let unit = |item: &Placed<'_>| Unit::read(item.get_ref().get("unit")?, &mut Vec::new());
        let units = items.into_iter().flat_map(|items| items.iter()).map(unit).collect();
        Self { inputs, units }
    }

    /// The number of the input that a value names.
    pub(super) fn find(&self, value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<usize> {
        named(value, "input", &self.inputs, problems)
    }

    /// The number of the input that a key names, if the key is there; its unit must be the key's.
    pub(super) fn take(
        &self,
        fields: &mut Fields<'_, '_>,
        key: &'static str,
        unit: Unit,
        problems: &mut Vec<Problem>,
    ) -> Option<usize> {
        let value = fields.value(key)?;
        let input = self.find(value, problems)?;
        let found = self.units.get(input).copied().flatten();
        if let Some(found) = found.filter(|found| *found != unit) {
            let message = format!("`{key}` is in {unit}, and this input is in {found}");
            problems.push(Problem::error(value.span(), message));
        }
        Some(input)
    }
}

/// The place of the name that a value holds among some.
pub(super) fn named(
    value: &Placed<'_>,
    what: &str,
    known: &[&str],
    problems: &mut Vec<Problem>,
) -> Option<usize> {
    let written = String::read(value, problems)?;
    let place = known.iter().position(|name| *name == written);
    if place.is_none() {
        let problem = Problem::error(value.span(), format!("unknown {what} \"{written}\""));
        problems.push(match meant(&written, known.iter().copied()) {
            Some(name) => problem.help(format!("did you mean \"{name}\"?")),
            None => problem,
        });
    }
    place
}

/// Reads every table of a list of at most `most`.
pub(super) fn each<T>(
    fields: &mut Fields<'_, '_>,
    key: &'static str,
    most: usize,
    problems: &mut Vec<Problem>,
    mut one: impl FnMut(&Placed<'_>, &mut Vec<Problem>) -> Option<T>,
) -> Vec<T> {
    let Some(value) = fields.value(key) else { return Vec::new() };
    match value.get_ref() {
        DeValue::Array(items) if items.len() > most => {
            let message = format!("{} entries of `{key}` are more than {most}", items.len());
            problems.push(Problem::error(value.span(), message));
            Vec::new()
        }
        DeValue::Array(items) => items.iter().filter_map(|item| one(item, problems)).collect(),
        _ => {
            problems.push(Problem::error(value.span(), format!("expected a list for `{key}`")));
            Vec::new()
        }
    }
}
