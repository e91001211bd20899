//! `tidewire measure`: a scenario, or a single load, over a real port.

use super::dry_run::{self, Planned};
use super::each_message::{self, Table};
use crate::args::{Load, Measure, PortOptions};
use crate::busy::Host;
use crate::exit::{Exit, Failure};
use crate::output::{self, Output};
use crate::output_file::Inputs;
use crate::page::{self, StudyPage, StudyState};
use crate::runs::{self, Findings, Making, Recording};
use crate::scenario_choice::{self, Chosen, Purpose};
use crate::steps::{Length, Steps};
use crate::{host, interrupt, port_options, quantity};
use bench::medium::{Ideal, Medium};
use bench::messages::Sink;
use bench::paragraph::wrapped;
use bench::sample::Sample;
use bench::scenario::{
    Faults, Flow, Pattern, Rate, Scenario, Service, Size, Span, Start, Station, Stop, Study,
    Transport, Warmup,
};
use bench::session::iso_tcp::{End, IsoWay};
use bench::session::way::{Way, udp_station};
use bench::session::{SoFar, initiator, local};
use core::time::Duration;
use live::interface::Interface;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use wire::addr::Mac;
use wire::time::nanos;
use wire::units::BitRate;

pub(crate) fn run(measure: &Measure, output: &Output) -> anyhow::Result<Exit> {
    if measure.port.foreign_peer {
        return super::foreign::run(measure, output);
    }
    let mut chosen = match &measure.scenario {
        Some(which) => scenario_choice::choose(which, &Purpose::Measure, &measure.run, output)?,
        None => single(measure)?,
    };
    scenario_choice::require(&mut chosen, &measure.require)?;
    if measure.run.print_scenario {
        return scenario_choice::print(&chosen, output);
    }
    if chosen.study.points.iter().any(|point| point.scenario.has_changes()) {
        let message = "stations that enter, leave or fail are simulated only";
        return Err(Failure::usage(message).with_fix("tidewire predict").into());
    }
    if let Some(path) = &measure.port.capture {
        chosen.inputs.refuse("--capture", path)?;
    }
    if let Some(path) = &measure.each_message {
        let capture = measure.port.capture.as_deref();
        each_message::check(path, &chosen.inputs, [("--capture", capture)])?;
    }
    page::check(&measure.page)?;
    check_groups(measure, &chosen, output)?;
    if measure.run.dry_run {
        return plan(measure, &chosen, output);
    }
    let stop = output::install_interrupts()?;
    let against = against(measure)?;
    let scenario = chosen.study.scenario();
    let is_tame = scenario.background.is_none() && scenario.faults == Faults::NONE;
    match against {
        Against::NoPeer => {}
        Against::Station(..) if is_tame => {}
        Against::Station(..) => output.remark(
            "warning: a measurement against a peer leaves out the scenario's background and \
             faults; --fault at both ends makes faults",
        ),
        Against::Server(..) => output.remark(format_args!(
            "over TCP the transport is class {}{}, and TCP recovers losses",
            measure.class,
            if is_tame { "" } else { ", without the scenario's background and faults" },
        )),
    }
    carry_out(measure, &chosen, against, stop, output)
}

/// Refuses --groups where no flow has a group, and says where groups are not used.
fn check_groups(measure: &Measure, chosen: &Chosen, output: &Output) -> Result<(), Failure> {
    let mut flows = chosen.study.points.iter().flat_map(|point| &point.scenario.flows);
    let has_group = |flow: &Flow| flow.publication().is_some_and(|it| it.group.is_some());
    match (measure.groups, flows.any(has_group)) {
        (true, false) => {}
        (false, true) if measure.to.is_some() => {
            output.remark(
                "streams go to the peer alone, not to their groups; --groups sends them to every \
                 station of the LAN",
            );
            return Ok(());
        }
        _ => return Ok(()),
    }
    let fix = "leave it out: only flows of goose, sampled-values and cyclic have groups";
    Err(Failure::usage("--groups: no flow of the scenario goes to a group").with_fix(fix))
}

