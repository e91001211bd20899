//! Memory of a machine, from which credit is taken.

use crate::study;
use bench::profile::{Profile, built_in, parse};
use bench::run::run_on;
use bench::sample::Sample;

/// A machine whose host takes 5 ms to fetch a message from its front end.
fn machine(memory_octets: Option<u64>) -> Profile {
    let memory = memory_octets.map_or("", |_| "memory = \"board\"\n");
    let octets = memory_octets.unwrap_or(1);
    let text = format!(
        "version = 1\ntitle = \"a slow host\"\ninterface = \"unlimited\"\n{memory}\
         [[resource]]\nname = \"host\"\nprocessor = true\n\
         [[task]]\nname = \"fetch\"\nat = \"user\"\nkind = \"up\"\nlevel = \"base\"\n\
         uses = [\"host\"]\ncost = {{ fixed = \"fetch\" }}\n\
         [[input]]\nname = \"fetch\"\nvalue = 5.0\nunit = \"ms\"\nsource = \"a choice\"\n\
         [[input]]\nname = \"board\"\nvalue = {octets}\nunit = \"octets\"\nsource = \"a choice\"\n"
    );
    parse("slow", &text).unwrap_or_else(|error| panic!("{error}"))
}

const FLOW: &str = r#"
[[flow]]
name = "NAME"
from = "s-1"
to = "s-2"
service = "class-4"
pattern = { kind = "bulk" }
size = "1000 B"
messages = 100
start = "0 s"
"#;

/// Flows of 100 messages of one TPDU each between two machines, on a wire at 10 Mbit/s.
fn simulate(machine: &Profile, flows: &[&str]) -> Sample {
    let flows: String = flows.iter().map(|name| FLOW.replace("NAME", name)).collect();
    let text = format!(
        "version = 1\ntitle = \"t\"\nstop = {{ after = \"1 min\" }}\n\
         medium = {{ kind = \"ideal\", rate = \"10 Mbit/s\", delay = \"5 us\" }}\n\
         stations = {{ count = 2, prefix = \"s\" }}\n\
         transport = {{ tpdu = \"1024 B\", checksum = false, credit = \"by-user\", \
         acknowledge = \"each\", t1 = \"5 s\", w = \"20 s\", i = \"1 min\" }}\n{flows}"
    );
    run_on(&study(&text, &[]).points[0], machine, "", 0).unwrap()
}

/// Seconds from the first message of a flow to the last arrival.
fn seconds(sample: &Sample, flow: usize) -> f64 {
    let flow = &sample.flows[flow];
    assert_eq!((flow.delivered, flow.lost, flow.done), (100, 0, true), "{flow:?}");
    flow.delivered_octets as f64 * 8.0 / flow.throughput_bits_per_second.unwrap()
}

#[test]
fn one_buffer_of_memory_admits_one_message_at_a_time() {
    // A DT of 1,000 octets has 8 of its header, 1 of CLNP, 3 of LLC, and 18 of MAC and FCS: 1,030 octets
    // take 824 us; an AK is padded to 64 octets, 51.2 us. Both take 5 us on the wire, and the ideal wire
    // counts neither preamble nor gap.
    let alone = seconds(&simulate(&machine(Some(1_024)), &["one"]), 0);
    // The next DT leaves when the host has the message, and the AK with its credit has arrived.
    let cycle = 0.824e-3 + 5e-6 + 5e-3 + 51.2e-6 + 5e-6;
    assert!((alone / (100.0 * cycle) - 1.0).abs() < 0.02, "{alone} s is not 100 x {cycle} s");
    for memory in [None, Some(15 * 1_024), Some(1 << 20)] {
        let all = seconds(&simulate(&machine(memory), &["one"]), 0);
        // The host is never idle after the first message: 0.829 ms and 100 times 5 ms.
        assert!((all - 0.5008).abs() < 0.002, "{memory:?}: {all} s");
    }
}

#[test]
fn a_connection_without_memory_has_its_credit_once_another_ends() {
    let sample = simulate(&machine(Some(1_024)), &["one", "two"]);
    let first = seconds(&sample, 0);
    let waited = sample.flows[1].delay.max_ns.unwrap() as f64 / 1e9;
    assert!(waited >= first, "the second waits for {waited} s, the first takes {first} s");
    assert!(seconds(&sample, 1) >= 2.0 * first * 0.99, "one after the other");
}

#[test]
fn the_memory_of_the_front_end_is_no_limit_for_one_connection() {
    let mvme372 = built_in("mvme372").unwrap();
    assert_eq!(mvme372.memory_octets(), Some(640 << 10));
}
