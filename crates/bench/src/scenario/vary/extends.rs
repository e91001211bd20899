//! Scenarios that extend others: `extends = "status-csma"`, or a file relative to the scenario's folder.
//!
//! Tables are merged key by key, and elements of lists by their `name`; other values replace those of the
//! scenario that is extended. A table of another `kind` replaces the whole table.

use crate::profile::{Files, Unreadable, is_file_name};
use crate::scenario::fields::{Placed, Read};
use crate::scenario::problem::{Problem, ScenarioError, Source, meant};
use crate::scenarios;
use std::path::{Path, PathBuf};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Key that names the scenario to extend.
pub(super) const KEY: &str = "extends";
/// Longest chain of scenarios that extend each other.
const MOST_BASES: usize = 8;

/// Scenario that another one extends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Base {
    /// Its path; none for a built-in scenario.
    pub path: Option<PathBuf>,
    /// Its text as it was read.
    pub text: String,
}

/// Base with its name, and the place of its text in the source.
pub(super) struct Appended {
    pub(super) name: String,
    pub(super) base: Base,
    start: usize,
}

/// Reads all bases of a document, the nearest first, and appends their texts to its source.
///
/// # Errors
/// A base that cannot be read, is no TOML, or extends one of those before it.
pub(super) fn read(
    document: &DeTable<'_>,
    source: &mut Source,
    files: &Files,
) -> Result<Vec<Appended>, ScenarioError> {
    let mut bases: Vec<Appended> = Vec::new();
    let mut next = named(document, 0, source)?;
    while let Some((wanted, place)) = next {
        let name = bases.last().map_or_else(|| wanted.clone(), |by| relative(&by.name, &wanted));
        let refused = |problem: Problem| {
            let problems = vec![problem.moved(place.clone())];
            ScenarioError { source: source.clone(), problems }
        };
        let is_itself = name == source.file || bases.iter().any(|base| base.name == name);
        if is_itself || bases.len() == MOST_BASES {
            let what = if is_itself { "extends itself" } else { "has too many bases" };
            let message = format!("\"{}\" {what}", source.file);
            return Err(refused(Problem::error(0..0, message)));
        }
        let base = match find(&name, files) {
            Ok(base) => base,
            Err(error) => return Err(refused(missing(&wanted, &error))),
        };
        let start = source.append(&name, &base.text);
        // Other faults of the text are reported when it is merged.
        let (document, _) = DeTable::parse_recoverable(&base.text);
        next = named(document.get_ref(), start, source)?;
        bases.push(Appended { name, base, start });
    }
    Ok(bases)
}

/// The scenario that a document extends, and the place of its name in the source. The document's text
/// starts there at `start`.
fn named(
    document: &DeTable<'_>,
    start: usize,
    source: &Source,
) -> Result<Option<(String, core::ops::Range<usize>)>, ScenarioError> {
    let Some(value) = document.get(KEY) else { return Ok(None) };
    let place = start + value.span().start..start + value.span().end;
    let mut problems = Vec::new();
    match String::read(value, &mut problems) {
        Some(name) => Ok(Some((name, place))),
        None => {
            let problems = problems.into_iter().map(|it| it.moved(place.clone())).collect();
            Err(ScenarioError { source: source.clone(), problems })
        }
    }
}

/// Name of a base relative to the scenario's folder, if the base named `by` calls it `name`.
fn relative(by: &str, name: &str) -> String {
    let folder = Path::new(by).parent().filter(|_| is_file_name(by) && is_file_name(name));
    folder.map_or_else(|| name.to_owned(), |it| it.join(name).to_string_lossy().into_owned())
}

/// Finds a base: a copy in a run folder, a file, or a built-in scenario.
fn find(name: &str, files: &Files) -> Result<Base, Unreadable> {
    let is_copied = matches!(files, Files::Copies(copies) if copies.contains_key(name));
    match scenarios::get(name) {
        Some(built_in) if !is_copied && !is_file_name(name) => {
            Ok(Base { path: None, text: built_in.text.to_owned() })
        }
        _ => files.text(name).map(|(path, text)| Base { path: Some(path), text }),
    }
}

