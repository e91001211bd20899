//! Hosts on a LAN without delay and loss.

use core::time::Duration;
use stack::clnp;
use stack::host::{Host, HostParams};
use stack::load::publication::{Content, Goose, Publication};
use stack::load::retransmission::Retransmissions;
use stack::load::{Eot, Event, Flow, FlowId, MessageOptions, Pattern, Record, Service};
use stack::messaging::{self, Priority};
use stack::station::{Frame, Station, Transmission, destination};
use stack::tp4::{Credit, Params};
use wire::addr::{Mac, Nsap};
use wire::packet::Packet;
use wire::time::Instant;

pub(crate) fn host(number: u32, transport: Params, flows: Vec<Flow>) -> Host {
    let network = clnp::Params::inactive(Nsap::of_station(Mac::local(number)));
    host_over(number, network, transport, flows)
}

fn host_over(number: u32, network: clnp::Params, transport: Params, flows: Vec<Flow>) -> Host {
    let params = HostParams {
        address: Mac::local(number),
        transport,
        network,
        last_reference: 0,
        accepts: true,
        saps: Vec::new(),
        framing: stack::profile::Framing::Ieee8023,
        messaging: Some(messaging::Params::lan()),
    };
    Host::new(params, flows)
}

pub(crate) fn flow(service: Service, pattern: Pattern, size_octets: usize, messages: u64) -> Flow {
    Flow {
        id: FlowId(5),
        peer: Mac::local(2),
        service,
        priority: Priority::LOWEST,
        pattern,
        size_octets,
        messages: Some(messages),
        start: Instant::ZERO,
        seed: 1,
    }
}

/// Runs host 1 with this flow against host 2; returns the records of both.
fn run(transport: &Params, flow: Flow) -> [Vec<Record>; 2] {
    run_over(transport, flow, |frame| frame)
}

/// Like [`run`], over a LAN that applies `carried` to every frame.
fn run_over(transport: &Params, flow: Flow, carried: impl Fn(Frame) -> Frame) -> [Vec<Record>; 2] {
    let hosts = [host(1, transport.clone(), vec![flow]), host(2, transport.clone(), Vec::new())];
    run_hosts(hosts, carried)
}

/// Runs these hosts against each other until the first is done; returns the records of both.
pub(crate) fn run_hosts(
    mut hosts: [Host; 2],
    carried: impl Fn(Frame) -> Frame,
) -> [Vec<Record>; 2] {
    let mut records = [Vec::new(), Vec::new()];
    let mut now = Instant::ZERO;
    let end = now + Duration::from_secs(30);
    while let Some(deadline) = hosts.iter().filter_map(Station::deadline).min()
        && deadline.at <= end
    {
        now = now.max(deadline.at);
        hosts.iter_mut().for_each(|host| host.expire(now));
        let mut busy = true;
        while busy {
            busy = false;
            for of in [0, 1] {
                while let Some(frame) = hosts[of].poll() {
                    busy = true;
                    hosts[of].transmitted(now, 0, Transmission::Sent);
                    assert_eq!(destination(&frame), Some(hosts[1 - of].addr()));
                    hosts[1 - of].receive(now, carried(frame));
                }
            }
        }
        for (host, records) in hosts.iter_mut().zip(&mut records) {
            records.extend(std::iter::from_fn(|| host.record()));
        }
        if hosts.iter().all(Host::is_done) && records[0].last().is_some_and(is_end) {
            break;
        }
    }
    records
}

pub(crate) fn is_end(record: &Record) -> bool {
    matches!(record.event, Event::Ended { orderly: true, .. })
}

fn delivered(records: &[Record]) -> Vec<(u32, usize)> {
    let of = |record: &Record| match record.event {
        Event::Delivered { sequence, octets, .. } => Some((sequence, octets)),
        Event::Damaged { reason } => panic!("damaged: {reason}"),
        _ => None,
    };
    records.iter().filter_map(of).collect()
}

