//! Services and control blocks of associations: items of the recorder, and their records.
//!
//! `services` and `control-blocks` have the values since the connection began, up to the end of an
//! interval in which they changed; the last record of a connection has those of the whole.
//! `services-interval` has those of services in an interval.

use super::ends::end_name;
use super::item::{self, Associated, Item};
use super::{ENOUGH, Named, Text, sum};
use crate::findings::{Grade, is_bad_share};
use core::cmp::Reverse;
use meter::measure::Summary;
use meter::{
    Address, AssociationReport, Cause, Connection, ControlBlock, LatestInterval, ServiceReport,
    Source,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use wire::mms::{Failure, access_error_name, class_name};
use wire::session::reason_name;
use wire::time::Instant;

/// Failures of a service that a record names.
const MOST_FAILURES: usize = 16;

/// Items of a connection's association: its services, and its control blocks if there are any.
pub(crate) fn items(
    connection: &Connection,
    has_names: bool,
) -> impl Iterator<Item = Item> + use<> {
    let of = associated(connection, has_names).map(Box::new);
    let blocks = of.clone().filter(|it| !it.association.control_blocks.is_empty());
    of.map(Item::Services).into_iter().chain(blocks.map(Item::ControlBlocks))
}

/// Association of a connection, if it has one.
pub(crate) fn associated(connection: &Connection, has_names: bool) -> Option<Associated> {
    let Connection { serial, ends, user, ref association, .. } = *connection;
    let association = Arc::clone(association.as_ref()?);
    Some(Associated { serial, ends, user, association, has_names })
}

/// Items of an association in an interval that began at `start`: its services and its control blocks so far, unless
/// they are as they were `before`, and its services in the interval, unless nothing happened to them.
pub(crate) fn in_interval(
    of: &Associated,
    before: Option<&Associated>,
    index: Option<u64>,
    start: Instant,
) -> impl Iterator<Item = Item> + use<> {
    let has_changed = before.is_none_or(|before| !has_same_services(before, of));
    let known_blocks = before.map_or(&[][..], |before| &before.association.control_blocks);
    let has_other_blocks = of.association.control_blocks != known_blocks;
    let of_interval = services_in(of, index, start);
    let services = has_changed.then(|| Item::Services(Box::new(of.clone())));
    let has_services = has_changed || !of_interval.services.is_empty();
    let of_interval = has_services.then(|| Item::ServicesInterval(Box::new(of_interval)));
    let blocks = has_other_blocks.then(|| Item::ControlBlocks(Box::new(of.clone())));
    [services, of_interval, blocks].into_iter().flatten()
}

/// True if the records of the services of both are equal.
fn has_same_services(one: &Associated, other: &Associated) -> bool {
    // Without `..`, so that a field that is added must be named here.
    let AssociationReport {
        phase,
        is_inferred,
        set_up_ns,
        cause,
        outstanding,
        most_outstanding,
        unrequested,
        repeated,
        in_no_context,
        dropped,
        services,
        latest: _,
        control_blocks: _,
    } = &*one.association;
    let it = &*other.association;
    one.user == other.user
        && *services == it.services
        && (*phase, *is_inferred, *set_up_ns) == (it.phase, it.is_inferred, it.set_up_ns)
        && [outstanding, most_outstanding] == [&it.outstanding, &it.most_outstanding]
        && [unrequested, repeated, in_no_context]
            == [&it.unrequested, &it.repeated, &it.in_no_context]
        && (cause, dropped) == (&it.cause, &it.dropped)
}

fn services_in(of: &Associated, index: Option<u64>, start: Instant) -> item::ServicesInterval {
    let Associated { serial, ends, ref association, .. } = *of;
    let AssociationReport { outstanding, latest, .. } = &**association;
    let (outstanding, LatestInterval { most_outstanding, services, .. }) =
        (*outstanding, if latest.start >= start { latest.clone() } else { waiting(association) });
    item::ServicesInterval { index, start, serial, ends, outstanding, most_outstanding, services }
}

/// Interval in which no request began or ended: those that were outstanding are so still.
fn waiting(association: &AssociationReport) -> LatestInterval {
    let services = association.services.iter().filter(|it| it.outstanding > 0);
    let services = services.map(|it| ServiceReport {
        server: it.server,
        outstanding: it.outstanding,
        ..ServiceReport::nothing(it.service)
    });
    let services: Vec<ServiceReport> = services.collect();
    let of_side = |side| {
        let own = services.iter().filter(|it| it.server == side);
        own.map(|it| it.outstanding).sum::<u64>()
    };
    let most_outstanding = of_side(0).max(of_side(1));
    LatestInterval { start: association.latest.start, most_outstanding, services }
}

/// Association of a connection, and its services so far: in an interval that changed them, and of the whole.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Services {
    /// Number of the connection.
    pub id: u32,
    /// Addresses of both sides, with their ports; the side that sent the CR first.
    pub ends: [Text; 2],
    /// Application.
    pub user: Text,
    /// State: idle, requested, open, refused, released or aborted.
    pub state: Text,
    /// True if the acceptance of the association was not seen.
    pub inferred: bool,
    /// Time from its request to its acceptance.
    pub set_up_ns: Option<u64>,
    /// Layer, source and reason of its refusal or abort.
    pub cause: Option<String>,
    /// Requests outstanding.
    pub outstanding: u64,
    /// The most that were outstanding at the same time.
    pub most_outstanding: u64,
    /// Answers to no request, to a request that had one, and PDUs in a context not proposed.
    pub odd: u64,
    /// Requests and reports without a row of their own, for want of room.
    pub dropped: u64,
    /// Services.
    pub services: Vec<Service>,
}

