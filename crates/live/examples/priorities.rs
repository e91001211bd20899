//! Forty long messages wait, then comes an urgent one: it is the second to arrive.
use bytes::Bytes;
use live::port::Hub;
use live::runner::{Control, Runner};
use stack::messaging::{Address, Options, Params, Priority};
use stack::profile::Messenger;
use stack::station::Station;
use std::sync::atomic::AtomicBool;
use wire::{addr::Mac, time::Instant};

const CHART: u8 = 2;
const ALARM: u8 = 4;
static STOP: AtomicBool = AtomicBool::new(false);

fn main() -> Result<(), Box<dyn core::error::Error>> {
    let (hub, now) = (Hub::new(100), Instant::ZERO);
    let (mut port, mut tap) = (hub.port(Mac::local(1)), hub.tap());
    let mut bridge = Messenger::new(Mac::local(1), Params::lan())?;
    for (socket, priority) in [(CHART, Priority::LOWEST), (ALARM, Priority::HIGHEST)] {
        assert!(bridge.sockets.open(now, socket).is_accepted());
        let options = Options { priority, pending_transmits: 40, ..Options::plain() };
        assert!(bridge.sockets.option(socket, options).is_accepted());
    }
    let to = |socket| Address { station: Mac::local(2), socket };
    let chart = Bytes::from_static(&[0; 1_400]);
    while bridge.sockets.transmit(now, CHART, to(CHART), chart.clone()).is_accepted() {}
    let first = bridge.poll().ok_or("the first chart is at the medium")?;
    let alarm = Bytes::from_static(b"fire");
    assert!(bridge.sockets.transmit(now, ALARM, to(ALARM), alarm).is_accepted());
    let outcome = live::port::Port::send(&mut port, &first)?;
    bridge.transmitted(now, outcome);
    Runner::new().run(&mut bridge, &mut port, now, &STOP, |_, _| Control::Stop)?;
    for place in 1..=3 {
        let arrival = tap.receive(now).ok_or("a frame is missing")?;
        println!("{place}: {} octets", arrival.frame.len());
    }
    Ok(())
}