/// Prints what would run, without opening a port.
fn plan(measure: &Measure, chosen: &Chosen, output: &Output) -> anyhow::Result<Exit> {
    let runs = chosen.study.points.iter().map(|point| point.scenario.replications).sum();
    let is_within = peer(&measure.port, measure.to)?.is_none() && measure.port.over.is_none();
    let limit = match (is_within, measure.port.max_frames) {
        (true, _) => "none: it runs within this process, and sends nothing".to_owned(),
        (false, Some(frames)) => format!("{frames} frames/s (--max-frames), if the peer agrees"),
        (false, None) => {
            "100 frames/s or 1 % of the link, and none on loopback and veth; --max-frames sets it"
                .to_owned()
        }
    };
    let folder = (!measure.run.no_save)
        .then(|| dry_run::folder(&measure.run.output, &runs::folder_name(chosen, None)));
    let planned = Planned {
        verb: "measure",
        chosen,
        runs,
        at_most: None,
        is_real_time: true,
        link: Some(link(measure)),
        limit: Some(limit),
        writes: folder
            .into_iter()
            .chain(measure.port.capture.clone())
            .chain(measure.each_message.clone())
            .collect(),
    };
    dry_run::print(&planned, output)
}

/// Returns the link of the port, with its rate where the driver reports it.
fn link(measure: &Measure) -> dry_run::Link {
    let name = measure.port.interface.as_ref().or(measure.port.xdp.as_ref());
    let all = Interface::all().unwrap_or_default();
    let rate = name.and_then(|name| all.iter().find(|it| it.name == *name)?.rate);
    dry_run::Link { port: name.cloned().zip(rate), is_assumed: measure.scenario.is_none() }
}

/// Opens what is measured over.
fn against(measure: &Measure) -> anyhow::Result<Against> {
    let Some(url) = &measure.port.over else {
        return Ok(match peer(&measure.port, measure.to)? {
            Some(peer) => Against::Station(Box::new(port_options::open(&measure.port, 1)?), peer),
            None => Against::NoPeer,
        });
    };
    if measure.to.is_some() {
        let fix = "leave --to out: the address behind --over is the peer's";
        return Err(Failure::usage("--to is a station of a LAN").with_fix(fix).into());
    }
    let (end, class) = (End::Client(port_options::over(url)?), port_options::class(measure.class)?);
    let way = port_options::open_iso_tcp(&measure.port, end, class)?;
    Ok(Against::Server(Box::new(way)))
}

/// Peer of a measurement on a LAN; `None` for the in-process LAN.
pub(super) fn peer(port: &PortOptions, to: Option<Mac>) -> Result<Option<Mac>, Failure> {
    let peer = to.or_else(|| port.udp_peer.map(udp_station));
    let is_open = port.interface.is_some() || port.xdp.is_some() || port.udp.is_some();
    match peer {
        None if is_open => Err(Failure::usage("--to is missing: name the peer to measure against")
            .with_fix("--to MAC, as `tidewire serve` prints it; with --udp also --udp-peer")),
        None => Ok(None),
        Some(_) if !is_open => {
            let fix = "name an interface with -i or --xdp, or an address with --udp";
            Err(Failure::usage("--to needs a port").with_fix(fix))
        }
        Some(peer) => Ok(Some(peer)),
    }
}

