//! Flows of files: the keys of the FTAM-like file transfer (not FTAM).

use super::fields::{Fields, Placed, Read, pick};
use super::problem::Problem;
use super::quantity::Size;
use super::{Eot, Flow, Pattern, Scenario, Service};
use schemars::JsonSchema;
use serde::Serialize;
use stack::file_transfer::Mode;
use stack::load;

/// Octets of each F-DATA without a `block`: those of one TPDU of 1,024 octets, as messages of CASE.
const BLOCK: Size = Size(1_000);
/// Most octets of an F-DATA.
const MOST_BLOCK: u64 = 65_000;

/// The keys that only flows of files have.
const KEYS: [&str; 3] = ["direction", "block", "shrinks-to"];

/// Direction of the files of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// `from` writes each file at `to`.
    Write,
    /// `from` reads each file of `to`.
    Read,
}

/// The transfer of each file of a flow.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct FileTransfer {
    /// For files: `write` or `read`; `write` if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// For files: octets of each F-DATA; 1,000 if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<Size>,
    /// For files that are written: the length that each has left while it is sent; it does not shrink
    /// if not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shrinks_to: Option<Size>,
}

impl Read for Direction {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let words = [("write", Self::Write), ("read", Self::Read)];
        pick(&String::read(value, problems)?, value.span(), "direction", &words, problems)
    }
}

impl FileTransfer {
    /// Reads the keys of a flow, and refuses those of other services.
    pub(super) fn read(
        fields: &mut Fields<'_, '_>,
        service: Option<Service>,
        pattern: Option<Pattern>,
        problems: &mut Vec<Problem>,
    ) -> Self {
        let keys = Self {
            direction: fields.optional("direction", problems),
            block: fields.optional("block", problems),
            shrinks_to: fields.optional("shrinks-to", problems),
        };
        if service.is_some_and(|service| service != Service::File) {
            for key in KEYS.into_iter().filter(|key| fields.has(key)) {
                let message = format!("only flows of service \"file\" have `{key}`");
                problems.push(Problem::error(fields.span_of(key), message));
            }
        } else if service == Some(Service::File)
            && pattern.is_some_and(|pattern| pattern.is_answered())
        {
            let problem = Problem::error(fields.span_of("pattern"), "a file is no request");
            problems.push(problem.help("bulk: each file as soon as the one before has arrived"));
        }
        keys
    }
}

impl Flow {
    /// The transfer of its files in the form that stations make. Numbers out of range saturate; a
    /// checked scenario has none.
    pub(super) fn file_options(&self) -> load::FileOptions {
        let block = self.file.block.unwrap_or(BLOCK).0;
        load::FileOptions {
            mode: match self.file.direction {
                Some(Direction::Read) => Mode::Read,
                Some(Direction::Write) | None => Mode::Write,
            },
            eot: match self.eot {
                Some(Eot::Each) => load::Eot::Each,
                Some(Eot::Last) | None => load::Eot::Last,
            },
            block_octets: u16::try_from(block.max(1)).unwrap_or(u16::MAX),
            shrinks_to: self.file.shrinks_to.map(|size| size.0),
        }
    }
}

