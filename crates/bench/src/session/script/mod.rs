//! Whole sessions against a peer whose every action is given by a script of octets, in simulated
//! time.
//!
//! The script is a complete hostile peer: control PDUs with right and wrong nonces and cookies,
//! load of any flow and size, raw TPDUs and LPDUs, streams of cyclic data, and the frames of an honest host, some of them
//! damaged. The code under test is the session itself, [`serve`] as responder and [`measure`] as
//! initiator, as on a LAN. Not covered: ports, sockets and the governor, which lie below.
//!
//! Each run checks that the peer never causes an answer to a group, an answer longer than all that
//! a station without a session has sent, a frame longer than 802.3 carries, pages faster than
//! agreed, or an endless loop. Memory has to be measured by the caller.

mod acts;
#[cfg(test)]
mod pages;

use super::SessionError;
use super::carrier::{Carrier, OnWake};
use super::initiator::{Measured, Order, carry_out, host_params};
use super::party::Party;
use super::responder::{Waiting, host_params as responder_params};
use crate::messages::Sink;
use crate::scenario::{self, Transport};
use acts::{Act, Peer};
use core::sync::atomic::AtomicBool;
use core::time::Duration;
use live::runner::{Control, Stopped};
use stack::host::Host;
use stack::profile::Typed;
use stack::station::{Frame, Station as _, Transmission, destination, source};
use std::collections::BTreeMap;
use wire::addr::Mac;
use wire::control::report::{Body as ReportBody, Pdu as ReportPdu};
use wire::control::{Limits, SAP};
use wire::time::Instant;

/// Station under test.
const HERE: Mac = Mac::local(1);
/// Peer that holds the session, if there is one.
const PEER: Mac = Mac::local(2);
/// Limits offered by the station under test.
const OFFERED: Limits = Limits { frames_per_second: 1_000, bits_per_second: 1_000_000 };
/// Maximum length of an 802.3 frame without FCS.
const LONGEST_FRAME: usize = 1_514;
/// Octets of MAC and LLC headers.
const HEADERS: usize = 17;
/// Maximum number of wake-ups of a script: one per action or deadline.
const WAKES: usize = 200_000;
/// Start time of a script.
const START: Instant = Instant::from_nanos(1_000_000_000);
/// Nonce of the sessions that the station under test opens.
const NONCE: u64 = 0x5EC2_E700_0000_0001;

/// Load that [`measure`] offers.
const LOAD: &str = r#"
version = 1
title = "scripted"
stop = { after = "2 s", warmup = "none" }
medium = { kind = "ideal", rate = "100 Mbit/s" }
stations = { count = 2, prefix = "s" }
[[flow]]
name = "connection"
from = "s-1"
to = "s-2"
service = "class-4"
pattern = { kind = "maximum-rate-request", reply = "200 B" }
size = "300 B"
messages = 50
[[flow]]
name = "datagrams"
from = "s-1"
to = "s-2"
service = "datagram"
pattern = { kind = "cyclic", period = "50 ms" }
size = "100 B"
messages = 20
"#;

/// Result of a script.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// Sessions that were agreed on and ended.
    pub sessions: u64,
    /// Messages delivered in them, as counted here.
    pub delivered: u64,
    /// Frames that the station under test sent.
    pub sent: u64,
}

/// Runs a responder against a script.
///
/// # Panics
/// Panics if the peer caused one of the effects listed in the module.
#[must_use]
pub fn serve(script: &[u8]) -> Outcome {
    let mut lan = Lan::new(script);
    let host = Host::new(responder_params(HERE, START, &Transport::lan()), Vec::new());
    let Ok(mut waiting) = Waiting::new(Box::new(&mut lan), host) else { return Outcome::default() };
    let mut outcome = Outcome::default();
    let stop = AtomicBool::new(false);
    while let Ok(Some(served)) = waiting.serve(Instant::MAX, &stop) {
        outcome.sessions += 1;
        outcome.delivered += served.counts.delivered;
    }
    drop(waiting);
    outcome.sent = lan.sent;
    outcome
}

/// Runs an initiator, with a small load, against a script.
///
/// # Panics
/// Panics if the peer caused one of the effects listed in the module, or more deliveries than
/// messages sent.
#[must_use]
pub fn measure(script: &[u8]) -> Outcome {
    let (measured, lan) = measure_load(LOAD, script, &mut |_| {});
    let mut outcome = Outcome { sent: lan.sent, ..Outcome::default() };
    if let Ok(measured) = measured {
        outcome.sessions = 1;
        for flow in &measured.sample.flows {
            assert!(flow.delivered <= flow.sent, "{} of {} delivered", flow.delivered, flow.sent);
            outcome.delivered += flow.delivered;
        }
    }
    outcome
}

