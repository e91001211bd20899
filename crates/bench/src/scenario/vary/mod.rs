//! Keys that take several values: from one scenario to all its points.
//!
//! A value is set in the TOML tree before the tree is read, so that a wrong one is reported at its
//! own place. Paths vary in alphabetical order, the last of them fastest.

mod constraint;
mod extends;
mod given;
mod origins;
mod path;
mod setting;
mod value;

pub use extends::Base;
pub use given::CannotSet;
pub use setting::{Setting, Values};

use constraint::Constraint;
use origins::Origins;
use value::{Value, may_vary, simple, spelled, text_of};

use crate::profile::{Files, ProfileFile};
use crate::scenario::fields::{Fields, Placed, place_of};
use crate::scenario::machines::Machines;
use crate::scenario::problem::{OUTSIDE, Problem, ScenarioError, Severity, Source};
use crate::scenario::quantity::Decimal;
use crate::scenario::servers::{ModelFile, Servers};
use crate::scenario::{MOST_RUNS, Scenario, architecture, check, directory, groups, mms, parse};
use crate::titles::TitlesFile;
use core::iter::repeat_n;
use core::ops::Range;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use toml::de::{DeTable, DeValue};

/// The most points of a study.
const MOST_POINTS: usize = 10_000;

/// A scenario and all its points.
#[derive(Clone, PartialEq, Debug)]
pub struct Study {
    /// The text that was read.
    pub source: Source,
    /// The points in their order; at least one.
    pub points: Vec<Point>,
    /// The profile files that they name, by the names that they have for them.
    pub profiles: BTreeMap<String, ProfileFile>,
    /// The files of titles that they name, by the names that they have for them.
    pub titles: BTreeMap<String, TitlesFile>,
    /// The SCL files of servers that they name, by the names that they have for them.
    pub models: BTreeMap<String, ModelFile>,
    /// The scenarios that it extends, by the names that it has for them.
    pub bases: BTreeMap<String, Base>,
    /// Places of the values of the first point in the source.
    pub(crate) origins: Origins,
    /// Statements that may not be as intended.
    pub warnings: Vec<Problem>,
}

impl Study {
    /// A scenario that was made as data, written out in the file format under `name`.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn of(scenario: &Scenario, name: &str) -> Result<Self, ScenarioError> {
        let study = load(&groups::to_toml(scenario), name)?;
        // A line of the written form is no place that a user knows.
        Ok(Self { origins: Origins::new(), ..study })
    }

    /// The files that the points name: profiles, titles, SCL of servers, and extended scenarios.
    pub fn files(&self) -> impl Iterator<Item = NamedFile<'_>> {
        let profiles = self.profiles.iter().map(|(name, file)| NamedFile {
            name,
            path: &file.path,
            octets: file.text.as_bytes(),
        });
        let titles = self.titles.iter().map(|(name, file)| NamedFile {
            name,
            path: &file.path,
            octets: file.text.as_bytes(),
        });
        let models = self.models.iter().map(|(name, file)| NamedFile {
            name,
            path: &file.path,
            octets: &file.octets,
        });
        let bases = self.bases.iter().map(|(name, base)| NamedFile {
            name,
            path: base.path.as_deref().unwrap_or(Path::new("")),
            octets: base.text.as_bytes(),
        });
        profiles.chain(titles).chain(models).chain(bases)
    }

    /// The scenario of the first point, with everything that varies.
    #[must_use]
    pub fn scenario(&self) -> &Scenario {
        &self.points.first().expect("a study has at least one point").scenario
    }
}

/// A file that a study names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NamedFile<'a> {
    /// Its name in the scenario.
    pub name: &'a str,
    /// Its path; empty for a built-in scenario.
    pub path: &'a Path,
    /// Its octets as they were read.
    pub octets: &'a [u8],
}

/// One setting of everything that varies.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// Its place among the points, from 0.
    pub index: usize,
    /// The values set, by dotted path, in one spelling.
    pub settings: BTreeMap<String, String>,
    /// The scenario with that set.
    pub scenario: Scenario,
}

