//! Sentences in lines that fit every terminal.

/// The width that every terminal has.
pub const COLUMNS: usize = 80;

/// Words behind a beginning, in lines that fit a terminal; later lines stand below the first word.
#[must_use]
pub fn wrapped(beginning: &str, words: &str) -> String {
    let indent = beginning.chars().count().min(COLUMNS / 2);
    let mut lines = String::new();
    let mut line = beginning.to_owned();
    let mut is_empty = true;
    for word in words.split_whitespace() {
        let gap = usize::from(!is_empty);
        if !is_empty && line.chars().count() + gap + word.chars().count() > COLUMNS {
            lines.push_str(line.trim_end());
            lines.push('\n');
            line = " ".repeat(indent);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    lines + line.trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_between_words_and_indented() {
        let text = wrapped("  001  ", &"words ".repeat(20));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].starts_with("  001  words") && lines[1].starts_with("       words"));
        assert!(lines.iter().all(|line| line.chars().count() <= 80));
    }
}
