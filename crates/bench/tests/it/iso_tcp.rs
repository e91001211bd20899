//! Sessions over TCP on loopback: two tidewire ends, and peers that are not tidewire.

use bench::scenario;
use bench::session::foreign::{Inquiry, inquire};
use bench::session::initiator::{Order, measure_iso_tcp};
use bench::session::iso_tcp::{Class, End, IsoWay, IsoWayParams};
use bench::session::responder::{Responder, Served};
use bench::session::{SessionError, initiator::Measured};
use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use live::clock;
use stack::transport::Reason;
use std::thread;
use wire::addr::Mac;
use wire::tp::Kind;

const FREE: Class = Class::Class2 { flow_control: false };
const EXPLICIT: Class = Class::Class2 { flow_control: true };

fn way(end: End, class: Class, echoes: bool) -> IsoWay {
    IsoWay::open(IsoWayParams { end, class, echoes, frames_per_second: None }).unwrap()
}

/// Runs `body` next to a server; returns the server's result of the first session too.
fn with_server<T>(body: impl FnOnce(SocketAddr) -> T) -> (T, Option<Served>) {
    let server = way(End::Server("127.0.0.1:0".parse().unwrap()), Class::Class0, true);
    let address = server.address().unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let serving = scope.spawn(|| {
            let mut responder = Responder::iso_tcp(server).unwrap();
            let served = responder.serve(clock::now() + Duration::from_secs(60), &stop).unwrap();
            // A client disconnected by the end of the session must not hang.
            drop(responder);
            served
        });
        let found = body(address);
        stop.store(true, Ordering::Relaxed);
        (found, serving.join().unwrap())
    })
}

fn measured(address: SocketAddr, class: Class, flow: &str) -> Result<Measured, SessionError> {
    let text = format!(
        "version = 1\ntitle = \"a session\"\nstop = {{ after = \"20 s\", warmup = \"none\" }}\n\
         medium = {{ kind = \"ideal\", rate = \"100 Mbit/s\" }}\n\
         [[station]]\nname = \"here\"\n[[station]]\nname = \"there\"\n\
         [[flow]]\nname = \"load\"\nfrom = \"here\"\nto = \"there\"\n{flow}\n"
    );
    let study = scenario::load(&text, "session.toml").unwrap_or_else(|error| panic!("{error}"));
    let order = Order {
        point: &study.points[0],
        scenario_hash: "hash",
        replication: 0,
        peer: Mac::local(9),
        to_groups: true,
        stop: &AtomicBool::new(false),
        progress: &mut |_| {},
        messages: None,
    };
    measure_iso_tcp(&mut way(End::Client(address), class, false), order)
}

#[test]
fn two_ends_agree_and_count_the_same_in_every_class() {
    let bulk = "service = \"class-4\"\nsize = \"1000 B\"\n\
                pattern = { kind = \"bulk\", total = \"2 MB\" }";
    for (class, aks) in [(Class::Class0, false), (FREE, false), (EXPLICIT, true)] {
        let (measured, served) = with_server(|address| measured(address, class, bulk).unwrap());
        let served = served.expect("a peer calls");
        assert!(measured.failure.is_none() && served.complete, "{class:?}");
        assert_eq!(served.counts, measured.peer);
        assert_eq!((measured.peer.delivered, measured.peer.octets), (2_000, 2_000_000));
        assert_eq!((measured.peer.duplicates, measured.peer.damaged), (0, 0));
        assert_eq!(measured.sample.flows[0].lost, 0);
        assert_eq!(served.delay.count(), 2_000, "both ends are on this host");
        let received = measured.transport.received;
        assert_eq!(received[Kind::Ak as usize] > 0, aks, "{class:?}");
        // One connection for the load and one for the control session: two CRs, and a DR in class 2.
        assert_eq!(measured.transport.sent[Kind::Cr as usize], 2);
        assert_eq!(measured.transport.sent[Kind::Dr as usize], u64::from(class != Class::Class0));
    }
}

#[test]
fn response_times_are_those_of_every_request() {
    let requests = "service = \"class-4\"\nsize = \"64 B\"\nmessages = 300\n\
                    pattern = { kind = \"maximum-rate-request\", reply = \"100 B\" }";
    let (measured, _) = with_server(|address| measured(address, Class::Class0, requests).unwrap());
    let flow = &measured.sample.flows[0];
    assert_eq!((flow.sent, flow.answered, flow.response.count), (300, 300, 300));
    assert!(measured.sample.complete && flow.done, "{flow:?}");
}

#[test]
fn missing_servers_datagrams_and_priorities_are_rejected() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let bulk = "service = \"class-4\"\nsize = \"100 B\"\n\
                pattern = { kind = \"bulk\", total = \"1 kB\" }";
    let error = measured(free, Class::Class0, bulk).unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&format!("no answer from iso-tcp://{free}")), "{text}");
    let datagrams = bulk.replace("class-4", "datagram");
    let error = measured(free, Class::Class0, &datagrams).unwrap_err();
    assert!(matches!(error, SessionError::NoConnection(_)), "{error}");
    let urgent = format!("{bulk}\npriority = 1");
    let error = measured(free, Class::Class0, &urgent).unwrap_err();
    assert!(matches!(error, SessionError::NoPriority(_)), "{error}");
}

fn inquiry(remote: SocketAddr) -> Inquiry {
    Inquiry {
        remote,
        class: Class::Class0,
        called: vec![1, 1],
        calling: vec![1, 0],
        connections: 5,
        pause: Duration::from_millis(10),
        echoes: 3,
        echo_octets: 20_000,
        patience: Duration::from_secs(5),
    }
}

#[test]
fn a_foreign_peer_gets_only_connections_and_echo_requests() {
    for (class, size) in [(Class::Class0, 2_048), (FREE, 2_048)] {
        let (found, served) = with_server(|address| {
            let inquiry = Inquiry { class, ..inquiry(address) };
            inquire(&inquiry, &AtomicBool::new(false)).unwrap()
        });
        assert!(served.is_none(), "there was no session");
        assert_eq!((found.asked, found.opened, found.setup.count()), (5, 5, 5));
        assert_eq!((found.response.count(), found.differing, found.unanswered), (15, 0, 0));
        assert_eq!((found.class, found.tpdu_octets, found.failure), (Some(class), size, None));
    }
}

#[test]
fn an_absent_or_silent_peer_costs_only_the_timeout() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let patience = Duration::from_millis(50);
    let slow = Inquiry { connections: 2, patience, ..inquiry(address) };
    let found = inquire(&slow, &AtomicBool::new(false)).unwrap();
    assert_eq!((found.asked, found.opened, found.failure), (2, 0, Some(Reason::NoAnswer)));
    drop(silent);
    let found = inquire(&slow, &AtomicBool::new(false)).unwrap();
    assert_eq!((found.asked, found.opened, found.failure), (2, 0, Some(Reason::NetworkLost)));
    let far = Inquiry { remote: "192.0.2.1:102".parse().unwrap(), ..slow };
    assert!(matches!(inquire(&far, &AtomicBool::new(false)), Err(SessionError::TooFar(_))));
}
