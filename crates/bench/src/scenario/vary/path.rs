//! Paths to what varies: keys with dots between, and elements of lists by name or number.
//!
//! ```text
//!   background.load          a key of a table
//!   flow.status.size         of the table in the list that has this name
//!   flow."status 1".size     a name that is no plain word stands in quotes
//!   station[0].profile       an element by its number, counted from 0
//! ```

use super::may_vary;
use crate::scenario::fields::Placed;
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
    let mut slot = tree;
    for step in steps {
        slot = match (slot.get_mut(), step) {
            (DeValue::Table(table), Step::Name(name)) => {
                let empty = toml::Spanned::new(key.clone(), DeValue::Table(DeTable::new()));
                table.entry(toml::Spanned::new(key.clone(), Cow::Owned(name))).or_insert(empty)
            }
            (DeValue::Array(items), Step::Name(name)) => {
                let place = items.iter().position(|item| named(item) == Some(&name));
                match place {
                    Some(place) => items.get_mut(place).expect("its place was just found"),
                    None => return Err(no_such_name(&name, items, key)),
                }
            }
            (DeValue::Array(items), Step::Number(number)) => {
                let count = items.len();
                let most = count.saturating_sub(1);
                items.get_mut(number).ok_or_else(|| {
                    let message = format!("there is no element {number} in a list of {count}");
                    error(message).help(format!("they are counted from 0 to {most}"))
                })?
            }
            (_, Step::Number(number)) => {
                return Err(error(format!("[{number}] stands behind what is no list")));
            }
            (_, Step::Name(name)) => {
                let message = format!("\"{name}\" is no key: what stands before it is no table");
                return Err(error(message));
            }
        };
    }
    *slot = value;
    Ok(())
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

/// The steps of a path; none where it is no path.
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
            let told = |step: Step| match step {
                Step::Name(name) => name,
                Step::Number(number) => format!("#{number}"),
            };
            steps.into_iter().map(told).collect::<Vec<_>>()
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
