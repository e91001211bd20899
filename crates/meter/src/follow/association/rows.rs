//! Services and control blocks of an association.

use super::report::{ControlBlock, FailureCount, ServiceReport};
use crate::measure::{Distribution, ServiceCounts};
use crate::observation::MmsEvent;
use crate::service::Service;
use crate::track::side::{Side, other};
use std::sync::Arc;
use wire::mms::Failure;
use wire::time::Instant;

/// Services of an association that have a row; the rest is [`Service::OTHER`], whose row is the
/// last.
const MOST_SERVICES: usize = 24;
/// Failures kept for a service.
const MOST_FAILURES: usize = 16;
/// Control blocks of an association that have a row.
const MOST_BLOCKS: usize = 64;
/// Octets kept of a name.
const NAME_OCTETS: usize = 129;

/// Service that one side asks for.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) service: Service,
    asker: Side,
    /// Counts before the interval in which it counted last.
    before: ServiceCounts,
    /// Start of that interval, and its counts in it.
    latest: Instant,
    in_latest: ServiceCounts,
    failures: Vec<Failed>,
}

/// Failures of one kind, class and code.
#[derive(Clone, Copy, Debug)]
struct Failed {
    failure: Failure,
    times: u64,
    times_in_latest: u64,
}

impl Row {
    /// Counts an event, and the failure that it states, in the interval of this start.
    // Always inline: where the event is known, the selection is eliminated.
    #[inline(always)]
    pub(super) fn count(&mut self, interval: Instant, event: &MmsEvent, failure: Option<Failure>) {
        if self.latest != interval {
            self.begin(interval);
        }
        self.in_latest.observe(event);
        if let Some(failure) = failure {
            self.note(failure);
        }
    }

    #[cold]
    fn begin(&mut self, interval: Instant) {
        self.before.add(&self.in_latest);
        (self.latest, self.in_latest) = (interval, ServiceCounts::default());
        self.failures.iter_mut().for_each(|failed| failed.times_in_latest = 0);
    }

    /// Counts a failure by its code.
    fn note(&mut self, failure: Failure) {
        if let Some(known) = self.failures.iter_mut().find(|known| known.failure == failure) {
            known.times += 1;
            known.times_in_latest += 1;
        } else if self.failures.len() < MOST_FAILURES {
            self.failures.push(Failed { failure, times: 1, times_in_latest: 1 });
        }
    }

    /// Report since the association began.
    pub(super) fn report(&self, outstanding: u64) -> ServiceReport {
        let mut all = self.before.clone();
        all.add(&self.in_latest);
        self.report_of(&all, outstanding, |failed| failed.times)
    }

    /// Report of the interval of this start; none if nothing was counted in it and no request is
    /// outstanding.
    pub(super) fn report_in(&self, interval: Instant, outstanding: u64) -> Option<ServiceReport> {
        if self.latest == interval {
            let times = |failed: &Failed| failed.times_in_latest;
            return Some(self.report_of(&self.in_latest, outstanding, times));
        }
        let (service, server) = (self.service, other(self.asker));
        let nothing = ServiceReport { server, outstanding, ..ServiceReport::nothing(service) };
        (outstanding > 0).then_some(nothing)
    }

    fn report_of(
        &self,
        counts: &ServiceCounts,
        outstanding: u64,
        times: fn(&Failed) -> u64,
    ) -> ServiceReport {
        let ServiceCounts { requests, errors, failed_accesses, .. } = counts;
        let ServiceCounts { rejects, unanswered, responses, .. } = counts;
        let failures = self.failures.iter();
        let failures = failures.map(|it| FailureCount { failure: it.failure, times: times(it) });
        ServiceReport {
            service: self.service,
            server: other(self.asker),
            requests: *requests,
            errors: *errors,
            failed_accesses: *failed_accesses,
            rejects: *rejects,
            unanswered: *unanswered,
            outstanding,
            responses: responses.summary(),
            failures: failures.filter(|it| it.times > 0).collect(),
        }
    }

    pub(super) const fn asker(&self) -> Side {
        self.asker
    }
}

/// Services, in the order of appearance.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows(Vec<Row>);

impl Rows {
    /// Row of a service, which is made if there is none; the second is true if it stands for others
    /// too, for want of room.
    pub(super) fn place(&mut self, service: Service, asker: Side) -> (u8, bool) {
        let known = self.find(service, asker);
        if let Some(place) = known {
            return (place, false);
        }
        // The last rows are those of other services.
        let is_full = self.0.len() >= MOST_SERVICES && service != Service::OTHER;
        if is_full {
            return (self.place(Service::OTHER, asker).0, true);
        }
        let [before, in_latest] = [(); 2].map(|()| ServiceCounts::default());
        let (latest, failures) = (Instant::ZERO, Vec::new());
        // A row is large, and most associations have few.
        self.0.reserve_exact(1);
        self.0.push(Row { service, asker, before, latest, in_latest, failures });
        (self.0.len() as u8 - 1, false)
    }

    fn find(&self, service: Service, asker: Side) -> Option<u8> {
        let place = self.0.iter().position(|row| (row.service, row.asker) == (service, asker));
        place.map(|place| place as u8)
    }

    pub(super) fn at(&mut self, place: u8) -> Option<&mut Row> {
        self.0.get_mut(usize::from(place))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Row> {
        self.0.iter()
    }
}

/// Control block, or list, that one side reports.
#[derive(Clone, Debug)]
struct Block {
    name: Arc<[u8]>,
    server: Side,
    reports: u64,
    last: Instant,
    intervals: Distribution,
}

/// Control blocks, in the order of appearance.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks(Vec<Block>);

impl Blocks {
    /// Counts a report; returns false if there is no row for it.
    pub(super) fn note(&mut self, name: &[u8], server: Side, at: Instant) -> bool {
        let name = name.get(..NAME_OCTETS).unwrap_or(name);
        let is_it = |block: &&mut Block| block.server == server && *block.name == *name;
        if let Some(block) = self.0.iter_mut().find(is_it) {
            block.reports += 1;
            block.intervals.record_nanos(at.nanos_since(block.last));
            block.last = at;
            return true;
        }
        let has_room = self.0.len() < MOST_BLOCKS;
        if has_room {
            let (name, intervals) = (name.into(), Distribution::default());
            self.0.push(Block { name, server, reports: 1, last: at, intervals });
        }
        has_room
    }

    pub(super) fn report(&self) -> Vec<ControlBlock> {
        let report = |block: &Block| ControlBlock {
            name: Arc::clone(&block.name),
            server: block.server,
            reports: block.reports,
            intervals: block.intervals.summary(),
        };
        self.0.iter().map(report).collect()
    }
}
