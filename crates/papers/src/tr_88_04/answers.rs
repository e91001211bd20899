//! Results for the figures of TR-88-04 from the modelled machines: delays, steps, ratios and knees.
//!
//! Delays are in milliseconds, throughput in thousands of octets per second.

use super::T1S;
use super::context::Context;
use crate::published::Unavailable;
use crate::published::value::Value;
use crate::transfer::{
    INFORMATION, LARGE, LEAST, MOST_DATAGRAM, MOST_WINDOW, Question, Service, TPDU, Trial,
};
use core::time::Duration;

type Result = core::result::Result<Value, Unavailable>;

/// Ratio above which two throughputs count as equal: the width of a line in a figure.
const SAME: f64 = 0.98;
/// Number of circuits from which throughput is said to stay constant.
const MANY_CIRCUITS: u64 = 4;

pub(super) fn delay(context: &mut Context, model: usize, of: Service, octets: usize) -> Result {
    context.of(model, Trial::new(of, Question::Delay, octets))
}

pub(super) fn rate(context: &mut Context, model: usize, of: Service, octets: usize) -> Result {
    context.of(model, Trial::new(of, Question::Throughput, octets))
}

fn not_zero(quotient: Option<Value>) -> Result {
    quotient.ok_or_else(|| Unavailable("the divisor may be zero".to_owned()))
}

fn hull(all: &[Value]) -> Result {
    Value::hull(all).ok_or_else(|| Unavailable("nothing was asked".to_owned()))
}

/// Microseconds per additional octet of a datagram.
pub(super) fn datalink_slope(context: &mut Context, model: usize) -> Result {
    let short = delay(context, model, Service::Datalink, LEAST)?;
    let long = delay(context, model, Service::Datalink, MOST_DATAGRAM)?;
    Ok(long.minus(short).scaled(1e3 / (MOST_DATAGRAM - LEAST) as f64))
}

pub(super) fn datalink_octets_per_ms(context: &mut Context, model: usize) -> Result {
    not_zero(datalink_slope(context, model)?.scaled(1e-3).reciprocal())
}

/// Delay of a datagram of no octets: intercept of the line through the shortest and the longest.
pub(super) fn datalink_intercept(context: &mut Context, model: usize) -> Result {
    let slope = datalink_slope(context, model)?.value;
    let short = delay(context, model, Service::Datalink, LEAST)?;
    Ok(short.minus(Value::exact(slope * LEAST as f64 / 1e3)))
}

pub(super) fn transport_least(context: &mut Context, model: usize) -> Result {
    delay(context, model, Service::Transport, LEAST)
}

pub(super) fn largest_unsegmented(context: &mut Context, model: usize) -> Result {
    delay(context, model, Service::Transport, INFORMATION)
}

/// Slope of transport delay in the upper half of the sizes of one TPDU over that in the lower half.
pub(super) fn straightness(context: &mut Context, model: usize) -> Result {
    let middle = LEAST.midpoint(INFORMATION);
    let mut at = |octets| delay(context, model, Service::Transport, octets);
    let (short, half, long) = (at(LEAST)?, at(middle)?, at(INFORMATION)?);
    let early = half.minus(short).scaled(((middle - LEAST) as f64).recip());
    let late = long.minus(half).scaled(((INFORMATION - middle) as f64).recip());
    not_zero(late.over(early))
}

/// Additional delay of one octet more than `tpdus` TPDUs hold.
fn step(context: &mut Context, model: usize, tpdus: usize) -> Result {
    let octets = tpdus * INFORMATION;
    let below = delay(context, model, Service::Transport, octets)?;
    Ok(delay(context, model, Service::Transport, octets + 1)?.minus(below))
}

pub(super) fn first_step(context: &mut Context, model: usize) -> Result {
    step(context, model, 1)
}

pub(super) fn further_step(context: &mut Context, model: usize) -> Result {
    hull(&[step(context, model, 2)?, step(context, model, 3)?])
}

pub(super) fn short_ratio(context: &mut Context, model: usize) -> Result {
    let datalink = delay(context, model, Service::Datalink, LEAST)?;
    not_zero(transport_least(context, model)?.over(datalink))
}

/// Size from which one octet more first reduces throughput.
pub(super) fn drop(context: &mut Context, model: usize) -> Result {
    let sizes = [LEAST, 400, 800, INFORMATION, INFORMATION + 1, 1_400, 2 * INFORMATION];
    for pair in sizes.windows(2) {
        let [below, above] = pair else { continue };
        let rate_below = rate(context, model, Service::Transport, *below)?;
        if rate(context, model, Service::Transport, *above)?.value < rate_below.value {
            let observations = rate_below.observations;
            return Ok(Value { observations, ..Value::exact(*below as f64) });
        }
    }
    Err(Unavailable("throughput never drops".to_owned()))
}

/// Datagrams per second of this size.
pub(super) fn datagrams(context: &mut Context, model: usize, octets: usize) -> Result {
    Ok(rate(context, model, Service::Datalink, octets)?.scaled(1e3 / octets as f64))
}

pub(super) fn datalink_most(context: &mut Context, model: usize) -> Result {
    rate(context, model, Service::Datalink, MOST_DATAGRAM)
}

