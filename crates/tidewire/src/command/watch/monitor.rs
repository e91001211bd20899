//! `tidewire watch --screen monitor`: the live monitor.

use super::{file, live_port, port};
use crate::args::measuring::{MONITOR_BITS_SCALE, MONITOR_PACKETS_SCALE, MONITOR_SAMPLE};
use crate::args::{MonitorOptions, Watch};
use crate::command::measuring;
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::quantity;
use crate::tui::{
    self, Growth, Interval, Keys, Look, Playback, Port, Scales, Settings, Source, Surroundings,
};
use bench::scenario::{Rate, Span};
use live::clock;
use wire::addr::Mac;
use wire::filter::Filter;

pub(super) fn run(
    watch: &Watch,
    listen: Option<Span>,
    options: &MonitorOptions,
    output: &Output,
) -> anyhow::Result<Exit> {
    if output.json && !options.plain {
        let failure = Failure::usage("--json has no screen");
        return Err(failure.with_fix("--plain --json writes a record per sample").into());
    }
    let measuring = &watch.measuring;
    if measuring.measure.is_some() || measuring.start.is_some() || measuring.channel.is_some() {
        let failure = Failure::usage("--measure, --start and --channel: the monitor only samples");
        return Err(failure.with_fix("--sample, or --screen measures").into());
    }
    let speed = speed(options)?;
    if watch.source.read.len() > 1 || watch.source.follow {
        return Err(Failure::usage("--screen plays one capture, as far as it goes").into());
    }
    let (name, is_pipe) = match (watch.source.read.first(), &watch.source.interface) {
        (Some(path), _) if path.as_os_str() == "-" => (file::name(path), true),
        // The first line of a screen has little room.
        (Some(path), _) => {
            let last = path.file_name().filter(|_| !options.plain);
            (last.map_or_else(|| file::name(path), |l| l.to_string_lossy().into_owned()), false)
        }
        (None, Some(interface)) => (interface.clone(), false),
        (None, None) => return Err(Failure::usage("--read or --interface is needed").into()),
    };
    if options.speed.is_some() && watch.source.read.is_empty() {
        return Err(Failure::usage("--speed goes with --read: a port has its own").into());
    }
    let sample = measuring.sample.as_deref().unwrap_or(MONITOR_SAMPLE);
    let settings = settings(name, sample, watch)?;
    if !options.plain {
        tui::check_screen()?;
    }
    let source = match (port(watch), watch.source.read.first()) {
        (Some(port), _) => {
            let listener = live_port::open(&port, Filter::all())?;
            let end = listen.map(|Span(listen)| clock::now() + listen);
            Source::Port(Port::new(listener, end))
        }
        (None, path) => {
            let path = path.ok_or_else(|| Failure::usage("--read or --interface is needed"))?;
            let capture = file::open(path, output)?;
            Source::Playback(Playback::new(capture, file::name(path), is_pipe, speed))
        }
    };
    tui::run(source, &settings, options.plain, output)
}

/// Returns the filter of the frames that are shown.
fn filter(watch: &Watch, options: &MonitorOptions) -> Filter {
    let station = |way: &str, station: Option<Mac>| {
        let text = station.map_or_else(String::new, |station| format!("{way} {station}"));
        text.parse::<Filter>().expect("a station is a valid filter")
    };
    let filter = watch.source.filter.clone().unwrap_or_else(Filter::all);
    filter.and(station("from", options.from_station)).and(station("to", options.to_station))
}

fn settings(name: String, sample: &str, watch: &Watch) -> Result<Settings, Failure> {
    let options = &watch.monitor;
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
    let keys = options.keys.as_deref().unwrap_or_default();
    Ok(Settings {
        name,
        interval,
        filter: filter(watch, options),
        scales: Scales { packets, bits: bits.bits_per_second() as f64 },
        growth: Growth {
            packets: options.packets_scale.is_none(),
            bits: options.bits_scale.is_none(),
        },
        keys: Keys::new(keys).map_err(|bad| Failure::usage(format!("--keys: {bad}")))?,
        look: Look::new(options.theme, options.symbols, &Surroundings::of_process()),
    })
}

/// Returns the playback speed as a multiple of the capture's own; none means as fast as it can be
/// read.
fn speed(options: &MonitorOptions) -> Result<Option<f64>, Failure> {
    match options.speed.as_deref() {
        None => Ok((!options.plain).then_some(1.0)),
        Some(text) => measuring::speed(text),
    }
}
