//! Two stations on 500 m of coaxial cable start in the same instant. Prints the resulting collision's
//! outcome: the time at which each frame arrives.
use bytes::Bytes;
use sim::medium::csma_cd::{CsmaCd, Params};
use sim::world::World;
use stack::machine::Deadline;
use stack::station::{Frame, Station};
use wire::{addr::Mac, time::Instant};

/// Station that broadcasts one frame.
struct Greeter(Mac, Option<Frame>);

impl Station for Greeter {
    fn addr(&self) -> Mac {
        self.0
    }
    fn receive(&mut self, now: Instant, frame: Frame) {
        println!("{now} s  {} received {} octets", self.0, frame.len());
    }
    fn expire(&mut self, _now: Instant) {}
    fn deadline(&self) -> Option<Deadline> {
        None
    }
    fn poll(&mut self) -> Option<Frame> {
        self.1.take()
    }
}

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let greeter = |number| {
        let mut frame = Frame::new(Bytes::from_static(b"\x00\x05hello"));
        frame.prepend(&[Mac::BROADCAST.0, Mac::local(number).0].concat());
        Greeter(Mac::local(number), Some(frame))
    };
    let mut world =
        World::new(CsmaCd::new(Params::spread(2, 500.0, 1))?, vec![greeter(0), greeter(1)])?;
    world.run(Instant::from_nanos(10_000_000), |passage| println!("{} s  passes", passage.at))?;
    println!("{:?}", world.medium().statistics());
    Ok(())
}