#[test]
fn every_pattern_delivers_every_message_over_every_service() {
    let period = Duration::from_millis(10);
    let case = [Eot::Each, Eot::Last].map(|eot| Service::Case { eot });
    for service in [Service::Class4, Service::Datagram].into_iter().chain(case) {
        for pattern in [
            Pattern::Cyclic { period },
            Pattern::Poisson { mean_interval: period },
            Pattern::ConstantRateRequest { period, reply_octets: 60 },
            Pattern::MaximumRateRequest { reply_octets: 60 },
            Pattern::Bulk,
        ] {
            let [sender, receiver] = run(&Params::lan(), flow(service, pattern, 700, 50));
            let expected: Vec<_> = (0..50).map(|sequence| (sequence, 700)).collect();
            assert_eq!(delivered(&receiver), expected, "{service:?} {pattern:?}");
            let asks = matches!(
                pattern,
                Pattern::ConstantRateRequest { .. } | Pattern::MaximumRateRequest { .. }
            );
            let answers = sender.iter().filter(|r| matches!(r.event, Event::Answered { .. }));
            assert_eq!(answers.count(), if asks { 50 } else { 0 }, "{service:?} {pattern:?}");
            assert!(sender.iter().any(|record| record.event == Event::Done));
            assert!(is_end(sender.last().unwrap()), "{:?}", sender.last());
            if service != Service::Datagram {
                assert!(is_end(receiver.last().unwrap()), "{:?}", receiver.last());
            }
        }
    }
}

#[test]
fn padding_of_a_short_frame_is_not_user_data() {
    // IEEE 802.3: at least 60 octets. A DT of 20 octets would be read as one of more.
    let bulk = flow(Service::Class4, Pattern::Bulk, 20, 40);
    for checksum in [false, true] {
        let transport = Params { checksum, ..Params::lan() };
        let padded = std::cell::Cell::new(0);
        let pad = |frame: Frame| {
            let mut octets = frame.to_bytes().to_vec();
            padded.set(padded.get() + u32::from(octets.len() < 60));
            octets.resize(octets.len().max(60), 0xA5);
            Packet::new(octets.into())
        };
        let [_, receiver] = run_over(&transport, bulk.clone(), pad);
        let expected: Vec<_> = (0..40).map(|sequence| (sequence, 20)).collect();
        assert_eq!(delivered(&receiver), expected, "checksum {checksum}");
        assert!(padded.get() > 40, "only {} frames were short", padded.get());
    }
}

const MESSAGE: MessageOptions =
    MessageOptions { crc: false, acknowledged: false, transmissions: 2, timeout: None };

#[test]
fn messages_arrive_once_and_acknowledgements_are_recorded() {
    let cyclic = Pattern::Cyclic { period: Duration::from_millis(5) };
    for pattern in [cyclic, Pattern::Bulk] {
        for (acknowledged, crc) in [(false, false), (false, true), (true, false), (true, true)] {
            let service = Service::Message(MessageOptions { acknowledged, crc, ..MESSAGE });
            let [sender, receiver] = run(&Params::lan(), flow(service, pattern, 200, 100));
            let all: Vec<_> = (0..100).map(|sequence| (sequence, 200)).collect();
            assert_eq!(delivered(&receiver), all, "{service:?}");
            let said = sender.iter().filter(|r| matches!(r.event, Event::Acknowledged { .. }));
            assert_eq!(said.count(), if acknowledged { 100 } else { 0 });
            assert!(!sender.iter().any(|record| matches!(record.event, Event::Failed { .. })));
            assert!(is_end(sender.last().unwrap()), "{:?}", sender.last());
        }
    }
}

