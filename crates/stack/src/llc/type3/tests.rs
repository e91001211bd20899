//! Dialogues of two machines: every LPDU, delivery and outcome on a line of its own.

use super::*;
use bytes::Bytes;

const HERE: Mac = Mac::local(1);
const THERE: Mac = Mac::local(2);
const T1: Duration = Duration::from_millis(20);

/// LSDU as text.
fn text(packet: &Packet) -> String {
    String::from_utf8_lossy(&packet.to_bytes()).into_owned()
}

/// Association from SAP 4 here to SAP 8 there, from the point of view of HERE.
const OUT: Association = Association { local: Sap(4), station: THERE, remote: Sap(8), priority: 0 };

/// Two stations; 0 is HERE with SAP 4 open, 1 is THERE with SAP 8 open.
struct Dialogue {
    now: Instant,
    machines: [Type3; 2],
    log: Vec<String>,
    /// Numbers of the lost LPDUs, counted from 0 over both directions.
    lost: Vec<usize>,
    sent: usize,
    /// Length of a new buffer, provided as soon as one is used; `None` for no buffer.
    buffers: Option<usize>,
    carried: Vec<(usize, Lpdu)>,
}

impl Dialogue {
    fn new(params: Params, lost: &[usize]) -> Self {
        let machine = || Type3::new(params).unwrap();
        let mut this = Self {
            now: Instant::ZERO,
            machines: [machine(), machine()],
            log: Vec::new(),
            lost: lost.to_vec(),
            sent: 0,
            buffers: Some(100),
            carried: Vec::new(),
        };
        this.machines[0].request(this.now, Request::Open { sap: Sap(4) });
        this.machines[1].request(this.now, Request::Open { sap: Sap(8) });
        this.refill();
        this
    }

    fn refill(&mut self) {
        let octets = self.buffers;
        self.machines[1].request(self.now, Request::Buffer { sap: Sap(8), octets });
    }

    fn request(&mut self, request: Request) {
        self.machines[0].request(self.now, request);
        self.settle();
    }

    fn data(&mut self, id: u64, data: &'static str) {
        let data = Packet::new(Bytes::from_static(data.as_bytes()));
        self.request(Request::DataAck { id, association: OUT, transmissions: 9, data });
    }

    fn poll_for_reply(&mut self, id: u64, data: &'static str) {
        let data = Packet::new(Bytes::from_static(data.as_bytes()));
        self.request(Request::Reply { id, association: OUT, transmissions: 9, data });
    }

    /// Advances to the next deadline of either machine.
    fn expire(&mut self) {
        let deadlines = self.machines.iter().map(Machine::deadline);
        let next = deadlines.fold(None, Deadline::earlier).expect("a timer runs");
        self.now = next.at;
        self.log.push(format!("{} {}", next.timer, self.now));
        self.machines.iter_mut().for_each(|machine| machine.expire(next.at));
        self.settle();
    }

    fn settle(&mut self) {
        while let Some((of, output)) =
            (0..2).find_map(|of| self.machines[of].poll().map(|output| (of, output)))
        {
            match output {
                Output::Send(lpdu) => self.carry(of, lpdu),
                Output::Deliver(indication) => self.told(of, indication),
                Output::Note(never) => match never {},
            }
        }
    }

    fn carry(&mut self, of: usize, lpdu: Lpdu) {
        let octets = lpdu.packet.to_bytes();
        let pdu = wire::llc::Pdu::decode(&octets).unwrap();
        let lost = if self.lost.contains(&self.sent) { " lost" } else { "" };
        self.log.push(format!("{of} {pdu}{lost}"));
        self.sent += 1;
        if let Some(handle) = lpdu.handle {
            self.machines[of].transmitted(self.now, handle, Transmission::Sent);
        }
        let station = if of == 0 { HERE } else { THERE };
        let arriving = Lpdu { station, handle: None, ..lpdu };
        self.carried.push((1 - of, arriving.clone()));
        if lost.is_empty() {
            self.machines[1 - of].receive(self.now, arriving);
        }
    }

