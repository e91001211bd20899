//! Client that carries out an inquiry: one association at a time, its requests at a limited pace.

mod file;

use super::super::SessionError;
use super::super::foreign::is_near;
use super::ends::{choose, count, explain, explain_end, explain_loss, names};
use super::pace::Pace;
use super::plan::{self, Bursts, Calls, Inquiry, Task};
use crate::mms::Item;
use crate::mms::found::Sample;
use crate::mms::services;
use crate::mms::{Found, Rung};
use core::sync::atomic::AtomicBool;
use core::time::Duration;
use live::clock;
use live::iso_tcp::{IsoTcp, IsoTcpParams};
use live::runner::{Control, Stopped};
use stack::machine::{Deadline, Machine, Output};
use stack::mms::Client;
use stack::mms::client::{Call, End, Indication, Loss, Note, Request};
use stack::network::{Network, NetworkConnectionId, NetworkStation};
use stack::transport::{Endpoint, Transport};
use stack::upper::{self, Addressed, Entity, EntityParams, Lower};
use stack::{session, tp0};
use std::collections::{BTreeMap, VecDeque};
use wire::addr::Mac;
use wire::mms::Data;
use wire::time::Instant;

/// Largest TPDU proposed: the maximum of the standard for class 0, which some peers require.
const TPDU_OCTETS: usize = 2_048;
/// Time for the conclude and release after an interruption.
const CLOSING: Duration = Duration::from_secs(3);

/// Carries out an inquiry; once `stop` is set it concludes early, with the results so far.
///
/// # Errors
/// [`SessionError::TooFar`], or the system's error.
pub fn inquire(inquiry: &Inquiry, stop: &AtomicBool) -> Result<Found, SessionError> {
    if !is_near(inquiry.remote.ip()) {
        return Err(SessionError::TooFar(inquiry.remote));
    }
    let mut wire = IsoTcp::open(IsoTcpParams { listen: None, remote: Some(inquiry.remote) })?;
    let mut asker = Asker::new(inquiry.clone());
    let on_wake = |asker: &mut Asker, now| {
        asker.go_on(now);
        if asker.is_done() { Control::Stop } else { Control::Continue }
    };
    // The inquiry ends by itself, because each of its steps has a time-out.
    let stopped = wire.run(&mut asker, Instant::MAX, stop, on_wake)?;
    if stopped == Stopped::Flagged {
        let now = clock::now();
        asker.interrupt(now);
        wire.run(&mut asker, now + CLOSING, &AtomicBool::new(false), on_wake)?;
    }
    let mut found = asker.found;
    found.own = found.sample.take().and_then(|sample| sample.cost(inquiry));
    Ok(found)
}

/// Times of the opening of an association.
#[derive(Clone, Copy, Default)]
struct Opening {
    called: Instant,
    connected: Instant,
    confirmed: Instant,
}

/// Stage of the use of a report control block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reporting {
    Enabling,
    Interrogating,
    Receiving,
    Disabling,
}

/// User of one association at a time.
struct Asker {
    inquiry: Inquiry,
    found: Found,
    entity: Entity,
    client: Client,
    endpoint: Option<Endpoint>,
    tasks: VecDeque<Task>,
    current: Option<Task>,
    pace: Pace,
    next_at: Instant,
    opening: Opening,
    /// Times at which the calls in flight were made, by token.
    sent: BTreeMap<u64, Instant>,
    token: u64,
    burst: Option<Instant>,
    reporting: Reporting,
    reporting_until: Instant,
    last_report: Option<Instant>,
    last_number: Option<u64>,
    outputs: VecDeque<(NetworkConnectionId, Network)>,
}

