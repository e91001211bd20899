//! Rules that refuse options without effect in a mode of their verb.
//!
//! Rules that clap can express (`requires`, `conflicts_with`) are at the options. The rules here depend on
//! more than the presence of one other option.

use super::export::Export;
use super::reproduce::Reproduce;
use super::{
    Cli, Load, Measure, MeasureExperiment, MonitorOptions, PortOptions, Screen, Verb, Watch,
};
use crate::exit::Failure;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use papers::published::Paper;
use std::path::Path;

/// Options without effect in a mode.
struct Rule {
    /// Condition under which the options have no effect.
    applies: fn(&Cli) -> bool,
    /// Identifiers of the options.
    options: &'static [&'static str],
    /// Reason, after the name of the option.
    reason: &'static str,
    /// Command line that does what was probably meant.
    fix: &'static str,
}

/// Options that describe a single load.
const LOAD: [&str; 8] = ["load", "size", "bytes", "messages", "period", "time", "t1", "datagram"];
/// Options of a port, which does not exist within one process.
const PORT: [&str; 3] = ["fault", "capture", "max_frames"];
const PRINTS: &str = "no effect with --print-scenario, which makes no run";
const NAME_A_PEER: &str = "name a peer (--to MAC -i IF) that runs `tidewire serve`";

