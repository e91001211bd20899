//! Bounds on media that stations share, and on separate wires.

use super::stream::{Stream, Streams, arrivals};
use super::{Bound, Reason};
use crate::medium::{Medium, Site, Theory};
use crate::scenario::Scenario;
use core::time::Duration;
use sim::medium::framing::Framing;
use sim::medium::{ideal, plca, token_bus, token_ring};
use std::collections::BTreeMap;
use wire::mac::HEADER_OCTETS;
use wire::units::BitRate;

/// Maximum number of steps to a rotation in which all frames have been counted.
const MOST_STEPS: usize = 1_000;
/// Octets of a response of LLC type 3 without a reply: its header and status.
const ANSWER_OCTETS: usize = 4;
/// Lowest priority of class 6 of a token bus (IEEE 802.4).
const LEAST_OF_CLASS_6: u8 = 6;

/// Assumptions behind the bounds of a medium, in one sentence; `None` for a medium without bounds.
#[must_use]
pub fn assumptions(medium: &Medium) -> Option<&'static str> {
    match medium.model(Site::default()).theory() {
        Theory::Contention => None,
        Theory::OwnWire(_) => Some("each station sends its frames one after the other"),
        Theory::Turns(_) => {
            Some("no beacon or frame is lost; all others take each turn with their longest burst")
        }
        Theory::BusRotation(_) => {
            Some("no token is lost; each station holds it for all that it may have to send")
        }
        Theory::RingRotation(_) => {
            Some("no token is lost and no frame has priority; each station sends all it may have")
        }
        Theory::Ports(_) => {
            Some("no buffer runs over; all as urgent meet behind the longest less urgent frame")
        }
    }
}

/// Bound of each flow whose medium determines it.
pub(super) fn bounds(scenario: &Scenario, theory: Theory<'_>, streams: &Streams) -> Vec<Bound> {
    let has_priorities = matches!(scenario.medium, Medium::TokenRing(_))
        && streams.all.iter().any(|stream| stream.priority > 0);
    let longest = longest(theory, streams, has_priorities);
    let new = |stream: &Stream| {
        if streams.from(stream.station).any(|other| goes_first(streams, stream, other)) {
            return Bound::None(Reason::Others);
        }
        longest(stream).map_or_else(Bound::None, Bound::Longest)
    };
    let mut known = BTreeMap::new();
    let of = |first: Option<usize>| {
        let Some(stream) = first.map(|first| &streams.all[first]) else {
            return Bound::None(Reason::Others);
        };
        // All of a stream that its bound depends on.
        let Stream { station, rank, priority, data_octets, asks, .. } = *stream;
        let alike = (station, rank, priority, data_octets, asks);
        *known.entry(alike).or_insert_with(|| new(stream))
    };
    streams.first_of_flows(scenario.flows.len()).into_iter().map(of).collect()
}

/// Longest delay of a frame of a stream. What all streams have in common is computed once.
type Longest<'a> = Box<dyn Fn(&Stream) -> Result<Duration, Reason> + 'a>;

fn longest<'a>(theory: Theory<'a>, streams: &'a Streams, has_priorities: bool) -> Longest<'a> {
    match theory {
        Theory::OwnWire(wire) => Box::new(move |stream| own_wire(wire, stream, streams)),
        Theory::Contention | Theory::Ports(_) => Box::new(|_| Err(Reason::Contention)),
        Theory::Turns(segment) => turns(segment, streams),
        Theory::BusRotation(bus) => bus_rotation(bus, streams),
        Theory::RingRotation(_) if has_priorities => Box::new(|_| Err(Reason::RingPriority)),
        Theory::RingRotation(ring) => ring_rotation(ring, streams),
    }
}

/// Returns whether unlimited frames may be served before those of a stream at its station.
fn goes_first(streams: &Streams, stream: &Stream, other: &Stream) -> bool {
    let before = !streams.ranked[stream.station] || other.rank >= stream.rank;
    before && other.period.is_none()
}

/// On a segment with PLCA: for each frame before it, and for itself, a turn just missed, the turns
/// of all other stations, and the frame.
fn turns<'a>(segment: &'a plca::Params, streams: &'a Streams) -> Longest<'a> {
    let octets = |data: Option<usize>| data.map(|data| data + HEADER_OCTETS);
    let longest: Vec<Option<usize>> =
        streams.longest(segment.positions_metres.len()).into_iter().map(octets).collect();
    let metres = span_of(&segment.positions_metres);
    let way = Duration::from_nanos((metres / segment.metres_per_second * 1e9).ceil() as u64);
    Box::new(move |stream| {
        let others = longest.iter().enumerate().filter(|(station, _)| *station != stream.station);
        let others: Vec<Option<usize>> = others.map(|(_, octets)| *octets).collect();
        let own = longest[stream.station].unwrap_or_default();
        let frame = plca::RATE.bits(plca::FRAMING.wire_bits(own));
        let each = segment.longest_access_behind(&others) + frame;
        let stay = streams.stay(stream, |frames| times(each, frames)).ok_or(Reason::Load)?;
        Ok(stay + way)
    })
}

