//! `tidewire watch`: the meter, or the monitor, on a capture file or on a live port. It never sends
//! frames.

mod annotate;
mod around;
mod choice;
pub(super) mod digest;
mod events;
mod expect;
pub(super) mod export;
pub(super) mod file;
mod frames;
mod line_file;
mod live_port;
mod remarks;
pub(crate) mod require;
mod screen;
mod stages;
mod transit;

use super::measuring::Measuring;
use super::page::LivePage;
use super::reporter::{Reporter, conclude};
use super::screen_keys;
use super::side_outputs::SideOutputs;

use crate::args::source::FrameSource;
use crate::args::{Screen, Watch};
use crate::exit::{Exit, Failure, exit_of};
use crate::metrics::Exporter;
use crate::output::{self, Output};
use crate::output_file::{self, Inputs, Placing};
use crate::quantity;
use crate::record_folder::{MEASURES, RecordFolder};
use crate::scenario_choice;
use crate::store::{DATA_IS_KEPT, Target};
use crate::tui::NOTHING_KEPT;
use bench::scenario::Span;
use core::time::Duration;
use meter::Settings;
use records::{Head, Origin, Plant};
use std::path::Path;

use export::Export;
pub(super) use frames::FramePipeline;
use records::require::Requirements;

pub(super) use file::{Captures, is_stream, name as name_of, open, open_as};
use live_port::Port;

/// Time between the reports to a page.
const REPORT: Duration = Duration::from_secs(1);

/// Returns the placement of output files: none may be an input or another output.
fn target(watch: &Watch) -> Result<Target, Failure> {
    let read = watch.source.read.iter().chain(&watch.far).chain(&watch.export.anonymize_key);
    let read = read.chain(&watch.export.expect);
    let inputs = Inputs::of(read);
    let placing = Placing::of_source(watch.source.interface.is_some());
    let outputs = [("--annotate", &watch.export.annotate), ("--events", &watch.export.events)];
    output_file::refuse_same(outputs.map(|(option, path)| (option, path.as_deref())))?;
    Ok(Target { inputs, placing })
}

/// Runs with the source that the options name, or else the first interface that is up.
pub(crate) fn begin(mut watch: Watch, output: &Output) -> anyhow::Result<Exit> {
    if watch.monitor.print_keys {
        return screen_keys::print(watch.monitor.keys.as_deref(), output);
    }
    let _demo = if watch.demo { Some(choice::demo(&mut watch)?) } else { None };
    if !watch.source.read.is_empty() || watch.source.interface.is_some() {
        return run(&watch, output);
    }
    if watch.source.follow {
        return Err(Failure::usage("--follow goes with --read").into());
    }
    let Some(interface) = choice::first(&choice::interfaces()?) else {
        return choice::list("no interface is up but the loopback", output);
    };
    output::say(format_args!(
        "source: {interface}, the first interface that is up (-i names another)"
    ));
    watch.source.interface = Some(interface);
    run(&watch, output).or_else(|error| {
        if exit_of(&error) != Exit::PermissionMissing {
            return Err(error);
        }
        choice::list("the interfaces, which this program may not listen on yet", output)?;
        Err(error)
    })
}

