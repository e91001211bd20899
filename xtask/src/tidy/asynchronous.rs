//! Nothing asynchronous but the live page: no executor in any other manifest.

use super::Rule;
use super::manifest::{Purpose, packages};
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule { name: "asynchronous", check };

const EXECUTORS: [&str; 6] = ["async-std", "axum", "futures", "hyper", "smol", "tokio"];

/// The crate with the live page.
const PAGE: &str = "web";

fn check(tree: &Tree) -> Vec<String> {
    let mut finds = Vec::new();
    for name in tree.crates().into_iter().filter(|name| *name != PAGE) {
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
    fn only_the_page_may_have_an_executor() {
        let uses = "[dev-dependencies]\ntokio = '1'";
        check(
            &RULE,
            &[
                ("Cargo.toml", ""),
                ("crates/live/Cargo.toml", uses),
                ("crates/web/Cargo.toml", uses),
            ],
            &["crates/live/Cargo.toml: uses tokio"],
        );
    }
}