/// The form in a file of the values of one key.
pub(in crate::scenario) struct AxisSchema;

impl JsonSchema for AxisSchema {
    fn schema_name() -> Cow<'static, str> {
        "Axis".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let value = serde_json::json!({ "type": ["string", "number", "boolean"] });
        let table = serde_json::json!({ "type": "object", "additionalProperties": value });
        let nested = serde_json::json!({
            "type": "object",
            "additionalProperties": { "oneOf": [value, table] },
        });
        let item = serde_json::json!({ "oneOf": [value, nested] });
        let range = serde_json::json!({
            "type": "object",
            "properties": { "from": value, "to": value, "step": value },
            "required": ["from", "to", "step"],
            "additionalProperties": false,
        });
        json_schema!({
            "description": "values in turn, or a range with both ends included",
            "oneOf": [{ "type": "array", "items": item, "minItems": 1 }, range],
        })
    }
}

/// Reads a scenario and all its points.
///
/// # Errors
/// Everything that is wrong with it.
pub fn load(text: &str, file: &str) -> Result<Study, ScenarioError> {
    load_with(text, file, &[])
}

/// Reads a scenario with some of its keys set from outside.
///
/// # Errors
/// Everything that is wrong with it.
pub fn load_with(text: &str, file: &str, settings: &[Setting]) -> Result<Study, ScenarioError> {
    load_within(text, file, settings, MOST_POINTS)
}

/// Reads a scenario with some of its keys set from outside. `most_points` limits the points,
/// because each takes the time and the memory of a scenario.
///
/// # Errors
/// Everything that is wrong with it.
pub fn load_within(
    text: &str,
    file: &str,
    settings: &[Setting],
    most_points: usize,
) -> Result<Study, ScenarioError> {
    Loader { files: &Files::None, most_points }.load(text, file, settings)
}

/// Reads a scenario that may name profile files, with some of its keys set from outside.
///
/// # Errors
/// Everything that is wrong with it and with them.
pub fn load_from(
    text: &str,
    file: &str,
    files: &Files,
    settings: &[Setting],
) -> Result<Study, ScenarioError> {
    Loader { files, most_points: MOST_POINTS }.load(text, file, settings)
}

/// The files that the points of a study name, and the places of the first point's values.
struct Named<'a> {
    machines: Machines<'a>,
    titles: directory::Files<'a>,
    servers: Servers<'a>,
    origins: Origins,
}

/// The bounds of a scenario: its profile files, and the most points.
struct Loader<'a> {
    files: &'a Files,
    most_points: usize,
}

impl Loader<'_> {
    fn load(&self, text: &str, file: &str, settings: &[Setting]) -> Result<Study, ScenarioError> {
        let most_points = self.most_points;
        let mut source = Source::new(file, text);
        let mut added = append(&mut source, settings);
        let (document, faults) = DeTable::parse_recoverable(text);
        let mut problems: Vec<Problem> =
            faults.iter().map(|fault| not_toml(fault, &source)).collect();
        if !problems.is_empty() {
            return Err(ScenarioError { source, problems });
        }
        let bases = extends::read(document.get_ref(), &mut source, self.files)?;
        let span = document.span();
        let mut table = match extends::merged(document.into_inner(), &bases) {
            Ok(table) => table,
            Err(problems) => return Err(ScenarioError { source, problems }),
        };
        let mut axes = axes_of(&table, most_points, &mut problems);
        for (setting, spans) in settings.iter().zip(&mut added) {
            if setting.path == constraint::KEY {
                set_constraint(&mut table, setting, spans);
                continue;
            }
            let spans = core::mem::take(spans);
            let axis = axis_from_outside(setting, spans, most_points, &mut problems);
            axes.insert(setting.path.clone(), axis);
        }
        // Each point begins with a copy of the document, and `vary` may hold as many values as
        // there are points.
        table.remove("vary");
        let document = toml::Spanned::new(span, DeValue::Table(table));
        let place_of_replications = place_of(&document, "replications");
        let mut named = Named {
            machines: Machines::new(self.files),
            titles: directory::Files::new(self.files),
            servers: Servers::new(self.files),
            origins: axes.iter().map(|(path, it)| (format!("vary.{path}"), it.key.start)).collect(),
        };
        let points = points(document, &axes, most_points, &mut named, &mut problems);
        let runs = points.iter().map(|point| point.scenario.replications);
        let runs = runs.fold(0_u64, u64::saturating_add);
        if runs > MOST_RUNS {
            let message =
                format!("{} points take {runs} runs, more than {MOST_RUNS}", points.len());
            problems.push(Problem::error(place_of_replications, message));
        }
        problems.sort_by_key(|problem| (problem.place.start, problem.place.end, problem.severity));
        groups::merge(&mut problems);
        if problems.iter().any(|problem| problem.severity == Severity::Error) || points.is_empty() {
            return Err(ScenarioError { source, problems });
        }
        let Named { machines, titles, servers, origins } = named;
        let (profiles, titles, models) = (machines.found, titles.found, servers.found);
        let bases = bases.into_iter().map(|it| (it.name, it.base)).collect();
        Ok(Study { source, points, profiles, titles, models, bases, origins, warnings: problems })
    }
}

