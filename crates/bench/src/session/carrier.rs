//! Carrier of a session: a LAN (`way`), or TCP connections (`iso_tcp`). The session is the same on
//! both.

use super::SessionError;
use super::party::Party;
use core::sync::atomic::AtomicBool;
use live::port::default_limits;
use live::runner::{Control, Stopped};
use live::{clock, entropy};
use wire::addr::Mac;
use wire::control::Limits;
use wire::time::Instant;
use wire::units::BitRate;

/// Offer if load cannot affect other hosts.
pub(super) const UNBOUNDED: Limits =
    Limits { frames_per_second: u32::MAX, bits_per_second: u64::MAX >> 1 };

/// Offer of a side: the setting, or the default for a link of this rate.
pub(super) fn offer(setting: Option<u32>, link: Option<BitRate>, is_unbounded: bool) -> Limits {
    match setting {
        // A setting of frames per second applies to frames of full length.
        Some(frames_per_second) => {
            let bits_per_second = u64::from(frames_per_second) * 12_208;
            Limits { frames_per_second, bits_per_second }
        }
        None if is_unbounded => UNBOUNDED,
        None => default_limits(link),
    }
}

/// Callback of a party at each wake-up.
pub(super) type OnWake<'a> = &'a mut dyn FnMut(&mut Party, Instant) -> Control;

/// Carrier of a party's messages.
pub(super) trait Carrier {
    /// Drives the party until `until`, until `stop` is set, or until `on_wake` returns
    /// [`Control::Stop`].
    fn run(
        &mut self,
        party: &mut Party,
        until: Instant,
        stop: &AtomicBool,
        on_wake: OnWake<'_>,
    ) -> Result<Stopped, SessionError>;
    /// Current time.
    fn now(&self) -> Instant {
        clock::now()
    }
    /// Returns a number that no peer can predict, for nonces and as key of cookies.
    fn unpredictable(&mut self) -> Result<u128, SessionError> {
        Ok(entropy::unpredictable()?)
    }
    /// Maximum load that this side offers to send or receive.
    fn offered(&self) -> Limits;
    /// Enforces the agreed limits.
    fn agree(&mut self, limits: Limits);
    /// Returns to the limits that need no agreement.
    fn disagree(&mut self);
    /// Discards waiting load. That of connections is lost when they are released.
    fn discard(&mut self) {}
    /// Returns true if it carries streams of cyclic data.
    fn takes_streams(&self) -> bool {
        false
    }
    /// Takes the streams of a peer from now on; with `None` of no peer.
    fn follow(&mut self, _peer: Option<Mac>) -> Result<(), SessionError> {
        Ok(())
    }
    /// Returns whether both ends are on this host, and so share its clock.
    fn is_within_host(&self) -> bool;
    /// Display name of the other end.
    fn name_of(&self, peer: Mac) -> String {
        peer.to_string()
    }
    /// Flushes the capture, if there is one.
    fn finish(self: Box<Self>) -> Result<(), SessionError> {
        Ok(())
    }
}