/// On a token bus: a rotation for each frame before it, and for itself.
fn bus_rotation<'a>(bus: &'a token_bus::Params, streams: &'a Streams) -> Longest<'a> {
    let (holding, classes) = match bus.service {
        token_bus::Service::HoldingTime(holding) => (holding, false),
        token_bus::Service::Classes { holding_time, .. } => (holding_time, true),
    };
    let is_high = move |stream: &Stream| !classes || stream.priority >= LEAST_OF_CLASS_6;
    let frame = move |stream: &Stream| match stream.asks {
        true => bus.longest_exchange(stream.data_octets, ANSWER_OCTETS),
        false => ceiling(bus.rate, bus.frame_bits(stream.data_octets)),
    };
    let low = streams.all.iter().filter(|stream| !is_high(stream)).map(frame).max();
    let stations = bus.positions_metres.len();
    let rotation = rotation(
        |span| {
            let hold = |station| {
                let high = || streams.from(station).filter(|stream| is_high(stream));
                let most = high().map(frame).max().map_or(Duration::ZERO, |it| it + holding);
                within(high(), span, frame).filter(|sum| *sum <= holding).unwrap_or(most)
            };
            (0..stations).map(hold).collect()
        },
        |holds| bus.longest_rotation(holds, low.unwrap_or_default()),
    );
    Box::new(move |stream| {
        if !is_high(stream) {
            return Err(Reason::AccessClass);
        }
        let own = frame(stream);
        let stay = streams.stay(stream, |frames| times(rotation, frames) + own);
        Ok(stay.ok_or(Reason::Load)? + bus.longest_way())
    })
}

/// On a ring without priorities: a rotation for each frame before it, and for itself.
fn ring_rotation<'a>(ring: &'a token_ring::Params, streams: &'a Streams) -> Longest<'a> {
    let frame = |stream: &Stream| {
        ring.longest_bits(ring.format.frame_bits(stream.data_octets.saturating_add(HEADER_OCTETS)))
    };
    let limit = |longest: Duration| match ring.frames_per_token {
        Some(frames) => times(longest, u64::from(frames)),
        None => ring.token_holding_time,
    };
    let stations = ring.positions_metres.len();
    let rotation = rotation(
        |span| {
            let sends = |station| {
                let longest = streams.from(station).map(frame).max();
                let most = longest.map_or(Duration::ZERO, limit);
                within(streams.from(station), span, frame)
                    .filter(|sum| *sum <= most)
                    .unwrap_or(most)
            };
            (0..stations).map(sends).collect()
        },
        |sending| ring.longest_rotation(sending),
    );
    Box::new(move |stream| {
        let own = frame(stream);
        let stay = streams.stay(stream, |frames| times(rotation, frames) + own);
        Ok(stay.ok_or(Reason::Load)? + ring.longest_round())
    })
}

/// On a separate wire: the frames before it and itself, with their gaps.
fn own_wire(wire: &ideal::Params, stream: &Stream, streams: &Streams) -> Result<Duration, Reason> {
    let Some(rate) = wire.rate else { return Ok(wire.propagation) };
    let longest = streams.from(stream.station).map(|stream| stream.data_octets).max();
    let framing = Framing::IEEE_802_3;
    let bits = framing.wire_bits(longest.unwrap_or_default() + HEADER_OCTETS) + framing.gap_bits;
    let each = ceiling(rate, bits);
    // The gap after the last frame before it passes first.
    let time = |frames| times(each, frames);
    Ok(streams.stay(stream, time).ok_or(Reason::Load)? + wire.propagation)
}

/// Longest rotation, in which all frames that arrive within it are sent.
fn rotation(
    holds: impl Fn(Duration) -> Vec<Duration>,
    longest: impl Fn(&[Duration]) -> Duration,
) -> Duration {
    let mut span = Duration::ZERO;
    for _ in 0..MOST_STEPS {
        let next = longest(&holds(span));
        if next <= span {
            return span;
        }
        span = next;
    }
    longest(&holds(Duration::MAX))
}

/// Time for a station to send all frames that arrive in a span; `None` if that has no limit.
fn within<'a>(
    mut streams: impl Iterator<Item = &'a Stream>,
    span: Duration,
    frame: impl Fn(&Stream) -> Duration,
) -> Option<Duration> {
    streams.try_fold(Duration::ZERO, |sum, stream| {
        let frames = arrivals(stream.period?, span)?;
        Some(sum.saturating_add(times(frame(stream), frames)))
    })
}

/// A span multiplied by `count`.
fn times(span: Duration, count: u64) -> Duration {
    span.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Duration of bits, rounded up to a nanosecond.
pub(super) fn ceiling(rate: BitRate, bits: u64) -> Duration {
    let per_second = u128::from(rate.bits_per_second()).max(1);
    let nanos = (u128::from(bits) * 1_000_000_000).div_ceil(per_second);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// Distance from the first position to the last.
fn span_of(metres: &[f64]) -> f64 {
    let least = metres.iter().copied().fold(f64::INFINITY, f64::min);
    let most = metres.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (most - least).max(0.0)
}