#[test]
fn a_station_sends_its_most_important_message_first() {
    let of = |id, priority, size| {
        let priority = Priority::new(priority).unwrap();
        let service = Service::Message(MESSAGE);
        Flow { id: FlowId(id), priority, ..flow(service, Pattern::Bulk, size, 3) }
    };
    let class4 = Flow { id: FlowId(9), ..flow(Service::Class4, Pattern::Bulk, 50, 1) };
    let flows = vec![class4, of(0, 0, 100), of(1, 7, 107), of(2, 3, 103)];
    let mut host = host(1, Params::lan(), flows);
    host.expire(Instant::ZERO);
    let mut sizes = Vec::new();
    while let Some(frame) = host.poll() {
        sizes.push(frame.len());
        assert_eq!(host.poll(), None, "one frame at a time");
        host.transmitted(Instant::ZERO, 0, Transmission::Sent);
    }
    // 14 octets of MAC header and 3 of LLC around each message; the connection request comes last.
    let messages = [124, 124, 124, 120, 120, 120, 117, 117, 117];
    assert_eq!(sizes[..9], messages);
    assert_eq!(sizes.len(), 10);
}

#[test]
fn cyclic_messages_are_delivered_on_time_on_a_lan_without_delay() {
    let pattern = Pattern::Cyclic { period: Duration::from_millis(20) };
    let [_, receiver] = run(&Params::lan(), flow(Service::Class4, pattern, 200, 100));
    for record in &receiver {
        if let Event::Delivered { sequence, planned, sent, .. } = record.event {
            assert_eq!(planned, Instant::ZERO + Duration::from_millis(20) * sequence);
            assert_eq!((record.at, sent), (planned, Some(planned)));
        }
    }
}

#[test]
fn returned_buffers_keep_a_window_of_one_moving() {
    let transport = Params { credit: Credit::ByUser, window: 1, ..Params::lan() };
    let [_, receiver] = run(&transport, flow(Service::Class4, Pattern::Bulk, 5_000, 40));
    assert_eq!(delivered(&receiver).len(), 40);
}

#[test]
fn a_host_that_does_not_accept_says_so() {
    let quiet = HostParams {
        address: Mac::local(2),
        transport: Params::lan(),
        network: clnp::Params::inactive(Nsap::of_station(Mac::local(2))),
        last_reference: 0,
        accepts: false,
        saps: Vec::new(),
        framing: stack::profile::Framing::Ieee8023,
        messaging: None,
    };
    let mut hosts = [
        host(1, Params::lan(), vec![flow(Service::Class4, Pattern::Bulk, 100, 1)]),
        Host::new(quiet, Vec::new()),
    ];
    hosts[0].expire(Instant::ZERO);
    for _ in 0..4 {
        for of in [0, 1] {
            while let Some(frame) = hosts[of].poll() {
                hosts[1 - of].receive(Instant::ZERO, frame);
            }
        }
    }
    let ended = std::iter::from_fn(|| hosts[0].record()).last().map(|record| record.event);
    assert_eq!(ended, Some(Event::Ended { reason: "refused: no such TSAP", orderly: false }));
}

/// Parameters for the full header on an 802.3 LAN, and TPDUs of 8,192 octets, which exceed a frame.
fn segmenting(number: u32) -> (clnp::Params, Params) {
    let network = clnp::Params::full(Nsap::of_station(Mac::local(number)));
    (network, Params { tpdu_octets: 8_192, nsdu_octets: 8_192, ..Params::lan() })
}

/// Runs two hosts until no output is left; the first has the flow.
fn until_silent(hosts: &mut [Host; 2]) -> [Vec<Record>; 2] {
    let mut records = [Vec::new(), Vec::new()];
    for _ in 0..2_000 {
        for of in [0, 1] {
            while let Some(frame) = hosts[of].poll() {
                assert!(frame.len() <= 1_514, "a frame of {} octets", frame.len());
                hosts[1 - of].receive(Instant::ZERO, frame);
                hosts[of].transmitted(Instant::ZERO, 0, Transmission::Sent);
            }
            records[of].extend(std::iter::from_fn(|| hosts[of].record()));
        }
    }
    records
}

