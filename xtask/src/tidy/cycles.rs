//! Files that import each other in a circle, so that none can be read first. A module and the files below it may.

use super::Rule;
use super::numbers::product_code;
use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};

pub(super) const RULE: Rule = Rule { name: "circles", check: circles };

/// Path of a module within its crate: `tp4::connection`; empty for the crate itself.
type Module = Vec<String>;

/// Imports between the files of a crate, without those between a module and the ones below it.
type Imports = BTreeMap<Module, BTreeSet<Module>>;

/// Circles of every crate: the crate, then the modules of the circle in order.
pub(super) fn circles(tree: &Tree) -> Vec<String> {
    let mut all = Vec::new();
    for name in tree.crates() {
        let imports = imports(tree, &format!("crates/{name}/src/"));
        all.extend(circles_in(&imports).into_iter().map(|circle| {
            let names: Vec<String> = circle.iter().map(|module| module.join("::")).collect();
            format!("{name}: {}", names.join(", "))
        }));
    }
    all
}

fn imports(tree: &Tree, folder: &str) -> Imports {
    let files: BTreeMap<Module, &str> = tree
        .between(folder, ".rs")
        .filter(|(path, _)| !path.ends_with("tests.rs") && !path.contains("/tests/"))
        .filter_map(|(path, text)| Some((module_of(path.strip_prefix(folder)?), text)))
        .collect();
    let of = |(module, text): (&Module, &&str)| {
        let found = paths(text).into_iter().filter_map(|path| resolve(module, &path, &files));
        let others = found.filter(|other| !is_above(other, module) && !is_above(module, other));
        (module.clone(), others.collect())
    };
    files.iter().map(of).collect()
}

fn module_of(path: &str) -> Module {
    let mut parts: Module = path.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if parts.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        parts.pop();
    }
    parts
}

fn is_above(one: &Module, other: &Module) -> bool {
    other.starts_with(one)
}

/// Every path of the code that begins at the crate or at the module above, lists in braces written out.
fn paths(text: &str) -> Vec<Vec<String>> {
    let code: String = product_code(text).collect::<Vec<_>>().join(" ");
    let mut found = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(start) {
            let before = code[..at].chars().next_back();
            if !before.is_some_and(|it| it.is_alphanumeric() || "_:$".contains(it)) {
                expand(&[], &code[at..], &mut found);
            }
        }
    }
    found
}

/// Adds the paths that a text begins with; returns the rest behind them.
fn expand<'a>(before: &[String], text: &'a str, found: &mut Vec<Vec<String>>) -> &'a str {
    let mut path = before.to_vec();
    let mut rest = text.trim_start();
    loop {
        let end = rest.find(|it: char| !it.is_alphanumeric() && it != '_').unwrap_or(rest.len());
        if end > 0 {
            path.push(rest[..end].to_owned());
        }
        rest = &rest[end..];
        let Some(behind) = rest.strip_prefix("::") else { break };
        rest = behind;
        if let Some(list) = rest.strip_prefix('{') {
            rest = list;
            while !rest.trim_start().starts_with('}') && !rest.is_empty() {
                rest = expand(&path, rest, found);
                let next = rest.find([',', '}']).unwrap_or(rest.len());
                rest = rest[next..].strip_prefix(',').unwrap_or(&rest[next..]);
            }
            return rest.trim_start().strip_prefix('}').unwrap_or_default();
        }
    }
    found.push(path);
    rest
}

/// The file of a crate that a path leads to.
fn resolve(from: &Module, path: &[String], files: &BTreeMap<Module, &str>) -> Option<Module> {
    let mut place = from.clone();
    let mut rest = path;
    if let Some(behind) = rest.strip_prefix(&["crate".to_owned()]) {
        place.clear();
        rest = behind;
    }
    while let Some((first, behind)) = rest.split_first()
        && ["super", "self"].contains(&first.as_str())
    {
        if first == "super" {
            place.pop();
        }
        rest = behind;
    }
    place.extend(rest.iter().cloned());
    while !files.contains_key(&place) {
        place.pop()?;
    }
    Some(place)
}

/// Groups of two files or more each of which reaches all others.
fn circles_in(imports: &Imports) -> Vec<BTreeSet<Module>> {
    let reached: BTreeMap<&Module, BTreeSet<Module>> =
        imports.keys().map(|module| (module, reach(imports, module))).collect();
    let circle = |module: &Module| -> BTreeSet<Module> {
        let ahead = reached.get(module).into_iter().flatten();
        ahead
            .filter(|other| reached.get(other).is_some_and(|it| it.contains(module)))
            .cloned()
            .collect()
    };
    let all: BTreeSet<BTreeSet<Module>> = imports.keys().map(circle).collect();
    all.into_iter().filter(|circle| circle.len() > 1).collect()
}

fn reach(imports: &Imports, from: &Module) -> BTreeSet<Module> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        for next in imports.get(module).into_iter().flatten() {
            if reached.insert(next.clone()) {
                open.push(next);
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let mut all =
            vec![("crates/a/Cargo.toml", ""), ("crates/a/src/lib.rs", "mod b;\nuse b::B;")];
        all.extend(files);
        assert_eq!(circles(&Tree::of(&all)), expected);
    }

    #[test]
    fn two_files_that_import_each_other_are_a_circle() {
        let b = ("crates/a/src/b.rs", "use crate::{\n    c::{C, D},\n    e,\n};\n");
        let c = ("crates/a/src/c.rs", "fn f() {\n    super::b::g();\n}\n");
        check(&[b, c], &["a: b, c"]);
        check(&[b, ("crates/a/src/c.rs", "// crate::b\nuse crate::e::b;\n")], &[]);
        let tests = "#[cfg(test)]\nmod tests {\n    use crate::b;\n}\n";
        check(&[b, ("crates/a/src/c.rs", tests)], &[]);
    }

    #[test]
    fn a_module_and_the_files_below_it_may() {
        let b = ("crates/a/src/b/mod.rs", "mod c;\nuse c::C;\nuse super::B;\n");
        check(&[b, ("crates/a/src/b/c.rs", "use super::B;\n")], &[]);
        let e = ("crates/a/src/e.rs", "use crate::b::c::C;\n");
        check(&[b, ("crates/a/src/b/c.rs", "use crate::e::E;\n"), e], &["a: b::c, e"]);
    }

    #[test]
    fn a_circle_of_three_is_one() {
        let of = |to: &str| format!("use crate::{to}::X;\n");
        let [b, c, d] = ["c", "d", "b"].map(of);
        check(
            &[("crates/a/src/b.rs", &b), ("crates/a/src/c.rs", &c), ("crates/a/src/d.rs", &d)],
            &["a: b, c, d"],
        );
    }
}