    /// Delivers the n-th LPDU once more.
    fn again(&mut self, which: usize) {
        let (to, lpdu) = self.carried[which].clone();
        self.log.push(format!("copy of {which}"));
        self.machines[to].receive(self.now, lpdu);
        self.settle();
    }

    fn told(&mut self, of: usize, indication: Indication) {
        self.log.push(match indication {
            Indication::Data { association, data } => {
                format!(
                    "{of} deliver {}<{} {:?}",
                    association.local,
                    association.remote,
                    text(&data)
                )
            }
            Indication::Overrun { octets, .. } => format!("{of} overrun {octets}"),
            Indication::Replied { .. } => format!("{of} replied"),
            Indication::Status { id, outcome, transmissions } => match outcome {
                Outcome::Responded { command, reply, data } => format!(
                    "{of} status {id} x{transmissions} {command:?} {reply:?} {:?}",
                    text(&data)
                ),
                other => format!("{of} status {id} x{transmissions} {other:?}"),
            },
        });
        self.refill();
    }

    #[track_caller]
    fn said(&mut self, expected: &[&str]) {
        assert_eq!(core::mem::take(&mut self.log), expected);
    }
}

fn params() -> Params {
    Params { transmissions: 3, acknowledgement_time: T1, first: First::AtZero, ..Params::lan() }
}

#[test]
fn commands_alternate_and_each_response_has_the_other_number() {
    let mut it = Dialogue::new(params(), &[]);
    it.data(1, "ab");
    it.data(2, "cde");
    it.data(3, "f");
    it.said(&[
        "0 LLC 04>08 AC0 2 octets",
        "1 deliver 08<04 \"ab\"",
        "1 LLC 08>04 AC1 response status=40 1 octets",
        "0 status 1 x1 Accepted NotRequested \"\"",
        "0 LLC 04>08 AC1 3 octets",
        "1 deliver 08<04 \"cde\"",
        "1 LLC 08>04 AC0 response status=40 1 octets",
        "0 status 2 x1 Accepted NotRequested \"\"",
        "0 LLC 04>08 AC0 1 octets",
        "1 deliver 08<04 \"f\"",
        "1 LLC 08>04 AC1 response status=40 1 octets",
        "0 status 3 x1 Accepted NotRequested \"\"",
    ]);
}

#[test]
fn a_lost_response_costs_one_t1_and_no_second_delivery() {
    let mut it = Dialogue::new(params(), &[1]);
    it.data(1, "ab");
    it.expire();
    it.said(&[
        "0 LLC 04>08 AC0 2 octets",
        "1 deliver 08<04 \"ab\"",
        "1 LLC 08>04 AC1 response status=40 1 octets lost",
        "T1 0.020000000",
        "0 LLC 04>08 AC0 2 octets",
        "1 LLC 08>04 AC1 response status=40 1 octets",
        "0 status 1 x2 Accepted NotRequested \"\"",
    ]);
    let counters = *it.machines[1].counters();
    assert_eq!(counters, Counters { duplicates: 1, ..Counters::default() });
    assert_eq!(it.machines[0].deadline(), None);
}

#[test]
fn after_giving_up_a_command_without_lsdu_resynchronizes() {
    // All three responses are lost: the receiver has the LSDU, but the sender has no
    // acknowledgement.
    let mut it = Dialogue::new(params(), &[1, 3, 5]);
    it.data(1, "ab");
    (0..3).for_each(|_| it.expire());
    it.log.clear();
    it.data(2, "cd");
    it.said(&[
        "0 LLC 04>08 AC0",
        "1 LLC 08>04 AC1 response status=40 1 octets",
        "0 LLC 04>08 AC1 2 octets",
        "1 deliver 08<04 \"cd\"",
        "1 LLC 08>04 AC0 response status=40 1 octets",
        "0 status 2 x1 Accepted NotRequested \"\"",
    ]);
    // All three commands are lost: the receiver still expects the number, and the same is done.
    let mut it = Dialogue::new(params(), &[0, 1, 2]);
    it.data(1, "ab");
    it.data(2, "cd");
    (0..3).for_each(|_| it.expire());
    it.said(&[
        "0 LLC 04>08 AC0 2 octets lost",
        "T1 0.020000000",
        "0 LLC 04>08 AC0 2 octets lost",
        "T1 0.040000000",
        "0 LLC 04>08 AC0 2 octets lost",
        "T1 0.060000000",
        "0 status 1 x3 NoAcknowledgement",
        "0 LLC 04>08 AC0",
        "1 LLC 08>04 AC1 response status=40 1 octets",
        "0 LLC 04>08 AC1 2 octets",
        "1 deliver 08<04 \"cd\"",
        "1 LLC 08>04 AC0 response status=40 1 octets",
        "0 status 2 x1 Accepted NotRequested \"\"",
    ]);
}

