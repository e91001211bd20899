//! A crate imports no dependency that its sources do not name.

use super::Rule;
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule { name: "unused", check };

/// Tables of dependencies in a manifest.
const TABLES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

fn check(tree: &Tree) -> Vec<String> {
    // Fuzz targets include modules of the command by path.
    let manifests =
        tree.between("crates/", "Cargo.toml").chain(tree.between("xtask/", "Cargo.toml"));
    manifests.flat_map(|(path, text)| of_manifest(tree, path, text)).collect()
}

fn of_manifest(tree: &Tree, path: &str, text: &str) -> Vec<String> {
    let Ok(manifest) = text.parse::<toml::Table>() else { return Vec::new() };
    let folder = path.trim_end_matches("Cargo.toml");
    let named = |table: &str| {
        let table = manifest.get(table).and_then(toml::Value::as_table);
        table.into_iter().flat_map(toml::Table::keys).cloned().collect::<Vec<_>>()
    };
    let keys = TABLES.iter().flat_map(|table| named(table));
    keys.filter(|key| !is_named(tree, folder, &lib_name(&manifest, key)))
        .map(|key| format!("{path}: no source names {key}"))
        .collect()
}

/// Name of a dependency in sources: that of its key, without the prefix of the workspace's packages.
fn lib_name(manifest: &toml::Table, key: &str) -> String {
    let is_own = manifest.get("package").is_some() && key.starts_with("tidewire-");
    let name = if is_own { key.trim_start_matches("tidewire-") } else { key };
    name.replace('-', "_")
}

fn is_named(tree: &Tree, folder: &str, name: &str) -> bool {
    let path = format!("{name}::");
    let import = [format!("use {name};"), format!("use {name} as"), format!("extern crate {name}")];
    tree.between(folder, ".rs").any(|(_, text)| {
        let is_start = |at: usize| {
            let before = text.get(..at).and_then(|text| text.chars().next_back());
            !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
        };
        text.match_indices(&path).any(|(at, _)| is_start(at))
            || import.iter().any(|line| text.contains(line.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn a_dependency_that_no_source_names_is_found() {
        let manifest = "[package]\nname = 'a'\n[dependencies]\nb-c = '1'\nd = '1'\n[dev-dependencies]\ne = '1'\n";
        check(
            &RULE,
            &[
                ("crates/a/Cargo.toml", manifest),
                ("crates/a/src/lib.rs", "use b_c::X;\nfn a() { xd::y() }\n"),
                ("crates/a/tests/it/main.rs", "use e;\n"),
            ],
            &["crates/a/Cargo.toml: no source names d"],
        );
    }
}