#[test]
fn tpdus_longer_than_a_frame_go_in_segments() {
    let [mut one, two] = [1, 2].map(segmenting);
    one.1.concatenate = true;
    let bulk = flow(Service::Class4, Pattern::Bulk, 20_000, 3);
    let mut hosts = [host_over(1, one.0, one.1, vec![bulk]), host_over(2, two.0, two.1, vec![])];
    hosts[0].expire(Instant::ZERO);
    let [_, receiver] = until_silent(&mut hosts);
    assert_eq!(delivered(&receiver).len(), 3);
    // A DT of 8,192 octets needs more than 5 x 1,460 octets of room and less than 6: six segments. A
    // message of 20,000 octets is two such DTs and one of some 3,600 octets in three segments.
    assert_eq!(hosts[0].network().unwrap().counters().segments_sent, 3 * (6 + 6 + 3));
    assert_eq!(hosts[1].network().unwrap().counters(), &clnp::Counters::default());
}

#[test]
fn hosts_with_inactive_subset_and_full_header_interoperate() {
    let (network, transport) = segmenting(1);
    let request = Pattern::MaximumRateRequest { reply_octets: 4_000 };
    let asks = flow(Service::Class4, request, 9_000, 4);
    for in_kind in [0, 4] {
        let answers = clnp::Params::inactive(Nsap::of_station(Mac::local(2)));
        let answers = clnp::Params { in_kind, ..answers };
        // It accepts long TPDUs, and sends none that does not fit after the one octet.
        let large = Params { tpdu_octets: 8_192, ..Params::lan() };
        let one = host_over(1, network.clone(), transport.clone(), vec![asks.clone()]);
        let mut hosts = [one, host_over(2, answers, large, vec![])];
        hosts[0].expire(Instant::ZERO);
        let [asker, answerer] = until_silent(&mut hosts);
        assert_eq!(delivered(&answerer).len(), 4, "{in_kind}");
        let answered = |record: &&Record| matches!(record.event, Event::Answered { .. });
        assert_eq!(asker.iter().filter(answered).count(), 4, "{in_kind}");
        assert_eq!(hosts[1].network().unwrap().counters().segments_sent > 0, in_kind > 0);
    }
}

/// Number of times that host 1 examines its flows while each sends two messages, at times of its
/// own.
fn looks(flows: u16) -> u64 {
    let period = Duration::from_secs(15);
    let transport = Params { connections: 20_000, ..Params::lan() };
    let each = |number: u16| Flow {
        id: FlowId(number),
        start: Instant::ZERO + Duration::from_millis(1) * u32::from(number),
        ..flow(Service::Class4, Pattern::Cyclic { period }, 100, 2)
    };
    let flows = (0..flows).map(each).collect();
    let mut hosts = [host(1, transport.clone(), flows), host(2, transport, vec![])];
    let mut now = Instant::ZERO;
    while !hosts[0].is_done() {
        now = now.max(hosts.iter().filter_map(Station::deadline).min().unwrap().at);
        for of in [0, 1] {
            hosts[of].expire(now);
            while let Some(frame) = hosts[of].poll() {
                hosts[of].transmitted(now, 0, Transmission::Sent);
                hosts[1 - of].receive(now, frame);
                while let Some(frame) = hosts[1 - of].poll() {
                    hosts[1 - of].transmitted(now, 0, Transmission::Sent);
                    hosts[of].receive(now, frame);
                }
            }
            hosts.iter_mut().for_each(|host| while host.record().is_some() {});
        }
    }
    assert_eq!(hosts[0].transport().counters().sent_again, 0);
    hosts[0].looks()
}

#[test]
fn a_flow_is_examined_as_often_among_ten_thousand_as_alone() {
    let alone = looks(1);
    for flows in [100, 10_000] {
        assert_eq!(looks(flows), u64::from(flows) * alone);
    }
    println!("seen: a flow of 2 messages is examined {alone} times, alone or among 10,000");
}

