//! Connections, one per row.

use super::{Choice, Room, Row, Sheet, counted, percent, short};
use crate::quantity;
use meter::observation::DelayKind;
use meter::registry::Measure;
use records::findings::{Grade, is_bad_share, is_closed_long};
use records::state::Known;
use records::state::Model;
use records::state::event::ends;
use records::{self, Replies, Slowness};

/// Sort keys of connections, in descending order.
pub(in crate::tui) const SORTS: [&str; 6] =
    ["trouble", "DTs", "retx", "closed", "AK delay", "reply p99"];

pub(super) fn sheet(model: &Model, choice: Choice<'_>, room: Room) -> Sheet {
    let mut rows: Vec<(Size, Row)> = model
        .connections
        .iter()
        .filter(|(_, known)| known.identity.is_some())
        .map(|(id, known)| {
            let figures = Figures::of(known);
            (figures.size(choice.sort, known, *id), row(*id, known, &figures, room))
        })
        .collect();
    rows.sort_by(|(a, _), (b, _)| b.cmp(a));
    let sorted = SORTS.get(choice.sort).copied().unwrap_or_default();
    let gone = if model.gone > 0 { format!(", {} more let go", model.gone) } else { String::new() };
    let all = counted(rows.len() as u64, "connection");
    let about = format!("{all}{gone}; by {sorted} (s), Enter for one");
    let width = ends_columns(room);
    let heading = format!(
        "   {:<width$} {:<7} {:<8} {:>6} {:>6} {:>6} {:>7} {:>7}",
        "from>to", "user", "state", "DTs", "retx", "closed", "AK mean", "reply"
    );
    let rows = rows.into_iter().map(|(_, row)| row).collect();
    Sheet { about, heading: Some(heading), rows }
}

/// Sort value: the greater first, then the lower number.
type Size = ((u8, u64), core::cmp::Reverse<u32>);

/// Figures of a connection in its row.
struct Figures {
    dts: u64,
    again: u64,
    closed_ns: u64,
    delay_ns: Option<u64>,
    /// Replies of the side with the slower replies.
    replies: Replies,
    slowness: Slowness,
    beyond: u64,
    lived_ns: u64,
    outcome: String,
}

impl Figures {
    fn of(known: &Known) -> Self {
        let directions = known.directions();
        let both = |name| records::sum(directions.iter().map(|sent| sent.count(name)));
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

    /// Returns the severity that colours the row.
    fn grade(&self) -> Option<Grade> {
        let is_refused = ["refused", "erroneous"].contains(&self.outcome.as_str());
        let is_closed_long = self.closed_ns > 0 && is_closed_long(self.closed_ns, self.lived_ns);
        let is_bad = |part| is_bad_share(part, self.dts);
        if is_refused || is_closed_long || is_bad(self.again) || is_bad(self.beyond) {
            return Some(Grade::Bad);
        }
        let is_odd =
            records::sum([self.again, self.closed_ns, self.beyond]) > 0 || self.outcome == "abrupt";
        is_odd.then_some(Grade::Look)
    }

    fn size(&self, sort: usize, known: &Known, id: u32) -> Size {
        let trouble = match self.grade() {
            Some(Grade::Bad) => 2,
            Some(_) => 1,
            None => 0,
        };
        let size = match sort {
            0 => (trouble, self.closed_ns.saturating_add(self.again.saturating_mul(1_000_000))),
            1 => (0, self.dts),
            2 => (0, self.again),
            3 => (0, self.closed_ns),
            4 => (0, self.delay_ns.unwrap_or(0)),
            _ => {
                let has_enough = u8::from(self.slowness.has_enough());
                (has_enough, self.replies.p99_ns.unwrap_or(0))
            }
        };
        let size = if size == (0, 0) && sort == 0 { (0, known.tpdus().min(999_999)) } else { size };
        (size, core::cmp::Reverse(id))
    }
}

/// Shortens a state to eight columns.
fn in_short(outcome: &str) -> &str {
    match outcome {
        "established" => "open",
        "erroneous" => "error",
        other => other,
    }
}

/// Returns the columns left for the two ends.
fn ends_columns(room: Room) -> usize {
    room.columns.saturating_sub(3 + 1 + 8 + 9 + 7 + 7 + 7 + 8 + 8).clamp(11, 60)
}

fn row(id: u32, known: &Known, figures: &Figures, room: Room) -> Row {
    let Some(identity) = &known.identity else { return Row::default() };
    let width = ends_columns(room);
    let grade = figures.grade();
    let sign = grade.map_or("  ", Grade::sign);
    let closed = match figures.closed_ns {
        0 => "-".to_owned(),
        nanos => quantity::span(nanos).replace(' ', ""),
    };
    let reply = figures.replies.p99_ns.map_or_else(|| "-".to_owned(), quantity::span);
    let delay = figures.delay_ns.map_or_else(|| "-".to_owned(), quantity::span);
    let text = format!(
        "{sign} {:<width$} {:<7} {:<8} {:>6} {:>6} {closed:>6} {:>7} {:>7}",
        ends(identity, width),
        identity.user,
        in_short(&figures.outcome),
        short(figures.dts),
        percent(figures.again, figures.dts),
        delay.replace(' ', ""),
        reply.replace(' ', ""),
    );
    Row { text, grade, connection: Some(id), page: None }
}
