//! `tidewire reproduce tr-88-04 --live` and `tr-88-17 --live`: the experiments of these papers on a
//! network that is there.

use super::super::measure::peer;
use super::figures::{self, Drawing, Origin};
use super::lines::figure;
use super::shown;
use crate::args::reproduce::{Format, Reproduce};
use crate::busy::Host;
use crate::exit::{Exit, Failure};
use crate::output::{self, Output};
use crate::page::{self, PaperPage, PaperState};
use crate::quantity::trimmed;
use crate::table::{Align, Table};
use crate::{interrupt, port_options};
use bench::paragraph::wrapped;
use bench::sample::{End, Line, Sample};
use bench::scenario::Point;
use bench::session::way::Way;
use bench::session::{SoFar, initiator, local};
use core::time::Duration;
use papers::published::plot::{Plot, Point as Spot};
use papers::published::{Paper, Unavailable};
use papers::transfer::curves::{self, IsModel};
use papers::transfer::map_curves;
use papers::transfer::rounds::{
    self, FEWEST_MESSAGES, Failed, LEVEL, MOST_MESSAGES, Plan, Reading, Rounds,
};
use papers::transfer::{Question, Setup, Trial};
use serde_json::{Value, json};
use stats::interval::Interval;
use std::io;
use std::sync::atomic::AtomicBool;
use wire::addr::Mac;
use wire::time::nanos;

/// Retransmission times, from the paper's first down to what is short on a LAN of today.
const T1S: [Duration; 8] = [
    Duration::from_millis(100),
    Duration::from_millis(50),
    Duration::from_millis(20),
    Duration::from_millis(10),
    Duration::from_millis(5),
    Duration::from_millis(2),
    Duration::from_millis(1),
    Duration::from_micros(500),
];

/// Papers whose experiments can be measured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Experiments {
    /// TR-88-04: datagrams and virtual circuits.
    Circuits,
    /// TR-88-17: CASE, transport and datalink.
    Map,
}

impl Experiments {
    fn of(paper: &Paper) -> Self {
        if paper.name == "tr-88-17" { Self::Map } else { Self::Circuits }
    }

    /// All trials, before the first round.
    fn rounds(self, plan: Plan) -> Rounds {
        match self {
            Self::Circuits => Rounds::new(plan, curves::trials(&T1S)),
            Self::Map => {
                let setup = Setup::live(plan.messages, plan.volume_octets.is_some(), plan.seed);
                Rounds::with(plan, setup.of_map(), map_curves::trials())
            }
        }
    }

    fn plots(self, rounds: &Rounds, observed: &str) -> Result<Vec<Plot>, Unavailable> {
        match self {
            Self::Circuits => {
                curves::plots(&T1S, IsModel::No, observed, |trial| rounds.found(trial))
            }
            Self::Map => map_curves::plots(rounds, observed),
        }
    }

    /// Trials of a figure, curve by curve.
    fn trials_of(self, number: &str) -> Vec<Vec<Trial>> {
        match self {
            Self::Circuits => curves::trials_of(&T1S, number),
            Self::Map => map_curves::trials_of(number),
        }
    }

    /// Intervals in which the points of a figure are expected in a repeat, curve by curve.
    fn repeats(self, rounds: &Rounds, number: &str) -> Vec<Vec<Option<Interval>>> {
        match self {
            Self::Circuits => {
                let of_curve =
                    |trials: Vec<Trial>| trials.iter().map(|trial| rounds.repeat(trial)).collect();
                curves::trials_of(&T1S, number).into_iter().map(of_curve).collect()
            }
            Self::Map => map_curves::repeats(rounds, number),
        }
    }

    /// Sentence on what the messages are, where that has to be said.
    const fn standing(self) -> Option<&'static str> {
        match self {
            Self::Circuits => None,
            Self::Map => Some(
                "The octets of CASE are an assumption: a header of 4 octets in front of each message. EOT \
                 waits for the AK of class 4; the receiver, a serve too, acknowledges each DT at once.",
            ),
        }
    }
}

/// Settings of the experiments.
struct Request<'a> {
    arguments: &'a Reproduce,
    paper: &'a Paper,
    experiments: Experiments,
    plan: Plan,
    host: Host,
}

