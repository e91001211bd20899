//! Report of an association.

use crate::measure::Summary;
use crate::service::Service;
use std::sync::Arc;
use wire::mms::Failure;
use wire::time::Instant;

/// Layer that ended or refused an association.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Layer {
    /// The transport connection ended.
    Transport,
    /// RF or AB of ISO 8327.
    Session,
    /// CPR, ARU or ARP of ISO 8823.
    Presentation,
    /// AARE or ABRT of ISO 8650.
    Acse,
    /// Initiate error of ISO 9506.
    Mms,
}

impl Layer {
    /// Name in output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transport => "transport",
            Self::Session => "session",
            Self::Presentation => "presentation",
            Self::Acse => "ACSE",
            Self::Mms => "MMS",
        }
    }
}

/// Source of a refusal or abort.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Source {
    /// The user of the service.
    User,
    /// The provider of the service.
    Provider,
    /// Not given.
    Unknown,
}

/// Cause of a refusal or abort.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Cause {
    /// Layer.
    pub layer: Layer,
    /// Source, where the PDU names it.
    pub source: Source,
    /// Reason, as the PDU of the layer has it; of an initiate error, its class times 100 and its
    /// code.
    pub reason: Option<i64>,
}

impl Cause {
    pub(super) const fn new(layer: Layer, reason: Option<i64>) -> Self {
        Self { layer, source: Source::Unknown, reason }
    }
}

/// State of an association.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Phase {
    /// Nothing was seen.
    Idle,
    /// A CN was seen.
    Requested,
    /// An AC, or data, was seen.
    Open,
    /// Refused.
    Refused,
    /// Released in order.
    Released,
    /// Aborted.
    Aborted,
}

impl Phase {
    /// Name in output.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Requested => "requested",
            Self::Open => "open",
            Self::Refused => "refused",
            Self::Released => "released",
            Self::Aborted => "aborted",
        }
    }
}

/// Failures of one kind, class and code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FailureCount {
    /// Failure.
    pub failure: Failure,
    /// Number of answers and rejects with it.
    pub times: u64,
}

/// Service on an association, as one side provides it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServiceReport {
    /// Service.
    pub service: Service,
    /// Side that answers.
    pub server: usize,
    /// Requests.
    pub requests: u64,
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
    /// Response times of the answers, responses and errors.
    pub responses: Summary,
    /// Errors, rejects and failed accesses by code, in the order of appearance.
    pub failures: Vec<FailureCount>,
}

impl ServiceReport {
    /// Report of a service that was not asked for.
    #[must_use]
    pub const fn nothing(service: Service) -> Self {
        let responses =
            Summary { count: 0, total_ns: 0, min_ns: 0, p50_ns: 0, p99_ns: 0, max_ns: 0 };
        Self {
            service,
            server: 1,
            requests: 0,
            errors: 0,
            failed_accesses: 0,
            rejects: 0,
            unanswered: 0,
            outstanding: 0,
            responses,
            failures: Vec::new(),
        }
    }
}

/// Control block, or list, that one side reports.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ControlBlock {
    /// Octets of its name: user data, most of it ASCII.
    pub name: Arc<[u8]>,
    /// Side that reports.
    pub server: usize,
    /// Reports.
    pub reports: u64,
    /// Times from one report to the next.
    pub intervals: Summary,
}

/// Losses to the limits of an association.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dropped {
    /// Outstanding requests forgotten.
    pub requests: u64,
    /// Requests counted as other services, for want of a row.
    pub services: u64,
    /// Reports without a row.
    pub reports: u64,
}

/// Latest interval in which a service of an association counted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LatestInterval {
    /// Start of the interval.
    pub start: Instant,
    /// The most requests that were outstanding at the same time in it, per side.
    pub most_outstanding: u64,
    /// Services with a request or an answer in it, or with an outstanding request, in the order of
    /// appearance; their counts and response times in it.
    pub services: Vec<ServiceReport>,
}

/// Association on a transport connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AssociationReport {
    /// State.
    pub phase: Phase,
    /// True if its acceptance was not seen.
    pub is_inferred: bool,
    /// Time from its request to its acceptance.
    pub set_up_ns: Option<u64>,
    /// Cause of its refusal or abort.
    pub cause: Option<Cause>,
    /// Requests outstanding.
    pub outstanding: u64,
    /// The most that were outstanding at the same time, per side.
    pub most_outstanding: u64,
    /// Answers to no request.
    pub unrequested: u64,
    /// Answers to a request that had its answer.
    pub repeated: u64,
    /// PDUs in a context that was not proposed.
    pub in_no_context: u64,
    /// Losses to the limits.
    pub dropped: Dropped,
    /// Services, in the order of appearance.
    pub services: Vec<ServiceReport>,
    /// Services in the latest interval that had any.
    pub latest: LatestInterval,
    /// Control blocks, in the order of appearance.
    pub control_blocks: Vec<ControlBlock>,
}
