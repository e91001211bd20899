//! Layers of this host: the same experiment as on a modelled station, on real ports.
//!
//! | operation | here |
//! |---|---|
//! | PHY | computed from the rate of the link, if it has one |
//! | MAC transmit | frames that are ready, one `send` after another, in bursts |
//! | MAC end to end | one frame at a time: `send`, then `receive` at the other port |
//! | LLC transmit | messages in bursts; acknowledged ones, each until it is acknowledged |
//! | LLC receive | from the availability of the frame to the delivery of its message to the user |
//! | LLC end to end | one message at a time, from user to user |
//! | transport, session, CASE, MMS end to end | the same through these layers; each message is acknowledged |
//!
//! Not measured: buffer write and buffer read. A present-day interface fetches frames from the
//! memory of the host by itself, while the processor does other work; a program has no moment at
//! which it could time either.

mod pair;

pub use pair::{Over, Pair};

use super::fit::Curve;
use super::{Measurement, Operation, Service};
use bytes::Bytes;
use core::sync::atomic::AtomicBool;
use core::time::Duration;
use live::clock;
use live::port::PortError;
use stack::messaging::Outcome;
use stats::histogram::Histogram;
use stats::rng::Stream;
use std::collections::BTreeMap;
use wire::mac;
use wire::units::BitRate;

/// Default sizes.
pub const SIZES: [usize; 7] = [64, 256, 512, 768, 1_024, 1_280, LARGEST];
/// Longest message that fits an 802.3 frame with LLC's header and a CRC.
pub const LARGEST: usize = 1_495;
/// Limit of frames sent without a pause: those that fit the smallest receive buffer.
pub const BURST: u64 = 32;
/// Frames that a round sends per message and size: in bursts and one by one below LLC, without
/// options and with CRC, one by one acknowledged, with and without CRC, in two frames each, and
/// one by one through each layer above LLC, with an AK.
const FRAMES_PER_MESSAGE: u64 = 18;
/// Frames that open a connection with an association, and a first message.
const FRAMES_TO_OPEN: u64 = 10;
/// Messages of the discarded first round, which warms caches and tables.
const WARM_UP: u64 = 8;

/// Reason why the experiment cannot start or continue.
#[derive(Debug, thiserror::Error)]
pub enum LayersError {
    /// A port cannot be opened or used.
    #[error("{0}")]
    Port(#[from] PortError),
    /// Frames or messages do not arrive.
    #[error("{count} of what {from} sent did not arrive at {to}: are they on one LAN?")]
    Lost {
        /// Sender's port.
        from: String,
        /// Receiver's port.
        to: String,
        /// Number lost.
        count: u64,
    },
    /// The experiment is to end.
    #[error("stopped")]
    Stopped,
    /// The messaging service did not take an operation.
    #[error("the messaging service says: {0}")]
    NotAccepted(Outcome),
}

/// Extent of the measurement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Octets of messages, and of the data of frames below LLC: 1 to [`LARGEST`], rising.
    pub sizes: Vec<usize>,
    /// Repetitions of each operation at each size in each round.
    pub messages: u64,
    /// Number of times that all sizes are measured, each time in another order.
    pub rounds: u64,
    /// Seed of the order.
    pub seed: u64,
}

impl Plan {
    /// Approximate number of frames that it sends.
    #[must_use]
    pub fn frames(&self) -> u64 {
        let each = self.rounds * self.messages + WARM_UP.min(self.messages);
        self.sizes.len() as u64 * each * FRAMES_PER_MESSAGE
    }
}

/// Results.
#[derive(Clone, Debug)]
pub struct Findings {
    /// Curves, those below LLC first.
    pub curves: Vec<Curve>,
    /// Cost of reading the clock: each time includes one reading, those of LLC receive and of
    /// acknowledged messages two or three.
    pub clock_reading: Duration,
    /// Messages and frames lost; their times are not in the curves.
    pub lost: u64,
    /// Number of frames sent.
    pub frames: u64,
    /// True if every round was made.
    pub complete: bool,
}

/// Measurements of a curve, round by round.
type Rounds = BTreeMap<(Operation, Service), Vec<Vec<Measurement>>>;

