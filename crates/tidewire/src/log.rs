//! Messages on standard error: their form, and those that repeat.

use crate::args::log::{LogFormat, LogOptions};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Kinds of messages that are counted; further kinds are printed without a limit.
const MOST_KINDS: usize = 256;

static IS_JSON: AtomicBool = AtomicBool::new(false);
static IS_VERBOSE: AtomicBool = AtomicBool::new(false);
static LIMIT: AtomicU64 = AtomicU64::new(u64::MAX);
/// Number of messages of each kind.
static KINDS: Mutex<BTreeMap<String, u64>> = Mutex::new(BTreeMap::new());

/// Takes the options.
pub(crate) fn set(options: &LogOptions) {
    IS_JSON.store(options.log_format == LogFormat::Json, Ordering::Relaxed);
    IS_VERBOSE.store(options.verbose, Ordering::Relaxed);
    LIMIT.store(options.log_limit, Ordering::Relaxed);
}

/// True if messages are records.
pub(crate) fn is_json() -> bool {
    IS_JSON.load(Ordering::Relaxed)
}

/// True if details are wanted.
pub(crate) fn is_verbose() -> bool {
    IS_VERBOSE.load(Ordering::Relaxed)
}

/// Kinds of the messages that were left out, with their numbers; from now on no message is left out.
pub(crate) fn left_out() -> Vec<String> {
    let limit = LIMIT.swap(u64::MAX, Ordering::Relaxed);
    let kinds = core::mem::take(&mut *KINDS.lock().unwrap_or_else(PoisonError::into_inner));
    let beyond = kinds.into_iter().filter(|(_, count)| *count > limit);
    beyond
        .map(|(kind, count)| format!("{} more messages like: {kind} (--log-limit)", count - limit))
        .collect()
}

/// The form in which a message is printed; none if as many of its kind were printed as may be.
pub(crate) fn line(message: String) -> Option<String> {
    if is_beyond_limit(&message) {
        return None;
    }
    if !is_json() {
        return Some(message);
    }
    let text = message.trim();
    let level = ["error", "warning", "detail"]
        .into_iter()
        .find(|level| text.strip_prefix(level).is_some_and(|rest| rest.starts_with(':')));
    let text = level.map_or(text, |level| text[level.len() + 1..].trim_start());
    let level = level.unwrap_or("remark");
    Some(json!({ "type": "log", "level": level, "message": text }).to_string())
}

/// Counts a message. Those of a kind differ by their digits alone.
fn is_beyond_limit(message: &str) -> bool {
    let limit = LIMIT.load(Ordering::Relaxed);
    // An error ends the command, and is printed in any case.
    if limit == u64::MAX || message.starts_with("error:") {
        return false;
    }
    let mut kinds = KINDS.lock().unwrap_or_else(PoisonError::into_inner);
    let kind = kind(message);
    if kinds.len() >= MOST_KINDS && !kinds.contains_key(&kind) {
        return false;
    }
    let count = kinds.entry(kind).or_insert(0);
    *count += 1;
    *count > limit
}

/// A message in one line with `N` in place of each number. Margins, which are as wide as the numbers of
/// lines, do not count.
fn kind(message: &str) -> String {
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut kind = String::new();
    for symbol in message.chars() {
        match symbol.is_ascii_digit() {
            true if kind.ends_with('N') => {}
            true => kind.push('N'),
            false => kind.push(symbol),
        }
    }
    kind
}

#[cfg(test)]
mod tests {
    use super::kind;

    #[test]
    fn messages_of_a_kind_differ_by_their_numbers() {
        assert_eq!(kind("measure: 1 of 30 runs"), kind("measure: 27 of 30 runs"));
        assert_ne!(kind("measure: 1 of 30 runs"), kind("predict: 1 of 30 runs"));
        let [one, other] = ["odd\n |\n9 | a = 1\n", "odd\n  |\n10 | a = 1\n"].map(kind);
        assert_eq!([one.as_str(), other.as_str()], ["odd | N | a = N"; 2]);
    }
}
