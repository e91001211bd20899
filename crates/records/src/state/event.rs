//! Events derived from successive records: connections and their windows, oddities, losses.

use super::connection_row::Known;
use crate::quantity;
use crate::{End, Identity, Interval, back, shortened_ends};
use std::collections::VecDeque;

/// Frames with complete headers and truncated user data.
pub const USER_DATA_CUT: &str = "truncated: user data";

/// Maximum number of events; the latest are kept.
const KEPT: usize = 512;
/// Columns for the two ends of a connection.
const ENDS_COLUMNS: usize = 37;
/// Columns for a host, the width of a MAC address: an event between two hosts fits into a line.
const HOST_COLUMNS: usize = 17;

/// An event on the network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// Time of the event.
    pub at_ns: u64,
    /// The event in one line.
    pub text: String,
    /// True if it is a fault.
    pub is_bad: bool,
}

/// The latest events.
#[derive(Clone, Debug, Default)]
pub struct Events {
    kept: VecDeque<Event>,
    /// Number of evicted events.
    pub gone: u64,
}

/// Formats the two ends of a connection in `columns` columns.
pub fn ends(identity: &Identity, columns: usize) -> String {
    shortened_ends(&identity.ends, columns)
}

impl Events {
    /// Returns the events, the latest last.
    pub fn each(&self) -> impl DoubleEndedIterator<Item = &Event> {
        self.kept.iter()
    }

    fn push(&mut self, at_ns: u64, is_bad: bool, text: String) {
        if self.kept.len() == KEPT {
            self.kept.pop_front();
            self.gone += 1;
        }
        // Connections are reported after the interval in which their state changed.
        let at = self.kept.iter().rposition(|known| known.at_ns <= at_ns).map_or(0, |at| at + 1);
        self.kept.insert(at, Event { at_ns, text, is_bad });
    }

    /// Records the change of a connection since its state `before`.
    pub fn connection(&mut self, before: Option<&Known>, now: &Identity) {
        let before = before.and_then(|known| known.identity.as_ref());
        let ends = || ends(now, ENDS_COLUMNS);
        let came =
            |of: fn(&Identity) -> Option<u64>| of(now).filter(|_| before.and_then(of).is_none());
        if let Some(at) = came(|identity| identity.opening_ns) {
            self.push(at, false, format!("{} asked for", ends()));
        }
        if let Some(at) = came(|identity| identity.established_ns) {
            let how = if now.opening_ns.is_some() { "established" } else { "found under way" };
            self.push(at, false, format!("{} {how}", ends()));
        }
        if let Some(at) = came(|identity| identity.closing_ns.or(identity.closed_ns)) {
            let (how, is_bad) = match now.outcome() {
                "graceful" => ("ended", false),
                "abrupt" => ("ended abruptly", true),
                "erroneous" => ("ended after an error", true),
                _ if now.established_ns.is_none() => ("refused", true),
                _ => ("ended", false),
            };
            self.push(at, is_bad, format!("{} {how}", ends()));
        }
    }

    /// Records windows that closed or opened.
    pub fn window(&mut self, before: [Option<u64>; 2], known: &Known, until_ns: u64) {
        let Some(identity) = &known.identity else { return };
        let [from, to] = &identity.ends;
        for ((before, now), (sender, receiver)) in
            before.into_iter().zip(known.closed_since()).zip([(from, to), (to, from)])
        {
            let [sender, receiver] = [sender, receiver].map(|host| back(host, HOST_COLUMNS));
            match (before, now) {
                // Another time than before: the peer gave credit in between.
                (before, Some(at)) if before != Some(at) => {
                    self.push(at, true, format!("{receiver} gives {sender} no credit"));
                }
                // The end of a connection opens no window.
                (Some(since), None) if !identity.is_ending() => {
                    let span = quantity::span(until_ns.saturating_sub(since));
                    let text = format!("{receiver} gives {sender} credit after <{span}");
                    self.push(until_ns, false, text);
                }
                (Some(_), _) | (None, _) => {}
            }
        }
    }

    /// Records the oddities and losses of an interval since the last report.
    pub fn interval(&mut self, before: Option<&Interval>, now: &Interval, until_ns: u64) {
        let before_in_it = before.filter(|before| before.index == now.index);
        for (name, times) in now.oddities.iter() {
            let known = before_in_it.map_or(0, |before| before.oddities.count(name));
            // Foreign frames are the majority on most networks; in a capture of headers alone,
            // every frame lacks its user data.
            if times > known && !name.starts_with("foreign: ") && name != USER_DATA_CUT {
                self.push(until_ns, true, format!("{} x {name}", times - known));
            }
        }
        let dropped = |of: Option<&Interval>| of.and_then(|of| of.dropped_by_kernel).unwrap_or(0);
        let (then, now) = (dropped(before), dropped(Some(now)));
        if now > then {
            self.push(until_ns, true, format!("{} frames were dropped", now - then));
        }
    }

    /// Records the end of the measurement.
    pub fn end(&mut self, end: &End, until_ns: u64) {
        if let Some(error) = &end.error {
            let error = error.lines().next().unwrap_or_default();
            self.push(until_ns, true, format!("not complete: {error}"));
        }
    }
}
