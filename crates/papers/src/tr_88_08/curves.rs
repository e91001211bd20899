//! Times of TR-88-08 on the modelled machines: single times, ratios, slopes, knees and cross-overs.
//!
//! All times are in milliseconds, all sizes in octets.

use super::context::{Context, LEAST, LONGEST_FRAME, LONGEST_MESSAGE, Machine, SHORT, Which};
use crate::layers::{Operation, Service};
use crate::published::Unavailable;
use crate::published::value::Value;
use bench::profile::Layer;
use bench::scenario::MediumKind;
use sim::host::{Interface, NoBuffer};

type Result = core::result::Result<Value, Unavailable>;

const PLAIN: Service = Service { acknowledgement: false, crc: false };
const ACK: Service = Service { acknowledgement: true, crc: false };
const CRC: Service = Service { acknowledgement: false, crc: true };
const BOTH: Service = Service { acknowledgement: true, crc: true };

fn llc(context: &mut Context, which: Which, service: Service, octets: usize) -> Result {
    context.time_of(which, Operation::LlcTransmit, service, octets)
}

fn mac(context: &mut Context, which: Which, octets: usize) -> Result {
    context.time_of(which, Operation::MacTransmit, PLAIN, octets)
}

fn not_zero(quotient: Option<Value>) -> Result {
    quotient.ok_or_else(|| Unavailable("the divisor may be zero".to_owned()))
}

/// Messages that the interface holds at a time.
pub(super) fn interface_buffer(context: &mut Context, which: Which) -> Result {
    let host = context.profile(which)?.host(Layer::Mac, MediumKind::ProNet10, NoBuffer::Refused);
    Ok(Value::exact(match host.interface {
        Interface::Shared => 1.0,
        Interface::Separate => 2.0,
        Interface::Unlimited => f64::INFINITY,
    }))
}

/// Short messages per second.
pub(super) fn rate(context: &mut Context, which: Which) -> Result {
    not_zero(llc(context, which, PLAIN, SHORT)?.scaled(1e-3).reciprocal())
}

fn phy(context: &mut Context, which: Which, octets: usize) -> Result {
    context.time_of(which, Operation::BufferTransmit, PLAIN, octets)
}

/// Microseconds per additional octet on the ring.
pub(super) fn phy_slope(context: &mut Context, which: Which) -> Result {
    let grown = phy(context, which, LONGEST_FRAME)?.minus(phy(context, which, SHORT)?);
    Ok(grown.scaled(1e3 / (LONGEST_FRAME - SHORT) as f64))
}

pub(super) fn phy_longest(context: &mut Context, which: Which) -> Result {
    phy(context, which, LONGEST_FRAME)
}

/// MAC end to end over the sum of write, transmit and read: range over all sizes.
pub(super) fn mac_sum(context: &mut Context, which: Which) -> Result {
    let mut ratios = Vec::new();
    for octets in [LEAST, SHORT, LONGEST_FRAME / 2, LONGEST_FRAME] {
        let mut time = |operation| context.time_of(which, operation, PLAIN, octets);
        let sum = time(Operation::BufferWrite)?
            .plus(time(Operation::BufferTransmit)?)
            .plus(time(Operation::BufferRead)?);
        ratios.push(not_zero(time(Operation::MacEndToEnd)?.over(sum))?);
    }
    Value::hull(&ratios).ok_or_else(|| Unavailable("no size was timed".to_owned()))
}

/// LLC end to end over the sum of transmit and receive, as the legend of Figure 5 defines it: range
/// over all sizes.
pub(super) fn llc_sum(context: &mut Context, which: Which) -> Result {
    let mut ratios = Vec::new();
    for octets in [LEAST, SHORT, LONGEST_MESSAGE / 2, LONGEST_MESSAGE] {
        let mut time = |operation| context.time_of(which, operation, PLAIN, octets);
        let sum = time(Operation::LlcTransmit)?.plus(time(Operation::LlcReceive)?);
        ratios.push(not_zero(time(Operation::LlcEndToEnd)?.over(sum))?);
    }
    Value::hull(&ratios).ok_or_else(|| Unavailable("no size was timed".to_owned()))
}

