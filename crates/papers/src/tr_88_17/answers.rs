//! Results for the figures of TR-88-17 from the modelled machines: rates, delays, ratios and shapes.
//!
//! Rates are in messages per second, throughput in thousands of octets per second, delays in
//! milliseconds.

use super::context::{Carrier, Context, LEAST, LONG, MESSAGES, MOST, Outcome, SIZES, TPDU, Trial};
use crate::published::Unavailable;
use crate::published::value::Value;
use wire::case::HEADER_OCTETS;
use wire::session::DATA;

pub(super) type Result = core::result::Result<Value, Unavailable>;

/// Octets of a DT header in the normal format without checksum (ISO 8073 13.7.3).
const DT_OCTETS: usize = 5;
/// Octets around a value of 256 octets and more in a TD of the presentation layer: three identifiers
/// and an integer of one octet, each length of a value with three octets.
const PRESENTATION_OCTETS: usize = 15;
/// Layers below a user of CASE in this program; a presentation layer is absent.
const PATH: [&str; 5] = ["CASE", "session", "transport", "network", "datalink"];

/// Messages per second of a service.
pub(super) fn rate(l: &mut Context, model: usize, of: Carrier, octets: usize) -> Result {
    l.of(model, Trial::rate(of, octets))
}

/// Thousands of octets per second of a service.
pub(super) fn throughput(l: &mut Context, model: usize, of: Carrier, octets: usize) -> Result {
    Ok(rate(l, model, of, octets)?.scaled(octets as f64 / 1e3))
}

fn not_zero(quotient: Option<Value>) -> Result {
    quotient.ok_or_else(|| Unavailable("the divisor may be zero".to_owned()))
}

/// Setting as a number.
pub(super) fn was(number: usize) -> Result {
    Ok(Value::exact(number as f64))
}

/// Pipelining over stop-and-wait.
pub(super) fn gain(l: &mut Context, model: usize, octets: usize) -> Result {
    let pipelined = rate(l, model, Carrier::CaseLast, octets)?;
    not_zero(pipelined.over(rate(l, model, Carrier::CaseEach, octets)?))
}

pub(super) fn delay(l: &mut Context, model: usize, octets: usize) -> Result {
    l.of(model, Trial::delay(octets))
}

/// Microseconds per additional octet.
pub(super) fn delay_slope(l: &mut Context, model: usize) -> Result {
    let long = delay(l, model, LONG)?;
    Ok(long.minus(delay(l, model, LEAST)?).scaled(1e3 / (LONG - LEAST) as f64))
}

/// Delay of a message of no octets, on the line through the shortest and the long one.
pub(super) fn delay_intercept(l: &mut Context, model: usize) -> Result {
    let slope = delay_slope(l, model)?.value;
    Ok(delay(l, model, LEAST)?.minus(Value::exact(slope * LEAST as f64 / 1e3)))
}

fn datagrams(l: &mut Context, model: usize) -> core::result::Result<Outcome, Unavailable> {
    l.outcome(model, Trial::rate(Carrier::Datalink, LONG))
}

/// Milliseconds of the bus for a datagram of 1,000 octets with its headers.
pub(super) fn transmission(l: &mut Context, model: usize) -> Result {
    Ok(Value::exact(datagrams(l, model)?.frame_ms))
}

pub(super) fn delay_over_transmission(l: &mut Context, model: usize) -> Result {
    not_zero(delay(l, model, LONG)?.over(transmission(l, model)?))
}

/// Rate of this size over that of the smallest.
pub(super) fn flatness(l: &mut Context, model: usize, of: Carrier, octets: usize) -> Result {
    let long = rate(l, model, of, octets)?;
    not_zero(long.over(rate(l, model, of, LEAST)?))
}

/// First size at which throughput falls.
pub(super) fn drop(l: &mut Context, model: usize, of: Carrier) -> Result {
    let mut before = 0.0;
    for octets in SIZES {
        let here = throughput(l, model, of, octets)?;
        if here.value < before {
            return Ok(Value { observations: here.observations, ..Value::exact(octets as f64) });
        }
        before = here.value;
    }
    Err(Unavailable("throughput never falls".to_owned()))
}

/// Square of the correlation of throughput with size, up to 1,000 octets.
pub(super) fn linearity(l: &mut Context, model: usize, of: Carrier) -> Result {
    let mut points = Vec::new();
    for octets in SIZES.into_iter().filter(|octets| *octets <= LONG) {
        points.push((octets as f64, throughput(l, model, of, octets)?.value));
    }
    let n = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let sum = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>();
    let xy = sum(&|point| (point.0 - x) * (point.1 - y));
    let (xx, yy) = (sum(&|point| (point.0 - x).powi(2)), sum(&|point| (point.1 - y).powi(2)));
    Ok(Value::exact(xy * xy / (xx * yy)))
}

/// Slope of throughput from 512 to 1,000 octets over that from 16 to 512.
fn curvature(l: &mut Context, model: usize, of: Carrier) -> Result {
    const MIDDLE: usize = 512;
    let (short, middle) = (throughput(l, model, of, LEAST)?, throughput(l, model, of, MIDDLE)?);
    let long = throughput(l, model, of, LONG)?;
    let early = middle.minus(short).scaled(((MIDDLE - LEAST) as f64).recip());
    let late = long.minus(middle).scaled(((LONG - MIDDLE) as f64).recip());
    not_zero(late.over(early))
}

