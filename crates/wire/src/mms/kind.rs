//! Kinds of PDUs, and services by number.

use crate::ber::Tag;
use core::fmt;

/// Kind of MMS PDU (ISO 9506-2 7), by its number in the CHOICE.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// Confirmed request.
    ConfirmedRequest,
    /// Confirmed response.
    ConfirmedResponse,
    /// Confirmed error.
    ConfirmedError,
    /// Unconfirmed.
    Unconfirmed,
    /// Reject.
    Reject,
    /// Cancel request.
    CancelRequest,
    /// Cancel response.
    CancelResponse,
    /// Cancel error.
    CancelError,
    /// Initiate request.
    InitiateRequest,
    /// Initiate response.
    InitiateResponse,
    /// Initiate error.
    InitiateError,
    /// Conclude request.
    ConcludeRequest,
    /// Conclude response.
    ConcludeResponse,
    /// Conclude error.
    ConcludeError,
}

impl Kind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 14] = [
        Self::ConfirmedRequest,
        Self::ConfirmedResponse,
        Self::ConfirmedError,
        Self::Unconfirmed,
        Self::Reject,
        Self::CancelRequest,
        Self::CancelResponse,
        Self::CancelError,
        Self::InitiateRequest,
        Self::InitiateResponse,
        Self::InitiateError,
        Self::ConcludeRequest,
        Self::ConcludeResponse,
        Self::ConcludeError,
    ];

    /// Returns the kind for the tag of a PDU; `None` for a number that does not exist, and for a
    /// primitive encoding of a constructed PDU or the reverse.
    #[must_use]
    pub fn of_tag(tag: Tag) -> Option<Self> {
        let kind = *Self::ALL.get(tag.number() as usize)?;
        (kind.tag() == tag).then_some(kind)
    }

    /// Number in the CHOICE.
    #[must_use]
    pub const fn number(self) -> u32 {
        self as u32
    }

    /// Tag of a PDU.
    #[must_use]
    pub const fn tag(self) -> Tag {
        match self {
            Self::CancelRequest
            | Self::CancelResponse
            | Self::ConcludeRequest
            | Self::ConcludeResponse => Tag::primitive(self.number()),
            _ => Tag::constructed(self.number()),
        }
    }

    /// Name in the standard, in small letters.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ConfirmedRequest => "request",
            Self::ConfirmedResponse => "response",
            Self::ConfirmedError => "error",
            Self::Unconfirmed => "unconfirmed",
            Self::Reject => "reject",
            Self::CancelRequest => "cancel-request",
            Self::CancelResponse => "cancel-response",
            Self::CancelError => "cancel-error",
            Self::InitiateRequest => "initiate-request",
            Self::InitiateResponse => "initiate-response",
            Self::InitiateError => "initiate-error",
            Self::ConcludeRequest => "conclude-request",
            Self::ConcludeResponse => "conclude-response",
            Self::ConcludeError => "conclude-error",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Confirmed service, by its number in the CHOICE (ISO 9506-2 7).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Service(pub u32);

impl Service {
    /// Read.
    pub const READ: Self = Self(4);
    /// Write.
    pub const WRITE: Self = Self(5);
    /// Number of services that have a name.
    pub const NAMED: u32 = NAMES.len() as u32;

    /// Name in the standard; "unknown" for numbers beyond its first edition.
    #[must_use]
    pub fn name(self) -> &'static str {
        NAMES.get(self.0 as usize).copied().unwrap_or("unknown")
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.get(self.0 as usize) {
            Some(name) => f.write_str(name),
            None => write!(f, "service-{}", self.0),
        }
    }
}

/// Unconfirmed service, by its number in the CHOICE.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct UnconfirmedService(pub u32);

impl fmt::Display for UnconfirmedService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 => f.write_str("informationReport"),
            1 => f.write_str("unsolicitedStatus"),
            2 => f.write_str("eventNotification"),
            other => write!(f, "service-{other}"),
        }
    }
}

/// Names of the confirmed services, from 0.
const NAMES: [&str; 78] = [
    "status",
    "getNameList",
    "identify",
    "rename",
    "read",
    "write",
    "getVariableAccessAttributes",
    "defineNamedVariable",
    "defineScatteredAccess",
    "getScatteredAccessAttributes",
    "deleteVariableAccess",
    "defineNamedVariableList",
    "getNamedVariableListAttributes",
    "deleteNamedVariableList",
    "defineNamedType",
    "getNamedTypeAttributes",
    "deleteNamedType",
    "input",
    "output",
    "takeControl",
    "relinquishControl",
    "defineSemaphore",
    "deleteSemaphore",
    "reportSemaphoreStatus",
    "reportPoolSemaphoreStatus",
    "reportSemaphoreEntryStatus",
    "initiateDownloadSequence",
    "downloadSegment",
    "terminateDownloadSequence",
    "initiateUploadSequence",
    "uploadSegment",
    "terminateUploadSequence",
    "requestDomainDownload",
    "requestDomainUpload",
    "loadDomainContent",
    "storeDomainContent",
    "deleteDomain",
    "getDomainAttributes",
    "createProgramInvocation",
    "deleteProgramInvocation",
    "start",
    "stop",
    "resume",
    "reset",
    "kill",
    "getProgramInvocationAttributes",
    "obtainFile",
    "defineEventCondition",
    "deleteEventCondition",
    "getEventConditionAttributes",
    "reportEventConditionStatus",
    "alterEventConditionMonitoring",
    "triggerEvent",
    "defineEventAction",
    "deleteEventAction",
    "getEventActionAttributes",
    "reportEventActionStatus",
    "defineEventEnrollment",
    "deleteEventEnrollment",
    "alterEventEnrollment",
    "reportEventEnrollmentStatus",
    "getEventEnrollmentAttributes",
    "acknowledgeEventNotification",
    "getAlarmSummary",
    "getAlarmEnrollmentSummary",
    "readJournal",
    "writeJournal",
    "initializeJournal",
    "reportJournalStatus",
    "createJournal",
    "deleteJournal",
    "getCapabilityList",
    "fileOpen",
    "fileRead",
    "fileClose",
    "fileRename",
    "fileDelete",
    "fileDirectory",
];
