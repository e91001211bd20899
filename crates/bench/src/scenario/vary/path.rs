//! Paths to the keys that vary: keys with dots between, and elements of lists by name or number.
//!
//! ```text
//!   background.load          a key of a table
//!   flow.status.size         of the table in the list that has this name
//!   flow."status 1".size     a name that is no plain word stands in quotes
//!   station[0].profile       an element by its number, counted from 0
//!   flow.poll-*.size         of all tables of the list with such a name
//!   station.ied.profile      of the group ied-{1..12}
//!   stations.ied.count       how many stations that group has
//! ```

use super::may_vary;
use crate::scenario::fields::Placed;
use crate::scenario::groups::{self, Numbered};
use crate::scenario::problem::{Problem, meant};
use core::ops::Range;
use std::borrow::Cow;
use toml::de::{DeTable, DeValue};

/// A step of a path.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Step {
    /// A key of a table, or the name of an element of a list.
    Name(String),
    /// An element of a list.
    Number(usize),
}

/// Sets the value at a path, making tables on the way.
pub(super) fn set<'a>(
    tree: &mut Placed<'a>,
    path: &str,
    key: &Range<usize>,
    value: Placed<'a>,
) -> Result<(), Problem> {
    let error = |message: String| Problem::error(key.clone(), message);
    if !may_vary(value.get_ref()) {
        let what = "only strings, numbers, true and false can vary, and tables of them";
        return Err(error(what.to_owned()));
    }
    let steps = steps(path)
        .filter(|steps| steps.first() != Some(&Step::Name("vary".to_owned())))
        .ok_or_else(|| {
        let help = "as in flow.status.size, flow.\"status 1\".size or station[0].profile";
        error(format!("\"{path}\" is no path of keys with dots between")).help(help)
    })?;
    if let [Step::Name(first), Step::Name(group), Step::Name(last)] = &steps[..]
        && first == "stations"
        && last == "count"
    {
        return count(tree, group, &value, key);
    }
    put(tree, &steps, &value, key)
}

/// Sets a value at the end of these steps: several values if a step names a group.
fn put<'a>(
    slot: &mut Placed<'a>,
    steps: &[Step],
    value: &Placed<'a>,
    key: &Range<usize>,
) -> Result<(), Problem> {
    let error = |message: String| Problem::error(key.clone(), message);
    let Some((step, rest)) = steps.split_first() else {
        slot.clone_from(value);
        return Ok(());
    };
    match (slot.get_mut(), step) {
        (DeValue::Table(table), Step::Name(name)) => {
            let empty = toml::Spanned::new(key.clone(), DeValue::Table(DeTable::new()));
            let name = Cow::Owned(name.clone());
            put(
                table.entry(toml::Spanned::new(key.clone(), name)).or_insert(empty),
                rest,
                value,
                key,
            )
        }
        (DeValue::Array(items), Step::Name(name)) => {
            let is_named = |item: &Placed<'_>| named(item) == Some(name);
            let is_meant = |item: &Placed<'_>| named(item).is_some_and(|it| means(name, it));
            let one = items.iter().position(is_named);
            let several = || (0..items.len()).filter(|place| is_meant(&items[*place])).collect();
            let places: Vec<usize> = one.map_or_else(several, |place| vec![place]);
            if places.is_empty() {
                return Err(no_such_name(name, items, key));
            }
            let items = items.iter_mut().enumerate().filter(|(place, _)| places.contains(place));
            items.into_iter().try_for_each(|(_, item)| put(item, rest, value, key))
        }
        (DeValue::Array(items), Step::Number(number)) => {
            let count = items.len();
            let most = count.saturating_sub(1);
            let item = items.get_mut(*number).ok_or_else(|| {
                let message = format!("there is no element {number} in a list of {count}");
                error(message).help(format!("they are counted from 0 to {most}"))
            })?;
            put(item, rest, value, key)
        }
        (_, Step::Number(number)) => {
            Err(error(format!("[{number}] stands behind what is no list")))
        }
        (_, Step::Name(name)) => {
            let message = format!("\"{name}\" is no key: what stands before it is no table");
            Err(error(message))
        }
    }
}

/// True if a step refers to an element: by `*` for any characters, or by the name of a group.
fn means(step: &str, element: &str) -> bool {
    let is_group =
        |name| Numbered::read(name).is_some_and(|it| it.is_ok_and(|it| it.group() == step));
    groups::matches(step, element) || is_group(element)
}