#[test]
fn a_restarted_station_synchronizes_its_numbers() {
    let restarting = |first| {
        let mut it = Dialogue::new(Params { first, ..params() }, &[]);
        it.data(1, "ab");
        it.machines[0] = Type3::new(Params { first, ..params() }).unwrap();
        it.data(2, "cd");
        it.log.iter().filter(|line| line.contains("deliver")).count()
    };
    // By the letter of the standard, "cd" is acknowledged as a copy of "ab", and lost.
    assert_eq!(restarting(First::AtZero), 1);
    assert_eq!(restarting(First::Synchronized), 2);
}

#[test]
fn a_receiver_without_buffer_repeats_its_status_to_copies() {
    let mut it = Dialogue::new(params(), &[1]);
    it.buffers = None;
    it.refill();
    it.data(1, "ab");
    it.buffers = Some(100);
    it.refill();
    it.expire();
    it.data(2, "ab");
    it.said(&[
        "0 LLC 04>08 AC0 2 octets",
        "1 LLC 08>04 AC1 response status=49 1 octets lost",
        "T1 0.020000000",
        "0 LLC 04>08 AC0 2 octets",
        "1 LLC 08>04 AC1 response status=49 1 octets",
        "0 status 1 x2 Unavailable NotRequested \"\"",
        "0 LLC 04>08 AC1 2 octets",
        "1 deliver 08<04 \"ab\"",
        "1 LLC 08>04 AC0 response status=40 1 octets",
        "0 status 2 x1 Accepted NotRequested \"\"",
    ]);
}

#[test]
fn an_lsdu_beyond_the_buffer_and_a_closed_sap_are_refused() {
    let mut it = Dialogue::new(params(), &[]);
    it.buffers = Some(1);
    it.refill();
    it.data(1, "ab");
    it.machines[1].request(it.now, Request::Close { sap: Sap(8) });
    it.data(2, "a");
    it.poll_for_reply(3, "");
    it.said(&[
        "0 LLC 04>08 AC0 2 octets",
        "1 overrun 2",
        "1 LLC 08>04 AC1 response status=47 1 octets",
        "0 status 1 x1 Permanent NotRequested \"\"",
        "0 LLC 04>08 AC1 1 octets",
        "1 LLC 08>04 AC0 response status=41 1 octets",
        "0 status 2 x1 NoService NotRequested \"\"",
        "0 LLC 04>08 AC0 poll",
        "1 LLC 08>04 AC1 response final status=11 1 octets",
        "0 status 3 x1 NoService NoService \"\"",
    ]);
}

#[test]
fn a_poll_brings_the_stored_reply_as_often_as_asked() {
    let mut it = Dialogue::new(params(), &[3]);
    it.poll_for_reply(1, "");
    let reply = Some(Packet::new(Bytes::from_static(b"42")));
    it.machines[1].request(it.now, Request::ReplyUpdate { sap: Sap(8), data: reply });
    it.poll_for_reply(2, "q");
    it.expire();
    it.said(&[
        "0 LLC 04>08 AC0 poll",
        "1 LLC 08>04 AC1 response final status=30 1 octets",
        "0 status 1 x1 Accepted NeverSubmitted \"\"",
        "0 LLC 04>08 AC1 poll 1 octets",
        "1 deliver 08<04 \"q\"",
        "1 replied",
        "1 LLC 08>04 AC0 response final status=00 3 octets lost",
        "T1 0.020000000",
        "0 LLC 04>08 AC1 poll 1 octets",
        "1 LLC 08>04 AC0 response final status=00 3 octets",
        "0 status 2 x2 Accepted Present \"42\"",
    ]);
}

