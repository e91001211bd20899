//! Numbers of the code base, for comparison between commits: lines of code, long files, long functions.

use super::cycles;
use crate::tree::Tree;
use std::collections::BTreeSet;

/// Lines from which a file is long.
const LONG_FILE: usize = 500;
/// Lines from which a function is long.
const LONG_FUNCTION: usize = 50;

/// Prints the numbers of a tree.
pub(super) fn print(tree: &Tree) {
    let sources = || tree.between("", ".rs").filter(|(path, _)| is_product(path));
    let code: usize = sources().map(|(_, text)| code_lines(text)).sum();
    let files = tree.between("", ".rs").filter(|(_, text)| text.lines().count() > LONG_FILE);
    let functions: usize = sources().map(|(_, text)| long_functions(text)).sum();
    println!("code lines                         {code} (no comments, blank lines, tests)");
    println!("files over {LONG_FILE} lines               {}", files.count());
    println!("functions over {LONG_FUNCTION} lines            {functions}");
    println!("measures looked up by text         {}", look_ups(tree));
    println!("circles of files                   {}", cycles::circles(tree).len());
}

/// Names of measures as text in sources other than the registry: a measure that is looked up so may not exist.
fn look_ups(tree: &Tree) -> usize {
    let registry = "crates/meter/src/registry";
    let rows = tree.text("crates/meter/src/registry/rows.rs").unwrap_or_default();
    // Names of one word are words of other lists too.
    let names: BTreeSet<&str> = quoted(rows).filter(|name| name.contains('_')).collect();
    let sources = tree.between("crates/", ".rs");
    let others = sources.filter(|(path, _)| is_product(path) && !path.starts_with(registry));
    let lines = others.flat_map(|(_, text)| product_code(text));
    lines.flat_map(quoted).filter(|word| names.contains(word)).count()
}

/// Words between quotes that could be names of measures.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |word: &&str| {
        !word.is_empty()
            && word.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_')
    };
    text.split('"').filter(is_name)
}

/// True for sources of the product: neither tests nor benchmarks, examples or fuzz targets.
fn is_product(path: &str) -> bool {
    let is_of = |folder: &str| path.contains(&format!("/{folder}/"));
    let is_test = path.ends_with("tests.rs") || path.ends_with("/trials.rs");
    let others = ["tests", "benches", "examples", "fuzz_targets"];
    !is_test && !others.iter().any(|folder| is_of(folder)) && !path.starts_with("fuzz/")
}

/// Lines with code, up to the tests at the end of a file.
pub(super) fn product_code(text: &str) -> impl Iterator<Item = &str> {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    code.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"))
}

fn code_lines(text: &str) -> usize {
    product_code(text).count()
}

/// Functions whose last line is this far below their first.
fn long_functions(text: &str) -> usize {
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let mut long = 0;
    let mut open: Option<(usize, usize)> = None;
    for (number, line) in code.lines().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let words = line.trim_start();
        let is_start = words.contains("fn ") && words.ends_with('{') && !words.starts_with("//");
        match open {
            None if is_start => open = Some((number, indent)),
            Some((first, own)) if words == "}" && indent == own => {
                long += usize::from(number - first + 1 > LONG_FUNCTION);
                open = None;
            }
            None | Some(_) => {}
        }
    }
    long
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_blank_lines_and_tests_are_no_code() {
        let text = "//! Doc.\n\nfn a() {\n    // Note.\n    b();\n}\n\n#[cfg(test)]\nmod tests {\n    fn c() {}\n}\n";
        assert_eq!(code_lines(text), 3);
        assert!(is_product("crates/a/src/b.rs"));
        assert!(!is_product("crates/a/tests/it/b.rs") && !is_product("crates/a/src/b/tests.rs"));
    }

    #[test]
    fn a_measure_named_by_text_is_counted() {
        let rows = ("crates/meter/src/registry/rows.rs", "Octets \"lpdu_octets\" Link");
        let of = |text: &str| look_ups(&Tree::of(&[rows, ("crates/a/src/b.rs", text)]));
        assert_eq!(of("fn f() {\n    get(\"lpdu_octets\");\n}\n"), 1);
        assert_eq!(of("// get(\"lpdu_octets\")\nlet a = \"lpdu octets\";\n"), 0);
    }

    #[test]
    fn a_function_of_51_lines_is_long() {
        let of =
            |lines: usize| format!("    fn a() {{\n{}    }}\n", "        b();\n".repeat(lines));
        assert_eq!((long_functions(&of(48)), long_functions(&of(49))), (0, 1));
    }
}
