//! Services and control blocks of an association.

use super::report::{ControlBlock, FailureCount, ServiceReport};
use crate::measure::{Distribution, ServiceCounts};
use crate::service::Service;
use crate::track::side::{Side, other};
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
    pub(super) counts: ServiceCounts,
    failures: Vec<FailureCount>,
}

impl Row {
    /// Counts a failure by its code.
    pub(super) fn note(&mut self, failure: Failure) {
        if let Some(known) = self.failures.iter_mut().find(|known| known.failure == failure) {
            known.times += 1;
        } else if self.failures.len() < MOST_FAILURES {
            self.failures.push(FailureCount { failure, times: 1 });
        }
    }

    pub(super) fn report(&self, outstanding: u64) -> ServiceReport {
        let ServiceCounts { requests, errors, failed_accesses, .. } = &self.counts;
        let ServiceCounts { rejects, unanswered, responses, .. } = &self.counts;
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
            failures: self.failures.clone(),
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
        let (counts, failures) = (ServiceCounts::default(), Vec::new());
        self.0.push(Row { service, asker, counts, failures });
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
    name: Box<[u8]>,
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
            name: String::from_utf8_lossy(&block.name).into_owned(),
            server: block.server,
            reports: block.reports,
            intervals: block.intervals.summary(),
        };
        self.0.iter().map(report).collect()
    }
}
