//! A parameter has a name and a type of its own: no tuple packs several of them into one.
//!
//! A tuple of one type is allowed, because it is one thing: a point, a range.

use super::Rule;
use super::numbers::product_code;
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule { name: "tuples", check };

fn check(tree: &Tree) -> Vec<String> {
    let sources = tree
        .between("crates/", ".rs")
        .filter(|(path, _)| path.contains("/src/"))
        .filter(|(path, _)| !path.ends_with("tests.rs") && !path.ends_with("hostile.rs"));
    sources.flat_map(|(path, text)| in_file(path, text)).collect()
}

fn in_file(path: &str, text: &str) -> Vec<String> {
    let code = product_code(text).collect::<Vec<_>>().join(" ");
    let mut found = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        let is_word = code[..at].chars().next_back().is_none_or(|it| !it.is_alphanumeric());
        let Some(head) = code[at + 3..].split(['{', ';']).next().filter(|_| is_word) else {
            continue;
        };
        let name: String =
            head.chars().take_while(|it| it.is_alphanumeric() || *it == '_').collect();
        if !name.is_empty() && parameters(&head[name.len()..]).into_iter().any(is_packed) {
            found.push(format!("{path}: fn {name}: a tuple packs parameters"));
        }
    }
    found
}

/// The texts between the commas of the first brackets, on their level.
fn parameters(head: &str) -> Vec<&str> {
    let Some(open) = start_of_list(head) else { return Vec::new() };
    let (mut depth, mut begin, mut found) = (0_i32, open + 1, Vec::new());
    let mut before = ' ';
    for (at, it) in head.char_indices().skip_while(|(at, _)| *at < open) {
        match it {
            '(' | '[' | '<' => depth += 1,
            '>' if before == '-' => {}
            ')' | ']' | '>' => depth -= 1,
            _ => {}
        }
        before = it;
        if depth == 0 || depth == 1 && it == ',' {
            found.push(&head[begin..at]);
            begin = at + 1;
        }
        if depth == 0 {
            break;
        }
    }
    found
}

/// The bracket that begins the parameters, behind those of generics.
fn start_of_list(head: &str) -> Option<usize> {
    let mut depth = 0_i32;
    let mut before = ' ';
    for (at, it) in head.char_indices() {
        match it {
            '<' => depth += 1,
            '>' if before != '-' => depth -= 1,
            '(' if depth == 0 => return Some(at),
            _ => {}
        }
        before = it;
    }
    None
}

/// True for a parameter that is taken apart as a tuple of different types.
fn is_packed(parameter: &str) -> bool {
    let parameter = parameter.trim();
    let Some((_, kind)) = parameter.strip_prefix('(').and_then(|rest| rest.split_once("): "))
    else {
        return false;
    };
    let kinds = parameters(kind);
    kinds.iter().any(|kind| kind.trim() != kinds[0].trim() && !kind.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn a_tuple_of_different_types_is_found() {
        let text = "fn a<F: Fn(u8) -> u8>(&self, (at, side): (Instant, Side), f: F) -> (u8, u16) {}\n\
                    fn b(\n    (x, y): (f64, f64),\n    pair: (u8, u16),\n) {}\n\
                    fn c((k, v): (Kind, &[(u8, u8)])) {}\n";
        check(
            &RULE,
            &[("crates/a/src/lib.rs", text), ("crates/a/tests/it/a.rs", text)],
            &[
                "crates/a/src/lib.rs: fn a: a tuple packs parameters",
                "crates/a/src/lib.rs: fn c: a tuple packs parameters",
            ],
        );
    }
}
