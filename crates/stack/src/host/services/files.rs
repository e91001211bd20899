//! Files through the FTAM-like file transfer (not FTAM): a regime of each flow, on an association of
//! CASE of its own.
//!
//! Each message of a flow is a file. Its octets follow from its number and its length
//! ([`Generated`]), so that both ends know them: a file that arrives otherwise than it should is a
//! message that failed. A file is delivered when its responder has confirmed the transfer. The PDUs
//! cross between a user and a front end, one at a time.

use super::super::Host;
use super::super::work::Cargo;
use super::Task;
use crate::acse;
use crate::case;
use crate::file_transfer::{
    Apdu, Failure, Generated, Indication, Initiator, Job, Mode, Request, Responder, Status, Store,
};
use crate::load::{Eot, Event, FileOptions};
use crate::machine::{Deadline, Machine as _, Output};
use crate::transport::Endpoint;
use bytes::Bytes;
use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};
use wire::file_transfer::DATA_HEADER_OCTETS;
use wire::time::Instant;

/// Time-out of each response, and of each F-DATA.
const PATIENCE: Duration = Duration::from_secs(60);
/// Octets for which a connection must have room before a PDU of any kind is sent.
const LEAST_ROOM: usize = 64;

/// Files that a host transferred as the called side.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FilesServed {
    /// Files that were transferred whole; one that was written had the right octets.
    pub files: u64,
    /// Their octets.
    pub octets: u64,
    /// Transfers that failed.
    pub failed: u64,
}

/// File transfers of a host.
#[derive(Clone, Debug, Default)]
pub(in crate::host) struct Filing {
    served: FilesServed,
    ends: BTreeMap<Endpoint, End>,
    /// Connections that may have room for the next F-DATA.
    ready: BTreeSet<Endpoint>,
}

/// One end of a file transfer.
#[derive(Clone, Debug)]
struct End {
    role: Role,
    /// PDUs on their way from the user to CASE.
    crossing: usize,
    /// True once the association is released or aborted.
    is_over: bool,
}

#[derive(Clone, Debug)]
enum Role {
    Initiator(Box<Initiating>),
    Responder(Box<Responder>),
}

/// Initiator of a flow.
#[derive(Clone, Debug)]
struct Initiating {
    machine: Initiator,
    place: usize,
    options: FileOptions,
    /// File under way.
    current: Option<Current>,
}

/// File under way: its sequence number, and the times at which it was due and begun.
#[derive(Clone, Copy, Debug)]
struct Current {
    sequence: u32,
    planned: Instant,
    sent: Instant,
}

impl End {
    fn poll(&mut self) -> Option<Output<Apdu, Indication, crate::file_transfer::Note>> {
        match &mut self.role {
            Role::Initiator(initiating) => initiating.machine.poll(),
            Role::Responder(machine) => machine.poll(),
        }
    }

    fn wants_room(&self) -> bool {
        match &self.role {
            Role::Initiator(initiating) => initiating.machine.wants_room(),
            Role::Responder(machine) => machine.wants_room(),
        }
    }

    fn fill(&mut self, now: Instant) {
        match &mut self.role {
            Role::Initiator(initiating) => initiating.machine.fill(now),
            Role::Responder(machine) => machine.fill(now),
        }
    }

    /// Octets of the next F-DATA, at most.
    fn block_octets(&self) -> usize {
        let block = match &self.role {
            Role::Initiator(initiating) => usize::from(initiating.options.block_octets),
            Role::Responder(machine) => machine.block_octets(),
        };
        (block + DATA_HEADER_OCTETS).max(LEAST_ROOM)
    }
}

/// Reason of a file that failed.
const fn reason_of(mode: Mode, status: Status) -> &'static str {
    match (mode, status) {
        (_, Status::Ok) => "",
        (_, Status::NoSuchFile) => "no such file",
        (Mode::Write, Status::Shrunk) => "the file became shorter while it was written",
        (Mode::Read, Status::Shrunk) => "the file became shorter while it was read",
        (_, Status::Differs) => "the octets received are not those of the file",
        (_, Status::TooLong) => "the receiver has no room for the file",
        (_, Status::OutOfPlace) => "the peer does not permit the service",
    }
}

impl Host {
    pub(super) fn serve_files(
        &mut self,
        now: Instant,
        place: usize,
        task: Task,
        options: FileOptions,
    ) -> bool {
        match (task, self.users.flows[place].endpoint) {
            (Task::Start, _) if self.link.is_none() => {
                return self.refuse(now, place, "flows of files need a LAN");
            }
            (Task::Start, _) => self.open_files(now, place, options),
            (Task::HandOver, Some(endpoint)) => return self.hand_file_over(now, place, endpoint),
            (Task::Close, Some(endpoint)) => {
                self.end_files(now, endpoint, "the flow has ended first");
                self.dissociate(now, place, endpoint);
            }
            (Task::HandOver | Task::Close, None) => return false,
        }
        true
    }

