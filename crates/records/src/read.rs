//! Reader of the stream, line by line, from any process.
//!
//! Lines have a maximum length, so that a foreign file cannot fill memory. Unknown record types of
//! later versions are skipped.

use super::{Head, OLDER_SCHEMA, Record, SCHEMA};
use core::fmt;
use std::io::{self, BufRead, Read as _};

/// Maximum length of a record.
const LONGEST_LINE_OCTETS: u64 = 16 << 20;

/// Reason why a stream cannot be read further.
#[derive(Debug)]
pub enum Unreadable {
    /// The first line is not the head of a known stream.
    Foreign(String),
    /// A line is not a record.
    NoRecord(u64, String),
    /// The last line is incomplete.
    CutLine(u64),
    /// The end record is missing.
    CutShort,
    /// The octets could not be read.
    Io(io::Error),
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Foreign(why) => {
                write!(f, "not a stream of measures ({SCHEMA}), which tidewire meter writes: {why}")
            }
            Self::NoRecord(line, why) => write!(f, "line {line} of the stream: {why}"),
            Self::CutLine(line) => write!(f, "line {line} of the stream has no end: cut short"),
            Self::CutShort => f.write_str("the stream ends without its end record: cut short"),
            Self::Io(error) => write!(f, "the stream cannot be read: {error}"),
        }
    }
}

impl core::error::Error for Unreadable {}

/// A line of a stream.
#[derive(Debug)]
pub enum Entry<'a> {
    /// A record.
    Record(Box<Record>),
    /// A line of another type, such as the outcome of a requirement.
    Other(&'a [u8]),
}

/// A stream being read.
pub struct Reader<R> {
    from: R,
    line: u64,
    text: Vec<u8>,
    is_over: bool,
}

impl<R: BufRead> Reader<R> {
    /// Reads the head.
    ///
    /// # Errors
    /// Fails if the input is not a stream of measures.
    pub fn open(from: R) -> Result<(Self, Head), Unreadable> {
        let mut reader = Self { from, line: 0, text: Vec::new(), is_over: false };
        let foreign = |why: &str| Unreadable::Foreign(why.to_owned());
        match reader.read() {
            Ok(Some(Record::Stream(head))) if is_known(&head.schema) => Ok((reader, head)),
            Ok(Some(Record::Stream(head))) => Err(foreign(&format!("it is {:?}", head.schema))),
            Ok(Some(_)) => Err(foreign("its first record is not of the type \"stream\"")),
            Ok(None) => Err(foreign("it is empty")),
            Err(Unreadable::NoRecord(_, why)) => Err(foreign(&why)),
            Err(Unreadable::CutLine(_)) => Err(foreign("its first line has no end: cut short")),
            Err(error) => Err(error),
        }
    }

    /// Returns the next record; none after the last.
    ///
    /// # Errors
    /// Fails at a line that is not a record, at a truncated stream, and if reading fails.
    pub fn next_record(&mut self) -> Result<Option<Record>, Unreadable> {
        loop {
            match self.read()? {
                Some(Record::Unknown) => {}
                Some(record) => {
                    self.is_over |= matches!(record, Record::End(_));
                    return Ok(Some(record));
                }
                None if self.is_over => return Ok(None),
                None => return Err(Unreadable::CutShort),
            }
        }
    }

    /// Returns the next record, or the line of an object of another type; none after the last.
    ///
    /// # Errors
    /// As [`Self::next_record`].
    pub fn next_entry(&mut self) -> Result<Option<Entry<'_>>, Unreadable> {
        match self.read()? {
            Some(Record::Unknown) => Ok(Some(Entry::Other(&self.text))),
            Some(record) => {
                self.is_over |= matches!(record, Record::End(_));
                Ok(Some(Entry::Record(Box::new(record))))
            }
            None if self.is_over => Ok(None),
            None => Err(Unreadable::CutShort),
        }
    }

    fn read(&mut self) -> Result<Option<Record>, Unreadable> {
        self.text.clear();
        self.line += 1;
        let mut line = self.from.by_ref().take(LONGEST_LINE_OCTETS);
        let octets = line.read_until(b'\n', &mut self.text).map_err(Unreadable::Io)?;
        if octets == 0 {
            return Ok(None);
        }
        if octets as u64 == LONGEST_LINE_OCTETS {
            let why = "longer than any record".to_owned();
            return Err(Unreadable::NoRecord(self.line, why));
        }
        let is_cut = !self.text.ends_with(b"\n");
        serde_json::from_slice(&self.text).map(Some).map_err(|error| {
            if is_cut && error.is_eof() {
                Unreadable::CutLine(self.line)
            } else {
                Unreadable::NoRecord(self.line, error.to_string())
            }
        })
    }
}

