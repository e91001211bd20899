//! Calendar time in UTC (RFC 3339), for start times in arguments, output and folder names.
//!
//! Left out: leap seconds, which Unix time does not count, and years before 1970.

use core::time::Duration;
use wire::time::Instant;

const SECONDS_PER_DAY: u64 = 86_400;
const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Format of a point in time, for error messages.
pub const EXPECTED: &str = "a time such as 1984-06-13T21:16:00Z or 1984-06-13T17:16:00-04:00";

/// Parses `YYYY-MM-DDTHH:MM:SS[.fff]` followed by `Z` or `±HH:MM` as time since the Unix epoch.
/// Returns none for any other text, and for a time that does not fit 64 bits of nanoseconds.
pub fn parse(text: &str) -> Option<Instant> {
    let (date, time) = text.split_once(['T', 't'])?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let zone = time.find(['Z', 'z', '+', '-'])?;
    let (time, zone) = time.split_at_checked(zone)?;
    let (time, fraction) = time.split_once('.').unwrap_or((time, "0"));
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    let is_date = (1..=12).contains(&month) && (1..=days_of(year, month)).contains(&day);
    if !is_date || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let days = days_before(year)? + (1..month).map(|m| days_of(year, m)).sum::<u64>() + day - 1;
    let seconds = days * SECONDS_PER_DAY + hour * 3_600 + minute * 60 + second;
    let seconds = seconds.checked_add_signed(-offset(zone)?)?;
    let nanos = seconds.checked_mul(NANOS_PER_SECOND)?.checked_add(nanos(fraction)?)?;
    Some(Instant::from_nanos(nanos))
}

/// Parses three numbers of fixed widths with a separator between them.
fn numbers(text: &str, between: char, digits: [usize; 3]) -> Option<[u64; 3]> {
    let mut parts = text.split(between);
    let mut found = [0; 3];
    for (slot, digits) in found.iter_mut().zip(digits) {
        let part = parts.next()?;
        if part.len() != digits || !part.bytes().all(|octet| octet.is_ascii_digit()) {
            return None;
        }
        *slot = part.parse().ok()?;
    }
    parts.next().is_none().then_some(found)
}

/// Parses the fraction of a second, at most nine digits.
fn nanos(fraction: &str) -> Option<u64> {
    let is_number =
        (1..=9).contains(&fraction.len()) && fraction.bytes().all(|o| o.is_ascii_digit());
    if is_number { format!("{fraction:0<9}").parse().ok() } else { None }
}

/// Returns the offset of local time from UTC in seconds.
fn offset(zone: &str) -> Option<i64> {
    if zone.eq_ignore_ascii_case("z") {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let [hours, minutes, _] = numbers(&format!("{}:00", zone.get(1..)?), ':', [2, 2, 2])?;
    let seconds = i64::try_from(hours * 3_600 + minutes * 60).ok()?;
    (hours < 24 && minutes < 60).then_some(sign * seconds)
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

const fn days_of(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Returns the days from the epoch to the first of January of a year.
fn days_before(year: u64) -> Option<u64> {
    let leaps = |year: u64| year / 4 - year / 100 + year / 400;
    let years = year.checked_sub(1_970)?;
    Some(years * 365 + leaps(year - 1) - leaps(1_969))
}

/// Returns year, month, day, hour, minute, second and nanoseconds of a time since the epoch.
fn fields(at: Instant) -> [u64; 7] {
    let mut days = at.as_nanos() / NANOS_PER_SECOND / SECONDS_PER_DAY;
    let [hour, minute, second, nanos] = fields_of_day(at);
    let (mut year, mut month) = (1_970, 1);
    while days >= 365 + u64::from(is_leap(year)) {
        days -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    while days >= days_of(year, month) {
        days -= days_of(year, month);
        month += 1;
    }
    [year, month, days + 1, hour, minute, second, nanos]
}

/// Returns hour, minute, second and nanoseconds of a time since the epoch.
const fn fields_of_day(at: Instant) -> [u64; 4] {
    let (seconds, nanos) = (at.as_nanos() / NANOS_PER_SECOND, at.as_nanos() % NANOS_PER_SECOND);
    let second = seconds % SECONDS_PER_DAY;
    [second / 3_600, second / 60 % 60, second % 60, nanos]
}

/// Formats date and time in UTC, with a fraction if it is not zero: `1984-06-13T21:16:00Z`.
pub fn rfc_3339(at: Instant) -> String {
    let [year, month, day, ..] = fields(at);
    format!("{year:04}-{month:02}-{day:02}T{}Z", time_of_day(at))
}

/// Formats the time of day in UTC, with a fraction if it is not zero: `21:16:00`.
pub fn time_of_day(at: Instant) -> String {
    let [hour, minute, second, nanos] = fields_of_day(at);
    let time = format!("{hour:02}:{minute:02}:{second:02}");
    if nanos == 0 {
        return time;
    }
    let digits = format!("{nanos:09}");
    format!("{time}.{}", digits.trim_end_matches('0'))
}

/// Formats date and time in UTC to the second for the name of a folder: `1984-06-13T21-16-00`.
pub fn folder_name(since_epoch: Duration) -> String {
    let at = Instant::from_nanos(since_epoch.as_secs() * NANOS_PER_SECOND);
    let [year, month, day, hour, minute, second, _] = fields(at);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}-{minute:02}-{second:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_the_standard_writes_them() {
        check("1970-01-01T00:00:00Z", Some(0));
        // 5,277 days (14 years of 365, 3 leap days, 164 days before 13 June) and 76,560 seconds.
        check("1984-06-13T21:16:00Z", Some((5_277 * 86_400 + 76_560) * NANOS_PER_SECOND));
        check("1984-06-13T17:16:00-04:00", Some(456_009_360 * NANOS_PER_SECOND));
        check("1984-06-14T03:01:00.25+05:45", Some(456_009_360_250_000_000));
        // RFC 3339 5.8 has these two as one instant: 1985 begins 5,479 days after 1970, 12 April is
        // its day 102.
        let instant = (5_479 + 101) * 86_400 + 23 * 3_600 + 20 * 60 + 50;
        check("1985-04-12T23:20:50.52Z", Some(instant * NANOS_PER_SECOND + 520_000_000));
        check("2000-02-29T00:00:00Z", Some((10_957 + 59) * 86_400 * NANOS_PER_SECOND));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "",
            "yesterday",
            "1984-06-13",
            "1984-06-13T21:16:00",
            "1984-06-13T21:16Z",
            "1984-6-13T21:16:00Z",
            "1984-02-30T00:00:00Z",
            "1900-01-01T00:00:00Z",
            "1970-01-01T00:00:00+01:00",
            "1984-06-13T24:00:00Z",
            "1984-06-13T21:16:60Z",
            "1984-06-13T21:16:00.Z",
            "1984-06-13T21:16:00.0123456789Z",
            "1984-06-13T21:16:00+4",
            "1984-06-13T21:16:00Zulu",
            "9999-01-01T00:00:00Z",
            "1984-06-13T21:16:00+é1:00",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for text in [
            "1970-01-01T00:00:00Z",
            "1972-12-31T23:59:59Z",
            "2000-02-29T12:00:00.5Z",
            "2100-03-01T00:00:00.000000001Z",
        ] {
            assert_eq!(rfc_3339(parse(text).unwrap()), text);
        }
        assert_eq!(folder_name(Duration::from_millis(456_009_360_999)), "1984-06-13T21-16-00");
    }

    #[track_caller]
    fn check(text: &str, nanos: Option<u64>) {
        assert_eq!(parse(text).map(Instant::as_nanos), nanos, "{text:?}");
    }
}
