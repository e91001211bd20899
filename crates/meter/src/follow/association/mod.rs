//! Associations (ISO 8650) and the MMS services on them (ISO 9506), one on each transport
//! connection.
//!
//! An association begins with a CN and its AC. Requests are outstanding by invoke identifier, for
//! each side, and answers may have any order. If the CN was not seen, data reveal an association
//! under way, whose context is that of its first MMS PDU. Only the first [`HEAD_OCTETS`] of a TSDU
//! are read: they hold the identifier, and a name of a report.
//!
//! Bias: over a network without connections, the halves of a connection found under way are
//! followed separately, so answers have no request there. Left out: several values in one PDU,
//! values behind the first access result, and cancel.

mod head;
mod report;
mod requests;
mod rows;

pub use report::{
    AssociationReport, Cause, ControlBlock, Dropped, FailureCount, LatestInterval, Layer, Phase,
    ServiceReport, Source,
};

use super::Follower;
use crate::observation::{DelayKind, MmsEvent, MmsOutcome};
use crate::oddity::Class;
use crate::service::Service;
use crate::track::side::{Side, other};
use crate::track::{Results as _, Sink};
use crate::tsdu::{Assembly, Part, Whole};
use crate::user::{self, Confidence, User};
use core::time::Duration;
use head::{Common, CommonPdu, Head};
use requests::{Match, Request, Requests};
use rows::{Blocks, Rows};
use wire::mms::{self, Failure, Kind};
use wire::time::Instant;

/// Octets of a TSDU that are read.
pub(crate) const HEAD_OCTETS: usize = 1_024;

/// Destination of results.
pub(crate) struct Above<'a, 's> {
    pub(crate) sink: &'a mut Sink<'s>,
    /// Receives the side that answered, and the time from the end of the request to the beginning
    /// of the answer in nanoseconds.
    pub(crate) replied: &'a mut dyn FnMut(Side, u64),
}

/// DT of a side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SidePart<'a> {
    pub(crate) side: Side,
    pub(crate) part: Part<'a>,
}

/// Association on a transport connection.
#[derive(Clone, Debug)]
pub(crate) struct Association {
    assemblies: [Assembly; 2],
    state: State,
}

/// Request that passed.
#[derive(Clone, Copy, Debug)]
struct Asked {
    invoke: u32,
    service: Service,
    at: Instant,
}

/// Response or error.
#[derive(Clone, Copy, Debug)]
struct Answer {
    invoke: u32,
    outcome: MmsOutcome,
    failure: Option<Failure>,
}

/// Interval in which an association counted last.
#[derive(Clone, Copy, Debug)]
struct Latest {
    start: Instant,
    most_outstanding: usize,
}

#[derive(Clone, Debug)]
struct State {
    phase: Phase,
    is_inferred: bool,
    /// True if an FN or the response to a conclude request was seen.
    is_ending: bool,
    /// End of the CN.
    asked: Option<Instant>,
    set_up_ns: Option<u64>,
    cause: Option<Cause>,
    /// Contexts proposed, or that of the first PDU; none while they are unknown.
    contexts: Option<Vec<i64>>,
    /// Outstanding requests of each side.
    requests: [Requests; 2],
    most_outstanding: usize,
    latest: Latest,
    rows: Rows,
    blocks: Blocks,
    unrequested: u64,
    repeated: u64,
    in_no_context: u64,
    dropped: Dropped,
}

impl Association {
    /// Association of which nothing was seen.
    pub(crate) fn new() -> Self {
        let state = State {
            phase: Phase::Idle,
            is_inferred: false,
            is_ending: false,
            asked: None,
            set_up_ns: None,
            cause: None,
            contexts: None,
            requests: Default::default(),
            most_outstanding: 0,
            latest: Latest { start: Instant::ZERO, most_outstanding: 0 },
            rows: Rows::default(),
            blocks: Blocks::default(),
            unrequested: 0,
            repeated: 0,
            in_no_context: 0,
            dropped: Dropped::default(),
        };
        Self { assemblies: Default::default(), state }
    }
}

impl Follower<Above<'_, '_>> for Association {
    type Input<'a> = SidePart<'a>;
    type Below = ();
    type Report = AssociationReport;

