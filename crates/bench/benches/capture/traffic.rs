//! Capture for the benchmark: class 4 connections of every kind, simulated with our own stations.
//!
//! Eight pairs of stations, each with its own choice of format and checksum, have per pair two bulk
//! transfers, four request-reply dialogues at their own speed, four random and two cyclic senders,
//! and a short dialogue that reconnects every ten seconds. Every thousandth frame is lost, so some
//! are retransmitted. The same number of frames gives the same octets.

use core::time::Duration;
use sim::medium::faulty::Faulty;
use sim::medium::framing::Framing;
use sim::medium::ideal::{Ideal, Params as IdealParams};
use sim::tap::Tap;
use sim::world::World;
use stack::clnp;
use stack::fault::{Faults, Plan};
use stack::host::{Host, HostParams};
use stack::load::{Flow, FlowId, Pattern, Service};
use stack::messaging::Priority;
use stack::tp4::Params;
use std::io::{self, Write};
use wire::addr::{Mac, Nsap};
use wire::dissect::Link;
use wire::pcap::Writer;
use wire::time::Instant;
use wire::units::BitRate;

const PAIRS: u32 = 8;
const SEED: u64 = 1;
const LOSS: f64 = 0.001;
const SLICE: Duration = Duration::from_millis(50);
/// Number of short dialogues of each pair, one every ten seconds.
const DIALOGUES: u64 = 40;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn transport(pair: u32) -> Params {
    Params {
        extended: pair.is_multiple_of(2),
        checksum: pair % 4 < 2,
        // On a LAN of one segment no frame lives longer; a 7-bit number is soon reused.
        nsdu_lifetime: ms(20),
        ..Params::lan()
    }
}

/// Returns the flows from the first station of a pair to the second.
fn flows(pair: u32) -> Vec<Flow> {
    let request = |reply_octets| Pattern::MaximumRateRequest { reply_octets };
    let lasting = [
        (Pattern::Bulk, 8_000, 2),
        (request(200), 64, 2),
        (request(1_200), 100, 2),
        (Pattern::Poisson { mean_interval: ms(5) }, 250, 4),
        (Pattern::Cyclic { period: ms(20) }, 128, 2),
    ];
    let lasting = lasting.into_iter().flat_map(|(pattern, size_octets, count)| {
        (0..count).map(move |_| (pattern, size_octets, None, 0))
    });
    let dialogues = (0..DIALOGUES).map(|place| (request(300), 80, Some(50), 10 * place));
    lasting
        .chain(dialogues)
        .zip(0..)
        .map(|((pattern, size_octets, messages, start_seconds), number)| Flow {
            id: FlowId(pair as u16 * 100 + number),
            peer: Mac::local(2 * pair + 2),
            service: Service::Class4,
            priority: Priority::LOWEST,
            pattern,
            size_octets,
            messages,
            start: Instant::ZERO + Duration::from_secs(start_seconds),
            seed: u64::from(pair) * 100 + u64::from(number),
        })
        .collect()
}

fn host(number: u32) -> Host {
    let pair = number / 2;
    let calls = number.is_multiple_of(2);
    let params = HostParams {
        address: Mac::local(number + 1),
        transport: transport(pair),
        network: clnp::Params::inactive(Nsap::of_station(Mac::local(number + 1))),
        last_reference: number as u16 * 1_000,
        accepts: !calls,
        saps: Vec::new(),
        framing: stack::profile::Framing::Ieee8023,
        messaging: None,
    };
    Host::new(params, if calls { flows(pair) } else { Vec::new() })
}

/// Writes a capture of `frames` frames.
pub(crate) fn write(out: impl Write, frames: u64) -> Result<(), Box<dyn core::error::Error>> {
    let ideal = Ideal::new(IdealParams {
        rate: Some(BitRate::mbps(10)),
        propagation: Duration::from_micros(5),
        framing: Framing::IEEE_802_3,
        queue_frames: 1_000,
    });
    let plan = Plan { loss: LOSS, ..Plan::harmless(ms(20)) };
    let medium = Faulty::new(ideal, Faults::new(plan, SEED, "capture")?);
    let mut world = World::new(medium, (0..2 * PAIRS).map(host).collect())?;
    let mut tap = Tap::new(Framing::IEEE_802_3);
    let mut writer = Writer::new(out, Link::Ethernet)?;
    let (mut written, mut result, mut end) = (0, Ok::<(), io::Error>(()), Instant::ZERO);
    while written < frames {
        let before = written;
        end += SLICE;
        world.run(end, |passage| {
            let Some(captured) = tap.capture(passage) else { return };
            if written < frames && result.is_ok() {
                result = writer.write(captured.at, captured.octets, captured.octets.len());
                written += 1;
            }
        })?;
        result?;
        result = Ok(());
        if written == before {
            return Err(format!("the stations fell silent at {end} s").into());
        }
        for host in world.stations_mut() {
            while host.record().is_some() {}
        }
    }
    writer.flush()?;
    Ok(())
}
