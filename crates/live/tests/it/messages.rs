//! Acknowledged messages between two namespaces whose wire loses, copies and reorders frames.
//!
//! `TIDEWIRE_MESSAGES=1000000 cargo test --release -p tidewire-live --test it acknowledged --
//! --nocapture` sends a million; `TIDEWIRE_SEED=0x1f` draws other faults.

use crate::namespace::{Namespaces, params};
use crate::{A, B};
use bytes::Bytes;
use live::clock;
use live::port::{AfPacket, Faulty, FaultyParams};
use live::runner::{Control, Counts, Runner};
use stack::fault::{self, Delay, Duplication, Faults, Plan, Reordering};
use stack::llc::type3;
use stack::messaging::{Address, Completion, Indication, Options, Params, SOCKETS};
use stack::profile::{Messenger, Programmed};
use stack::station::Station;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wire::addr::Mac;
use wire::time::Instant;

/// Probability of each kind of fault, on the way to each station.
const PROBABILITY: f64 = 0.02;
/// Delay of a copy, and of a frame held back to be overtaken.
const LATE: Duration = Duration::from_micros(1_000);
/// Longest delay of the plan, plus the latency of a thread.
const LIFETIME: Duration = Duration::from_micros(5_000);
/// Minimum time before a command is retransmitted; on a wire that answers within microseconds, only
/// after a loss.
const ACKNOWLEDGEMENT_TIME: Duration = Duration::from_millis(15);
/// Number of messages that a receiver has room for on each socket.
const BUFFERS: usize = 4;
const OCTETS: usize = 100;

/// Results of one end.
struct End {
    /// By socket, then by number: at the sender, whether it was reported delivered; at the
    /// receiver, the number of deliveries.
    seen: Vec<Vec<u8>>,
    faults: fault::Counts,
    link: type3::Counters,
    runner: Counts,
    /// Messages that arrived with octets different from those sent.
    damaged: u64,
}

fn number_in(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    let hexadecimal = text.strip_prefix("0x").map(|digits| u64::from_str_radix(digits, 16));
    hexadecimal.unwrap_or_else(|| text.parse()).ok()
}

fn sockets() -> impl Iterator<Item = u8> {
    SOCKETS.step_by(2)
}

/// Index of a socket in [`End::seen`].
fn place(socket: u8) -> usize {
    usize::from(socket / 2 - 1)
}

fn message(socket: u8, number: u64) -> Bytes {
    let mut octets = vec![socket];
    octets.extend(number.to_be_bytes());
    octets.resize(OCTETS, number as u8);
    Bytes::from(octets)
}

fn messenger(station: Mac) -> Messenger {
    let link = type3::Params {
        lifetime: LIFETIME,
        acknowledgement_time: ACKNOWLEDGEMENT_TIME,
        ..type3::Params::lan()
    };
    let mut messenger = Messenger::new(station, Params { link, ..Params::lan() }).unwrap();
    let options = Options {
        acknowledged: true,
        transmit_indication: true,
        receive_indication: true,
        transmissions: 8,
        pending_receives: BUFFERS,
        ..Options::plain()
    };
    for socket in sockets() {
        assert!(messenger.sockets.open(Instant::ZERO, socket).is_accepted());
        assert!(messenger.sockets.option(socket, options).is_accepted());
    }
    messenger
}

/// Port whose incoming frames are subject to the plan.
fn port(namespace: &str, station: Mac, seed: u64) -> Faulty<AfPacket> {
    let plan = Plan {
        loss: PROBABILITY,
        duplication: Some(Duplication { probability: PROBABILITY, after: LATE }),
        reordering: Some(Reordering { probability: PROBABILITY, held_back: LATE }),
        delay: Delay { constant: Duration::ZERO, jitter: Duration::ZERO },
        ..Plan::harmless(LIFETIME)
    };
    assert!(plan.longest_delay() <= LIFETIME);
    let faults = Faults::new(plan, seed, &format!("to {station}")).unwrap();
    let params_of_faults =
        FaultyParams { receiving: Some(faults), sending: None, held_frames: 100_000 };
    Faulty::new(AfPacket::open(&params(namespace, station)).unwrap(), params_of_faults)
}

/// Sends numbered messages from each socket to its counterpart until all outcomes are known.
fn send(port: &mut Faulty<AfPacket>, each: u64) -> End {
    let sockets_count = sockets().count();
    let mut seen = vec![vec![0; each as usize]; sockets_count];
    let (mut next, left) = (vec![0_u64; sockets_count], Cell::new(each * sockets_count as u64));
    let mut begun = false;
    let program = |it: &mut Messenger, now: Instant| {
        let mut free: Vec<u8> = if begun { vec![] } else { sockets().collect() };
        begun = true;
        while let Some(indication) = it.indication() {
            if let Indication::Transmitted { socket, sequence, completion } = indication {
                seen[place(socket)][sequence as usize] = u8::from(completion == Completion::Done);
                left.set(left.get() - 1);
                free.push(socket);
            }
        }
        for socket in free {
            let number = &mut next[place(socket)];
            let to = Address { station: B, socket };
            if *number < each
                && it.sockets.transmit(now, socket, to, message(socket, *number)).is_accepted()
            {
                *number += 1;
            }
        }
        None
    };
    let mut station = Programmed::new(messenger(A), program);
    // The program begins; otherwise its first deadline would count as late.
    station.expire(clock::now());
    let (mut runner, stop) = (Runner::new(), AtomicBool::new(false));
    let run = runner.run(&mut station, port, Instant::MAX, &stop, |_, _| {
        if left.get() == 0 { Control::Stop } else { Control::Continue }
    });
    run.unwrap();
    let link = *station.messenger().sockets.acknowledged().counters();
    drop(station);
    End { seen, faults: port.received(), link, runner: *runner.counts(), damaged: 0 }
}