pub(super) fn mac_least(context: &mut Context, which: Which) -> Result {
    mac(context, which, LEAST)
}

pub(super) fn mac_short(context: &mut Context, which: Which) -> Result {
    mac(context, which, SHORT)
}

pub(super) fn mac_longest(context: &mut Context, which: Which) -> Result {
    mac(context, which, LONGEST_FRAME)
}

/// Ratio to the least time above which a time has begun to grow: one part in a hundred, the width
/// of a line in a figure.
const GROWTH: f64 = 1.01;

/// Greatest size up to which MAC transmit takes as long as for the least.
pub(super) fn mac_knee(context: &mut Context, which: Which) -> Result {
    let least = mac(context, which, LEAST)?;
    let is_flat = |context: &mut Context, octets| {
        Ok::<_, Unavailable>(mac(context, which, octets)?.value <= least.value * GROWTH)
    };
    let last = last_size(context, LONGEST_FRAME, is_flat)?;
    let found = Value::exact(last.map_or(0.0, |octets| octets as f64));
    Ok(Value { observations: least.observations, ..found })
}

/// Microseconds per additional octet in MAC transmit.
pub(super) fn mac_slope(context: &mut Context, which: Which) -> Result {
    let grown = mac(context, which, LONGEST_FRAME)?.minus(mac(context, which, SHORT)?);
    Ok(grown.scaled(1e3 / (LONGEST_FRAME - SHORT) as f64))
}

pub(super) fn llc_least(context: &mut Context, which: Which) -> Result {
    llc(context, which, PLAIN, LEAST)
}

pub(super) fn llc_longest(context: &mut Context, which: Which) -> Result {
    llc(context, which, PLAIN, LONGEST_MESSAGE)
}

pub(super) fn llc_above_least(context: &mut Context, which: Which) -> Result {
    Ok(llc(context, which, PLAIN, LEAST)?.minus(mac(context, which, LEAST)?))
}

pub(super) fn llc_above_longest(context: &mut Context, which: Which) -> Result {
    Ok(llc(context, which, PLAIN, LONGEST_MESSAGE)?.minus(mac(context, which, LONGEST_FRAME)?))
}

pub(super) fn llc_end_to_end(context: &mut Context, which: Which) -> Result {
    context.time_of(which, Operation::LlcEndToEnd, PLAIN, SHORT)
}

pub(super) fn both_short(context: &mut Context, which: Which) -> Result {
    llc(context, which, BOTH, SHORT)
}

fn acknowledged_over_plain(context: &mut Context, which: Which, octets: usize) -> Result {
    let plain = llc(context, which, PLAIN, octets)?;
    not_zero(llc(context, which, ACK, octets)?.over(plain))
}

pub(super) fn ack_ratio_short(context: &mut Context, which: Which) -> Result {
    acknowledged_over_plain(context, which, SHORT)
}

pub(super) fn ack_ratio_longest(context: &mut Context, which: Which) -> Result {
    acknowledged_over_plain(context, which, LONGEST_MESSAGE)
}

/// Time that the CRC adds to LLC transmit.
fn crc_cost(context: &mut Context, which: Which, octets: usize) -> Result {
    Ok(llc(context, which, CRC, octets)?.minus(llc(context, which, PLAIN, octets)?))
}

/// Slope of the CRC's cost in the upper half of the sizes over that in the lower half.
pub(super) fn crc_straightness(context: &mut Context, which: Which) -> Result {
    let middle = SHORT.midpoint(LONGEST_MESSAGE);
    let [short, half, longest] =
        [SHORT, middle, LONGEST_MESSAGE].map(|octets| crc_cost(context, which, octets));
    let (short, half, longest) = (short?, half?, longest?);
    let early = half.minus(short).scaled(((middle - SHORT) as f64).recip());
    let late = longest.minus(half).scaled(((LONGEST_MESSAGE - middle) as f64).recip());
    not_zero(late.over(early))
}