    /// Files that were transferred as the called side since the last [`Host::restart`].
    #[must_use]
    pub fn files_served(&self) -> FilesServed {
        self.files.as_deref().map_or_else(FilesServed::default, |files| files.served)
    }

    fn end_of(&mut self, endpoint: Endpoint) -> Option<&mut End> {
        self.files.as_deref_mut()?.ends.get_mut(&endpoint)
    }

    /// Returns true if a connection carries a file transfer.
    #[inline]
    pub(super) fn is_filing(&self, endpoint: Endpoint) -> bool {
        self.files.as_deref().is_some_and(|files| files.ends.contains_key(&endpoint))
    }

    fn insert_end(&mut self, endpoint: Endpoint, role: Role) {
        let end = End { role, crossing: 0, is_over: false };
        self.files.get_or_insert_default().ends.insert(endpoint, end);
    }

    fn open_files(&mut self, now: Instant, place: usize, options: FileOptions) {
        let endpoint = self.new_endpoint(now, place);
        let store = Store::Generated(Generated { shrinks_to: options.shrinks_to });
        let machine = Initiator::new(store, PATIENCE);
        let initiating = Initiating { machine, place, options, current: None };
        self.insert_end(endpoint, Role::Initiator(Box::new(initiating)));
        self.request_association(now, endpoint);
    }

    /// Begins the called side of a file transfer.
    pub(super) fn respond_to_files(&mut self, endpoint: Endpoint) {
        let store = Store::Generated(Generated::default());
        self.insert_end(endpoint, Role::Responder(Box::new(Responder::new(store))));
    }

    /// Begins the next file of a flow, if none is under way.
    fn hand_file_over(&mut self, now: Instant, place: usize, endpoint: Endpoint) -> bool {
        let Some(End { role: Role::Initiator(initiating), .. }) = self.end_of(endpoint) else {
            return false;
        };
        if initiating.current.is_some() {
            return false;
        }
        let options = initiating.options;
        let Some((sequence, planned)) = self.users.take_call(now, place) else { return false };
        self.users.flows[place].drained = false;
        let flow = self.users.flow(place);
        // Each file of a run has a number of its own.
        let number = u64::from(flow.id.0) << 32 | u64::from(sequence);
        let job = Job {
            name: Generated::name(number, flow.size_octets as u64),
            mode: options.mode,
            block_octets: options.block_octets,
            each_eot: options.eot == Eot::Each,
        };
        if let Some(End { role: Role::Initiator(initiating), .. }) = self.end_of(endpoint) {
            initiating.current = Some(Current { sequence, planned, sent: now });
            initiating.machine.request(now, Request::Transfer(job));
        }
        self.drain_files(now, endpoint);
        true
    }

    /// Terminates the regime of a flow that is about to release its association; returns true if the
    /// release has to wait for it.
    pub(super) fn terminate_files(&mut self, now: Instant, endpoint: Endpoint) -> bool {
        let is_open = self.associations.get(&endpoint).map(|it| it.upper.state());
        let Some(End { role: Role::Initiator(initiating), is_over, .. }) = self.end_of(endpoint)
        else {
            return false;
        };
        if *is_over || is_open != Some(acse::State::Sta5) || initiating.current.is_some() {
            return false;
        }
        initiating.machine.request(now, Request::Terminate);
        self.drain_files(now, endpoint);
        true
    }

    // ---- association ----------------------------------------------------------------------------

    /// Passes a PDU to CASE.
    pub(in crate::host) fn pass_file(
        &mut self,
        now: Instant,
        endpoint: Endpoint,
        data: Bytes,
        eot: bool,
    ) {
        let Some(end) = self.end_of(endpoint) else { return };
        end.crossing = end.crossing.saturating_sub(1);
        self.send_tsdu(now, endpoint, data, eot);
        self.has_room_for_files(endpoint);
    }

    /// Passes a PDU of the peer to its user.
    pub(in crate::host) fn file_received(&mut self, now: Instant, endpoint: Endpoint, data: Bytes) {
        self.release_buffer(now, endpoint);
        let apdu = Apdu { data, eot: false };
        match self.end_of(endpoint) {
            Some(End { role: Role::Initiator(initiating), .. }) => {
                initiating.machine.receive(now, apdu);
            }
            Some(End { role: Role::Responder(machine), .. }) => machine.receive(now, apdu),
            None => return,
        }
        self.drain_files(now, endpoint);
    }

    /// Removes the file transfer of an association that exists no more.
    pub(super) fn forget_files(&mut self, now: Instant, endpoint: Endpoint) {
        self.end_files(now, endpoint, "the association ended first");
        if let Some(files) = &mut self.files {
            files.ends.remove(&endpoint);
            files.ready.remove(&endpoint);
        }
    }

