//! Figure 9 of TR-88-08: the monitor's display of the prototype's load, sample by sample.
//!
//! The traffic in the paper's picture is not available; here the scenario `ship-prototype`
//! generates it. Not drawn: the screen's upper third, with the time and events.

use crate::published::Unavailable;
use crate::published::plot::{Curve, Plot, Point, Style};
use bench::run::{Watch, run_watched, tap};
use bench::scenario;
use bench::scenarios;
use core::time::Duration;

/// Built-in scenario.
const NAME: &str = "ship-prototype";
/// Sampling interval of the screen.
const SAMPLE: Duration = Duration::from_millis(50);
/// Samples of the screen.
const SAMPLES: usize = 200;

/// Frames and octets of one sample.
#[derive(Clone, Copy, Default)]
struct Sample {
    frames: u64,
    octets: u64,
}

/// Both bar charts.
pub(super) fn plots(seed: u64) -> Result<[Plot; 2], Unavailable> {
    let samples = samples(seed)?;
    let per_second = SAMPLE.as_secs_f64().recip();
    let frames = |sample: &Sample| sample.frames as f64 * per_second;
    let megabits = |sample: &Sample| sample.octets as f64 * 8e-6 * per_second;
    Ok([
        plot(
            ("9a", "middle"),
            "Packets on the prototype's ring",
            ("rate", "packets/s"),
            &samples,
            frames,
        ),
        plot(
            ("9b", "lower"),
            "Bits on the prototype's ring",
            ("rate", "Mbit/s"),
            &samples,
            megabits,
        ),
    ])
}

fn samples(seed: u64) -> Result<Vec<Sample>, Unavailable> {
    let no_scenario = || Unavailable(format!("no scenario {NAME} comes with this version"));
    let built_in = scenarios::get(NAME).ok_or_else(no_scenario)?;
    let mut study = scenario::load(built_in.text, &built_in.file())
        .map_err(|error| Unavailable(format!("the scenario {NAME}: {error}")))?;
    let point = study.points.first_mut().ok_or_else(no_scenario)?;
    point.scenario.seed = seed;
    let mut tap = tap(&point.scenario.medium);
    let mut samples = vec![Sample::default(); SAMPLES];
    let mut watch = Watch {
        tap: Some(&mut |passage| {
            let Some(seen) = tap.capture(passage) else { return };
            let place = u128::from(seen.at.as_nanos()) / SAMPLE.as_nanos();
            let sample = usize::try_from(place).ok().and_then(|place| samples.get_mut(place));
            if let Some(sample) = sample {
                sample.frames += 1;
                sample.octets += seen.octets.len() as u64;
            }
        }),
        is_interrupted: &|| false,
        messages: None,
        trace: None,
    };
    run_watched(point, "", 0, &mut watch)
        .map_err(|error| Unavailable(format!("the scenario {NAME}: {error}")))?;
    Ok(samples)
}

fn plot(
    (number, third): (&'static str, &'static str),
    title: &'static str,
    vertical: (&'static str, &'static str),
    samples: &[Sample],
    rate: impl Fn(&Sample) -> f64,
) -> Plot {
    let points = samples.iter().enumerate().map(|(place, sample)| {
        let (x, y) = (SAMPLE.as_secs_f64() * place as f64, rate(sample));
        Point { x, y, low: y, high: y, observations: sample.frames }
    });
    let (name, style) = ("each 50 ms (assumed load)".to_owned(), Style::Bars);
    Plot {
        number,
        place: format!("Figure 9, {third} third of the screen"),
        title,
        horizontal: ("time", "s"),
        vertical,
        observed: format!(
            "One run of the scenario {NAME}, the first 10 s, as the monitor's bar charts show it. The paper's \
             full bars are 100 packets/s and 1 Mbit/s; its own traffic is not at hand. The load is an assumption."
        ),
        curves: vec![Curve { name, is_input: false, style, points: points.collect() }],
        published: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_display_counts_the_load_of_five_stations() {
        let [packets, bits] = plots(1).unwrap();
        let mean = |plot: &Plot| {
            let points = &plot.curves[0].points;
            points.iter().map(|point| point.y).sum::<f64>() / points.len() as f64
        };
        // 3 x 20 + 2 x 10 messages a second, less those that find no buffer; 10 s have a standard deviation of
        // sqrt(80 / 10) = 2.8: five of those and a tenth lost.
        let (packets, bits) = (mean(&packets), mean(&bits));
        assert!((58.0..94.0).contains(&packets), "{packets}");
        // 1,200 octets of data, 3 of LLC and 14 of header as Ethernet: 9,736 bits each.
        assert!((bits / packets * 1e6 - 9_736.0).abs() < 50.0, "{}", bits / packets * 1e6);
    }
}