impl Asker {
    fn new(inquiry: Inquiry) -> Self {
        let mut found = Found {
            rungs: Vec::new(),
            pipelining: Vec::new(),
            reports: None,
            asked: 0,
            opened: 0,
            released: 0,
            aborted: 0,
            agreement: None,
            identity: None,
            items: Vec::new(),
            unread: None,
            odd: 0,
            file: None,
            sample: None,
            own: None,
            failure: None,
        };
        let tasks = plan::begin(&inquiry, &mut found);
        let client = plan::client(&inquiry);
        let params = tp0::Params {
            patience: inquiry.patience,
            tpdu_octets: TPDU_OCTETS,
            ..tp0::Params::class0()
        };
        let transport = Transport::Network(tp0::Entity::new(params));
        let mut joint = upper::Params::mms();
        joint.session = session::Params { patience: CLOSING, ..joint.session };
        Self {
            client: Client::new(client),
            pace: Pace::new(inquiry.per_second),
            inquiry,
            found,
            entity: Entity::new(EntityParams { joint, accepts: false }, transport),
            endpoint: None,
            tasks,
            current: None,
            next_at: Instant::ZERO,
            opening: Opening::default(),
            sent: BTreeMap::new(),
            token: 0,
            burst: None,
            reporting: Reporting::Enabling,
            reporting_until: Instant::MAX,
            last_report: None,
            last_number: None,
            outputs: VecDeque::new(),
        }
    }

    fn is_done(&self) -> bool {
        self.current.is_none() && self.tasks.is_empty() && self.entity.connections() == 0
    }

    /// Concludes instead of the tasks that are left.
    fn interrupt(&mut self, now: Instant) {
        self.tasks.clear();
        let is_reporting = matches!(self.current, Some(Task::Report(_)));
        if let (true, Some(Task::Report(block))) = (is_reporting, self.current.clone()) {
            self.write(now, &block.part("RptEna"), Data::Boolean(false));
        }
        self.current = Some(Task::Release);
        self.client.request(now, Request::Conclude);
        self.drain(now);
        if self.endpoint.is_none() {
            self.current = None;
        }
    }

    // ---- tasks ----------------------------------------------------------------------------------

    /// Continues the current task, or begins the next one.
    fn go_on(&mut self, now: Instant) {
        for _ in 0..8 {
            if self.current.is_none() {
                // A transport connection is used by one association.
                let is_opening = matches!(self.tasks.front(), Some(Task::Associate));
                if is_opening && self.entity.connections() > 0 {
                    return;
                }
                let Some(task) = self.tasks.pop_front() else { return };
                self.begin(now, task);
            }
            self.proceed(now);
            self.drain(now);
            if self.current.is_some() {
                return;
            }
        }
    }

    fn begin(&mut self, now: Instant, task: Task) {
        self.burst = None;
        self.current = Some(task.clone());
        match task {
            Task::Release if self.found.aborted > 0 => {
                self.client.request(now, Request::Abort);
                self.found.aborted += 1;
                // The abort has to reach the entity before its association is given up.
                self.drain(now);
                (self.endpoint, self.current) = (None, None);
            }
            Task::Release => self.client.request(now, Request::Conclude),
            Task::Domains => {
                self.call(now, services::names(services::DOMAINS, None, self.inquiry.patience));
            }
            Task::Variables(domain) => {
                let (class, patience) = (services::VARIABLES, self.inquiry.patience);
                self.call(now, services::names(class, Some(&domain), patience));
            }
            Task::WriteBack(item) => self.call(now, services::read(&[item], self.inquiry.patience)),
            Task::Report(block) => {
                self.reporting = Reporting::Enabling;
                (self.last_report, self.last_number) = (None, None);
                self.write(now, &block.part("RptEna"), Data::Boolean(true));
            }
            Task::OpenFile(name) => {
                let reading = self.read_file(&name);
                self.current = Some(Task::File(reading));
            }
            Task::Associate | Task::Calls(_) | Task::Bursts(_) | Task::File(_) => {}
        }
    }

    /// Makes the calls that are due.
    fn proceed(&mut self, now: Instant) {
        match self.current.take() {
            Some(Task::Associate) if self.endpoint.is_none() => {
                self.current = Some(Task::Associate);
                if self.is_due(now, 1) {
                    self.associate(now);
                }
            }
            Some(Task::Calls(calls)) => self.proceed_calls(now, calls),
            Some(Task::Bursts(bursts)) => self.proceed_bursts(now, bursts),
            Some(Task::File(reading)) => self.proceed_file(now, reading),
            Some(Task::Report(block)) => {
                let is_over = self.reporting == Reporting::Receiving && now >= self.reporting_until;
                if is_over {
                    self.reporting = Reporting::Disabling;
                    self.write(now, &block.part("RptEna"), Data::Boolean(false));
                }
                self.current = Some(Task::Report(block));
            }
            other => self.current = other,
        }
    }

