//! Figures of a connection, for its row in a list.

use super::Known;
use crate::findings::{Grade, is_bad_share, is_closed_long};
use crate::{Replies, Slowness, sum};
use meter::observation::DelayKind;
use meter::registry::Measure;

/// Figures of a connection in its row.
pub struct Figures {
    /// DTs of both sides.
    pub dts: u64,
    /// Retransmitted ones among them.
    pub again: u64,
    /// Time for which a window was closed.
    pub closed_ns: u64,
    /// Mean acknowledgement delay; none without one.
    pub delay_ns: Option<u64>,
    /// Replies of the side with the slower replies.
    pub replies: Replies,
    /// Order of these.
    pub slowness: Slowness,
    /// DTs into a closed window.
    pub beyond: u64,
    /// Lifetime.
    pub lived_ns: u64,
    /// State and its cause, in a word.
    pub outcome: String,
}

impl Figures {
    /// Returns the figures of a connection.
    pub fn of(known: &Known) -> Self {
        let directions = known.directions();
        let both = |name| sum(directions.iter().map(|sent| sent.count(name)));
        let outcome = known.identity.as_ref().map_or("", |identity| identity.outcome());
        let sides =
            directions.each_ref().map(|sent| (Slowness::of_values(sent), Replies::of(sent)));
        let slower = if sides[0].0 > sides[1].0 { sides[0] } else { sides[1] };
        Self {
            dts: both(Measure::DtTpdus),
            again: both(Measure::DtRetransmissions),
            closed_ns: both(DelayKind::ClosedWindow.total()),
            delay_ns: both(DelayKind::Acknowledgement.total())
                .checked_div(both(DelayKind::Acknowledgement.count())),
            replies: slower.1,
            slowness: slower.0,
            beyond: both(Measure::DtIntoClosedWindow),
            lived_ns: known.lived_ns(),
            outcome: outcome.to_owned(),
        }
    }

    /// Returns the severity of what is wrong with the connection; none if nothing is.
    pub fn grade(&self) -> Option<Grade> {
        let is_refused = ["refused", "erroneous"].contains(&self.outcome.as_str());
        let is_closed_long = self.closed_ns > 0 && is_closed_long(self.closed_ns, self.lived_ns);
        let is_bad = |part| is_bad_share(part, self.dts);
        if is_refused || is_closed_long || is_bad(self.again) || is_bad(self.beyond) {
            return Some(Grade::Bad);
        }
        let is_odd = sum([self.again, self.closed_ns, self.beyond]) > 0 || self.outcome == "abrupt";
        is_odd.then_some(Grade::Look)
    }
}
