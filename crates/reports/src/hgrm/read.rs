//! Reader of percentile distributions as HdrHistogram, wrk2 and this program write them.
//!
//! A file is a heading that begins with `Value`, and lines with a value, its percentile as a share, the number of
//! times up to it, and 1/(1 - percentile), which is not read. Lines that begin with `#` are comments. The format
//! states no unit: a comment of this program does, and the caller may.

use bench::analysis::Unit;
use core::fmt;
use records::quantity::value;
use stats::histogram::has_quantile;
use std::collections::BTreeMap;

/// Most octets of a file.
pub const MOST_OCTETS: u64 = 16 << 20;
/// Words before the unit in the comment that states it.
const STATEMENT: &str = "values in ";

/// Unit of the values of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeUnit {
    /// Nanoseconds.
    Nanoseconds,
    /// Microseconds, as this program writes.
    Microseconds,
    /// Milliseconds, as wrk2 writes.
    Milliseconds,
    /// Seconds.
    Seconds,
}

impl TimeUnit {
    const fn nanos(self) -> f64 {
        match self {
            Self::Nanoseconds => 1.0,
            Self::Microseconds => 1e3,
            Self::Milliseconds => 1e6,
            Self::Seconds => 1e9,
        }
    }

    fn stated(comment: &str) -> Option<Self> {
        let name = comment.trim_start_matches('#').trim().strip_prefix(STATEMENT)?;
        match name {
            "nanoseconds" => Some(Self::Nanoseconds),
            "microseconds" => Some(Self::Microseconds),
            "milliseconds" => Some(Self::Milliseconds),
            "seconds" => Some(Self::Seconds),
            _ => None,
        }
    }
}

/// Distribution of times that a file holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Percentiles {
    /// Name for figures and tables.
    pub name: String,
    /// Number of times up to each value of the file and above the value before it, by the value in nanoseconds.
    pub classes: BTreeMap<u64, u64>,
    /// Longest time in nanoseconds.
    pub longest: u64,
}

impl Percentiles {
    /// Number of times.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.classes.values().sum()
    }

    /// Least value of the file that at least this share of the times does not exceed, in nanoseconds; none of a share
    /// for which there are too few times, but 1.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Option<u64> {
        let count = self.count();
        if share < 1.0 && !has_quantile(count, share) {
            return None;
        }
        let needed = (share * count as f64 - 1e-6).ceil() as u64;
        let mut seen = 0;
        self.classes.iter().find_map(|(nanos, times)| {
            seen += times;
            (seen >= needed).then_some(*nanos)
        })
    }

    /// Value of [`Percentiles::quantile`] in words; `n/a` if there is none.
    #[must_use]
    pub fn quantile_text(&self, share: f64) -> String {
        let text = |nanos| value(Unit::Nanoseconds, nanos as f64);
        self.quantile(share).map_or_else(|| "n/a".to_owned(), text)
    }
}

/// Error in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed {
    /// Line, from 1; none if something is missing in the whole file.
    pub line: Option<usize>,
    /// Error.
    pub error: Error,
}

/// Kind of an error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// The first line is no heading.
    NoHeading,
    /// A field is missing.
    Missing(&'static str),
    /// A field is no number, or out of range.
    NoNumber(&'static str, String),
    /// A field is less than in the line before.
    Falls(&'static str),
    /// The file ends before the percentile 1.
    Cut,
    /// The file holds no times.
    Empty,
    /// The file does not state its unit, and the caller does not either.
    NoUnit,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoHeading => {
                f.write_str("the heading \"Value Percentile TotalCount\" is missing")
            }
            Self::Missing(field) => write!(f, "the field {field} is missing"),
            Self::NoNumber(field, text) => {
                write!(f, "the field {field} is {text:?}, which is not a number in its range")
            }
            Self::Falls(field) => write!(f, "the field {field} is less than in the line before"),
            Self::Cut => f.write_str("the last percentile is below 1: the file is cut off"),
            Self::Empty => f.write_str("the file holds no times"),
            Self::NoUnit => f.write_str("the file does not state the unit of its values"),
        }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.error),
            None => self.error.fmt(f),
        }
    }
}

impl core::error::Error for Malformed {}

/// A line of the table.
#[derive(Clone, Copy, Default)]
struct Row {
    value: f64,
    share: f64,
    count: u64,
}

/// Reads a file under a name. `unit` is that of a file that states none.
///
/// # Errors
/// The first line that is malformed, or something that is missing in the whole file.
pub fn read(name: &str, text: &str, unit: Option<TimeUnit>) -> Result<Percentiles, Malformed> {
    let mut rows: Vec<Row> = Vec::new();
    let (mut has_heading, mut stated) = (false, None);
    for (place, line) in text.lines().enumerate() {
        let at_line = |error| Malformed { line: Some(place + 1), error };
        let line = line.trim();
        if line.starts_with('#') {
            stated = stated.or_else(|| TimeUnit::stated(line));
        } else if !line.is_empty() && !has_heading {
            let words: Vec<&str> = line.split_whitespace().take(3).collect();
            has_heading = words == ["Value", "Percentile", "TotalCount"];
            if !has_heading {
                return Err(at_line(Error::NoHeading));
            }
        } else if !line.is_empty() {
            let before = rows.last().copied().unwrap_or_default();
            rows.push(row(line, before).map_err(at_line)?);
        }
    }
    let of_file = |error| Malformed { line: None, error };
    let last = rows.last().copied().filter(|last| last.count > 0);
    let last = last.ok_or_else(|| of_file(Error::Empty))?;
    if last.share < 1.0 {
        return Err(of_file(Error::Cut));
    }
    let each = stated.or(unit).ok_or_else(|| of_file(Error::NoUnit))?.nanos();
    let nanos = |row: &Row| (row.value * each).round() as u64;
    let (mut classes, mut seen) = (BTreeMap::new(), 0);
    for row in &rows {
        if row.count > seen {
            *classes.entry(nanos(row)).or_insert(0) += row.count - seen;
            seen = row.count;
        }
    }
    Ok(Percentiles { name: name.to_owned(), classes, longest: nanos(&last) })
}

