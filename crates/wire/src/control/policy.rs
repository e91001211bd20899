//! Options which an initiator requests in a Hello and a responder confirms in an Accept: the policy of
//! its class 4 receiver, and streams of cyclic data.
//!
//! An option is behind the fields of both PDUs: a code, the length of the value, the value. A
//! code of 0 ends the options, as does the end of the PDU; other codes are skipped. So a peer of an
//! earlier version ignores the request, and its Accept confirms nothing. Streams have no value.

use crate::read::{Malformed, Reader};
use bytes::BufMut;
use core::fmt;

/// Code of the policy.
const CODE: u8 = 1;
/// Code of streams.
const STREAMS: u8 = 2;
/// Code that ends the options.
const END: u8 = 0;
/// Octets of the value.
const VALUE_OCTETS: u8 = 1 + 2 + 8 + 2;

/// Octets of both options.
pub(super) const OCTETS: usize = 2 + VALUE_OCTETS as usize + 2;

/// Rule by which DTs in sequence are acknowledged.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Acknowledge {
    /// Each DT at once.
    Each,
    /// After a number of DTs, or A_L.
    Withhold,
    /// After A_L.
    Delay,
    /// At the request of the sender, or after A_L.
    OnRequest,
}

impl Acknowledge {
    const fn from_octet(octet: u8) -> Option<Self> {
        Some(match octet {
            1 => Self::Each,
            2 => Self::Withhold,
            3 => Self::Delay,
            4 => Self::OnRequest,
            _ => return None,
        })
    }

    const fn to_octet(self) -> u8 {
        match self {
            Self::Each => 1,
            Self::Withhold => 2,
            Self::Delay => 3,
            Self::OnRequest => 4,
        }
    }

    /// Name, as in a scenario.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Each => "each",
            Self::Withhold => "withhold",
            Self::Delay => "delay",
            Self::OnRequest => "on-request",
        }
    }
}

/// Acknowledgements and credit of a class 4 receiver.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ReceivePolicy {
    /// Rule by which DTs in sequence are acknowledged.
    pub acknowledge: Acknowledge,
    /// Number of DTs after which [`Acknowledge::Withhold`] sends an AK.
    pub acknowledge_every: u16,
    /// A_L: maximum delay of an acknowledgement, in nanoseconds.
    pub acknowledgement_delay_ns: u64,
    /// Number of DTs that the sender may have outstanding on a connection.
    pub window: u16,
}

impl ReceivePolicy {
    fn value(reader: &mut Reader<'_>) -> Result<Option<Self>, Malformed> {
        let acknowledge = Acknowledge::from_octet(reader.u8("acknowledgement policy")?);
        let acknowledge_every = reader.u16("DTs of an acknowledgement")?;
        let acknowledgement_delay_ns = reader.array("A_L").map(u64::from_be_bytes)?;
        let window = reader.u16("window")?;
        Ok(acknowledge.map(|acknowledge| Self {
            acknowledge,
            acknowledge_every,
            acknowledgement_delay_ns,
            window,
        }))
    }

    pub(super) fn encode(&self, out: &mut impl BufMut) {
        out.put_u8(CODE);
        out.put_u8(VALUE_OCTETS);
        out.put_u8(self.acknowledge.to_octet());
        out.put_u16(self.acknowledge_every);
        out.put_u64(self.acknowledgement_delay_ns);
        out.put_u16(self.window);
    }
}

/// Options of a Hello or an Accept.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Options {
    /// Policy; `None` if it is not among them, or has a rule that this version does not define.
    pub(super) receive: Option<ReceivePolicy>,
    /// True if streams are among them.
    pub(super) has_streams: bool,
}

impl Options {
    /// Decodes the options up to their end.
    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let mut options = Self::default();
        while !reader.is_empty() {
            let code = reader.u8("code of an option")?;
            if code == END {
                break;
            }
            let start = reader.offset() + 1;
            let length = reader.u8("length of an option")?;
            let value = reader.take("option", length.into())?;
            options.has_streams |= code == STREAMS;
            if code == CODE {
                let mut value = Reader::new(value);
                let policy = ReceivePolicy::value(&mut value);
                options.receive = policy.map_err(|malformed| malformed.within(start))?;
            }
        }
        Ok(options)
    }

    pub(super) fn encode(&self, out: &mut impl BufMut) {
        if let Some(policy) = self.receive {
            policy.encode(out);
        }
        if self.has_streams {
            out.put_slice(&[STREAMS, 0]);
        }
    }
}

impl fmt::Display for ReceivePolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { acknowledge, acknowledge_every, acknowledgement_delay_ns, window } = self;
        write!(
            f,
            "acknowledge={} every={acknowledge_every} A_L={acknowledgement_delay_ns}ns \
             window={window}",
            acknowledge.name()
        )
    }
}