/// Medium: a LAN within this process, or a port and the peer behind it.
enum Medium {
    Process,
    Port(Box<Way>, Mac),
}

/// Measures every trial in every round, and prints medians.
pub(super) fn run(
    arguments: &Reproduce,
    paper: &Paper,
    format: Format,
    output: &Output,
) -> anyhow::Result<Exit> {
    let plan = plan(arguments, paper, format)?;
    page::check(&arguments.page)?;
    if let Some(folder) = &arguments.figures {
        figures::prepare(folder)?;
    }
    let stop = output::install_interrupts()?;
    let mut medium = match peer(&arguments.port, arguments.to)? {
        Some(peer) => Medium::Port(Box::new(port_options::open(&arguments.port, plan.seed)?), peer),
        None => Medium::Process,
    };
    let host = Host::look();
    for warning in host.warnings() {
        output.warn(&warning);
    }
    let experiments = Experiments::of(paper);
    let state = || PaperState::new(paper.title, "round", shown::trials_sheet());
    let page = PaperPage::open(&arguments.page, state, output)?;
    let mut rounds = experiments.rounds(plan);
    let work = Work { medium: &mut medium, page: page.as_ref(), stop };
    let result = measure(&mut rounds, work, output);
    if let Medium::Port(way, _) = medium {
        way.close().map_err(port_options::explain)?;
    }
    let error = interrupt::requested().then(|| "interrupted".to_owned());
    if let Some(page) = page {
        let failed = result.as_ref().err().map(|error| format!("{error:#}"));
        page.state().end(None, failed.or_else(|| error.clone()));
        page.close();
    }
    result?;
    if error.is_some() {
        output.record(&Line::End(End { complete: false, error }))?;
        return Ok(Exit::Interrupted);
    }
    let request = Request { arguments, paper, experiments, plan, host };
    let observed =
        format!("Medians of n = {} rounds; intervals {}.", plan.rounds, rounds.interval());
    let plots = experiments.plots(&rounds, &observed).map_err(failed)?;
    tell(&request, &rounds, &plots, output)?;
    if let Some(folder) = &arguments.figures {
        let emit = arguments.emit;
        let drawing = Drawing { paper, seed: plan.seed, origin: Origin::Measured, emit };
        for path in figures::draw(&drawing, &plots, folder)? {
            output.remark(format_args!("{} written", path.display()));
        }
    }
    Ok(Exit::Ok)
}

/// Checks what was asked for, before a port is opened.
fn plan(arguments: &Reproduce, paper: &Paper, format: Format) -> Result<Plan, Failure> {
    if arguments.port.over.is_some() {
        let fix = "leave --over out, and name a station with --to";
        return Err(Failure::usage("--over: datagrams need a LAN, TCP carries none").with_fix(fix));
    }
    if format == Format::Csv {
        let fix = "--figures FOLDER writes the numbers of each figure as CSV";
        return Err(Failure::usage("--format csv: --live has no claims to list").with_fix(fix));
    }
    let messages = arguments.runs.unwrap_or(paper.repetitions);
    if messages < FEWEST_MESSAGES {
        let message = format!("-n {messages}: with --live a trial lasts 100 ms or longer");
        return Err(Failure::usage(message).with_fix(format!("-n {FEWEST_MESSAGES}, or more")));
    }
    let volume = arguments.volume.as_deref();
    let volume_octets = volume.map(|volume| port_options::size("--volume", volume)).transpose()?;
    Ok(Plan { rounds: arguments.rounds, messages, volume_octets, seed: arguments.seed })
}

fn failed(Unavailable(why): Unavailable) -> Failure {
    Failure::failed(why)
}

/// Surroundings of the trials.
struct Work<'a> {
    medium: &'a mut Medium,
    page: Option<&'a PaperPage>,
    stop: &'a AtomicBool,
}