/// Reports values of the keys that no transfer can have.
pub(super) fn check(scenario: &Scenario, problems: &mut Vec<Problem<String>>) {
    let files = scenario.flows.iter().enumerate().filter(|(_, it)| it.service == Service::File);
    for (index, flow) in files {
        let path = |key: &str| format!("flow.{index}.{key}");
        let FileTransfer { direction, block, shrinks_to } = &flow.file;
        if block.is_some_and(|block| !(1..=MOST_BLOCK).contains(&block.0)) {
            let message = format!("an F-DATA has from 1 to {MOST_BLOCK} B");
            problems.push(Problem::error(path("block"), message));
        }
        if shrinks_to.is_some() && *direction == Some(Direction::Read) {
            let message = "only a file that is written here can shrink here";
            let problem = Problem::error(path("shrinks-to"), message);
            problems.push(problem.help("direction = \"write\""));
        }
        if shrinks_to.is_some_and(|left| left >= flow.size) {
            let message = format!("the file has {} from the start: it would not shrink", flow.size);
            problems.push(Problem::error(path("shrinks-to"), message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{load, to_toml};
    use crate::run::run;
    use crate::sample::Sample;

    const BULK: &str = "pattern = { kind = \"bulk\" }";

    fn text(flow: &str) -> String {
        format!(
            "version = 1\ntitle = \"t\"\nstop = {{ after = \"10 min\", messages = 2 }}\n\
             medium = {{ kind = \"switched\", rate = \"10 Mbit/s\", length = \"10 m\" }}\n\
             transport = {{ acknowledge = \"each\", checksum = false }}\n\
             stations = {{ count = 2, prefix = \"s\" }}\n[[flow]]\nname = \"files\"\n\
             from = \"s-1\"\nto = \"s-2\"\nservice = \"file\"\nsize = \"1 MB\"\n{flow}\n"
        )
    }

    fn simulate(flow: &str, faults: &str) -> Sample {
        let text = format!("{faults}\n{}", text(&format!("{BULK}\n{flow}")));
        let study = load(&text, "a.toml").unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(study.warnings, []);
        run(&study.points[0], "", 0).unwrap()
    }

    #[track_caller]
    fn check_error(flow: &str, expected: &str) {
        let error = load(&text(flow), "a.toml").unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }

    /// Mean duration of a file in seconds; both must have arrived, octet for octet.
    #[track_caller]
    fn seconds(sample: &Sample) -> f64 {
        let flow = &sample.flows[0];
        let counts = (flow.sent, flow.delivered, flow.failed, flow.damaged, flow.delivered_octets);
        assert_eq!(counts, (2, 2, 0, 0, 2_000_000), "{flow:?}");
        assert!(flow.done && flow.throughput_bits_per_second.unwrap() > 0.0);
        flow.delay.mean_ns.unwrap() / 1e9
    }

    #[test]
    fn pipelining_is_faster_than_stop_and_wait_both_ways() {
        for direction in ["write", "read"] {
            let run =
                |eot: &str| simulate(&format!("direction = \"{direction}\"\neot = \"{eot}\""), "");
            let [wait, pipelined] = [run("each"), run("last")].map(|sample| seconds(&sample));
            println!(
                "seen: 1 Mbyte, {direction}: stop-and-wait {wait:.3} s, pipelined {pipelined:.3} s"
            );
            // 1,000 blocks of 1,000 octets, each with 38 octets of LLC, MAC and FCS, 9 of DT and CLNP, 4
            // of session, 4 of CASE and 1 of F-DATA, and 20 for preamble and gap: 1,076 at 0.8 us.
            assert!((0.85..1.0).contains(&pipelined), "{pipelined}");
            // Each block then waits for its AK: a frame and an AK more, because the switch stores both. An
            // AK of 64 octets takes 67.2 us with preamble and gap: 2 x (0.861 + 0.067) ms for each block.
            assert!((1.7..2.0).contains(&wait), "{wait}");
        }
    }

    #[test]
    fn files_arrive_octet_for_octet_with_1_percent_loss() {
        for direction in ["write", "read"] {
            for eot in ["each", "last"] {
                let flow = format!("direction = \"{direction}\"\neot = \"{eot}\"");
                let sample = simulate(&flow, "faults = { loss = \"1 %\" }");
                let took = seconds(&sample);
                println!("seen: 1 Mbyte with 1 % loss, {direction}, eot {eot}: {took:.3} s");
                assert!(sample.counts["faults.lost"] > 0, "{:?}", sample.counts);
            }
        }
    }

    #[test]
    fn a_file_that_shrinks_is_counted_and_the_next_one_follows() {
        let sample = simulate("shrinks-to = \"400 kB\"", "");
        let flow = &sample.flows[0];
        assert_eq!((flow.sent, flow.delivered, flow.failed), (2, 0, 2), "{flow:?}");
        assert!(flow.done, "the flow ends in order");
        let failures: Vec<_> = flow.failures.iter().map(|(why, n)| (why.as_str(), *n)).collect();
        assert_eq!(failures, [("the file became shorter while it was written", 2)]);
    }

    #[test]
    fn keys_of_files_are_checked_with_their_place() {
        check_error(&format!("{BULK}\nblock = \"66 kB\""), "from 1 to 65000 B");
        check_error(&format!("{BULK}\nblock = \"66 kB\""), "a.toml:14:");
        check_error(&format!("{BULK}\nshrinks-to = \"1 MB\""), "it would not shrink");
        let both = "direction = \"read\"\nshrinks-to = \"1 kB\"";
        check_error(&format!("{BULK}\n{both}"), "can shrink here");
        check_error(&format!("{BULK}\ndirection = \"up\""), "direction");
        check_error("pattern = { kind = \"maximum-rate-request\", reply = \"9 B\" }", "no request");
        let flow = text(&format!("{BULK}\ndirection = \"read\"\nblock = \"2 kB\"\neot = \"each\""));
        let study = load(&flow, "a.toml").unwrap_or_else(|error| panic!("{error}"));
        let again = load(&to_toml(study.scenario()), "b.toml").unwrap();
        assert_eq!(again.scenario().flows, study.scenario().flows);
        let case = flow.replace("\"file\"", "\"case\"").replace("1 MB", "1 kB");
        let error = load(&case, "a.toml").unwrap_err().to_string();
        assert!(error.contains("only flows of service \"file\" have `direction`"), "{error}");
    }
}
