//! What CR and CC settle: class, format, TPDU size, checksum, expedited data (ISO 8073 6.5.4, 13.3, 13.4).
//!
//! This entity runs class 4 alone, so it proposes no alternative class and accepts no other. What the
//! standard allows and this entity cannot do is told apart from what the standard forbids: the first is a
//! failed negotiation, the second a protocol error.

use super::params::Params;
use super::policy::Acknowledgement;
use super::service::{Reason, disconnect_reason};
use crate::messaging::Priority;
use bytes::{Bytes, BytesMut};
use wire::tp::{
    ClassOption, Connect, Kind, Parameter, ParameterBuffer, Parameters, Pdu, Reference, seal,
};

/// Additional options (C6): expedited data wanted. The default where the parameter is absent.
const USE_EXPEDITED: u8 = 0x01;
/// Additional options (C6): the checksum is **not** wanted.
const NO_CHECKSUM: u8 = 0x02;
/// Additional options (C6): a sender may request acknowledgement (1995 edition).
const REQUEST_ACKNOWLEDGEMENT: u8 = 0x20;
/// The largest CR there may be (6.5.4), and the most user data in CR and CC.
pub(super) const CR_OCTETS: usize = 128;
pub(super) const CONNECT_DATA_OCTETS: usize = 32;
/// TPDU sizes of the standard: from 128 to 8,192 octets; preferred sizes come in steps of 128.
const SIZES: (usize, usize) = (128, 8_192);

/// What the two sides agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Agreement {
    pub(super) extended: bool,
    pub(super) checksum: bool,
    pub(super) expedited: bool,
    /// Whether DTs may request an acknowledgement.
    pub(super) requests: bool,
    pub(super) tpdu_octets: usize,
    /// Whether the size is stated as the preferred maximum (F0), beside or in place of C0.
    pub(super) preferred: bool,
    /// That of the frames of the connection, which is no quality that a responder may change.
    pub(super) priority: Priority,
}

/// The exponent of the largest TPDU size of the standard that is not above `octets`.
fn size_exponent(octets: usize) -> u8 {
    (7..=13).rev().find(|exponent| 1 << exponent <= octets).unwrap_or(7)
}

/// The TPDU size C0 states; 128 octets where it is absent, `None` where it has no value of the standard.
fn stated_octets(parameters: Parameters<'_>) -> Option<usize> {
    match parameters.value(0xC0) {
        Some([exponent @ 7..=13]) => Some(1 << exponent),
        Some(_) => None,
        None => Some(SIZES.0),
    }
}

/// The preferred maximum TPDU size F0 states, `None` where it is absent or says nothing.
fn preferred_octets(parameters: Parameters<'_>) -> Option<usize> {
    let steps = parameters.iter().filter_map(|parameter| match parameter {
        Parameter::PreferredTpduSize(steps) => Some(steps as usize),
        _ => None,
    });
    steps.last().filter(|steps| *steps > 0).map(|steps| steps.saturating_mul(SIZES.0))
}

/// Additional options, which are expedited data alone where they are absent; `None` where they are
/// longer or shorter than one octet.
fn options(parameters: Parameters<'_>) -> Option<u8> {
    match parameters.value(0xC6) {
        Some([options]) => Some(*options),
        Some(_) => None,
        None => Some(USE_EXPEDITED),
    }
}

/// The priority in a CR, where 0 is the highest (13.3.4 k); the lowest where it names none or one below ours.
fn priority(parameters: Parameters<'_>) -> Priority {
    let level = parameters.iter().find_map(|parameter| match parameter {
        Parameter::Priority(level) => u8::try_from(level).ok(),
        _ => None,
    });
    let number = level.and_then(|level| Priority::HIGHEST.number().checked_sub(level));
    number.and_then(Priority::new).unwrap_or(Priority::LOWEST)
}