/// The error of the TOML reader, as a problem.
pub(crate) fn not_toml(fault: &toml::de::Error, source: &Source) -> Problem {
    let end = source.file_octets;
    let span = fault.span().unwrap_or(end..end);
    let begins_a_word =
        source.text.get(span.start..).is_some_and(|rest| rest.starts_with(char::is_alphabetic));
    let problem = Problem::error(span, fault.message().trim().to_owned());
    if begins_a_word { problem.help("text is written in quotes") } else { problem }
}

/// Appends the settings from outside to the text, a line each; returns the places of each path and
/// its values.
fn append(source: &mut Source, settings: &[Setting]) -> Vec<Vec<Range<usize>>> {
    let mut places = Vec::new();
    source.text.push('\n');
    for Setting { path, values } in settings {
        let mut line =
            vec![Range { start: source.text.len(), end: source.text.len() + path.len() }];
        source.text.push_str(path);
        let values: Vec<&String> = match values {
            Values::List(values) => values.iter().collect(),
            Values::Range { from, to, step } => vec![from, to, step],
        };
        for (index, value) in values.into_iter().enumerate() {
            source.text.push_str(if index == 0 { " = " } else { ", " });
            line.push(source.text.len()..source.text.len() + value.len());
            source.text.push_str(value);
        }
        source.text.push('\n');
        places.push(line);
    }
    places
}

/// Sets the constraint from outside, in place of the document's.
fn set_constraint<'a>(table: &mut DeTable<'a>, setting: &Setting, places: &[Range<usize>]) {
    let [key, place] = places else { return };
    if let Values::List(values) = &setting.values {
        let text = DeValue::String(Cow::Owned(values.join(",")));
        table.remove(constraint::KEY);
        table.insert(
            toml::Spanned::new(key.clone(), Cow::Borrowed(constraint::KEY)),
            toml::Spanned::new(place.clone(), text),
        );
    }
}

/// The constraint of a document, if it has one that can be read.
fn constraint_of(
    document: &Placed<'_>,
    axes: &BTreeMap<String, Axis<'_>>,
    problems: &mut Vec<Problem>,
) -> Option<Constraint> {
    let value = document.get_ref().get(constraint::KEY)?;
    let keys: Vec<&str> = axes.keys().map(String::as_str).collect();
    match Constraint::read(value.get_ref().as_str()?, value.span(), &keys) {
        Ok(constraint) => Some(constraint),
        Err(problem) => {
            problems.push(problem);
            None
        }
    }
}

/// The values of one key.
struct Axis<'a> {
    /// The place of the key.
    key: Range<usize>,
    /// The values.
    values: Vec<Value<'a>>,
}