/// The scenario that a single load on the command line stands for.
fn single(measure: &Measure) -> anyhow::Result<Chosen> {
    let size = Size(port_options::size("--size", &measure.size)? as u64);
    let period: Span = quantity::option("--period", &measure.period)?;
    let after: Span = quantity::option("--time", &measure.time)?;
    let t1: Span = quantity::option("--t1", &measure.t1)?;
    let octets = match &measure.bytes {
        Some(text) => Some(port_options::size("--bytes", text)? as u64),
        None => None,
    };
    let of_octets = octets.map(|octets| octets.div_ceil(size.0.max(1)));
    let messages = measure.messages.or(of_octets);
    let reply = size;
    let pattern = match measure.load {
        Load::Bulk => {
            let total = match measure.messages {
                Some(messages) => messages.saturating_mul(size.0),
                None => octets.unwrap_or(1_000 * size.0),
            };
            Pattern::Bulk { total: Some(Size(total)) }
        }
        Load::Cyclic => Pattern::Cyclic { period },
        Load::Poisson => Pattern::Poisson { mean_interval: period },
        Load::ConstantRateRequest => Pattern::ConstantRateRequest { period, reply },
        Load::MaximumRateRequest => Pattern::MaximumRateRequest { reply },
    };
    let service = if measure.datagram { Service::Datagram } else { Service::Class4 };
    let ends = ["here", "there"];
    let flow = Flow {
        messages: messages.filter(|_| measure.load != Load::Bulk),
        start: Start::Together,
        ..Flow::new("load".to_owned(), ends.map(str::to_owned), service, pattern, size)
    };
    let medium =
        Medium::Ideal(Ideal { rate: Rate(BitRate::mbps(1_000)), delay: Span(Duration::ZERO) });
    let name = measure.load.name();
    let title = format!("{name}, messages of {} B", size.0);
    let scenario = Scenario {
        seed: measure.run.seed.unwrap_or(1),
        replications: measure.run.runs.unwrap_or(1),
        transport: Transport { t1, ..Transport::lan() },
        named_stations: ends.map(Station::new).to_vec(),
        flows: vec![flow],
        ..Scenario::new(title, medium, Stop { after, warmup: Warmup::None, messages: None })
    };
    let study = Study::of(&scenario, "the command line")
        .map_err(|error| Failure::usage(format!("the load is not valid:\n{error}")))?;
    let (inputs, set) = (Inputs::default(), set_by_options());
    Ok(Chosen { name: format!("measure-{name}"), study, inputs, set })
}

/// Keys of the scenario of a single load, and the options that set them.
fn set_by_options() -> BTreeMap<String, String> {
    let keys = [
        ("seed", "--seed"),
        ("replications", "--runs"),
        ("stop.after", "--time"),
        ("transport.t1", "--t1"),
        ("flow.0.service", "--datagram"),
        ("flow.0.size", "--size"),
        ("flow.0.messages", "--messages, --bytes"),
        ("flow.0.pattern.kind", "--load"),
        ("flow.0.pattern.total", "--messages, --bytes"),
        ("flow.0.pattern.period", "--period"),
        ("flow.0.pattern.mean-interval", "--period"),
        ("flow.0.pattern.reply", "--size"),
    ];
    keys.map(|(key, option)| (key.to_owned(), format!("{option}, or its default"))).into()
}

/// Peer of a measurement, and the way to it.
enum Against {
    NoPeer,
    Station(Box<Way>, Mac),
    Server(Box<IsoWay>),
}

impl Against {
    /// Name and address of the peer, if there is one.
    fn peer(&self) -> Option<(String, Mac)> {
        match self {
            Self::NoPeer => None,
            Self::Station(way, peer) => Some((way.peer_name(*peer), *peer)),
            Self::Server(way) => Some((way.name().to_owned(), Mac::default())),
        }
    }
}

/// Makes every run, stores the samples, and prints the report.
fn carry_out(
    measure: &Measure,
    chosen: &Chosen,
    mut against: Against,
    stop: &AtomicBool,
    output: &Output,
) -> anyhow::Result<Exit> {
    let host = Host::look();
    for warning in host.warnings_for(&chosen.study) {
        output.warn(&warning);
    }
    let all = chosen.study.points.iter().map(|point| point.scenario.replications).sum();
    let host_noise_ns = Some(nanos(host.latest_wake()));
    let plan = page::Plan {
        verb: "measure",
        runs: all,
        may_grow: false,
        is_predicted: false,
        host_noise_ns,
    };
    let page = StudyPage::open(&measure.page, || StudyState::new(&chosen.study, plan), output)?;
    let mut table = measure.each_message.as_deref().map(Table::create).transpose()?;
    let port = measure.port.interface.as_deref().or(measure.port.xdp.as_deref());
    let making = Making::here(host.facts().into_iter().chain(port.map(host::port)).collect());
    let mut recording = Recording::begin(chosen, &measure.run, making, output)?.on(page);
    let mut steps = Steps::new("measure", all, output);
    let mut to = Destinations { recording: &mut recording, steps: &mut steps, table: &mut table };
    let result = every_run(chosen, &mut against, measure.groups, &mut to, stop);
    steps.end();
    let end = if result.is_ok() { Table::close } else { Table::abandon };
    let written = table.map_or(Ok(()), end);
    let closed = match against {
        Against::Station(way, _) => way.close().map_err(port_options::explain),
        Against::Server(_) | Against::NoPeer => Ok(()),
    };
    let error = result.err().or(written.err()).or(closed.err());
    let reason = match &error {
        Some(error) => Some(format!("{error:#}")),
        None => interrupt::requested().then(|| "interrupted".to_owned()),
    };
    let findings = Findings {
        points: &chosen.study.points,
        is_predicted: false,
        host_noise_ns,
        judged: None,
        differences: None,
        top: measure.run.top.rows(),
    };
    if error.is_some() {
        recording.discard_if_empty()?;
    }
    let outcome = recording.end(reason, findings)?;
    match error {
        Some(error) => Err(error),
        None if interrupt::requested() => Ok(Exit::Interrupted),
        None => Ok(outcome.exit()),
    }
}

