//! `tidewire selftest`: the installed program on this host, checked by what it has to give.
//!
//! `doctor` lists the rights that this host gives. This verb uses the program: results that are the same on every
//! machine, the clock and the timers, and messages that have to arrive. It sends nothing beyond this host.

use super::doctor;
use crate::busy::Host;
use crate::exit::{Exit, Failure};
use crate::listener::{Listener, Times, Wanted};
use crate::output::Output;
use crate::quantity::{counted, span};
use bench::paragraph::wrapped;
use bench::sample::{End, Line};
use bench::session::local;
use bench::{expected, folder, scenario, scenarios};
use core::sync::atomic::AtomicBool;
use live::clock;
use live::interface::Interface;
use live::tap::Stamps;
use serde::Serialize;
use std::net::UdpSocket;
use std::time::Duration;
use wire::filter::Filter;
use wire::time::nanos;

/// Scenarios and their results, which the tests of the project compare too.
const TABLES: [(&str, &str); 3] = [
    ("status-short", include_str!("../../../../scenarios/status-short.expected")),
    ("substation", include_str!("../../../../scenarios/substation.expected")),
    ("ring", include_str!("../../../../scenarios/ring.expected")),
];
/// Readings of the clock.
const READINGS: u32 = 200_000;
/// Slowest clock that delays are measured by.
const COARSEST: Duration = Duration::from_micros(1);
/// A timer that is later is no matter of load.
const BROKEN: Duration = Duration::from_millis(500);
/// Port that is there on every machine, and the time in which a frame of its own comes.
const LOOPBACK: &str = "lo";
const PATIENCE: Duration = Duration::from_secs(1);
/// Octets that a frame of this process is recognised by.
const MARK: &[u8] = b"tidewire selftest";
/// Messages within this process.
const SCENARIO: &str = r#"
version = 1
title = "selftest"
stop = { after = "300 ms", warmup = "none" }
medium = { kind = "ideal", rate = "100 Mbit/s" }

[[station]]
name = "here"

[[station]]
name = "there"

[[flow]]
name = "trip"
from = "here"
to = "there"
service = "class-4"
pattern = { kind = "cyclic", period = "10 ms" }
size = "100 B"
messages = 20
"#;

/// A check and its name.
struct Check {
    name: &'static str,
    make: fn() -> Outcome,
}

/// All checks, in the order of output.
const CHECKS: [Check; 7] = [
    Check { name: "predictions", make: predictions },
    Check { name: "clock", make: monotonic_clock },
    Check { name: "timers", make: timers },
    Check { name: "stations", make: stations },
    Check { name: "udp", make: udp },
    Check { name: "listening", make: listening },
    Check { name: "af-xdp", make: af_xdp },
];

/// Result of a check: what was seen.
enum Outcome {
    Pass(String),
    Fail(String),
    Skipped(String),
}

/// NDJSON record of a check.
#[derive(Serialize)]
#[serde(tag = "type", rename = "check")]
struct Record<'a> {
    name: &'a str,
    status: &'a str,
    what: &'a str,
}

/// Makes and prints every check. Fails if one of them fails.
pub(crate) fn run(output: &Output) -> anyhow::Result<Exit> {
    make_all(&CHECKS, output)
}

