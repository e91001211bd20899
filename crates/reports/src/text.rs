//! Text of a report: bounded, and with every unprintable character made visible.
//!
//! Names come from captures, SCL files and run folders. No such text reaches a page with a control
//! character or a character that reorders its neighbours, whichever form the report has.

use core::fmt;
use maud::{Escaper, Render};
use wire::printable::bounded;

/// Most characters of a name or of a cell.
const MOST_CHARACTERS: usize = 300;
/// Most characters of a sentence or of a command line.
const MOST_OF_LONG: usize = 4_000;

/// Text that can be shown.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Text(String);

impl Text {
    /// A text of up to 4,000 characters: a sentence or a command line.
    pub fn long(text: impl AsRef<str>) -> Self {
        Self(bounded(text.as_ref(), MOST_OF_LONG))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns true for a text without characters.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(bounded(text, MOST_CHARACTERS))
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<&String> for Text {
    fn from(text: &String) -> Self {
        Self::from(text.as_str())
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Render for Text {
    fn render_to(&self, buffer: &mut String) {
        use fmt::Write as _;
        let _ = Escaper::new(buffer).write_str(&self.0);
    }
}

/// Texts that are not empty, in one line.
pub(crate) fn joined(texts: &[&Text]) -> String {
    let texts: Vec<&str> = texts.iter().filter(|it| !it.is_empty()).map(|it| it.as_str()).collect();
    texts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_cut_and_says_how_long_it_is() {
        let text = Text::from("é".repeat(40_000));
        assert_eq!(text.as_str(), format!("{}... (80000 octets)", "é".repeat(300)));
        assert_eq!(Text::from("é".repeat(300)).as_str(), "é".repeat(300));
    }

    #[test]
    fn overrides_are_visible_and_tags_are_escaped() {
        let mut page = String::new();
        Text::from("<script>\u{202e}\u{7}\n").render_to(&mut page);
        assert_eq!(page, "&lt;script&gt;\\u{202e}\\u{7}\\n");
    }
}