fn run(watch: &Watch, output: &Output) -> anyhow::Result<Exit> {
    let listen = listen(&watch.source)?;
    if watch.far.is_some() || watch.far_interface.is_some() {
        return transit::run(watch, listen, output);
    }
    match watch.monitor.screen {
        Some(Screen::Monitor) if watch.monitor.plain => {
            return screen::print_samples(watch, listen, output);
        }
        _ => Measuring::announce_memory(&watch.measuring, output),
    }
    match watch.monitor.screen {
        Some(Screen::Monitor) => return screen::run(watch, listen, output),
        Some(Screen::Measures) if !watch.monitor.plain && !output.json => {
            return screen::run(watch, listen, output);
        }
        Some(Screen::Measures) | None => {}
    }
    let mut measuring = Measuring::of(&watch.measuring, watch.source.interface.as_deref())?;
    output::install_interrupts()?;
    let expectation = expect::read(&watch.export)?;
    let target = target(watch)?;
    if watch.export.writes_files() {
        captures(watch).refuse_unreadable()?;
    }
    let outputs = side_outputs(watch, &measuring, &target, output)?;
    if !output.json && !watch.export.keeps_records() && outputs.page.is_none() {
        // Lines do not show hosts and connections of each interval.
        measuring.details.top = 0;
    }
    let head = head(watch, &measuring);
    if outputs.hides_reports {
        measuring.spans.report = REPORT.min(measuring.settings.interval);
    }
    let mut teller = Reporter::begin(output, head, measuring.only.clone(), outputs)?;
    let mut recorder = measuring.recorder();
    if watch.export.anonymize {
        recorder.leave_out_names();
    }
    if watch.export.write_scenario.is_some() {
        recorder.prepare_scenario();
    }
    if let Some(expectation) = expectation {
        recorder.expect_publishers(expectation);
    }
    let mut frames = FramePipeline::new(watch, &target, output)?;
    remark_on_data(watch, output);
    let heard = match port(watch) {
        None => file::meter(captures(watch), &mut recorder, &mut frames, &mut teller, output)?,
        Some(port) => {
            live_port::meter(&port, listen, &mut recorder, &mut frames, &mut teller, output)?
        }
    };
    frames.note_failures(&mut teller);
    if teller.is_enough() {
        output.remark("ended by --fail-fast: later frames are in no measure");
    }
    let unwritten = frames.finish();
    let exit = conclude(heard, &mut recorder, &mut teller);
    frames.report_stages(&recorder, output);
    if let Some(page) = teller.take_page() {
        page.close(!goes_on(watch), output);
    }
    if let (Some(plant), Some(path)) = (teller.take_plant(), &watch.export.write_scenario) {
        write_scenario(&plant, &source(watch).source, path, output)?;
    }
    let exit = exit?;
    if !output.json && keeps_nothing(watch) {
        output.remark(NOTHING_KEPT);
    }
    unwritten.map_or(Ok(exit), |failure| Err(failure.into()))
}

/// Opens the outputs in addition to printing.
fn side_outputs(
    watch: &Watch,
    measuring: &Measuring,
    target: &Target,
    output: &Output,
) -> Result<SideOutputs, Failure> {
    Ok(SideOutputs {
        hides_samples: false,
        exporter: exporter(watch, &measuring.settings, output)?,
        page: LivePage::open(&watch.page, head(watch, measuring), output)?,
        hides_reports: watch.page.web.is_some() && watch.measuring.report.is_none(),
        export: exports(watch, measuring, target.clone(), output)?,
        requirements: Requirements::new(&watch.export.require)
            .reporting_early(goes_on(watch) || watch.export.fail_fast),
        fail_on: watch.export.fail_on,
        histograms: watch.measuring.hdr,
        fails_fast: watch.export.fail_fast,
        folder: folder(watch)?,
        plant: plant(watch)?,
    })
}

/// Returns true if nothing but lines is left of a run.
fn keeps_nothing(watch: &Watch) -> bool {
    let export = &watch.export;
    export.output.is_none() && !export.writes_files() && export.write_scenario.is_none()
}

/// Warns that user data is kept, if it is.
fn remark_on_data(watch: &Watch, output: &Output) {
    if watch.export.full {
        output.remark(DATA_IS_KEPT);
    }
}

/// The collector of streams and pollers, if a scenario is written; its file must not exist yet.
fn plant(watch: &Watch) -> Result<Option<Plant>, Failure> {
    let Some(path) = &watch.export.write_scenario else { return Ok(None) };
    if path.exists() {
        let message =
            format!("--write-scenario {}: it exists, and may have been edited", path.display());
        return Err(Failure::failed(message).with_fix("name another file, or remove this one"));
    }
    Ok(Some(Plant::default()))
}