pub(super) fn asymptote(context: &mut Context, model: usize) -> Result {
    rate(context, model, Service::Transport, LARGE)
}

fn large() -> Trial {
    Trial::new(Service::Transport, Question::Throughput, LARGE)
}

/// Throughput with this retransmission time over that with the first.
pub(super) fn over_first_t1(context: &mut Context, model: usize, millis: u64) -> Result {
    let t1 = Duration::from_millis(millis);
    let here = context.of(model, Trial { t1, ..large() })?;
    not_zero(here.over(context.of(model, large())?))
}

/// Least retransmission time from which on throughput equals that with the first: between the last
/// time tried and the one below it.
pub(super) fn knee(context: &mut Context, model: usize) -> Result {
    let first = context.of(model, large())?;
    let mut least = None;
    for t1 in T1S {
        let here = context.of(model, Trial { t1, ..large() })?;
        let millis = t1.as_secs_f64() * 1e3;
        if here.value < first.value * SAME {
            let high = least.unwrap_or(millis);
            let observations = first.observations;
            return Ok(Value { value: high, low: millis, high, observations });
        }
        least = Some(millis);
    }
    let high = least.unwrap_or(0.0);
    Ok(Value { value: high, low: 0.0, high, observations: first.observations })
}

/// Throughput with a window of one over that with eight.
pub(super) fn window_ratio(context: &mut Context, model: usize) -> Result {
    let one = context.of(model, Trial { window: 1, ..large() })?;
    not_zero(one.over(context.of(model, Trial { window: 8, ..large() })?))
}

/// Trials of every window, from one TPDU to the most.
pub(super) fn windows() -> impl Iterator<Item = Trial> {
    (1..=MOST_WINDOW).map(|window| Trial { window, ..large() })
}

/// Least ratio of throughput with a window to that with the window smaller by one TPDU.
pub(super) fn least_window_step(context: &mut Context, model: usize) -> Result {
    let mut least: Option<Value> = None;
    let mut before: Option<Value> = None;
    for trial in windows() {
        let here = context.of(model, trial)?;
        if let Some(before) = before {
            let step = not_zero(here.over(before))?;
            least = Some(least.filter(|least| least.value <= step.value).unwrap_or(step));
        }
        before = Some(here);
    }
    least.ok_or_else(|| Unavailable("there is one window".to_owned()))
}

/// Throughput with the second largest window over that with the largest.
pub(super) fn first_window_step(context: &mut Context, model: usize) -> Result {
    let next = context.of(model, Trial { window: MOST_WINDOW - 1, ..large() })?;
    not_zero(next.over(context.of(model, large())?))
}

pub(super) fn many_circuits(context: &mut Context, model: usize) -> Result {
    let mut all = Vec::new();
    for circuits in [MANY_CIRCUITS, 8, 12, 16] {
        all.push(context.of(model, Trial { circuits, ..large() })?);
    }
    hull(&all)
}

/// Delay of an acknowledgement from front end to front end, computed from its costs on an idle
/// machine.
pub(super) fn ak_delay(context: &mut Context, model: usize) -> Result {
    let costs = ["transport-send", "datalink-send", "datalink-receive", "transport-receive"];
    Ok(Value::exact(costs.iter().map(|name| context.input(model, name)).sum()))
}

pub(super) fn host_submit(context: &mut Context, model: usize) -> Result {
    Ok(Value::exact(context.input(model, "host-submit")))
}

/// Greatest share of the time in which the bus carries frames.
pub(super) fn load(context: &mut Context, model: usize) -> Result {
    let datagrams = Trial::new(Service::Datalink, Question::Throughput, MOST_DATAGRAM);
    let mut loads = Vec::new();
    for trial in [datagrams, large(), Trial { circuits: 16, ..large() }] {
        let outcome = context.outcome(model, trial)?;
        loads
            .push(Value { observations: outcome.found.observations, ..Value::exact(outcome.load) });
    }
    hull(&loads)
}

const COMMON: [usize; 3] = [LEAST, 400, 800];

/// Delay of a datagram over that of a TSDU, at sizes that both allow.
pub(super) fn delay_ratio(context: &mut Context, model: usize) -> Result {
    let mut all = Vec::new();
    for octets in COMMON {
        let datalink = delay(context, model, Service::Datalink, octets)?;
        all.push(not_zero(datalink.over(delay(context, model, Service::Transport, octets)?))?);
    }
    hull(&all)
}

/// Throughput of datagrams over that of TSDUs, at sizes that both allow.
pub(super) fn rate_ratio(context: &mut Context, model: usize) -> Result {
    let mut all = Vec::new();
    for octets in COMMON {
        let datalink = rate(context, model, Service::Datalink, octets)?;
        all.push(not_zero(datalink.over(rate(context, model, Service::Transport, octets)?))?);
    }
    hull(&all)
}

/// Setting as a number.
pub(super) fn was(number: u64) -> Result {
    Ok(Value::exact(number as f64))
}

/// Octets of a TPDU that are not available for user data.
pub(super) fn reserved() -> Result {
    was((TPDU - INFORMATION) as u64)
}

/// Largest window that a scenario accepts in the normal format, and the default here.
pub(super) fn window_most() -> Result {
    was(MOST_WINDOW)
}
