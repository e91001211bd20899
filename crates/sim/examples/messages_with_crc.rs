//! A path damages every third frame, undetected by the FCS. The CRC detects it, and the message is
//! retransmitted.
use core::time::Duration;
use sim::medium::{faulty::Faulty, framing::Framing, ideal};
use sim::world::World;
use stack::fault::{Corruption, Damage, Faults, Plan};
use stack::messaging::{Address, Options, Params};
use stack::profile::{Messenger, Programmed};
use wire::{addr::Mac, time::Instant};

/// A station's program, which runs unchanged over a live port.
fn program(says: &'static str) -> impl FnMut(&mut Messenger, Instant) -> Option<Instant> {
    move |Messenger { sockets, .. }, now| {
        let crc = Options { crc: true, acknowledged: true, transmissions: 8, ..Options::plain() };
        if sockets.open(now, 8).is_accepted() && sockets.option(8, crc).is_accepted() {
            assert!(sockets.enable_reception(now, 8, 100).is_accepted());
            let to = Address { station: Mac::local(2), socket: 8 };
            assert!(says.is_empty() || sockets.transmit(now, 8, to, says.into()).is_accepted());
        }
        let damaged = sockets.counters().bad_crc;
        if let Some(message) = sockets.take(8) {
            println!("{now} s: {:?}, found damaged {damaged} times", message.data.to_bytes());
        }
        None
    }
}

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let (propagation, framing) = (Duration::from_micros(5), Framing::IEEE_802_3);
    let lan = ideal::Params { rate: None, propagation, framing, queue_frames: 9 };
    let (probability, spared_octets, damage) = (0.35, 18, Damage::OneOctet);
    let corruption = Some(Corruption { probability, spared_octets, damage });
    let plan = Plan { corruption, ..Plan::harmless(Duration::from_secs(1)) };
    let medium = Faulty::new(ideal::Ideal::new(lan), Faults::new(plan, 4, "example")?);
    let [one, two] = [1, 2].map(|number| Messenger::new(Mac::local(number), Params::lan()));
    let stations =
        vec![Programmed::new(one?, program("course")), Programmed::new(two?, program(""))];
    Ok(World::new(medium, stations)?.run(Instant::from_nanos(1_000_000_000), |_| {})?)
}
