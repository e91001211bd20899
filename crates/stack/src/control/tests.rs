//! Dialogues of two machines over a wire with selectable losses.

use super::*;
use crate::machine::{Machine, Output};
use core::time::Duration;
use wire::addr::Mac;
use wire::control::{Acknowledge, Body, Counts, Hello, Limits, Pdu, ReceivePolicy};
use wire::control::{Refusal, Role, text};
use wire::packet::Packet;
use wire::time::Instant;

const A: Mac = Mac::local(1);
const B: Mac = Mac::local(2);
const C: Mac = Mac::local(3);
const WIDE: Limits = Limits { frames_per_second: 1_000, bits_per_second: 10_000_000 };
const NARROW: Limits = Limits { frames_per_second: 50, bits_per_second: 20_000_000 };

fn call(peer: Mac, least: Limits) -> Request {
    let purpose = text("a test");
    Request::Open(Call {
        peer,
        nonce: 7,
        role: Role::Sender,
        offered: WIDE,
        least,
        flows: 1,
        purpose,
        receive: None,
        is_policy_needed: false,
        has_streams: false,
    })
}

const POLICY: ReceivePolicy = ReceivePolicy {
    acknowledge: Acknowledge::Each,
    acknowledge_every: 2,
    acknowledgement_delay_ns: 0,
    window: 8,
};

/// Calls with a policy and two flows a responder with this number of buffers; returns the policy that
/// it follows, and the state of the initiator.
fn called_with_policy(buffers: u32, is_policy_needed: bool) -> (Option<ReceivePolicy>, State) {
    let mut pair = Pair::new(Some(WIDE));
    pair.machines[1] =
        ControlSession::new(Params { buffers, ..Params::new(Some(WIDE), 1, text("new")) });
    let Request::Open(call) = call(B, Limits::NONE) else { unreachable!() };
    pair.request(
        0,
        Request::Open(Call { flows: 2, receive: Some(POLICY), is_policy_needed, ..call }),
    );
    (pair.policy, pair.machines[0].state())
}

#[test]
fn a_policy_is_followed_where_the_buffers_suffice_for_all_flows() {
    for is_needed in [false, true] {
        assert_eq!(called_with_policy(16, is_needed), (Some(POLICY), State::Open));
    }
    // 8 DTs on each of two connections do not fit 15 buffers, and an earlier version has none.
    for buffers in [15, 0] {
        assert_eq!(called_with_policy(buffers, false), (None, State::Open));
        assert_eq!(called_with_policy(buffers, true), (None, State::Idle), "refused");
    }
}

#[test]
fn streams_need_a_responder_that_takes_them() {
    for (takes_streams, state) in [(true, State::Open), (false, State::Idle)] {
        let mut pair = Pair::new(Some(WIDE));
        let params = Params { takes_streams, ..Params::new(Some(WIDE), 1, text("new")) };
        pair.machines[1] = ControlSession::new(params);
        let Request::Open(call) = call(B, Limits::NONE) else { unreachable!() };
        pair.request(0, Request::Open(Call { has_streams: true, ..call }));
        assert_eq!(pair.machines[0].state(), state, "{takes_streams}");
    }
}

fn station(maximum: Option<Limits>) -> ControlSession {
    ControlSession::new(Params::new(maximum, 0x5EC2E7, text("tidewire test")))
}

const fn ms(at: u64) -> Instant {
    Instant::from_nanos(at * 1_000_000)
}

/// Two machines on a wire without delay. `log` has a line for each PDU and indication.
struct Pair {
    machines: [ControlSession; 2],
    now: Instant,
    log: Vec<String>,
    lose: fn(&Pdu) -> bool,
    /// Policy that the last session follows, as its responder's user has it.
    policy: Option<ReceivePolicy>,
    /// True while a station's frames do not reach the wire.
    dead: [bool; 2],
}

