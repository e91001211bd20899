//! Live runs: a whole scenario in this process, and two tidewire ends over UDP on loopback.

use bench::scenario::{self, Point, Setting, Study, Transport, Values};
use bench::session::initiator::{self, Measured};
use bench::session::responder::{Responder, Served};
use bench::session::way::{Way, WayParams, Wire, faults, udp_station};
use bench::session::{SessionError, SoFar, local};
use bench::titles::Entries;
use core::sync::atomic::AtomicBool;
use core::time::Duration;
use live::clock;
use std::fs::File;
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::thread;
use wire::capture::Capture;

fn study(flow: &str) -> Study {
    study_with(flow, &[])
}

fn study_with(flow: &str, settings: &[Setting]) -> Study {
    let text = format!(
        r#"
version = 1
title = "a session"
stop = {{ after = "120 s", warmup = "none" }}
medium = {{ kind = "ideal", rate = "100 Mbit/s" }}
transport = {{ t1 = "20 ms", n = 100 }}
[[station]]
name = "here"
[[station]]
name = "there"
[[flow]]
name = "load"
from = "here"
to = "there"
service = "class-4"
{flow}
"#
    );
    scenario::load_with(&text, "session.toml", settings).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns an address that is free now.
fn free_address() -> SocketAddr {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.local_addr().unwrap()
}

fn way(address: SocketAddr, peer: Option<SocketAddr>, loss: f64) -> Way {
    captured_way(address, peer, loss, None)
}

fn captured_way(
    address: SocketAddr,
    peer: Option<SocketAddr>,
    loss: f64,
    capture: Option<PathBuf>,
) -> Way {
    let faults = (loss > 0.0).then(|| faults(&format!("loss={} %", loss * 100.0)).unwrap());
    Way::open(&WayParams {
        wire: Wire::Udp { address, peer },
        faults,
        seed: 7,
        capture,
        frames_per_second: None,
    })
    .unwrap()
}

/// Runs one sample between two ends; returns the results of the measuring and of the answering end.
pub(crate) fn both_ends(point: &Point, loss: f64) -> (Measured, Served) {
    both_ends_captured(point, loss, None)
}

/// Like [`both_ends`] without loss; the answering end has a directory of these titles.
pub(crate) fn both_ends_named(point: &Point, titles: Entries) -> (Measured, Served) {
    between(point, Conditions { titles: Some(titles), ..Conditions::default() })
}

/// Like [`both_ends`], with a capture at the measuring end.
fn both_ends_captured(point: &Point, loss: f64, capture: Option<PathBuf>) -> (Measured, Served) {
    between(point, Conditions { loss, capture, titles: None })
}

/// Conditions of a sample between two ends.
#[derive(Default)]
struct Conditions {
    loss: f64,
    /// Capture at the measuring end.
    capture: Option<PathBuf>,
    /// Titles of the answering end's directory.
    titles: Option<Entries>,
}

/// Measures the first run of a point against the station at an address.
fn measured_at(way: &mut Way, point: &Point, there: SocketAddr) -> Result<Measured, SessionError> {
    let order = initiator::Order {
        point,
        scenario_hash: "hash",
        replication: 0,
        peer: udp_station(there),
        to_groups: true,
        stop: &AtomicBool::new(false),
        progress: &mut |_| {},
        messages: None,
    };
    initiator::measure(way, order)
}

fn between(point: &Point, conditions: Conditions) -> (Measured, Served) {
    let Conditions { loss, capture, titles } = conditions;
    let (here, there) = (free_address(), free_address());
    let responder_way = way(there, None, loss);
    let responder = thread::spawn(move || {
        let mut responder = Responder::new(responder_way, &Transport::lan()).unwrap();
        if let Some(titles) = titles {
            responder = responder.with_directory(titles.directory_at(udp_station(there)));
        }
        let until = clock::now() + Duration::from_secs(60);
        responder.serve(until, &AtomicBool::new(false)).unwrap()
    });
    let mut way = captured_way(here, Some(there), loss, capture);
    let measured = measured_at(&mut way, point, there).unwrap();
    way.close().unwrap();
    (measured, responder.join().unwrap().expect("a peer calls"))
}

#[test]
fn a_local_run_accounts_for_every_message() {
    let study = study(
        "pattern = { kind = \"maximum-rate-request\", reply = \"100 B\" }\nsize = \"64 B\"\nmessages = 200",
    );
    let stop = AtomicBool::new(false);
    let sample = local::measure(&study.points[0], "hash", 0, &stop).unwrap();
    let flow = &sample.flows[0];
    assert!(sample.complete && flow.done, "{flow:?}");
    assert_eq!((flow.sent, flow.delivered, flow.answered, flow.lost), (200, 200, 200, 0));
    assert_eq!((flow.delay.count, flow.response.count), (200, 200));
}

#[test]
fn a_local_run_reports_its_counts_while_it_lasts() {
    let study = study(
        "pattern = { kind = \"cyclic\", period = \"10 ms\" }\nsize = \"64 B\"\nmessages = 60",
    );
    let mut told = Vec::new();
    let mut progress = |so_far: &SoFar| told.push(so_far.sent);
    let stop = AtomicBool::new(false);
    local::measure_with(&study.points[0], "hash", 0, &stop, &mut progress, None).unwrap();
    // 0.6 s, and a report ten times a second.
    assert!(told.len() > 2 && told.is_sorted(), "{told:?}");
    assert!(told.iter().any(|sent| (1..60).contains(sent)), "{told:?}");
}

#[test]
fn two_ends_agree_and_count_the_same_with_and_without_loss() {
    for loss in [0.0, 0.05] {
        let study = study("pattern = { kind = \"bulk\", total = \"300 kB\" }\nsize = \"1000 B\"");
        let (measured, served) = both_ends(&study.points[0], loss);
        assert!(served.complete);
        assert_eq!(served.counts, measured.peer);
        let delivered = (measured.peer.delivered, measured.peer.octets);
        let (flow, transport) = (&measured.sample.flows[0], &measured.transport);
        assert_eq!(delivered, (300, 300_000), "{flow:?} {transport:?}");
        assert_eq!((measured.peer.duplicates, measured.peer.damaged), (0, 0));
        assert_eq!(measured.sample.flows[0].lost, 0);
        assert_eq!(measured.transport.t1 > 0, loss > 0.0, "T1 runs out only where frames are lost");
        // Both ends are in this process, so the delay of each message is known.
        assert_eq!(served.delay.count(), 300);
    }
}

#[test]
fn a_responder_takes_long_tpdus_in_segments_and_answers_in_kind() {
    let settings = [("network.protocol", "clnp"), ("transport.tpdu", "8192 B")];
    let settings = settings.map(|(path, value)| Setting {
        path: path.to_owned(),
        values: Values::List(vec![value.to_owned()]),
    });
    let flow = "pattern = { kind = \"maximum-rate-request\", reply = \"4000 B\" }\nsize = \"9000 B\"\n\
                messages = 50";
    let study = study_with(flow, &settings);
    let (measured, served) = both_ends(&study.points[0], 0.0);
    assert!(served.complete);
    let flow = &measured.sample.flows[0];
    assert_eq!((flow.sent, flow.delivered, flow.answered, flow.lost), (50, 50, 50, 0));
    // 9,000 octets: a DT of 8,192 with its header in six segments, and one of some 830 in one PDU.
    assert!(measured.sample.counts["network.segments"] >= 50 * 6);
    assert_eq!(measured.sample.counts["network.discarded"], 0);
    assert_eq!(measured.sample.counts["network.reported"], 0);
}

/// Number of AKs that a responder sends for 20 DTs which follow each other after their answers.
fn acknowledgements(settings: &[(&str, &str)]) -> u64 {
    let settings = settings.iter().map(|(path, value)| Setting {
        path: format!("transport.{path}"),
        values: Values::List(vec![(*value).to_owned()]),
    });
    let flow =
        "pattern = { kind = \"cyclic\", period = \"2 ms\" }\nsize = \"100 B\"\nmessages = 20";
    let study = study_with(flow, &settings.collect::<Vec<_>>());
    let (measured, served) = both_ends(&study.points[0], 0.0);
    assert_eq!(measured.peer.delivered, 20);
    served.transport.sent[wire::tp::Kind::Ak as usize]
}

#[test]
fn a_responder_acknowledges_as_the_scenario_says() {
    // An AK for each DT at least.
    let each = acknowledgements(&[("acknowledge", "each")]);
    assert!(each >= 20, "{each}");
    // A_L never expires: an AK each ten DTs, and the one that completes the connection.
    let withheld = [("acknowledge-every", "10"), ("acknowledgement-delay", "5 s"), ("t1", "10 s")];
    let tenth = acknowledgements(&withheld);
    assert!((2..=4).contains(&tenth), "{tenth}");
}

#[test]
fn the_next_session_begins_with_the_policy_of_the_responder() {
    let (here, there) = (free_address(), free_address());
    let responder_way = way(there, None, 0.0);
    let responder = thread::spawn(move || {
        let mut responder = Responder::new(responder_way, &Transport::lan()).unwrap();
        let until = clock::now() + Duration::from_secs(60);
        let go_on = AtomicBool::new(false);
        [(); 2].map(|()| responder.serve(until, &go_on).unwrap().unwrap())
    });
    let flow = "pattern = { kind = \"bulk\", total = \"30 kB\" }\nsize = \"1000 B\"";
    let mut way = way(here, Some(there), 0.0);
    for acknowledge in ["each", "withhold"] {
        let setting = Setting {
            path: "transport.acknowledge".to_owned(),
            values: Values::List(vec![acknowledge.to_owned()]),
        };
        let study = study_with(flow, &[setting]);
        assert_eq!(measured_at(&mut way, &study.points[0], there).unwrap().peer.delivered, 30);
    }
    let served = responder.join().unwrap();
    let [each, second] = served.map(|served| served.transport.sent[wire::tp::Kind::Ak as usize]);
    assert!(each >= 30 && second < 30, "{each} and {second} AKs for 30 DTs");
}

#[test]
fn a_window_that_the_responder_has_no_buffers_for_is_refused() {
    let setting = |value: &str| Setting {
        path: "transport.window".to_owned(),
        values: Values::List(vec![value.to_owned()]),
    };
    let flow = "pattern = { kind = \"bulk\", total = \"1 kB\" }\nsize = \"100 B\"";
    let study = study_with(flow, &[setting("15361")]);
    let (here, there) = (free_address(), free_address());
    let responder_way = way(there, None, 0.0);
    let (stop, asked) = (AtomicBool::new(false), &AtomicBool::new(false));
    thread::scope(|scope| {
        let stop = &stop;
        scope.spawn(move || {
            let mut responder = Responder::new(responder_way, &Transport::lan()).unwrap();
            let until = clock::now() + Duration::from_secs(60);
            responder.serve(until, stop).unwrap();
        });
        let mut way = way(here, Some(there), 0.0);
        let order = initiator::Order {
            point: &study.points[0],
            scenario_hash: "hash",
            replication: 0,
            peer: udp_station(there),
            to_groups: true,
            stop: asked,
            progress: &mut |_| {},
            messages: None,
        };
        let error = initiator::measure(&mut way, order).unwrap_err();
        stop.store(true, core::sync::atomic::Ordering::Relaxed);
        assert!(matches!(error, SessionError::Policy { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("window=15361") && text.contains("above 15,360"), "{text}");
    });
}

/// Returns the longest frame that a caller captured of a transfer with or without the checksum.
fn longest_frame_octets(checksum: &str) -> usize {
    let asked = [Setting {
        path: "transport.checksum".to_owned(),
        values: Values::List(vec![checksum.to_owned()]),
    }];
    let flow = "pattern = { kind = \"bulk\", total = \"20 kB\" }\nsize = \"1000 B\"";
    let study = study_with(flow, &asked);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen.pcapng");
    let (measured, _) = both_ends_captured(&study.points[0], 0.0, Some(path.clone()));
    assert_eq!(measured.peer.delivered, 20);
    let mut capture = Capture::open(File::open(path).unwrap()).unwrap();
    let mut longest = 0;
    while let Some(record) = capture.next().unwrap() {
        longest = longest.max(record.octets.len());
    }
    longest
}

#[test]
fn the_caller_says_whether_there_is_a_checksum() {
    // ISO 8073 13.2.3.1: the parameter has code, length and two octets.
    let (without, with) = (longest_frame_octets("false"), longest_frame_octets("true"));
    assert!(without > 1_000, "{without}");
    assert_eq!(with, without + 4);
}

#[test]
fn an_absent_peer_is_reported() {
    let study = study("pattern = { kind = \"bulk\", total = \"1 kB\" }\nsize = \"100 B\"");
    let (here, there) = (free_address(), free_address());
    let mut way = way(here, Some(there), 0.0);
    let error = measured_at(&mut way, &study.points[0], there).unwrap_err();
    assert!(matches!(error, SessionError::NoAnswer(_)), "{error}");
}

/// Four stations, two that send messages over each service to two that receive.
const CREW: &str = r#"
version = 1
title = "many flows against a peer"
stop = { after = "1 s", warmup = "100 ms" }
medium = { kind = "pronet-10", length = "100 m" }
transport = { t1 = "20 ms" }
stations = { count = 4, prefix = "s" }
[[flow]]
name = "order"
from = "s-1"
to = "s-3"
service = "message"
acknowledged = true
crc = true
priority = 7
retries = 1
pattern = { kind = "cyclic", period = "5 ms" }
size = "60 B"
deadline = "900 ms"
[[flow]]
name = "state"
from = "s-2"
to = "s-4"
service = "message"
pattern = { kind = "cyclic", period = "10 ms" }
size = "700 B"
deadline = "1 us"
[[flow]]
name = "status"
from = "s-3"
to = "s-1"
service = "class-4"
pattern = { kind = "cyclic", period = "20 ms" }
size = "200 B"
[[flow]]
name = "beacon"
from = "s-4"
to = "s-1"
service = "datagram"
pattern = { kind = "cyclic", period = "50 ms" }
size = "46 B"
"#;

#[test]
fn against_a_peer_every_flow_is_judged_message_by_message() {
    for loss in [0.0, 0.1] {
        let study = scenario::load(CREW, "crew.toml").unwrap_or_else(|error| panic!("{error}"));
        let (measured, served) = both_ends(&study.points[0], loss);
        assert_eq!(served.counts, measured.peer);
        let flows = &measured.sample.flows;
        // Of 200, 100, 50 and 20 messages in a second those of the first tenth are not judged.
        let sent: Vec<u64> = flows.iter().map(|flow| flow.sent).collect();
        // A host that is late at the end omits some of the last messages.
        for (sent, due) in sent.iter().zip([180, 90, 45, 18]) {
            assert!((1..=due).contains(sent), "{sent} of {due} messages");
        }
        assert!(measured.sent > sent.iter().sum(), "the warm-up's are counted here");
        for flow in flows {
            assert_eq!(flow.delivered + flow.lost, flow.sent, "{flow:?}");
            assert_eq!(flow.delay.count, flow.delivered, "both ends share a clock: {flow:?}");
            assert_eq!((flow.duplicated, flow.acknowledged_and_lost), (0, 0), "{flow:?}");
        }
        let [order, state, status, _] = flows.as_slice() else { panic!("{flows:?}") };
        assert_eq!(order.acknowledged + order.failed, order.sent);
        assert_eq!(status.lost, 0, "class 4 sends again");
        assert_eq!(state.missed, Some(state.sent), "no message takes less than 1 us");
        assert!(order.missed.is_some_and(|missed| missed >= order.lost), "{order:?}");
        if loss == 0.0 {
            assert_eq!((order.lost, order.failed, state.lost), (0, 0, 0));
        } else {
            assert!(state.lost > 0, "{state:?}");
        }
    }
}

#[test]
fn what_does_not_fit_into_802_3_is_said_before_anything_is_sent() {
    let text = CREW.replace("700 B", "1498 B");
    let study = scenario::load(&text, "crew.toml").unwrap_or_else(|error| panic!("{error}"));
    let (here, there) = (free_address(), free_address());
    let mut way = way(here, Some(there), 0.0);
    let error = measured_at(&mut way, &study.points[0], there).unwrap_err().to_string();
    assert_eq!(error, "messages of flow \"state\" are longer than the 1497 B that 802.3 carries");
}
