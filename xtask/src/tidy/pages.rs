//! Pages of crates: `docs/crates/NAME.md` says what each source file holds. `cargo xtask pages`
//! makes them from the first paragraph of each file, and this rule compares them.

use super::Rule;
use crate::tree::Tree;
use std::fs;
use std::path::Path;

pub(super) const RULE: Rule = Rule { name: "pages", check };

/// Last line of the introduction of a page.
const MADE: &str =
    "Each line below is the first paragraph of a source file; `cargo xtask pages` makes this page.";

fn check(tree: &Tree) -> Vec<String> {
    let differs = |(path, page): &(String, String)| tree.text(path) != Some(page.as_str());
    let find = |(path, _)| format!("{path}: not what the sources say; run `cargo xtask pages`");
    pages(tree).into_iter().filter(differs).map(find).collect()
}

/// Writes the pages.
pub(crate) fn write(root: &Path) -> Result<(), String> {
    let tree = Tree::read(root).map_err(|e| format!("cannot read {}: {e}", root.display()))?;
    for (path, page) in pages(&tree) {
        let path = root.join(path);
        let complaint = |e: std::io::Error| format!("cannot write {}: {e}", path.display());
        let folder = path.parent().expect("a page lies in a folder");
        fs::create_dir_all(folder).and_then(|()| fs::write(&path, page)).map_err(complaint)?;
    }
    Ok(())
}

/// The path and the text of each crate's page.
fn pages(tree: &Tree) -> Vec<(String, String)> {
    let page = |name: &&str| (format!("docs/crates/{name}.md"), page_of(tree, name));
    tree.crates().iter().map(page).collect()
}

fn page_of(tree: &Tree, name: &str) -> String {
    let folder = format!("crates/{name}/src/");
    let root = ["lib.rs", "main.rs"].map(|file| format!("{folder}{file}"));
    let root = root.iter().find_map(|path| tree.text(path)).unwrap_or_default();
    let mut page =
        format!("# `{name}`\n\n{}\n\n{MADE}\n\n| file | holds |\n|---|---|\n", first(root));
    for (path, text) in tree.between(&folder, ".rs").filter(|(path, _)| !is_test(path)) {
        let file = path.strip_prefix(&folder).unwrap_or(path);
        page += &format!("| [`{file}`](../../{path}) | {} |\n", first(text).replace('|', "\\|"));
    }
    page
}

fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

/// First paragraph of a file's documentation, without links.
fn first(text: &str) -> String {
    let lines = text.lines().map_while(|line| line.strip_prefix("//! "));
    let mut plain = String::new();
    let mut rest = lines.collect::<Vec<_>>().join(" ");
    while let Some((before, link)) = rest.split_once("[`") {
        plain += before;
        let Some((name, behind)) = link.split_once("`]") else { break };
        plain += &format!("`{name}`");
        let target = behind.strip_prefix('(').and_then(|target| target.split_once(')'));
        rest = target.map_or(behind, |(_, behind)| behind).to_owned();
    }
    plain + &rest
}

#[cfg(test)]
mod tests {
    use super::super::check;
    use super::*;

    const LIB: (&str, &str) =
        ("crates/wire/src/lib.rs", "//! Frames, in\n//! [`tp`](x).\n//!\n//! More.\n");
    const TP: (&str, &str) = ("crates/wire/src/tp.rs", "//! TPDUs: see [`super`] | 4.\n");
    const MANIFEST: (&str, &str) = ("crates/wire/Cargo.toml", "");

    #[test]
    fn a_page_has_the_first_paragraph_of_each_file() {
        let tree = Tree::of(&[LIB, TP, MANIFEST, ("crates/wire/src/tp/tests.rs", "//! No.\n")]);
        let page = page_of(&tree, "wire");
        assert!(page.starts_with("# `wire`\n\nFrames, in `tp`.\n\n"), "{page}");
        assert!(
            page.contains(
                "| [`tp.rs`](../../crates/wire/src/tp.rs) | TPDUs: see `super` \\| 4. |\n"
            )
        );
        assert!(!page.contains("No.") && !page.contains("More."), "{page}");
    }

    #[test]
    fn a_page_that_differs_from_the_sources_is_refused() {
        let files = [LIB, TP, MANIFEST];
        let page = page_of(&Tree::of(&files), "wire");
        let with = |page: &str| {
            let mut all = files.to_vec();
            let page = page.to_owned();
            all.push(("docs/crates/wire.md", page.as_str()));
            (RULE.check)(&Tree::of(&all))
        };
        assert!(with(&page).is_empty());
        let find = "docs/crates/wire.md: not what the sources say; run `cargo xtask pages`";
        assert_eq!(with(&page.replace("TPDUs", "PDUs")), [find]);
        check(&RULE, &files, &[find]);
    }
}
