//! Findings on publishers that a substation configuration file declares: missing, silent, unexpected and
//! different ones.

use super::{Grade, Judge, Topic, share};
use crate::publishers::{Field, PublisherState};
use crate::quantity::{counted, span};
use crate::{Publisher, Publishers, shortened};

/// Columns for the name of a publisher.
const NAME_COLUMNS: usize = 32;
/// Rank above all shares: what is not there is worse than what came late.
const FIRST: f64 = 3.0;
/// Difference from one rank to the next.
const STEP: f64 = 0.01;

/// Publisher in words.
fn named(of: &Publisher) -> String {
    shortened(&of.label(), NAME_COLUMNS)
}

impl Judge<'_> {
    /// Judges the publishers that a file declares.
    pub(super) fn publishers(&mut self) {
        let Some(publishers) = &self.model.publishers else { return };
        self.not_seen(publishers);
        self.silent_publishers(publishers);
        self.unexpected(publishers);
        for (rank, field) in Field::ALL.into_iter().enumerate() {
            self.differing(publishers, field, rank);
        }
        self.not_due(publishers);
        self.without_tag(publishers);
        self.incomplete(publishers);
    }

    fn tell(&mut self, grade: Grade, rank: usize, text: String, detail: Option<String>) {
        self.push(grade, FIRST - rank as f64 * STEP, Topic::Publishers, text);
        if let Some(finding) = self.found.last_mut() {
            finding.detail = detail;
        }
    }

    fn not_seen(&mut self, of: &Publishers) {
        let totals = &of.totals;
        if totals.not_seen == 0 {
            return;
        }
        let declared = counted(totals.declared, "declared publisher");
        let text = match totals.seen {
            0 => format!("none of {declared} seen: no GOOSE or SV at this tap"),
            _ => format!("{} of {declared} missing: never seen", totals.not_seen),
        };
        let detail = first(of, PublisherState::NotSeen);
        let detail = detail.map(|it| format!("{}: {}", named(it), it.address()));
        self.tell(Grade::Bad, 0, text, detail);
    }

    fn silent_publishers(&mut self, of: &Publishers) {
        let totals = &of.totals;
        if totals.silent == 0 {
            return;
        }
        let declared = counted(totals.declared, "declared publisher");
        let text = format!("{} of {declared} fell silent", totals.silent);
        let detail = first(of, PublisherState::Silent);
        let detail = detail.map(|it| format!("{}: {}", named(it), counted(it.frames, "frame")));
        self.tell(Grade::Bad, 1, text, detail);
    }

    fn unexpected(&mut self, of: &Publishers) {
        let totals = &of.totals;
        if totals.unexpected == 0 {
            return;
        }
        let publishers = counted(totals.unexpected, "publisher");
        let text = format!("{publishers} unexpected: not in the configuration");
        let detail = first(of, PublisherState::Unexpected).map(|it| {
            let source = it.source.as_deref().unwrap_or("-");
            match &it.ied {
                Some(ied) => format!("{source} is a second source of {}, {ied}", it.name),
                None => format!("{source} {}: {}", shortened(&it.name, 24), it.address()),
            }
        });
        self.tell(Grade::Bad, 2, text, detail);
    }

    /// Publishers with a difference in this field.
    fn differing(&mut self, of: &Publishers, field: Field, rank: usize) {
        let count = of.totals.differences.count(field.name());
        if count == 0 {
            return;
        }
        let publishers = counted(count, "publisher");
        let text = match field {
            Field::MaxTime => {
                format!("{publishers} with a gap over 1.5 times the declared MaxTime")
            }
            _ => format!("{publishers} with the wrong {}", field.name()),
        };
        let difference = |it: &Publisher| {
            let found = it.differences.iter().find(|it| it.field == field.name())?;
            let [declared, seen] =
                [&found.declared, &found.seen].map(|it| shortened(it, NAME_COLUMNS));
            Some(format!("{}: {declared} declared, {seen} seen", named(it)))
        };
        let detail = of.worst.iter().find_map(difference);
        let grade = if field.is_fatal() { Grade::Bad } else { Grade::Look };
        self.tell(grade, 3 + rank, text, detail);
    }

    fn not_due(&mut self, of: &Publishers) {
        let totals = &of.totals;
        if totals.not_due == 0 {
            return;
        }
        let (count, watched) = (totals.not_due, span(totals.watched_ns));
        let declared = counted(totals.declared, "declared publisher");
        let (grade, text) = match totals.watched_ns {
            0 => (Grade::Bad, format!("{count} of {declared} not seen: no frames were received")),
            _ => (
                Grade::Look,
                format!("{count} of {declared} not seen in {watched}: watch longer than MaxTime"),
            ),
        };
        let detail = first(of, PublisherState::NotDue).map(named);
        self.tell(grade, 3 + Field::ALL.len(), text, detail);
    }

    fn without_tag(&mut self, of: &Publishers) {
        let totals = &of.totals;
        if totals.without_tag == 0 {
            return;
        }
        let publishers = counted(totals.without_tag, "publisher");
        let text = format!("{publishers} without a VLAN tag: VLAN and priority not seen");
        self.push(Grade::Note, share(totals.without_tag, totals.seen), Topic::Publishers, text);
        if let Some(finding) = self.found.last_mut() {
            finding.detail = Some("taps and interfaces remove tags".to_owned());
        }
    }

    fn incomplete(&mut self, of: &Publishers) {
        let count = of.totals.incomplete;
        if count == 0 {
            return;
        }
        let blocks = counted(count, "control block");
        let text = format!("{blocks} not compared: no address or no data set in the file");
        self.push(Grade::Note, 0.0, Topic::Publishers, text);
        if let Some(finding) = self.found.last_mut() {
            finding.detail = first(of, PublisherState::Incomplete).map(named);
        }
    }
}

/// First publisher in a state.
fn first(of: &Publishers, state: PublisherState) -> Option<&Publisher> {
    of.worst.iter().find(|it| it.state == state)
}