/// The problem of a base that cannot be read.
fn missing(wanted: &str, error: &Unreadable) -> Problem {
    let built_in = || scenarios::ALL.into_iter().map(|it| it.name);
    if is_file_name(wanted) {
        return Problem::error(0..0, format!("cannot extend \"{wanted}\": {error}"));
    }
    let message = format!("there is no built-in scenario \"{wanted}\"");
    Problem::error(0..0, message).help(match meant(wanted, built_in()) {
        Some(name) => format!("did you mean \"{name}\"?"),
        None => format!("one of {}", built_in().collect::<Vec<_>>().join(", ")),
    })
}

/// Merges a document over its bases, each read already.
///
/// # Errors
/// The faults of a base that is no TOML.
pub(super) fn merged<'a>(
    own: DeTable<'a>,
    bases: &'a [Appended],
) -> Result<DeTable<'a>, Vec<Problem>> {
    let mut whole: Option<DeTable<'a>> = None;
    for Appended { name, base, start } in bases.iter().rev() {
        let (document, faults) = DeTable::parse_recoverable(&base.text);
        if !faults.is_empty() {
            let alone = Source::new(name, &base.text);
            let problems = faults.iter().map(|fault| {
                let problem = super::not_toml(fault, &alone);
                let place = start + problem.place.start..start + problem.place.end;
                problem.moved(place)
            });
            return Err(problems.collect());
        }
        let table = moved_table(document.into_inner(), *start);
        whole = Some(match whole {
            None => table,
            Some(mut below) => {
                merge(&mut below, table);
                below
            }
        });
    }
    let mut whole = match whole {
        None => own,
        Some(mut below) => {
            merge(&mut below, own);
            below
        }
    };
    whole.remove(KEY);
    Ok(whole)
}

/// Merges a table into the one that it extends.
fn merge<'a>(below: &mut DeTable<'a>, own: DeTable<'a>) {
    for (key, value) in own {
        let merged = match below.remove(key.get_ref().as_ref()) {
            Some(old) => merge_value(old, value),
            None => value,
        };
        below.insert(key, merged);
    }
}

fn merge_value<'a>(old: Placed<'a>, own: Placed<'a>) -> Placed<'a> {
    let span = own.span();
    let merged = match (old.into_inner(), own.into_inner()) {
        (DeValue::Table(mut below), DeValue::Table(own)) if are_of_one_kind(&below, &own) => {
            merge(&mut below, own);
            DeValue::Table(below)
        }
        (DeValue::Array(below), DeValue::Array(own)) if has_names(&own) && has_names(&below) => {
            let mut items: Vec<Placed<'a>> = below.into_iter().collect();
            for item in own {
                let known = items.iter().position(|it| name_of(it) == name_of(&item));
                match known {
                    Some(at) => {
                        let old = items.remove(at);
                        items.insert(at, merge_value(old, item));
                    }
                    None => items.push(item),
                }
            }
            DeValue::Array(items.into_iter().collect())
        }
        (_, own) => own,
    };
    Spanned::new(span, merged)
}

/// True unless both tables state a kind, and another one.
fn are_of_one_kind(below: &DeTable<'_>, own: &DeTable<'_>) -> bool {
    let kind = |table: &DeTable<'_>| {
        table.get("kind").and_then(|it| it.get_ref().as_str().map(str::to_owned))
    };
    kind(own).is_none_or(|kind_of_own| kind(below) == Some(kind_of_own))
}

fn has_names(items: &toml::de::DeArray<'_>) -> bool {
    items.iter().all(|item| name_of(item).is_some())
}

fn name_of<'t>(item: &'t Placed<'_>) -> Option<&'t str> {
    item.get_ref().get("name")?.get_ref().as_str()
}