    #[inline(always)]
    fn observe(&mut self, _: Instant, input: SidePart<'_>, above: &mut Above<'_, '_>) {
        let SidePart { side, mut part } = input;
        // A connection found under way may be found within a TSDU, but this DT is the first of one.
        if part.is_broken && part.piece.ends && is_begun_by(part.piece.octets) {
            part.is_broken = false;
        }
        let Self { assemblies, state } = self;
        let [first, second] = assemblies;
        let assembly = if side == 0 { first } else { second };
        assembly.take_in(&part, HEAD_OCTETS, &mut |whole| state.tsdu(side, &whole, above));
    }

    /// Ends the association with its transport connection.
    fn expire(&mut self, _: Instant, above: &mut Above<'_, '_>) {
        let cause = Cause::new(Layer::Transport, None);
        match self.state.phase {
            Phase::Requested => self.state.refuse(cause, above),
            Phase::Open if self.state.is_ending => self.state.phase = Phase::Released,
            Phase::Open => self.state.abort(cause, above),
            Phase::Idle | Phase::Refused | Phase::Released | Phase::Aborted => {}
        }
        self.state.give_up(above);
    }

    fn report(&self, _: Instant, (): &()) -> impl Iterator<Item = AssociationReport> {
        core::iter::once(self.state.report())
    }
}

/// True for octets that begin a TSDU of MMS beyond doubt.
fn is_begun_by(octets: &[u8]) -> bool {
    match user::of_data(octets) {
        (User::Mms | User::Iccp, confidence) => confidence >= Confidence::Likely,
        _ => false,
    }
}

impl State {
    /// Processes a TSDU.
    fn tsdu(&mut self, side: Side, whole: &Whole<'_>, above: &mut Above<'_, '_>) {
        if let Some(common) = Common::of(whole.octets) {
            return self.common(side, whole, common, above);
        }
        match Head::of(whole.octets) {
            Head::Data(head) => self.data(side, whole, &head, above),
            Head::Other => {}
            head => self.step(head, whole.at, above),
        }
    }

    /// Processes a common request or response.
    fn common(
        &mut self,
        side: Side,
        whole: &Whole<'_>,
        common: Common<'_>,
        above: &mut Above<'_, '_>,
    ) {
        if !self.admit(common.context.into(), above) {
            return;
        }
        let at = whole.at;
        match common.pdu {
            CommonPdu::Request { invoke, service } => {
                let service = Service::of(service.into());
                self.request(side, Asked { invoke, service, at }, above);
            }
            CommonPdu::Response { invoke } => {
                let answer = Answer { invoke, outcome: MmsOutcome::Done, failure: None };
                self.answer(side, whole, answer, above);
            }
            CommonPdu::Report { name } => self.reported(side, Some(name), at, above),
        }
    }

    /// True for a PDU in a context that was proposed; opens an association found under way.
    #[inline]
    fn admit(&mut self, context: i64, above: &mut Above<'_, '_>) -> bool {
        let contexts = self.contexts.as_deref().unwrap_or_default();
        let is_open = !matches!(self.phase, Phase::Idle | Phase::Requested);
        is_open && contexts.contains(&context) || self.admit_apart(context, above)
    }

    #[cold]
    fn admit_apart(&mut self, context: i64, above: &mut Above<'_, '_>) -> bool {
        if matches!(self.phase, Phase::Idle | Phase::Requested) {
            self.phase = Phase::Open;
            self.infer(above);
        }
        let contexts = self.contexts.get_or_insert_with(|| vec![context]);
        let is_proposed = contexts.contains(&context);
        if !is_proposed {
            self.in_no_context += 1;
            above.sink.oddities.count(Class::Association, "context never proposed");
        }
        is_proposed
    }

    /// Processes a PDU that opens or ends the association.
    #[cold]
    fn step(&mut self, head: Head<'_>, at: Instant, above: &mut Above<'_, '_>) {
        match head {
            Head::Connect(contexts) => {
                self.give_up(above);
                (self.phase, self.contexts) = (Phase::Requested, contexts);
                (self.asked, self.cause) = (Some(at), None);
                (self.is_inferred, self.is_ending) = (false, false);
            }
            Head::Accept => {
                self.phase = Phase::Open;
                let Some(asked) = self.asked.take() else { return self.infer(above) };
                let nanos = at.nanos_since(asked);
                self.set_up_ns = Some(nanos);
                above.sink.mms(MmsEvent::Associated(Duration::from_nanos(nanos)));
            }
            Head::Refuse(cause) => self.refuse(cause, above),
            Head::Abort(cause) => {
                self.abort(cause, above);
                self.give_up(above);
            }
            Head::Disconnect => {
                self.phase = Phase::Released;
                self.give_up(above);
            }
            Head::Finish => self.is_ending = true,
            Head::Data(_) | Head::Other => {}
        }
    }

