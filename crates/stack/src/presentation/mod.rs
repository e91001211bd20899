//! Presentation layer: ISO 8823 (X.226), kernel in normal mode with BER; or null, as in MAP 2.1.
//!
//! ```text
//!   P-CONNECT, P-DATA, P-RELEASE, P-U-ABORT, P-P-ABORT        Primitive
//!   kernel ── CP, CPA, CPR, TD, ARU, ARP; contexts            8823 6, 7
//!   or null ── user data passes as it is
//!   S-CONNECT, S-DATA, S-RELEASE, S-U-ABORT, S-P-ABORT        session::Primitive
//! ```
//!
//! Left out: context management and restoration, X.410 mode (refused), other transfer syntaxes than
//! BER, more than one value in the user data of CP, CPA and the PPDUs of the release.

mod kernel;
mod null;
mod service;
#[cfg(test)]
mod tests;

pub use kernel::Kernel;
pub use null::Null;
pub use service::{Addresses, Note, Params, Pdv, Primitive, Reason, Refusal, Selectors, Syntax};

use crate::machine::{Deadline, Machine, Output};
use crate::session;
use wire::time::Instant;

/// Presentation entity of one connection.
#[derive(Clone, Debug)]
pub enum Presentation {
    /// Null layer: user data of the session service, without a header.
    Null(Null),
    /// Kernel in normal mode.
    Kernel(Kernel),
}

impl Presentation {
    /// Context agreed for an abstract syntax; 0 without a presentation layer.
    #[must_use]
    pub fn context_of(&self, syntax: Syntax) -> Option<i64> {
        match self {
            Self::Null(_) => Some(0),
            Self::Kernel(kernel) => kernel.context_of(syntax),
        }
    }
}

impl Machine for Presentation {
    type Request = Primitive;
    type Indication = Primitive;
    type Pdu = session::Primitive;
    type Note = Note;

    fn request(&mut self, now: Instant, request: Primitive) {
        match self {
            Self::Null(null) => null.request(now, request),
            Self::Kernel(kernel) => kernel.request(now, request),
        }
    }

    fn receive(&mut self, now: Instant, pdu: session::Primitive) {
        match self {
            Self::Null(null) => null.receive(now, pdu),
            Self::Kernel(kernel) => kernel.receive(now, pdu),
        }
    }

    fn expire(&mut self, _now: Instant) {}

    fn deadline(&self) -> Option<Deadline> {
        None
    }

    fn poll(&mut self) -> Option<Output<session::Primitive, Primitive, Note>> {
        match self {
            Self::Null(null) => null.poll(),
            Self::Kernel(kernel) => kernel.poll(),
        }
    }
}