/// A table whose places are this many octets later.
fn moved_table(table: DeTable<'_>, by: usize) -> DeTable<'_> {
    let pairs = table.into_iter().map(|(key, value)| {
        let span = key.span();
        let key = Spanned::new(span.start + by..span.end + by, key.into_inner());
        (key, moved(value, by))
    });
    pairs.collect()
}

fn moved(value: Placed<'_>, by: usize) -> Placed<'_> {
    let span = value.span();
    let value = match value.into_inner() {
        DeValue::Table(table) => DeValue::Table(moved_table(table, by)),
        DeValue::Array(items) => {
            DeValue::Array(items.into_iter().map(|item| moved(item, by)).collect())
        }
        other => other,
    };
    Spanned::new(span.start + by..span.end + by, value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::{Medium, Size, Study, load, load_from, to_toml};
    use std::fs;

    /// Loads `a.toml` among files with these texts.
    fn study(files: &[(&str, &str)]) -> Result<Study, String> {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let text = fs::read_to_string(folder.path().join("a.toml")).unwrap();
        let within = Files::In(folder.path().to_owned());
        load_from(&text, "a.toml", &within, &[]).map_err(|error| error.to_string())
    }

    #[track_caller]
    fn check_error(files: &[(&str, &str)], expected: &str) {
        let error = study(files).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }

    #[test]
    fn a_scenario_changes_keys_of_the_built_in_one_that_it_extends() {
        let text = "extends = \"status-csma\"\ntitle = \"t\"\nmedium = { length = \"100 m\" }\n\
                    [[flow]]\nname = \"status\"\nsize = \"64 B\"\n\
                    [[station]]\nname = \"third\"\n";
        let (study, base) = (load(text, "a.toml").unwrap(), crate::scenarios::get("status-csma"));
        let base = load(base.unwrap().text, "b.toml").unwrap();
        let mut expected = base.scenario().clone();
        expected.title = "t".to_owned();
        expected.flows[0].size = Size(64);
        if let Medium::CsmaCd(bus) = &mut expected.medium {
            bus.length.0 = 100_000;
        }
        expected.named_stations.push(crate::scenario::Station::new("third"));
        assert_eq!(to_toml(study.scenario()), to_toml(&expected));
        assert_eq!(study.points.len(), base.points.len());
    }

    #[test]
    fn a_table_of_another_kind_replaces_the_whole_table() {
        let text = "extends = \"status-csma\"\n\
                    medium = { kind = \"ideal\", rate = \"1 Gbit/s\" }\n";
        let study = load(text, "a.toml").unwrap();
        assert!(
            matches!(study.scenario().medium, Medium::Ideal(_)),
            "{:?}",
            study.scenario().medium
        );
    }

    #[test]
    fn a_file_extends_files_relative_to_itself() {
        let files = [
            ("a.toml", "extends = \"sub/b.toml\"\nseed = 3\n"),
            ("sub/b.toml", "extends = \"c.toml\"\nseed = 2\ntitle = \"b\"\n"),
            ("sub/c.toml", "extends = \"status-csma\"\ntitle = \"c\"\nreplications = 7\n"),
        ];
        let study = study(&files).unwrap();
        let scenario = study.scenario();
        assert_eq!((scenario.seed, &*scenario.title, scenario.replications), (3, "b", 7));
        let bases: Vec<&str> = study.bases.keys().map(String::as_str).collect();
        assert_eq!(bases, ["status-csma", "sub/b.toml", "sub/c.toml"]);
        let origins = ["seed", "title", "replications", "medium.kind", "faults.loss"];
        let origins = origins.map(|path| study.origin(path));
        assert_eq!(
            origins,
            ["a.toml:2", "sub/b.toml:3", "sub/c.toml:3", "status-csma:9", "default"]
        );
    }

    #[test]
    fn mistakes_are_shown_in_the_file_that_has_them() {
        let own = "extends = \"b.toml\"\n\n\nsede = 3\n";
        let base = ("b.toml", "extends = \"status-csma\"\nreplications = \"many\"\n");
        check_error(&[("a.toml", own), base], "--> a.toml:4:1");
        check_error(&[("a.toml", own), base], "--> b.toml:2:16");
        check_error(&[("a.toml", own), ("b.toml", "\nseed = = 1\n")], "--> b.toml:2:8");
        check_error(&[("a.toml", own)], "cannot extend \"b.toml\"");
        check_error(&[("a.toml", "extends = 7\n")], "expected a string");
        check_error(&[("a.toml", "extends = \"status-cmsa\"\n")], "did you mean \"status-csma\"?");
    }

    #[test]
    fn circles_and_long_chains_are_refused() {
        check_error(&[("a.toml", "extends = \"a.toml\"\n")], "extends itself");
        let circle = [("a.toml", "extends = \"b.toml\"\n"), ("b.toml", "extends = \"a.toml\"\n")];
        check_error(&circle, "extends itself");
        let names: Vec<String> = (0..=MOST_BASES).map(|it| format!("b{it}.toml")).collect();
        let texts: Vec<String> =
            (1..=MOST_BASES + 1).map(|it| format!("extends = \"b{it}.toml\"\n")).collect();
        let mut files = vec![("a.toml", "extends = \"b0.toml\"\n")];
        files.extend(names.iter().map(String::as_str).zip(texts.iter().map(String::as_str)));
        check_error(&files, "has too many bases");
    }
}