pub(super) fn datalink_curvature(l: &mut Context, model: usize) -> Result {
    curvature(l, model, Carrier::Datalink)
}

pub(super) fn curvature_over_case(l: &mut Context, model: usize) -> Result {
    let datalink = datalink_curvature(l, model)?;
    not_zero(datalink.over(curvature(l, model, Carrier::CaseLast)?))
}

/// Greatest ratio of the rate of datagrams of a size to that of the size before.
pub(super) fn datalink_step_most(l: &mut Context, model: usize) -> Result {
    let steps = steps(|l, octets| rate(l, model, Carrier::Datalink, octets), l)?;
    steps
        .into_iter()
        .reduce(|most, step| if step.value > most.value { step } else { most })
        .ok_or_else(none)
}

/// Least ratio of the share that CASE has of the throughput of datagrams to that of the size
/// before, up to 1,000 octets.
pub(super) fn share_step_least(l: &mut Context, model: usize) -> Result {
    let share = |l: &mut Context, octets| {
        let case = rate(l, model, Carrier::CaseLast, octets)?;
        not_zero(case.over(rate(l, model, Carrier::Datalink, octets)?))
    };
    let steps = steps(share, l)?;
    steps
        .into_iter()
        .reduce(|least, step| if step.value < least.value { step } else { least })
        .ok_or_else(none)
}

fn none() -> Unavailable {
    Unavailable("there is one size".to_owned())
}

/// Ratios of a quantity at a size to that at the size before, up to 1,000 octets.
fn steps(
    mut quantity: impl FnMut(&mut Context, usize) -> Result,
    l: &mut Context,
) -> core::result::Result<Vec<Value>, Unavailable> {
    let mut all = Vec::new();
    let mut before: Option<Value> = None;
    for octets in SIZES.into_iter().filter(|octets| *octets <= LONG) {
        let here = quantity(l, octets)?;
        if let Some(before) = before {
            all.push(not_zero(here.over(before))?);
        }
        before = Some(here);
    }
    Ok(all)
}

/// CASE over transport, messages per second.
pub(super) fn case_over_transport(l: &mut Context, model: usize, octets: usize) -> Result {
    let case = rate(l, model, Carrier::CaseLast, octets)?;
    not_zero(case.over(rate(l, model, Carrier::Transport, octets)?))
}

/// Millions of bits per second of transport.
pub(super) fn transport_megabits(l: &mut Context, model: usize, octets: usize) -> Result {
    Ok(throughput(l, model, Carrier::Transport, octets)?.scaled(8e-3))
}

/// Copies of user data on the way down or up: those that the profile charges by octet, and that
/// between board and medium.
pub(super) fn copies(l: &mut Context, stage: &str) -> Result {
    let model = l.members().first().copied().unwrap_or_default();
    let profile = l.profile(model)?;
    let has_octets =
        |costs: &[bench::profile::CostView<'_>]| costs.iter().any(|it| it.part == "octet");
    let charged = profile.tasks().filter(|task| task.stage == stage && has_octets(&task.costs));
    was(charged.count() + 1)
}

pub(super) fn hop(l: &mut Context, model: usize) -> Result {
    let hop = l.profile(model)?.input("hop").map(|input| input.value);
    hop.map(Value::exact).ok_or_else(|| Unavailable("the profile has no input hop".to_owned()))
}

/// AKs for each DT: frames of a transport trial that are no DT. Two more open and two close the
/// connection.
pub(super) fn aks_per_dt(l: &mut Context, model: usize) -> Result {
    let outcome = l.outcome(model, Trial::rate(Carrier::Transport, LONG))?;
    let others = outcome.frames.saturating_sub(MESSAGES) as f64 / MESSAGES as f64;
    // The frames of the connection are fewer than a hundredth.
    Ok(Value { observations: MESSAGES, ..Value::exact((others * 100.0).floor() / 100.0) })
}

pub(super) fn messages_per_round(l: &mut Context, model: usize) -> Result {
    Ok(Value::exact(l.outcome(model, Trial::delay(LEAST))?.per_round))
}

/// Datagrams lost in all trials.
pub(super) fn datagrams_lost(l: &mut Context) -> Result {
    let (lost, observations) = l.datagrams();
    Ok(Value { observations, ..Value::exact(lost as f64) })
}

/// Octets of the headers of CASE and session in front of a message.
pub(super) fn headers() -> Result {
    was(HEADER_OCTETS + DATA.len())
}

/// Longest message of CASE in one TPDU.
pub(super) const fn information() -> usize {
    TPDU - DT_OCTETS - DATA.len() - HEADER_OCTETS
}

/// Longest message in one TPDU with a presentation layer in place of the header of CASE.
pub(super) const fn information_with_presentation() -> usize {
    information() + HEADER_OCTETS - PRESENTATION_OCTETS
}

/// TPDUs of the longest message of CASE.
pub(super) fn segments() -> Result {
    was((MOST + HEADER_OCTETS + DATA.len()).div_ceil(TPDU - DT_OCTETS))
}

/// Layers below a user of CASE.
pub(super) fn layers() -> Result {
    was(PATH.len())
}
