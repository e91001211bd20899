//! Losses in the first line of the screen: frames that were dropped, state that the meter gave up for lack of room, and
//! TPDUs that belong to no known connection.

use meter::oddity::Class;
use meter::registry::Measure;
use records::state::Model;

/// Losses so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Losses {
    /// Frames dropped before the meter; none if it is unknown.
    pub(super) dropped: Option<u64>,
    /// Times that the meter gave up state, or did not follow something, to stay within its limits.
    pub(super) given_up: u64,
    /// TPDUs of no known connection.
    pub(super) unassigned: u64,
}

impl Losses {
    /// Returns the losses of a model.
    pub(super) fn of(model: &Model) -> Self {
        let of_meter = format!("{}: ", Class::Meter.name());
        let oddities = model.oddities();
        let given_up = oddities.iter().filter(|(name, _)| name.starts_with(&of_meter));
        Self {
            dropped: model.dropped(),
            given_up: given_up.map(|(_, times)| times).sum(),
            unassigned: model.measures().count(Measure::UnassignedTpdus),
        }
    }

    /// Returns them in words: all that are known, and those above zero alone. Two blanks follow.
    pub(super) fn words(self) -> [String; 2] {
        let Self { dropped, given_up, unassigned } = self;
        let counts = [
            (dropped, "dropped"),
            (Some(given_up).filter(|it| *it > 0), "given up"),
            (Some(unassigned), "unassigned"),
        ];
        [0, 1].map(|least| {
            let told = |(count, what): (Option<u64>, &str)| {
                count.filter(|count| *count >= least).map(|count| format!("{count} {what}"))
            };
            let told: Vec<String> = counts.into_iter().filter_map(told).collect();
            if told.is_empty() { String::new() } else { told.join(", ") + "  " }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::page::fed::fed;

    #[test]
    fn every_loss_is_counted_by_its_place() {
        let odd = [("meter: no room for a host", 2), ("time: time ran backwards", 9)];
        let losses = Losses::of(&fed(&[("unassigned_tpdus", 4)], &odd, Some(3), 100));
        assert_eq!(losses, Losses { dropped: Some(3), given_up: 2, unassigned: 4 });
        let words = "3 dropped, 2 given up, 4 unassigned  ";
        assert_eq!(losses.words(), [words, words]);
    }

    #[test]
    fn a_narrow_screen_has_those_above_zero() {
        let check = |losses: Losses, expected: [&str; 2]| assert_eq!(losses.words(), expected);
        check(Losses { dropped: Some(0), ..Losses::default() }, ["0 dropped, 0 unassigned  ", ""]);
        check(Losses::default(), ["0 unassigned  ", ""]);
        let unassigned = Losses { dropped: Some(0), unassigned: 7, ..Losses::default() };
        check(unassigned, ["0 dropped, 7 unassigned  ", "7 unassigned  "]);
    }
}