#[test]
fn one_command_is_outstanding_and_others_wait_by_priority() {
    let mut it = Dialogue::new(Params { waiting: 3, ..params() }, &[0]);
    it.data(1, "a");
    for (id, priority) in [(2, 0), (3, 7), (4, 0), (5, 7)] {
        let association = Association { priority, ..OUT };
        let data = Packet::new(Bytes::from_static(b"x"));
        it.request(Request::DataAck { id, association, transmissions: 9, data });
    }
    it.said(&["0 LLC 04>08 AC0 1 octets lost", "0 status 5 x0 QueueFull"]);
    it.expire();
    let order: Vec<&str> =
        it.log.iter().filter_map(|line| line.strip_prefix("0 status ")).map(|s| &s[..1]).collect();
    assert_eq!(order, ["1", "3", "2", "4"]);
}

#[test]
fn a_cancelled_command_is_awaited_before_its_number_is_reused() {
    let mut it = Dialogue::new(params(), &[0]);
    it.data(1, "ab");
    it.data(2, "cd");
    it.data(3, "ef");
    it.request(Request::Cancel { id: 3, association: OUT });
    it.request(Request::Cancel { id: 1, association: OUT });
    it.said(&[
        "0 LLC 04>08 AC0 2 octets lost",
        "0 status 3 x0 Cancelled",
        "0 status 1 x1 Cancelled",
    ]);
    // The command was only late: it is delivered, and its response synchronizes the number.
    it.again(0);
    it.said(&[
        "copy of 0",
        "1 deliver 08<04 \"ab\"",
        "1 LLC 08>04 AC1 response status=40 1 octets",
        "0 LLC 04>08 AC1 2 octets",
        "1 deliver 08<04 \"cd\"",
        "1 LLC 08>04 AC0 response status=40 1 octets",
        "0 status 2 x1 Accepted NotRequested \"\"",
    ]);
    // A copy of the last command is answered, and that answer confirms no command.
    it.again(2);
    it.said(&["copy of 2", "1 LLC 08>04 AC0 response status=40 1 octets"]);
    assert_eq!(it.machines[0].counters().stale_responses, 1);
}

#[test]
fn a_receive_variable_is_kept_for_t2() {
    let mut it = Dialogue::new(params(), &[]);
    it.data(1, "ab");
    it.now = Instant::ZERO + params().receive_lifetime;
    let just_before = Instant::from_nanos(it.now.as_nanos() - 1);
    let mut early = it.machines[1].clone();
    early.receive(just_before, it.carried[0].1.clone());
    assert_eq!(early.counters().duplicates, 1);
    it.log.clear();
    it.again(0);
    assert_eq!(it.log[1], "1 deliver 08<04 \"ab\"");
}

#[test]
fn a_sender_that_was_silent_for_t3_synchronizes() {
    let mut it = Dialogue::new(params(), &[]);
    it.data(1, "ab");
    it.now += params().transmit_lifetime;
    it.log.clear();
    it.data(2, "cd");
    assert_eq!(it.log[0], "0 LLC 04>08 AC1");
    assert_eq!(it.machines[0].counters().synchronizations, 1);
}

#[test]
fn variables_are_bounded_at_both_ends() {
    let mut it = Dialogue::new(Params { associations: 2, ..params() }, &[]);
    for (id, remote) in [(1, 8), (2, 10), (3, 12), (4, 8)] {
        let association = Association { remote: Sap(remote), ..OUT };
        let data = Packet::new(Bytes::from_static(b"x"));
        it.request(Request::DataAck { id, association, transmissions: 9, data });
    }
    // The receiver has two variables and leaves the third unanswered. The sender evicts idle
    // associations; the waiting one stays.
    assert_eq!(it.machines[1].counters().no_variable, 1);
    let synchronized = it.log.iter().filter(|line| line.ends_with("AC0")).count();
    assert_eq!(synchronized, 2, "12 and 8 again, because others were evicted: {:?}", it.log);
}

