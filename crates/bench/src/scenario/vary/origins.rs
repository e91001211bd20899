//! Origins of the values of a scenario: a line of a file, the command line, or a default.

use super::Study;
use crate::paragraph::COLUMNS;
use crate::scenario::fields::Placed;
use crate::scenario::groups;
use crate::scenario::problem::Lines;
use std::collections::BTreeMap;
use toml::de::DeValue;

/// Places of the values of the first point, by dotted path: `flow.0.size`.
pub(super) type Origins = BTreeMap<String, usize>;

/// The places of all values of a document.
pub(super) fn of(document: &Placed<'_>) -> Origins {
    let mut places = Vec::new();
    gather(document, &mut String::new(), &mut places);
    // In order and at once, which is faster than one by one.
    places.into_iter().collect()
}

/// Adds the places of all values below a path.
fn gather(value: &Placed<'_>, path: &mut String, places: &mut Vec<(String, usize)>) {
    let mut below = |part: &str, value: &Placed<'_>| {
        let length = path.len();
        if length > 0 {
            path.push('.');
        }
        path.push_str(part);
        gather(value, path, places);
        path.truncate(length);
    };
    match value.get_ref() {
        DeValue::Table(table) => {
            for (key, value) in table {
                below(key.get_ref(), value);
            }
        }
        DeValue::Array(items) if items.iter().any(|item| item.get_ref().is_table()) => {
            for (index, item) in items.iter().enumerate() {
                below(&index.to_string(), item);
            }
        }
        _ => places.push((path.clone(), value.span().start)),
    }
}

impl Study {
    /// Origin of a value in words: `my.toml:12`, an option of the command line, or `default`.
    #[must_use]
    pub fn origin(&self, path: &str) -> String {
        self.origin_among(&self.source.lines(), path)
    }

    fn origin_among(&self, lines: &Lines<'_>, path: &str) -> String {
        // A value may be written as a whole where the effective scenario has a table.
        let mut part = path;
        loop {
            if let Some(octet) = self.origins.get(part) {
                let place = lines.place(*octet);
                return match place.file {
                    super::OUTSIDE if path == super::constraint::KEY => "--constraint".to_owned(),
                    super::OUTSIDE => "--vary".to_owned(),
                    file => format!("{file}:{}", place.line),
                };
            }
            match part.rsplit_once('.') {
                Some((above, _)) => part = above,
                None => return "default".to_owned(),
            }
        }
    }

    /// The scenario of the first point with every default filled in, as a file that loads to the same; a
    /// comment at each value names its origin. `set` has the origins of values that were set since, by
    /// path.
    #[must_use]
    pub fn annotated(&self, set: &BTreeMap<String, String>) -> String {
        let plain = groups::to_toml(self.scenario());
        let lines = self.source.lines();
        let origin =
            |path: &str| set.get(path).cloned().unwrap_or_else(|| self.origin_among(&lines, path));
        let mut tables: BTreeMap<String, usize> = BTreeMap::new();
        let mut header = String::new();
        let mut text = String::new();
        for line in plain.lines() {
            let list = line.strip_prefix("[[").and_then(|it| it.strip_suffix("]]"));
            let table = line.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
            if let Some(name) = list {
                let count = tables.entry(name.to_owned()).or_insert(0);
                header = format!("{name}.{count}");
                *count += 1;
            } else if let Some(name) = table {
                header = within_list(name, &tables);
            } else if let Some((key, _)) = line.split_once(" = ") {
                let key = key.trim_matches('"');
                let path =
                    if header.is_empty() { key.to_owned() } else { format!("{header}.{key}") };
                text.push_str(&with_comment(line, &origin(&path)));
                continue;
            }
            text.push_str(line);
            text.push('\n');
        }
        // A text over several lines has lines that only look like keys.
        let [own, with] = [&plain, &text].map(|it| it.parse::<toml::Table>().ok());
        if own == with { text } else { plain }
    }
}

/// Path of a table's header, with the number of the list's element that it belongs to.
fn within_list(name: &str, lists: &BTreeMap<String, usize>) -> String {
    match name.split_once('.') {
        Some((list, rest)) if lists.contains_key(list) => {
            format!("{list}.{}.{rest}", lists[list].saturating_sub(1))
        }
        _ => name.to_owned(),
    }
}

/// A line with a comment behind it, or before it if the line is long.
fn with_comment(line: &str, comment: &str) -> String {
    /// Column of the comments of short lines.
    const COLUMN: usize = 40;
    let wide = line.chars().count().max(COLUMN) + comment.chars().count() + 3;
    match wide <= COLUMNS {
        true => format!("{line:COLUMN$} # {comment}\n"),
        false => format!("# {comment}\n{line}\n"),
    }
}