    fn proceed_calls(&mut self, now: Instant, mut calls: Calls) {
        if self.sent.is_empty() && calls.left == 0 {
            return;
        }
        if self.sent.is_empty() && self.is_due(now, 1) {
            calls.left -= 1;
            self.call(now, calls.call.clone());
            let period = self.inquiry.period.unwrap_or_else(|| self.pace.period());
            self.next_at = now + period;
        }
        self.current = Some(Task::Calls(calls));
    }

    /// Keeps as many calls in flight as asked for. A burst begins once all of it is permitted.
    fn proceed_bursts(&mut self, now: Instant, mut bursts: Bursts) {
        let outstanding = self.found.pipelining[bursts.place].outstanding;
        let burst = self.pace.burst().min(u32::try_from(bursts.left).unwrap_or(u32::MAX));
        if self.burst.is_none() {
            if bursts.left == 0 {
                return;
            }
            if !self.is_due(now, burst) {
                return self.current = Some(Task::Bursts(bursts));
            }
            self.burst = Some(now);
            self.found.pipelining[bursts.place].burst_left = u64::from(burst);
        }
        while self.sent.len() < usize::from(outstanding.max(1))
            && self.found.pipelining[bursts.place].burst_left > 0
        {
            self.found.pipelining[bursts.place].burst_left -= 1;
            bursts.left -= 1;
            self.call(now, bursts.call.clone());
        }
        self.current = Some(Task::Bursts(bursts));
    }

    /// Returns true if `count` requests are permitted now; otherwise sets the time of the next check.
    fn is_due(&mut self, now: Instant, count: u32) -> bool {
        let at = self.pace.ready(count).max(self.next_at);
        if at > now {
            self.next_at = at;
        }
        at <= now
    }

    // ---- requests -------------------------------------------------------------------------------

    fn associate(&mut self, now: Instant) {
        self.pace.sent(now);
        self.next_at = now + self.pace.period();
        self.found.asked += 1;
        // The driver calls the only peer there is.
        self.endpoint = Some(self.entity.call(Mac::local(1), plan::tsaps(&self.inquiry)));
        self.opening = Opening { called: now, ..Opening::default() };
        self.client.request(now, Request::Associate);
    }

    fn call(&mut self, now: Instant, call: Call) {
        self.pace.sent(now);
        self.token += 1;
        self.sent.insert(self.token, now);
        self.client.request(now, Request::Call(call.numbered(self.token)));
    }

    fn write(&mut self, now: Instant, item: &Item, data: Data<'_>) {
        self.call(now, services::write(item, data, self.inquiry.patience));
    }

    // ---- indications ----------------------------------------------------------------------------

    fn drain(&mut self, now: Instant) {
        loop {
            if let Some(output) = self.client.poll() {
                match output {
                    Output::Send(primitive) => {
                        if let Some(endpoint) = self.endpoint {
                            self.entity.request(now, Addressed { endpoint, primitive });
                        }
                    }
                    Output::Deliver(indication) => self.told(now, indication),
                    Output::Note(Note::Refused) => {}
                    Output::Note(Note::Malformed(_) | Note::Late(_) | Note::OutOfPlace(_)) => {
                        self.found.odd += 1;
                    }
                }
            } else if let Some(Addressed { endpoint, primitive }) = self.entity.poll() {
                if self.endpoint == Some(endpoint) {
                    self.client.receive(now, primitive);
                }
            } else if self.entity.poll_opened().is_some() {
                self.opening.confirmed = now;
            } else if let Some(Lower::Network(line, network)) = self.entity.poll_below() {
                self.outputs.push_back((line, network));
            } else {
                return;
            }
        }
    }