    /// Records that the file under way has failed.
    fn end_files(&mut self, now: Instant, endpoint: Endpoint, reason: &'static str) {
        let Some(End { role: Role::Initiator(initiating), .. }) = self.end_of(endpoint) else {
            return;
        };
        let place = initiating.place;
        let Some(Current { sequence, planned, .. }) = initiating.current.take() else { return };
        let id = self.users.flow(place).id;
        self.users.record(now, id, Event::Failed { sequence, planned, reason });
    }

    pub(super) fn files_deadline(&self) -> Option<Deadline> {
        let ends = self.files.iter().flat_map(|files| files.ends.values());
        let of = |end: &End| match &end.role {
            Role::Initiator(initiating) => initiating.machine.deadline(),
            Role::Responder(machine) => machine.deadline(),
        };
        ends.map(of).fold(None, Deadline::earlier)
    }

    pub(super) fn expire_files(&mut self, now: Instant) {
        if self.files_deadline().is_none_or(|deadline| deadline.at > now) {
            return;
        }
        let Some(files) = &mut self.files else { return };
        let endpoints: Vec<Endpoint> = files.ends.keys().copied().collect();
        for end in files.ends.values_mut() {
            if let Role::Initiator(initiating) = &mut end.role {
                initiating.machine.expire(now);
            }
        }
        endpoints.into_iter().for_each(|endpoint| self.drain_files(now, endpoint));
    }

    // ---- the loop -------------------------------------------------------------------------------

    /// Notes that a connection may have room for the next F-DATA.
    pub(super) fn has_room_for_files(&mut self, endpoint: Endpoint) {
        if let Some(files) = &mut self.files
            && files.ends.get(&endpoint).is_some_and(End::wants_room)
        {
            files.ready.insert(endpoint);
        }
    }

    /// Sends one F-DATA on each connection that has room; returns true if there was one.
    pub(in crate::host) fn pump_files(&mut self, now: Instant) -> bool {
        let Some(files) = &mut self.files else { return false };
        let mut acted = false;
        for endpoint in core::mem::take(&mut files.ready) {
            let Some(end) = self.end_of(endpoint) else { continue };
            let octets = end.block_octets();
            if end.crossing > 0 || !end.wants_room() || !self.has_room(endpoint, octets) {
                continue;
            }
            if let Some(end) = self.end_of(endpoint) {
                end.fill(now);
            }
            self.drain_files(now, endpoint);
            acted = true;
        }
        acted
    }

    fn drain_files(&mut self, now: Instant, endpoint: Endpoint) {
        while let Some(end) = self.end_of(endpoint)
            && let Some(output) = end.poll()
        {
            match output {
                Output::Send(Apdu { data, eot }) => {
                    end.crossing += 1;
                    self.submit(now, Cargo::FileSent { endpoint, data, eot });
                }
                Output::Deliver(indication) => self.indicate_file(now, endpoint, indication),
                Output::Note(_) => {}
            }
        }
        self.has_room_for_files(endpoint);
    }

    fn indicate_file(&mut self, now: Instant, endpoint: Endpoint, indication: Indication) {
        match indication {
            Indication::Transferred { mode, status, octets, .. } => {
                self.file_transferred(now, endpoint, mode, status, octets);
            }
            Indication::Terminated => {
                let Some(end) = self.end_of(endpoint) else { return };
                end.is_over = true;
                if matches!(end.role, Role::Initiator(_)) {
                    self.release_case(now, endpoint);
                }
            }
            Indication::Failed(failure) => self.file_transfer_failed(now, endpoint, failure),
        }
    }

    fn file_transferred(
        &mut self,
        now: Instant,
        endpoint: Endpoint,
        mode: Mode,
        status: Status,
        octets: u64,
    ) {
        let initiating = match self.end_of(endpoint) {
            Some(End { role: Role::Initiator(initiating), .. }) => initiating,
            Some(_) => return self.count_served(status, octets),
            None => return,
        };
        let place = initiating.place;
        let Some(Current { sequence, planned, sent }) = initiating.current.take() else { return };
        let octets = usize::try_from(octets).unwrap_or(usize::MAX);
        let event = match status {
            Status::Ok => Event::Delivered { sequence, planned, sent: Some(sent), octets },
            _ => Event::Failed { sequence, planned, reason: reason_of(mode, status) },
        };
        let id = self.users.flow(place).id;
        self.users.record(now, id, event);
        self.users.drained(place);
    }

    fn count_served(&mut self, status: Status, octets: u64) {
        let served = &mut self.files.get_or_insert_default().served;
        match status {
            Status::Ok => {
                (served.files, served.octets) = (served.files + 1, served.octets + octets)
            }
            _ => served.failed += 1,
        }
    }

    fn file_transfer_failed(&mut self, now: Instant, endpoint: Endpoint, failure: Failure) {
        let Some(end) = self.end_of(endpoint) else { return };
        end.is_over = true;
        self.end_files(now, endpoint, failure.text());
        self.association_lost(now, endpoint, failure.text());
        let abort = acse::Primitive::Abort { source: acse::Source::User };
        self.request_case(now, endpoint, case::Request::Association(abort));
    }
}
