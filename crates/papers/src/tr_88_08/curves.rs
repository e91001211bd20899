//! Times of TR-88-08 on the modelled machines: single times, ratios, slopes, knees and cross-overs.
//!
//! All times are in milliseconds, all sizes in octets.

use super::laboratory::{LEAST, LONGEST_FRAME, LONGEST_MESSAGE, Laboratory, Machine, SHORT, Which};
use crate::layers::{Operation, Service};
use crate::published::NotHere;
use crate::published::found::Found;
use bench::profile::Layer;
use bench::scenario::MediumKind;
use sim::host::{Interface, NoBuffer};

type Result = core::result::Result<Found, NotHere>;

const PLAIN: Service = Service { acknowledgement: false, crc: false };
const ACK: Service = Service { acknowledgement: true, crc: false };
const CRC: Service = Service { acknowledgement: false, crc: true };
const BOTH: Service = Service { acknowledgement: true, crc: true };

fn llc(laboratory: &mut Laboratory, which: Which, service: Service, octets: usize) -> Result {
    laboratory.time_of(which, Operation::LlcTransmit, service, octets)
}

fn mac(laboratory: &mut Laboratory, which: Which, octets: usize) -> Result {
    laboratory.time_of(which, Operation::MacTransmit, PLAIN, octets)
}

fn not_zero(quotient: Option<Found>) -> Result {
    quotient.ok_or_else(|| NotHere("the divisor may be zero".to_owned()))
}

/// Messages that the interface holds at a time.
pub(super) fn interface_buffer(laboratory: &mut Laboratory, which: Which) -> Result {
    let host = laboratory.profile(which)?.host(Layer::Mac, MediumKind::ProNet10, NoBuffer::Refused);
    Ok(Found::exact(match host.interface {
        Interface::Shared => 1.0,
        Interface::Separate => 2.0,
        Interface::Unlimited => f64::INFINITY,
    }))
}

/// Short messages per second.
pub(super) fn rate(laboratory: &mut Laboratory, which: Which) -> Result {
    not_zero(llc(laboratory, which, PLAIN, SHORT)?.scaled(1e-3).reciprocal())
}

fn phy(laboratory: &mut Laboratory, which: Which, octets: usize) -> Result {
    laboratory.time_of(which, Operation::BufferTransmit, PLAIN, octets)
}

/// Microseconds per additional octet on the ring.
pub(super) fn phy_slope(laboratory: &mut Laboratory, which: Which) -> Result {
    let grown = phy(laboratory, which, LONGEST_FRAME)?.minus(phy(laboratory, which, SHORT)?);
    Ok(grown.scaled(1e3 / (LONGEST_FRAME - SHORT) as f64))
}

pub(super) fn phy_longest(laboratory: &mut Laboratory, which: Which) -> Result {
    phy(laboratory, which, LONGEST_FRAME)
}

/// MAC end to end over the sum of write, transmit and read: range over all sizes.
pub(super) fn mac_sum(laboratory: &mut Laboratory, which: Which) -> Result {
    let mut ratios = Vec::new();
    for octets in [LEAST, SHORT, LONGEST_FRAME / 2, LONGEST_FRAME] {
        let mut time = |operation| laboratory.time_of(which, operation, PLAIN, octets);
        let sum = time(Operation::BufferWrite)?
            .plus(time(Operation::BufferTransmit)?)
            .plus(time(Operation::BufferRead)?);
        ratios.push(not_zero(time(Operation::MacEndToEnd)?.over(sum))?);
    }
    Found::hull(&ratios).ok_or_else(|| NotHere("no size was timed".to_owned()))
}

/// LLC end to end over the sum of transmit and receive, as the legend of Figure 5 defines it: range
/// over all sizes.
pub(super) fn llc_sum(laboratory: &mut Laboratory, which: Which) -> Result {
    let mut ratios = Vec::new();
    for octets in [LEAST, SHORT, LONGEST_MESSAGE / 2, LONGEST_MESSAGE] {
        let mut time = |operation| laboratory.time_of(which, operation, PLAIN, octets);
        let sum = time(Operation::LlcTransmit)?.plus(time(Operation::LlcReceive)?);
        ratios.push(not_zero(time(Operation::LlcEndToEnd)?.over(sum))?);
    }
    Found::hull(&ratios).ok_or_else(|| NotHere("no size was timed".to_owned()))
}

