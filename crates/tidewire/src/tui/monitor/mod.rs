//! The monitor: live traffic of a network, the first page of the screen.
//!
//! It is the real-time network monitor of TR-88-08 (figure 9): events, packets per second and bits
//! per second as scrolling bars, each with its current, average and peak rate, its unit and its
//! full-scale value, in a sampling interval from 10 ms to 60 s, of all stations or of some. In
//! addition it shows the delays of acknowledgements, which that monitor could not.
//!
//! Frames are sampled by [`Gather`]; delays and notices are those of the meter.

pub(super) mod bars;
pub(super) mod chart;
pub(super) mod controls;
mod gather;
mod lines;
mod notices;
pub(super) mod replayed;
mod sample;

pub(crate) use controls::{Bars, Growth, Scales};
pub(crate) use gather::{Gather, KEPT_SAMPLES, MeterState};
pub(super) use gather::{Snapshot, Window};
pub(crate) use lines::SampleLines;
pub(crate) use sample::Interval;

use crate::quantity;

/// Returns the summary: time, frames, rates and delays.
pub(crate) fn summary(gather: &Gather) -> [String; 4] {
    let seen = gather.snapshot(Window { samples: usize::MAX, until: None });
    let dropped = gather.dropped().filter(|dropped| *dropped > 0);
    let dropped =
        dropped.map(|dropped| format!(", {dropped} more dropped on their way")).unwrap_or_default();
    let amount = chart::amount;
    let (average, peak) = (seen.average, seen.peak);
    let packets = (amount(average.packets), amount(peak.packets));
    let bits = (amount(average.bits), amount(peak.bits));
    [
        format!(
            "{}: {} in {}{dropped}; filter: {}",
            seen.name,
            quantity::counted(seen.frames, "frame"),
            chart::clock(seen.elapsed),
            seen.filter,
        ),
        format!("  packets/s: average {}, peak {}", packets.0, packets.1),
        format!("  bit/s: average {}, peak {}", bits.0, bits.1),
        format!("  {}", lines::told(&gather.all_delays())),
    ]
}
