//! Reader of the full log of sockperf (`sockperf ping-pong --full-log FILE`, also of under-load and playback).
//!
//! Format: `src/client.cpp` of sockperf 3. Behind its summary a log has, for each server, a heading that begins
//! with `packet, txTime(sec), rxTime(sec)`, and a line with these for each message whose reply came. Both times
//! are of the client's clock: their difference is the round trip. A fourth column, the round trip or half of it
//! in microseconds, follows from them and is not read.

use super::super::hgrm::read::Percentiles;
use std::collections::BTreeMap;

/// Begin of the heading.
const HEADING: &str = "packet, txTime(sec), rxTime(sec)";
/// Most seconds that a time may be: 292 years in nanoseconds.
const MOST_SECONDS: f64 = 9.2e9;
/// Words before the counts of the summary.
const DROPPED: &str = "# dropped messages = ";

/// Messages of one server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Server {
    /// Round trips.
    pub round_trips: Percentiles,
    /// Number of messages without a reply; none if the log does not state it.
    pub dropped: Option<u64>,
}

impl Server {
    /// Halves of the round trips, which sockperf calls latency.
    #[must_use]
    pub fn halves(&self) -> Percentiles {
        let mut classes = BTreeMap::new();
        for (nanos, count) in &self.round_trips.classes {
            *classes.entry(nanos / 2).or_insert(0) += count;
        }
        let Percentiles { name, longest, .. } = &self.round_trips;
        Percentiles { name: name.clone(), classes, longest: longest / 2 }
    }
}

/// True of a heading.
pub(super) fn is_heading(line: &str) -> bool {
    line.starts_with(HEADING)
}

/// Reads a log under a name.
///
/// # Errors
/// The first line that is malformed, with its field; a log without messages.
pub fn read(name: &str, text: &str) -> Result<Vec<Server>, String> {
    let mut servers = Vec::new();
    let (mut is_open, mut dropped) = (false, None);
    for (place, line) in text.lines().enumerate() {
        let line = line.trim();
        if is_heading(line) {
            let round_trips =
                Percentiles { name: name.to_owned(), classes: BTreeMap::new(), longest: 0 };
            servers.push(Server { round_trips, dropped: dropped.take() });
            is_open = true;
        } else if line.starts_with("---") {
            is_open = false;
        } else if !is_open {
            dropped = count(line).or(dropped);
        } else if let Some(Server { round_trips, .. }) = servers.last_mut() {
            let nanos = round_trip(line).map_err(|error| format!("line {}: {error}", place + 1))?;
            *round_trips.classes.entry(nanos).or_insert(0) += 1;
            round_trips.longest = round_trips.longest.max(nanos);
        }
    }
    if is_open {
        return Err("the line that ends the messages is missing: the log is cut off".to_owned());
    }
    if servers.iter().any(|server| server.round_trips.classes.is_empty()) || servers.is_empty() {
        return Err("the log holds no messages".to_owned());
    }
    Ok(servers)
}

/// Number of dropped messages in a line of the summary.
fn count(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once(DROPPED)?;
    rest.split(';').next()?.trim().parse().ok()
}

/// Round trip of a message, in nanoseconds.
fn round_trip(line: &str) -> Result<u64, String> {
    let mut fields = line.split(',').map(str::trim);
    let packet = fields.next().unwrap_or_default();
    if packet.parse::<u64>().is_err() {
        return Err(no_number("packet", packet));
    }
    let mut time = |field: &str| {
        let text = fields.next().ok_or_else(|| format!("the field {field} is missing"))?;
        nanos(text).ok_or_else(|| no_number(field, text))
    };
    let (sent, received) = (time("txTime")?, time("rxTime")?);
    received.checked_sub(sent).ok_or_else(|| "the field rxTime is before txTime".to_owned())
}

