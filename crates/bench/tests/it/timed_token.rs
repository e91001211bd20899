//! Access classes of a token bus compared with the timed token computed by hand (IEEE 802.4):
//! throughput of class 6, which may send one frame per token, and of class 0, which gets the rest
//! of its target rotation time.

use bench::run::run;
use bench::sample::FlowSample;
use bench::scenario::{self, Study};
use core::fmt::Write;

/// Octets of a message, and of the frame that carries it on a bus of 10 Mbit/s: 3 of LLC and 22 of
/// preamble, delimiters, FC, addresses and FCS.
const MESSAGE_OCTETS: u64 = 75;
const FRAME_OCTETS: u64 = MESSAGE_OCTETS + 3 + 22;
/// A token, and the station's delay of four octets; the cable has no length.
const PASS_OCTETS: u64 = 22 + 4;
/// One second at 10 Mbit/s, in octet times of 800 ns.
const END_OCTETS: u64 = 1_250_000;

/// Saturated classes of a station.
#[derive(Clone, Copy)]
enum Sends {
    High,
    Low,
    Both,
}

/// Frames of the two classes.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Frames {
    high: u64,
    low: u64,
}

/// Computes the timed token: at each visit one frame of class 6, then class 0 for as long as its
/// target exceeds the time since its previous service.
fn timed_token(stations: &[Sends], target_octets: u64) -> Frames {
    let mut frames = Frames { high: 0, low: 0 };
    let mut served = vec![0; stations.len()];
    let mut at = 0;
    while at < END_OCTETS {
        for (station, served) in stations.iter().zip(&mut served) {
            at += PASS_OCTETS;
            if matches!(station, Sends::High | Sends::Both) {
                at += FRAME_OCTETS;
                frames.high += u64::from(at <= END_OCTETS);
            }
            let left = target_octets.saturating_sub(at - *served);
            *served = at;
            let limit = at + left;
            while at < limit && matches!(station, Sends::Low | Sends::Both) {
                at += FRAME_OCTETS;
                frames.low += u64::from(at <= END_OCTETS);
            }
        }
    }
    frames
}

/// Services that carry class 6.
const HIGH: [&str; 2] = ["message", "datagram"];

/// Returns a scenario in which station n sends the classes of `stations[n]` to its neighbour, class
/// 6 by the service `high`.
fn study(stations: &[Sends], target_octets: u64, high: &str) -> Study {
    let (count, target) = (stations.len(), target_octets * 800);
    let mut text = format!(
        "version = 1\ntitle = \"timed token\"\nstop = {{ after = \"1 s\" }}\n\
         medium = {{ kind = \"token-bus\", rate = \"10 Mbit/s\", length = \"0 m\", \
         holding-time = \"1 ns\", classes = {{ class-4 = \"{target} ns\", \
         class-2 = \"{target} ns\", class-0 = \"{target} ns\" }} }}\n\
         stations = {{ count = {count}, prefix = \"s\" }}\n"
    );
    for (index, sends) in stations.iter().enumerate() {
        let (from, to) = (index + 1, (index + 1) % count + 1);
        let mut flow = |name: &str, service: &str| {
            write!(
                text,
                "[[flow]]\nname = \"{name}-{from}\"\nfrom = \"s-{from}\"\nto = \"s-{to}\"\n\
                 {service}\npattern = {{ kind = \"bulk\", total = \"3 MB\" }}\n\
                 size = \"{MESSAGE_OCTETS} B\"\n"
            )
            .expect("writing to a String cannot fail");
        };
        if matches!(sends, Sends::High | Sends::Both) {
            flow("high", &format!("service = \"{high}\"\npriority = 7"));
        }
        if matches!(sends, Sends::Low | Sends::Both) {
            flow("low", "service = \"datagram\"");
        }
    }
    scenario::load(&text, "timed-token.toml").unwrap_or_else(|error| panic!("{error}"))
}

fn simulated(stations: &[Sends], target_octets: u64, high: &str) -> Frames {
    let sample = run(&study(stations, target_octets, high).points[0], "-", 0).unwrap();
    let sum = |class: &str| {
        let of_class = sample.flows.iter().filter(|flow| flow.name.starts_with(class));
        // Bits that arrived within a second, without frames under way.
        let bits = |flow: &FlowSample| flow.throughput_bits_per_second.unwrap_or_default();
        (of_class.map(bits).sum::<f64>() / (8 * MESSAGE_OCTETS) as f64).round() as u64
    };
    Frames { high: sum("high"), low: sum("low") }
}

#[track_caller]
fn check(stations: &[Sends], target_octets: u64) {
    let expected = timed_token(stations, target_octets);
    let close = |found: u64, expected: u64| found.abs_diff(expected) * 100 <= expected;
    for high in HIGH {
        let found = simulated(stations, target_octets, high);
        assert!(
            close(found.high, expected.high) && close(found.low, expected.low),
            "{} stations, target {target_octets}, {high}: {found:?}, not {expected:?}",
            stations.len()
        );
    }
}

#[test]
fn classes_at_different_stations_share_as_the_timed_token_says() {
    for count in [4, 16, 32] {
        let stations: Vec<_> =
            (0..count).map(|n| if n % 2 == 0 { Sends::High } else { Sends::Low }).collect();
        for target_octets in [1_000, 5_000, 20_000] {
            check(&stations, target_octets);
        }
    }
}

#[test]
fn both_classes_at_each_station_share_as_the_timed_token_says() {
    for count in [4, 32] {
        for target_octets in [1_000, 5_000, 20_000] {
            check(&vec![Sends::Both; count], target_octets);
        }
    }
}

/// A rotation of 32 stations with a frame of class 6 each lasts 32 x (26 + 100) = 4,032 octet times: a
/// target of 1,000 leaves nothing, and each station sends 1,250,000 / 4,032 = 310 frames.
#[test]
fn class_0_starves_where_class_6_fills_its_target() {
    let expected = timed_token(&[Sends::Both; 32], 1_000);
    // The first rotation begins with a timer that has not run.
    assert!(expected.low <= 10, "{expected:?}");
    assert!(expected.high.abs_diff(32 * 310) <= 32, "{expected:?}");
}

#[test]
fn a_message_to_a_station_leaves_its_bulk_datagrams_their_rate() {
    let bulk = |message: &str| {
        let text = format!(
            "version = 1\ntitle = \"bulk\"\nstop = {{ after = \"1 s\" }}\n\
             medium = {{ kind = \"token-bus\", rate = \"10 Mbit/s\", length = \"500 m\" }}\n\
             stations = {{ count = 2, prefix = \"s\" }}\n\
             [[flow]]\nname = \"bulk\"\nfrom = \"s-1\"\nto = \"s-2\"\nservice = \"datagram\"\n\
             pattern = {{ kind = \"bulk\", total = \"3 MB\" }}\nsize = \"1000 B\"\n{message}"
        );
        let study = scenario::load(&text, "bulk.toml").unwrap_or_else(|error| panic!("{error}"));
        run(&study.points[0], "-", 0).unwrap().flows[0].delivered
    };
    let alone = bulk("");
    let with_message = bulk(
        "[[flow]]\nname = \"one\"\nfrom = \"s-2\"\nto = \"s-1\"\nservice = \"message\"\n\
         messages = 1\npattern = { kind = \"cyclic\", period = \"1 s\" }\nsize = \"20 B\"\n",
    );
    assert!(with_message * 1_000 >= alone * 999, "{with_message} of {alone} messages");
}
