//! Findings on associations: services that are slow, fail or are not answered; associations that are
//! refused or aborted; reports that come late.

use super::{ENDS_COLUMNS, Grade, Judge, Topic, graded, share};
use crate::quantity::{self, longest, span};
use crate::{Block, ENOUGH, Service, Services, shortened_ends};
use meter::observation::DelayKind;
use meter::registry::Measure;

/// Intervals of a control block from which on the regular ones are known.
const REGULAR: u64 = 10;

/// Oddity of an answer without a request.
const UNREQUESTED: &str = "association: MMS answer without a request";

/// Service with its association.
type Found<'a> = (&'a Services, &'a Service);

impl Judge<'_> {
    /// Judges the services, and then the associations.
    pub(super) fn services(&mut self) {
        self.slowest_service();
        self.failures();
        self.unanswered();
        self.unrequested();
        self.ends_of_associations();
        self.late_reports();
    }

    fn each_service(&self) -> impl Iterator<Item = Found<'_>> {
        let associations = self.model.associations.values();
        associations.flat_map(|of| of.services.iter().map(move |service| (of, service)))
    }

    /// Service of an association for which `size` is greatest, and not zero; the first of equals.
    fn most(&self, size: impl Fn(&Service) -> u64) -> Option<Found<'_>> {
        let found = self.each_service().filter(|(_, service)| size(service) > 0);
        found.reduce(|most, it| if size(it.1) > size(most.1) { it } else { most })
    }

    /// Names the service and the connection that account for most of the last finding.
    fn of_service(&mut self, most: Option<(String, u32)>) {
        if let (Some((detail, id)), Some(finding)) = (most, self.found.last_mut()) {
            (finding.detail, finding.connection) = (Some(detail), Some(id));
        }
    }

    fn slowest_service(&mut self) {
        let slowest = self.most(|service| {
            let p99_ns = service.response_p99_ns.filter(|_| service.answers >= ENOUGH);
            p99_ns.unwrap_or(0)
        });
        let Some((of, service)) = slowest else { return };
        let times = [service.response_p50_ns, service.response_p99_ns, service.response_max_ns];
        let [Some(p50), Some(p99), Some(max)] = times else { return };
        let Service { service: name, server, answers, .. } = service;
        let (p50, longest) = (span(p50), longest(*answers, p99, max));
        let text = format!("{name} is the slowest service of {server}: {longest}");
        let ends = shortened_ends(&of.ends, ENDS_COLUMNS);
        let most = of.most_outstanding;
        let detail = format!("{ends}: p50 {p50}, n {answers}, at most {most} outstanding");
        let most = Some((detail, of.id));
        self.push(Grade::Note, 1.0, Topic::Services, text);
        self.of_service(most);
    }

    fn failures(&mut self) {
        let answers = self.count(DelayKind::MmsResponse.count());
        let errors = self.count(Measure::MmsErrors);
        let (failed, rejects) =
            (self.count(Measure::MmsFailedAccesses), self.count(Measure::MmsRejects));
        let all = crate::sum([errors, failed, rejects]);
        if all == 0 {
            return;
        }
        let ratio = share(all, answers.saturating_add(rejects));
        let text = format!(
            "{all} of {answers} MMS requests have failed: {errors} errors, {rejects} rejects, \
             {failed} accesses"
        );
        let size = |it: &Service| crate::sum([it.errors, it.failed_accesses, it.rejects]);
        let most = self.most(size).map(|(of, service)| {
            let by_code = service.failures.iter().max_by_key(|(_, times)| *times);
            let code =
                by_code.map_or_else(String::new, |(name, times)| format!(", {times} x {name}"));
            let ends = shortened_ends(&of.ends, ENDS_COLUMNS);
            (format!("{ends}: {} of {}{code}", size(service), service.service), of.id)
        });
        self.push(graded(ratio), ratio, Topic::Services, text);
        self.of_service(most);
    }

    fn unanswered(&mut self) {
        let unanswered = self.count(Measure::MmsUnanswered);
        if unanswered == 0 {
            return;
        }
        let requests = self.count(Measure::MmsRequests);
        let text = format!("{unanswered} of {requests} MMS requests were never answered");
        let most = self.most(|it| it.unanswered).map(|(of, service)| {
            let ends = shortened_ends(&of.ends, ENDS_COLUMNS);
            (format!("{ends}: {} of {}", service.unanswered, service.service), of.id)
        });
        let ratio = share(unanswered, requests);
        self.push(graded(ratio), ratio, Topic::Services, text);
        self.of_service(most);
    }

    /// Reports answers without a request, which a tap on one direction sees.
    fn unrequested(&mut self) {
        let odd = self.odd(UNREQUESTED);
        if odd == 0 {
            return;
        }
        let answers = self.count(DelayKind::MmsResponse.count()).saturating_add(odd);
        let text = format!(
            "{odd} of {answers} MMS answers have no request: the tap may miss a direction, or the \
             beginning"
        );
        let most = self.model.associations.values().filter(|of| of.odd > 0);
        let most = most.max_by_key(|of| (of.odd, core::cmp::Reverse(of.id)));
        let most = most.map(|of| (shortened_ends(&of.ends, ENDS_COLUMNS), of.id));
        let ratio = share(odd, answers);
        self.push(graded(ratio), ratio, Topic::Services, text);
        self.of_service(most);
    }

    fn ends_of_associations(&mut self) {
        let all = self.count(DelayKind::Association.count());
        for (measure, state) in
            [(Measure::AssociationRefusals, "refused"), (Measure::AssociationAborts, "aborted")]
        {
            let times = self.count(measure);
            if times == 0 {
                continue;
            }
            let found = quantity::counted(times, "association");
            let verb = if times == 1 { "was" } else { "were" };
            let text = format!("{found} {verb} {state}");
            let mut of = self.model.associations.values();
            let most = of.find(|of| of.state == state).map(|of| {
                let cause = of.cause_in_words().unwrap_or("cause unknown");
                (format!("{}: {cause}", shortened_ends(&of.ends, ENDS_COLUMNS)), of.id)
            });
            let ratio = share(times, all.max(times));
            self.push(Grade::Look, ratio, Topic::Services, text);
            self.of_service(most);
        }
    }

    /// Reports control blocks of regular reports, one of which came after twice the median or more.
    fn late_reports(&mut self) {
        let blocks = self.model.control_blocks.values();
        let late = blocks.flat_map(|of| of.control_blocks.iter().map(move |block| (of, block)));
        let late = late.filter(|(_, block)| is_late(block));
        let Some((of, block)) =
            late.max_by_key(|(of, block)| (block.interval_max_ns, core::cmp::Reverse(of.id)))
        else {
            return;
        };
        let times = [block.interval_p50_ns, block.interval_max_ns];
        let [Some(p50), Some(max)] = times.map(|nanos| nanos.map(span)) else { return };
        let name = block.name.as_deref().unwrap_or("a control block");
        let text = format!("reports of {name} came late: {max} after the one before, median {p50}");
        let detail =
            format!("{}: {} reports", shortened_ends(&of.ends, ENDS_COLUMNS), block.reports);
        let most = Some((detail, of.id));
        self.push(Grade::Look, 0.0, Topic::Services, text);
        self.of_service(most);
    }
}

/// True for regular reports, whose median is near the mean, with a long pause.
fn is_late(block: &Block) -> bool {
    let Block { intervals, interval_total_ns, .. } = block;
    let (Some(p50_ns), Some(max_ns)) = (block.interval_p50_ns, block.interval_max_ns) else {
        return false;
    };
    let mean = interval_total_ns.checked_div(*intervals).unwrap_or(0);
    *intervals >= REGULAR
        && p50_ns.saturating_mul(5) >= mean.saturating_mul(4)
        && max_ns >= p50_ns.saturating_mul(2)
}
