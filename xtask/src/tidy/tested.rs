//! Every module of `wire` has a test of its own, in its file or in its folder.

use super::Rule;
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule { name: "tested", check };

const SOURCES: &str = "crates/wire/src/";

fn check(tree: &Tree) -> Vec<String> {
    let mut finds = Vec::new();
    for (path, _) in tree.between(SOURCES, ".rs") {
        let Some(module) = path.strip_prefix(SOURCES).and_then(module) else { continue };
        let file = format!("{SOURCES}{module}.rs");
        let folder = format!("{SOURCES}{module}/");
        let own = tree.files().filter(|(p, _)| *p == file || p.starts_with(&folder));
        if !own.into_iter().any(|(_, text)| text.contains("#[test]")) {
            finds.push(format!("{path}: no test in {module}"));
        }
    }
    finds
}

/// Name of the module whose top file this is: `X.rs` or `X/mod.rs`.
fn module(file: &str) -> Option<&str> {
    let name = file.strip_suffix("/mod.rs").or_else(|| file.strip_suffix(".rs"))?;
    (name != "lib" && !name.contains('/')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn a_protocol_without_a_test_is_found() {
        check(
            &RULE,
            &[
                ("crates/wire/src/lib.rs", ""),
                ("crates/wire/src/llc.rs", "#[test]\nfn a() {}"),
                ("crates/wire/src/mac.rs", "fn decode() {}"),
                ("crates/wire/src/tp/mod.rs", "mod tests;"),
                ("crates/wire/src/tp/pdu.rs", ""),
                ("crates/wire/src/tp/tests.rs", "#[test]\nfn a() {}"),
            ],
            &["crates/wire/src/mac.rs: no test in mac"],
        );
    }
}
