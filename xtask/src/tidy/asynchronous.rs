//! Nothing asynchronous below the command: no executor in any other manifest.

use super::Rule;
use super::manifest::{Purpose, packages};
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule { name: "asynchronous", check };

const EXECUTORS: [&str; 6] = ["async-std", "axum", "futures", "hyper", "smol", "tokio"];

fn check(tree: &Tree) -> Vec<String> {
    let mut finds = Vec::new();
    for name in tree.crates().into_iter().filter(|name| *name != "tidewire") {
        for purpose in [Purpose::Normal, Purpose::DevOrBuild] {
            match packages(tree, name, purpose) {
                Ok(used) => finds.extend(
                    EXECUTORS
                        .iter()
                        .filter(|executor| used.contains(**executor))
                        .map(|executor| format!("crates/{name}/Cargo.toml: uses {executor}")),
                ),
                Err(complaint) => finds.push(complaint),
            }
        }
    }
    finds
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn only_the_command_may_have_an_executor() {
        let uses = "[dev-dependencies]\ntokio = '1'";
        check(
            &RULE,
            &[
                ("Cargo.toml", ""),
                ("crates/live/Cargo.toml", uses),
                ("crates/tidewire/Cargo.toml", uses),
            ],
            &["crates/live/Cargo.toml: uses tokio"],
        );
    }
}