    fn infer(&mut self, above: &mut Above<'_, '_>) {
        self.is_inferred = true;
        above.sink.mms(MmsEvent::Inferred);
    }

    fn refuse(&mut self, cause: Cause, above: &mut Above<'_, '_>) {
        if self.phase != Phase::Refused {
            (self.phase, self.cause) = (Phase::Refused, Some(cause));
            above.sink.mms(MmsEvent::Refused);
        }
    }

    fn abort(&mut self, cause: Cause, above: &mut Above<'_, '_>) {
        if self.phase != Phase::Aborted {
            (self.phase, self.cause) = (Phase::Aborted, Some(cause));
            above.sink.mms(MmsEvent::Aborted);
        }
    }

    /// Gives up all outstanding requests.
    fn give_up(&mut self, above: &mut Above<'_, '_>) {
        if self.requests.iter().all(|requests| requests.len() == 0) {
            return;
        }
        self.turn(above);
        for side in [0, 1] {
            for request in self.requests[side].give_up() {
                self.unanswered(request, above);
            }
        }
    }

    /// Processes an MMS PDU.
    fn data(
        &mut self,
        side: Side,
        whole: &Whole<'_>,
        head: &mms::Head<'_>,
        above: &mut Above<'_, '_>,
    ) {
        if !self.admit(head.context, above) {
            return;
        }
        let at = whole.at;
        match (head.kind, head.invoke) {
            (Kind::ConfirmedRequest, Some(invoke)) => {
                let service = head.service.map_or(Service::OTHER, |service| Service::of(service.0));
                self.request(side, Asked { invoke, service, at }, above);
            }
            (Kind::ConfirmedResponse | Kind::ConfirmedError, Some(invoke)) => {
                let outcome = match head.failure {
                    _ if head.kind == Kind::ConfirmedError => MmsOutcome::Error,
                    Some(_) => MmsOutcome::FailedAccess,
                    None => MmsOutcome::Done,
                };
                self.answer(side, whole, Answer { invoke, outcome, failure: head.failure }, above);
            }
            (Kind::Reject, Some(invoke)) => self.reject(side, invoke, head.failure, above),
            (Kind::Unconfirmed, _) => {
                let name =
                    head.report.map(|report| report.identifier.unwrap_or(report.list.item()));
                self.reported(side, name, at, above);
            }
            (Kind::ConcludeResponse, _) => self.is_ending = true,
            (Kind::Reject, None) => {
                above.sink.oddities.count(Class::Association, "reject of an unknown PDU");
            }
            (Kind::ConfirmedRequest | Kind::ConfirmedResponse | Kind::ConfirmedError, None) => {
                above
                    .sink
                    .oddities
                    .count(Class::Association, "MMS PDU without an invoke identifier");
            }
            (
                Kind::CancelRequest
                | Kind::CancelResponse
                | Kind::CancelError
                | Kind::InitiateRequest
                | Kind::InitiateResponse
                | Kind::InitiateError
                | Kind::ConcludeRequest
                | Kind::ConcludeError,
                _,
            ) => {}
        }
    }

    /// Counts an unconfirmed PDU, by the name of its control block or list, if it has one.
    fn reported(
        &mut self,
        side: Side,
        name: Option<&[u8]>,
        at: Instant,
        above: &mut Above<'_, '_>,
    ) {
        above.sink.mms(MmsEvent::Report);
        let Some(name) = name else { return };
        if !self.blocks.note(name, side, at) {
            self.dropped.reports += 1;
            above.sink.oddities.count(Class::Meter, "no room for a control block");
        }
    }

