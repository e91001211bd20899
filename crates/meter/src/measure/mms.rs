//! Manufacturing messages (MMS, ISO 9506-2) and the associations that carry them.
//!
//! Definition: a request counts when its last octet was seen. An answer is a confirmed response or
//! a confirmed error with the invoke identifier of a request that is outstanding; its response time
//! lasts from the last octet of the request to the last octet of the answer. A request is unanswered
//! if its connection ended, fell silent, or used the identifier again. Bias: the tap's place. A
//! request whose TSDU was not wholly seen does not count, and its answer is an oddity.

use super::Distribution;
use crate::observation::{MmsEvent, MmsOutcome};
use crate::service::Service;
use wire::time::nanos;

/// Requests of one service, and their fates.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ServiceCounts {
    /// Requests.
    pub requests: u64,
    /// Answers: responses and errors.
    pub answers: u64,
    /// Errors among the answers.
    pub errors: u64,
    /// Responses whose first result is a data access error.
    pub failed_accesses: u64,
    /// Rejected requests.
    pub rejects: u64,
    /// Requests that will not be answered.
    pub unanswered: u64,
    /// Response times of the answers.
    pub responses: Distribution,
}

impl ServiceCounts {
    /// Adds the counts of another time.
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.answers += other.answers;
        self.errors += other.errors;
        self.failed_accesses += other.failed_accesses;
        self.rejects += other.rejects;
        self.unanswered += other.unanswered;
        self.responses.add(&other.responses);
    }

    /// Counts an event of this service.
    // Always inline: where the event is known, the selection is eliminated.
    #[inline(always)]
    pub(crate) fn observe(&mut self, event: &MmsEvent) {
        match event {
            MmsEvent::Request(_) => self.requests += 1,
            MmsEvent::Answer { outcome, took, .. } => {
                self.answers += 1;
                self.errors += u64::from(*outcome == MmsOutcome::Error);
                self.failed_accesses += u64::from(*outcome == MmsOutcome::FailedAccess);
                self.responses.record_nanos(nanos(*took));
            }
            MmsEvent::Reject(_) => self.rejects += 1,
            MmsEvent::Unanswered(_) => self.unanswered += 1,
            MmsEvent::Report
            | MmsEvent::Associated(_)
            | MmsEvent::Inferred
            | MmsEvent::Refused
            | MmsEvent::Aborted => {}
        }
    }
}

/// MMS of a network.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mms {
    /// Information reports and other unconfirmed PDUs.
    pub reports: u64,
    /// Associations accepted.
    pub associations: u64,
    /// Associations found under way.
    pub inferred: u64,
    /// Associations refused.
    pub refused: u64,
    /// Associations aborted.
    pub aborted: u64,
    /// Counts of each service that was seen.
    services: Vec<(Service, ServiceCounts)>,
    /// For each service the number of its place in this list, counted from 1.
    places: Places,
}

/// Places of services in a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Places([u8; Service::COUNT]);

impl Default for Places {
    fn default() -> Self {
        Self([0; Service::COUNT])
    }
}

impl Mms {
    /// Counts an event.
    #[inline(always)]
    pub fn observe(&mut self, event: &MmsEvent) {
        match event {
            MmsEvent::Request(service)
            | MmsEvent::Answer { service, .. }
            | MmsEvent::Reject(service)
            | MmsEvent::Unanswered(service) => self.service(*service).observe(event),
            MmsEvent::Report => self.reports += 1,
            MmsEvent::Associated(_) => self.associations += 1,
            MmsEvent::Inferred => self.inferred += 1,
            MmsEvent::Refused => self.refused += 1,
            MmsEvent::Aborted => self.aborted += 1,
        }
    }

    /// Adds the counts of another time.
    pub fn add(&mut self, other: &Self) {
        self.reports += other.reports;
        self.associations += other.associations;
        self.inferred += other.inferred;
        self.refused += other.refused;
        self.aborted += other.aborted;
        for (service, counts) in &other.services {
            self.service(*service).add(counts);
        }
    }

    /// Counts of each service that was seen, in the order of services.
    pub fn services(&self) -> impl Iterator<Item = (Service, &ServiceCounts)> {
        let of = |place: &u8| self.services.get(usize::from(*place).checked_sub(1)?);
        self.places.0.iter().filter_map(of).map(|(service, counts)| (*service, counts))
    }

    /// Counts of a service; none if it was not seen.
    #[must_use]
    pub fn of(&self, service: Service) -> Option<&ServiceCounts> {
        let place = self.places.0.get(service.place()).copied().unwrap_or(0);
        Some(&self.services.get(usize::from(place).checked_sub(1)?)?.1)
    }

    /// Sum of a count over all services.
    pub(crate) fn sum(&self, of: fn(&ServiceCounts) -> u64) -> u64 {
        self.services.iter().map(|(_, counts)| of(counts)).sum()
    }

    fn service(&mut self, service: Service) -> &mut ServiceCounts {
        if self.places.0[service.place()] == 0 {
            self.make_room(service);
        }
        &mut self.services[usize::from(self.places.0[service.place()]) - 1].1
    }

    #[cold]
    fn make_room(&mut self, service: Service) {
        self.services.push((service, ServiceCounts::default()));
        self.places.0[service.place()] = self.services.len() as u8;
    }
}
