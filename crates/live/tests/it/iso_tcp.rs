//! Hosts on TCP connections: against each other, and against misbehaving sockets.

use bytes::Bytes;
use core::net::SocketAddr;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use live::clock;
use live::iso_tcp::{Counts, IsoTcp, IsoTcpParams};
use live::runner::{Control, Stopped};
use stack::host::{ConnectedParams, Host};
use stack::load::{Event, Flow, FlowId, Pattern, Record, Service};
use stack::messaging::Priority;
use stack::tp0::Params;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::thread;
use wire::addr::Mac;
use wire::control::Limits;
use wire::time::Instant;

/// CR of an iec61850-rs client, in its TPKT.
const CR: [u8; 22] =
    [3, 0, 0, 22, 0x11, 0xE0, 0, 0, 0, 1, 0, 0xC0, 1, 0x0D, 0xC1, 2, 0, 1, 0xC2, 2, 0, 1];
/// Time limit that is only reached on failure.
const LONG: Duration = Duration::from_secs(30);

/// Session named by load connections.
const SESSION: Option<u64> = Some(7);

fn params(connections: usize) -> ConnectedParams {
    let transport = Params { connections, ..Params::class0() };
    ConnectedParams { transport, accepts: true, echoes: true }
}

/// Runs a server in a separate thread while `body` runs; returns its records and counters.
fn with_server(
    params: ConnectedParams,
    body: impl FnOnce(SocketAddr),
) -> (Host, Vec<Record>, Counts) {
    let listen = Some("127.0.0.1:0".parse().unwrap());
    let mut wire = IsoTcp::open(IsoTcpParams { listen, remote: None }).unwrap();
    let address = wire.address().unwrap();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let server = scope.spawn(|| {
            let mut host = Host::connected(params);
            host.take_part(clock::now(), SESSION);
            let mut records = Vec::new();
            let stopped = wire.run(&mut host, Instant::MAX, &stop, |host, _| {
                records.extend(core::iter::from_fn(|| host.record()));
                Control::Continue
            });
            assert_eq!(stopped.unwrap(), Stopped::Flagged);
            // All clients are gone by now, so every connection must end as well.
            let go_on = AtomicBool::new(false);
            let stopped = wire.run(&mut host, clock::now() + LONG, &go_on, |host, _| {
                records.extend(core::iter::from_fn(|| host.record()));
                if host.transport().connections() == 0 { Control::Stop } else { Control::Continue }
            });
            assert_eq!(
                stopped.unwrap(),
                Stopped::Satisfied,
                "{} lines stay",
                host.transport().connections()
            );
            (host, records, wire.counts())
        });
        // Ends the server even if the body fails.
        struct End<'a>(&'a AtomicBool);
        impl Drop for End<'_> {
            fn drop(&mut self) {
                self.0.store(true, Ordering::Relaxed);
            }
        }
        let end = End(&stop);
        body(address);
        drop(end);
        server.join().unwrap()
    })
}

fn flow(id: u16, pattern: Pattern, messages: u64, size_octets: usize) -> Flow {
    Flow {
        id: FlowId(id),
        peer: Mac::local(1),
        service: Service::Class4,
        priority: Priority::LOWEST,
        pattern,
        size_octets,
        messages: Some(messages),
        start: Instant::ZERO,
        seed: 1,
    }
}

/// Runs flows against a server until each is over; returns this side's records.
fn carry_out(remote: SocketAddr, flows: Vec<Flow>, limits: Option<Limits>) -> Vec<Record> {
    let mut wire = IsoTcp::open(IsoTcpParams { listen: None, remote: Some(remote) }).unwrap();
    wire.limit(limits);
    let mut host = Host::connected(params(flows.len()));
    host.take_part(clock::now(), SESSION);
    flows.into_iter().for_each(|flow| host.add(flow));
    let (mut records, stop) = (Vec::new(), AtomicBool::new(false));
    let stopped = wire.run(&mut host, clock::now() + LONG, &stop, |host, _| {
        records.extend(core::iter::from_fn(|| host.record()));
        if host.is_done() { Control::Stop } else { Control::Continue }
    });
    assert_eq!(stopped.unwrap(), Stopped::Satisfied);
    records.extend(core::iter::from_fn(|| host.record()));
    records
}

fn count(records: &[Record], which: impl Fn(&Event) -> bool) -> usize {
    records.iter().filter(|record| which(&record.event)).count()
}

