//! Defaults of the monitor, read from its command line without options.

use crate::args::measuring::{MONITOR_BITS_SCALE, MONITOR_PACKETS_SCALE, MONITOR_SAMPLE};
use crate::args::{Cli, Verb};
use crate::exit::Failure;
use crate::quantity;
use crate::tui::{Interval, KEPT_SAMPLES};
use bench::scenario::{Rate, Span};
use clap::Parser;
use core::time::Duration;
use papers::published::Monitor;

/// The monitor that `tidewire watch --screen monitor` shows.
pub(super) fn monitor() -> Result<Monitor, Failure> {
    let command = ["tidewire", "watch", "-r", "-", "--screen", "monitor"];
    let Ok(Cli { verb: Verb::Watch(watch), .. }) = Cli::try_parse_from(command) else {
        return Err(Failure::failed("no monitor starts without options"));
    };
    let (monitor, sample) = (watch.monitor, watch.measuring.sample);
    let sample = sample.as_deref().unwrap_or(MONITOR_SAMPLE);
    let Rate(bits) = quantity::option(
        "--bits-scale",
        monitor.bits_scale.as_deref().unwrap_or(MONITOR_BITS_SCALE),
    )?;
    let Span(interval) = quantity::option("--sample", sample)?;
    let shortest = (1..=u64::from(u16::MAX)).map(Duration::from_millis);
    let shortest = shortest.into_iter().find(|span| Interval::new(*span).is_some());
    Ok(Monitor {
        full_scale_packets_per_second: monitor.packets_scale.unwrap_or(MONITOR_PACKETS_SCALE),
        full_scale_bits_per_second: bits.bits_per_second() as f64,
        default_interval_ms: interval.as_secs_f64() * 1e3,
        shortest_interval_ms: shortest.unwrap_or(Duration::MAX).as_secs_f64() * 1e3,
        samples: KEPT_SAMPLES as f64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monitor_is_as_its_options_say() {
        let expected = Monitor {
            full_scale_packets_per_second: 100.0,
            full_scale_bits_per_second: 1e6,
            default_interval_ms: 500.0,
            shortest_interval_ms: 10.0,
            samples: 36_000.0,
        };
        assert_eq!(monitor().unwrap(), expected);
    }
}
