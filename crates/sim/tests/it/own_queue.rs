//! Stations whose frames wait longer in their own queue than T1.

use core::time::Duration;
use sim::medium::framing::Framing;
use sim::medium::ideal::{Ideal, Params as IdealParams};
use sim::world::World;
use stack::clnp;
use stack::host::{Host, HostParams};
use stack::load::{Event, Flow, FlowId, Pattern, Service};
use stack::messaging::Priority;
use stack::tp4::Params;
use wire::addr::{Mac, Nsap};
use wire::time::Instant;
use wire::units::BitRate;

/// Frames of 1,024 octets take 84 ms each, and fifteen may be outstanding: the last waits for 1.2
/// s.
const BITS_PER_SECOND: u64 = 100_000;
const MESSAGES: u64 = 60;

fn host(number: u32, network: clnp::Params, transport: Params, flows: Vec<Flow>) -> Host {
    let params = HostParams {
        address: Mac::local(number),
        transport,
        network,
        last_reference: 0,
        accepts: true,
        saps: Vec::new(),
        framing: stack::profile::Framing::Ieee8023,
        messaging: None,
    };
    Host::new(params, flows)
}

fn bulk(size_octets: usize) -> Flow {
    Flow {
        id: FlowId(1),
        peer: Mac::local(2),
        service: Service::Class4,
        priority: Priority::LOWEST,
        pattern: Pattern::Bulk,
        size_octets,
        messages: Some(MESSAGES),
        start: Instant::ZERO,
        seed: 1,
    }
}

/// Sends all messages; returns the number of retransmitted DTs.
fn sent_again(
    network: fn(Nsap) -> clnp::Params,
    transport: &Params,
    size_octets: usize,
) -> Result<u64, Box<dyn core::error::Error>> {
    let ideal = Ideal::new(IdealParams {
        rate: BitRate::new(BITS_PER_SECOND),
        propagation: Duration::from_micros(5),
        framing: Framing::IEEE_802_3,
        queue_frames: 1_000,
    });
    let of = |number: u32, flows| {
        host(number, network(Nsap::of_station(Mac::local(number))), transport.clone(), flows)
    };
    let hosts = vec![of(1, vec![bulk(size_octets)]), of(2, vec![])];
    let mut world = World::new(ideal, hosts)?;
    world.run(Instant::ZERO + Duration::from_secs(600), |_| {})?;
    let [one, two] = world.stations_mut() else { panic!("two stations") };
    let delivered = core::iter::from_fn(|| two.record())
        .filter(|record| matches!(record.event, Event::Delivered { .. }));
    assert_eq!(delivered.count() as u64, MESSAGES);
    assert!(one.is_done());
    Ok(one.transport().counters().sent_again)
}

#[test]
fn waiting_in_the_own_queue_causes_no_retransmission() {
    // Response time of a frame: at most 10 ms until an AK is sent, and 7 ms for its 64 octets and
    // for the frame before it. T1 is 100 ms.
    assert_eq!(sent_again(clnp::Params::inactive, &Params::lan(), 1_000).unwrap(), 0);
    // Six segments of a TPDU take 0.7 s; T1 counts from the end of the last.
    let long = Params { tpdu_octets: 8_192, nsdu_octets: 8_192, window: 4, ..Params::lan() };
    let full =
        |address| clnp::Params { lifetime: Duration::from_secs(10), ..clnp::Params::full(address) };
    assert_eq!(sent_again(full, &long, 8_000).unwrap(), 0);
}
