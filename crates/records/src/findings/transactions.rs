//! Findings on requests and replies: the slowest function, requests without a reply, exceptions,
//! retries, ambiguous replies.

use super::{Grade, Judge, Topic, graded, share};
use crate::quantity::{counted, longest, span};
use crate::{ENOUGH, TransactionTotals, Transactions};

/// Function of a device in words.
fn name(of: &Transactions) -> String {
    format!("{} unit {} function {}", of.server, of.unit, of.function)
}

impl Judge<'_> {
    /// Judges requests and replies.
    pub(super) fn transactions(&mut self) {
        self.slowest_function();
        let TransactionTotals { requests, retries, replies, exceptions, .. } =
            self.model.of_transactions;
        let TransactionTotals { unanswered, ambiguous, without_request, .. } =
            self.model.of_transactions;
        let all = counted(requests, "request");
        if unanswered > 0 {
            let share = share(unanswered, requests);
            let text = format!("{unanswered} of {all} had no reply");
            self.note(graded(share), share, text, |it| it.unanswered);
        }
        if exceptions > 0 {
            let share = share(exceptions, replies);
            let text = format!("{exceptions} of {replies} requests were answered by an exception");
            self.note(graded(share), share, text, |it| it.exceptions);
        }
        if retries > 0 {
            let share = share(retries, requests);
            let text = format!("{retries} of {all} were sent again before their reply");
            self.note(Grade::Look, share, text, |it| it.retries);
        }
        if without_request > 0 {
            let text = format!("{without_request} of {replies} replies have no request");
            self.note(Grade::Note, share(without_request, replies), text, |it| {
                crate::sum([it.repeated, it.late, it.unrequested])
            });
        }
        if ambiguous > 0 {
            let text = format!(
                "{ambiguous} of {replies} replies may belong to several requests: no response time"
            );
            self.note(Grade::Note, share(ambiguous, replies), text, |it| it.ambiguous);
        }
    }

    /// Adds a finding, with the function of which `size` is greatest; the first of equals.
    fn note(&mut self, grade: Grade, share: f64, text: String, size: fn(&Transactions) -> u64) {
        let rows = self.model.transactions.iter();
        let most = rows.reduce(|most, it| if size(it) > size(most) { it } else { most });
        let detail = most.map(|it| format!("{}: {} of them", name(it), size(it)));
        self.push(grade, share, Topic::Transactions, text);
        if let Some(finding) = self.found.last_mut() {
            finding.detail = detail;
        }
    }

    fn slowest_function(&mut self) {
        let Some(slowest) = self.model.transactions.first() else { return };
        let times = [slowest.response_p50_ns, slowest.response_p99_ns, slowest.response_max_ns];
        let [Some(p50), Some(p99), Some(max)] = times else { return };
        if slowest.responses < ENOUGH || slowest.acknowledgements {
            return;
        }
        let Transactions { server, unit, responses, protocol, .. } = slowest;
        let text = format!(
            "{server} unit {unit} is the slowest {protocol} device: {}",
            longest(*responses, p99, max)
        );
        let detail =
            format!("function {}: p50 {}, n {responses}", slowest.function_label(), span(p50));
        self.push(Grade::Note, 1.0, Topic::Transactions, text);
        if let Some(finding) = self.found.last_mut() {
            finding.detail = Some(detail);
        }
    }
}
