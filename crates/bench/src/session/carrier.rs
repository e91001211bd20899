//! Carrier of a session: a LAN, or TCP connections. The session itself is the same on both.

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

/// First reference of a host; those of an earlier host may still be frozen at the peer.
pub(super) const fn reference_at(now: Instant) -> u16 {
    (now.as_nanos() / 1_000) as u16
}

/// Host and its users, independent of the layers below.
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
    /// Accepts load of the session with this nonce, or of none.
    fn take_part(&mut self, now: Instant, session: Option<u64>);
    /// Drops every connection of a finished session.
    fn end_session(&mut self, now: Instant);
    /// Counters of its transport; zero where a class has none.
    fn counters(&self) -> tp4::Counters;
    /// Adds the counters of its network layer, if it has any.
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

    // Its connections were released when it left the session.
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

/// Callback of a party at each wake-up.
pub(super) type OnWake<'a, U> = &'a mut dyn FnMut(&mut Party<U>, Instant) -> Control;

/// Carrier of a party's messages.
pub(super) trait Carrier {
    /// Type of host for this carrier.
    type Users: Users;

    /// Drives the party until `until`, until `stop` is set, or until `on_wake` returns
    /// [`Control::Stop`].
    fn run(
        &mut self,
        party: &mut Party<Self::Users>,
        until: Instant,
        stop: &AtomicBool,
        on_wake: OnWake<'_, Self::Users>,
    ) -> Result<Stopped, SessionError>;
    /// Current time.
    fn now(&self) -> Instant;
    /// Returns a number that no peer can predict, for nonces and as key of cookies.
    fn unpredictable(&mut self) -> Result<u128, SessionError>;
    /// Maximum load that this side offers to send or receive.
    fn offered(&self) -> Limits;
    /// Enforces the agreed limits.
    fn agree(&mut self, limits: Limits);
    /// Returns to the limits that need no agreement.
    fn disagree(&mut self);
    /// Discards waiting load.
    fn discard(&mut self);
    /// Returns whether both ends are on this host, and so share its clock.
    fn is_within_host(&self) -> bool;
    /// Display name of the other end.
    fn name_of(&self, peer: Mac) -> String;
    /// Flushes the capture, if there is one.
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

    // Waiting load is in the connections, and is lost when they are released.
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