fn make_all(checks: &[Check], output: &Output) -> anyhow::Result<Exit> {
    let mut failed = 0;
    for Check { name, make } in checks {
        let (status, what) = match make() {
            Outcome::Pass(what) => ("pass", what),
            Outcome::Fail(what) if !what.contains('\n') && loopback_is_down() => {
                ("fail", format!("{what}\nfix: sudo ip link set {LOOPBACK} up"))
            }
            Outcome::Fail(what) => ("fail", what),
            Outcome::Skipped(why) => ("skipped", why),
        };
        failed += usize::from(status == "fail");
        output.record(&Record { name, status, what: &what })?;
        let (what, fix) = what.split_once('\n').unwrap_or((&what, ""));
        output.line(wrapped(&format!("{status:7}  {name:11}  "), what))?;
        if !fix.is_empty() {
            output.line(wrapped(&format!("{:22}", ""), fix.trim()))?;
        }
    }
    let error = (failed > 0).then(|| format!("{} failed", counted(failed as u64, "check")));
    output.record(&Line::End(End { complete: true, error: error.clone() }))?;
    match error {
        None => Ok(Exit::Ok),
        Some(error) => {
            let fix = "tidewire doctor lists what this machine permits";
            Err(Failure::failed(error).with_fix(fix).into())
        }
    }
}

/// True if the loopback is there and down, so that nothing is sent to this host.
fn loopback_is_down() -> bool {
    let all = Interface::all().unwrap_or_default();
    all.iter().any(|it| it.name == LOOPBACK && !it.is_up)
}

/// Compares the results of scenarios with those of every other machine.
fn predictions() -> Outcome {
    let (mut rows, mut all) = (0, String::new());
    for (name, table) in TABLES {
        let Some(built_in) = scenarios::get(name) else {
            return Outcome::Fail(format!("no scenario {name}"));
        };
        let study = match scenario::load(built_in.text, &built_in.file()) {
            Ok(study) => study,
            Err(error) => return Outcome::Fail(format!("{name}: {error}")),
        };
        match expected::table(name, &study) {
            Ok(made) => match differs(&made, table) {
                None => {
                    rows += table.lines().count();
                    all += &made;
                }
                Some(line) => {
                    return Outcome::Fail(format!("{name}.expected, line {line} differs"));
                }
            },
            Err(error) => return Outcome::Fail(format!("{name}: {error}")),
        }
    }
    let scenarios = counted(TABLES.len() as u64, "scenario");
    let digest = folder::hash(&all);
    Outcome::Pass(format!(
        "{scenarios} give the {rows} rows that they give on every machine; digest {digest}"
    ))
}

/// First line in which two texts differ, from 1.
fn differs(made: &str, expected: &str) -> Option<usize> {
    let (mut made, mut expected) = (made.lines(), expected.lines());
    (1..).find_map(|number| match (made.next(), expected.next()) {
        (None, None) => Some(None),
        (made, expected) if made == expected => None,
        _ => Some(Some(number)),
    })?
}

/// Reads the clock many times in a row.
fn monotonic_clock() -> Outcome {
    let (mut last, mut finest) = (clock::now(), None);
    for _ in 0..READINGS {
        let now = clock::now();
        if now < last {
            return Outcome::Fail(format!("it went back by {}", span(nanos(last.since(now)))));
        }
        let step = now.since(last);
        if !step.is_zero() {
            finest = Some(finest.map_or(step, |finest: Duration| finest.min(step)));
        }
        last = now;
    }
    match finest {
        Some(finest) if finest <= COARSEST => {
            let finest = span(nanos(finest));
            Outcome::Pass(format!("{READINGS} readings never went back; finest step {finest}"))
        }
        Some(finest) => Outcome::Fail(format!("its finest step is {}", span(nanos(finest)))),
        None => Outcome::Fail(format!("{READINGS} readings were the same")),
    }
}

/// Looks how late sleeps end; other programs may delay them.
fn timers() -> Outcome {
    let host = Host::look();
    match (host.latest_wake() > BROKEN, host.is_late()) {
        (true, _) => Outcome::Fail(host.wake()),
        (false, true) => {
            Outcome::Pass(format!("{}: too late for deadlines of a few ms", host.wake()))
        }
        (false, false) => Outcome::Pass(host.wake()),
    }
}

