//! Priorities of datagrams and connections: a talker's urgent requests against its own bulk
//! traffic, and that of the answering station.

use bench::run::run;
use bench::sample::FlowSample;
use bench::scenario;

/// Octets of a bulk datagram, without 3 of LLC, 14 of MAC header, 4 of FCS, 8 of preamble and a gap
/// of 12, and on a switched network 4 of a tag.
const BULK_OCTETS: u64 = 1_400;

/// Runs a talker that sends bulk datagrams and a request every 10 ms; with `bulk_back` the other
/// station sends bulk datagrams too. Returns the results of the requests.
fn requests(medium: &str, service: &str, priority: u8, bulk_back: bool) -> FlowSample {
    let bulk = |name: &str, from: u8| {
        format!(
            "[[flow]]\nname = \"{name}\"\nfrom = \"s-{from}\"\nto = \"s-{}\"\nservice = \"datagram\"\n\
             pattern = {{ kind = \"bulk\" }}\nsize = \"{BULK_OCTETS} B\"\n",
            3 - from
        )
    };
    let text = format!(
        "version = 1\ntitle = \"priorities\"\nstop = {{ after = \"2 s\", warmup = \"100 ms\" }}\n\
         medium = {medium}\nstations = {{ count = 2, prefix = \"s\" }}\n{}{}\
         [[flow]]\nname = \"ask\"\nfrom = \"s-1\"\nto = \"s-2\"\nservice = \"{service}\"\n\
         priority = {priority}\nsize = \"100 B\"\n\
         pattern = {{ kind = \"constant-rate-request\", period = \"10 ms\", reply = \"100 B\" }}\n",
        bulk("there", 1),
        if bulk_back { bulk("back", 2) } else { String::new() }
    );
    let study = scenario::load(&text, "priorities.toml").unwrap_or_else(|error| panic!("{error}"));
    let sample = run(&study.points[0], "-", 0).unwrap();
    sample.flows.into_iter().find(|flow| flow.name == "ask").unwrap()
}

/// On a switched network each of the two frames of an exchange waits at most for one frame in
/// transmission at its station and one at the switch; at priority 0 for everything queued at the
/// talker and the switch.
#[test]
fn urgent_requests_wait_for_one_bulk_frame_at_each_port() {
    let medium = "{ kind = \"switched\", rate = \"10 Mbit/s\", length = \"10 m\" }";
    // In nanoseconds at 10 Mbit/s; no AK of a connection is longer than its request.
    let bulk = (BULK_OCTETS + 3 + 14 + 4 + 4 + 8 + 12) * 800;
    let request = 200 * 800;
    for service in ["datagram", "class-4"] {
        let urgent = requests(medium, service, 6, true);
        let plain = requests(medium, service, 0, true);
        let longest = urgent.response.max_ns.unwrap();
        assert!(urgent.answered > 180, "{service}: {urgent:?}");
        assert!(longest < 4 * (bulk + 3 * request), "{service}: {longest} ns");
        let mean = |flow: &FlowSample| flow.response.mean_ns.unwrap();
        assert!(
            mean(&plain) > 2.0 * mean(&urgent),
            "{service}: {} and {}",
            mean(&plain),
            mean(&urgent)
        );
    }
}

/// A MAC with one queue gets one frame at a time, so the request waits for one frame of its own
/// station, and not for the four that bulk datagrams keep queued.
#[test]
fn a_mac_with_one_queue_gets_the_urgent_frame_next() {
    let medium = "{ kind = \"ideal\", rate = \"10 Mbit/s\" }";
    let mean =
        |service, priority| requests(medium, service, priority, false).response.mean_ns.unwrap();
    for (service, factor) in [("datagram", 1.2), ("class-4", 1.5)] {
        let [plain, urgent] = [0, 7].map(|priority| mean(service, priority));
        println!("seen: {service} {plain} ns, urgent {urgent} ns");
        assert!(plain > factor * urgent, "{service}: {plain} and {urgent}");
    }
}
