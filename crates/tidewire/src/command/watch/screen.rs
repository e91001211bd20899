//! `tidewire watch --screen`: collection, measurement and display in one process. The frames pass
//! once, through one meter, which feeds the monitor and the pages of measures.

use super::{
    Captures, FramePipeline, captures, expect, file, folder, head, live_port, port, source,
};
use crate::args::measuring::{MONITOR_BITS_SCALE, MONITOR_PACKETS_SCALE, MONITOR_SAMPLE};
use crate::args::{MonitorOptions, Screen, Watch};
use crate::command::measuring::Measuring;
use crate::command::pace;
use crate::command::reporter::{Reporter, conclude};
use crate::command::screen_keys;
use crate::exit::{Exit, Failure};
use crate::interrupt;
use crate::output::{self, Output};
use crate::quantity;
use crate::record_folder::KeptRun;
use crate::tui::{
    self, Bars, Gather, Growth, Interval, Kept, Look, Page, Scales, Shared, Start, Surroundings,
    Tempo,
};
use bench::scenario::{Rate, Span};
use core::time::Duration;
use live::clock;
use meter::Settings;
use records::families::Health;
use records::state::Model;
use records::{Details, Recorder, Spans};
use std::path::PathBuf;
use wire::addr::Mac;
use wire::filter::Filter;

/// Default time between reports to a screen.
const REPORT: Duration = Duration::from_secs(1);
/// Default time between samples of sequence numbers.
const SAMPLE: Duration = Duration::from_millis(100);
/// Output while the terminal is drawn on.
const QUIET: Output = Output { json: false, quiet: true };

/// Draws on the terminal until the operator leaves.
pub(super) fn run(watch: &Watch, listen: Option<Span>, output: &Output) -> anyhow::Result<Exit> {
    let options = &watch.monitor;
    if output.json {
        let failure = Failure::usage("--json has no screen");
        return Err(failure.with_fix("--plain --json writes a record per sample").into());
    }
    let bars = bars(watch)?;
    let keys = screen_keys::read(options.keys.as_deref())?;
    let line = screen_keys::line(options.terminal_rate.as_deref())?;
    let mut measuring = Measuring::of(&watch.measuring, watch.source.interface.as_deref())?;
    let mut run = KeptRun {
        head: head(watch, &measuring),
        folder: None,
        hides_reports: watch.measuring.report.is_none(),
        hides_samples: watch.measuring.sample.is_none(),
    };
    if watch.measuring.report.is_none() {
        measuring.spans.report = REPORT.min(measuring.settings.interval);
    }
    measuring.spans.sample.get_or_insert(SAMPLE);
    let expectation = expect::read(&watch.export)?;
    let feed = Feed::of(watch, listen)?;
    tui::check_screen()?;
    feed.check()?;
    run.folder = folder(watch)?;
    let kept = run.folder.as_ref().map_or(Kept::Nowhere, |it| Kept::Run(it.path().to_owned()));
    let samples = Gather::new(name(watch), bars.interval, shown(watch)).with_tpdus();
    let samples = Shared::new(samples);
    let model = Shared::new(Model::new(head(watch, &measuring)));
    let tempo = feed.tempo.clone();
    let meter = {
        let (model, samples) = (model.clone(), samples.clone());
        let has_names = !watch.export.anonymize;
        std::thread::spawn(move || {
            let teller = Reporter::on_screen(
                model,
                samples.clone(),
                measuring.only.clone(),
                feed.tempo.clone(),
            )
            .keeping(run);
            let mut recorder = measuring.recorder();
            if !has_names {
                recorder.leave_out_names();
            }
            if let Some(expectation) = expectation {
                recorder.expect_publishers(expectation);
            }
            feed.pass(recorder, samples, teller)
        })
    };
    let is_monitor = options.screen == Some(Screen::Monitor);
    let around = Surroundings::of_process();
    let start = Start {
        model: model.clone(),
        samples: Some(samples.clone()),
        bars: Some(bars),
        page: if is_monitor { Page::Monitor } else { Page::Overview },
        keys,
        look: Look::new(options.theme, options.symbols, &around),
        line,
        folder: PathBuf::from("."),
        tempo,
        keeps_run: kept != Kept::Nowhere,
        meters_frames: true,
    };
    let exit = tui::show(start, meter);
    if !output.quiet {
        tui::print_summary(&model, tui::Source::Samples(&samples), &kept, output)?;
    }
    exit
}

/// Prints the samples of the monitor as lines or records.
pub(super) fn print_samples(
    watch: &Watch,
    listen: Option<Span>,
    output: &Output,
) -> anyhow::Result<Exit> {
    let interval = bars(watch)?.interval;
    output::install_interrupts()?;
    // No hosts and connections: the monitor shows none.
    let spans = Spans { report: REPORT, sample: None, intervals: None };
    let recorder = Recorder::new(Settings::every(REPORT), spans, Details { top: 0 });
    let feed = Feed::of(watch, listen)?;
    feed.check()?;
    let samples = Shared::new(Gather::new(name(watch), interval, shown(watch)));
    let teller = Reporter::of_samples(output, samples.clone(), feed.tempo.clone());
    let exit = feed.pass(recorder, samples.clone(), teller);
    if !output.quiet {
        let lines = tui::summary_of_samples(&samples.lock());
        lines.iter().try_for_each(|line| output.line(line))?;
        let stamps = samples.lock().stamps();
        stamps.map_or(Ok(()), |stamps| output.line(format_args!("  times: {stamps}")))?;
    }
    exit
}