/// Runs an initiator with this load against a script; returns the measurement, and the LAN
/// afterwards.
fn measure_load<'a>(
    load: &str,
    script: &'a [u8],
    messages: Sink<'_>,
) -> (Result<Measured, SessionError>, Lan<'a>) {
    let mut lan = Lan::new(script);
    let study = scenario::load(load, "scripted").expect("the scenario is valid");
    let point = study.points.into_iter().next().expect("it has one point");
    let params = host_params(HERE, START, &point.scenario);
    let order = Order {
        point: &point,
        scenario_hash: "",
        replication: 0,
        peer: PEER,
        to_groups: false,
        stop: &AtomicBool::new(false),
        progress: &mut |_| {},
        messages: Some(messages),
    };
    let measured = carry_out(&mut &mut lan, Host::new(params, Vec::new()), order);
    (measured, lan)
}

/// LAN in simulated time with the scripted peer on it.
struct Lan<'a> {
    now: Instant,
    peer: Peer<'a>,
    limits: Option<Limits>,
    sent: u64,
    /// Number of Fetches of the initiator.
    fetches: u64,
    wakes: usize,
    /// Octets received from and sent to each station that never held a session.
    strangers: BTreeMap<Mac, Balance>,
    /// Pages of the current session: time of the first, and their number.
    pages: Option<Pages>,
    /// Station that holds a session, or held the last one.
    holder: Option<Mac>,
}

/// Octets received from and sent to a station.
#[derive(Clone, Copy, Default)]
struct Balance {
    received: usize,
    sent: usize,
}

/// Pages sent.
#[derive(Clone, Copy)]
struct Pages {
    since: Instant,
    count: u64,
}

impl<'a> Lan<'a> {
    fn new(script: &'a [u8]) -> Self {
        Self {
            now: START,
            peer: Peer::new(script),
            limits: None,
            sent: 0,
            fetches: 0,
            wakes: 0,
            strangers: BTreeMap::new(),
            pages: None,
            holder: None,
        }
    }

    /// Takes the frames of the station under test.
    fn hear_all(&mut self, party: &mut Party) {
        while let Some(frame) = party.poll() {
            self.sent += 1;
            self.check(&frame);
            party.transmitted(self.now, 0, Transmission::Sent);
            self.peer.hear(self.now, &frame);
        }
    }

    fn check(&mut self, frame: &Frame) {
        assert!(frame.len() <= LONGEST_FRAME, "{} octets", frame.len());
        let to = destination(frame).unwrap_or_default();
        assert!(!to.is_group(), "an answer to a group");
        if self.holder != Some(to) && to != PEER {
            let balance = self.strangers.entry(to).or_default();
            balance.sent += frame.len();
            assert!(balance.sent <= balance.received, "more octets to {to} than from it");
        }
        self.check_page(frame);
    }

    /// Checks the rate of pages: one may be sent at once, and the next when it is paid for.
    fn check_page(&mut self, frame: &Frame) {
        let octets = frame.to_bytes();
        let pdu = ReportPdu::decode(octets.get(HEADERS..).unwrap_or_default());
        let Ok(Some(ReportPdu { body, .. })) = pdu else { return };
        let ReportBody::Page(_) = body else {
            self.fetches += 1;
            return;
        };
        let Some(limits) = self.limits else { panic!("a page without a session") };
        let Pages { since, count } = self.pages.unwrap_or(Pages { since: self.now, count: 0 });
        let seconds = (self.now - since).as_secs_f64();
        let allowed = seconds * f64::from(limits.frames_per_second) + 1.0;
        assert!(count as f64 <= allowed, "{} pages in {seconds} s", count + 1);
        self.pages = Some(Pages { since, count: count + 1 });
    }

    fn receive(&mut self, party: &mut Party, frame: Frame) {
        if let Some(source) = source(&frame) {
            self.strangers.entry(source).or_default().received += frame.len();
        }
        party.receive(self.now, frame);
        self.hear_all(party);
    }

    /// Lets time pass until `until` or the next deadline; returns whether anything was due.
    fn pass(&mut self, party: &mut Party, until: Instant) -> bool {
        let due = party.deadline().map(|deadline| deadline.at).filter(|due| *due <= until);
        let Some(due) = due else {
            self.now = self.now.max(until);
            return false;
        };
        self.now = self.now.max(due);
        party.expire(self.now);
        self.hear_all(party);
        true
    }
}