impl Pair {
    fn new(maximum: Option<Limits>) -> Self {
        Self {
            machines: [station(None), station(maximum)],
            now: Instant::ZERO,
            log: Vec::new(),
            lose: |_| false,
            policy: None,
            dead: [false; 2],
        }
    }

    fn request(&mut self, who: usize, request: Request) {
        self.machines[who].request(self.now, request);
        self.settle();
    }

    fn settle(&mut self) {
        while let Some((who, output)) =
            (0..2).find_map(|who| self.machines[who].poll().map(|output| (who, output)))
        {
            let name = ["A", "B"][who];
            match output {
                Output::Send(unitdata) => {
                    assert_eq!(unitdata.peer, [B, A][who]);
                    let pdu = Pdu::decode(&unitdata.packet.to_bytes()).unwrap();
                    let lost = self.dead[who] || self.dead[1 - who] || (self.lose)(&pdu);
                    if !matches!(pdu.body, Body::KeepAlive { .. }) {
                        let fate = if lost { " lost" } else { "" };
                        self.log.push(format!("{} {name} {}{fate}", self.now, kind(&pdu.body)));
                    }
                    if !lost {
                        let unitdata = Unitdata { peer: [A, B][who], ..unitdata };
                        self.machines[1 - who].receive(self.now, unitdata);
                    }
                }
                Output::Deliver(indication) => {
                    if let Indication::Called { hello, .. } = &indication {
                        self.policy = hello.receive;
                    }
                    self.log.push(format!("{} {name} {}", self.now, short(&indication)));
                }
                Output::Note(_) => {}
            }
        }
    }

    fn run_until(&mut self, end: Instant) {
        loop {
            let next = (0..2).filter_map(|w| self.machines[w].deadline().map(|d| (d.at, w))).min();
            let Some((at, who)) = next.filter(|(at, _)| *at <= end) else { break };
            self.now = self.now.max(at);
            self.machines[who].expire(self.now);
            self.settle();
        }
        self.now = end;
    }

    fn said(&self) -> String {
        self.log.join("\n")
    }
}

fn kind(body: &Body) -> &'static str {
    match body {
        Body::Hello(_) => "Hello",
        Body::Accept(_) => "Accept",
        Body::Refuse(_) => "Refuse",
        Body::KeepAlive { .. } => "KeepAlive",
        Body::Stop => "Stop",
        Body::Counts { is_final: true, .. } => "Final",
        Body::Counts { .. } => "Counts",
        Body::Challenge { .. } => "Challenge",
        Body::Done => "Done",
        Body::Foreign { .. } => "Foreign",
    }
}

fn short(indication: &Indication) -> String {
    match indication {
        Indication::Called { limits, .. } => format!("called: {limits}"),
        Indication::Opened { limits, .. } => format!("opened: {limits}"),
        Indication::Refused(refusal) => format!("refused: {refusal}"),
        Indication::Counts(counts) => format!("counts: {}", counts.delivered),
        Indication::Over(counts) => format!("over: {}", counts.delivered),
        Indication::NoAnswer => "no answer".into(),
        Indication::StopAsked => "stop asked".into(),
        Indication::Lost => "lost".into(),
        Indication::Idle => "idle".into(),
    }
}

const fn delivered(delivered: u64) -> Counts {
    Counts { delivered, octets: 0, duplicates: 0, damaged: 0, frames: 0, not_agreed: 0 }
}

#[test]
fn a_session_opens_with_the_lesser_limits_and_ends_in_counts() {
    let mut pair = Pair::new(Some(NARROW));
    pair.request(0, call(B, Limits::NONE));
    // The lesser of 1,000 and 50 frames/s, and of 10 and 20 Mbit/s.
    let agreed = Limits { frames_per_second: 50, bits_per_second: 10_000_000 };
    assert_eq!(pair.machines[0].permitted(), Some((B, agreed)));
    assert_eq!(pair.machines[1].permitted(), Some((A, agreed)));
    pair.run_until(ms(5_100));
    pair.request(1, Request::Counts(delivered(40)));
    pair.request(0, Request::Stop);
    assert_eq!(pair.machines[0].permitted(), None, "no load after the Stop");
    pair.run_until(ms(5_200));
    pair.request(1, Request::Final(delivered(50)));
    pair.run_until(ms(20_000));
    insta::assert_snapshot!(pair.said());
}