/// Source of frames.
struct Feed {
    port: Option<live_port::Port>,
    paths: Vec<PathBuf>,
    follow: bool,
    listen: Option<Span>,
    /// Filter before the meter.
    filter: Option<Filter>,
    /// Multiple of a capture's own speed; none reads as fast as possible.
    tempo: Option<Tempo>,
}

impl Feed {
    fn of(watch: &Watch, listen: Option<Span>) -> Result<Self, Failure> {
        let options = &watch.monitor;
        if options.speed.is_some() && watch.source.read.is_empty() {
            return Err(Failure::usage("--speed goes with --read: a port has its own"));
        }
        let is_monitor = options.screen == Some(Screen::Monitor);
        let speed = match options.speed.as_deref() {
            Some(text) => pace::speed(text)?,
            None => {
                (is_monitor && !options.plain && watch.source.interface.is_none()).then_some(1.0)
            }
        };
        let tempo = speed.map(Tempo::new);
        let Captures { paths, follow } = captures(watch);
        // The monitor shows a part of the network; its events are those of the whole, unless a run is kept, which has
        // the frames of the filter.
        let is_kept = watch.export.output.is_some();
        let filter = watch.source.filter.clone().filter(|_| !is_monitor || is_kept);
        let (port, paths) = (port(watch), paths.to_vec());
        Ok(Self { port, paths, follow, listen, filter, tempo })
    }

    /// Reports errors of the source before the terminal is taken over.
    fn check(&self) -> Result<(), Failure> {
        match &self.port {
            Some(port) => {
                let wanted = FramePipeline::wanting(self.filter.clone()).wanted();
                live_port::open(port, wanted).map(drop)
            }
            None => self.captures().refuse_unreadable(),
        }
    }

    fn captures(&self) -> Captures<'_> {
        Captures { paths: &self.paths, follow: self.follow }
    }

    /// Passes every frame to the meter and to the samples.
    fn pass(
        self,
        mut recorder: Recorder,
        samples: Shared<Gather>,
        mut teller: Reporter<'_>,
    ) -> anyhow::Result<Exit> {
        let mut frames = FramePipeline::wanting(self.filter.clone()).sampled(samples.clone());
        let ended = match &self.port {
            None => file::meter(self.captures(), &mut recorder, &mut frames, &mut teller, &QUIET)?,
            Some(port) => live_port::meter(
                port,
                self.listen,
                &mut recorder,
                &mut frames,
                &mut teller,
                &QUIET,
            )?,
        };
        // What a short capture cost is known at its end only.
        let health = Health { ring_fill: None, ..file::health(&recorder) };
        samples.lock().note_health(health, clock::now());
        samples.lock().note_stamps(recorder.stamps());
        let is_interrupted = interrupt::requested();
        let failure = ended.failure.as_ref().map(ToString::to_string);
        let error = failure.clone().or_else(|| is_interrupted.then(|| "interrupted".to_owned()));
        if self.port.is_none() && !is_interrupted {
            samples.lock().finish();
        }
        let exit = conclude(ended, &mut recorder, &mut teller);
        teller.end_samples(error)?;
        samples.lock().conclude(failure);
        exit
    }
}

/// Returns the name of the source in the first line of the monitor, which has little room.
fn name(watch: &Watch) -> String {
    let last = match watch.source.read.as_slice() {
        [path] if path.as_os_str() != "-" && !watch.monitor.plain && !watch.demo => {
            path.file_name()
        }
        _ => None,
    };
    last.map_or_else(|| source(watch).source, |last| last.to_string_lossy().into_owned())
}

/// Returns the filter of the frames that the monitor shows.
fn shown(watch: &Watch) -> Filter {
    let station = |way: &str, station: Option<Mac>| {
        let text = station.map_or_else(String::new, |station| format!("{way} {station}"));
        text.parse::<Filter>().expect("a station is a valid filter")
    };
    let MonitorOptions { from_station, to_station, .. } = watch.monitor;
    let filter = watch.source.filter.clone().unwrap_or_else(Filter::all);
    filter.and(station("from", from_station)).and(station("to", to_station))
}

/// Returns the settings of the monitor.
fn bars(watch: &Watch) -> Result<Bars, Failure> {
    let options = &watch.monitor;
    let is_monitor = options.screen == Some(Screen::Monitor);
    // With pages of measures --sample is free: it is that of sequence numbers.
    let sample = watch.measuring.sample.as_deref().filter(|_| is_monitor).unwrap_or(MONITOR_SAMPLE);
    let Span(interval) = quantity::option("--sample", sample)?;
    let interval = Interval::new(interval).ok_or_else(|| {
        Failure::usage(format!("--sample {sample:?}: from 10 ms to 60 s, in steps of 10 ms"))
    })?;
    let Rate(bits) = quantity::option(
        "--bits-scale",
        options.bits_scale.as_deref().unwrap_or(MONITOR_BITS_SCALE),
    )?;
    let packets = options.packets_scale.unwrap_or(MONITOR_PACKETS_SCALE);
    if !(packets.is_finite() && packets > 0.0) {
        return Err(Failure::usage(format!("--packets-scale {packets}: more than nothing")));
    }
    Ok(Bars {
        interval,
        scales: Scales { packets, bits: bits.bits_per_second() as f64 },
        growth: Growth {
            packets: options.packets_scale.is_none(),
            bits: options.bits_scale.is_none(),
        },
        until: None,
    })
}