/// The classes with which a CC may answer a CR, as a bit for each (6.5.4 h, table 3); no bit where the
/// proposal itself is not valid.
#[must_use]
pub(super) const fn valid_responses(preferred: u8, alternatives: &[u8]) -> u8 {
    // Class 1 implies 0; classes 3 and 4 imply 2. An alternative is a class not above the preferred one,
    // and class 1 is none for class 2.
    let mut valid = match preferred {
        0 => 0b0_0001,
        1 => 0b0_0011,
        2 => 0b0_0100,
        3 => 0b0_1100,
        4 => 0b1_0100,
        _ => return 0,
    };
    let mut rest = alternatives;
    while let [alternative, others @ ..] = rest {
        valid |= match (preferred, *alternative) {
            (1, 0 | 1) | (3 | 4, 1) => 0b0_0011,
            (2..=4, 0) => 0b0_0001,
            (2..=4, 2) => 0b0_0100,
            (3 | 4, 3) => 0b0_1100,
            (4, 4) => 0b1_0000,
            _ => return 0,
        };
        rest = others;
    }
    valid
}

/// The alternative classes of a CR; `None` where one has options beside it (13.3.4 g).
fn alternatives(parameters: Parameters<'_>) -> Option<arrayvec::ArrayVec<u8, 8>> {
    let octets = parameters.value(0xC7).unwrap_or_default();
    // Redundant ones are no error, but more than eight of five classes say nothing new.
    octets.iter().take(8).map(|octet| (octet & 0x0F == 0).then_some(octet >> 4)).collect()
}

impl Agreement {
    /// What this side would like: the contents of its CR.
    pub(super) fn proposed(params: &Params) -> Self {
        let octets = params.tpdu_octets.clamp(SIZES.0, SIZES.1) / SIZES.0 * SIZES.0;
        Self {
            extended: params.extended,
            checksum: params.checksum,
            expedited: params.expedited,
            requests: params.acknowledgement == Acknowledgement::OnRequest,
            tpdu_octets: octets,
            preferred: !octets.is_power_of_two(),
            priority: Priority::LOWEST,
        }
    }

    /// What to answer to a CR.
    ///
    /// # Errors
    /// The reason of the DR that refuses it.
    pub(super) fn answer(params: &Params, cr: &Connect<'_>) -> Result<Self, u8> {
        let broken = disconnect_reason::PROTOCOL_ERROR;
        let others = alternatives(cr.parameters).ok_or(broken)?;
        let valid = valid_responses(cr.class.class, &others);
        if valid == 0 || cr.data.len() > CONNECT_DATA_OCTETS {
            return Err(broken);
        }
        if valid & 1 << 4 == 0 {
            return Err(disconnect_reason::NEGOTIATION_FAILED);
        }
        let options = options(cr.parameters).ok_or(broken)?;
        let wanted = Self::proposed(params);
        let preferred = preferred_octets(cr.parameters);
        // 13.2.3: an invalid size in a CR may be ignored, and then the default of 128 octets holds.
        let stated = preferred.or_else(|| stated_octets(cr.parameters)).unwrap_or(SIZES.0);
        let octets = wanted.tpdu_octets.min(stated);
        Ok(Self {
            extended: wanted.extended && cr.class.extended,
            checksum: wanted.checksum || options & NO_CHECKSUM == 0,
            expedited: wanted.expedited && options & USE_EXPEDITED != 0,
            requests: options & REQUEST_ACKNOWLEDGEMENT != 0,
            tpdu_octets: if preferred.is_some() { octets } else { 1 << size_exponent(octets) },
            preferred: preferred.is_some(),
            priority: priority(cr.parameters),
        })
    }

