//! A bad path for whatever passes: two wires, and a relay between them that loses frames.
//!
//! What loses frames is the port with faults that tidewire's own stations have, around a socket that hears
//! every frame. So class 4 and the kernel's TCP lose the same share of frames in the same way. Nothing is
//! bound to a processor here and nobody polls, since there are more threads than processors.

use crate::bare::Bare;
use crate::namespace::{INTERFACE, Namespaces};
use crate::transport::{Ends, bulk, iperf3, kernel_tcp, offloads_off, policy};
use crate::{Way, host, in_turns, ratios, spread};
use bytes::Bytes;
use core::time::Duration;
use live::clock;
use live::port::{Arrival, Counts, Faulty, FaultyParams, Port, PortError, Stamp, Wait};
use stack::fault::{Faults, Plan};
use stack::station::{Frame, Transmission};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use wire::addr::Mac;
use wire::time::Instant;
use wire::units::BitRate;

/// Octets of a round's bulk data of class 4; a round of TCP lasts two seconds.
const OCTETS: u64 = 50_000_000;

/// Hears every frame of a wire; nothing is sent with it.
struct Ear(Bare);

impl Port for Ear {
    fn name(&self) -> &str {
        INTERFACE
    }

    fn addr(&self) -> Mac {
        Mac::BROADCAST
    }

    fn send(&mut self, _frame: &Frame) -> Result<Transmission, PortError> {
        Ok(Transmission::GivenUp)
    }

    /// Waits for 5 ms, whatever is asked for: nothing here is late.
    fn receive(&mut self, _until: Instant) -> Result<Option<Arrival>, PortError> {
        let Some(octets) = self.0.next() else { return Ok(None) };
        let (frame, at) = (Frame::new(Bytes::copy_from_slice(octets)), clock::now());
        Ok(Some(Arrival { at, taken: at, stamp: Stamp::User, frame }))
    }

    fn link_rate(&self) -> Option<BitRate> {
        None
    }

    fn is_unbounded(&self) -> bool {
        true
    }

    fn counts(&self) -> Counts {
        Counts::default()
    }
}

/// Carries frames from one wire to another until it is done; adds up those that passed and were lost.
fn carry(from: &str, to: &str, loss: f64, done: &AtomicBool, counts: &[AtomicU64; 2]) {
    let plan = Plan { loss, ..Plan::harmless(Duration::from_millis(500)) };
    let receiving = (loss > 0.0).then(|| Faults::new(plan, 7, from).unwrap());
    let params = FaultyParams { receiving, sending: None, held_frames: 4_096 };
    let mut incoming = Faulty::new(Ear(Bare::hears_all(from).unwrap()), params);
    let mut outgoing = Bare::deaf(to).unwrap();
    outgoing.bind_to_send().unwrap();
    let mut room = [0; crate::bare::FRAME];
    let mut passed = 0;
    while !done.load(Ordering::Relaxed) {
        let Some(arrival) = incoming.receive(clock::now()).unwrap() else { continue };
        let octets = arrival.frame.copy_to(&mut room).unwrap();
        outgoing.put(&room[..octets]);
        passed += 1;
    }
    counts[0].fetch_add(passed, Ordering::Relaxed);
    counts[1].fetch_add(incoming.received().lost, Ordering::Relaxed);
}

/// Goodput of TCP and of class 4 over the same relay, for one share of lost frames.
fn goodput(wires: &[Namespaces; 2], loss: f64, rounds: usize) {
    let ends = [wires[0].names[0].clone(), wires[1].names[1].clone()];
    let (done, counts) = (AtomicBool::new(false), [AtomicU64::new(0), AtomicU64::new(0)]);
    let figures = std::thread::scope(|scope| {
        let [near, far] = [&wires[0].names[1], &wires[1].names[0]];
        scope.spawn(|| carry(near, far, loss, &done, &counts));
        scope.spawn(|| carry(far, near, loss, &done, &counts));
        let _server = iperf3(&ends, &[]);
        let class4 = |place: usize| {
            let (_, params) = policy(place);
            let ends = Ends { names: &ends, loss: 0.0, wait: Wait::Block };
            bulk(&ends, &params, OCTETS).0 * 1e3
        };
        let figures = in_turns(
            rounds,
            &mut [
                &mut || kernel_tcp(&ends, &[], 2).map_or(f64::NAN, |gbits| gbits * 1e3),
                &mut || class4(3),
                &mut || class4(4),
            ],
        );
        done.store(true, Ordering::Relaxed);
        figures
    });
    let [passed, lost] = counts.map(AtomicU64::into_inner);
    let share = lost as f64 / (passed + lost).max(1) as f64 * 100.0;
    println!("  {:.1} % of frames lost each way; in fact {share:.3} %, of {passed}", loss * 100.0);
    let programs = ["iperf3, kernel TCP", policy(3).0, policy(4).0];
    for (name, own) in programs.iter().zip(&figures) {
        let over = spread(ratios(own, &figures[0]), 2);
        println!("    {name:<20} {:<26} over TCP {over}", spread(own.clone(), 0));
    }
}

/// Shows it.
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
    println!("\nbulk data over a relay with a faulty port each way, Mbit/s, n = {rounds}");
    println!("  nobody polls, no real-time scheduling; TCP: {}", control.trim());
    for loss in [0.0, 0.001, 0.01, 0.05] {
        goodput(&wires, loss, rounds);
    }
}