#[test]
fn the_responder_permits_no_load_before_its_agree_is_confirmed() {
    let mut pair = Pair::new(Some(WIDE));
    pair.lose = |pdu| matches!(pdu.body, Body::Accept(_));
    pair.request(0, call(B, Limits::NONE));
    assert_eq!(pair.machines[1].state(), State::Agreed);
    assert_eq!(pair.machines[1].permitted(), None);
    // Hellos at 0 and 250 ms are answered in vain, the third successfully.
    pair.run_until(ms(300));
    pair.lose = |_| false;
    pair.run_until(ms(500));
    assert_eq!(pair.machines[1].permitted(), Some((A, WIDE)));
    let agrees = pair.log.iter().filter(|line| line.contains("Accept")).count();
    assert_eq!(agrees, 3, "{}", pair.said());
    assert_eq!(pair.log.iter().filter(|line| line.contains("called")).count(), 1);
}

#[test]
fn an_unanswered_hello_is_sent_eight_times() {
    let mut pair = Pair::new(Some(WIDE));
    pair.dead = [false, true];
    pair.request(0, call(B, Limits::NONE));
    pair.run_until(ms(10_000));
    assert_eq!(pair.log.iter().filter(|line| line.contains("Hello")).count(), 8);
    // The eighth is sent at 7 x 250 ms, and the wait lasts another 250 ms.
    assert_eq!(pair.log.last().map(String::as_str), Some("2.000000000 A no answer"));
    assert_eq!(pair.machines[0].deadline(), None);
}

#[test]
fn a_station_refuses_what_it_does_not_allow() {
    let more = Limits { frames_per_second: 51, bits_per_second: 1 };
    for (maximum, least, expected) in [
        (None, Limits::NONE, Refusal::Unwilling),
        (Some(NARROW), more, Refusal::Limits),
        (Some(Limits::NONE), Limits::NONE, Refusal::Limits),
    ] {
        let mut pair = Pair::new(maximum);
        pair.request(0, call(B, least));
        let expected = format!("0.000000000 A refused: {expected}");
        assert_eq!(pair.log.last(), Some(&expected));
        assert_eq!(pair.machines[0].state(), State::Idle);
        assert_eq!(pair.machines[1].state(), State::Idle);
    }
}

#[test]
fn a_second_initiator_is_refused_while_a_session_lasts() {
    let mut pair = Pair::new(Some(WIDE));
    pair.request(0, call(B, Limits::NONE));
    let mut third = station(None);
    third.request(pair.now, call(B, Limits::NONE));
    let Some(Output::Send(hello)) = third.poll() else { panic!("no Hello") };
    pair.machines[1].receive(pair.now, Unitdata { peer: C, ..hello });
    let note = pair.machines[1].poll();
    assert_eq!(note, Some(Output::Note(Note::TurnedDown(C, Refusal::Busy))));
    let Some(Output::Send(refuse)) = pair.machines[1].poll() else { panic!("no Refuse") };
    assert_eq!(refuse.peer, C);
    third.receive(pair.now, Unitdata { peer: B, ..refuse });
    let told = third.poll();
    assert_eq!(told, Some(Output::Deliver(Indication::Refused(Refusal::Busy))));
    assert_eq!(pair.machines[1].permitted(), Some((A, WIDE)), "the first session is not disturbed");
}

