//! One connection in depth: its ends, the times of its states, the counts of each side, its services
//! of MMS, and sequence numbers and credit over time.

use super::{Choice, Page, Room, Row, Sheet, clock, percent, services, short};
use crate::quantity;
use meter::observation::DelayKind;
use meter::registry::{KindCount, Measure};
use records::findings::{Grade, is_bad_share, is_closed_long};
use records::state::Model;
use records::state::{Known, Side, Stand};
use records::{Counts, Identity, of_all_kinds, shortened, sum};

/// Columns to the left of a chart, for its numbers.
const MARGIN: usize = 9;
/// Rows of the charts other than the plot: a heading and a legend of each, and the row of closed
/// windows.
const CHART_ROWS: usize = 5;

pub(super) fn sheet(model: &Model, choice: Choice<'_>, room: Room) -> Sheet {
    let Some((id, known)) = shown(model, choice.chosen) else {
        return Sheet { about: NONE.to_owned(), ..Sheet::default() };
    };
    let Some(identity) = &known.identity else { return Sheet::default() };
    let opens = if choice.passed.is_some() { "enter: its TPDUs; " } else { "" };
    let of = model.connections.len();
    let about = format!("connection no {id}, {of} in all ({opens}n, p: next, previous)");
    let mut rows = who(identity);
    rows.push(Row::plain(states(identity)));
    let directions = known.directions();
    rows.push(Row::plain(format!(
        "   {:10} {:>7} {:>7} {:>7} {:>9} {:>9} {:>6} {:>8}",
        "sent by", "DTs", "retx", "AKs", "octets", "closed", "beyond", "AK mean"
    )));
    for (name, sent, closed) in [
        ("this side", &directions[0], known.closed_since()[0]),
        ("that side", &directions[1], known.closed_since()[1]),
    ] {
        rows.push(side(name, sent, closed.is_some(), known.lived_ns()));
    }
    let more = at_most(&directions).into_iter().chain(in_tcp(&directions));
    rows.extend(more.map(Row::plain));
    rows.extend(services::of_connection(model, id, room));
    let height = (room.rows.saturating_sub(CHART_ROWS + rows.len()) / 2).clamp(2, 12);
    for (place, name) in [(0, "this side sends"), (1, "that side sends")] {
        rows.extend(chart(known, place, name, room.columns, height));
    }
    if rows.iter().all(|row| row.text != LEGEND) {
        let class = known.identity.as_ref().and_then(|it| it.class);
        rows.extend(without_chart(class, model.head.sample_ns).map(Row::plain));
    }
    // Enter opens the list on each row: the page is of one connection.
    if choice.passed.is_some() {
        for row in &mut rows {
            (row.connection, row.page) = (Some(id), Some(Page::Passed));
        }
    }
    Sheet { about, heading: None, rows }
}

/// Returns the reason for a connection without charts, and the remedy.
fn without_chart(class: Option<u8>, sample_ns: Option<u64>) -> [String; 2] {
    let (reason, remedy) = match (class, sample_ns) {
        (Some(0), _) => (
            "class 0 has neither numbers nor credit".to_owned(),
            "pages m and r have its services and requests, page 8 its events",
        ),
        (Some(2), Some(_)) => (
            "class 2 has numbers only with explicit flow control".to_owned(),
            "pages m and r have its services and requests, page 8 its events",
        ),
        (_, None) => (
            "the records have no samples of its numbers".to_owned(),
            "meter again with --sample 100ms",
        ),
        (_, Some(_)) => (
            "no DT and no AK with a number has been sampled so far".to_owned(),
            "wait for its next DT, or turn to another connection (n, p)",
        ),
    };
    [format!("   no chart: {reason}"), format!("     {remedy}")]
}

/// Description of a page without a connection.
pub(super) const NONE: &str = "no connection has been seen";

/// Returns the connection that is shown: the chosen one, or else the busiest.
pub(super) fn shown(model: &Model, chosen: Option<u32>) -> Option<(u32, &Known)> {
    let chosen = chosen.and_then(|id| Some((id, model.connections.get(&id)?)));
    chosen.or_else(|| busiest(model))
}

/// Legend of the charts.
const LEGEND: &str = "   * sent  . acknowledged  - allowed by credit  x window closed";