#[test]
fn forty_connections_at_once_deliver_every_message_whole() {
    let (_, records, counts) = with_server(params(64), |address| {
        let sizes = [20, 100, 8_190, 60_000];
        let flows = (0..40_u16).map(|id| flow(id, Pattern::Bulk, 50, sizes[usize::from(id % 4)]));
        let records = carry_out(address, flows.collect(), None);
        assert_eq!(count(&records, |event| *event == Event::Done), 40);
    });
    assert_eq!(count(&records, |event| matches!(event, Event::Delivered { .. })), 40 * 50);
    assert_eq!(count(&records, |event| matches!(event, Event::Damaged { .. })), 0);
    assert_eq!((counts.malformed, counts.broken, counts.cut, counts.refused), (0, 0, 0, 0));
}

#[test]
fn a_flow_ends_only_when_the_peer_has_read_everything() {
    // 20 MB exceed all socket buffers, so they cannot be in the kernel alone.
    let (_, records, _) = with_server(params(4), |address| {
        carry_out(address, vec![flow(1, Pattern::Bulk, 200, 100_000)], None);
    });
    assert_eq!(count(&records, |event| matches!(event, Event::Delivered { .. })), 200);
}

#[test]
fn every_request_is_answered() {
    with_server(params(4), |address| {
        let pattern = Pattern::MaximumRateRequest { reply_octets: 200 };
        let records = carry_out(address, vec![flow(1, pattern, 500, 100)], None);
        assert_eq!(count(&records, |event| matches!(event, Event::Answered { .. })), 500);
    });
}

#[test]
fn the_agreed_limits_are_kept() {
    with_server(params(4), |address| {
        let limits = Limits { frames_per_second: 100, bits_per_second: 1 << 40 };
        let records = carry_out(address, vec![flow(1, Pattern::Bulk, 30, 100)], Some(limits));
        let of = |which: fn(&Event) -> bool| {
            records.iter().find(|record| which(&record.event)).map(|record| record.at).unwrap()
        };
        let took =
            of(|event| *event == Event::Done) - of(|event| matches!(event, Event::Sent { .. }));
        // A burst of 10, including the CR, then one every 10 ms: the last of 30 after 210 ms.
        assert!(took >= Duration::from_millis(200), "{took:?}");
    });
}

/// Reads until `count` octets are there or the server closes.
fn read(stream: &mut TcpStream, count: usize) -> Vec<u8> {
    stream.set_read_timeout(Some(LONG)).unwrap();
    let mut octets = Vec::new();
    let _ = stream.take(count as u64).read_to_end(&mut octets);
    octets
}

/// Opens a connection to the echo.
fn opened(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(&CR).unwrap();
    let cc = read(&mut stream, 22);
    // The reference is the server's choice; the rest of the CC is fixed.
    assert_eq!((&cc[..8], &cc[10..]), (&[3, 0, 0, 22, 0x11, 0xD0, 0, 1][..], &CR[10..]));
    stream
}

fn packet(octets: usize) -> Vec<u8> {
    let mut packet = vec![3, 0];
    packet.extend((octets as u16 + 7).to_be_bytes());
    packet.extend([2, 0xF0, 0x80]);
    packet.resize(octets + 7, 0x5A);
    packet
}

#[test]
fn a_peer_that_closes_its_end_still_receives_waiting_data() {
    let (host, ..) = with_server(params(4), |address| {
        let mut stream = opened(address);
        for _ in 0..200 {
            stream.write_all(&packet(1_000)).unwrap();
        }
        stream.shutdown(Shutdown::Write).unwrap();
        let echoed = read(&mut stream, usize::MAX);
        assert_eq!(echoed, packet(1_000).repeat(200));
    });
    assert_eq!(host.echoed(), 200);
}

#[test]
fn an_echo_comes_back_wherever_the_stream_is_cut() {
    with_server(params(4), |address| {
        let whole = [packet(3), packet(9)].concat();
        for cut in 1..whole.len() {
            let mut stream = opened(address);
            stream.set_nodelay(true).unwrap();
            stream.write_all(&whole[..cut]).unwrap();
            thread::yield_now();
            stream.write_all(&whole[cut..]).unwrap();
            assert_eq!(read(&mut stream, whole.len()), whole, "cut at {cut}");
        }
    });
}