#[test]
fn a_second_of_silence_ends_the_session_on_both_sides() {
    let mut pair = Pair::new(Some(WIDE));
    pair.request(0, call(B, Limits::NONE));
    pair.run_until(ms(10_000));
    assert_eq!(pair.machines[0].permitted(), Some((B, WIDE)), "Alives keep it open");
    pair.dead = [true, false];
    pair.run_until(ms(30_000));
    let lost: Vec<&String> = pair.log.iter().filter(|line| line.contains("lost")).collect();
    // The last Alives were sent at 10 s, just before the wire was cut.
    assert_eq!(lost, ["11.000000000 A lost", "11.000000000 B lost"]);
    assert_eq!(pair.machines[0].permitted().or(pair.machines[1].permitted()), None);
    assert_eq!(pair.machines[0].deadline().or(pair.machines[1].deadline()), None);
}

#[test]
fn a_lost_final_count_is_asked_for_again() {
    let mut pair = Pair::new(Some(WIDE));
    pair.request(0, call(B, Limits::NONE));
    pair.request(0, Request::Stop);
    pair.lose = |pdu| matches!(pdu.body, Body::Counts { .. });
    pair.request(1, Request::Final(delivered(9)));
    pair.lose = |_| false;
    pair.run_until(ms(251));
    assert!(pair.said().ends_with("0.250000000 A over: 9"), "{}", pair.said());
}

#[test]
fn two_stops_that_cross_end_in_the_counts_of_both() {
    let mut pair = Pair::new(Some(WIDE));
    pair.request(0, call(B, Limits::NONE));
    pair.lose = |pdu| matches!(pdu.body, Body::Stop);
    pair.request(0, Request::Stop);
    pair.request(1, Request::Stop);
    pair.lose = |_| false;
    pair.run_until(ms(300));
    pair.request(0, Request::Final(delivered(1)));
    pair.request(1, Request::Final(delivered(2)));
    pair.run_until(ms(10_000));
    for line in ["A stop asked", "B stop asked", "A over: 2", "B over: 1", "A idle", "B idle"] {
        let count = pair.log.iter().filter(|said| said.ends_with(line)).count();
        assert_eq!(count, 1, "{line}:\n{}", pair.said());
    }
}

#[test]
fn a_responder_waiting_for_late_messages_is_not_lost() {
    let mut pair = Pair::new(Some(WIDE));
    pair.request(0, call(B, Limits::NONE));
    pair.request(0, Request::Stop);
    pair.run_until(ms(5_000));
    pair.request(1, Request::Final(delivered(3)));
    assert!(pair.said().ends_with("5.000000000 A over: 3"), "{}", pair.said());
}

#[test]
fn an_agree_beyond_the_offer_is_rejected() {
    let mut machine = station(None);
    machine.request(Instant::ZERO, call(B, Limits::NONE));
    while machine.poll().is_some() {}
    let limits = Limits { frames_per_second: 1_001, ..WIDE };
    let body = Body::Accept(wire::control::Accept {
        limits,
        program: text("x"),
        receive: None,
        has_streams: false,
    });
    machine.receive(Instant::ZERO, unitdata(B, Pdu { nonce: 7, body }));
    let told = machine.poll();
    assert_eq!(told, Some(Output::Deliver(Indication::Refused(Refusal::Limits))));
    assert_eq!(machine.permitted(), None);
}

#[test]
fn strangers_old_sessions_and_groups_have_no_effect() {
    let mut pair = Pair::new(Some(WIDE));
    pair.request(0, call(B, Limits::NONE));
    let stop = |nonce| Pdu { nonce, body: Body::Stop };
    for (peer, pdu) in [(C, stop(7)), (A, stop(6)), (Mac::BROADCAST, stop(7))] {
        pair.machines[1].receive(pair.now, unitdata(peer, pdu));
        assert_eq!(pair.machines[1].poll(), Some(Output::Note(Note::Stray(peer))));
        assert_eq!(pair.machines[1].poll(), None);
        assert_eq!(pair.machines[1].permitted(), Some((A, WIDE)));
    }
}

