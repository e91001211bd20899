//! Connections, one per row.

use super::matrix::host_of;
use super::{Choice, Room, Row, Sheet, counted, percent, short};
use crate::quantity;
use records::findings::Grade;
use records::state::event::ends;
use records::state::{Figures, Known, Model};
use records::{Identity, Replies, shortened};

/// Sort keys of connections, in descending order.
pub(in crate::tui) const SORTS: [&str; 6] =
    ["trouble", "DTs", "retx", "closed", "AK delay", "reply p99"];

/// Place of the number of DTs among [`SORTS`].
pub(super) const BY_DTS: usize = 1;

pub(super) fn sheet(model: &Model, choice: Choice<'_>, room: Room) -> Sheet {
    let widths = Widths::of(model, room);
    let mut rows: Vec<(Size, Row)> = model
        .connections
        .iter()
        .filter(|(_, known)| known.identity.as_ref().is_some_and(|it| is_of(it, choice.host)))
        .map(|(id, known)| {
            let figures = Figures::of(known);
            (size(&figures, choice.sort, known, *id), row(*id, known, &figures, widths))
        })
        .collect();
    rows.sort_by(|(a, _), (b, _)| b.cmp(a));
    let sorted = SORTS.get(choice.sort).copied().unwrap_or_default();
    let gone = if model.gone > 0 { format!(", {} more let go", model.gone) } else { String::new() };
    let all = counted(rows.len() as u64, "connection");
    let of_host =
        choice.host.map_or_else(String::new, |host| format!(" of {}", shortened(host, 24)));
    let about = format!("{all}{of_host}{gone}; by {sorted} (s), Enter for one");
    let Widths { number, ends } = widths;
    let heading = format!(
        "   {:>number$} {:<ends$} {:<7} {:<8} {:>6} {:>6} {:>6} {:>7} {:>7}",
        "no", "from>to", "user", "state", "DTs", "retx", "closed", "AK mean", "reply"
    );
    let rows = rows.into_iter().map(|(_, row)| row).collect();
    Sheet { about, heading: Some(heading), rows }
}

/// Returns true for a connection with an end at this host; for each connection if none is given.
fn is_of(identity: &Identity, host: Option<&str>) -> bool {
    host.is_none_or(|host| identity.ends.iter().any(|end| end == host || host_of(end) == host))
}

/// Sort value: the greater first, then the lower number.
type Size = ((u8, u64), core::cmp::Reverse<u32>);

/// Key of a connection in its order.
fn size(figures: &Figures, sort: usize, known: &Known, id: u32) -> Size {
    let trouble = match figures.grade() {
        Some(Grade::Bad) => 2,
        Some(_) => 1,
        None => 0,
    };
    let size = match sort {
        0 => (trouble, figures.closed_ns.saturating_add(figures.again.saturating_mul(1_000_000))),
        1 => (0, figures.dts),
        2 => (0, figures.again),
        3 => (0, figures.closed_ns),
        4 => (0, figures.delay_ns.unwrap_or(0)),
        _ => {
            let has_enough = u8::from(figures.slowness.has_enough());
            (has_enough, figures.replies.p99_ns.unwrap_or(0))
        }
    };
    let size = if size == (0, 0) && sort == 0 { (0, known.tpdus().min(999_999)) } else { size };
    (size, core::cmp::Reverse(id))
}

/// Shortens a state to eight columns.
fn in_short(outcome: &str) -> &str {
    match outcome {
        "established" => "open",
        "erroneous" => "error",
        other => other,
    }
}

/// Columns of the number of a connection, by which records and page 7 name it, and of its two ends.
#[derive(Clone, Copy)]
struct Widths {
    number: usize,
    ends: usize,
}

impl Widths {
    fn of(model: &Model, room: Room) -> Self {
        let greatest = model.connections.last_key_value().map_or(0, |(id, _)| *id);
        let number = greatest.to_string().len().max(2);
        let others = 3 + number + 1 + 1 + 8 + 9 + 7 + 7 + 7 + 8 + 8;
        Self { number, ends: room.columns.saturating_sub(others).clamp(11, 60) }
    }
}

fn row(id: u32, known: &Known, figures: &Figures, widths: Widths) -> Row {
    let Some(identity) = &known.identity else { return Row::default() };
    let Widths { number, ends: width } = widths;
    let grade = figures.grade();
    let sign = grade.map_or("  ", Grade::sign);
    let closed = match figures.closed_ns {
        0 => "-".to_owned(),
        nanos => quantity::span(nanos).replace(' ', ""),
    };
    let Replies { count, p99_ns, .. } = figures.replies;
    let reply =
        quantity::enough(0.99, count, p99_ns).map_or_else(|| "-".to_owned(), quantity::span);
    let delay = figures.delay_ns.map_or_else(|| "-".to_owned(), quantity::span);
    let text = format!(
        "{sign} {id:>number$} {:<width$} {:<7} {:<8} {:>6} {:>6} {closed:>6} {:>7} {:>7}",
        ends(identity, width),
        identity.user,
        in_short(&figures.outcome),
        short(figures.dts),
        percent(figures.again, figures.dts),
        delay.replace(' ', ""),
        reply.replace(' ', ""),
    );
    Row { text, grade, connection: Some(id), ..Row::default() }
}