/// Takes messages until `stop` is set.
fn take(port: &mut Faulty<AfPacket>, each: u64, stop: &AtomicBool) -> End {
    let mut seen = vec![vec![0_u8; each as usize]; sockets().count()];
    let mut damaged = 0;
    let mut it = messenger(B);
    for socket in sockets() {
        while it.sockets.enable_reception(Instant::ZERO, socket, OCTETS).is_accepted() {}
    }
    let program = |it: &mut Messenger, now: Instant| {
        while let Some(indication) = it.indication() {
            let Indication::Received { socket, .. } = indication else { continue };
            while let Some(taken) = it.sockets.take(socket) {
                let octets = taken.data.to_bytes();
                let number = u64::from_be_bytes(*octets[1..].first_chunk().unwrap());
                damaged += u64::from(octets != message(socket, number));
                let times = &mut seen[place(socket)][number as usize];
                *times = times.saturating_add(1);
                let _ = it.sockets.enable_reception(now, socket, OCTETS);
            }
        }
        None
    };
    let mut station = Programmed::new(it, program);
    station.expire(clock::now());
    let mut runner = Runner::new();
    runner.run(&mut station, port, Instant::MAX, stop, |_, _| Control::Continue).unwrap();
    let link = *station.messenger().sockets.acknowledged().counters();
    drop(station);
    End { seen, faults: port.received(), link, runner: *runner.counts(), damaged }
}

/// Returns whether `count` is 2 % of `frames`, within four standard deviations and one.
fn is_two_percent(count: u64, frames: u64) -> bool {
    let mean = frames as f64 * PROBABILITY;
    let deviation = (mean * (1.0 - PROBABILITY)).sqrt();
    (count as f64 - mean).abs() <= 4.0 * deviation + 1.0
}

#[test]
fn acknowledged_messages_are_delivered_exactly_once_as_reported() {
    let Some(made) = Namespaces::make() else { return };
    made.up();
    let seed = number_in("TIDEWIRE_SEED").unwrap_or(7);
    let each = number_in("TIDEWIRE_MESSAGES").unwrap_or(20_000).div_ceil(sockets().count() as u64);
    let [a, b] = &made.names;
    let (mut sending, mut taking) = (port(a, A, seed), port(b, B, seed));
    let done = AtomicBool::new(false);
    let begun = clock::now();
    let (sender, receiver) = std::thread::scope(|scope| {
        let receiver = scope.spawn(|| take(&mut taking, each, &done));
        let sender = scope.spawn(|| {
            let end = send(&mut sending, each);
            done.store(true, Ordering::Relaxed);
            end
        });
        (sender.join().unwrap(), receiver.join().unwrap())
    });
    let seconds = (clock::now() - begun).as_secs_f64();
    let (mut done, mut failed, mut lost, mut twice) = (0_u64, 0_u64, 0_u64, 0_u64);
    for (reported, times) in sender.seen.iter().flatten().zip(receiver.seen.iter().flatten()) {
        done += u64::from(*reported == 1);
        failed += u64::from(*reported == 0);
        lost += u64::from(*reported == 1 && *times == 0);
        twice += u64::from(*times > 1);
    }
    let total = each * sockets().count() as u64;
    println!(
        "seen: {total} messages in {seconds:.1} s, {done} reported delivered, {failed} not; \
         latest {:?} and {:?}\nseen: {:?}\nseen: {:?}\nseen: to b {:?}\nseen: to a {:?}",
        sender.runner.latest,
        receiver.runner.latest,
        sender.link,
        receiver.link,
        receiver.faults,
        sender.faults
    );
    assert_eq!((lost, twice, receiver.damaged), (0, 0, 0), "seed {seed:#x}");
    assert_eq!(done + failed, total);
    for faults in [receiver.faults, sender.faults] {
        let fault::Counts { frames, lost, duplicated, held_back, .. } = faults;
        assert!(is_two_percent(lost, frames), "{faults:?}");
        // A lost frame is neither copied nor held back.
        assert!(is_two_percent(duplicated, frames - lost), "{faults:?}");
        assert!(is_two_percent(held_back, frames - lost), "{faults:?}");
    }
    // Each loss of a command or a response was repaired, and each copy of a command detected.
    assert!(sender.link.sent_again > 0 && receiver.link.duplicates > 0);
}