#[test]
fn only_a_hello_of_a_later_version_is_refused() {
    let mut machine = station(Some(WIDE));
    let foreign = |kind| Pdu { nonce: 1, body: Body::Foreign { version: 3, kind } };
    machine.receive(Instant::ZERO, unitdata(C, foreign(1)));
    assert_eq!(machine.poll(), Some(Output::Note(Note::Stray(C))), "shorter than its answer");
    let mut hello = octets(foreign(1));
    hello.push(0);
    machine.receive(Instant::ZERO, Unitdata { peer: C, packet: Packet::new(hello.into()) });
    let note = machine.poll();
    assert_eq!(note, Some(Output::Note(Note::TurnedDown(C, Refusal::Version))));
    let Some(Output::Send(refuse)) = machine.poll() else { panic!("no Refuse") };
    assert_eq!(refuse.packet.to_bytes()[4], 3, "the version of the caller, which accepts no other");
    machine.receive(Instant::ZERO, unitdata(C, foreign(4)));
    assert_eq!(machine.poll(), Some(Output::Note(Note::Stray(C))));
    assert_eq!(machine.poll(), None);
}

#[test]
fn an_early_final_count_does_not_end_the_session() {
    let mut pair = Pair::new(Some(WIDE));
    pair.request(0, call(B, Limits::NONE));
    pair.request(1, Request::Final(delivered(1)));
    pair.request(0, Request::Stop);
    pair.run_until(ms(100));
    pair.request(1, Request::Final(delivered(2)));
    assert!(pair.said().ends_with("A over: 2"), "{}", pair.said());
}

#[test]
fn the_next_session_with_the_same_peer_need_not_wait() {
    let mut pair = Pair::new(Some(WIDE));
    pair.request(0, call(B, Limits::NONE));
    pair.request(0, Request::Stop);
    pair.request(1, Request::Final(delivered(1)));
    let Request::Open(again) = call(B, Limits::NONE) else { unreachable!() };
    pair.request(0, Request::Done);
    assert_eq!(pair.machines[1].state(), State::Idle, "the Done ended the linger");
    pair.request(0, Request::Open(Call { nonce: 8, ..again }));
    // The caller was challenged less than 100 ms ago, so its first Hello gets no answer.
    pair.run_until(ms(250));
    assert_eq!(pair.machines[0].permitted(), Some((B, WIDE)));
    pair.run_until(pair.now + Duration::from_secs(5));
    assert_eq!(pair.machines[1].permitted(), Some((A, WIDE)), "the old linger ended the new");
}

fn octets(pdu: Pdu) -> Vec<u8> {
    let mut octets = Vec::new();
    pdu.encode(&mut octets);
    octets
}

fn unitdata(peer: Mac, pdu: Pdu) -> Unitdata {
    Unitdata { peer, packet: Packet::new(octets(pdu).into()) }
}

fn hello(nonce: u64, cookie: u64) -> Pdu {
    let (program, purpose) = (text(""), text(""));
    let (offered, least) = (WIDE, Limits::NONE);
    let role = Role::Sender;
    let (receive, has_streams) = (None, false);
    let hello =
        Hello { role, offered, least, flows: 1, cookie, program, purpose, receive, has_streams };
    Pdu { nonce, body: Body::Hello(hello) }
}

/// PDUs and indications that a machine has queued.
fn drained(machine: &mut ControlSession) -> (Vec<Unitdata>, Vec<Indication>) {
    let (mut sent, mut told) = (Vec::new(), Vec::new());
    while let Some(output) = machine.poll() {
        match output {
            Output::Send(unitdata) => sent.push(unitdata),
            Output::Deliver(indication) => told.push(indication),
            Output::Note(_) => {}
        }
    }
    (sent, told)
}