    fn request(&mut self, side: Side, asked: Asked, above: &mut Above<'_, '_>) {
        let Asked { invoke, service, at } = asked;
        self.turn(above);
        let (row, is_shared) = self.rows.place(service, side);
        if is_shared {
            self.dropped.services += 1;
            above.sink.oddities.count(Class::Meter, "no room for an MMS service");
        }
        self.count(row, MmsEvent::Request(service), None, above);
        let displaced = self.requests[side].ask(Request { invoke, row, at });
        if let Some(displaced) = displaced {
            if displaced.invoke != invoke {
                self.dropped.requests += 1;
                above.sink.oddities.count(Class::Meter, "MMS request forgotten for want of room");
            }
            self.unanswered(displaced, above);
        }
        let outstanding = self.requests[side].len();
        self.most_outstanding = self.most_outstanding.max(outstanding);
        self.latest.most_outstanding = self.latest.most_outstanding.max(outstanding);
    }

    fn unanswered(&mut self, request: Request, above: &mut Above<'_, '_>) {
        if let Some(service) = self.rows.at(request.row).map(|row| row.service) {
            self.count(request.row, MmsEvent::Unanswered(service), None, above);
        }
    }

    /// Counts an event in a row, with the failure that it states, and for the network.
    // Always inline: where the event is known, much of it is eliminated.
    #[inline(always)]
    fn count(
        &mut self,
        row: u8,
        event: MmsEvent,
        failure: Option<Failure>,
        above: &mut Above<'_, '_>,
    ) {
        if let Some(row) = self.rows.at(row) {
            row.count(self.latest.start, &event, failure);
        }
        above.sink.mms(event);
    }

    /// Begins the interval under way, before the first change of its outstanding requests.
    #[inline]
    fn turn(&mut self, above: &Above<'_, '_>) {
        let start = above.sink.interval;
        if self.latest.start != start {
            let most_outstanding = self.requests.iter().map(Requests::len).max().unwrap_or(0);
            self.latest = Latest { start, most_outstanding };
        }
    }

    /// Removes the request that an answer or reject of a side belongs to.
    fn matched(&mut self, side: Side, invoke: u32, above: &mut Above<'_, '_>) -> Option<Request> {
        self.turn(above);
        match self.requests[other(side)].answer(invoke) {
            Match::One(request) => Some(request),
            Match::Repeated => {
                self.repeated += 1;
                above.sink.oddities.count(Class::Association, "MMS request answered twice");
                None
            }
            Match::Nothing => {
                self.unrequested += 1;
                above.sink.oddities.count(Class::Association, "MMS answer without a request");
                None
            }
        }
    }

    /// Processes a response or an error.
    fn answer(&mut self, side: Side, whole: &Whole<'_>, answer: Answer, above: &mut Above<'_, '_>) {
        let Answer { invoke, outcome, failure } = answer;
        let Some(request) = self.matched(side, invoke, above) else { return };
        let Some(row) = self.rows.at(request.row) else { return };
        let service = row.service;
        let took = Duration::from_nanos(whole.at.nanos_since(request.at));
        self.count(request.row, MmsEvent::Answer { service, outcome, took }, failure, above);
        let nanos = whole.began.nanos_since(request.at);
        above.sink.span(DelayKind::Response, nanos);
        (above.replied)(side, nanos);
    }

    fn reject(
        &mut self,
        side: Side,
        invoke: u32,
        failure: Option<Failure>,
        above: &mut Above<'_, '_>,
    ) {
        let Some(request) = self.matched(side, invoke, above) else { return };
        let Some(row) = self.rows.at(request.row) else { return };
        let service = row.service;
        self.count(request.row, MmsEvent::Reject(service), failure, above);
    }

    fn report(&self) -> AssociationReport {
        let (mut services, mut in_latest) = (Vec::new(), Vec::new());
        for (place, row) in self.rows.iter().enumerate() {
            let outstanding = self.requests[row.asker()].of_row(place);
            services.push(row.report(outstanding));
            in_latest.extend(row.report_in(self.latest.start, outstanding));
        }
        AssociationReport {
            phase: self.phase,
            is_inferred: self.is_inferred,
            set_up_ns: self.set_up_ns,
            cause: self.cause,
            outstanding: self.requests.iter().map(|requests| requests.len() as u64).sum(),
            most_outstanding: self.most_outstanding as u64,
            unrequested: self.unrequested,
            repeated: self.repeated,
            in_no_context: self.in_no_context,
            dropped: self.dropped,
            services,
            latest: LatestInterval {
                start: self.latest.start,
                most_outstanding: self.latest.most_outstanding as u64,
                services: in_latest,
            },
            control_blocks: self.blocks.report(),
        }
    }
}
