//! Octets of the session connection, refusals, release with crossing FNs, and TIM.

use super::*;
use crate::machine::{Machine as _, Output};
use bytes::Bytes;
use core::time::Duration;
use std::collections::VecDeque;
use wire::time::Instant;

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

fn hex(text: &str) -> Bytes {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let octet = |two: &[u8]| u8::from_str_radix(core::str::from_utf8(two).unwrap(), 16).unwrap();
    digits.chunks(2).map(octet).collect()
}

fn data(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

/// Outputs of a machine, notes left out.
#[derive(Default, Debug, PartialEq, Eq)]
struct Outputs {
    below: VecDeque<Below>,
    primitives: Vec<Primitive>,
}

fn drain(connection: &mut Connection) -> Outputs {
    let mut outputs = Outputs::default();
    while let Some(output) = connection.poll() {
        match output {
            Output::Send(below) => outputs.below.push_back(below),
            Output::Deliver(primitive) => outputs.primitives.push(primitive),
            Output::Note(_) => {}
        }
    }
    outputs
}

/// Two machines on a transport connection that the first one opens.
struct Pair {
    sides: [Connection; 2],
    told: [Vec<Primitive>; 2],
}

impl Pair {
    fn new(params: Params) -> Self {
        Self { sides: [Connection::new(params), Connection::new(params)], told: Default::default() }
    }

    fn request(&mut self, side: usize, primitive: Primitive) {
        self.sides[side].request(at(0), primitive);
    }

    /// Passes everything on until nothing is left; returns what crossed, as octets.
    fn run(&mut self) -> Vec<Bytes> {
        let mut crossed = Vec::new();
        loop {
            let outputs = self.sides.each_mut().map(drain);
            if outputs.iter().all(|it| it.below.is_empty() && it.primitives.is_empty()) {
                return crossed;
            }
            for (side, outputs) in outputs.into_iter().enumerate() {
                self.told[side].extend(outputs.primitives);
                for below in outputs.below {
                    if let Below::Data(tsdu) = &below {
                        crossed.push(tsdu.clone());
                    }
                    let is_connect = below == Below::Connect;
                    self.sides[1 - side].receive(at(0), below);
                    if is_connect {
                        self.sides[side].receive(at(0), Below::Connect);
                    }
                }
            }
        }
    }

    fn open(params: Params) -> Self {
        let mut pair = Self::new(params);
        let [calling, called] = [Bytes::from_static(&[0, 1]), Bytes::from_static(&[0, 1])];
        pair.request(0, Primitive::Connect { calling, called, data: data("hello") });
        pair.run();
        pair.request(1, Primitive::Accept { data: data("welcome") });
        pair.run();
        pair.told = Default::default();
        pair
    }
}

#[test]
fn the_spdus_have_the_octets_that_libiec61850_sends() {
    let mut pair = Pair::new(Params::version_2());
    let [calling, called] = [Bytes::from_static(&[0, 1]), Bytes::from_static(&[0, 1])];
    pair.request(0, Primitive::Connect { calling, called, data: data("A") });
    let cn = hex("0D 19 05 06 13 01 00 16 01 02 14 02 00 02 33 02 00 01 34 02 00 01 C1 01 41");
    // 8 for the connect item, 4 for each of requirements and the two selectors, 3 for the data.
    let cn = Bytes::from([&cn[..1], &[8 + 3 * 4 + 3], &cn[2..]].concat());
    assert_eq!(pair.run(), [cn]);
    pair.request(1, Primitive::Accept { data: data("B") });
    let ac = hex("0E 13 05 06 13 01 00 16 01 02 14 02 00 02 34 02 00 01 C1 01 42");
    assert_eq!(pair.run(), [ac]);
    pair.request(0, Primitive::Data { ssdu: data("C") });
    assert_eq!(pair.run(), [hex("01 00 01 00 43")]);
    pair.request(0, Primitive::Release { data: data("D") });
    pair.run();
    pair.request(1, Primitive::Released { data: data("E") });
    assert_eq!(pair.run(), [hex("0A 03 C1 01 45")]);
    assert_eq!(pair.sides.each_ref().map(Connection::state), [State::Sta01; 2]);
}

#[test]
fn an_abort_releases_the_transport_connection() {
    let mut pair = Pair::open(Params::version_2());
    pair.request(0, Primitive::Abort { data: data("x") });
    assert_eq!(pair.run(), [hex("19 06 11 01 03 C1 01 78")]);
    assert_eq!(pair.told[1], [Primitive::Abort { data: data("x") }]);
    assert_eq!(pair.sides.each_ref().map(Connection::state), [State::Sta01; 2]);
}

#[test]
fn an_abort_may_keep_the_transport_connection() {
    let mut pair = Pair::open(Params { keeps_transport: true, ..Params::version_2() });
    pair.request(0, Primitive::Abort { data: Bytes::new() });
    assert_eq!(pair.run(), [hex("19 03 11 01 02"), hex("1A 00")]);
    assert_eq!(pair.sides.each_ref().map(Connection::state), [State::Sta01C; 2]);
}

#[test]
fn crossing_finish_spdus_release_once_at_each_side() {
    let mut pair = Pair::open(Params::version_2());
    pair.request(0, Primitive::Release { data: data("a") });
    pair.request(1, Primitive::Release { data: data("b") });
    pair.run();
    // The called side answers first, and its DN waits for that of the caller.
    pair.request(1, Primitive::Released { data: data("c") });
    assert_eq!(pair.run(), Vec::<Bytes>::new());
    pair.request(0, Primitive::Released { data: data("d") });
    pair.run();
    let told = |by, with| {
        vec![Primitive::Release { data: data(by) }, Primitive::Released { data: data(with) }]
    };
    assert_eq!(pair.told, [told("b", "c"), told("a", "d")]);
    assert_eq!(pair.sides.each_ref().map(Connection::state), [State::Sta01; 2]);
}

#[test]
fn a_version_that_is_not_in_common_is_refused() {
    let versions = [Params::version_1(), Params::version_2()];
    let mut pair = Pair { sides: versions.map(Connection::new), told: Default::default() };
    pair.request(
        0,
        Primitive::Connect { calling: Bytes::new(), called: Bytes::new(), data: data("x") },
    );
    assert_eq!(pair.run().last(), Some(&hex("0C 06 11 01 01 32 01 84")));
    assert_eq!(pair.told[0], [Primitive::Refuse { reason: 0x84, data: Bytes::new() }]);
    assert_eq!(pair.sides.each_ref().map(Connection::state), [State::Sta01; 2]);
}

#[test]
fn version_1_carries_512_octets_and_no_more() {
    let mut connection = Connection::new(Params::version_1());
    let connect = |octets: usize| Primitive::Connect {
        calling: Bytes::new(),
        called: Bytes::new(),
        data: vec![0; octets].into(),
    };
    connection.request(at(0), connect(513));
    let outputs = drain(&mut connection);
    assert_eq!(outputs.primitives, [Primitive::ProviderAbort { reason: Reason::TooLong }]);
    connection.request(at(0), connect(512));
    assert_eq!(drain(&mut connection).below, [Below::Connect]);
}

#[test]
fn tim_disconnects_a_peer_that_does_not_after_an_abort() {
    let mut pair = Pair::open(Params::version_2());
    pair.request(0, Primitive::Abort { data: Bytes::new() });
    drain(&mut pair.sides[0]);
    assert_eq!(pair.sides[0].deadline().unwrap().at, at(5));
    pair.sides[0].expire(at(5));
    assert_eq!(drain(&mut pair.sides[0]).below, [Below::Disconnect]);
    assert_eq!((pair.sides[0].state(), pair.sides[0].deadline()), (State::Sta01, None));
}

#[test]
fn a_caller_that_sends_no_cn_is_disconnected() {
    let mut connection = Connection::new(Params::version_2());
    connection.receive(at(0), Below::Connect);
    connection.expire(at(5));
    assert_eq!(drain(&mut connection).below, [Below::Disconnect]);
}

#[test]
fn octets_that_are_no_spdu_abort_with_a_protocol_error() {
    let mut pair = Pair::open(Params::version_2());
    pair.sides[1].receive(at(0), Below::Data(hex("FF")));
    let outputs = drain(&mut pair.sides[1]);
    assert_eq!(outputs.below, [Below::Data(hex("19 03 11 01 05"))]);
    assert_eq!(outputs.primitives, [Primitive::ProviderAbort { reason: Reason::ProtocolError }]);
}

#[test]
fn an_abort_without_the_user_bit_is_one_of_the_provider() {
    // libiec61850 sends 0B: released, user abort, no reason.
    for (code, is_user) in [("0B", true), ("03", true), ("05", false), ("09", false)] {
        let mut pair = Pair::open(Params::version_2());
        pair.sides[1].receive(at(0), Below::Data(hex(&format!("19 03 11 01 {code}"))));
        let told = drain(&mut pair.sides[1]).primitives;
        assert_eq!(matches!(told[..], [Primitive::Abort { .. }]), is_user, "{code}");
    }
}

#[test]
fn a_user_that_has_requested_a_release_sends_no_more_data() {
    let mut pair = Pair::open(Params::version_2());
    pair.request(0, Primitive::Release { data: Bytes::new() });
    pair.request(1, Primitive::Release { data: Bytes::new() });
    pair.run();
    // The FN of the peer permits data to the side that has not released only.
    pair.request(0, Primitive::Data { ssdu: data("x") });
    assert_eq!(pair.sides[0].poll(), Some(Output::Note(Note::Refused)));
    assert_eq!(pair.run(), Vec::<Bytes>::new());
}

#[test]
fn neither_data_nor_a_second_fn_follows_an_fn() {
    for after in ["01 00 01 00 43", "09 00"] {
        let mut pair = Pair::open(Params::version_2());
        pair.request(0, Primitive::Release { data: Bytes::new() });
        drain(&mut pair.sides[0]);
        pair.sides[0].receive(at(0), Below::Data(hex("09 00")));
        pair.sides[0].request(at(0), Primitive::Released { data: Bytes::new() });
        assert_eq!(pair.sides[0].state(), State::Sta03);
        drain(&mut pair.sides[0]);
        pair.sides[0].receive(at(0), Below::Data(hex(after)));
        let outputs = drain(&mut pair.sides[0]);
        let error = Primitive::ProviderAbort { reason: Reason::ProtocolError };
        assert_eq!(outputs.primitives, [error], "{after}");
        assert_eq!(outputs.below, [Below::Data(hex("19 03 11 01 05"))], "{after}");
    }
}