/// Sends messages of class 4 between two stations of this process, in real time.
fn stations() -> Outcome {
    let study = match scenario::load(SCENARIO, "selftest") {
        Ok(study) => study,
        Err(error) => return Outcome::Fail(error.to_string()),
    };
    let Some(point) = study.points.first() else { return Outcome::Fail("no point".to_owned()) };
    let sample = match local::measure(point, "", 0, &AtomicBool::new(false)) {
        Ok(sample) => sample,
        Err(error) => return Outcome::Fail(error.to_string()),
    };
    let Some(flow) = sample.flows.first() else { return Outcome::Fail("no flow".to_owned()) };
    let longest = flow.delay.max_ns.map_or_else(|| "none".to_owned(), span);
    let seen = format!(
        "{} of {} messages of class 4 arrived in real time; longest delay {longest}",
        flow.delivered, flow.sent
    );
    let is_exact = flow.sent == 20 && flow.delivered == 20 && flow.duplicated == 0;
    if is_exact && flow.damaged == 0 { Outcome::Pass(seen) } else { Outcome::Fail(seen) }
}

/// Sends a datagram over the loopback.
fn udp() -> Outcome {
    match doctor::try_loopback() {
        Ok(()) => Outcome::Pass("a datagram came back over the loopback unchanged".to_owned()),
        Err(error) => Outcome::Fail(error.to_string()),
    }
}

/// Listens on the loopback for a datagram of its own.
fn listening() -> Outcome {
    let wanted = Wanted {
        interface: LOOPBACK,
        filter: Filter::all(),
        snap_octets: 256,
        by_helper: false,
        times: Times::Steady,
        stamps: Some(Stamps::Kernel),
    };
    let mut listener = match Listener::open(&wanted) {
        Ok(listener) => listener,
        Err(failure) if failure.is_permission() => {
            let message = failure.to_string();
            return Outcome::Skipped(message.lines().next().unwrap_or_default().to_owned());
        }
        Err(failure) => return Outcome::Fail(failure.to_string()),
    };
    let sent = UdpSocket::bind("127.0.0.1:0")
        .and_then(|socket| socket.send_to(MARK, socket.local_addr()?));
    if let Err(error) = sent {
        return Outcome::Fail(error.to_string());
    }
    let until = clock::now() + PATIENCE;
    while clock::now() < until {
        match listener.receive(until) {
            Ok(Some(frame)) if frame.octets.windows(MARK.len()).any(|it| it == MARK) => {
                let by = listener.through();
                return Outcome::Pass(format!("a frame on {LOOPBACK} was captured{by}"));
            }
            Ok(_) => {}
            Err(failure) => return Outcome::Fail(failure.to_string()),
        }
    }
    Outcome::Fail(format!("no frame on {LOOPBACK} was captured within a second"))
}

/// AF_XDP is tried on no interface: it would take frames from the host.
fn af_xdp() -> Outcome {
    if doctor::may_use_xdp() {
        let what =
            "the rights are there; it is tried on no port, because it takes frames of the host";
        return Outcome::Pass(what.to_owned());
    }
    Outcome::Skipped("--xdp needs CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_fails_ends_with_its_code() {
        let output = Output { json: false, quiet: true };
        let pass = Check { name: "a", make: || Outcome::Pass(String::new()) };
        let skipped = Check { name: "b", make: || Outcome::Skipped(String::new()) };
        let fail = Check { name: "c", make: || Outcome::Fail(String::new()) };
        assert_eq!(make_all(&[pass, skipped], &output).ok(), Some(Exit::Ok));
        let error = make_all(&[fail], &output).unwrap_err();
        assert!(error.to_string().starts_with("1 check failed\n"), "{error}");
    }

    #[test]
    fn the_first_line_that_differs_is_named() {
        assert_eq!(differs("a\nb\n", "a\nb\n"), None);
        assert_eq!(differs("a\nc\n", "a\nb\n"), Some(2));
        assert_eq!(differs("a\n", "a\nb\n"), Some(2));
        assert_eq!(differs("a\nb\n", ""), Some(1));
    }
}