pub(super) fn mac_least(laboratory: &mut Laboratory, which: Which) -> Result {
    mac(laboratory, which, LEAST)
}

pub(super) fn mac_short(laboratory: &mut Laboratory, which: Which) -> Result {
    mac(laboratory, which, SHORT)
}

pub(super) fn mac_longest(laboratory: &mut Laboratory, which: Which) -> Result {
    mac(laboratory, which, LONGEST_FRAME)
}

/// Ratio to the least time above which a time has begun to grow: one part in a hundred, the width
/// of a line in a figure.
const GROWTH: f64 = 1.01;

/// Greatest size up to which MAC transmit takes as long as for the least.
pub(super) fn mac_knee(laboratory: &mut Laboratory, which: Which) -> Result {
    let least = mac(laboratory, which, LEAST)?;
    let is_flat = |laboratory: &mut Laboratory, octets| {
        Ok::<_, NotHere>(mac(laboratory, which, octets)?.value <= least.value * GROWTH)
    };
    let last = last_size(laboratory, LONGEST_FRAME, is_flat)?;
    let found = Found::exact(last.map_or(0.0, |octets| octets as f64));
    Ok(Found { observations: least.observations, ..found })
}

/// Microseconds per additional octet in MAC transmit.
pub(super) fn mac_slope(laboratory: &mut Laboratory, which: Which) -> Result {
    let grown = mac(laboratory, which, LONGEST_FRAME)?.minus(mac(laboratory, which, SHORT)?);
    Ok(grown.scaled(1e3 / (LONGEST_FRAME - SHORT) as f64))
}

pub(super) fn llc_least(laboratory: &mut Laboratory, which: Which) -> Result {
    llc(laboratory, which, PLAIN, LEAST)
}

pub(super) fn llc_longest(laboratory: &mut Laboratory, which: Which) -> Result {
    llc(laboratory, which, PLAIN, LONGEST_MESSAGE)
}

pub(super) fn llc_above_least(laboratory: &mut Laboratory, which: Which) -> Result {
    Ok(llc(laboratory, which, PLAIN, LEAST)?.minus(mac(laboratory, which, LEAST)?))
}

pub(super) fn llc_above_longest(laboratory: &mut Laboratory, which: Which) -> Result {
    Ok(llc(laboratory, which, PLAIN, LONGEST_MESSAGE)?.minus(mac(
        laboratory,
        which,
        LONGEST_FRAME,
    )?))
}

pub(super) fn llc_end_to_end(laboratory: &mut Laboratory, which: Which) -> Result {
    laboratory.time_of(which, Operation::LlcEndToEnd, PLAIN, SHORT)
}

pub(super) fn both_short(laboratory: &mut Laboratory, which: Which) -> Result {
    llc(laboratory, which, BOTH, SHORT)
}

fn acknowledged_over_plain(laboratory: &mut Laboratory, which: Which, octets: usize) -> Result {
    let plain = llc(laboratory, which, PLAIN, octets)?;
    not_zero(llc(laboratory, which, ACK, octets)?.over(plain))
}

pub(super) fn ack_ratio_short(laboratory: &mut Laboratory, which: Which) -> Result {
    acknowledged_over_plain(laboratory, which, SHORT)
}

pub(super) fn ack_ratio_longest(laboratory: &mut Laboratory, which: Which) -> Result {
    acknowledged_over_plain(laboratory, which, LONGEST_MESSAGE)
}

/// Time that the CRC adds to LLC transmit.
fn crc_cost(laboratory: &mut Laboratory, which: Which, octets: usize) -> Result {
    Ok(llc(laboratory, which, CRC, octets)?.minus(llc(laboratory, which, PLAIN, octets)?))
}

