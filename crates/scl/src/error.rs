//! Errors in a file, each with its place.

use core::fmt;

/// Place in a file, from 1.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// Line.
    pub line: usize,
    /// Column, in octets.
    pub column: usize,
}

/// Error in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// Place of the element, if the error has one.
    pub place: Option<Place>,
    /// Reason, in small letters.
    pub reason: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Some(Place { line, column }) => {
                write!(f, "line {line}, column {column}: {}", self.reason)
            }
            None => f.write_str(&self.reason),
        }
    }
}

impl core::error::Error for Error {}

/// Error at an offset, before the offset is converted to a line.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fault {
    pub(crate) offset: Option<usize>,
    pub(crate) reason: String,
}

impl Fault {
    /// Fault at an offset.
    pub(crate) fn at(offset: usize, reason: impl Into<String>) -> Self {
        Self { offset: Some(offset), reason: reason.into() }
    }

    /// Error with the line of the offset in `text`.
    pub(crate) fn placed(self, text: &[u8]) -> Error {
        let place = self.offset.map(|offset| {
            let before = text.get(..offset).unwrap_or(text);
            let begin = before.iter().rposition(|octet| *octet == b'\n').map_or(0, |at| at + 1);
            let line = before.iter().filter(|octet| **octet == b'\n').count() + 1;
            Place { line, column: before.len() - begin + 1 }
        });
        Error { place, reason: self.reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_becomes_a_line_and_a_column() {
        let error = Fault::at(5, "wrong").placed(b"ab\ncdef");
        assert_eq!(error.place, Some(Place { line: 2, column: 3 }));
        assert_eq!(error.to_string(), "line 2, column 3: wrong");
    }
}