/// All rules, verb by verb.
const RULES: [Rule; 23] = [
    Rule {
        applies: |cli| prints_report(cli),
        options: &["json"],
        reason: "no effect with --output -, which prints the report itself",
        fix: "leave out one of the two",
    },
    Rule {
        applies: |cli| predicts(cli) && cli.json,
        options: &["plot"],
        reason: "no effect with --json, which writes records only",
        fix: "leave out one of the two, or draw files with --figure FOLDER",
    },
    Rule {
        applies: has_all_flows,
        options: &["top"],
        reason: "no effect with --json, whose records have all flows",
        fix: "leave out one of the two",
    },
    Rule {
        applies: |cli| cli.quiet && matches!(&cli.verb, Verb::Watch(_)),
        options: &["self"],
        reason: "no effect with --quiet, which prints no remarks",
        fix: "leave out one of the two",
    },
    Rule {
        applies: |cli| matches!(&cli.verb, Verb::Predict(it) if it.run.print_scenario),
        options: &[
            "capture",
            "each_message",
            "timeline",
            "figure",
            "plot",
            "differences",
            "until_decided",
            "precision",
            "at_most",
            "output",
            "no_save",
            "keep_runs",
            "keep_size",
            "top",
            "shard",
            "after_runs",
            "web",
        ],
        reason: PRINTS,
        fix: "leave out one of the two",
    },
    Rule {
        applies: |cli| measures(cli, |it| it.run.print_scenario),
        options: &[
            "fault",
            "capture",
            "each_message",
            "groups",
            "max_frames",
            "class",
            "output",
            "no_save",
            "keep_runs",
            "keep_size",
            "top",
            "web",
        ],
        reason: PRINTS,
        fix: "leave out one of the two",
    },
    Rule {
        applies: |cli| matches!(&cli.verb, Verb::Meter(it) if it.schema),
        options: &[
            "measure",
            "report",
            "sample",
            "intervals",
            "start",
            "channel",
            "sizes",
            "only",
            "hdr",
            "top",
            "connections",
            "hosts",
            "json",
            "quiet",
        ],
        reason: "no effect with --schema, which meters nothing",
        fix: "leave out one of the two",
    },
    Rule {
        applies: |cli| measures(cli, |it| it.scenario.is_some()),
        options: &LOAD,
        reason: "no effect on a scenario, which describes its own load",
        fix: "change the scenario file (`tidewire scenarios copy`), or leave the scenario out \
              and name a peer",
    },
    Rule {
        applies: |cli| measures(cli, |it| !it.port.foreign_peer && !has_peer(it)),
        options: &PORT,
        reason: "no effect within this process, where there is no port",
        fix: NAME_A_PEER,
    },
    Rule {
        applies: |cli| measures(cli, |it| it.port.foreign_peer),
        options: &[
            "load",
            "time",
            "t1",
            "seed",
            "runs",
            "output",
            "no_save",
            "keep_runs",
            "keep_size",
            "top",
            "print_scenario",
            "each_message",
            "max_frames",
            "to",
            "datagram",
            "bytes",
            "require",
            "scenario",
            "web",
            "dry_run",
            "allow_public",
        ],
        reason: "no effect with --foreign-peer, because a foreign peer has agreed to no load",
        fix: "--messages, --period, --echoes and --size describe what the peer gets",
    },
    Rule {
        applies: |cli| measures(cli, |it| it.port.foreign_peer && it.foreign.echoes == 0),
        options: &["size"],
        reason: "no effect with --foreign-peer unless messages are sent",
        fix: "add --echoes N",
    },
    Rule {
        applies: |cli| measures(cli, |it| it.port.over.is_some()),
        options: &["t1", "datagram"],
        reason: "no effect with --over, because TCP carries and repeats the data",
        fix: "measure on a LAN: --to MAC -i IF",
    },
    Rule {
        applies: |cli| measures(cli, |it| it.datagram),
        options: &["t1"],
        reason: "no effect with --datagram, because datagrams are not retransmitted",
        fix: "leave out one of the two",
    },
    Rule {
        applies: |cli| {
            let has_no_period = |load| matches!(load, Load::Bulk | Load::MaximumRateRequest);
            measures(cli, |it| !it.port.foreign_peer && has_no_period(it.load))
        },
        options: &["period"],
        reason: "no effect with --load bulk or maximum-rate-request, which send without pause",
        fix: "--load cyclic, poisson or constant-rate-request",
    },
    Rule {
        applies: layers_are_within_this_process,
        options: &["max_frames"],
        reason: "no effect within this process, where there is no port",
        fix: "-i IF --peer-interface IF, or --udp and --udp-peer",
    },
    Rule {
        applies: |cli| matches!(&cli.verb, Verb::Serve(serve) if serve.port.foreign_peer),
        options: &["max_frames", "allow_public"],
        reason: "no effect with --foreign-peer, which agrees to nothing and has to be near",
        fix: "leave it out",
    },
    Rule {
        applies: |cli| matches!(&cli.verb, Verb::Advise(it) if !it.live || !is_open(&it.port)),
        options: &PORT,
        reason: "no effect where runs are simulated or within this process",
        fix: "--live --to MAC -i IF, against a `tidewire serve`",
    },
    Rule {
        applies: |cli| {
            let is_monitor = |it: &Watch| it.monitor.screen == Some(Screen::Monitor);
            watches(cli, |it| is_monitor(it) && is_in_lines(cli, it))
        },
        options: &[
            "measure",
            "report",
            "intervals",
            "start",
            "sizes",
            "only",
            "top",
            "connections",
            "hosts",
            "follow",
            "expect",
            "output",
        ],
        reason: "no effect with --screen monitor in lines, which are samples only",
        fix: "--sample, or --screen measures",
    },
    Rule {
        applies: |cli| {
            let is_monitor = |it: &Watch| it.monitor.screen == Some(Screen::Monitor);
            watches(cli, |it| is_monitor(it) && it.export.output.is_none())
        },
        options: &["channel"],
        reason: "no effect on a screen, which shows no metrics of the channel",
        fix: "leave out --screen, or keep a run (--output)",
    },
    Rule {
        applies: |cli| {
            let is_measures = |it: &Watch| it.monitor.screen == Some(Screen::Measures);
            watches(cli, |it| is_measures(it) && is_in_lines(cli, it))
        },
        options: &["from_station", "to_station"],
        reason: "no effect with --screen measures in lines",
        fix: "--screen monitor, or --filter \"from MAC\"",
    },
    Rule {
        applies: |cli| watches(cli, |it| is_in_lines(cli, it) && !it.monitor.print_keys),
        options: &["theme", "symbols", "terminal_rate", "keys", "packets_scale", "bits_scale"],
        reason: "no effect on lines and records, because nothing is drawn",
        fix: "leave out --plain and --json, or leave this out",
    },
    Rule {
        applies: |cli| watches(cli, |it| it.monitor.screen.is_none() && !it.monitor.print_keys),
        options: &["keys"],
        reason: "no effect without --screen",
        fix: "add --screen, or --print-keys to see the keys",
    },
    Rule {
        applies: |cli| {
            let in_lines =
                |it: &super::measuring::Show| it.plain || cli.json || it.page.web.is_some();
            matches!(&cli.verb, Verb::Show(show) if in_lines(show) && !show.print_keys)
        },
        options: &["screen", "theme", "symbols", "terminal_rate", "keys"],
        reason: "no effect on lines and records, because nothing is drawn",
        fix: "leave out --plain and --json, or leave this out",
    },
];

/// Returns true if a report goes to standard output.
fn prints_report(cli: &Cli) -> bool {
    let Verb::Report(report) = &cli.verb else { return false };
    report.output.as_ref().is_some_and(|path| path.as_os_str() == "-")
}

