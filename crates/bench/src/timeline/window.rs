//! Window of simulated time: `100ms..105ms`.

use crate::scenario::Span;
use core::fmt;
use core::str::FromStr;
use wire::time::Instant;

/// Window of simulated time, counted from the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Window {
    /// Start.
    pub from: Instant,
    /// End.
    pub until: Instant,
    /// Unit in which the end was given.
    pub unit: Unit,
}

/// Unit of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unit {
    /// Symbol.
    pub symbol: &'static str,
    /// Length in nanoseconds.
    pub nanos: u64,
}

/// Units of a window, and the words by which they are given.
const UNITS: [(&str, Unit); 5] = [
    ("ns", Unit { symbol: "ns", nanos: 1 }),
    ("us", Unit { symbol: "us", nanos: 1_000 }),
    ("µs", Unit { symbol: "us", nanos: 1_000 }),
    ("ms", Unit { symbol: "ms", nanos: 1_000_000 }),
    ("s", Unit { symbol: "s", nanos: 1_000_000_000 }),
];

/// Error of a text that is no window.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoWindow {
    /// There are not two times.
    #[error("expected two times, such as 100ms..105ms")]
    NotTwo,
    /// One of them is no time.
    #[error("\"{text}\" is no time: expected {expected}")]
    NoTime {
        /// Text in its place.
        text: String,
        /// Expected text.
        expected: String,
    },
    /// The end is not after the start.
    #[error("it ends at {until}, and begins at {from}")]
    Empty {
        /// Start.
        from: Span,
        /// End.
        until: Span,
    },
}

impl Unit {
    /// Time since the start of the run in this unit, with its symbol.
    #[must_use]
    pub fn of(&self, at: Instant) -> String {
        format!("{} {}", at.as_nanos() as f64 / self.nanos as f64, self.symbol)
    }
}

impl Window {
    /// Returns whether an event from `begin` to `end` lies in the window, at least in part.
    #[must_use]
    pub fn has(&self, begin: Instant, end: Instant) -> bool {
        begin <= self.until && end >= self.from
    }
}

impl FromStr for Window {
    type Err = NoWindow;

    fn from_str(text: &str) -> Result<Self, NoWindow> {
        let (from, until) = text.split_once("..").ok_or(NoWindow::NotTwo)?;
        let time = |text: &str| {
            let time = text.parse::<Span>();
            time.map_err(|error| NoWindow::NoTime {
                text: text.to_owned(),
                expected: error.to_string().trim_start_matches("expected ").to_owned(),
            })
        };
        let spans = (time(from)?, time(until)?);
        if spans.1 <= spans.0 {
            return Err(NoWindow::Empty { from: spans.0, until: spans.1 });
        }
        let symbol = until.trim().trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let unit = UNITS.iter().find(|(word, _)| *word == symbol.trim());
        let (_, second) = UNITS[UNITS.len() - 1];
        Ok(Self {
            from: Instant::ZERO + spans.0.0,
            until: Instant::ZERO + spans.1.0,
            unit: unit.map_or(second, |(_, unit)| *unit),
        })
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.unit.of(self.from), self.unit.of(self.until))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_has_two_times_of_which_the_second_is_later() {
        let window: Window = "100ms..105ms".parse().unwrap();
        assert_eq!(window.from, Instant::from_nanos(100_000_000));
        assert_eq!((window.until, window.unit.symbol), (Instant::from_nanos(105_000_000), "ms"));
        assert_eq!("0 s .. 1.5 s".parse::<Window>().unwrap().to_string(), "0 s to 1.5 s");
        for (text, expected) in [
            ("100ms", "expected two times, such as 100ms..105ms"),
            ("105ms..100ms", "it ends at 100 ms, and begins at 105 ms"),
            ("1s..1s", "it ends at 1 s, and begins at 1 s"),
        ] {
            assert_eq!(text.parse::<Window>().unwrap_err().to_string(), expected);
        }
        for text in ["now..5ms", "1ms..", "..1ms", "1..2", "1ms..2kg", "-1ms..2ms"] {
            let error = text.parse::<Window>().unwrap_err().to_string();
            assert!(error.contains("is no time: expected"), "{text}: {error}");
        }
    }

    #[test]
    fn a_window_has_each_event_that_overlaps_it() {
        let window: Window = "10ns..20ns".parse().unwrap();
        let has = |begin, end| window.has(Instant::from_nanos(begin), Instant::from_nanos(end));
        assert!(has(5, 10) && has(15, 15) && has(20, 30) && has(0, 100));
        assert!(!has(5, 9) && !has(21, 22));
    }
}