/// Sets the number of stations of a group.
fn count<'a>(
    tree: &mut Placed<'a>,
    group: &str,
    value: &Placed<'a>,
    key: &Range<usize>,
) -> Result<(), Problem> {
    let DeValue::Table(table) = tree.get_mut() else { return Ok(()) };
    let of_group =
        |item: &&mut Placed<'_>| named(item).is_some_and(|it| it != group && means(group, it));
    let item = match table.get_mut("station").map(toml::Spanned::get_mut) {
        Some(DeValue::Array(items)) => items.iter_mut().find(of_group),
        _ => None,
    };
    if let Some(item) = item {
        let number = value.get_ref().as_integer();
        let number = number.and_then(|it| u64::from_str_radix(it.as_str(), it.radix()).ok());
        let numbered = named(item).and_then(|name| Numbered::read(name)?.ok());
        let name = numbered.zip(number).and_then(|(group, number)| group.counted(number));
        let name = name.ok_or_else(|| {
            Problem::error(value.span(), "expected a whole number of stations, at least 1")
        })?;
        let name = toml::Spanned::new(value.span(), DeValue::String(Cow::Owned(name)));
        return put(item, &[Step::Name("name".to_owned())], &name, key);
    }
    let stations = table.get_mut("stations");
    let is_prefix = |it: &Placed<'_>| {
        it.get_ref().get("prefix").and_then(|prefix| prefix.get_ref().as_str()) == Some(group)
    };
    match stations.filter(|stations| is_prefix(stations)) {
        Some(stations) => put(stations, &[Step::Name("count".to_owned())], value, key),
        None => {
            let message = format!("there is no group of stations \"{group}\"");
            let help = format!("[[station]] name = \"{group}-{{1..4}}\"");
            Err(Problem::error(key.clone(), message).help(help))
        }
    }
}

/// The name of an element of a list.
fn named<'t>(item: &'t Placed<'_>) -> Option<&'t str> {
    item.get_ref().get("name").and_then(|name| name.get_ref().as_str())
}

/// Nothing in a list has this name; which one was probably meant.
fn no_such_name(name: &str, items: &[Placed<'_>], key: &Range<usize>) -> Problem {
    let message = format!("nothing in the list has the name \"{name}\"");
    let problem = Problem::error(key.clone(), message);
    let names: Vec<&str> = items.iter().filter_map(named).collect();
    match meant(name, names.iter().copied()) {
        Some(name) => problem.help(format!("did you mean \"{name}\"?")),
        None if names.is_empty() => problem.help("its elements have numbers: [0]"),
        None => problem.label(format!("there are {}", names.join(", "))),
    }
}

/// The steps of a path; none if it is not a valid path.
fn steps(path: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = path;
    loop {
        let (name, behind) = if let Some(quoted) = rest.strip_prefix('"') {
            quoted.split_once('"')?
        } else {
            rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len()))
        };
        if name.is_empty() {
            return None;
        }
        steps.push(Step::Name(name.to_owned()));
        rest = behind;
        while let Some(numbered) = rest.strip_prefix('[') {
            let (number, behind) = numbered.split_once(']')?;
            steps.push(Step::Number(number.parse().ok()?));
            rest = behind;
        }
        match rest.strip_prefix('.') {
            Some(more) => rest = more,
            None => return rest.is_empty().then_some(steps),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, expected: Option<&[&str]>) {
        let found = steps(path).map(|steps| {
            let shown = |step: Step| match step {
                Step::Name(name) => name,
                Step::Number(number) => format!("#{number}"),
            };
            steps.into_iter().map(shown).collect::<Vec<_>>()
        });
        let expected = expected.map(|steps| steps.iter().map(|it| (*it).to_owned()).collect());
        assert_eq!(found, expected, "{path}");
    }

    #[test]
    fn a_path_is_names_and_numbers() {
        check("seed", Some(&["seed"]));
        check("flow.status.size", Some(&["flow", "status", "size"]));
        check("flow.\"status 1.5\".size", Some(&["flow", "status 1.5", "size"]));
        check("station[12].profile", Some(&["station", "#12", "profile"]));
        check("\"a\"[0][1]", Some(&["a", "#0", "#1"]));
        for path in ["", ".", "a.", ".a", "a..b", "a[", "a[]", "a[x]", "a[-1]", "[0]", "a[0]b"] {
            check(path, None);
        }
        for path in ["\"a", "\"a\"b", "\"\"", "a.\"b\".", "a]"] {
            check(path, if path == "a]" { Some(&["a]"]) } else { None });
        }
    }
}
