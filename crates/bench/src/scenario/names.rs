//! Names and titles: they stand in columns of tables, in file names, and on terminals.

use wire::printable::is_printable;

/// The longest name of a station or flow, in characters.
const LONGEST_NAME: usize = 64;
/// The longest title, in characters.
const LONGEST_TITLE: usize = 200;

/// Describes the mistake in a name, if there is one.
pub(crate) fn wrong_name(name: &str) -> Option<String> {
    wrong(name, LONGEST_NAME, "name")
}

/// Describes the mistake in a title, if there is one.
pub(crate) fn wrong_title(title: &str) -> Option<String> {
    wrong(title, LONGEST_TITLE, "title")
}

fn wrong(text: &str, most: usize, what: &str) -> Option<String> {
    let count = text.chars().count();
    if count > most {
        return Some(format!("a {what} has at most {most} characters, and this one {count}"));
    }
    let symbol = text.chars().find(|symbol| !is_printable(*symbol))?;
    Some(format!("a {what} cannot have the unprintable character {}", symbol.escape_unicode()))
}

#[cfg(test)]
mod tests {
    use super::super::load;
    use super::*;

    fn scenario(name: &str, title: &str) -> String {
        format!(
            r#"version = 1
title = "{title}"
stop = {{ after = "1 s" }}
medium = {{ kind = "ideal", rate = "10 Mbit/s" }}
stations = {{ count = 2, prefix = "s" }}
[[flow]]
name = "{name}"
from = "s-1"
to = "s-2"
service = "datagram"
pattern = {{ kind = "cyclic", period = "20 ms" }}
size = "200 B"
"#
        )
    }

    #[test]
    fn names_that_break_a_table_or_play_with_a_terminal_are_refused() {
        let long = "x".repeat(65);
        for (name, title, said) in [
            (long.as_str(), "t", "a name has at most 64 characters, and this one 65"),
            (r"a\u001b[2J", "t", r"the unprintable character \u{1b}"),
            (r"a\u202eb", "t", r"the unprintable character \u{202e}"),
            (r"a\nb", "t", r"the unprintable character \u{a}"),
            ("a", r"t\u0007", r"the unprintable character \u{7}"),
            ("a", &"x".repeat(201), "a title has at most 200 characters"),
        ] {
            let error = load(&scenario(name, title), "test.toml").unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
            let shown = error.chars().filter(|symbol| *symbol != '\n');
            assert!(shown.into_iter().all(is_printable), "{error:?}");
        }
        assert!(load(&scenario(&"x".repeat(64), "Stra\u{df}e \u{2192} \u{4e2d}"), "t").is_ok());
    }

    #[test]
    fn of_a_thousand_problems_fifty_lines_are_shown() {
        let flow = "[[flow]]\nname = \"a\"\nfrom = \"unknown\"\nto = \"s-2\"\nservice = \"datagram\"\n\
                    pattern = { kind = \"cyclic\", period = \"20 ms\" }\nsize = \"200 B\"\n";
        let text = scenario("a", "t") + &flow.repeat(1_000);
        let error = load(&text, "test.toml").unwrap_err();
        // Each of the thousand has an unknown station, and a name already in use.
        let found = error.problems.len();
        assert!(found >= 2_000, "{found}");
        let shown = error.to_string();
        let problems = shown.matches("-->").count();
        assert!(shown.ends_with(&format!("and {} more problems", found - problems)));
        // As many as there is room for: a command prints three lines around them.
        assert!((40..=47).contains(&shown.lines().count()) && problems > 5, "{shown}");
    }

    #[test]
    fn a_long_line_is_shown_around_its_problem() {
        let text = format!("version = 1 #{}\nx = 1", "y".repeat(1_000_000));
        let error = load(&text.replace("version", "version1"), "test.toml").unwrap_err();
        assert!(error.to_string().len() < 10_000, "{} octets", error.to_string().len());
    }
}
