//! Cookies that prove that a caller receives at its address, and rate limits for answers to unknown
//! callers.
//!
//! Any station can write any source address into a Hello. So the first Hello gets a Challenge,
//! which is shorter than the Hello, and only the station at that address can repeat its cookie (as
//! in DTLS, RFC 6347, 4.2.1). The responder keeps no state for it: a cookie is recomputed when it
//! returns.

use super::service::Name;
use core::hash::Hasher as _;
use core::time::Duration;
use std::hash::DefaultHasher;
use wire::addr::Mac;
use wire::time::{Instant, nanos};

/// Validity period of a cookie. Cookies of the period before are still accepted.
const EPOCH: Duration = Duration::from_secs(10);
/// Minimum interval between answers to unknown callers in one group of addresses.
const APART: Duration = Duration::from_millis(100);
/// Number of address groups. A flood from one address affects only its own group.
const GROUPS: usize = 64;

/// State for unknown callers: a key, and the time of the next permitted answer per address group.
#[derive(Clone, Debug)]
pub(super) struct Strangers {
    secret: u128,
    next: [Instant; GROUPS],
}

impl Strangers {
    pub(super) const fn new(secret: u128) -> Self {
        Self { secret, next: [Instant::ZERO; GROUPS] }
    }

    /// Cookie of a caller at this time; never 0, the value in a first Hello.
    pub(super) fn cookie(&self, now: Instant, caller: Name) -> u64 {
        self.of_epoch(epoch(now), caller)
    }

    /// Returns true if the caller was recently given this cookie.
    pub(super) fn proves(&self, now: Instant, caller: Name, cookie: u64) -> bool {
        let epoch = epoch(now);
        let before = epoch.checked_sub(1).map(|before| self.of_epoch(before, caller));
        cookie == self.of_epoch(epoch, caller) || Some(cookie) == before
    }

    /// Returns true if an unknown caller at this address may be answered now, and counts the
    /// answer.
    pub(super) fn answers(&mut self, now: Instant, peer: Mac) -> bool {
        let group = self.hashed(&[&peer.0]) % GROUPS as u64;
        let Some(next) = self.next.get_mut(group as usize).filter(|next| **next <= now) else {
            return false;
        };
        *next = now + APART;
        true
    }

    fn of_epoch(&self, epoch: u64, Name { peer, nonce }: Name) -> u64 {
        self.hashed(&[&epoch.to_be_bytes(), &peer.0, &nonce.to_be_bytes()]).max(1)
    }

    /// Keyed hash (SipHash) of parts with constant lengths.
    fn hashed(&self, parts: &[&[u8]]) -> u64 {
        let mut hasher = DefaultHasher::new();
        hasher.write(&self.secret.to_be_bytes());
        parts.iter().for_each(|part| hasher.write(part));
        hasher.finish()
    }
}

fn epoch(now: Instant) -> u64 {
    now.as_nanos() / nanos(EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALLER: Name = Name { peer: Mac::local(1), nonce: 7 };

    const fn at(seconds: u64) -> Instant {
        Instant::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn a_cookie_proves_its_own_caller_for_ten_seconds_at_least() {
        let strangers = Strangers::new(1);
        let cookie = strangers.cookie(at(9), CALLER);
        assert!(
            strangers.proves(at(9), CALLER, cookie) && strangers.proves(at(19), CALLER, cookie)
        );
        assert!(!strangers.proves(at(20), CALLER, cookie), "two epochs old");
        assert!(!strangers.proves(at(9), Name { peer: Mac::local(2), ..CALLER }, cookie));
        assert!(!strangers.proves(at(9), Name { nonce: 8, ..CALLER }, cookie));
        assert!(!Strangers::new(2).proves(at(9), CALLER, cookie), "another key");
        assert!(!strangers.proves(at(9), CALLER, 0), "a first Hello");
    }

    #[test]
    fn a_million_strangers_are_answered_six_hundred_times_a_second() {
        let mut strangers = Strangers::new(1);
        let second = Duration::from_secs(1);
        let answered = (0..1_000_000_u32).filter(|number| {
            let now = at(1) + second / 1_000_000 * *number;
            strangers.answers(now, Mac::local(*number))
        });
        // 64 groups, ten answers a second each.
        assert_eq!(answered.count(), 640);
    }
}