/// Writes the scenario of what was watched.
fn write_scenario(
    plant: &Plant,
    source: &str,
    path: &Path,
    output: &Output,
) -> Result<(), Failure> {
    let text = plant.scenario(source).map_err(|reason| {
        Failure::failed(format!("--write-scenario: what was watched makes no scenario: {reason}"))
    })?;
    let Some(text) = text else {
        let message = "--write-scenario: no stream of cyclic data and no poller was seen";
        return Err(Failure::failed(message));
    };
    scenario_choice::write_new(&text, path)?;
    let path = path.display();
    output.remark(format_args!("scenario: {path}; tidewire predict {path} simulates it"));
    Ok(())
}

/// Makes the run folder, if one is written.
fn folder(watch: &Watch) -> Result<Option<RecordFolder>, Failure> {
    let Some(root) = &watch.export.output else { return Ok(None) };
    if watch.source.interface.is_none() {
        captures(watch).refuse_unreadable()?;
    }
    let title = source(watch).source;
    let port = watch.source.interface.as_deref();
    let limits = watch.export.keep.limits()?;
    Ok(Some(RecordFolder::create(root, "watch", &title, MEASURES, port)?.within(limits)))
}

/// Returns the duration of listening, if given; checks that the options for the source of frames
/// are compatible.
pub(super) fn listen(source: &FrameSource) -> Result<Option<Span>, Failure> {
    if source.interface.is_none() && source.time.is_some() {
        return Err(Failure::usage("--time goes with --interface: a file has its own"));
    }
    if source.read.is_empty() && source.follow || source.interface.is_none() && source.tap {
        return Err(Failure::usage("--follow goes with --read, and --tap with --interface"));
    }
    let time = source.time.as_deref();
    time.map(|text| quantity::option::<Span>("--time", text)).transpose()
}

/// Returns the interface or files.
fn source(watch: &Watch) -> Origin {
    match &watch.source.interface {
        Some(interface) => Origin::port(interface),
        None if watch.demo => Origin::demo(),
        None => Origin::files(&watch.source.read, name_of),
    }
}

/// Returns the head of the stream.
fn head(watch: &Watch, measuring: &Measuring) -> Head {
    let expect = watch.export.expect.as_ref().map(|path| path.display().to_string());
    Head { expect, ..measuring.head(source(watch)) }
}

/// Returns true if frames arrive live, so that the end may be far: from a port, a pipe or a growing
/// file.
fn goes_on(watch: &Watch) -> bool {
    let source = &watch.source;
    source.interface.is_some() || source.follow || source.read.iter().any(|path| is_stream(path))
}

/// Returns the port, if one is captured.
fn port(watch: &Watch) -> Option<Port> {
    let (by_helper, stamps) = (watch.source.tap, watch.source.stamps.map(Into::into));
    watch.source.interface.clone().map(|interface| Port { interface, by_helper, stamps })
}

/// Returns the captures, if any are read.
fn captures(watch: &Watch) -> Captures<'_> {
    Captures::of(&watch.source)
}

fn exports(
    watch: &Watch,
    measuring: &Measuring,
    target: Target,
    output: &Output,
) -> Result<Export, Failure> {
    let (only, bounds) = (measuring.only.clone(), measuring.settings.bounds_octets);
    Export::new(only, bounds, &watch.export, target, output)
}

/// Serves metrics, if requested.
fn exporter(
    watch: &Watch,
    settings: &Settings,
    output: &Output,
) -> Result<Option<Exporter>, Failure> {
    let Some(at) = watch.metrics else { return Ok(None) };
    if !at.ip().is_loopback() && !watch.metrics_anywhere {
        let failure = Failure::usage(format!("--metrics {at}: other hosts could read it"));
        return Err(failure.with_fix("--metrics 127.0.0.1:9464, or add --metrics-anywhere"));
    }
    let (exporter, at) = Exporter::listen(at, settings)
        .map_err(|error| Failure::failed(format!("cannot serve metrics at {at}: {error}")))?;
    output.remark(format_args!("metrics at http://{at}/metrics"));
    Ok(Some(exporter))
}