fn measure(rounds: &mut Rounds, work: Work<'_>, output: &Output) -> anyhow::Result<()> {
    let Work { medium, page, stop } = work;
    let show = |rounds: &Rounds, done: usize| {
        if let Some(page) = page {
            page.state().replace(done as u64, rounds.orders.len() as u64, shown::trials(rounds));
        }
    };
    show(rounds, 0);
    let (trials, all) = (rounds.trials.len(), rounds.orders.len());
    for round in 0..all {
        output.remark(format_args!("round {} of {all}: {trials} trials", round + 1));
        let mut run = |point: &Point| carry_out(point, medium, stop);
        match rounds.carry_out(round, &mut run) {
            // A trial that was interrupted may have no result.
            _ if interrupt::requested() => return Ok(()),
            Ok(()) => show(rounds, round + 1),
            Err(Failed::Unavailable(reason)) => return Err(failed(reason).into()),
            Err(Failed::Run(error)) => return Err(error),
        }
    }
    Ok(())
}

fn carry_out(point: &Point, medium: &mut Medium, stop: &AtomicBool) -> anyhow::Result<Sample> {
    if interrupt::requested() {
        anyhow::bail!("interrupted");
    }
    let (way, peer) = match medium {
        Medium::Process => {
            return local::measure(point, "", 0, stop).map_err(port_options::explain);
        }
        Medium::Port(way, peer) => (way, *peer),
    };
    let progress = &mut |_: &SoFar| {};
    let order = initiator::Order {
        point,
        scenario_hash: "",
        replication: 0,
        peer,
        to_groups: false,
        stop,
        progress,
        messages: None,
    };
    let measured = initiator::measure(way, order).map_err(port_options::explain)?;
    match measured.failure {
        Some(failure) => Err(port_options::explain(failure)),
        None => Ok(measured.sample),
    }
}

fn tell(request: &Request<'_>, rounds: &Rounds, plots: &[Plot], output: &Output) -> io::Result<()> {
    let Request { paper, experiments, .. } = request;
    output.line(wrapped(&format!("{} --live: ", paper.name), paper.title))?;
    for sentence in sentences(request, rounds) {
        output.line(wrapped("  ", &sentence))?;
    }
    record(request, rounds, output)?;
    for plot in plots {
        let (name, unit) = plot.vertical;
        output.line(format_args!("\nFigure {}: {}, {name} in {unit}", plot.number, plot.title))?;
        let repeats = experiments.repeats(rounds, plot.number);
        let trials = experiments.trials_of(plot.number).into_iter().zip(&repeats);
        for (curve, (trials, repeats)) in plot.curves.iter().zip(trials) {
            let points = curve.points.iter().zip(trials).zip(repeats);
            let rows: Vec<_> = points
                .map(|((spot, trial), repeat)| Measured {
                    spot,
                    place: rounds.place(&trial),
                    repeat: *repeat,
                })
                .collect();
            output.line(table(plot.horizontal.0, &curve.name, &rows))?;
        }
        output.record(&with_repeats(figure(plot), &repeats))?;
    }
    output.line("\nOrder of the trials in each round")?;
    for (round, order) in rounds.orders.iter().enumerate() {
        let numbers: Vec<String> = order.iter().map(|place| (place + 1).to_string()).collect();
        output.line(wrapped(&format!("  {:2}  ", round + 1), &numbers.join(" ")))?;
    }
    output.record(&Line::End(End { complete: true, error: None }))
}

/// Conditions, in sentences.
fn sentences(request: &Request<'_>, rounds: &Rounds) -> Vec<String> {
    let Request { arguments, plan, .. } = request;
    let place = match arguments.to {
        Some(peer) => format!("against {peer}"),
        None if arguments.port.udp.is_some() => "against a peer behind UDP".to_owned(),
        None => "on a LAN within this process".to_owned(),
    };
    let Plan { rounds: n, messages, seed, .. } = plan;
    let volume = match plan.volume_octets {
        Some(octets) => format!(
            "{octets} octets in at most {MOST_MESSAGES} messages, and more where they take less time"
        ),
        None => "as many messages as take that long".to_owned(),
    };
    let count = rounds.trials.len();
    let mut sentences = vec![
        format!("Measured {place}, with no model: {n} rounds of {count} trials, seed {seed}."),
        format!(
            "A delay is half of the median round trip of {messages} messages, answered with as many octets. \
             A trial lasts 100 ms or longer; one of throughput sends {volume}."
        ),
        format!("Values are medians over n = {n} rounds; from and to: {}.", rounds.interval()),
        format!("{}.", rounds.repeats()),
    ];
    let all = (0..count).flat_map(|place| rounds.readings(place));
    sentences.extend(request.experiments.standing().map(str::to_owned));
    let cut = all.filter(|reading| reading.is_cut).count();
    if cut > 0 {
        sentences.push(format!(
            "{cut} of {} trials were cut off before all their messages had arrived: what arrived by then \
             counts.",
            count as u64 * n
        ));
    }
    sentences
}