/// Returns true for a version this reader accepts; a later minor version only adds names that
/// readers skip.
fn is_known(schema: &str) -> bool {
    [SCHEMA, OLDER_SCHEMA].into_iter().any(|known| {
        let rest = schema.strip_prefix(known);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = r#"{"type":"stream","schema":"tidewire.measures/1","source":"a","measure_ns":1,"report_ns":1,"sample_ns":null,"channel_bits_per_second":1,"bounds_octets":[],"top":0,"only":null}"#;
    const END: &str = r#"{"type":"end","complete":true,"frames":0,"oddities":{},"dropped_by_kernel":null,"error":null}"#;

    fn read(text: &str) -> Result<Vec<Record>, Unreadable> {
        let (mut reader, _) = Reader::open(text.as_bytes())?;
        let mut records = Vec::new();
        while let Some(record) = reader.next_record()? {
            records.push(record);
        }
        Ok(records)
    }

    #[test]
    fn records_and_names_of_a_later_version_are_passed_over() {
        let later = "{\"type\":\"dream\",\"of\":[1]}\n";
        let head = HEAD.replace("\"top\":0", "\"top\":0,\"more\":{}");
        assert_eq!(read(&format!("{head}\n{later}{END}\n")).unwrap().len(), 1);
        let minor = HEAD.replace("measures/1", "measures/1.4");
        assert_eq!(read(&format!("{minor}\n{END}\n")).unwrap().len(), 1);
    }

    #[test]
    fn what_is_wrong_is_said() {
        check("", "it is empty");
        check(
            "#!/bin/sh\n",
            "not a stream of measures (tidewire.measures/2), which tidewire meter writes: expected value",
        );
        check(END, "its first record is not of the type \"stream\"");
        check(&HEAD.replace("measures/1", "measures/3"), "it is \"tidewire.measures/3\"");
        check(&format!("{HEAD}\n"), "cut short");
        check(&format!("{HEAD}\n{{\"type\":\"end\"}}\n"), "line 2 of the stream: missing field");
    }

    #[test]
    fn a_line_truncated_anywhere_is_reported_after_the_records_read() {
        let sample = r#"{"type":"sample","start_ns":0,"length_ns":9,"frames":2,"octets":7,"connections":[]}"#;
        for octets in 1..sample.len() {
            let text = format!("{HEAD}\n{sample}\n{}", &sample[..octets]);
            let (mut reader, _) = Reader::open(text.as_bytes()).unwrap();
            assert!(matches!(reader.next_record(), Ok(Some(Record::Sample(_)))));
            let told = reader.next_record().unwrap_err().to_string();
            assert_eq!(told, "line 3 of the stream has no end: cut short", "{octets} octets");
        }
        // At a record boundary only the end record is missing; a line with its newline but cut
        // inside is not a record.
        check(&format!("{HEAD}\n{sample}"), "without its end record");
        check(&format!("{HEAD}\n{}\n", &sample[..28]), "line 2 of the stream: EOF");
        check(&format!("{HEAD}\nplant"), "line 2 of the stream: expected value");
        check(&HEAD[..30], "its first line has no end: cut short");
    }

    #[track_caller]
    fn check(text: &str, complaint: &str) {
        let told = read(text).unwrap_err().to_string();
        assert!(told.contains(complaint), "{told}");
    }
}
