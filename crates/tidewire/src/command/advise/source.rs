//! Source of the runs of a search: the simulator, this process in real time, or a peer.

use crate::args::advise::Advise;
use crate::command::measure;
use crate::exit::Failure;
use crate::output::Output;
use crate::{host, port_options, quantity};
use bench::advise::{Objective, Part, Trial, predicted};
use bench::sample::Sample;
use bench::scenario::{Faults, Flow, Point, Scenario, Span};
use bench::session::way::Way;
use bench::session::{SoFar, initiator, local};
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use indicatif::ProgressBar;
use live::clock;
use wire::addr::Mac;
use wire::time::Instant;

/// Default time in which live runs may begin.
const LIVE_TIME: Duration = Duration::from_secs(600);
/// Trials that are simulated before it is looked whether the time is over.
const BATCH: usize = 16;

/// Source of runs.
enum Kind {
    Predicted,
    Local,
    Peer(Box<Way>, Mac),
}

/// Makes the runs of a search, until its time is over.
pub(super) struct Source<'a> {
    kind: Kind,
    /// Latest end of the search, and of everything.
    until: Option<(Instant, Instant)>,
    stop: &'a AtomicBool,
    bar: ProgressBar,
}

impl<'a> Source<'a> {
    /// Opens what the options ask for.
    ///
    /// # Errors
    /// Usage errors, and errors of the port.
    pub(super) fn open(
        options: &Advise,
        point: &Point,
        objective: Objective,
        stop: &'a AtomicBool,
        output: &Output,
    ) -> anyhow::Result<Self> {
        let time = options.time.as_deref().map(|text| quantity::option::<Span>("--time", text));
        let time = time.transpose()?.map(|span| span.0);
        let time = time.or(options.live.then_some(LIVE_TIME));
        let scenario = &point.scenario;
        let kind = kind(options, scenario, objective)?;
        let is_tame = scenario.background.is_none() && scenario.faults == Faults::NONE;
        match &kind {
            Kind::Predicted => {}
            Kind::Local => output.remark(
                "within this process frames pass at once: this is about the machines and this \
                 host, not about the scenario's medium",
            ),
            Kind::Peer(..) if is_tame => {}
            Kind::Peer(..) => output.remark(
                "warning: runs against a peer leave out the scenario's background and faults",
            ),
        }
        let bar = if output.draws_progress() && !output.json {
            ProgressBar::new_spinner()
        } else {
            ProgressBar::hidden()
        };
        let until = time.map(|time| {
            let now = clock::now();
            (now + time / 2, now + time)
        });
        Ok(Self { kind, until, stop, bar })
    }

    /// True if the runs are made against a peer.
    pub(super) const fn has_peer(&self) -> bool {
        matches!(self.kind, Kind::Peer(..))
    }

    /// Makes runs, until the time is over or an interrupt stops it.
    ///
    /// # Errors
    /// That of the first run that cannot be made.
    pub(super) fn run(&mut self, trials: &[Trial]) -> anyhow::Result<Vec<Sample>> {
        let batch = if matches!(self.kind, Kind::Predicted) { BATCH } else { 1 };
        let mut samples = Vec::new();
        for trials in trials.chunks(batch) {
            let is_search = trials.iter().any(|trial| trial.part == Part::Search);
            let is_late = self
                .until
                .is_some_and(|(search, all)| clock::now() >= if is_search { search } else { all });
            if is_late || self.stop.load(Ordering::Relaxed) {
                break;
            }
            let made = self.make(trials)?;
            let made_all = made.len() == trials.len();
            samples.extend(made);
            self.bar.inc(trials.len() as u64);
            self.bar.set_message(format!("{} runs", self.bar.position()));
            if !made_all {
                break;
            }
        }
        Ok(samples)
    }

    fn make(&mut self, trials: &[Trial]) -> anyhow::Result<Vec<Sample>> {
        let stop = self.stop;
        let (way, peer) = match &mut self.kind {
            Kind::Predicted => return Ok(predicted(trials, host::cores(), stop)?),
            Kind::Local => {
                let run = |trial: &Trial| local::measure(&trial.point, "", trial.replication, stop);
                let samples: Result<Vec<Sample>, _> = trials.iter().map(run).collect();
                return samples.map_err(port_options::explain);
            }
            Kind::Peer(way, peer) => (way, *peer),
        };
        let mut samples = Vec::new();
        for Trial { point, replication, .. } in trials {
            let (scenario_hash, replication) = ("", *replication);
            let progress = &mut |_: &SoFar| {};
            let order = initiator::Order {
                point,
                scenario_hash,
                replication,
                peer,
                to_groups: false,
                stop,
                progress,
                messages: None,
            };
            let measured = initiator::measure(way, order).map_err(port_options::explain)?;
            if let Some(failure) = measured.failure {
                return Err(port_options::explain(failure));
            }
            samples.push(measured.sample);
        }
        Ok(samples)
    }

    /// Lets go of the port.
    ///
    /// # Errors
    /// Closes the port, and returns its error.
    pub(super) fn close(self) -> anyhow::Result<()> {
        self.bar.finish_and_clear();
        match self.kind {
            Kind::Peer(way, _) => way.close().map_err(port_options::explain),
            Kind::Predicted | Kind::Local => Ok(()),
        }
    }
}

fn kind(options: &Advise, scenario: &Scenario, objective: Objective) -> anyhow::Result<Kind> {
    let port = &options.port;
    if port.over.is_some() {
        let why = "over TCP the transport is not class 4 and has no settings";
        return Err(Failure::usage(format!("--over: {why}")).into());
    }
    let is_open = port.interface.is_some() || port.xdp.is_some() || port.udp.is_some();
    if !options.live && is_open {
        return Err(Failure::usage("a port has no effect on simulated runs")
            .with_fix("--live")
            .into());
    }
    if !options.live {
        return Ok(Kind::Predicted);
    }
    match measure::peer(port, options.to)? {
        None => Ok(Kind::Local),
        Some(_) if objective != Objective::Throughput && scenario.flows.iter().any(is_one_way) => {
            let why = "delays one way to a peer are not known where clocks are not compared";
            let fix = "--objective throughput, flows of requests, or --live without a peer";
            Err(Failure::usage(why).with_fix(fix).into())
        }
        Some(peer) => Ok(Kind::Peer(Box::new(port_options::open(port, 1)?), peer)),
    }
}

/// True for messages without answers.
fn is_one_way(flow: &Flow) -> bool {
    flow.service.is_connected() && !flow.pattern.is_answered()
}
