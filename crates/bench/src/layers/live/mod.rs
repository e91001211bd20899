//! The layers of this host: the same experiment as on a modelled station, on real ports.
//!
//! | operation | here |
//! |---|---|
//! | PHY | arithmetic from the rate of the link, where there is one |
//! | MAC transmit | frames that are ready, one `send` after another, in bursts |
//! | MAC end to end | one frame at a time: `send`, then `receive` at the other port |
//! | LLC transmit | messages in bursts; acknowledged ones, each until it is acknowledged |
//! | LLC receive | from the frame being there to its message in the hands of the user |
//! | LLC end to end | one message at a time, from user to user |
//!
//! Not measured: buffer write and buffer read. A present-day interface takes frames from the memory
//! of the host by itself, while the processor does something else; there is no moment at which a
//! program could time either.

mod pair;

pub use pair::{Over, Pair};

use super::fit::Curve;
use super::{Measurement, Operation, Service};
use bytes::Bytes;
use core::sync::atomic::{AtomicBool, Ordering};
use core::time::Duration;
use live::clock;
use live::port::PortError;
use stack::messaging::Outcome;
use stats::histogram::Histogram;
use stats::rng::Stream;
use std::collections::BTreeMap;
use wire::mac;
use wire::units::BitRate;

/// The sizes that are measured unless others are asked for.
pub const SIZES: [usize; 7] = [64, 256, 512, 768, 1_024, 1_280, LARGEST];
/// The longest message that fits an 802.3 frame with LLC's header and a CRC.
pub const LARGEST: usize = 1_495;
/// Frames that go out at most without a pause: what the smallest receive buffer holds.
pub const BURST: u64 = 32;
/// Frames that a round sends for each message of each size: in bursts and one by one below LLC, plain
/// and with CRC, and one by one acknowledged, with and without CRC, in two frames each.
const FRAMES_PER_MESSAGE: u64 = 10;
/// Messages of the round that is thrown away, so that caches and tables are warm.
const WARM_UP: u64 = 8;

/// Why the experiment cannot be made, or not go on.
#[derive(Debug, thiserror::Error)]
pub enum LayersError {
    /// A port cannot be opened or used.
    #[error("{0}")]
    Port(#[from] PortError),
    /// What was sent does not arrive.
    #[error("{count} of what {from} sent did not arrive at {to}: are they on one LAN?")]
    Lost {
        /// The sender's port.
        from: String,
        /// The receiver's port.
        to: String,
        /// How many.
        count: u64,
    },
    /// The messaging service did not take an operation.
    #[error("the messaging service says: {0}")]
    NotAccepted(Outcome),
}

/// How much is measured.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Octets of messages, and of the data of frames below LLC: 1 to [`LARGEST`], rising.
    pub sizes: Vec<usize>,
    /// Repetitions of each operation at each size in each round.
    pub messages: u64,
    /// How often all sizes are gone through, each time in another order.
    pub rounds: u64,
    /// What the order is drawn from.
    pub seed: u64,
}

