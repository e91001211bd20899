//! Digest of the records below the bars of the monitor: TPDUs by kind in a line, and the busiest connections. Where no
//! frame holds a TPDU, streams of cyclic data or functions of devices have the same room.

use super::{Choice, Page, Room, Sheet, connections, percent, short, streams, transactions};
use core::cmp::Reverse;
use meter::registry::{KindCount, Measure};
use records::Counts;
use records::state::Model;
use wire::tp::Kind;

/// Returns the digest of a model for a body of this height; empty where there is too little room, or nothing to show.
pub(in crate::tui) fn digest(model: &Model, room: Room) -> Sheet {
    // A line and a heading, and a quarter of the rest, so that the bars keep most of the room.
    let rows = (room.rows / 4).saturating_sub(2);
    if rows == 0 {
        return Sheet::default();
    }
    let measures = model.measures();
    let mut sheet = if measures.count(Measure::Tpdus) > 0 {
        let busiest = connections::sheet(model, busiest(), room);
        Sheet { about: mix(&measures, room.columns), ..busiest }
    } else if !model.streams.is_empty() {
        streams::sheet(model, room)
    } else if !model.transactions.is_empty() {
        transactions::sheet(model, room)
    } else {
        return Sheet::default();
    };
    sheet.rows.truncate(rows);
    if sheet.rows.is_empty() {
        sheet.heading = None;
    }
    sheet
}

/// Connections of all hosts, those with the most DTs first.
fn busiest() -> Choice<'static> {
    Choice {
        page: Page::Connections,
        sort: connections::BY_DTS,
        filter: "",
        chosen: None,
        host: None,
        state: None,
        passed: None,
    }
}

/// Formats the TPDUs by kind with their shares, the most frequent first, as many as fit completely.
fn mix(measures: &Counts, columns: usize) -> String {
    let all = measures.count(Measure::Tpdus);
    let of = |kind: Kind| measures.count(Measure::OfKind(kind, KindCount::Tpdus));
    let mut kinds: Vec<(u64, Kind)> = Kind::ALL.into_iter().map(|kind| (of(kind), kind)).collect();
    kinds.retain(|(tpdus, _)| *tpdus > 0);
    kinds.sort_by_key(|(tpdus, _)| Reverse(*tpdus));
    let mut text = format!("TPDUs {}:", short(all));
    for (tpdus, kind) in kinds {
        let kind = format!("  {} {} {}", kind.name(), short(tpdus), percent(tpdus, all));
        if text.chars().count() + kind.chars().count() > columns {
            break;
        }
        text += &kind;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::Symbols;
    use crate::tui::page::fed::fed;

    const fn room(columns: usize, rows: usize) -> Room {
        Room { columns, rows, symbols: Symbols::Ascii }
    }

    #[test]
    fn kinds_stand_by_their_number_as_far_as_they_fit() {
        let measures = [
            ("tpdus", 210),
            ("dt_tpdus", 100),
            ("ak_tpdus", 107),
            ("cr_tpdus", 2),
            ("cc_tpdus", 1),
        ];
        let model = fed(&measures, &[], None, 300);
        let about = |columns| digest(&model, room(columns, 21)).about;
        assert_eq!(about(80), "TPDUs 210:  AK 107 51.0%  DT 100 47.6%  CR 2 1.0%  CC 1 0.5%");
        assert_eq!(about(40), "TPDUs 210:  AK 107 51.0%  DT 100 47.6%");
    }

    #[test]
    fn a_low_screen_and_traffic_without_tpdus_have_no_digest() {
        let model = fed(&[("tpdus", 210), ("dt_tpdus", 100)], &[], None, 300);
        assert_eq!(digest(&model, room(80, 9)), Sheet::default());
        assert_eq!(digest(&fed(&[], &[], None, 300), room(80, 21)), Sheet::default());
        // A connection without frames has no row, so that there is no heading either.
        assert_eq!(digest(&model, room(80, 21)).heading, None);
    }
}