/// Reads a line of the table.
fn row(line: &str, before: Row) -> Result<Row, Error> {
    let mut words = line.split_whitespace();
    let mut field = |name| words.next().map(|word| (name, word)).ok_or(Error::Missing(name));
    let (value, share) = (field("Value")?, field("Percentile")?);
    let (name, count) = field("TotalCount")?;
    let no_number = |name, text: &str| Error::NoNumber(name, text.chars().take(40).collect());
    // Times of up to 292 years in nanoseconds.
    let number = |(name, text): (&'static str, &str), most: f64| {
        let number = text.parse::<f64>().ok().filter(|number| (0.0..=most).contains(number));
        number.ok_or_else(|| no_number(name, text))
    };
    let row = Row {
        value: number(value, 9.2e9)?,
        share: number(share, 1.0)?,
        count: count.parse().map_err(|_| no_number(name, count))?,
    };
    if row.value < before.value {
        return Err(Error::Falls("Value"));
    }
    if row.share < before.share {
        return Err(Error::Falls("Percentile"));
    }
    if row.count < before.count {
        return Err(Error::Falls("TotalCount"));
    }
    Ok(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the C implementation of HdrHistogram, wrk2's, writes 4 times: three of 1.5 ms, one of 20 ms.
    const WRK2: &str = "       Value   Percentile   TotalCount 1/(1-Percentile)\n\n\
                        \x20      1.500     0.000000            3         1.00\n\
                        \x20      1.500     0.750000            3         4.00\n\
                        \x20     20.000     0.800000            4         5.00\n\
                        \x20     20.000     1.000000            4          inf\n\
                        #[Mean    =        6.125, StdDeviation   =        8.010]\n";

    #[test]
    fn a_file_of_wrk2_is_read_in_the_unit_that_is_given() {
        let file = read("wrk2", WRK2, Some(TimeUnit::Milliseconds)).unwrap();
        assert_eq!(file.classes, BTreeMap::from([(1_500_000, 3), (20_000_000, 1)]));
        assert_eq!((file.longest, file.count()), (20_000_000, 4));
        // Three of four are 1.5 ms or less; of four times no 99 % is known.
        assert_eq!(
            [0.5, 0.75, 0.99, 1.0].map(|share| file.quantile(share)),
            [Some(1_500_000), Some(1_500_000), None, Some(20_000_000)]
        );
    }

    #[test]
    fn the_unit_that_a_file_states_goes_before_that_of_the_caller() {
        let text = format!("{WRK2}# values in microseconds\n");
        let file = read("own", &text, Some(TimeUnit::Seconds)).unwrap();
        assert_eq!(file.longest, 20_000);
        assert_eq!(read("own", &text, None).unwrap(), file);
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let error = read("bad", text, Some(TimeUnit::Microseconds)).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn an_error_names_its_line_and_field() {
        let heading = "Value Percentile TotalCount 1/(1-Percentile)\n";
        let with = |lines: &str| format!("{heading}\n{lines}");
        check(
            "{\"type\":\"sample\"}",
            "line 1: the heading \"Value Percentile TotalCount\" is missing",
        );
        check(
            &with("1 0.5 1\n2 x 2\n"),
            "line 4: the field Percentile is \"x\", which is not a number in its range",
        );
        check(
            &with("NaN 0.5 1\n"),
            "line 3: the field Value is \"NaN\", which is not a number in its range",
        );
        check(
            &with("1 1.5 1\n"),
            "line 3: the field Percentile is \"1.5\", which is not a number in its range",
        );
        check(
            &with("1 0.5 -1\n"),
            "line 3: the field TotalCount is \"-1\", which is not a number in its range",
        );
        check(&with("1 0.5\n"), "line 3: the field TotalCount is missing");
        check(&with("2 0.5 1\n1 1 2\n"), "line 4: the field Value is less than in the line before");
        check(
            &with("1 0.5 2\n2 0.4 2\n"),
            "line 4: the field Percentile is less than in the line before",
        );
        check(
            &with("1 0.5 2\n2 1 1\n"),
            "line 4: the field TotalCount is less than in the line before",
        );
        check(&with("1 0.5 2\n"), "the last percentile is below 1: the file is cut off");
        check(heading, "the file holds no times");
        check("", "the file holds no times");
        let error = read("bad", &with("1 1 1\n"), None).unwrap_err();
        assert_eq!(error.to_string(), "the file does not state the unit of its values");
    }
}