impl Plan {
    /// How many frames it sends, about.
    #[must_use]
    pub fn frames(&self) -> u64 {
        let each = self.rounds * self.messages + WARM_UP.min(self.messages);
        self.sizes.len() as u64 * each * FRAMES_PER_MESSAGE
    }
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Findings {
    /// Below LLC first.
    pub curves: Vec<Curve>,
    /// What reading the clock takes: each time has one reading in it, those of LLC receive and of
    /// acknowledged messages two or three.
    pub clock_reading: Duration,
    /// Messages and frames that were lost; their times are not in the curves.
    pub lost: u64,
    /// Frames that were sent in all.
    pub frames: u64,
    /// Whether every round was made.
    pub complete: bool,
}

/// Measurements of a curve, round by round.
type Rounds = BTreeMap<(Operation, Service), Vec<Vec<Measurement>>>;

/// Makes the experiment. `progress` is called after each round.
///
/// # Errors
/// What the ports said, or where too much is lost.
pub fn measure(
    pair: &mut Pair,
    plan: &Plan,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(),
) -> Result<Findings, LayersError> {
    clock::be_punctual();
    let mut order = Stream::named(plan.seed, "layers: order of sizes");
    let mut rounds = Rounds::new();
    let mut complete = true;
    for round in 0..=plan.rounds {
        let is_warm_up = round == 0;
        let messages = if is_warm_up { plan.messages.min(WARM_UP) } else { plan.messages };
        let mut found: BTreeMap<_, Vec<Measurement>> = BTreeMap::new();
        for octets in shuffled(&plan.sizes, &mut order) {
            if stop.load(Ordering::Relaxed) {
                complete = false;
                break;
            }
            for one in size(pair, octets, messages)? {
                found.entry((one.operation, one.service)).or_default().push(one);
            }
        }
        if !complete {
            break;
        }
        if !is_warm_up {
            found.into_iter().for_each(|(what, all)| rounds.entry(what).or_default().push(all));
            progress();
        }
    }
    let physical = pair.link_rate().and_then(|rate| physical(rate, &plan.sizes));
    let measured = rounds.into_values().filter_map(Curve::of_rounds);
    Ok(Findings {
        curves: physical.into_iter().chain(measured).collect(),
        clock_reading: clock_reading(),
        lost: pair.lost(),
        frames: pair.frames(),
        complete,
    })
}

/// The sizes in an order drawn at random (Fisher and Yates), so that what drifts on the host does not
/// look like a matter of size.
fn shuffled(sizes: &[usize], order: &mut Stream) -> Vec<usize> {
    let mut sizes = sizes.to_vec();
    order.shuffle(&mut sizes);
    sizes
}

/// Every operation at one size.
fn size(pair: &mut Pair, octets: usize, messages: u64) -> Result<Vec<Measurement>, LayersError> {
    let mut found = vec![mac_transmit(pair, octets, messages)?];
    found.push(mac_end_to_end(pair, octets, messages)?);
    for service in Service::ALL {
        let data = Bytes::from(vec![0x55; octets]);
        if !service.acknowledgement {
            found.push(llc_transmit(pair, service, &data, messages)?);
        }
        found.extend(llc_laps(pair, service, &data, messages)?);
    }
    Ok(found)
}

fn measurement(operation: Operation, service: Service, octets: usize) -> Measurement {
    Measurement { operation, service, octets, times: Histogram::new(), processor: None }
}

/// What one of so many messages kept the processor busy for.
fn each(busy: Duration, messages: u64) -> Option<Duration> {
    let nanos = u64::try_from(busy.as_nanos()).ok()?.checked_div(messages)?;
    Some(Duration::from_nanos(nanos))
}

/// The sizes of the bursts in which so many messages go out.
fn bursts(messages: u64) -> impl Iterator<Item = u64> {
    (0..messages).step_by(BURST as usize).map(move |begun| BURST.min(messages - begun))
}

fn mac_transmit(pair: &mut Pair, octets: usize, messages: u64) -> Result<Measurement, LayersError> {
    let frame = pair.frame(octets);
    let mut found = measurement(Operation::MacTransmit, Service::default(), octets);
    let mut busy = Duration::ZERO;
    for count in bursts(messages) {
        pair.wait(count, octets);
        busy += pair.mac_burst(&frame, count, &mut found.times)?;
    }
    found.processor = each(busy, messages);
    Ok(found)
}

fn llc_transmit(
    pair: &mut Pair,
    service: Service,
    data: &Bytes,
    messages: u64,
) -> Result<Measurement, LayersError> {
    let mut found = measurement(Operation::LlcTransmit, service, data.len());
    let mut busy = Duration::ZERO;
    for count in bursts(messages) {
        pair.wait(count, data.len());
        busy += pair.llc_burst(service, data, count, &mut found.times)?;
    }
    found.processor = each(busy, messages);
    Ok(found)
}

fn mac_end_to_end(
    pair: &mut Pair,
    octets: usize,
    messages: u64,
) -> Result<Measurement, LayersError> {
    let frame = pair.frame(octets);
    let mut found = measurement(Operation::MacEndToEnd, Service::default(), octets);
    let busy = clock::processor();
    for _ in 0..messages {
        pair.wait(1, octets);
        pair.mac_lap(&frame)?.into_iter().for_each(|took| found.times.record(took));
    }
    found.processor = each(clock::processor() - busy, messages);
    Ok(found)
}

/// LLC receive and LLC end to end; of acknowledged messages LLC transmit as well.
fn llc_laps(
    pair: &mut Pair,
    service: Service,
    data: &Bytes,
    messages: u64,
) -> Result<Vec<Measurement>, LayersError> {
    let new = |operation| measurement(operation, service, data.len());
    let mut transmit = new(Operation::LlcTransmit);
    let mut receive = new(Operation::LlcReceive);
    let mut end_to_end = new(Operation::LlcEndToEnd);
    // The first may synchronize two stations that have forgotten each other.
    pair.llc_lap(service, data)?;
    let busy = clock::processor();
    for _ in 0..messages {
        pair.wait(1 + u64::from(service.acknowledgement), data.len());
        let Some(lap) = pair.llc_lap(service, data)? else { continue };
        transmit.times.record(lap.transmit);
        receive.times.record(lap.receive);
        end_to_end.times.record(lap.end_to_end);
    }
    end_to_end.processor = each(clock::processor() - busy, messages);
    transmit.processor = end_to_end.processor;
    let mut found = vec![receive, end_to_end];
    if service.acknowledgement {
        found.push(transmit);
    }
    Ok(found)
}

/// What the bits of frames take at the rate of the link, preamble, padding and FCS among them, the
/// gap behind a frame not.
fn physical(rate: BitRate, sizes: &[usize]) -> Option<Curve> {
    let one = |octets: &usize| {
        let frame = (octets + mac::HEADER_OCTETS).max(mac::MIN_OCTETS);
        let mut found = measurement(Operation::BufferTransmit, Service::default(), *octets);
        found.times.record(rate.octets(mac::PREAMBLE_OCTETS + frame + mac::FCS_OCTETS));
        found
    };
    Curve::of_rounds(vec![sizes.iter().map(one).collect()])
}

/// The median of many readings, each right after the one before.
fn clock_reading() -> Duration {
    let mut times = Histogram::new();
    let mut last = clock::now();
    for _ in 0..1_000 {
        let now = clock::now();
        times.record(now - last);
        last = now;
    }
    times.quantile(0.5).unwrap_or_default()
}

#[cfg(test)]
mod tests;