#[test]
fn a_hello_without_a_cookie_gets_a_shorter_answer_and_no_state() {
    let mut machine = station(Some(WIDE));
    let mut answered = 0;
    for number in 0..10_000 {
        let request = unitdata(Mac::local(number), hello(u64::from(number), 0));
        let length = request.packet.len();
        machine.receive(ms(1), request);
        let (sent, told) = drained(&mut machine);
        assert_eq!((machine.state(), told.len()), (State::Idle, 0), "a spoofed Hello");
        for answer in sent {
            assert_eq!(answer.peer, Mac::local(number));
            assert!(answer.packet.len() <= length, "{} octets", answer.packet.len());
            answered += 1;
        }
    }
    // All within 100 ms, in which each of 64 groups of addresses gets one answer.
    assert_eq!(answered, 64);
}

#[test]
fn a_cookie_opens_a_session_for_its_own_address_and_nonce_alone() {
    let mut machine = station(Some(WIDE));
    machine.receive(ms(1), unitdata(A, hello(7, 0)));
    let (sent, _) = drained(&mut machine);
    let Ok(Pdu { nonce: 7, body: Body::Challenge { cookie } }) =
        Pdu::decode(&sent[0].packet.to_bytes())
    else {
        panic!("no Challenge")
    };
    for (peer, nonce) in [(B, 7), (A, 8)] {
        machine.receive(ms(2), unitdata(peer, hello(nonce, cookie)));
        assert_eq!(machine.state(), State::Idle, "{peer} {nonce}");
    }
    machine.receive(ms(3), unitdata(A, hello(7, cookie)));
    assert_eq!(machine.loaded(), Some(Name { peer: A, nonce: 7 }));
}

#[test]
fn a_flood_of_challenges_gets_no_more_hellos_than_silence_does() {
    let mut machine = station(None);
    machine.request(Instant::ZERO, call(B, Limits::NONE));
    let mut hellos = drained(&mut machine).0.len();
    for cookie in 1..3_000 {
        let now = ms(cookie);
        machine.receive(now, unitdata(B, Pdu { nonce: 7, body: Body::Challenge { cookie } }));
        machine.expire(now);
        hellos += drained(&mut machine).0.len();
    }
    assert_eq!(hellos, 8);
    assert_eq!(machine.state(), State::Idle, "given up");
}

/// Both ends stand still for three seconds, as on a host that is suspended, and go on.
#[test]
fn silence_while_both_ends_stood_still_loses_no_peer() {
    for tells in [true, false] {
        let mut pair = Pair::new(Some(WIDE));
        pair.request(0, call(B, Limits::NONE));
        pair.run_until(ms(900));
        pair.now = ms(3_900);
        if tells {
            pair.machines.iter_mut().for_each(|it| it.stood_still(Duration::from_secs(3)));
        }
        pair.run_until(ms(4_500));
        let is_open = pair.machines[0].state() == State::Open;
        assert_eq!(is_open, tells, "{:?}", pair.machines[0].state());
    }
}

#[test]
fn reading_the_report_extends_the_linger_by_a_second() {
    let mut pair = Pair::new(Some(WIDE));
    pair.request(0, call(B, Limits::NONE));
    let name = Name { peer: A, nonce: 7 };
    assert!(!pair.machines[1].reads(pair.now, name), "before the end");
    pair.request(0, Request::Stop);
    pair.request(1, Request::Final(delivered(1)));
    for other in [Name { nonce: 8, ..name }, Name { peer: C, ..name }] {
        assert!(!pair.machines[1].reads(pair.now, other));
    }
    for at in [900, 1_800, 2_700] {
        pair.run_until(ms(at));
        assert!(pair.machines[1].reads(pair.now, name), "{at} ms");
    }
    pair.run_until(ms(3_701));
    assert!(!pair.machines[1].reads(pair.now, name), "a second of silence ends it");
    assert_eq!(pair.machines[1].state(), State::Idle);
}
