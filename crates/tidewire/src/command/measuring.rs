//! Settings that `watch` and `meter` share.

use super::memory;
use crate::args::measuring::MeasuringOptions;
use crate::exit::Failure;
use crate::output::Output;
use crate::port_options;
use crate::quantity;
use bench::scenario::{Rate, Span};
use core::time::Duration;
use live::interface::Interface;
use meter::Settings;
use meter::measure::{BOUNDS_OCTETS, NO_BOUND_OCTETS};
use records::calendar;
use records::{Details, Head, Origin, Recorder, Spans, Subset};
use wire::units::BitRate;

/// The measurement interval, unless another is asked for.
pub(super) const MEASURE: Duration = Duration::from_secs(10);

/// Settings of the meter and of its reports.
#[derive(Clone, Debug)]
pub(super) struct Measuring {
    pub(super) settings: Settings,
    pub(super) spans: Spans,
    pub(super) details: Details,
    pub(super) only: Subset,
}

/// Rate of the link of a port; 10 Mbit/s if it has none, and of captures.
fn rate_of(port: Option<&str>) -> BitRate {
    // A port that is not there is refused where it is opened.
    let rate = port.and_then(|port| Interface::named(port).ok()?.rate);
    rate.unwrap_or(BitRate::mbps(10))
}

impl Measuring {
    /// Settings of the command line, for this port or for captures.
    ///
    /// # Errors
    /// An option value that is not valid.
    pub(super) fn of(options: &MeasuringOptions, port: Option<&str>) -> Result<Self, Failure> {
        let span = |name: &str, text: &Option<String>| {
            let span = text.as_deref().map(|text| {
                let Span(span) = quantity::option(name, text)?;
                let nothing = || {
                    Failure::usage(format!("{name} {text:?}: an interval must be longer than 0"))
                };
                Some(span).filter(|span| !span.is_zero()).ok_or_else(nothing)
            });
            span.transpose()
        };
        let interval = span("--measure", &options.measure)?.unwrap_or(MEASURE);
        let report = span("--report", &options.report)?.unwrap_or(interval);
        if report > interval {
            let failure = Failure::usage("--report is longer than the measurement interval");
            return Err(failure.with_fix("--measure with as long an interval, or longer"));
        }
        let sample = span("--sample", &options.sample)?;
        let channel = options.channel.as_deref();
        let channel =
            channel.map(|text| quantity::option::<Rate>("--channel", text)).transpose()?;
        let origin = match &options.start {
            None => None,
            Some(text) => Some(calendar::parse(text).ok_or_else(|| {
                Failure::usage(format!("--start {text:?}: expected {}", calendar::EXPECTED))
            })?),
        };
        let defaults = Settings::every(interval);
        let settings = Settings {
            origin,
            maximum_connections: options.connections.unwrap_or(defaults.maximum_connections),
            maximum_hosts: options.hosts.unwrap_or(defaults.maximum_hosts),
            channel: channel.map_or_else(|| rate_of(port), |Rate(channel)| channel),
            bounds_octets: bounds(&options.sizes)?,
            ..defaults
        };
        let spans = Spans { report, sample, intervals: options.intervals };
        let only = options.only.clone().unwrap_or_default();
        Ok(Self { settings, spans, details: Details { top: options.top }, only })
    }

    /// Prints the memory that the requested numbers of connections and hosts take, if any is
    /// requested.
    pub(super) fn announce_memory(options: &MeasuringOptions, output: &Output) {
        if let Some(connections) = options.connections {
            output.remark(memory::of_connections(connections));
        }
        if let Some(hosts) = options.hosts {
            output.remark(memory::of_hosts(hosts));
        }
    }

    /// The head of the stream.
    pub(super) fn head(&self, origin: Origin) -> Head {
        Head::of(origin, &self.settings, self.spans, self.details, &self.only)
    }

    /// Meter with these settings.
    pub(super) fn recorder(&self) -> Recorder {
        Recorder::new(self.settings.clone(), self.spans, self.details)
    }
}

/// The bounds of the classes of sizes.
fn bounds(texts: &[String]) -> Result<[u64; 9], Failure> {
    if texts.is_empty() {
        return Ok(BOUNDS_OCTETS);
    }
    let size = |text: &String| port_options::size("--sizes", text.trim());
    let sizes = texts.iter().map(size).collect::<Result<Vec<_>, _>>()?;
    let sizes: Vec<u64> = sizes.into_iter().map(|octets| octets as u64).collect();
    let is_ascending = sizes.is_sorted_by(|a, b| a < b);
    let is_bounded = sizes.last().is_some_and(|last| *last < NO_BOUND_OCTETS);
    if sizes.len() > BOUNDS_OCTETS.len() || !is_ascending || !is_bounded {
        let failure = Failure::usage("--sizes: up to nine sizes, each greater than the one before");
        return Err(failure.with_fix("--sizes 64,128,256,512,1024"));
    }
    let mut bounds = [NO_BOUND_OCTETS; 9];
    bounds.iter_mut().zip(&sizes).for_each(|(bound, size)| *bound = *size);
    Ok(bounds)
}
