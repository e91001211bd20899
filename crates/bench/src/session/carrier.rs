//! What a session runs over: a LAN, or TCP connections. The session itself is the same on both.

use super::SessionError;
use super::iso_tcp::IsoWay;
use super::party::Party;
use super::way::Way;
use crate::counters::add_network;
use core::sync::atomic::AtomicBool;
use live::runner::{Control, Runner, Stopped};
use live::{clock, entropy};
use stack::load::{Flow, Record};
use stack::machine::Deadline;
use stack::profile::{Host, NetworkHost, Unitdata};
use stack::{station::Station as _, tp4};
use std::collections::BTreeMap;
use wire::addr::Mac;
use wire::rendezvous::Limits;
use wire::time::Instant;

/// The reference that a host begins with: those of one that ran before may still be frozen elsewhere.
pub(super) const fn reference_at(now: Instant) -> u16 {
    (now.as_nanos() / 1_000) as u16
}

/// A host and its users, whatever is below them.
pub(super) trait Users {
    fn record(&mut self) -> Option<Record>;
    fn unitdata(&mut self) -> Option<Unitdata>;
    fn send_unitdata(&mut self, now: Instant, unitdata: Unitdata);
    fn add(&mut self, flow: Flow);
    fn wind_up(&mut self, now: Instant);
    fn stop(&mut self, now: Instant);
    fn is_done(&self) -> bool;
    fn expire(&mut self, now: Instant);
    fn deadline(&self) -> Option<Deadline>;
    /// Takes the load of the session of this nonce, or of none.
    fn take_part(&mut self, now: Instant, session: Option<u64>);
    /// Gives up every connection of a session that is over.
    fn end_session(&mut self, now: Instant);
    /// What its transport has counted; what a class does not have is zero.
    fn counters(&self) -> tp4::Counters;
    /// Adds what its network layer has counted, if it has one that counts.
    fn add_network(&self, counts: &mut BTreeMap<String, u64>);
}

impl Users for Host {
    fn record(&mut self) -> Option<Record> {
        Self::record(self)
    }

    fn unitdata(&mut self) -> Option<Unitdata> {
        Self::unitdata(self)
    }

    fn send_unitdata(&mut self, now: Instant, unitdata: Unitdata) {
        Self::send_unitdata(self, now, unitdata);
    }

    fn add(&mut self, flow: Flow) {
        Self::add(self, flow);
    }

    fn wind_up(&mut self, now: Instant) {
        Self::wind_up(self, now);
    }

    fn stop(&mut self, now: Instant) {
        Self::stop(self, now);
    }

    fn is_done(&self) -> bool {
        Self::is_done(self)
    }

    fn expire(&mut self, now: Instant) {
        stack::station::Station::expire(self, now);
    }

    fn deadline(&self) -> Option<Deadline> {
        stack::station::Station::deadline(self)
    }

    // Frames of other stations do not reach it: see `Party`.
    fn take_part(&mut self, _now: Instant, _session: Option<u64>) {}

    fn end_session(&mut self, now: Instant) {
        self.restart(reference_at(now));
    }

    fn counters(&self) -> tp4::Counters {
        self.transport().counters().clone()
    }

    fn add_network(&self, counts: &mut BTreeMap<String, u64>) {
        add_network(self, counts);
    }
}

impl Users for NetworkHost {
    fn record(&mut self) -> Option<Record> {
        Self::record(self)
    }

    fn unitdata(&mut self) -> Option<Unitdata> {
        Self::unitdata(self)
    }

    fn send_unitdata(&mut self, now: Instant, unitdata: Unitdata) {
        Self::send_unitdata(self, now, unitdata);
    }

    fn add(&mut self, flow: Flow) {
        Self::add(self, flow);
    }

    fn wind_up(&mut self, now: Instant) {
        Self::wind_up(self, now);
    }

    fn stop(&mut self, now: Instant) {
        Self::stop(self, now);
    }

    fn is_done(&self) -> bool {
        Self::is_done(self)
    }

    fn expire(&mut self, now: Instant) {
        stack::network::NetworkUser::expire(self, now);
    }

    fn deadline(&self) -> Option<Deadline> {
        stack::network::NetworkUser::deadline(self)
    }

    fn take_part(&mut self, now: Instant, session: Option<u64>) {
        Self::take_part(self, now, session);
    }