#[test]
fn a_protocol_violation_closes_only_the_peers_own_connection() {
    let (host, _, counts) = with_server(params(8), |address| {
        let mut witness = opened(address);
        // No TPKT; a TPKT followed by something else; a truncated packet; no CR first; a CR and a
        // second one.
        for octets in [
            &b"GET / HTTP/1.1\r\n\r\n"[..],
            &[&CR[..], b"no packet"].concat(),
            &[&CR[..], &packet(9)[..8]].concat(),
            &packet(9),
            &[CR, CR].concat(),
        ] {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(octets).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            read(&mut stream, usize::MAX);
        }
        // A reset connection: it is dropped while unread data is pending.
        let mut rude = opened(address);
        rude.write_all(&packet(60)).unwrap();
        rude.peek(&mut [0; 1]).unwrap();
        drop(rude);
        witness.write_all(&packet(20)).unwrap();
        assert_eq!(read(&mut witness, 27), packet(20));
    });
    assert_eq!(counts.malformed, 2, "{counts:?}");
    assert_eq!(counts.cut, 1, "{counts:?}");
    assert_eq!(host.echoed(), 2, "that of the reset connection and that of the witness");
}

#[test]
fn a_peer_that_does_not_read_is_held_up_in_bounded_memory() {
    with_server(params(4), |address| {
        let mut greedy = opened(address);
        greedy.set_nonblocking(true).unwrap();
        let chunk = packet(8_000);
        let (mut written, mut waits) = (0, 0);
        // Socket buffers of both ends, and a few hundred kilobytes in the server: less than 64 MB.
        while written < 64_000_000 && waits < 50 {
            match greedy.write(&chunk[written % 8_007..]) {
                Ok(octets) => (written, waits) = (written + octets, 0),
                Err(_) => {
                    waits += 1;
                    clock::sleep_until(clock::now() + Duration::from_millis(10));
                }
            }
        }
        assert!(written < 64_000_000, "the server continued to read");
        println!("seen: {written} octets taken from a peer that reads nothing");
        let mut other = opened(address);
        other.write_all(&packet(5)).unwrap();
        assert_eq!(read(&mut other, 12), packet(5), "others are served");
    });
}

#[test]
fn surplus_and_silent_connections_are_closed() {
    let mut few = params(2);
    few.transport.patience = Duration::from_millis(100);
    let (host, _, counts) = with_server(few, |address| {
        let mut silent = TcpStream::connect(address).unwrap();
        let mut stream = opened(address);
        let mut third = TcpStream::connect(address).unwrap();
        assert_eq!(read(&mut silent, 1), [], "the silent one makes room at once");
        assert_eq!(read(&mut third, 1), [], "and the third is closed after TS");
        stream.write_all(&packet(5)).unwrap();
        assert_eq!(read(&mut stream, 12), packet(5));
    });
    assert_eq!((host.transport().counters().refusals, counts.refused), (1, 0));
}

#[test]
fn load_outside_its_session_is_refused_and_ends_with_it() {
    let (_, records, _) = with_server(params(4), |address| {
        for session in [None, Some(8)] {
            let mut wire =
                IsoTcp::open(IsoTcpParams { listen: None, remote: Some(address) }).unwrap();
            let mut host = Host::connected(params(1));
            host.take_part(clock::now(), session);
            host.add(flow(1, Pattern::Bulk, 1, 100));
            let (mut records, stop) = (Vec::new(), AtomicBool::new(false));
            wire.run(&mut host, clock::now() + LONG, &stop, |host, _| {
                records.extend(core::iter::from_fn(|| host.record()));
                if host.is_done() { Control::Stop } else { Control::Continue }
            })
            .unwrap();
            let sent = count(&records, |event| matches!(event, Event::Sent { .. }));
            assert_eq!(sent, 0, "{session:?}: {records:?}");
        }
    });
    assert_eq!(records, []);
}

#[test]
fn a_call_to_a_closed_port_ends_the_flow_with_a_reason() {
    // A port that was free a moment ago, without a listener.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let records = carry_out(free, vec![flow(1, Pattern::Bulk, 1, 100)], None);
    let reason = "network connection lost";
    let ended = |event: &Event| *event == Event::Ended { reason, orderly: false };
    assert_eq!(count(&records, ended), 1, "{records:?}");
}

#[test]
fn an_unknown_tsap_is_refused_with_a_dr() {
    let closed = ConnectedParams { echoes: false, ..params(2) };
    with_server(closed, |address| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&CR).unwrap();
        // DR to reference 1 with source reference 0: address unknown (3).
        let refused = Bytes::from(read(&mut stream, 11));
        assert_eq!(refused[..], [3, 0, 0, 11, 6, 0x80, 0, 1, 0, 0, 3]);
    });
}
