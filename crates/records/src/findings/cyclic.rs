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
        self.low_working_counters();
        self.missed_states();
        self.missing_frames();
        self.not_returned();
        self.late_frames();
        self.not_valid();
        self.stalled();
        self.lone();
        self.clocks();
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
        let CyclicTotals { frames, missing, not_returned, .. } = self.model.of_streams;
        let missing = missing.saturating_sub(not_returned);
        if missing == 0 {
            return;
        }
        let all = sum([frames, missing]);
        let ratio = share(missing, all);
        let text = format!("{missing} of {all} cyclic frames are missing");
        let most = self.first_by(|it| it.missing.saturating_sub(it.not_returned()));
        let detail = most.map(|it| {
            let name = shortened(&it.label(), NAME_COLUMNS);
            format!("{} {name}: {} of them", it.source, it.missing)
        });
        self.say(super::graded(ratio), ratio, text, detail);
    }

    fn not_returned(&mut self) {
        let lost = self.model.of_streams.not_returned;
        let Some(most) = self.first_by(CyclicStream::not_returned).filter(|_| lost > 0) else {
            return;
        };
        let text = format!("{} of EtherCAT did not come back", counted(lost, "frame"));
        let (of, name) = (most.not_returned(), shortened(&most.label(), NAME_COLUMNS));
        let detail = format!("{} {name}: {of} of {}", most.source, most.frames);
        let ratio = share(of, most.frames);
        self.say(super::graded(ratio), ratio, text, Some(detail));
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

    fn low_working_counters(&mut self) {
        let low = self.model.of_streams.low_working_counters;
        if low == 0 {
            return;
        }
        let text = format!(
            "{low} EtherCAT frames came back with a working counter too low: a device did not answer"
        );
        let most = self.first_by(|it| it.extra.low_working_counters);
        let answered = most.and_then(|it| it.extra.answered).unwrap_or(0);
        let detail = most.map(|it| {
            let name = shortened(&it.label(), NAME_COLUMNS);
            format!("{} {name}: {} of {answered}", it.source, it.extra.low_working_counters)
        });
        self.say(Grade::Bad, share(low, answered), text, detail);
    }

    fn stalled(&mut self) {
        let CyclicTotals { stalled, frames, .. } = self.model.of_streams;
        if stalled == 0 {
            return;
        }
        let text =
            format!("{stalled} of {frames} cyclic frames repeat old data: a producer stalled");
        let most = self.first_by(|it| it.extra.stalled);
        let detail = most.map(|it| {
            let name = shortened(&it.label(), NAME_COLUMNS);
            format!("{} {name}: {} of them", it.source, it.extra.stalled)
        });
        self.say(Grade::Look, share(stalled, frames), text, detail);
    }

    /// Frames of PRP and HSR without a partner: a LAN lost them, and one more loss stops the stream.
    fn lone(&mut self) {
        let lone = self.model.of_streams.lone;
        if let Some(most) = self.first_by(|it| it.extra.lone()).filter(|_| lone > 0) {
            let [a, b] = [most.extra.lone_a, most.extra.lone_b].map(Option::unwrap_or_default);
            let detail =
                format!("{}: {a} on A only, {b} on B only, of {}", most.source, most.frames);
            let ratio = share(most.extra.lone(), most.frames);
            let text = format!("{} of PRP or HSR without a duplicate", counted(lone, "frame"));
            self.say(super::graded(ratio), ratio, text, Some(detail));
        }
        let of_one = |it: &&CyclicStream| {
            let on = [it.extra.on_a, it.extra.on_b].map(Option::unwrap_or_default);
            on != [0, 0] && on.contains(&0)
        };
        let count = self.model.streams.iter().filter(of_one).count() as u64;
        if let Some(first) = self.model.streams.iter().find(of_one) {
            let lan = if first.extra.on_a.unwrap_or_default() > 0 { "A" } else { "B" };
            let detail = format!("{}: {lan} only", first.source);
            let nodes = counted(count, "node");
            let text = format!("{nodes} of PRP or HSR on one path: does the tap see both?");
            self.say(Grade::Note, 1.0, text, Some(detail));
        }
    }

    /// Judges the clocks of PTP.
    fn clocks(&mut self) {
        let CyclicTotals { grandmaster_changes: changes, unanswered, .. } = self.model.of_streams;
        if changes > 0 {
            let text = format!("the grandmaster of PTP changed {}", counted(changes, "time"));
            let last = self.model.streams.iter().filter(|it| it.extra.grandmaster_changes > 0);
            let detail = last.max_by_key(|it| it.last_ns).map(|it| {
                let grandmaster = it.extra.grandmaster.as_deref().unwrap_or("-");
                let class = it.extra.clock_class.unwrap_or_default();
                format!("{} announces {grandmaster}, class {class}", it.source)
            });
            self.say(Grade::Look, 1.0, text, detail);
        }
        if unanswered > 0 {
            let most = self.first_by(CyclicStream::unanswered_requests);
            let frames = most.map_or(0, |it| it.frames);
            let of_request = |it: &CyclicStream| {
                let name = shortened(&it.label(), NAME_COLUMNS);
                format!("{} {name}: {} of {frames}", it.source, it.unanswered_requests())
            };
            let detail = most.map(of_request);
            let text =
                format!("{} of cyclic protocols have no answer", counted(unanswered, "request"));
            self.say(Grade::Look, share(unanswered, frames), text, detail);
        }
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