/// Rules of `watch` on the form of its output.
const FORMS: [Rule; 7] = [
    Rule {
        applies: |cli| {
            let measures = |it: &Watch| it.monitor.screen == Some(Screen::Measures);
            watches(cli, |it| measures(it) && is_in_lines(cli, it))
        },
        options: &["speed"],
        reason: "no effect with --screen measures in lines, which are written at once",
        fix: "--screen measures without --plain, or `tidewire meter FILE | tidewire show --speed N`",
    },
    Rule {
        applies: |cli| {
            let has_lines = |it: &Watch| it.monitor.screen.is_none() || it.monitor.plain;
            watches(cli, |it| !cli.json && has_lines(it) && it.export.output.is_none())
        },
        options: &["top"],
        reason: "no effect on lines, which show no single hosts and connections",
        fix: "add --json or --output FOLDER, or use --screen measures",
    },
    Rule {
        applies: |cli| watches(cli, |it| it.monitor.screen.is_some()),
        options: &["metrics", "metrics_anywhere"],
        reason: "no effect with --screen, which serves no metrics",
        fix: "leave out --screen; a second tidewire watch can draw it meanwhile",
    },
    Rule {
        applies: |cli| watches(cli, |it| it.monitor.screen.is_some()),
        options: &["hdr"],
        reason: "no effect with --screen, which shows no histograms",
        fix: "leave out one of the two",
    },
    Rule {
        applies: |cli| watches(cli, |it| !cli.json && it.export.output.is_none()),
        options: &["hdr"],
        reason: "no effect on lines, which show no histograms",
        fix: "add --json or --output FOLDER",
    },
    Rule {
        applies: |cli| watches(cli, |it| !cli.json && !has_classes(it)),
        options: &["sizes"],
        reason: "no effect on lines, which show no classes of sizes",
        fix: "add --json or --csv FOLDER, or use --screen measures",
    },
    Rule {
        applies: |cli| watches(cli, |it| it.far.is_some() || it.far_interface.is_some()),
        options: &["top", "connections", "hosts", "fail_on", "anonymize"],
        reason: "no effect with --far and --far-interface, which report transits only",
        fix: "run `tidewire watch` once more for it, on one of the two taps",
    },
];

/// Papers whose experiments can be measured.
const MEASURED: [Paper; 2] = [papers::tr_88_04::PAPER, papers::tr_88_17::PAPER];

/// Rules of `reproduce` on simulation and measurement.
const LIVE: [Rule; 4] = [
    Rule {
        applies: |cli| {
            let is_measured = |name: &str| MEASURED.iter().any(|paper| paper.name == name);
            reproduces(cli, |it| !it.paper.as_deref().is_some_and(is_measured))
        },
        options: &["live"],
        reason: "only those of tr-88-04 and tr-88-17 can be measured; those of other papers are simulated",
        fix: "tidewire reproduce tr-88-04 --live, or leave --live out",
    },
    Rule {
        applies: |cli| reproduces(cli, |it| !it.live),
        options: &[
            "rounds",
            "volume",
            "to",
            "interface",
            "xdp",
            "udp",
            "udp_peer",
            "over",
            "foreign_peer",
            "fault",
            "max_frames",
        ],
        reason: "no effect without --live, because all experiments are simulated",
        fix: "tidewire reproduce tr-88-04 --live measures them on a network",
    },
    Rule {
        applies: |cli| reproduces(cli, |it| it.live && !is_open(&it.port)),
        options: &PORT,
        reason: "no effect within this process, where there is no port",
        fix: NAME_A_PEER,
    },
    Rule {
        applies: |cli| reproduces(cli, |it| it.live),
        options: &["capture_at"],
        reason: "no effect with --live, which captures frames of its own port",
        fix: "leave it out",
    },
];

/// Pairs of an option and the option that it needs to have an effect.
///
/// clap does not require an option that conflicts with a given one: `--class` with `-i` would pass.
const NEEDS: [(&str, &str); 20] = [
    ("class", "over"),
    ("foreign_peer", "over"),
    ("allow_public", "over"),
    ("called", "foreign_peer"),
    ("calling", "foreign_peer"),
    ("echoes", "foreign_peer"),
    ("udp_peer", "udp"),
    ("peer_interface", "interface"),
    ("metrics_anywhere", "metrics"),
    ("web_anywhere", "web"),
    ("full", "annotate"),
    ("anonymize_key", "anonymize"),
    ("speed", "screen"),
    ("from_station", "screen"),
    ("to_station", "screen"),
    ("packets_scale", "screen"),
    ("bits_scale", "screen"),
    ("theme", "screen"),
    ("symbols", "screen"),
    ("terminal_rate", "screen"),
];