/// Services on the association of a connection in an interval.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ServicesInterval {
    /// Number of the interval.
    pub index: Option<u64>,
    /// Number of the connection.
    pub id: u32,
    /// Addresses of both sides, with their ports; the side that sent the CR first.
    pub ends: [Text; 2],
    /// Requests outstanding at its end.
    pub outstanding: u64,
    /// The most that were outstanding at the same time in it.
    pub most_outstanding: u64,
    /// Services with a request or an answer in it, or with an outstanding request.
    pub services: Vec<Service>,
}

/// Service on an association.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Service {
    /// Name in the standard.
    pub service: Text,
    /// Side that answers, as in `ends`.
    pub server: Text,
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
    /// Requests outstanding.
    pub outstanding: u64,
    /// Sum of the response times.
    pub response_total_ns: u64,
    /// Least response time; none without answers.
    pub response_min_ns: Option<u64>,
    /// Median response time; likewise.
    pub response_p50_ns: Option<u64>,
    /// 99th percentile of the response times; likewise.
    pub response_p99_ns: Option<u64>,
    /// Greatest response time; likewise.
    pub response_max_ns: Option<u64>,
    /// Failures by name.
    pub failures: Named<u64>,
}

impl Service {
    /// Requests that failed in some way.
    pub fn failed(&self) -> u64 {
        sum([self.errors, self.failed_accesses, self.rejects, self.unanswered])
    }

    /// Severity of what is wrong with the service; none if nothing is.
    pub fn grade(&self) -> Option<Grade> {
        let failed = self.failed();
        if is_bad_share(failed, self.requests) {
            return Some(Grade::Bad);
        }
        (failed > 0).then_some(Grade::Look)
    }
}

impl Services {
    /// Services of associations, the slowest first.
    pub fn slowest_first<'a>(
        associations: impl Iterator<Item = &'a Self>,
    ) -> Vec<(&'a Self, &'a Service)> {
        let each = associations.flat_map(|of| of.services.iter().map(move |service| (of, service)));
        let mut found: Vec<(&Self, &Service)> = each.collect();
        found.sort_by_key(|(of, it)| {
            let slowness = (it.answers >= ENOUGH, it.response_p99_ns, it.response_max_ns);
            (Reverse(slowness), of.id)
        });
        found
    }
}

/// Control blocks of an association so far, likewise.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ControlBlocks {
    /// Number of the connection.
    pub id: u32,
    /// Addresses of both sides, with their ports; the side that sent the CR first.
    pub ends: [Text; 2],
    /// Control blocks.
    pub control_blocks: Vec<Block>,
}

/// Control block, or list, that one side reports.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Block {
    /// Name; null where names are left out.
    pub name: Option<Text>,
    /// Side that reports, as in `ends`.
    pub server: Text,
    /// Reports.
    pub reports: u64,
    /// Times from one report to the next.
    pub intervals: u64,
    /// Sum of these times.
    pub interval_total_ns: u64,
    /// Least time; none before the second report.
    pub interval_min_ns: Option<u64>,
    /// Median time; likewise.
    pub interval_p50_ns: Option<u64>,
    /// Greatest time; likewise.
    pub interval_max_ns: Option<u64>,
}

impl Service {
    /// Mean response time; none without answers.
    pub const fn mean_ns(&self) -> Option<u64> {
        self.response_total_ns.checked_div(self.answers)
    }
}

fn ends(of: [(Address, u16); 2]) -> [Text; 2] {
    of.map(|(address, port)| end_name(address, port))
}

/// Side of a connection by its place in `ends`.
fn end(ends: &[Text; 2], side: usize) -> Text {
    ends.get(side).cloned().unwrap_or_default()
}

impl ServicesInterval {
    /// Converts from an item of a recorder.
    pub(crate) fn of(item: &item::ServicesInterval) -> Self {
        let ends = ends(item.ends);
        let services = item.services.iter().map(|it| service(it, end(&ends, it.server)));
        Self {
            index: item.index,
            id: item.serial,
            outstanding: item.outstanding,
            most_outstanding: item.most_outstanding,
            services: services.collect(),
            ends,
        }
    }
}

