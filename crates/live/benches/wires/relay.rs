//! Bad path for any traffic: two wires, and a relay between them that loses frames.
//!
//! This is the relay offered to users. So class 4 and the kernel's TCP lose the same share of
//! frames in the same way. Threads are not bound to processors here and do not poll, because there
//! are more threads than processors.

use crate::namespace::{INTERFACE, Namespaces};
use crate::transport::{Ends, Over, bulk, iperf3, kernel_tcp, offloads_off, policy};
use crate::{host, in_turns, ratios, spread};
use core::time::Duration;
use live::port::Wait;
use live::relay::{Counts, Place, Relay, RelayParams, Selection};
use stack::fault::{Faults, Plan};
use std::sync::atomic::{AtomicBool, Ordering};
use wire::time::Instant;

/// Octets of class 4 bulk data in a round; a round of TCP lasts two seconds.
const OCTETS: u64 = 50_000_000;

/// Relay between the near ends of two wires that loses this share of frames in each direction.
fn relay(wires: &[Namespaces; 2], loss: f64) -> Relay {
    let place = |namespace: &str| Place {
        interface: INTERFACE.to_owned(),
        namespace: Some(namespace.to_owned()),
    };
    let plan = Plan { loss, ..Plan::harmless(Duration::from_millis(500)) };
    let faults = |way| (loss > 0.0).then(|| Faults::new(plan, 7, way).unwrap());
    Relay::open(RelayParams {
        places: [place(&wires[0].names[1]), place(&wires[1].names[0])],
        faults: [faults("there"), faults("back")],
        selection: Selection::Every,
        held_frames: 4_096,
    })
    .unwrap()
}

/// Goodput of TCP and of class 4 over the same relay, for one share of lost frames.
fn goodput(wires: &[Namespaces; 2], loss: f64, rounds: usize) {
    let ends = [wires[0].names[0].clone(), wires[1].names[1].clone()];
    let done = AtomicBool::new(false);
    let (figures, counts) = std::thread::scope(|scope| {
        let relaying = scope.spawn(|| {
            let mut relay = relay(wires, loss);
            relay.run(Instant::MAX, &done, &mut |_| ()).unwrap();
            relay.counts()
        });
        let _server = iperf3(&ends, &[]);
        let class4 = |place: usize| {
            let (_, params) = policy(place);
            let ends = Ends { over: Over::Packets, names: &ends, loss: 0.0, wait: Wait::Block };
            bulk(&ends, &params, OCTETS).0 * 1e3
        };
        let figures = in_turns(
            rounds,
            &mut [
                &mut || kernel_tcp(&ends, &[], 2).map_or(f64::NAN, |gbits| gbits * 1e3),
                &mut || class4(3),
                &mut || class4(4),
                &mut || class4(6),
                &mut || class4(8),
                &mut || class4(9),
            ],
        );
        done.store(true, Ordering::Relaxed);
        (figures, relaying.join().unwrap())
    });
    let total = |count: fn(&Counts) -> u64| counts.iter().map(count).sum::<u64>();
    let (received, lost) = (total(|way| way.received), total(|way| way.faults.lost));
    let unmeant = total(|way| way.kernel_drops + way.not_sent + way.too_long + way.no_room);
    let share = lost as f64 / received.max(1) as f64 * 100.0;
    println!(
        "  {:.1} % of frames lost each way; in fact {share:.3} %, of {received}; {unmeant} dropped in addition",
        loss * 100.0
    );
    let of_class_4 = [3, 4, 6, 8, 9].map(|place| policy(place).0);
    let programs = core::iter::once("iperf3, kernel TCP").chain(of_class_4);
    for (name, own) in programs.zip(&figures) {
        let over = spread(ratios(own, &figures[0]), 2);
        println!("    {name:<20} {:<26} over TCP {over}", spread(own.clone(), 0));
    }
}

/// Prints the results.
pub(crate) fn show(rounds: usize) {
    let (Some(one), Some(two)) = (Namespaces::make(), Namespaces::make()) else { return };
    let wires = [one, two];
    wires.iter().for_each(Namespaces::up);
    let ends = [wires[0].names[0].clone(), wires[1].names[1].clone()];
    host::give_addresses(&ends, INTERFACE);
    if !wires.iter().all(|wire| offloads_off(&wire.names)) {
        println!("skipped: ethtool cannot turn the offloads off");
    }
    let control = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
    let control = control.unwrap_or_default();
    println!("\nbulk data over a relay that loses frames each way, Mbit/s, n = {rounds}");
    println!("  no polling, no real-time scheduling; TCP: {}", control.trim());
    for loss in [0.0, 0.001, 0.01, 0.05] {
        goodput(&wires, loss, rounds);
    }
}