    /// What a CC settles of this proposal.
    ///
    /// # Errors
    /// [`Reason::NegotiationFailed`] where it selects a class this entity does not run,
    /// [`Reason::ProtocolError`] where it selects what was not offered.
    pub(super) fn settle(self, cc: &Connect<'_>) -> Result<Self, Reason> {
        let broken = Reason::ProtocolError;
        let class = 1_u8.checked_shl(u32::from(cc.class.class)).unwrap_or(0);
        if valid_responses(4, &[]) & class == 0 || cc.data.len() > CONNECT_DATA_OCTETS {
            return Err(broken);
        }
        if cc.class.class != 4 {
            return Err(Reason::NegotiationFailed);
        }
        let options = options(cc.parameters).ok_or(broken)?;
        let preferred = preferred_octets(cc.parameters);
        let stated = match preferred {
            Some(octets) => octets,
            None => stated_octets(cc.parameters).ok_or(broken)?,
        };
        // A responder that does not know F0 answers C0, which stated the next lower power of two.
        let most = if self.preferred && preferred.is_none() {
            1 << size_exponent(self.tpdu_octets)
        } else {
            self.tpdu_octets
        };
        let settled = Self {
            extended: cc.class.extended,
            checksum: self.checksum || options & NO_CHECKSUM == 0,
            // An absent parameter is its default, which a side that did not offer expedited data ignores.
            expedited: self.expedited && options & USE_EXPEDITED != 0,
            requests: self.requests && options & REQUEST_ACKNOWLEDGEMENT != 0,
            tpdu_octets: stated,
            preferred: preferred.is_some(),
            priority: self.priority,
        };
        let not_offered = (settled.extended && !self.extended)
            || stated > most
            || (self.checksum && options & NO_CHECKSUM != 0)
            || (preferred.is_some() && !self.preferred);
        if not_offered { Err(broken) } else { Ok(settled) }
    }

    /// The additional options it is stated with.
    const fn options(self) -> u8 {
        (if self.expedited { USE_EXPEDITED } else { 0 })
            | (if self.checksum { 0 } else { NO_CHECKSUM })
            | (if self.requests { REQUEST_ACKNOWLEDGEMENT } else { 0 })
    }
}

/// What a CR or CC to be sent says beside the agreement.
pub(super) struct Ends<'a> {
    pub(super) destination_reference: Reference,
    pub(super) source_reference: Reference,
    pub(super) credit: u8,
    pub(super) calling: &'a [u8],
    pub(super) called: &'a [u8],
    pub(super) acknowledge_ms: u16,
    pub(super) data: &'a [u8],
}

/// A CR or CC as octets; `None` where TSAP-IDs and user data are too long for one.
pub(super) fn connect_tpdu(kind: Kind, ends: &Ends<'_>, agreed: Agreement) -> Option<Bytes> {
    let mut buffer = ParameterBuffer::new();
    // A CC that answers F0 leaves C0 out; a CR has both, for those that do not know F0.
    if kind == Kind::Cr || !agreed.preferred {
        buffer.push(&Parameter::TpduSize(size_exponent(agreed.tpdu_octets)))?;
    }
    if !ends.calling.is_empty() {
        buffer.push(&Parameter::CallingTsap(ends.calling))?;
    }
    if !ends.called.is_empty() {
        buffer.push(&Parameter::CalledTsap(ends.called))?;
    }
    if kind == Kind::Cr {
        buffer.push(&Parameter::Version(1))?;
    }
    buffer.push(&Parameter::AdditionalOptions(agreed.options()))?;
    buffer.push(&Parameter::AcknowledgeTime(ends.acknowledge_ms))?;
    if agreed.preferred {
        buffer.push(&Parameter::PreferredTpduSize((agreed.tpdu_octets / SIZES.0) as u32))?;
    }
    if agreed.priority > Priority::LOWEST {
        let level = Priority::HIGHEST.number() - agreed.priority.number();
        buffer.push(&Parameter::Priority(level.into()))?;
    }
    // 6.17.3: a CR always carries the checksum, since nothing is agreed yet.
    let sealed = kind == Kind::Cr || agreed.checksum;
    if sealed {
        buffer.push(&Parameter::Checksum([0, 0]))?;
    }
    let connect = Connect {
        credit: ends.credit,
        destination_reference: ends.destination_reference,
        source_reference: ends.source_reference,
        class: ClassOption::class4(agreed.extended),
        parameters: buffer.parameters(kind),
        data: ends.data,
    };
    let pdu = if kind == Kind::Cr { Pdu::Cr(connect) } else { Pdu::Cc(connect) };
    let mut octets = BytesMut::with_capacity(CR_OCTETS);
    pdu.encode(&mut octets);
    let header = pdu.header_octets();
    if octets.len() > CR_OCTETS || ends.data.len() > CONNECT_DATA_OCTETS {
        return None;
    }
    if sealed {
        let (header, data) = octets.split_at_mut(header);
        let at = header.len() - 2;
        seal(header, at, data);
    }
    Some(octets.freeze())
}

#[cfg(test)]
mod tests;
