//! The monitor: live traffic of a network.
//!
//! It is the real-time network monitor of TR-88-08 (figure 9): events, packets per second and bits
//! per second as scrolling bars, each with its current, average and peak rate, its unit and its
//! full-scale value, in a sampling interval from 10 ms to 60 s, of all stations or of some. In
//! addition it shows the delays of class 4 acknowledgements, which that monitor could not.
//!
//! ```text
//! source -> gather (a thread) -> Snapshot -> View -> draw
//!              ^ Order            controls <- keys
//! ```
//!
//! Gathering takes precedence over drawing: the two share nothing, and a redraw that falls behind
//! is skipped and counted.

mod controls;
mod draw;
mod gather;
mod keys;
mod notices;
mod plain;
mod sample;
mod screen;
mod source;
mod theme;
mod view;
mod worker;

pub(crate) use controls::{Growth, Scales};
pub(crate) use gather::KEPT_SAMPLES;
pub(crate) use keys::Keys;
pub(crate) use sample::Interval;
pub(crate) use screen::Session;
pub(crate) use source::{Playback, Port, Source};
pub(crate) use theme::{Look, Surroundings, Symbols, Theme};

use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::quantity;
use gather::Gather;
use wire::filter::Filter;

/// Initial settings of the monitor.
pub(crate) struct Settings {
    /// Name of the interface or capture.
    pub(crate) name: String,
    /// The sampling interval.
    pub(crate) interval: Interval,
    /// Filter of the frames that are shown.
    pub(crate) filter: Filter,
    /// Full-scale values.
    pub(crate) scales: Scales,
    /// Full-scale values that grow with the longest bar.
    pub(crate) growth: Growth,
    /// Assignment of keys to actions.
    pub(crate) keys: Keys,
    /// Colours and signs.
    pub(crate) look: Look,
}

/// Outcome of the monitor.
struct Ended {
    gather: Gather,
    dropped_by_kernel: Option<u64>,
    failure: Option<Failure>,
    is_interrupted: bool,
}

/// Checks that a screen can be drawn here.
///
/// # Errors
/// Names what is missing, and an option that works without it.
pub(crate) fn check_screen() -> Result<(), Failure> {
    screen::check()
}

/// Shows the monitor on the terminal, or as lines if requested.
pub(crate) fn run(
    source: Source,
    settings: &Settings,
    is_plain: bool,
    output: &Output,
) -> anyhow::Result<Exit> {
    let ended = if is_plain {
        plain::run(source, settings, output)?
    } else {
        screen::run(source, settings)?
    };
    if !output.quiet {
        summary(&ended, settings, output)?;
    }
    match (ended.failure, ended.is_interrupted, ended.dropped_by_kernel) {
        (_, true, _) => Ok(Exit::Interrupted),
        (Some(failure), ..) => Err(failure.into()),
        // Dropped frames are in no sample, so none of the samples is valid.
        (None, false, Some(1..)) => Ok(Exit::Undecided),
        (None, false, _) => Ok(Exit::Ok),
    }
}

/// Prints the summary: time, frames, rates and delays.
fn summary(ended: &Ended, settings: &Settings, output: &Output) -> std::io::Result<()> {
    let seen = ended.gather.snapshot(gather::Window { samples: usize::MAX, until: None });
    let dropped = ended.dropped_by_kernel.filter(|dropped| *dropped > 0);
    let dropped =
        dropped.map(|dropped| format!(", {dropped} more dropped on their way")).unwrap_or_default();
    let amount = view::amount;
    output.line(format_args!(
        "{}: {} in {}{dropped}; filter: {}",
        settings.name,
        quantity::counted(seen.frames, "frame"),
        view::clock(seen.elapsed),
        seen.filter,
    ))?;
    let (average, peak) = (seen.average, seen.peak);
    let packets = (amount(average.packets), amount(peak.packets));
    output.line(format_args!("  packets/s: average {}, peak {}", packets.0, packets.1))?;
    let bits = (amount(average.bits), amount(peak.bits));
    output.line(format_args!("  bit/s: average {}, peak {}", bits.0, bits.1))?;
    output.line(format_args!("  {}", plain::told(&seen.delays)))
}
