//! Dependencies as declared in the manifests.

use crate::tree::Tree;
use std::collections::BTreeSet;

/// Kinds of dependency tables in a manifest.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// `dependencies`, including target-specific ones.
    Normal,
    /// `dev-dependencies` and `build-dependencies`.
    DevOrBuild,
}

impl Purpose {
    const fn tables(self) -> &'static [&'static str] {
        match self {
            Self::Normal => &["dependencies"],
            Self::DevOrBuild => &["dev-dependencies", "build-dependencies"],
        }
    }
}

/// Packages named in a crate's manifest, by their package names.
pub(super) fn packages(
    tree: &Tree,
    of: &str,
    purpose: Purpose,
) -> Result<BTreeSet<String>, String> {
    let workspace = table(tree, "Cargo.toml")?;
    let renames = workspace.get("workspace").and_then(|w| w.get("dependencies"));
    let manifest = table(tree, &format!("crates/{of}/Cargo.toml"))?;
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let everywhere = std::iter::once(&manifest);
    let somewhere = targets.into_iter().flat_map(toml::Table::values);
    let homes = everywhere.chain(somewhere.filter_map(toml::Value::as_table));
    let mut packages = BTreeSet::new();
    for home in homes {
        for name in purpose.tables() {
            let Some(table) = home.get(*name).and_then(toml::Value::as_table) else { continue };
            packages.extend(table.iter().map(|(key, value)| package(key, value, renames)));
        }
    }
    Ok(packages)
}

/// Crates of this workspace among them, by the names of their folders.
pub(super) fn crates(tree: &Tree, of: &str, purpose: Purpose) -> Result<BTreeSet<String>, String> {
    let packages = packages(tree, of, purpose)?;
    Ok(packages.iter().filter_map(|p| p.strip_prefix("tidewire-")).map(str::to_owned).collect())
}

fn table(tree: &Tree, path: &str) -> Result<toml::Table, String> {
    let text = tree.text(path).ok_or_else(|| format!("{path}: missing"))?;
    text.parse().map_err(|e: toml::de::Error| format!("{path}: {}", e.message()))
}

/// Package behind a dependency's key, which may rename it here or in the workspace's table.
fn package(key: &str, value: &toml::Value, renames: Option<&toml::Value>) -> String {
    let inherited = value.get("workspace").and_then(toml::Value::as_bool).unwrap_or(false);
    let entry = if inherited { renames.and_then(|r| r.get(key)) } else { Some(value) };
    let renamed = entry.and_then(|e| e.get("package")).and_then(toml::Value::as_str);
    renamed.unwrap_or(key).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn renamed_inherited_and_target_dependencies_are_all_seen() {
        let root = "[workspace.dependencies]\n\
                    wire = { package = 'tidewire-wire', path = 'crates/wire' }\n\
                    bytes = '1'\n";
        let manifest = "[dependencies]\nwire.workspace = true\nbytes.workspace = true\n\
                        [target.'cfg(unix)'.dependencies]\n\
                        s = { package = 'tidewire-stats', path = '../stats' }\n\
                        [dev-dependencies]\nstack = { package = 'tidewire-stack', path = '..' }\n";
        let tree = Tree::of(&[("Cargo.toml", root), ("crates/sim/Cargo.toml", manifest)]);
        let names = |purpose| Vec::from_iter(packages(&tree, "sim", purpose).unwrap());
        assert_eq!(names(Purpose::Normal), ["bytes", "tidewire-stats", "tidewire-wire"]);
        assert_eq!(names(Purpose::DevOrBuild), ["tidewire-stack"]);
        let own = crates(&tree, "sim", Purpose::Normal).unwrap();
        assert_eq!(Vec::from_iter(own), ["stats", "wire"]);
    }
}