/// Destinations of what runs bring.
struct Destinations<'a, 'b> {
    recording: &'a mut Recording<'b>,
    steps: &'a mut Steps<'b>,
    table: &'a mut Option<Table>,
}

fn every_run(
    chosen: &Chosen,
    against: &mut Against,
    to_groups: bool,
    to: &mut Destinations<'_, '_>,
    stop: &AtomicBool,
) -> anyhow::Result<()> {
    let hash = chosen.hash();
    for point in &chosen.study.points {
        for replication in 0..point.scenario.replications {
            if interrupt::requested() {
                return Ok(());
            }
            let Destinations { recording, steps, table } = to;
            let (page, length) = (recording.page(), length(&point.scenario));
            steps.begin_run(length);
            page.iter().for_each(|page| page.begin_run(point.index));
            let progress = &mut |so_far: &SoFar| {
                steps.under_way(so_far);
                page.iter().for_each(|page| page.under_way(so_far, &length));
            };
            let mut rows = table.as_mut().map(|table| table.rows(point.index, replication));
            let messages = rows.as_mut().map(|rows| rows as Sink<'_>);
            let Some((name, peer)) = against.peer() else {
                let sample =
                    local::measure_with(point, &hash, replication, stop, progress, messages);
                drop(rows);
                to.sample(sample.map_err(port_options::explain)?)?;
                continue;
            };
            let scenario_hash = &hash;
            let order = initiator::Order {
                point,
                scenario_hash,
                replication,
                peer,
                to_groups,
                stop,
                progress,
                messages,
            };
            let measured = match against {
                Against::Server(way) => initiator::measure_iso_tcp(way, order),
                Against::Station(way, _) => initiator::measure(way, order),
                Against::NoPeer => continue,
            };
            drop(rows);
            let mut measured = measured.map_err(port_options::explain)?;
            if let Some(failure) = measured.failure.take() {
                to.recording.sample(measured.sample)?;
                return Err(port_options::explain(failure));
            }
            to.steps.hidden(|| announce(&name, &measured, to.steps.output))?;
            to.sample(measured.sample)?;
        }
    }
    Ok(())
}

impl Destinations<'_, '_> {
    /// Takes the sample of a run whose messages are in the table.
    fn sample(&mut self, sample: Sample) -> anyhow::Result<()> {
        self.steps.run(&sample);
        self.recording.sample(sample)?;
        self.table.as_mut().map_or(Ok(()), Table::check)
    }
}

/// Prints the counts of a peer, and what it did not report.
fn announce(peer: &str, measured: &initiator::Measured, output: &Output) -> anyhow::Result<()> {
    output.record(&record(peer, measured))?;
    let warnings = [unreported(peer, measured), without_row(measured)];
    for warning in warnings.into_iter().flatten() {
        output.remark(warning);
    }
    tell(peer, measured, output)
}

/// Returns the length of a run. Messages end it early if every flow has a number of them.
fn length(scenario: &Scenario) -> Length {
    let messages = |flow: &Flow| match flow.pattern {
        Pattern::Bulk { total: Some(total) } => Some(total.0.div_ceil(flow.size.0.max(1))),
        _ => flow.messages,
    };
    Length {
        time: scenario.stop.after.0,
        messages: scenario.flows.iter().map(messages).sum(),
        is_answered: scenario.flows.iter().any(|flow| flow.pattern.is_answered()),
    }
}

/// Warning of a peer that did not report the arrival of each message.
fn unreported(peer: &str, measured: &initiator::Measured) -> Option<String> {
    (!measured.each && measured.peer.delivered > 0).then(|| {
        format!(
            "warning: {peer} reported the times of some of {} arrivals: delays, and the counts of one of several \
             flows, are those of the reported ones",
            measured.peer.delivered
        )
    })
}

/// Warning of messages that have no row in the table.
fn without_row(measured: &initiator::Measured) -> Option<String> {
    let first = bench::messages::MOST_HELD;
    (measured.without_row > 0).then(|| {
        format!(
            "warning: {} messages after the first {first} of this run have no row",
            measured.without_row
        )
    })
}

fn is_exact(measured: &initiator::Measured) -> bool {
    let peer = &measured.peer;
    peer.delivered == measured.sent && peer.duplicates == 0 && peer.damaged == 0
}

/// Messages that are in no result, in words that fit a terminal.
fn not_judged(messages: u64) -> String {
    let are = if messages == 1 { "is" } else { "are" };
    let text = format!(
        "{messages} of them {are} in no result below: sent in the warm-up or after the measured time"
    );
    wrapped("  ", &text)
}

fn tell(peer: &str, measured: &initiator::Measured, output: &Output) -> anyhow::Result<()> {
    let sent = measured.sent;
    let counts = &measured.peer;
    output.line(format_args!("{peer} counted:"))?;
    output.line(format_args!(
        "  {} of {sent} messages, {} octets, {} duplicated, {} damaged{}",
        counts.delivered,
        counts.octets,
        counts.duplicates,
        counts.damaged,
        if is_exact(measured) { ": exact" } else { "" },
    ))?;
    let judged: u64 = measured.sample.flows.iter().map(|flow| flow.sent).sum();
    if let Some(others @ 1..) = sent.checked_sub(judged) {
        output.line(not_judged(others))?;
    }
    // The throughput is that of the flow below: this time has the opening and the last acknowledgements too.
    output.line(format_args!(
        "  in {}; T1 ran out {} times, {} of {} DTs were retransmitted",
        quantity::span(nanos(measured.took)),
        measured.transport.t1,
        measured.transport.sent_again,
        measured.transport.sent[wire::tp::Kind::Dt as usize],
    ))?;
    Ok(())
}

fn record(peer: &str, measured: &initiator::Measured) -> Value {
    let initiator::Measured { sample, sent, peer: counts, transport, took, .. } = measured;
    json!({
        "type": "result",
        "peer": peer,
        "complete": sample.complete,
        "exact": is_exact(measured),
        "each_arrival_reported": measured.each,
        "sent": sent,
        "without_row": measured.without_row,
        "delivered": counts.delivered,
        "delivered_octets": counts.octets,
        "duplicates": counts.duplicates,
        "damaged": counts.damaged,
        "frames": counts.frames,
        "took_ns": nanos(*took),
        "goodput_bits_per_second": counts.octets as f64 * 8.0 / took.as_secs_f64().max(1e-9),
        "transport": {
            "sent": super::serve::by_kind(transport.sent),
            "received": super::serve::by_kind(transport.received),
            "sent_again": transport.sent_again,
            "t1": transport.t1,
            "gave_up": transport.gave_up,
            "closed_window": transport.closed_window,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_of_messages_fits_a_terminal_and_its_verb() {
        let one = not_judged(1);
        assert!(one.starts_with("  1 of them is in no result below"), "{one}");
        let more = not_judged(12_345);
        assert!(more.starts_with("  12345 of them are in no result below"), "{more}");
        assert!([one, more].iter().all(|it| it.lines().all(|line| line.chars().count() <= 80)));
    }
}
