//! The shared bus against a slow model of the same standard without shortcuts: in every bit time it
//! computes the signals at every station, and steps the processes as clause 4.2.8 writes them.

use crate::talker::Talker;
use sim::medium::csma_cd::{CsmaCd, Params};
use sim::world::World;
use stats::rng::Stream;
use std::collections::VecDeque;
use wire::addr::Mac;
use wire::time::Instant;

const PREAMBLE: u64 = 64;
const JAM: u64 = 32;
const GAP_PART_1: u64 = 64;
const GAP: u64 = 96;
const SLOT: u64 = 512;
const FRAME: u64 = 576;
/// One bit time at 10 Mbit/s, and the cable a signal passes in it at 2e8 m/s.
const BIT_NANOS: u64 = 100;
const BIT_METRES: f64 = 20.0;

/// Signal as its sender emits it; without end until its end is known.
struct Signal {
    station: usize,
    place: u64,
    start: u64,
    end: u64,
}

/// State of the Deference process.
enum Deference {
    Silent,
    Carrier { own: bool },
    Gap { since: u64, own: bool },
}

struct Entity {
    place: u64,
    offers: VecDeque<u64>,
    deference: Deference,
    /// Earliest start of the frame at the head of the queue.
    ready: u64,
    /// Collisions of that frame so far.
    attempts: u32,
    /// Start and end of the signal being sent.
    sending: Option<(u64, u64)>,
    collided: bool,
    backoff: Stream,
}

/// Frames sent completely (station, start, end at the sender), and the number of fragments.
#[derive(Default, PartialEq, Debug)]
struct Outcome {
    frames: Vec<(usize, u64, u64)>,
    fragments: u64,
}

/// Returns whether a station detects a carrier of other stations now, and whether any of it rose
/// before now.
fn hear(now: u64, number: usize, place: u64, signals: &[Signal]) -> (bool, bool) {
    let mut heard = (false, false);
    for signal in signals.iter().filter(|signal| signal.station != number) {
        let delay = signal.place.abs_diff(place);
        if signal.start + delay <= now && now < signal.end.saturating_add(delay) {
            heard = (true, heard.1 || signal.start + delay < now);
        }
    }
    heard
}

impl Entity {
    fn new(number: usize, place: u64, offers: &[u64], seed: u64) -> Self {
        let name = format!("csma-cd/{}/backoff", Mac::local(number as u32));
        Self {
            place,
            offers: offers.iter().copied().collect(),
            deference: Deference::Silent,
            ready: offers.first().copied().unwrap_or(u64::MAX),
            attempts: 0,
            sending: None,
            collided: false,
            backoff: Stream::named(seed, &name),
        }
    }

    /// Ends the signal being sent, if this is its end.
    fn finish(&mut self, now: u64, number: usize, signals: &mut [Signal], outcome: &mut Outcome) {
        let Some((start, end)) = self.sending.filter(|(_, end)| *end == now) else { return };
        self.sending = None;
        let own = signals.iter_mut().rfind(|signal| signal.station == number);
        own.expect("a station receives its own signal").end = now;
        if core::mem::take(&mut self.collided) {
            outcome.fragments += 1;
            self.attempts += 1;
            if self.attempts < 16 {
                let slots = self.backoff.below(1 << self.attempts.min(10));
                self.ready = now + slots * SLOT;
                return;
            }
        } else {
            outcome.frames.push((number, start, end));
        }
        self.attempts = 0;
        self.offers.pop_front();
        self.ready = self.offers.front().map_or(u64::MAX, |offer| now.max(*offer));
    }

    /// One step of the Deference process; returns whether a frame starts now.
    fn defer(&mut self, now: u64, number: usize, signals: &[Signal]) -> bool {
        let sending = self.sending.is_some();
        let (on, on_before) = hear(now, number, self.place, signals);
        if let Deference::Carrier { own } = self.deference {
            let own = own || sending;
            let silent = !sending && !on;
            self.deference = if silent {
                Deference::Gap { since: now, own }
            } else {
                Deference::Carrier { own }
            };
        }
        if let Deference::Gap { since, own } = self.deference {
            if !own && on && now < since + GAP_PART_1 {
                self.deference = Deference::Carrier { own: false };
            } else if now == since + GAP {
                self.deference = Deference::Silent;
                if self.ready <= now {
                    self.deference = Deference::Carrier { own: true };
                    return true;
                }
            }
        }
        if let Deference::Silent = self.deference {
            if on_before {
                self.deference = Deference::Carrier { own: false };
            } else if self.ready <= now {
                self.deference = Deference::Carrier { own: true };
                return true;
            }
        }
        false
    }