impl Carrier for &mut Lan<'_> {
    fn run(
        &mut self,
        party: &mut Party,
        until: Instant,
        _stop: &AtomicBool,
        on_wake: OnWake<'_>,
    ) -> Result<Stopped, SessionError> {
        let mut wait = None;
        loop {
            self.wakes += 1;
            assert!(self.wakes < WAKES, "a loop without end");
            self.hear_all(party);
            if on_wake(party, self.now) == Control::Stop {
                self.hear_all(party);
                return Ok(Stopped::Satisfied);
            }
            self.hear_all(party);
            if self.now >= until {
                return Ok(Stopped::Ended);
            }
            if let Some(end) = wait {
                let is_over = !self.pass(party, until.min(end)) || self.now >= end;
                wait = wait.filter(|_| !is_over);
                continue;
            }
            match self.peer.act(self.now) {
                Some(Act::Wait(time)) => wait = Some(self.now + time),
                Some(Act::Send(frame)) => self.receive(party, frame),
                Some(Act::Nothing) => {}
                None if party.deadline().is_none() && until == Instant::MAX => {
                    return Ok(Stopped::Ended);
                }
                None => {
                    let far = self.now + Duration::from_secs(60);
                    self.pass(party, until.min(far));
                }
            }
        }
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn unpredictable(&mut self) -> Result<u128, SessionError> {
        Ok(NONCE.into())
    }

    fn offered(&self) -> Limits {
        OFFERED
    }

    fn agree(&mut self, limits: Limits) {
        self.limits = Some(limits);
        self.holder = self.peer.caller;
    }

    fn disagree(&mut self) {
        self.limits = None;
        self.pages = None;
    }

    fn takes_streams(&self) -> bool {
        true
    }

    fn is_within_host(&self) -> bool {
        true
    }
}

/// Frame of a stream of cyclic data.
fn typed(from: Mac, ethertype: u16, data: &[u8]) -> Frame {
    let data = Frame::new(data.to_vec().into());
    Typed { source: from, destination: HERE, tag: None, ethertype, data }.frame()
}

/// 802.3 frame with a PDU of the control session.
fn control(from: Mac, pdu: &[u8]) -> Frame {
    lsdu(from, SAP.0, pdu)
}

/// 802.3 frame with a UI between equal SAPs.
fn lsdu(from: Mac, sap: u8, data: &[u8]) -> Frame {
    let length = u16::try_from(3 + data.len()).unwrap_or(u16::MAX);
    let head = [&HERE.0[..], &from.0, &length.to_be_bytes(), &[sap, sap, 3]].concat();
    Frame::new([&head, data].concat().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::{self, Message};

    /// One flow of 41 messages, of which the second half is judged.
    const WARM: &str = r#"
version = 1
title = "scripted"
stop = { after = "2 s", warmup = "1 s" }
medium = { kind = "ideal", rate = "100 Mbit/s" }
stations = { count = 2, prefix = "s" }
[[flow]]
name = "datagrams"
from = "s-1"
to = "s-2"
service = "datagram"
pattern = { kind = "cyclic", period = "50 ms" }
size = "100 B"
start = "together"
"#;

    /// An Agree, an Alive every 200 ms for 2.6 s, and final Counts of this many messages; no
    /// report.
    fn peer(delivered: u8) -> Vec<u8> {
        let alive = [1, 6, 0, 0, 50].repeat(13);
        [&[1, 4, 0][..], &alive, &[1, 11, 0, 0, 0, 0, delivered]].concat()
    }

    #[test]
    fn without_a_report_sent_and_delivered_are_of_the_same_messages() {
        let (measured, _) = measure_load(WARM, &peer(41), &mut |_| {});
        let measured = measured.unwrap();
        assert!(measured.failure.is_none(), "{:?}", measured.failure);
        let flow = &measured.sample.flows[0];
        // One every 50 ms from 0 to 2 s, both included.
        assert_eq!((flow.sent, flow.delivered, flow.lost), (41, 41, 0));
    }

    #[test]
    fn a_peer_that_counts_more_than_was_sent_fails_the_measurement() {
        let (mut rows, mut unknown) = (0, 0);
        let mut sink = |it: &Message<'_>| {
            rows += 1;
            unknown += u32::from(it.outcome == messages::Outcome::Unknown);
        };
        let (measured, _) = measure_load(WARM, &peer(42), &mut sink);
        let measured = measured.unwrap();
        let failure = measured.failure.unwrap().to_string();
        assert!(failure.contains("counted 42 messages of 41"), "{failure}");
        assert_eq!(measured.peer.delivered, 0);
        assert_eq!((rows, unknown), (41, 41));
        assert!(measured.sample.flows[0].delivered <= measured.sample.flows[0].sent);
    }
}
