//! Relative links in documents have existing targets.

use super::Rule;
use crate::tree::Tree;

pub(super) const RULE: Rule = Rule { name: "links", check };

fn check(tree: &Tree) -> Vec<String> {
    let mut finds = Vec::new();
    for (path, text) in tree.between("", ".md") {
        let mut is_code = false;
        for (number, line) in text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                is_code = !is_code;
            }
            let broken = |target: &&str| !leads_somewhere(tree, path, target);
            for target in targets(line).filter(|_| !is_code).filter(broken) {
                finds.push(format!("{path}:{}: no such target: {target}", number + 1));
            }
        }
    }
    finds
}

/// Targets of the links of a line: the text after `](`.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next())
}

fn leads_somewhere(tree: &Tree, from: &str, target: &str) -> bool {
    if target.contains("://") || target.starts_with("mailto:") {
        return true;
    }
    let (file, place) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() { Some(from.to_owned()) } else { resolve(from, file) };
    let Some(path) = path.filter(|path| tree.has(path)) else { return false };
    let text = tree.text(&path).unwrap_or_default();
    place.is_empty() || text.lines().any(|line| anchor(line).as_deref() == Some(place))
}

/// Path of `link` in the document `from`; `None` if it is outside the project.
fn resolve(from: &str, link: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// Anchor of a heading: small letters, words joined by hyphens, nothing else.
fn anchor(line: &str) -> Option<String> {
    let heading = line.strip_prefix('#')?.trim_start_matches('#').trim();
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    Some(kept.collect::<String>().to_lowercase().replace(' ', "-"))
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    #[test]
    fn a_link_to_nothing_is_found() {
        let page = "See [a](other.md), [b](../README.md#what-is-it), [c](https://example.org/x).\n\
                    [d](gone.md) and [e](other.md#nowhere)\n```\n[f](code.md)\n```\n[g](../../x)\n";
        check(
            &RULE,
            &[
                ("README.md", "# Tide\n## What is it?\n"),
                ("docs/page.md", page),
                ("docs/other.md", "# Here\n"),
            ],
            &[
                "docs/page.md:2: no such target: gone.md",
                "docs/page.md:2: no such target: other.md#nowhere",
                "docs/page.md:6: no such target: ../../x",
            ],
        );
    }
}