    /// Detects a collision while sending.
    fn watch(&mut self, now: u64, number: usize, signals: &[Signal]) {
        let Some((start, end)) = &mut self.sending else { return };
        if !self.collided && hear(now, number, self.place, signals).0 {
            self.collided = true;
            *end = now.max(*start + PREAMBLE) + JAM;
        }
    }
}

fn bit_by_bit(places: &[u64], offers: &[Vec<u64>], seed: u64, bits: u64) -> Outcome {
    let stations = core::iter::zip(places, offers).enumerate();
    let mut entities: Vec<_> =
        stations.map(|(n, (place, offers))| Entity::new(n, *place, offers, seed)).collect();
    let mut signals: Vec<Signal> = Vec::new();
    let mut outcome = Outcome::default();
    for now in 0..bits {
        for (number, entity) in entities.iter_mut().enumerate() {
            entity.finish(now, number, &mut signals, &mut outcome);
        }
        for (number, entity) in entities.iter_mut().enumerate() {
            if entity.defer(now, number, &signals) {
                let place = entity.place;
                signals.push(Signal { station: number, place, start: now, end: u64::MAX });
                entity.sending = Some((now, now + FRAME));
            }
        }
        for (number, entity) in entities.iter_mut().enumerate() {
            entity.watch(now, number, &signals);
        }
        // No signal takes that many bit times to the far end.
        signals.retain(|signal| signal.end.saturating_add(SLOT) > now);
    }
    outcome
}

fn in_one_go(places: &[u64], offers: &[Vec<u64>], seed: u64, bits: u64) -> Outcome {
    let params = Params {
        positions_metres: places.iter().map(|place| *place as f64 * BIT_METRES).collect(),
        metres_per_second: 2.0e8,
        ..Params::spread(places.len(), 0.0, seed)
    };
    let stations = offers.iter().enumerate().map(|(number, offers)| {
        let nanos: Vec<_> = offers.iter().map(|offer| offer * BIT_NANOS).collect();
        Talker::scripted(number as u32, &nanos)
    });
    let bus = CsmaCd::new(params).expect("the bus is allowed");
    let mut world = World::new(bus, stations.collect()).expect("one place per station");
    let mut outcome = Outcome::default();
    let last = Instant::from_nanos((bits - 1) * BIT_NANOS);
    world
        .run(last, |passage| {
            // The observer sits at the end of the cable, where station n is `places[n]` bits away.
            let at = |at: Instant| at.as_nanos() / BIT_NANOS - places[passage.source];
            outcome.frames.push((passage.source, at(passage.started), at(passage.at)));
        })
        .expect("time advances");
    outcome.fragments = world.medium().statistics().fragments;
    outcome
}

#[test]
fn starts_and_ends_agree_with_a_bit_by_bit_model() {
    // 60 buses of 2 to 7 stations at random places on up to 5 km, 20 ms each. Offers come in bursts
    // so close that collisions of many stations, of their fragments and of their retries are
    // frequent.
    const BITS: u64 = 200_000;
    let seed = std::env::var("TIDEWIRE_SEED").map_or(0x5EED_0004, |seed| {
        u64::from_str_radix(seed.trim_start_matches("0x"), 16).expect("a hexadecimal number")
    });
    let mut stream = Stream::named(seed, "buses");
    let (mut frames, mut fragments) = (0, 0);
    for bus in 0..60 {
        let stations = 2 + stream.below(6) as usize;
        let length = 1 + stream.below(256);
        let places: Vec<_> = (0..stations).map(|_| stream.below(length)).collect();
        let mut offers = vec![Vec::new(); stations];
        let mut burst = 0;
        while burst < BITS / 2 {
            burst += stream.below(4_000);
            for offers in &mut offers {
                if stream.chance(0.6) {
                    offers.push(burst + stream.below(2 * length));
                }
            }
        }
        offers.iter_mut().for_each(|offers| offers.sort_unstable());
        let slow = bit_by_bit(&places, &offers, seed + bus, BITS);
        let fast = in_one_go(&places, &offers, seed + bus, BITS);
        assert_eq!(slow, fast, "bus {bus} of seed {seed:#x}, stations at {places:?}");
        frames += slow.frames.len();
        fragments += slow.fragments;
    }
    println!("seed {seed:#x}: {frames} frames, {fragments} fragments");
    assert!(frames > 3_000 && fragments > 3_000, "{frames} frames, {fragments} fragments");
}
