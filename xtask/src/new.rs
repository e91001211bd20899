//! `cargo xtask new KIND NAME`: makes the files of a new part from templates, and prints the lines
//! to add by hand. Lists are maintained by hand, so nothing is added to an existing file.
//!
//! A template has places to be filled in; `cargo xtask tidy` finds those that are left.

use std::fs;
use std::path::Path;

/// File to make: its path and its text, both with `{{name}}` in place of the name.
struct File {
    path: &'static str,
    text: &'static str,
}

/// Kind of part: its files, and the steps left to be done by hand.
struct Kind {
    name: &'static str,
    files: &'static [File],
    by_hand: &'static [&'static str],
}

/// All kinds. ARCHITECTURE.md, `To add X`, has the same in prose.
const KINDS: [Kind; 6] = [
    Kind {
        name: "protocol",
        files: &[File {
            path: "crates/wire/src/{{name}}.rs",
            text: include_str!("../templates/protocol.rs.txt"),
        }],
        by_hand: &[
            "crates/wire/src/lib.rs: pub mod {{name}};",
            "crates/wire/src/next.rs: a row, by the number under which it is carried",
            "crates/wire/tests/it/round_trip.rs: decode(encode(pdu)) == pdu",
        ],
    },
    Kind {
        name: "measure",
        files: &[File {
            path: "crates/meter/src/measure/{{name}}.rs",
            text: include_str!("../templates/measure.rs.txt"),
        }],
        by_hand: &[
            "crates/meter/src/measure/mod.rs: mod {{name}}; a field of Measures, observe, add",
            "crates/meter/src/registry/rows.rs: a row with name, unit, scopes and help",
            "crates/meter/tests/cases: frames in, this measure out",
        ],
    },
    Kind {
        name: "medium",
        files: &[
            File {
                path: "crates/sim/src/medium/{{name}}.rs",
                text: include_str!("../templates/medium.rs.txt"),
            },
            File {
                path: "crates/bench/src/medium/{{name}}.rs",
                text: include_str!("../templates/medium_keys.rs.txt"),
            },
            File {
                path: "crates/sim/tests/it/{{name}}.rs",
                text: include_str!("../templates/theory.rs.txt"),
            },
        ],
        by_hand: &[
            "crates/sim/src/medium/mod.rs: pub mod {{name}};",
            "crates/sim/tests/it/main.rs: mod {{name}};",
            "crates/bench/src/medium/mod.rs: a variant of Medium and of MediumKind",
            "crates/bench/src/medium/model.rs: an arm of each function, if access is of a new kind",
            "crates/tidewire/help/media.md: a paragraph",
        ],
    },
    Kind {
        name: "fault",
        files: &[File {
            path: "crates/stack/src/fault/{{name}}.rs",
            text: include_str!("../templates/fault.rs.txt"),
        }],
        by_hand: &[
            "crates/stack/src/fault/mod.rs: mod {{name}}; and its place in the plan",
            "crates/bench/src/scenario: a field of the faults",
            "crates/tidewire/help/faults.md: a line",
        ],
    },
    Kind {
        name: "workload",
        files: &[File {
            path: "crates/stack/src/load/{{name}}.rs",
            text: include_str!("../templates/workload.rs.txt"),
        }],
        by_hand: &[
            "crates/stack/src/load/mod.rs: mod {{name}}; and a variant of Pattern",
            "crates/stack/src/load/sender.rs: when its messages are due",
            "crates/bench/src/scenario/pattern.rs: its keys and properties",
            "crates/tidewire/help/scenario.md: a line",
        ],
    },
    Kind {
        name: "scenario",
        files: &[File {
            path: "scenarios/{{name}}.toml",
            text: include_str!("../templates/scenario.toml.txt"),
        }],
        by_hand: &["crates/bench/src: the list of scenarios built into the command"],
    },
];

/// Makes the files below `root`.
pub(crate) fn run(root: &Path, kind: &str, name: &str) -> Result<(), String> {
    let Some(kind) = KINDS.iter().find(|known| known.name == kind) else {
        let names = KINDS.map(|kind| kind.name).join(", ");
        return Err(format!("no such kind: {kind} (there are {names})"));
    };
    check_name(kind.name, name)?;
    let filled = |text: &str| text.replace("{{name}}", name);
    let paths: Vec<String> = kind.files.iter().map(|file| filled(file.path)).collect();
    if let Some(there) = paths.iter().find(|path| root.join(path).exists()) {
        return Err(format!("{there} already exists"));
    }
    for (file, path) in kind.files.iter().zip(&paths) {
        write(&root.join(path), &filled(file.text))?;
        println!("made {path}");
    }
    println!("now by hand:");
    for line in kind.by_hand {
        println!("  {}", filled(line));
    }
    Ok(())
}

/// Checks a name: modules are named in snake case, scenarios like files.
fn check_name(kind: &str, name: &str) -> Result<(), String> {
    let joint = if kind == "scenario" { '-' } else { '_' };
    let is_fit = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == joint;
    if name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(is_fit) {
        return Ok(());
    }
    Err(format!("not a name for a {kind}: {name} (small letters, digits and `{joint}`)"))
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    let complaint = |e: std::io::Error| format!("cannot write {}: {e}", path.display());
    let folder = path.parent().expect("every template lies in a folder");
    fs::create_dir_all(folder).and_then(|()| fs::write(path, text)).map_err(complaint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_makes_its_files_once_and_fills_in_the_name() {
        let folder = Folder(std::env::temp_dir().join(format!("xtask-{}", std::process::id())));
        for kind in &KINDS {
            run(&folder.0, kind.name, "sample").unwrap();
            for file in kind.files {
                let path = file.path.replace("{{name}}", "sample");
                let text = fs::read_to_string(folder.0.join(&path)).unwrap();
                assert!(text.contains("sample") && !text.contains("{{"), "{path}: {text}");
            }
            let again = run(&folder.0, kind.name, "sample").unwrap_err();
            assert!(again.ends_with("already exists"), "{again}");
        }
    }

    /// Folder that is removed with its test.
    struct Folder(std::path::PathBuf);

    impl Drop for Folder {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    #[test]
    fn a_new_scenario_is_toml() {
        let template = KINDS.iter().find(|kind| kind.name == "scenario").unwrap();
        let table: toml::Table = template.files[0].text.parse().unwrap();
        assert_eq!(table.get("version").and_then(toml::Value::as_integer), Some(1));
    }

    #[test]
    fn a_name_that_is_no_module_name_is_refused() {
        for (kind, name) in [("protocol", "EsIs"), ("protocol", "es-is"), ("scenario", "a_b")] {
            assert!(check_name(kind, name).is_err(), "{kind} {name}");
        }
        for (kind, name) in [("protocol", "es_is"), ("scenario", "status-csma")] {
            assert_eq!(check_name(kind, name), Ok(()));
        }
    }

    #[test]
    fn an_unknown_kind_is_refused_with_the_known_kinds() {
        let complaint = run(Path::new("."), "widget", "x").unwrap_err();
        assert!(complaint.starts_with("no such kind: widget (there are protocol, "), "{complaint}");
    }
}
