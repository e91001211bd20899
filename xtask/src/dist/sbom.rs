//! Bill of materials: the crates that are linked into the programs, as CycloneDX 1.5.
//!
//! It follows from `cargo metadata` for the target, with the sums of `Cargo.lock`: no tool has to be
//! installed for it. Crates that only build scripts, macros and tests use are not in the programs.

use super::{FEATURES, PROGRAMS, Release};
use crate::{cargo, output};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Makes the file.
pub(super) fn make(release: &Release, target: &str) -> Result<(), String> {
    let words = ["metadata", "--format-version", "1", "--locked", "--filter-platform", target];
    let mut command = cargo(&release.root, &words);
    let told = output(command.args(["--features", FEATURES]))?;
    let metadata: Value = serde_json::from_str(&told).map_err(|error| error.to_string())?;
    let lock = fs::read_to_string(release.root.join("Cargo.lock")).map_err(|it| it.to_string())?;
    let bill = bill(&metadata, &sums(&lock)?, release);
    let text = serde_json::to_string_pretty(&bill).map_err(|error| error.to_string())? + "\n";
    release.write(&format!("tidewire-{}-{target}.cdx.json", release.version), text.as_bytes())
}

/// SHA-256 of each crate of a registry, by name and version.
fn sums(lock: &str) -> Result<BTreeMap<String, String>, String> {
    let lock: toml::Table =
        lock.parse().map_err(|error: toml::de::Error| format!("Cargo.lock: {error}"))?;
    let packages = lock.get("package").and_then(toml::Value::as_array);
    let sum = |package: &toml::Value| {
        let text = |key: &str| package.get(key)?.as_str().map(str::to_owned);
        Some((format!("{} {}", text("name")?, text("version")?), text("checksum")?))
    };
    Ok(packages.into_iter().flatten().filter_map(sum).collect())
}

/// Identifiers of the packages that a package links, by package.
fn links(metadata: &Value) -> BTreeMap<&str, Vec<&str>> {
    let nodes = metadata["resolve"]["nodes"].as_array().into_iter().flatten();
    let is_linked = |dependency: &&Value| {
        let kinds = dependency["dep_kinds"].as_array();
        kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
    };
    nodes
        .filter_map(|node| {
            let dependencies = node["deps"].as_array().into_iter().flatten().filter(is_linked);
            Some((node["id"].as_str()?, dependencies.filter_map(|it| it["pkg"].as_str()).collect()))
        })
        .collect()
}

/// The bill.
fn bill(metadata: &Value, sums: &BTreeMap<String, String>, release: &Release) -> Value {
    let packages: BTreeMap<&str, &Value> = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|package| Some((package["id"].as_str()?, package)))
        .collect();
    let links = links(metadata);
    let is_macro = |id: &str| {
        let targets = packages.get(id).and_then(|package| package["targets"].as_array());
        targets.is_some_and(|all| all.iter().any(|it| it["kind"][0] == "proc-macro"))
    };
    let tops = packages.iter().filter(|(_, it)| PROGRAMS.iter().any(|name| it["name"] == *name));
    let mut open: Vec<&str> = tops.map(|(id, _)| *id).collect();
    let mut linked: BTreeSet<&str> = BTreeSet::new();
    while let Some(id) = open.pop() {
        if !is_macro(id) && linked.insert(id) {
            open.extend(links.get(id).into_iter().flatten());
        }
    }
    let purl = |package: &Value| {
        let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
        format!("pkg:cargo/{}@{}", text("name"), text("version"))
    };
    let reference = |id: &&str| packages.get(id).map(|package| purl(package));
    let component = |id: &&str| {
        let package = packages.get(id)?;
        let key = format!("{} {}", package["name"].as_str()?, package["version"].as_str()?);
        let mut component = json!({
            "type": "library",
            "bom-ref": purl(package),
            "name": package["name"],
            "version": package["version"],
            "purl": purl(package),
        });
        if let Some(expression) = package["license"].as_str() {
            // Cargo's older form of an alternative.
            let expression = expression.replace('/', " OR ");
            component["licenses"] = json!([{ "expression": expression }]);
        }
        if let Some(sum) = sums.get(&key) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
        }
        Some(component)
    };
    let dependencies = |id: &&str| {
        let on = links.get(id).into_iter().flatten().filter(|on| linked.contains(**on));
        let on: BTreeSet<String> = on.filter_map(&reference).collect();
        Some(json!({ "ref": reference(id)?, "dependsOn": on }))
    };
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "tidewire",
                "name": "tidewire",
                "version": release.version,
                "licenses": [{ "expression": "MIT OR Apache-2.0" }],
            },
            "properties": [{ "name": "commit", "value": release.commit }],
        },
        "components": linked.iter().filter_map(component).collect::<Vec<_>>(),
        "dependencies": linked.iter().filter_map(dependencies).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn only_crates_that_are_linked_are_listed() {
        let package = |name: &str, kind: &str| {
            json!({ "id": name, "name": name, "version": "1.0.0", "license": "MIT/Apache-2.0",
                    "targets": [{ "kind": [kind] }] })
        };
        let link = |to: &str, kind: Value| json!({ "pkg": to, "dep_kinds": [{ "kind": kind }] });
        let metadata = json!({
            "packages": [package("tidewire", "bin"), package("used", "lib"), package("derive", "proc-macro"),
                         package("of-derive", "lib"), package("tested", "lib"), package("tidewire-tap", "bin")],
            "resolve": { "nodes": [
                { "id": "tidewire", "deps": [link("used", Value::Null), link("derive", Value::Null),
                                             link("tested", "dev".into())] },
                { "id": "derive", "deps": [link("of-derive", Value::Null)] },
            ] },
        });
        let lock = "[[package]]\nname = \"used\"\nversion = \"1.0.0\"\nchecksum = \"abc\"\n";
        let release = Release {
            version: "1.0.0".to_owned(),
            commit: "abc".to_owned(),
            time: 0,
            folder: PathBuf::new(),
            root: PathBuf::new(),
        };
        let bill = bill(&metadata, &sums(lock).unwrap(), &release);
        let components = bill["components"].as_array().unwrap();
        let names: Vec<&str> = components.iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["tidewire", "tidewire-tap", "used"]);
        assert_eq!(components[2]["hashes"][0]["content"], "abc");
        assert_eq!(components[2]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(bill["dependencies"][0]["dependsOn"], json!(["pkg:cargo/used@1.0.0"]));
    }
}
