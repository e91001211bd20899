//! Framing of LPDUs, and stations of programs that send and receive messages.

mod framing;
mod layered;
mod messenger;
mod programmed;
mod typed;

pub use framing::Framing;
pub use layered::{Layered, LayeredParams, Top};
pub use messenger::Messenger;
pub use programmed::Programmed;
pub use typed::{TAG, Typed};
