//! Characters that are safe to print: names and titles come from peers, captures and files.
//!
//! No control character may reach a terminal, and no character that reorders or hides its
//! neighbours. Control characters are those of Unicode (C0, DEL, C1, including ESC and BEL).
//! Characters that reorder or hide are the bidirectional controls of UAX 9, the zero-width
//! characters, the line and paragraph separators and the byte order mark.

use core::fmt;

/// Returns true if a character is visible as itself and does not affect its neighbours.
#[must_use]
pub fn is_printable(symbol: char) -> bool {
    let moves_others = matches!(
        symbol,
        '\u{00AD}'
            | '\u{061C}'
            | '\u{180E}'
            | '\u{200B}'..='\u{200F}'
            | '\u{2028}'..='\u{202E}'
            | '\u{2060}'..='\u{206F}'
            | '\u{FEFF}'
            | '\u{FFF9}'..='\u{FFFB}'
            | '\u{E0000}'..='\u{E007F}'
    );
    !symbol.is_control() && !moves_others
}

/// Text that prints with every unprintable character escaped as in Rust: `\u{1b}`, `\n`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Printable<'a>(pub &'a str);

impl fmt::Display for Printable<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(place) = rest.find(|symbol| !is_printable(symbol)) {
            let (plain, from) = rest.split_at(place);
            f.write_str(plain)?;
            let mut symbols = from.chars();
            if let Some(symbol) = symbols.next() {
                write!(f, "{}", symbol.escape_default())?;
            }
            rest = symbols.as_str();
        }
        f.write_str(rest)
    }
}

/// Text with every unprintable character escaped; of a text of more than `most` characters its front, and
/// the number of its octets.
#[must_use]
pub fn bounded(text: &str, most: usize) -> String {
    let Some((cut, _)) = text.char_indices().nth(most) else {
        return Printable(text).to_string();
    };
    let front = text.get(..cut).unwrap_or_default();
    format!("{}... ({} octets)", Printable(front), text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_overrides_are_spelled_out_and_letters_stay() {
        for (text, printed) in [
            ("\u{1b}[2Jx", "\\u{1b}[2Jx"),
            ("a\u{7}b\n", "a\\u{7}b\\n"),
            ("abc\u{202e}fed", "abc\\u{202e}fed"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("caf\u{e9} \u{4e2d}\u{6587}", "caf\u{e9} \u{4e2d}\u{6587}"),
            ("", ""),
        ] {
            assert_eq!(Printable(text).to_string(), printed);
            assert!(Printable(text).to_string().chars().all(is_printable));
        }
    }
}