    fn told(&mut self, now: Instant, indication: Indication) {
        match indication {
            Indication::Associated(agreement) => {
                self.found.opened += 1;
                self.found.agreement = Some(agreement);
                let Opening { called, connected, confirmed } = self.opening;
                let times = [connected - called, confirmed - connected, now - confirmed];
                for (rung, time) in self.found.rungs.iter_mut().zip(times) {
                    rung.times.record(time);
                }
                self.current = None;
            }
            Indication::Rejected(refusal) => {
                self.lost(now, format!("association refused: {}", explain(&refusal)));
            }
            Indication::Ended { token, end } => self.ended(now, token, &end),
            Indication::Unconfirmed(pdu) => self.reported(now, &pdu),
            Indication::Released => {
                self.found.released += 1;
                (self.endpoint, self.current) = (None, None);
            }
            // Some servers answer neither conclude nor release; they are aborted from then on.
            Indication::Lost(Loss::TimedOut) if matches!(self.current, Some(Task::Release)) => {
                self.found.aborted += 1;
                (self.endpoint, self.current) = (None, None);
            }
            Indication::Lost(loss) => {
                self.lost(now, format!("association lost: {}", explain_loss(loss)));
            }
        }
    }

    fn lost(&mut self, now: Instant, reason: String) {
        self.found.failure = Some(reason);
        (self.current, self.tasks) = (None, VecDeque::new());
        // The transport connection may not have opened yet.
        if let Some(endpoint) = self.endpoint.take()
            && self.entity.joint(endpoint).is_some_and(|it| it.session() == session::State::Sta01)
        {
            self.entity.disconnect(now, endpoint);
        }
    }

    fn ended(&mut self, now: Instant, token: u64, end: &End) {
        let Some(sent) = self.sent.remove(&token) else { return };
        let taken = now - sent;
        match self.current.take() {
            Some(Task::Calls(mut calls)) => {
                let rung = &mut self.found.rungs[calls.rung];
                // A service that the server does not have is not asked for again.
                if matches!(end, End::TimedOut | End::Rejected(_)) {
                    calls.left = 0;
                }
                count(rung, taken, end);
                if let (End::Response(pdu), "read 1 variable", None) =
                    (end, rung.name.as_str(), &self.found.sample)
                {
                    let (call, answer) = (calls.call.clone(), pdu.clone());
                    self.found.sample = Some(Sample { call, answer });
                }
                if let (End::Response(pdu), Some("identify")) = (end, Some(rung.name.as_str()))
                    && let Ok(response) = services::service(pdu)
                {
                    self.found.identity = services::identity_of(&response);
                }
                self.current = Some(Task::Calls(calls));
            }
            Some(Task::Bursts(bursts)) => self.ended_of_burst(now, taken, end, bursts),
            Some(Task::Domains) => {
                if let Some(domain) = names(end).into_iter().next() {
                    self.tasks.push_front(Task::Variables(domain));
                } else {
                    self.found.unread = Some(explain_end(end));
                    self.begin_reads(&[]);
                }
            }
            Some(Task::Variables(domain)) => {
                let chosen = choose(&domain, names(end));
                if chosen.is_empty() {
                    self.found.unread = Some(explain_end(end));
                }
                self.begin_reads(&chosen);
            }
            Some(Task::WriteBack(item)) => self.write_back(&item, end),
            Some(Task::Report(block)) => self.report_written(now, block, end),
            Some(Task::File(reading)) => self.file_ended(now, taken, end, reading),
            other => self.current = other,
        }
        self.go_on_if_free(now);
    }

    /// Continues at once if no pause is due: the next call of a burst.
    fn go_on_if_free(&mut self, now: Instant) {
        if matches!(self.current, Some(Task::Bursts(_))) && self.burst.is_some() {
            self.proceed(now);
        }
    }

    fn ended_of_burst(&mut self, now: Instant, taken: Duration, end: &End, mut bursts: Bursts) {
        let found = &mut self.found.pipelining[bursts.place];
        let is_answered = matches!(end, End::Response(_));
        if is_answered {
            found.answered += 1;
            found.times.record(taken);
        } else {
            (bursts.left, found.burst_left) = (0, 0);
        }
        if found.burst_left == 0 && self.sent.is_empty() {
            let begin = self.burst.take().unwrap_or(now);
            if is_answered {
                found.busy_ns += wire::time::nanos(now - begin);
            }
        }
        self.current = Some(Task::Bursts(bursts));
    }

    fn begin_reads(&mut self, items: &[Item]) {
        let reads = plan::reads(&self.inquiry, items, &mut self.found);
        self.tasks.extend(reads);
    }

