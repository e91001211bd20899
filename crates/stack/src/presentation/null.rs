//! Null presentation layer (MAP 2.1): user data of the session service as it is.

use super::service::{Addresses, Note, Pdv, Primitive, Reason, Refusal, Selectors};
use crate::machine::Output;
use crate::session;
use bytes::Bytes;
use std::collections::VecDeque;
use wire::time::Instant;

/// Null presentation entity: without state.
#[derive(Clone, Debug, Default)]
pub struct Null {
    outputs: VecDeque<Output<session::Primitive, Primitive, Note>>,
}

impl Null {
    /// Creates an entity.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Passes a request on.
    pub(super) fn request(&mut self, _now: Instant, request: Primitive) {
        let octets = |data: Option<Pdv>| data.map_or_else(Bytes::new, |data| data.octets);
        let request = match request {
            Primitive::Connect { addresses, data } => session::Primitive::Connect {
                calling: addresses.calling.session,
                called: addresses.called.session,
                data: data.octets,
            },
            Primitive::Accept { data } => session::Primitive::Accept { data: data.octets },
            Primitive::Refuse { data, .. } => {
                session::Primitive::Refuse { reason: 0, data: octets(data) }
            }
            Primitive::Data(data) => session::Primitive::Data { ssdu: data.octets },
            Primitive::Release { data } => session::Primitive::Release { data: octets(data) },
            Primitive::Released { data } => session::Primitive::Released { data: octets(data) },
            Primitive::Abort { data } => session::Primitive::Abort { data: octets(data) },
            Primitive::ProviderAbort { .. } => {
                return self.outputs.push_back(Output::Note(Note::Refused));
            }
        };
        self.outputs.push_back(Output::Send(request));
    }

    /// Passes an indication on.
    pub(super) fn receive(&mut self, _now: Instant, primitive: session::Primitive) {
        let value = |octets| Pdv { context: 0, octets };
        let some = |octets: Bytes| Some(octets).filter(|it| !it.is_empty()).map(value);
        let indication = match primitive {
            session::Primitive::Connect { calling, called, data } => {
                let end = |session| Selectors { presentation: Bytes::new(), session };
                let addresses = Addresses { calling: end(calling), called: end(called) };
                Primitive::Connect { addresses, data: value(data) }
            }
            session::Primitive::Accept { data } => Primitive::Accept { data: value(data) },
            session::Primitive::Refuse { reason, data } => {
                let refusal = if reason < 0x80 { Refusal::User } else { Refusal::Session(reason) };
                Primitive::Refuse { refusal, data: some(data) }
            }
            session::Primitive::Data { ssdu } => Primitive::Data(value(ssdu)),
            session::Primitive::Release { data } => Primitive::Release { data: some(data) },
            session::Primitive::Released { data } => Primitive::Released { data: some(data) },
            session::Primitive::Abort { data } => Primitive::Abort { data: some(data) },
            session::Primitive::ProviderAbort { reason } => {
                Primitive::ProviderAbort { reason: Reason::Session(reason) }
            }
        };
        self.outputs.push_back(Output::Deliver(indication));
    }

    /// Returns the next output.
    pub(super) fn poll(&mut self) -> Option<Output<session::Primitive, Primitive, Note>> {
        self.outputs.pop_front()
    }
}
