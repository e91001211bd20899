//! Frames in UDP datagrams, on the loopback.

use crate::session::converse;
use crate::{A, B, C, frame, number, numbers};
use live::clock;
use live::port::{Port, PortError, Reach, Stamp, Udp, UdpParams, Wait};
use stack::station::Transmission;
use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;
use wire::addr::Mac;

fn params(station: Mac, peers: Vec<(Mac, SocketAddr)>, learn: bool) -> UdpParams {
    let address = "127.0.0.1:0".parse().unwrap();
    UdpParams { address, station, peers, learn, reach: Reach::ThisHost, wait: Wait::Block }
}

/// A learner, and a station that has the learner's socket as a static entry.
fn pair() -> (Udp, Udp) {
    let learner = Udp::open(params(B, Vec::new(), true)).unwrap();
    let other = Udp::open(params(A, vec![(B, learner.address())], false)).unwrap();
    (other, learner)
}

#[test]
fn two_sockets_agree_and_every_frame_is_counted() {
    let (a, b) = pair();
    converse(Box::new(a), Box::new(b), 100);
}

#[test]
fn a_kernel_stamp_lies_between_sending_and_taking() {
    let (mut a, mut b) = pair();
    for n in 0..20 {
        let before = clock::now();
        a.send(&frame(B, A, 4, n)).unwrap();
        let arrival = b.receive(before + Duration::from_secs(30)).unwrap().unwrap();
        let after = clock::now();
        assert_eq!((number(&arrival.frame), arrival.stamp), (n, Stamp::Kernel));
        // The clocks are compared to within far less than a millisecond; a stamp of the wrong clock
        // would be off by the time since boot.
        assert!(arrival.at + Duration::from_millis(1) >= before && arrival.at <= after);
    }
}

#[test]
fn other_hosts_are_out_of_reach_unless_allowed() {
    let everywhere = "0.0.0.0:0".parse().unwrap();
    let open = |params| Udp::open(params).map(|port| port.is_unbounded());
    let bound = UdpParams { address: everywhere, ..params(A, Vec::new(), true) };
    assert!(matches!(open(bound.clone()), Err(PortError::NotLoopback(at)) if at == everywhere));
    let peer = (B, "192.0.2.1:4711".parse().unwrap());
    assert!(matches!(open(params(A, vec![peer], true)), Err(PortError::NotLoopback(_))));
    let reaching = UdpParams { reach: Reach::AnyHost, ..bound };
    assert!(
        matches!(open(reaching), Ok(false)),
        "a port that other hosts reach needs the governor"
    );
    assert!(matches!(open(params(A, Vec::new(), true)), Ok(true)));
}

#[test]
fn invalid_and_foreign_datagrams_are_dropped_and_counted() {
    let (mut a, mut b) = pair();
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    // To B, which learns: no prefix, then a frame whose source is a group.
    stranger.send_to(b"hello", b.address()).unwrap();
    let whole = |to, from| [b"TWF1".to_vec(), frame(to, from, 4, 9).to_bytes().to_vec()].concat();
    stranger.send_to(&whole(B, Mac::BROADCAST), b.address()).unwrap();
    // To A, which does not learn: an unknown station, and B from another socket.
    stranger.send_to(&whole(A, C), a.address()).unwrap();
    stranger.send_to(&whole(A, B), a.address()).unwrap();
    assert_eq!((numbers(&mut a), numbers(&mut b)), (vec![], vec![]));
    assert_eq!((a.counts().foreign, b.counts().foreign), (2, 2));
    // A well-formed frame for another station is neither delivered nor counted as foreign, but its
    // source is learnt.
    stranger.send_to(&whole(A, C), b.address()).unwrap();
    assert_eq!(numbers(&mut b), []);
    b.send(&frame(C, B, 4, 77)).unwrap();
    let mut octets = [0; 64];
    let (length, _) = stranger.recv_from(&mut octets).unwrap();
    assert_eq!(octets[..length], whole_reply(), "B sends to the socket learnt for C");
}

fn whole_reply() -> Vec<u8> {
    [b"TWF1".to_vec(), frame(C, B, 4, 77).to_bytes().to_vec()].concat()
}

#[test]
fn a_group_frame_is_sent_to_all_sockets() {
    let mut b = Udp::open(params(B, Vec::new(), true)).unwrap();
    let mut c = Udp::open(params(C, Vec::new(), true)).unwrap();
    let peers = vec![(B, b.address()), (C, c.address())];
    let mut a = Udp::open(params(A, peers, false)).unwrap();
    a.send(&frame(Mac::BROADCAST, A, 4, 5)).unwrap();
    assert_eq!((numbers(&mut b), numbers(&mut c)), (vec![5], vec![5]));
    assert_eq!(a.counts().sent, 1);
    let limit = 65_507 - 4;
    let long = stack::station::Frame::new(vec![2; limit + 1].into());
    assert!(matches!(a.send(&long), Err(PortError::TooLong { octets, limit: l })
        if octets == limit + 1 && l == limit));
}

#[test]
fn a_socket_that_invents_300_stations_keeps_no_other_out() {
    let mut learner = Udp::open(params(B, Vec::new(), true)).unwrap();
    let inventor = UdpSocket::bind("127.0.0.1:0").unwrap();
    for number in 100..400 {
        let frame = frame(B, Mac::local(number), 4, number).to_bytes();
        inventor.send_to(&[&b"TWF1"[..], &frame].concat(), learner.address()).unwrap();
        assert_eq!(numbers(&mut learner), [number]);
    }
    let mut honest = Udp::open(params(A, vec![(B, learner.address())], false)).unwrap();
    honest.send(&frame(B, A, 4, 1)).unwrap();
    assert_eq!(numbers(&mut learner), [1], "a further station is learnt");
    learner.send(&frame(A, B, 4, 2)).unwrap();
    assert_eq!(numbers(&mut honest), [2]);
    // The first of those invented is evicted, and a frame for it is not copied to 256 sockets.
    let before = learner.counts();
    let outcome = learner.send(&frame(Mac::local(100), B, 4, 3)).unwrap();
    assert_eq!(outcome, Transmission::GivenUp);
    assert_eq!((learner.counts().sent, before.sent), (1, 1));
}