/// Share of the CRC in LLC transmit with CRC, for the longest message.
pub(super) fn crc_share(context: &mut Context, which: Which) -> Result {
    let cost = crc_cost(context, which, LONGEST_MESSAGE)?;
    not_zero(cost.over(llc(context, which, CRC, LONGEST_MESSAGE)?))
}

/// Time that the CRC adds to an acknowledged message, in multiples of one CRC of the sender.
///
/// For the longest message, of which the CRC takes most of the time.
pub(super) fn crc_count(context: &mut Context, which: Which) -> Result {
    let both = llc(context, which, BOTH, LONGEST_MESSAGE)?;
    let added = both.minus(llc(context, which, ACK, LONGEST_MESSAGE)?);
    not_zero(added.over(crc_cost(context, which, LONGEST_MESSAGE)?))
}

pub(super) fn mac_crossover(context: &mut Context) -> Result {
    crossover(context, Operation::MacTransmit, LONGEST_FRAME)
}

pub(super) fn llc_crossover(context: &mut Context) -> Result {
    crossover(context, Operation::LlcTransmit, LONGEST_MESSAGE)
}

/// Last size at which the AT is faster, over all its models, each compared with the PC in the same
/// reading: between the last size at which it certainly is, and the last at which it may be, by the
/// intervals of both.
///
/// If it is never faster, that size lies below the least that was timed; if it always is, beyond
/// the greatest.
fn crossover(context: &mut Context, operation: Operation, longest: usize) -> Result {
    context.over_models(Machine::At, |context, at| {
        let pc = context.like(at, Machine::Pc);
        let ahead = |is_ahead: fn(Value, Value) -> bool| {
            move |context: &mut Context, octets| {
                let of_at = context.time_of(at, operation, PLAIN, octets)?;
                let of_pc = context.time_of(pc, operation, PLAIN, octets)?;
                Ok(is_ahead(of_at, of_pc))
            }
        };
        let surely = last_size(context, longest, ahead(|at, pc| at.high < pc.low))?;
        let likely = last_size(context, longest, ahead(|at, pc| at.value < pc.value))?;
        let perhaps = last_size(context, longest, ahead(|at, pc| at.low < pc.high))?;
        let observations = context.time_of(at, operation, PLAIN, LEAST)?.observations;
        Ok(band([surely, likely, perhaps], longest, observations))
    })
}

/// Crossing as an interval, from the last sizes before it.
fn band(last: [Option<usize>; 3], longest: usize, observations: u64) -> Value {
    let [low, value, high] = last.map(|last| last.map(|octets| octets as f64));
    let is_beyond = |octets: f64| octets >= longest as f64;
    Value {
        low: low.unwrap_or(0.0),
        value: value.unwrap_or(0.0),
        high: match high {
            Some(octets) if is_beyond(octets) => f64::INFINITY,
            Some(octets) => octets,
            None => LEAST as f64,
        },
        observations,
    }
}

/// Last size for which a condition holds that holds up to some size and not beyond; `None` if it
/// does not hold for the least.
fn last_size(
    context: &mut Context,
    longest: usize,
    mut holds: impl FnMut(&mut Context, usize) -> core::result::Result<bool, Unavailable>,
) -> core::result::Result<Option<usize>, Unavailable> {
    if !holds(context, LEAST)? {
        return Ok(None);
    }
    if holds(context, longest)? {
        return Ok(Some(longest));
    }
    let (mut yes, mut no) = (LEAST, longest);
    while no - yes > 1 {
        let middle = yes.midpoint(no);
        if holds(context, middle)? {
            yes = middle;
        } else {
            no = middle;
        }
    }
    Ok(Some(yes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_crossing_lies_beyond_the_timed_sizes() {
        let check = |last, low, high| {
            let found = band([last; 3], 2_046, 1);
            assert_eq!((found.low, found.high), (low, high));
        };
        check(Some(300), 300.0, 300.0);
        check(Some(2_046), 2_046.0, f64::INFINITY);
        check(None, 0.0, 16.0);
    }
}