/// Reads `vary` of the document.
fn axes_of<'a>(
    document: &DeTable<'a>,
    most_points: usize,
    problems: &mut Vec<Problem>,
) -> BTreeMap<String, Axis<'a>> {
    let mut axes = BTreeMap::new();
    let Some(vary) = document.get("vary") else { return axes };
    let DeValue::Table(table) = vary.get_ref() else {
        problems.push(Problem::error(vary.span(), "expected a table of paths and their values"));
        return axes;
    };
    for (key, value) in table {
        let path = key.get_ref().clone().into_owned();
        let values = match value.get_ref() {
            DeValue::Array(items) => items.iter().cloned().map(Value::Placed).collect(),
            DeValue::Table(_) => range_of(value, most_points, problems),
            _ => {
                let problem = Problem::error(value.span(), "expected a list of values or a range");
                let help = "write { from = \"0 %\", to = \"70 %\", step = \"5 %\" }";
                problems.push(problem.help(help));
                continue;
            }
        };
        if values.is_empty() {
            // A wrong range is already reported.
            if value.get_ref().is_array() {
                problems.push(Problem::error(value.span(), "there is no value to take"));
            }
            continue;
        }
        axes.insert(path, Axis { key: key.span(), values });
    }
    axes
}

fn range_of<'a>(
    value: &Placed<'_>,
    most_points: usize,
    problems: &mut Vec<Problem>,
) -> Vec<Value<'a>> {
    let Some(mut fields) = Fields::of(value, problems) else { return Vec::new() };
    let mut ends = Vec::new();
    for key in ["from", "to", "step"] {
        match fields.value(key) {
            Some(end) => ends.push((text_of(end.get_ref()), end.span())),
            None => problems.push(Problem::error(fields.span(), format!("missing key `{key}`"))),
        }
    }
    fields.finish(problems);
    match <[(String, Range<usize>); 3]>::try_from(ends) {
        Ok(ends) => steps(&ends, most_points, problems),
        Err(_) => Vec::new(),
    }
}

/// Reads a key set from outside.
fn axis_from_outside<'a>(
    setting: &Setting,
    mut places: Vec<Range<usize>>,
    most_points: usize,
    problems: &mut Vec<Problem>,
) -> Axis<'a> {
    let key = places.remove(0);
    let values = match &setting.values {
        Values::List(values) => {
            values.iter().cloned().zip(places).map(|(v, at)| Value::Text(v, at)).collect()
        }
        Values::Range { from, to, step } => {
            let texts = [from, to, step].into_iter().cloned().zip(places);
            match <[(String, Range<usize>); 3]>::try_from(texts.collect::<Vec<_>>()) {
                Ok(ends) => steps(&ends, most_points, problems),
                Err(_) => Vec::new(),
            }
        }
    };
    if values.is_empty() && problems.is_empty() {
        problems.push(Problem::error(key.clone(), "there is no value to take"));
    }
    Axis { key, values }
}

/// All values of a range: from, to and step with their places, in numbers of one unit.
fn steps<'a>(
    ends: &[(String, Range<usize>); 3],
    most_points: usize,
    problems: &mut Vec<Problem>,
) -> Vec<Value<'a>> {
    let [(from, place), (to, to_place), (step, step_place)] = ends;
    let mut fail = |place: &Range<usize>, message: String| {
        problems.push(Problem::error(place.clone(), message));
        Vec::new()
    };
    let [Some(first), Some(last), Some(each)] = [from, to, step].map(|text| Decimal::read(text))
    else {
        return fail(place, "a range needs numbers, each with its unit".to_owned());
    };
    if first.unit != each.unit {
        return fail(step_place, format!("the step is not in \"{}\" as `from` is", first.unit));
    }
    if first.unit != last.unit {
        return fail(to_place, format!("the end is not in \"{}\" as `from` is", first.unit));
    }
    let decimals = first.decimals.max(last.decimals).max(each.decimals);
    let scaled =
        |number: &Decimal<'_>| u128::from(number.digits) * 10_u128.pow(decimals - number.decimals);
    let (low, high, each) = (scaled(&first), scaled(&last), scaled(&each));
    if each == 0 || low > high {
        return fail(step_place, "a range climbs from `from` to `to`".to_owned());
    }
    if (high - low) / each >= most_points as u128 {
        return fail(step_place, format!("more than {most_points} steps"));
    }
    (0..=(high - low) / each)
        .map(|index| {
            let digits = u64::try_from(low + index * each).unwrap_or(u64::MAX);
            let number = Decimal { digits, decimals, unit: first.unit };
            Value::Text(spelled(&number.to_string()), place.clone())
        })
        .collect()
}

