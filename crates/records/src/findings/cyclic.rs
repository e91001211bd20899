//! Findings on streams of cyclic data: silences, missing frames, states that were missed.

use super::{Grade, Judge, Topic, share};
use crate::quantity::{counted, span};
use crate::{CyclicStream, CyclicTotals, shortened, sum};

/// Columns for the name of a stream.
const NAME_COLUMNS: usize = 32;

/// Worst case of a stream, in words.
fn worst(of: &CyclicStream) -> String {
    let name = shortened(&of.label(), NAME_COLUMNS);
    match (of.worst_gap_ns, of.worst_allowed_ns) {
        (Some(gap), Some(allowed)) => {
            format!("{} {name}: {} of {} allowed", of.source, span(gap), span(allowed))
        }
        _ => format!("{} {name}", of.source),
    }
}

impl Judge<'_> {
    /// Judges the streams of cyclic data.
    pub(super) fn cyclic(&mut self) {
        self.fallen_silent();
        self.silences();
        self.missed_states();
        self.missing_frames();
        self.late_frames();
        self.not_valid();
        self.tests();
    }

    /// Stream for which `size` is greatest; the first of equals.
    fn first_by(&self, size: impl Fn(&CyclicStream) -> u64) -> Option<&CyclicStream> {
        self.model.streams.iter().reduce(|most, it| if size(it) > size(most) { it } else { most })
    }

    fn say(&mut self, grade: Grade, share: f64, text: String, detail: Option<String>) {
        self.push(grade, share, Topic::Streams, text);
        if let Some(finding) = self.found.last_mut() {
            finding.detail = detail;
        }
    }

    fn fallen_silent(&mut self) {
        let CyclicTotals { streams: all, silent_at_end: count, .. } = self.model.of_streams;
        let silent = self.model.streams.iter().filter(|it| it.silent_at_end);
        let Some(first) = silent.min_by_key(|it| it.last_ns) else { return };
        let text = format!("{count} of {} fell silent before the end", counted(all, "stream"));
        let name = shortened(&first.label(), NAME_COLUMNS);
        let detail = format!("{} {name}: {} allowed", first.source, span(first.allowed_ns));
        self.say(Grade::Bad, share(count, all), text, Some(detail));
    }

    fn silences(&mut self) {
        let CyclicTotals { silences, gaps, .. } = self.model.of_streams;
        if silences == 0 {
            return;
        }
        let text =
            format!("{silences} of {gaps} gaps were longer than allowed: subscribers saw a loss");
        let most = self.model.streams.iter().min_by(|one, other| {
            let used = |it: &CyclicStream| it.used().unwrap_or(0.0);
            used(other).total_cmp(&used(one))
        });
        let detail = most.map(worst);
        self.say(Grade::Bad, share(silences, gaps), text, detail);
    }

    fn missed_states(&mut self) {
        let CyclicTotals { state_changes, missed_states: missed, .. } = self.model.of_streams;
        if missed == 0 {
            return;
        }
        let changes = sum([state_changes, missed]);
        let text = format!("{missed} of {changes} changes of state were not seen (stNum)");
        let most = self.first_by(|it| it.missed_states);
        let detail = most.map(|it| {
            let name = shortened(&it.label(), NAME_COLUMNS);
            format!("{} {name}: {} of them", it.source, it.missed_states)
        });
        self.say(Grade::Bad, share(missed, changes), text, detail);
    }

    fn missing_frames(&mut self) {
        let CyclicTotals { frames, missing, .. } = self.model.of_streams;
        if missing == 0 {
            return;
        }
        let all = sum([frames, missing]);
        let ratio = share(missing, all);
        let text = format!("{missing} of {all} cyclic frames are missing");
        let most = self.first_by(|it| it.missing);
        let detail = most.map(|it| {
            let name = shortened(&it.label(), NAME_COLUMNS);
            format!("{} {name}: {} of them", it.source, it.missing)
        });
        self.say(super::graded(ratio), ratio, text, detail);
    }

    fn late_frames(&mut self) {
        let CyclicTotals { far_late: count, streams: all, .. } = self.model.of_streams;
        let share_of = |it: &CyclicStream| it.lateness().unwrap_or(0.0);
        let latest = self.model.streams.iter().filter(|it| it.is_far_late());
        let Some(latest) = latest.max_by(|one, other| share_of(one).total_cmp(&share_of(other)))
        else {
            return;
        };
        let of_all = counted(all, "stream");
        let text = format!("{count} of {of_all} had a frame late by half a period or more");
        let name = shortened(&latest.label(), NAME_COLUMNS);
        let (late, period) = (latest.late_max_ns.unwrap_or(0), latest.period_ns.unwrap_or(0));
        let detail =
            format!("{} {name}: {} late, period {}", latest.source, span(late), span(period));
        self.say(Grade::Look, share(count, all), text, Some(detail));
    }

    fn not_valid(&mut self) {
        let CyclicTotals { invalid, frames, .. } = self.model.of_streams;
        if invalid == 0 {
            return;
        }
        let text = format!("{invalid} of {frames} cyclic frames carry data that are not valid");
        let most = self.first_by(|it| it.invalid);
        let detail = most.map(|it| {
            let name = shortened(&it.label(), NAME_COLUMNS);
            format!("{} {name}: {} of them", it.source, it.invalid)
        });
        self.say(Grade::Look, share(invalid, frames), text, detail);
    }

    fn tests(&mut self) {
        let CyclicTotals { simulated, frames, .. } = self.model.of_streams;
        if simulated == 0 {
            return;
        }
        let text = format!("{simulated} of {frames} cyclic frames are marked as simulated or test");
        self.say(Grade::Look, share(simulated, frames), text, None);
    }
}