impl Services {
    /// Converts from an item of a recorder.
    pub(crate) fn of(item: &Associated) -> Self {
        let report = &*item.association;
        let AssociationReport { unrequested, repeated, in_no_context, dropped, .. } = report;
        let ends = ends(item.ends);
        Self {
            id: item.serial,
            user: Text::const_new(item.user.name()),
            state: Text::const_new(report.phase.name()),
            inferred: report.is_inferred,
            set_up_ns: report.set_up_ns,
            cause: report.cause.map(cause_name),
            outstanding: report.outstanding,
            most_outstanding: report.most_outstanding,
            odd: unrequested + repeated + in_no_context,
            dropped: dropped.requests + dropped.services + dropped.reports,
            services: report.services.iter().map(|it| service(it, end(&ends, it.server))).collect(),
            ends,
        }
    }
}

fn service(of: &ServiceReport, server: Text) -> Service {
    let Summary { count, total_ns, min_ns, p50_ns, p99_ns, max_ns } = of.responses;
    let time = |nanos| (count > 0).then_some(nanos);
    let failures = of.failures.iter().take(MOST_FAILURES);
    let named = failures.map(|it| (failure_name(it.failure).into(), it.times));
    Service {
        service: Text::const_new(of.service.name()),
        server,
        requests: of.requests,
        answers: count,
        errors: of.errors,
        failed_accesses: of.failed_accesses,
        rejects: of.rejects,
        unanswered: of.unanswered,
        outstanding: of.outstanding,
        response_total_ns: total_ns,
        response_min_ns: time(min_ns),
        response_p50_ns: time(p50_ns),
        response_p99_ns: time(p99_ns),
        response_max_ns: time(max_ns),
        failures: Named(named.collect()),
    }
}

impl ControlBlocks {
    /// Converts from an item of a recorder.
    pub(crate) fn of(item: &Associated) -> Self {
        let report = &*item.association;
        let ends = ends(item.ends);
        let block = |block: &ControlBlock| {
            let Summary { count, total_ns, min_ns, p50_ns, max_ns, .. } = block.intervals;
            let time = |nanos| (count > 0).then_some(nanos);
            Block {
                name: item.has_names.then(|| Text::from(String::from_utf8_lossy(&block.name))),
                server: end(&ends, block.server),
                reports: block.reports,
                intervals: count,
                interval_total_ns: total_ns,
                interval_min_ns: time(min_ns),
                interval_p50_ns: time(p50_ns),
                interval_max_ns: time(max_ns),
            }
        };
        let control_blocks = report.control_blocks.iter().map(block).collect();
        Self { id: item.serial, ends, control_blocks }
    }
}

/// Returns a failure in words: `access 2`, `object-non-existent`.
pub fn failure_name(failure: Failure) -> String {
    match failure {
        Failure::Service { class, code } => format!("error {}/{code}", class_name(class)),
        Failure::Reject { kind, reason } => format!("reject {kind}/{reason}"),
        Failure::Access(error) => access_error_name(error).to_owned(),
    }
}

impl Services {
    /// Returns the cause of its refusal or abort as part of a sentence; none if it had neither.
    pub fn cause_in_words(&self) -> Option<&str> {
        let cause = self.cause.as_deref()?;
        Some(match (cause, self.state.as_str()) {
            ("transport", "refused") => "its transport connection ended without an answer",
            ("transport", _) => "its transport connection ended without a release",
            (cause, _) => cause,
        })
    }
}

/// Returns the cause of a refusal or abort in words: `ACSE user 2`.
pub fn cause_name(cause: Cause) -> String {
    let Cause { layer, source, reason } = cause;
    let mut text = layer.name().to_owned();
    text += match source {
        Source::User => " user",
        Source::Provider => " provider",
        Source::Unknown => "",
    };
    if let Some(reason) = reason {
        text += &format!(" {reason}");
        let session = u8::try_from(reason).ok().filter(|_| layer == meter::Layer::Session);
        let known = session.map(reason_name).filter(|name| *name != "unknown reason");
        text += &known.map_or_else(String::new, |name| format!(" ({name})"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_without_answers_has_no_response_times() {
        let times = |of: &ServiceReport| {
            let it = service(of, Text::default());
            [it.response_min_ns, it.response_p50_ns, it.response_p99_ns, it.response_max_ns]
        };
        let mut of = ServiceReport::nothing(meter::service::Service::OTHER);
        assert_eq!(times(&of), [None; 4]);
        of.responses = Summary { count: 1, ..of.responses };
        assert_eq!(times(&of), [Some(0); 4]);
    }
}