    /// Writes the value that was read, as many times as each step has requests.
    fn write_back(&mut self, item: &Item, end: &End) {
        self.found.rungs.push(Rung::new(format!("write {item}")));
        let rung = self.found.rungs.len() - 1;
        let value = match end {
            End::Response(pdu) => services::service(pdu).ok().as_ref().and_then(services::value_of),
            _ => None,
        };
        let mut reader = value.as_deref().map(wire::ber::Reader::new);
        let data = reader.as_mut().and_then(|it| <Data<'_> as wire::ber::Item<'_>>::take(it).ok());
        let Some(data) = data else {
            self.found.rungs[rung].failed += 1;
            self.found.rungs[rung].reason = Some("the value cannot be read".to_owned());
            return;
        };
        let call = services::write(item, data, self.inquiry.patience);
        self.tasks.push_front(Task::Calls(Calls { rung, call, left: self.inquiry.messages }));
    }

    fn report_written(&mut self, now: Instant, block: Item, end: &End) {
        let result = match end {
            End::Response(pdu) => services::service(pdu).and_then(|it| services::check(&it)),
            other => Err(explain_end(other)),
        };
        let (stage, failed) = (self.reporting, result.err());
        match stage {
            Reporting::Enabling if failed.is_none() => {
                self.reporting = Reporting::Interrogating;
                self.reporting_until = now + self.inquiry.reporting;
                self.opening.called = now;
                self.write(now, &block.part("GI"), Data::Boolean(true));
            }
            // Some servers have no general interrogation; periodic reports arrive all the same.
            Reporting::Interrogating => self.reporting = Reporting::Receiving,
            Reporting::Receiving => {}
            Reporting::Enabling | Reporting::Disabling => {
                let reports = self.found.reports.as_mut();
                if let (Some(reports), Some(reason)) = (reports, failed) {
                    reports.failure = Some(reason);
                }
                return self.current = None;
            }
        }
        self.current = Some(Task::Report(block));
    }

    fn reported(&mut self, now: Instant, pdu: &[u8]) {
        let Some(report) = services::report_of(pdu) else { return };
        let Some(reports) = &mut self.found.reports else { return };
        reports.received += 1;
        match self.last_report.replace(now) {
            Some(last) => reports.intervals.record(now - last),
            None => reports.first.record(now - self.opening.called.min(now)),
        }
        let last = core::mem::replace(&mut self.last_number, report.number);
        if let (Some(last), Some(number)) = (last, report.number) {
            reports.gaps += u64::from(number != last + 1 && number != 0);
        }
        reports.block =
            format!("{} ({})", reports.block.split(' ').next().unwrap_or(""), report.id);
    }
}

impl NetworkStation for Asker {
    fn incoming(&mut self, _now: Instant) -> Option<NetworkConnectionId> {
        None
    }

    fn receive(&mut self, now: Instant, line: NetworkConnectionId, network: Network) {
        if network == Network::Connect {
            self.opening.connected = now;
        }
        self.entity.receive(now, line, network);
        self.drain(now);
    }

    fn expire(&mut self, now: Instant) {
        self.entity.expire(now);
        self.client.expire(now);
        self.drain(now);
    }

    fn deadline(&self) -> Option<Deadline> {
        let next = Deadline { at: self.next_at, timer: "pause" };
        let is_waiting = self.sent.is_empty()
            && match self.current {
                Some(Task::Associate) => self.endpoint.is_none(),
                Some(Task::Calls(_) | Task::Bursts(_) | Task::File(_)) => true,
                _ => false,
            };
        let report = Deadline { at: self.reporting_until, timer: "reports" };
        let is_receiving =
            matches!(self.current, Some(Task::Report(_))) && self.reporting == Reporting::Receiving;
        let machines = Deadline::earlier(self.entity.deadline(), self.client.deadline());
        let own = Deadline::earlier(
            Some(next).filter(|_| is_waiting),
            Some(report).filter(|_| is_receiving),
        );
        Deadline::earlier(machines, own)
    }

    fn poll(&mut self) -> Option<(NetworkConnectionId, Network)> {
        self.outputs.pop_front()
    }

    fn takes_input(&self, _line: NetworkConnectionId) -> bool {
        true
    }

    fn is_idle(&self, line: NetworkConnectionId) -> bool {
        self.entity.transport().is_idle(line.into())
    }

    fn is_control(&self, _line: NetworkConnectionId) -> bool {
        false
    }
}