fn busiest(model: &Model) -> Option<(u32, &Known)> {
    let most = model.connections.iter().max_by_key(|(id, known)| (known.weight(), u32::MAX - **id));
    most.map(|(id, known)| (*id, known))
}

fn who(identity: &Identity) -> Vec<Row> {
    let reference = |side: usize| {
        identity.references[side].map_or_else(|| "-".to_owned(), |known| format!("{known:#06x}"))
    };
    let class = identity.class.map_or_else(|| "?".to_owned(), |class| class.to_string());
    let line = |name: &str, side: usize| {
        let end = shortened(&identity.ends[side], 46);
        Row::plain(format!("   {name}  {end}  reference {}", reference(side)))
    };
    // An unknown user protocol has confidence "none", which is not shown.
    let sure = Some(&identity.confidence).filter(|sure| *sure != "none");
    let sure = sure.map_or_else(String::new, |sure| format!(" ({sure})"));
    let about = format!("   class {class}  user {}{sure}  {}", identity.user, identity.outcome());
    vec![line("this side", 0), line("that side", 1), Row::plain(about)]
}

fn states(identity: &Identity) -> String {
    let steps = [
        ("CR", identity.opening_ns),
        ("open", identity.established_ns),
        ("DR", identity.closing_ns),
        ("over", identity.closed_ns),
    ];
    let told = |(name, at): (&str, Option<u64>)| at.map(|at| format!("{name} {}", clock(at)));
    let steps: Vec<String> = steps.into_iter().filter_map(told).collect();
    match steps.is_empty() {
        true => "   when it came to its state is not known".to_owned(),
        false => format!("   {}", steps.join("  ")),
    }
}

fn side(name: &str, sent: &Counts, is_closed: bool, lived_ns: u64) -> Row {
    let (dts, again) = (sent.count(Measure::DtTpdus), sent.count(Measure::DtRetransmissions));
    let closed_ns = sent.count(DelayKind::ClosedWindow.total());
    let mean = sent
        .count(DelayKind::Acknowledgement.total())
        .checked_div(sent.count(DelayKind::Acknowledgement.count()));
    let beyond = sent.count(Measure::DtIntoClosedWindow);
    let is_bad = closed_ns > 0 && is_closed_long(closed_ns, lived_ns)
        || is_bad_share(again, dts)
        || is_bad_share(beyond, dts);
    let grade = match (is_bad, sum([again, closed_ns, beyond])) {
        (true, _) => Some(Grade::Bad),
        (false, 0) => None,
        (false, _) => Some(Grade::Look),
    };
    let text = format!(
        "{} {name:10} {:>7} {:>7} {:>7} {:>9} {:>9} {:>6} {:>8}",
        grade.map_or("  ", Grade::sign),
        short(dts),
        percent(again, dts),
        short(sent.count(Measure::AkTpdus)),
        short(of_all_kinds(sent, KindCount::DataOctets)),
        if closed_ns == 0 { "-".to_owned() } else { quantity::span(closed_ns) },
        short(beyond),
        mean.map_or_else(|| "-".to_owned(), quantity::span),
    );
    let note = if is_closed { "  NOW" } else { "" };
    Row { text: format!("{text}{note}"), grade, ..Row::default() }
}

/// Formats the busiest second of each side, if reported.
fn at_most([this, that]: &[Counts; 2]) -> Option<String> {
    let side = |sent: &Counts| {
        let (tpdus, octets) =
            (sent.count(Measure::PeakSecondTpdus), sent.count(Measure::PeakSecondTpduOctets));
        format!("{:>5} TPDUs {:>6} octets", short(tpdus), short(octets))
    };
    let is_told = [this, that].iter().any(|sent| sent.count(Measure::PeakSecondTpdus) > 0);
    is_told.then(|| format!("   busiest second  {}  that {}", side(this), side(that)))
}