#[test]
fn each_priority_carried_by_the_mac_has_its_own_numbers() {
    for (priorities, second) in [(Priorities::Carried, "AC0"), (Priorities::NotCarried, "AC1")] {
        let mut it = Dialogue::new(Params { priorities, ..params() }, &[]);
        it.data(1, "a");
        let association = Association { priority: 7, ..OUT };
        let data = Packet::new(Bytes::from_static(b"x"));
        it.log.clear();
        it.request(Request::DataAck { id: 2, association, transmissions: 9, data });
        assert_eq!(it.log[0], format!("0 LLC 04>08 {second} 1 octets"));
    }
}

#[test]
fn malformed_and_unexpected_pdus_are_only_counted() {
    let mut machine = Type3::new(params()).unwrap();
    let mut receive = |octets: &'static [u8], station| {
        let packet = Packet::new(Bytes::from_static(octets));
        machine.receive(Instant::ZERO, Lpdu { station, priority: 0, packet, handle: None });
        assert_eq!(machine.poll(), None, "{octets:x?}");
        (machine.counters().malformed, machine.counters().stale_responses)
    };
    assert_eq!(receive(&[], HERE), (1, 0));
    assert_eq!(receive(&[4, 8], HERE), (2, 0));
    assert_eq!(receive(&[4, 8, 0x03, 1], HERE), (3, 0), "a UI");
    assert_eq!(receive(&[5, 8, 0x67, 1], HERE), (4, 0), "for a group");
    assert_eq!(receive(&[0, 8, 0x67, 1], HERE), (5, 0), "for the station itself");
    assert_eq!(receive(&[4, 8, 0x67, 1], Mac::BROADCAST), (6, 0), "from a group");
    assert_eq!(receive(&[4, 9, 0x67], HERE), (7, 0), "a response without status");
    assert_eq!(receive(&[4, 9, 0x67, 0x40], HERE), (7, 1), "no command is outstanding");
}

#[test]
fn t1_runs_from_the_transmission_and_not_from_the_request() {
    let mut machine = Type3::new(params()).unwrap();
    let data = Packet::new(Bytes::from_static(b"x"));
    let request = Request::DataAck { id: 1, association: OUT, transmissions: 9, data };
    machine.request(Instant::ZERO, request);
    let Some(Output::Send(Lpdu { handle: Some(handle), .. })) = machine.poll() else {
        panic!("a command was expected")
    };
    assert_eq!(machine.deadline(), None);
    let sent = Instant::from_nanos(5_000_000_000);
    machine.transmitted(sent, handle, Transmission::GivenUp);
    assert_eq!(machine.deadline(), Some(Deadline { at: sent + T1, timer: "T1" }));
}

#[test]
fn the_next_command_waits_until_copies_have_expired() {
    let lifetime = Duration::from_millis(5);
    let mut it = Dialogue::new(Params { lifetime, ..params() }, &[]);
    it.data(1, "ab");
    it.data(2, "cd");
    assert_eq!(it.log.len(), 4, "{:?}", it.log);
    it.log.clear();
    it.expire();
    assert_eq!(it.log[..2], ["M 0.005000000", "0 LLC 04>08 AC1 2 octets"]);
    it.log.clear();
    it.now += lifetime;
    it.data(3, "ef");
    assert_eq!(it.log[0], "0 LLC 04>08 AC0 2 octets", "the copies have expired");
}

#[test]
fn a_t2_that_is_too_short_is_refused() {
    // 8 transmissions with 20 ms each take 160 ms.
    let short = Params { receive_lifetime: Duration::from_millis(160), ..Params::lan() };
    assert_eq!(
        short.check().unwrap_err().to_string(),
        "t2 of 160ms is too short: a command may be retransmitted for 160ms (n4 times t1)"
    );
    let hasty = Params { lifetime: Duration::from_millis(11), ..Params::lan() };
    assert_eq!(
        hasty.check().unwrap_err().to_string(),
        "t1 is shorter than a round trip of twice 11ms (m)"
    );
    assert_eq!(Params { transmissions: 0, ..Params::lan() }.check(), Err(Invalid::NeverSends));
    assert_eq!(Params::lan().check(), Ok(()));
}