/// Slope of the CRC's cost in the upper half of the sizes over that in the lower half.
pub(super) fn crc_straightness(laboratory: &mut Laboratory, which: Which) -> Result {
    let middle = SHORT.midpoint(LONGEST_MESSAGE);
    let [short, half, longest] =
        [SHORT, middle, LONGEST_MESSAGE].map(|octets| crc_cost(laboratory, which, octets));
    let (short, half, longest) = (short?, half?, longest?);
    let early = half.minus(short).scaled(((middle - SHORT) as f64).recip());
    let late = longest.minus(half).scaled(((LONGEST_MESSAGE - middle) as f64).recip());
    not_zero(late.over(early))
}

/// Share of the CRC in LLC transmit with CRC, for the longest message.
pub(super) fn crc_share(laboratory: &mut Laboratory, which: Which) -> Result {
    let cost = crc_cost(laboratory, which, LONGEST_MESSAGE)?;
    not_zero(cost.over(llc(laboratory, which, CRC, LONGEST_MESSAGE)?))
}

/// Time that the CRC adds to an acknowledged message, in multiples of one CRC of the sender.
///
/// For the longest message, of which the CRC takes most of the time.
pub(super) fn crc_count(laboratory: &mut Laboratory, which: Which) -> Result {
    let both = llc(laboratory, which, BOTH, LONGEST_MESSAGE)?;
    let added = both.minus(llc(laboratory, which, ACK, LONGEST_MESSAGE)?);
    not_zero(added.over(crc_cost(laboratory, which, LONGEST_MESSAGE)?))
}

pub(super) fn mac_crossover(laboratory: &mut Laboratory) -> Result {
    crossover(laboratory, Operation::MacTransmit, LONGEST_FRAME)
}

pub(super) fn llc_crossover(laboratory: &mut Laboratory) -> Result {
    crossover(laboratory, Operation::LlcTransmit, LONGEST_MESSAGE)
}

/// Last size at which the AT is faster, over all its models, each compared with the PC in the same
/// reading: between the last size at which it certainly is, and the last at which it may be, by the
/// intervals of both.
///
/// If it is never faster, that size lies below the least that was timed; if it always is, beyond
/// the greatest.
fn crossover(laboratory: &mut Laboratory, operation: Operation, longest: usize) -> Result {
    laboratory.over_models(Machine::At, |laboratory, at| {
        let pc = laboratory.like(at, Machine::Pc);
        let ahead = |is_ahead: fn(Found, Found) -> bool| {
            move |laboratory: &mut Laboratory, octets| {
                let of_at = laboratory.time_of(at, operation, PLAIN, octets)?;
                let of_pc = laboratory.time_of(pc, operation, PLAIN, octets)?;
                Ok(is_ahead(of_at, of_pc))
            }
        };
        let surely = last_size(laboratory, longest, ahead(|at, pc| at.high < pc.low))?;
        let likely = last_size(laboratory, longest, ahead(|at, pc| at.value < pc.value))?;
        let perhaps = last_size(laboratory, longest, ahead(|at, pc| at.low < pc.high))?;
        let observations = laboratory.time_of(at, operation, PLAIN, LEAST)?.observations;
        Ok(band([surely, likely, perhaps], longest, observations))
    })
}

/// Crossing as an interval, from the last sizes before it.
fn band(last: [Option<usize>; 3], longest: usize, observations: u64) -> Found {
    let [low, value, high] = last.map(|last| last.map(|octets| octets as f64));
    let is_beyond = |octets: f64| octets >= longest as f64;
    Found {
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
    laboratory: &mut Laboratory,
    longest: usize,
    mut holds: impl FnMut(&mut Laboratory, usize) -> core::result::Result<bool, NotHere>,
) -> core::result::Result<Option<usize>, NotHere> {
    if !holds(laboratory, LEAST)? {
        return Ok(None);
    }
    if holds(laboratory, longest)? {
        return Ok(Some(longest));
    }
    let (mut yes, mut no) = (LEAST, longest);
    while no - yes > 1 {
        let middle = yes.midpoint(no);
        if holds(laboratory, middle)? {
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