/// A time in nanoseconds; none if it is not a time. The digits are read as such, because a binary fraction has
/// no nanoseconds of a day.
fn nanos(text: &str) -> Option<u64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let seconds: u64 = Some(whole).filter(|it| are_digits(it))?.parse().ok()?;
    let part: String = part.chars().chain("000000000".chars()).take(9).collect();
    let part: u64 = Some(part).filter(|it| are_digits(it))?.parse().ok()?;
    let is_in_range = seconds as f64 <= MOST_SECONDS;
    is_in_range.then(|| seconds * 1_000_000_000 + part)
}

fn no_number(field: &str, text: &str) -> String {
    let text: String = text.chars().take(40).collect();
    format!("the field {field} is {text:?}, which is not a number in its range")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four replies of 20, 30, 30 and 50 us, in the layout of sockperf 3.10.
    const LOG: &str = "[Valid Duration] RunTime=0.550 sec; SentMessages=5; ReceivedMessages=4\n\
        # dropped messages = 1; # duplicated messages = 0; # out-of-order messages = 0\n\
        ---> percentile 50.000 =   15.000\n\
        ------------------------------\n\
        packet, txTime(sec), rxTime(sec), latency(usec)\n\
        0, 86400.000001000, 86400.000021000, 10.000\n\
        1, 86400.100000000, 86400.100030000, 15.000\n\
        2, 86400.200000000, 86400.200030000, 15.000\n\
        3, 86400.300000000, 86400.300050000, 25.000\n\
        ------------------------------\n";

    #[test]
    fn round_trips_follow_from_the_two_times() {
        let servers = read("log", LOG).unwrap();
        assert_eq!(servers.len(), 1);
        let Server { round_trips, dropped } = &servers[0];
        assert_eq!(round_trips.classes, BTreeMap::from([(20_000, 1), (30_000, 2), (50_000, 1)]));
        assert_eq!((round_trips.longest, *dropped), (50_000, Some(1)));
        let halves = servers[0].halves();
        assert_eq!(halves.classes, BTreeMap::from([(10_000, 1), (15_000, 2), (25_000, 1)]));
        // The log of two servers has both; one of an older version no fourth column.
        let older = LOG.replace(", latency(usec)", "").replace(", 25.000\n", "\n");
        assert_eq!(
            read("log", &format!("{LOG}{older}")).unwrap(),
            [servers.clone(), servers].concat()
        );
    }

    #[track_caller]
    fn check(from: &str, to: &str, expected: &str) {
        assert!(LOG.contains(from), "{from}");
        assert_eq!(read("bad", &LOG.replacen(from, to, 1)).unwrap_err(), expected);
    }

    #[test]
    fn an_error_names_its_line_and_field() {
        let of = |field: &str, text: &str| {
            format!("line 6: the field {field} is {text:?}, which is not a number in its range")
        };
        let first = "86400.000001000";
        check(first, "-1.0", &of("txTime", "-1.0"));
        check(first, "NaN", &of("txTime", "NaN"));
        check(first, "inf", &of("txTime", "inf"));
        check(first, "1e400", &of("txTime", "1e400"));
        check(first, "10000000000.0", &of("txTime", "10000000000.0"));
        check(first, "99999999999999999999.0", &of("txTime", "99999999999999999999.0"));
        check("86400.000021000", "", &of("rxTime", ""));
        check("86400.000021000", "1.5.5", &of("rxTime", "1.5.5"));
        check("86400.000021000", "86399.9", "line 6: the field rxTime is before txTime");
        check("0, 86400.000001000", "-1, 86400.000001000", &of("packet", "-1"));
        check(", 86400.000021000, 10.000", "", "line 6: the field rxTime is missing");
        let cut = LOG.rsplit_once("----").unwrap().0.trim_end_matches('-');
        assert!(read("cut", cut).unwrap_err().contains("the log is cut off"));
        assert_eq!(read("none", "text\n").unwrap_err(), "the log holds no messages");
        let heading = "packet, txTime(sec), rxTime(sec)\n---\n";
        assert_eq!(read("none", heading).unwrap_err(), "the log holds no messages");
    }
}