/// Formats the round trips of the octets of each side and the time to answer a SYN, over TCP.
fn in_tcp([this, that]: &[Counts; 2]) -> Option<String> {
    let side = |sent: &Counts| {
        let trips = sent.count(DelayKind::RoundTrip.count());
        let mean = sent.count(DelayKind::RoundTrip.total()).checked_div(trips);
        let mean = mean.map_or_else(|| "-".to_owned(), quantity::span);
        format!("{mean:>7} n {:<5}", short(trips))
    };
    let answered = |sent: &Counts| {
        let halves = [
            sent.count(DelayKind::CalleeHandshake.count()),
            sent.count(DelayKind::CallerHandshake.count()),
        ];
        let total_ns = sum([
            sent.count(DelayKind::CalleeHandshake.total()),
            sent.count(DelayKind::CallerHandshake.total()),
        ]);
        total_ns.checked_div(sum(halves)).map(quantity::span)
    };
    let counts = [
        DelayKind::RoundTrip.count(),
        DelayKind::CalleeHandshake.count(),
        DelayKind::CallerHandshake.count(),
    ];
    let is_told = |sent: &&Counts| counts.iter().any(|measure| sent.count(*measure) > 0);
    [this, that].iter().any(is_told).then(|| {
        let syn = match [this, that].map(answered) {
            [None, None] => String::new(),
            both => {
                let [this, that] = both.map(|told| told.unwrap_or_else(|| "-".to_owned()));
                format!(" SYN {this}, {that}")
            }
        };
        format!("   TCP round trip {}  that {}{syn}", side(this), side(that))
    })
}

/// Draws sequence numbers and credit of a side over time; no rows if it has no numbers.
fn chart(known: &Known, side: usize, name: &str, columns: usize, height: usize) -> Vec<Row> {
    let columns = columns.saturating_sub(MARGIN + 1).max(8);
    let has_any = |stand: &&Stand| stand.sides[side].sent.is_some();
    let stands: Vec<&Stand> = known.trace.iter().filter(has_any).collect();
    let (Some(first), Some(last)) = (stands.first(), stands.last()) else { return Vec::new() };
    let numbers = |side: &Side| [side.sent, side.acknowledged, side.allowed].into_iter().flatten();
    let every = || stands.iter().flat_map(|stand| numbers(&stand.sides[side]));
    let (Some(least), Some(most)) = (every().min(), every().max()) else { return Vec::new() };
    if most == 0 {
        return Vec::new();
    }
    let span = last.at_ns.saturating_sub(first.at_ns).max(1);
    let line = |number: u64| {
        let share = (number - least) as f64 / (most - least).max(1) as f64;
        (share * (height - 1) as f64).round() as usize
    };
    // Column by column, from the top down.
    let mut cells = vec![vec![' '; height + 1]; columns];
    for (column, cells) in cells.iter_mut().enumerate() {
        let behind = span as u128 * column as u128 / (columns - 1) as u128;
        let at = first.at_ns.saturating_add(behind as u64);
        let Some(stand) = stands.iter().rev().find(|stand| stand.at_ns <= at) else { continue };
        let now = stand.sides[side];
        for (number, sign) in [(now.allowed, '-'), (now.acknowledged, '.'), (now.sent, '*')] {
            if let Some(number) = number {
                cells[height - line(number)] = sign;
            }
        }
        // A closed window may be shorter than a column is wide.
        let before = if column > 0 { at.saturating_sub(span / columns as u64) } else { 0 };
        let is_within = |stand: &&&Stand| stand.at_ns > before && stand.at_ns <= at;
        let is_closed = now.is_closed
            || stands.iter().filter(is_within).any(|stand| stand.sides[side].is_closed);
        if is_closed {
            cells[0] = 'x';
        }
    }
    let mut rows = vec![Row::plain(format!(
        "{name}, by number, {} to {}",
        clock(first.at_ns),
        clock(last.at_ns)
    ))];
    for place in 0..=height {
        let cells: String = cells.iter().map(|column| column[place]).collect();
        let label = match place {
            0 if cells.contains('x') => "closed".to_owned(),
            0 => continue,
            1 => short(most),
            place if place == height => short(least),
            _ => String::new(),
        };
        rows.push(Row::plain(format!("{label:>8} |{}", cells.trim_end())));
    }
    rows.push(Row::plain(LEGEND));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_chart_has_its_reason_and_a_remedy() {
        let told = |class, sample_ns| without_chart(class, sample_ns).join("\n");
        let sampled = Some(100_000_000);
        assert!(told(None, None).ends_with("meter again with --sample 100ms"));
        assert!(told(Some(4), sampled).contains("no DT and no AK with a number has been sampled"));
        let class_0 = "   no chart: class 0 has neither numbers nor credit\n     pages m and r";
        assert!(told(Some(0), sampled).starts_with(class_0));
        assert!(told(Some(2), sampled).contains("explicit flow control"));
    }
}