/// Due times, in milliseconds, of the messages of a flow that starts at 10 ms, at a station that wakes up at 25 ms for the
/// first time, and in which no more becomes due.
fn sent_late(flow: Flow, published: Option<Content>) -> Vec<u64> {
    let ms = |ms| Instant::ZERO + Duration::from_millis(ms);
    let id = flow.id;
    let mut station = host(1, Params::lan(), vec![Flow { start: ms(10), ..flow }]);
    let publication = |content| (id, Publication { group: None, tag: None, content });
    station.publish(published.map(publication).into_iter().collect());
    station.expire(ms(25));
    station.wind_up(ms(25));
    let sent = core::iter::from_fn(|| station.record()).filter_map(|record| match record.event {
        Event::Sent { planned, .. } => Some((planned, record.at)),
        _ => None,
    });
    let due = sent.map(|(planned, at)| {
        assert_eq!(at, ms(25));
        planned.as_nanos() / 1_000_000
    });
    due.collect()
}

#[test]
fn messages_due_before_a_late_wake_up_are_late_and_not_absent() {
    let pattern = Pattern::Cyclic { period: Duration::from_millis(2) };
    let due = sent_late(flow(Service::Datagram, pattern, 100, 1_000), None);
    assert_eq!(due, [10, 12, 14, 16, 18, 20, 22, 24]);
}

#[test]
fn a_change_of_goose_before_a_late_wake_up_is_sent() {
    let plan = Retransmissions {
        curve: [4, 8].map(Duration::from_millis).to_vec(),
        maximum: Duration::from_secs(1),
        changes: vec![Instant::ZERO + Duration::from_millis(12)],
        mean_interval: None,
    };
    let control_block = "RELAY1LD/LLN0$GO$trips".to_owned();
    let goose = Goose { appid: 0x3001, control_block, revision: 7, allowed: None, plan };
    let flow = flow(Service::Published, Pattern::Retransmitted, 300, 1_000);
    assert_eq!(sent_late(flow, Some(Content::Goose(goose))), [10, 12, 16, 24]);
}

#[test]
fn a_flow_wound_up_before_its_connection_opens_never_sends() {
    let bulk = flow(Service::Class4, Pattern::Bulk, 100, 5);
    let mut hosts = [host(1, Params::lan(), vec![bulk]), host(2, Params::lan(), vec![])];
    hosts[0].expire(Instant::ZERO);
    let call = hosts[0].poll().unwrap();
    hosts[0].transmitted(Instant::ZERO, 0, Transmission::Sent);
    hosts[0].wind_up(Instant::ZERO);
    assert!(hosts[0].is_done());
    hosts[1].receive(Instant::ZERO, call);
    let [_, receiver] = until_silent(&mut hosts);
    assert_eq!(delivered(&receiver), []);
    assert!(hosts[0].is_done());
}

#[test]
fn a_blocked_connection_does_not_delay_replies_on_another() {
    // Two clients request long replies from host 1; the first never acknowledges any.
    let period = Duration::from_millis(1);
    let request = Pattern::ConstantRateRequest { period, reply_octets: 60_000 };
    let of = |number, id| {
        let asks = flow(Service::Class4, request, 50, 20);
        let flow = Flow { id: FlowId(id), peer: Mac::local(1), ..asks };
        host(number, Params::lan(), vec![flow])
    };
    let (mut server, mut mute, mut well) = (host(1, Params::lan(), vec![]), of(2, 2), of(3, 3));
    let mut answered = 0;
    for ms in 0..200 {
        let now = Instant::ZERO + Duration::from_millis(ms);
        for host in [&mut server, &mut mute, &mut well] {
            host.expire(now);
        }
        for _ in 0..200 {
            for client in [&mut mute, &mut well] {
                while let Some(frame) = client.poll() {
                    client.transmitted(now, 0, Transmission::Sent);
                    server.receive(now, frame);
                }
            }
            while let Some(frame) = server.poll() {
                server.transmitted(now, 0, Transmission::Sent);
                let to = destination(&frame);
                // After the handshake nothing reaches the first client any more.
                let is_long = frame.len() > 500;
                if to == Some(well.addr()) {
                    well.receive(now, frame);
                } else if !is_long {
                    mute.receive(now, frame);
                }
            }
            let records = std::iter::from_fn(|| well.record());
            answered += records.filter(|r| matches!(r.event, Event::Answered { .. })).count();
        }
    }
    assert_eq!(answered, 20, "the second client has all its replies");
}
