//! Cost of the messaging service and the runner by themselves: a port without a wire.

use crate::ours::{SOCKET, messenger};
use crate::{MESSAGE, station};
use bytes::Bytes;
use live::clock;
use live::port::{Arrival, Counts, Port, PortError, Stamp};
use live::runner::{Control, Runner};
use stack::messaging::Address;
use stack::profile::Programmed;
use stack::station::{Frame, Transmission};
use std::cell::Cell;
use std::sync::atomic::AtomicBool;
use wire::addr::Mac;
use wire::time::Instant;
use wire::units::BitRate;

/// Port that discards sent frames, and delivers one frame as often as requested.
struct NoWire {
    arriving: Bytes,
    left: u64,
}

impl Port for NoWire {
    fn name(&self) -> &str {
        "no wire"
    }

    fn addr(&self) -> Mac {
        station(1)
    }

    fn send(&mut self, frame: &Frame) -> Result<Transmission, PortError> {
        core::hint::black_box(frame);
        Ok(Transmission::Sent)
    }

    fn receive(&mut self, _until: Instant) -> Result<Option<Arrival>, PortError> {
        let Some(left) = self.left.checked_sub(1) else { return Ok(None) };
        self.left = left;
        let frame = Frame::new(Bytes::copy_from_slice(&self.arriving));
        let at = clock::now();
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

/// Nanoseconds to send a message, and to take one.
pub(crate) fn nanos(messages: u64) -> [f64; 2] {
    let stop = AtomicBool::new(false);
    let data = Bytes::from(vec![0x55; MESSAGE]);
    let left = Cell::new(messages);
    let to = Address { station: station(1), socket: SOCKET };
    let mut sender = Programmed::new(messenger(station(0), 1), |it, now| {
        if left.get() > 0 && it.sockets.transmit(now, SOCKET, to, data.clone()).is_accepted() {
            left.set(left.get() - 1);
        }
        None
    });
    let mut port = NoWire { arriving: Bytes::new(), left: 0 };
    let begun = clock::now();
    let run = Runner::new().run(&mut sender, &mut port, Instant::MAX, &stop, |_, _| {
        if left.get() == 0 { Control::Stop } else { Control::Continue }
    });
    run.expect("this port never fails");
    let sending = (clock::now() - begun).as_nanos() as f64 / messages as f64;

    let taken = Cell::new(0);
    let mut receiver = Programmed::new(messenger(station(1), 8), |it, now| {
        while it.sockets.take(SOCKET).is_some() {
            taken.set(taken.get() + 1);
            let _ = it.sockets.enable_reception(now, SOCKET, MESSAGE);
        }
        None
    });
    let arriving = Bytes::from(crate::ours::frame(station(0), station(1)));
    let mut port = NoWire { arriving, left: messages };
    let begun = clock::now();
    let run = Runner::new().run(&mut receiver, &mut port, Instant::MAX, &stop, |_, _| {
        if taken.get() == messages { Control::Stop } else { Control::Continue }
    });
    run.expect("this port never fails");
    [sending, (clock::now() - begun).as_nanos() as f64 / messages as f64]
}