    // Its connections have been released when it took part in the session no more.
    fn end_session(&mut self, _now: Instant) {}

    fn add_network(&self, _: &mut BTreeMap<String, u64>) {}

    fn counters(&self) -> tp4::Counters {
        let own = Self::counters(self);
        tp4::Counters {
            sent: own.sent,
            received: own.received,
            malformed: own.malformed,
            closed_window: own.closed_window,
            refusals: own.refused,
            ..tp4::Counters::default()
        }
    }
}

/// What a party is told and asked at each wake-up.
pub(super) type OnWake<'a, U> = &'a mut dyn FnMut(&mut Party<U>, Instant) -> Control;

/// What carries the messages of a party.
pub(super) trait Carrier {
    /// The host that goes with it.
    type Users: Users;

    /// Drives the party until `until`, until `stop` is set, or until `on_wake` has enough.
    fn run(
        &mut self,
        party: &mut Party<Self::Users>,
        until: Instant,
        stop: &AtomicBool,
        on_wake: OnWake<'_, Self::Users>,
    ) -> Result<Stopped, SessionError>;
    /// The time.
    fn now(&self) -> Instant;
    /// A number that no peer can predict: for nonces, and as key of cookies.
    fn unpredictable(&mut self) -> Result<u128, SessionError>;
    /// The most this side offers to send or take.
    fn offered(&self) -> Limits;
    /// Enforces what both agreed to.
    fn agree(&mut self, limits: Limits);
    /// Goes back to what needs no agreement.
    fn disagree(&mut self);
    /// Throws away what waits for its turn.
    fn discard(&mut self);
    /// Whether both ends are on this host, and so share its clock.
    fn is_within_host(&self) -> bool;
    /// What to call the other end.
    fn name_of(&self, peer: Mac) -> String;
    /// Writes out what is to be kept of it.
    fn finish(self) -> Result<(), SessionError>;
}

impl Carrier for Way {
    type Users = Host;

    fn run(
        &mut self,
        party: &mut Party<Host>,
        until: Instant,
        stop: &AtomicBool,
        on_wake: OnWake<'_, Host>,
    ) -> Result<Stopped, SessionError> {
        debug_assert_eq!(party.addr(), self.addr(), "the party is the station of this port");
        Ok(Runner::new().run(party, &mut self.port, until, stop, on_wake)?)
    }

    fn now(&self) -> Instant {
        clock::now()
    }

    fn unpredictable(&mut self) -> Result<u128, SessionError> {
        Ok(entropy::unpredictable()?)
    }

    fn offered(&self) -> Limits {
        Self::offered(self)
    }

    fn agree(&mut self, limits: Limits) {
        Self::agree(self, limits);
    }

    fn disagree(&mut self) {
        Self::disagree(self);
    }

    fn discard(&mut self) {
        self.port.discard();
    }

    fn is_within_host(&self) -> bool {
        Self::is_within_host(self)
    }

    fn name_of(&self, peer: Mac) -> String {
        peer.to_string()
    }

    fn finish(self) -> Result<(), SessionError> {
        self.close()
    }
}

impl Carrier for IsoWay {
    type Users = NetworkHost;

    fn run(
        &mut self,
        party: &mut Party<NetworkHost>,
        until: Instant,
        stop: &AtomicBool,
        on_wake: OnWake<'_, NetworkHost>,
    ) -> Result<Stopped, SessionError> {
        Ok(self.wire.run(party, until, stop, on_wake)?)
    }

    fn now(&self) -> Instant {
        clock::now()
    }

    fn unpredictable(&mut self) -> Result<u128, SessionError> {
        Ok(entropy::unpredictable()?)
    }

    fn offered(&self) -> Limits {
        Self::offered(self)
    }

    fn agree(&mut self, limits: Limits) {
        Self::agree(self, limits);
    }

    fn disagree(&mut self) {
        self.wire.limit(None);
    }

    // What waits is in the connections: they are released, and it is gone.
    fn discard(&mut self) {}

    fn is_within_host(&self) -> bool {
        self.wire.is_within_host()
    }

    fn name_of(&self, peer: Mac) -> String {
        self.peer_name(peer)
    }

    fn finish(self) -> Result<(), SessionError> {
        Ok(())
    }
}