/// Refuses an option that was given where it has no effect.
///
/// # Errors
/// The first such option, with the reason and what to do instead.
pub(crate) fn check(cli: &Cli, matches: &ArgMatches, command: &Command) -> Result<(), Failure> {
    let (mut matches, mut command) = (matches, command);
    while let Some((name, below)) = matches.subcommand() {
        let Some(found) = command.find_subcommand(name) else { break };
        (matches, command) = (below, found);
    }
    let is_given = |id: &str| {
        let is_known = command.get_arguments().any(|option| option.get_id() == id);
        is_known && matches.value_source(id) == Some(ValueSource::CommandLine)
    };
    let is_known = |id: &str| command.get_arguments().any(|option| option.get_id() == id);
    refuse_replay_of_run(cli)?;
    // show draws without --screen.
    let is_drawn = matches!(cli.verb, Verb::Show(_));
    for (id, need) in &NEEDS {
        if is_known(need) && is_given(id) && !is_given(need) && !(is_drawn && *need == "screen") {
            let message = format!("{}: no effect without {}", name(id), name(need));
            return Err(Failure::usage(message).with_fix(format!("add {}", name(need))));
        }
    }
    let has_folder = !is_known("output") || matches.value_source("output").is_some();
    if let Some(id) = ["keep_runs", "keep_size"].into_iter().find(|id| is_given(id)) {
        let reason = match has_folder {
            _ if is_given("no_save") => "no effect with --no-save, which writes no run folder",
            false => "no effect without --output, because no run folder is written",
            true => "",
        };
        if !reason.is_empty() {
            let message = format!("{}: {reason}", name(id));
            return Err(Failure::usage(message).with_fix("--output runs, or leave it out"));
        }
    }
    for rule in RULES.iter().chain(&FORMS).chain(&LIVE) {
        let Some(id) = rule.options.iter().find(|id| is_given(id)) else { continue };
        if (rule.applies)(cli) {
            let message = format!("{}: {}", name(id), rule.reason);
            return Err(Failure::usage(message).with_fix(rule.fix));
        }
    }
    Ok(())
}

/// Refuses the name of a run as the speed of a replay: `show` replays runs.
fn refuse_replay_of_run(cli: &Cli) -> Result<(), Failure> {
    let Verb::Watch(watch) = &cli.verb else { return Ok(()) };
    let MonitorOptions { speed: Some(run), screen, .. } = &watch.monitor else { return Ok(()) };
    let is_run = run.contains('/') || run == "-" || Path::new(run).exists();
    if !is_run {
        return Ok(());
    }
    let screen = if *screen == Some(Screen::Monitor) { "monitor" } else { "measures" };
    let message = format!("--replay {run:?}: watch replays a capture, and N is its speed");
    let fix = format!("tidewire show {run} --screen {screen} --replay 1 replays a run");
    Err(Failure::usage(message).with_fix(fix))
}

/// Name of an option on the command line.
fn name(id: &str) -> String {
    match id {
        "scenario" => "a scenario".to_owned(),
        id => format!("--{}", id.replace('_', "-")),
    }
}

fn predicts(cli: &Cli) -> bool {
    matches!(&cli.verb, Verb::Predict(predict) if predict.experiment.is_none())
}

/// Returns true for results in records alone, which have all flows.
fn has_all_flows(cli: &Cli) -> bool {
    let is_drawn = match &cli.verb {
        Verb::Predict(it) => it.figure.is_some(),
        Verb::Merge(it) => it.figure.is_some(),
        Verb::Measure(_) | Verb::Compare(_) => false,
        _ => return false,
    };
    cli.json && !is_drawn
}

fn measures(cli: &Cli, is_so: impl FnOnce(&Measure) -> bool) -> bool {
    matches!(&cli.verb, Verb::Measure(it) if it.experiment.is_none() && is_so(it))
}

fn watches(cli: &Cli, is_so: impl FnOnce(&Watch) -> bool) -> bool {
    matches!(&cli.verb, Verb::Watch(watch) if is_so(watch))
}

/// Returns true for a screen as lines or records.
fn is_in_lines(cli: &Cli, watch: &Watch) -> bool {
    watch.monitor.screen.is_some() && (watch.monitor.plain || cli.json)
}

/// Returns true if some output other than lines shows classes of sizes.
fn has_classes(watch: &Watch) -> bool {
    let Export { csv, zeek, parquet, .. } = &watch.export;
    let is_drawn = watch.monitor.screen.is_some() && !watch.monitor.plain;
    is_drawn || [csv, zeek, parquet].iter().any(|it| it.is_some())
}

fn is_open(port: &PortOptions) -> bool {
    port.interface.is_some() || port.xdp.is_some() || port.udp.is_some() || port.over.is_some()
}

fn has_peer(measure: &Measure) -> bool {
    measure.to.is_some() || is_open(&measure.port)
}

fn reproduces(cli: &Cli, is_so: impl FnOnce(&Reproduce) -> bool) -> bool {
    matches!(&cli.verb, Verb::Reproduce(it) if is_so(it))
}

fn layers_are_within_this_process(cli: &Cli) -> bool {
    let Verb::Measure(measure) = &cli.verb else { return false };
    let Some(MeasureExperiment::Layers(layers)) = &measure.experiment else { return false };
    layers.interface.is_none() && layers.udp.is_none()
}
