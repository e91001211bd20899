//! TPDUs of one connection, the latest first.

use super::{Choice, Room, Row, Sheet, connection, counted};
use crate::quantity;
use crate::tui::passed::{Marks, Passed};
use core::time::Duration;
use meter::observation::{Ending, Role, Step};
use records::calendar;
use records::findings::Grade;
use records::state::Model;
use wire::time::nanos;
use wire::tp::Kind;

/// Columns to the left of the marks.
const BEFORE_MARKS: usize = 51;
/// Length of a time with microseconds: `03:14:10.000000`.
const TIME: usize = 15;

pub(super) fn sheet(model: &Model, choice: Choice<'_>, room: Room) -> Sheet {
    let Some(passed) = choice.passed else {
        let about = "only watch has TPDUs one by one: the stream of measures has none".to_owned();
        return Sheet { about, ..Sheet::default() };
    };
    let Some((id, _)) = connection::shown(model, choice.chosen) else {
        return Sheet { about: connection::NONE.to_owned(), ..Sheet::default() };
    };
    let of = model.connections.len();
    let number = counted(passed.len() as u64, "TPDU");
    let about = format!(
        "no {id} of {}: {number}, the latest first (n, p: next, previous)",
        counted(of as u64, "connection"),
    );
    let heading = format!(
        "   {:TIME$}      {:>10} {:>6} {:>7}  mark",
        "time (UTC)", "number", "credit", "octets"
    );
    let mut orders = [Order::default(); 2];
    let columns = room.columns.saturating_sub(BEFORE_MARKS);
    let mut rows: Vec<Row> =
        passed.iter().map(|passed| row(passed, &mut orders, columns)).collect();
    rows.reverse();
    Sheet { about, heading: Some(heading), rows }
}

/// Highest number of the DTs of one side so far.
#[derive(Clone, Copy, Default)]
struct Order(Option<u32>);

/// Place of a DT among those of its side, if it is not the next one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// This number of DTs before it did not pass yet.
    Ahead(u32),
    /// A DT with a higher number passed before it.
    Behind,
}

impl Order {
    /// Takes the next DT that was not seen before.
    fn take(&mut self, number: u32, modulus: u32) -> Option<Place> {
        let highest = self.0.replace(number)?;
        match number.wrapping_sub(highest) & (modulus - 1) {
            0 | 1 => None,
            ahead if ahead < modulus / 2 => Some(Place::Ahead(ahead - 1)),
            _ => {
                self.0 = Some(highest);
                Some(Place::Behind)
            }
        }
    }
}

fn row(passed: &Passed, orders: &mut [Order; 2], columns: usize) -> Row {
    let Passed { at, kind, octets, placed, marks } = passed;
    let order = orders.get_mut(placed.side).filter(|_| *kind == Kind::Dt && !marks.is_repeated);
    let place =
        order.zip(placed.number).and_then(|(order, number)| order.take(number, placed.modulus));
    let mut time = calendar::time_of_day(*at);
    if !time.contains('.') {
        time.push('.');
    }
    let or_none = |number: Option<u32>| number.map_or_else(|| "-".to_owned(), |it| it.to_string());
    let (grade, words) = (grade(*kind, marks, place), words(*kind, marks, place));
    let text = format!(
        "{} {time:0<TIME$.TIME$} {} {:2} {:>10} {:>6} {octets:>7}  {}",
        grade.map_or("  ", Grade::sign),
        if placed.side == 0 { '>' } else { '<' },
        kind.name(),
        or_none(placed.number),
        or_none(placed.credit.map(u32::from)),
        fitting(&words, columns),
    );
    Row { text: text.trim_end().to_owned(), grade, ..Row::default() }
}

fn grade(kind: Kind, marks: &Marks, place: Option<Place>) -> Option<Grade> {
    let is_bad_step = matches!(
        marks.step,
        Some(Step::Refused | Step::NotAgreed | Step::Ended(Ending::Abrupt | Ending::Erroneous))
    );
    let is_again = marks.is_repeated && kind != Kind::Ak;
    let is_closed = marks.closes || marks.was_closed.is_some();
    if is_again || marks.is_beyond || is_closed || is_bad_step {
        Some(Grade::Look)
    } else if place.is_some() || marks.is_late_segment {
        Some(Grade::Note)
    } else {
        None
    }
}

/// Marks in words, the most important first.
fn words(kind: Kind, marks: &Marks, place: Option<Place>) -> Vec<String> {
    let span = |took: Duration| quantity::span(nanos(took));
    let place = place.map(|place| match place {
        Place::Ahead(1) => "1 DT missing before it".to_owned(),
        Place::Ahead(dts) => format!("{dts} DTs missing before it"),
        Place::Behind => "out of order".to_owned(),
    });
    let if_so = |is_so: bool, words: &str| is_so.then(|| words.to_owned());
    let role = match marks.role {
        Some(Role::Crediting) => Some("credit only"),
        Some(Role::Confirming) => Some("confirms an AK"),
        Some(Role::KeepingAlive) => Some("keeps alive"),
        Some(Role::Acknowledging) | None => None,
    };
    [
        if_so(marks.is_repeated && kind != Kind::Ak, "retransmission"),
        if_so(marks.is_beyond, "beyond credit"),
        if_so(marks.closes, "closes window"),
        marks.was_closed.map(|closed| format!("window was closed {}", span(closed))),
        place,
        if_so(marks.is_late_segment, "TCP segment in a gap"),
        marks.step.map(|step| step_words(step).to_owned()),
        role.map(str::to_owned),
        marks.acknowledged_after.map(|took| format!("{} after DT", span(took))),
        marks.replied_after.map(|took| format!("reply after {}", span(took))),
    ]
    .into_iter()
    .flatten()
    .collect()
}

const fn step_words(step: Step) -> &'static str {
    match step {
        Step::Requested => "requested",
        Step::Established => "open",
        Step::Refused => "refused",
        Step::NotAgreed => "not agreed on",
        Step::Ended(Ending::Graceful) => "over",
        Step::Ended(Ending::Abrupt) => "over abruptly",
        Step::Ended(Ending::Erroneous) => "over by an error",
        Step::Adopted => "found under way",
        Step::Silent => "silent",
    }
}

/// As many words as fit, and the number of the others.
fn fitting(words: &[String], columns: usize) -> String {
    let all = words.join(", ");
    if all.chars().count() <= columns {
        return all;
    }
    let shown = (1..words.len()).rev().find_map(|count| {
        let text = format!("{} +{}", words.get(..count)?.join(", "), words.len() - count);
        (text.chars().count() <= columns).then_some(text)
    });
    shown.unwrap_or_else(|| all.chars().take(columns).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_dts_is_that_of_their_numbers_across_a_wrap() {
        let mut order = Order::default();
        let places: Vec<Option<Place>> =
            [126, 127, 0, 3, 1, 2, 4].into_iter().map(|number| order.take(number, 128)).collect();
        let expected = [None, None, None, Some(Place::Ahead(2)), Some(Place::Behind)];
        assert_eq!(places[..5], expected);
        assert_eq!(places[5..], [Some(Place::Behind), None]);
    }

    #[test]
    fn marks_that_do_not_fit_are_counted() {
        let words = ["retransmission", "beyond credit", "out of order"].map(str::to_owned);
        assert_eq!(fitting(&words, 80), "retransmission, beyond credit, out of order");
        assert_eq!(fitting(&words, 32), "retransmission, beyond credit +1");
        assert_eq!(fitting(&words, 20), "retransmission +2");
        assert_eq!(fitting(&words, 5), "retra");
    }
}