/// Reads the scenario of every point.
fn points(
    document: Placed<'_>,
    axes: &BTreeMap<String, Axis<'_>>,
    most_points: usize,
    named: &mut Named<'_>,
    problems: &mut Vec<Problem>,
) -> Vec<Point> {
    let count = axes.values().try_fold(1_usize, |product, axis| {
        product.checked_mul(axis.values.len()).filter(|count| *count <= most_points)
    });
    let Some(count) = count else {
        let place = axes.values().next().map_or(document.span(), |axis| axis.key.clone());
        problems.push(Problem::error(place, format!("more than {most_points} points")));
        return Vec::new();
    };
    let constraint = constraint_of(&document, axes, problems);
    let mut points: Vec<Point> = Vec::new();
    // The last is no copy but the document itself.
    for (index, mut tree) in repeat_n(document, count).enumerate() {
        let mut settings = BTreeMap::new();
        let mut remaining = index;
        // The last path varies fastest, as the last digit of a number does.
        for (path, axis) in axes.iter().rev() {
            let value = &axis.values[remaining % axis.values.len()];
            remaining /= axis.values.len();
            let placed = value.placed();
            settings.insert(path.clone(), spelled(&text_of(placed.get_ref())));
            if let Err(problem) = path::set(&mut tree, path, &axis.key, placed) {
                problems.push(problem);
            }
        }
        match constraint.as_ref().map_or(Ok(true), |it| it.holds(&settings)) {
            Ok(true) => {}
            Ok(false) => continue,
            Err(problem) => {
                problems.push(problem);
                break;
            }
        }
        if points.is_empty() {
            named.origins.append(&mut origins::of(&tree));
        }
        let before = problems.len();
        let expanded = groups::expand(&tree, problems);
        let written_out = expanded.as_ref().unwrap_or(&tree);
        let scenario = parse::scenario(written_out, problems);
        let grouped = expanded.as_ref().and_then(|_| parse::scenario(&tree, problems));
        if let Some(mut scenario) = scenario.filter(|_| problems.len() == before) {
            architecture::choose(&mut scenario);
            named.machines.resolve(&mut scenario, written_out, problems);
            named.titles.resolve(&mut scenario, written_out, problems);
            named.servers.resolve(&mut scenario, written_out, problems);
            let mut unanswered = Vec::new();
            mms::resolve(&mut scenario, &mut unanswered);
            let found = unanswered.into_iter().chain(check::check(&scenario));
            problems.extend(found.map(|problem| {
                let place = place_of(written_out, &problem.place);
                problem.moved(place)
            }));
            scenario.grouped = grouped.map(Arc::new);
            points.push(Point { index: points.len(), settings, scenario });
        }
        if problems.iter().filter(|problem| problem.severity == Severity::Error).count() > 20 {
            break;
        }
    }
    if let Some(constraint) = constraint.filter(|_| points.is_empty() && problems.is_empty()) {
        problems.push(constraint.leaves_nothing());
    }
    let simple_values = |axis: &Axis<'_>| axis.values.iter().filter_map(simple).collect();
    let vary = axes.iter().map(|(path, axis)| (path.clone(), simple_values(axis))).collect();
    let vary = Arc::new(vary);
    for point in &mut points {
        point.scenario.vary = Arc::clone(&vary);
    }
    points
}

#[cfg(test)]
mod tests;