/// Runs the experiment, or as many rounds as end before `stop` is true. `progress` is called after each
/// round.
///
/// # Errors
/// Returns an error of the ports, or an error if too much is lost.
pub fn measure(
    pair: &mut Pair,
    plan: &Plan,
    stop: &'static AtomicBool,
    progress: &mut dyn FnMut(),
) -> Result<Findings, LayersError> {
    clock::be_punctual();
    pair.end_at(stop);
    let mut order = Stream::named(plan.seed, "layers: order of sizes");
    let mut rounds = Rounds::new();
    let mut complete = true;
    for round in 0..=plan.rounds {
        let is_warm_up = round == 0;
        let messages = if is_warm_up { plan.messages.min(WARM_UP) } else { plan.messages };
        let mut found: BTreeMap<_, Vec<Measurement>> = BTreeMap::new();
        for octets in shuffled(&plan.sizes, &mut order) {
            let of_size = match size(pair, octets, messages) {
                Ok(of_size) => of_size,
                Err(LayersError::Stopped) => {
                    complete = false;
                    break;
                }
                Err(error) => return Err(error),
            };
            for one in of_size {
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

/// Sizes in random order (Fisher and Yates), so that drift of the host does not look like an effect
/// of size.
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
    for operation in Operation::UPPER {
        found.push(upper(pair, operation, octets, messages)?);
    }
    Ok(found)
}

/// Measures an operation of a layer above LLC, over a connection of its own.
fn upper(
    pair: &mut Pair,
    operation: Operation,
    octets: usize,
    messages: u64,
) -> Result<Measurement, LayersError> {
    let mut found = measurement(operation, Service::default(), octets);
    let Some(top) = operation.top() else { return Ok(found) };
    let data = Bytes::from(vec![0x55; octets]);
    pair.wait(FRAMES_TO_OPEN, octets)?;
    let Some(mut tower) = pair.tower(top)? else { return Ok(found) };
    // The first message fills caches that belong to the connection.
    pair.tower_lap(&mut tower, &data)?;
    let busy = clock::processor();
    for _ in 0..messages {
        pair.wait(2, octets)?;
        pair.tower_lap(&mut tower, &data)?.into_iter().for_each(|took| found.times.record(took));
    }
    found.processor = each(clock::processor() - busy, messages);
    Ok(found)
}

fn measurement(operation: Operation, service: Service, octets: usize) -> Measurement {
    Measurement { operation, service, octets, times: Histogram::new(), processor: None }
}

/// Busy time of the processor per message.
fn each(busy: Duration, messages: u64) -> Option<Duration> {
    let nanos = u64::try_from(busy.as_nanos()).ok()?.checked_div(messages)?;
    Some(Duration::from_nanos(nanos))
}

/// Sizes of the bursts for this number of messages.
fn bursts(messages: u64) -> impl Iterator<Item = u64> {
    (0..messages).step_by(BURST as usize).map(move |begun| BURST.min(messages - begun))
}

fn mac_transmit(pair: &mut Pair, octets: usize, messages: u64) -> Result<Measurement, LayersError> {
    let frame = pair.frame(octets);
    let mut found = measurement(Operation::MacTransmit, Service::default(), octets);
    let mut busy = Duration::ZERO;
    for count in bursts(messages) {
        pair.wait(count, octets)?;
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
        pair.wait(count, data.len())?;
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
        pair.wait(1, octets)?;
        pair.mac_lap(&frame)?.into_iter().for_each(|took| found.times.record(took));
    }
    found.processor = each(clock::processor() - busy, messages);
    Ok(found)
}

/// Measures LLC receive and LLC end to end; for acknowledged messages LLC transmit as well.
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
    // The first message may synchronise two stations without state of each other.
    pair.llc_lap(service, data)?;
    let busy = clock::processor();
    for _ in 0..messages {
        pair.wait(1 + u64::from(service.acknowledgement), data.len())?;
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

/// Time of a frame's bits at the rate of the link, with preamble, padding and FCS, without the
/// interframe gap.
fn physical(rate: BitRate, sizes: &[usize]) -> Option<Curve> {
    let one = |octets: &usize| {
        let frame = (octets + mac::HEADER_OCTETS).max(mac::MIN_OCTETS);
        let mut found = measurement(Operation::BufferTransmit, Service::default(), *octets);
        found.times.record(rate.octets(mac::PREAMBLE_OCTETS + frame + mac::FCS_OCTETS));
        found
    };
    Curve::of_rounds(vec![sizes.iter().map(one).collect()])
}

/// Median of many consecutive readings.
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