/// Records of the conditions, of each trial with every reading, and of each round.
fn record(request: &Request<'_>, rounds: &Rounds, output: &Output) -> io::Result<()> {
    let Request { paper, plan, host, .. } = request;
    let Plan { rounds: n, messages, volume_octets, seed } = plan;
    let median = stats::interval::median_rank(*n as usize, LEVEL);
    output.record(&json!({
        "type": "paper", "paper": paper.name, "title": paper.title, "live": true,
        "seed": seed.to_string(), "rounds": n, "messages": messages,
        "volume_octets": volume_octets, "shortest_trial_ns": nanos(rounds::SHORTEST),
        "interval_rank": median.map(|(rank, _)| rank),
        "interval_coverage": median.map(|(_, coverage)| coverage), "host": host.facts(),
    }))?;
    for (place, trial) in rounds.trials.iter().enumerate() {
        let Trial { service, question, octets, t1, window, circuits, .. } = trial;
        let readings = rounds.readings(place);
        let of = |value: fn(&Reading) -> serde_json::Value| {
            readings.iter().map(value).collect::<Vec<_>>()
        };
        let (median, repeat) = (rounds.median(trial).ok(), rounds.repeat(trial));
        output.record(&json!({
            "type": "trial", "trial": place + 1, "service": service.name(),
            "question": format!("{question:?}").to_lowercase(), "octets": octets,
            "t1_ns": nanos(*t1), "window": window, "circuits": circuits,
            "unit": if *question == Question::Delay { "ms" } else { "kbyte/s" },
            "median": median.map(|it| it.median), "low": median.map(|it| it.low),
            "high": median.map(|it| it.high), "repeat_low": repeat.map(|it| it.low),
            "repeat_high": repeat.map(|it| it.high), "values": of(|it| it.value.into()),
            "messages": of(|it| it.messages.into()), "cut": of(|it| it.is_cut.into()),
        }))?;
    }
    for (round, order) in rounds.orders.iter().enumerate() {
        let trials: Vec<usize> = order.iter().map(|place| place + 1).collect();
        output.record(&json!({ "type": "round", "round": round + 1, "trials": trials }))?;
    }
    Ok(())
}

/// Record of a figure, with the intervals of repeats of each curve next to its points.
fn with_repeats(mut figure: Value, repeats: &[Vec<Option<Interval>>]) -> Value {
    let curves = figure["curves"].as_array_mut().into_iter().flatten();
    for (curve, repeats) in curves.zip(repeats) {
        let ends = |repeat: &Option<Interval>| repeat.map(|it| [it.low, it.high]);
        curve["repeats"] = repeats.iter().map(ends).collect::<Vec<_>>().into();
    }
    figure
}

/// Row of a table: a point, the index of its trial, and the interval of a repeat.
struct Measured<'a> {
    spot: &'a Spot,
    place: Option<usize>,
    repeat: Option<Interval>,
}

/// The points of a curve: medians with their intervals, those of repeats, and the numbers of the
/// trials.
fn table(across: &str, name: &str, rows: &[Measured<'_>]) -> Table {
    let right = Align::Right;
    let mut table = Table::new([
        (across, right),
        (name, right),
        ("from", right),
        ("to", right),
        ("repeat", right),
        ("to", right),
        ("n", right),
        ("trial", right),
    ]);
    for Measured { spot, place, repeat } in rows {
        let Spot { x, y, low, high, observations } = spot;
        let [x, y, low, high] = [x, y, low, high].map(|number| trimmed(*number, 4));
        let ends = repeat.map(|Interval { low, high }| [low, high].map(|end| trimmed(end, 4)));
        let [again, until] = ends.unwrap_or_default();
        let number = place.map_or_else(String::new, |place| (place + 1).to_string());
        table.row([x, y, low, high, again, until, observations.to_string(), number]);
    }
    table
}
