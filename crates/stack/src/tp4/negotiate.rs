//! Negotiation by CR and CC: class, format, TPDU size, checksum, expedited data (ISO 8073 6.5.4,
//! 13.3, 13.4).
//!
//! This entity supports class 4 only, so it proposes no alternative class and accepts no other. A
//! CC that the standard permits but this entity does not support is a failed negotiation; a CC that
//! the standard forbids is a protocol error.

use super::params::Params;
use super::policy::{Acknowledgement, Retransmission};
use crate::messaging::Priority;
use crate::transport::service::{Reason, disconnect_reason};
use bytes::{Bytes, BytesMut};
use wire::tp::{
    ClassOption, Connect, Kind, Parameter, ParameterBuffer, Parameters, Pdu, Reference, seal,
};

/// Additional options (C6): use of expedited data. Default if the parameter is absent.
const USE_EXPEDITED: u8 = 0x01;
/// Additional options (C6): **non**-use of the checksum.
const NO_CHECKSUM: u8 = 0x02;
/// Additional options (C6): a sender may request acknowledgement (1995 edition).
const REQUEST_ACKNOWLEDGEMENT: u8 = 0x20;
/// Additional options (C6): AKs may name DTs that arrived beyond a gap (1995 edition).
const SELECTIVE_ACKNOWLEDGEMENT: u8 = 0x10;
/// Maximum length of a CR (6.5.4), and maximum user data in CR and CC.
pub(super) const CR_OCTETS: usize = 128;
pub(super) const CONNECT_DATA_OCTETS: usize = 32;
/// TPDU sizes of the standard: from 128 to 8,192 octets; preferred sizes are multiples of 128.
const SIZES: (usize, usize) = (128, 8_192);

/// Agreement of the two sides.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Agreement {
    pub(super) extended: bool,
    pub(super) checksum: bool,
    pub(super) expedited: bool,
    /// DTs may request an acknowledgement.
    pub(super) requests: bool,
    /// AKs name the DTs that arrived beyond a gap.
    pub(super) selective: bool,
    pub(super) tpdu_octets: usize,
    /// The size is stated as the preferred maximum (F0), in addition to or instead of C0.
    pub(super) preferred: bool,
    /// Priority of the connection's frames; a responder cannot change it.
    pub(super) priority: Priority,
}

/// Exponent of the largest TPDU size of the standard that is at most `octets`.
fn size_exponent(octets: usize) -> u8 {
    (7..=13).rev().find(|exponent| 1 << exponent <= octets).unwrap_or(7)
}

/// TPDU size in C0; 128 octets if it is absent, `None` for a value outside the standard.
fn stated_octets(parameters: Parameters<'_>) -> Option<usize> {
    match parameters.value(0xC0) {
        Some([exponent @ 7..=13]) => Some(1 << exponent),
        Some(_) => None,
        None => Some(SIZES.0),
    }
}

/// Preferred maximum TPDU size in F0; `None` if it is absent or zero.
fn preferred_octets(parameters: Parameters<'_>) -> Option<usize> {
    let steps = parameters.iter().filter_map(|parameter| match parameter {
        Parameter::PreferredTpduSize(steps) => Some(steps as usize),
        _ => None,
    });
    steps.last().filter(|steps| *steps > 0).map(|steps| steps.saturating_mul(SIZES.0))
}

/// Additional options; only expedited data if the parameter is absent, `None` if it is not one
/// octet long.
fn options(parameters: Parameters<'_>) -> Option<u8> {
    match parameters.value(0xC6) {
        Some([options]) => Some(*options),
        Some(_) => None,
        None => Some(USE_EXPEDITED),
    }
}

/// Priority in a CR, where 0 is the highest (13.3.4 k); the lowest if it has none or one below our
/// range.
fn priority(parameters: Parameters<'_>) -> Priority {
    let level = parameters.iter().find_map(|parameter| match parameter {
        Parameter::Priority(level) => u8::try_from(level).ok(),
        _ => None,
    });
    let number = level.and_then(|level| Priority::HIGHEST.number().checked_sub(level));
    number.and_then(Priority::new).unwrap_or(Priority::LOWEST)
}

/// Bit set of the classes with which a CC may answer a CR (6.5.4 h, table 3); empty if the proposal
/// is not valid.
#[must_use]
pub(super) const fn valid_responses(preferred: u8, alternatives: &[u8]) -> u8 {
    // Class 1 implies 0; classes 3 and 4 imply 2. An alternative must not be above the preferred
    // class, and class 1 is not an alternative to class 2.
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

/// Alternative classes of a CR; `None` if one has options set (13.3.4 g).
fn alternatives(parameters: Parameters<'_>) -> Option<arrayvec::ArrayVec<u8, 8>> {
    let octets = parameters.value(0xC7).unwrap_or_default();
    // Duplicates are permitted, but more than eight octets for five classes carry no information.
    octets.iter().take(8).map(|octet| (octet & 0x0F == 0).then_some(octet >> 4)).collect()
}

impl Agreement {
    /// Proposal of this side: the contents of its CR.
    pub(super) fn proposed(params: &Params) -> Self {
        let octets = params.tpdu_octets.clamp(SIZES.0, SIZES.1) / SIZES.0 * SIZES.0;
        Self {
            extended: params.extended,
            checksum: params.checksum,
            expedited: params.expedited,
            requests: params.acknowledgement == Acknowledgement::OnRequest,
            selective: params.retransmission == Retransmission::Missing,
            tpdu_octets: octets,
            preferred: !octets.is_power_of_two(),
            priority: Priority::LOWEST,
        }
    }

    /// Answer to a CR.
    ///
    /// # Errors
    /// Reason of the DR that refuses the CR.
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
        // 13.2.3: an invalid size in a CR may be ignored; then the default of 128 octets applies.
        let stated = preferred.or_else(|| stated_octets(cr.parameters)).unwrap_or(SIZES.0);
        let octets = wanted.tpdu_octets.min(stated);
        Ok(Self {
            extended: wanted.extended && cr.class.extended,
            checksum: wanted.checksum || options & NO_CHECKSUM == 0,
            expedited: wanted.expedited && options & USE_EXPEDITED != 0,
            requests: options & REQUEST_ACKNOWLEDGEMENT != 0,
            selective: options & SELECTIVE_ACKNOWLEDGEMENT != 0,
            tpdu_octets: if preferred.is_some() { octets } else { 1 << size_exponent(octets) },
            preferred: preferred.is_some(),
            priority: priority(cr.parameters),
        })
    }

    /// Agreement after a CC to this proposal.
    ///
    /// # Errors
    /// [`Reason::NegotiationFailed`] if the CC selects a class that this entity does not support,
    /// [`Reason::ProtocolError`] if it selects anything outside the proposal.
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
        // A responder that does not support F0 answers C0, which stated the next lower power of
        // two.
        let most = if self.preferred && preferred.is_none() {
            1 << size_exponent(self.tpdu_octets)
        } else {
            self.tpdu_octets
        };
        let settled = Self {
            extended: cc.class.extended,
            checksum: self.checksum || options & NO_CHECKSUM == 0,
            // An absent parameter means its default, which a side without expedited data ignores.
            expedited: self.expedited && options & USE_EXPEDITED != 0,
            requests: self.requests && options & REQUEST_ACKNOWLEDGEMENT != 0,
            selective: self.selective && options & SELECTIVE_ACKNOWLEDGEMENT != 0,
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

    /// Octet of additional options.
    const fn options(self) -> u8 {
        (if self.expedited { USE_EXPEDITED } else { 0 })
            | (if self.checksum { 0 } else { NO_CHECKSUM })
            | (if self.requests { REQUEST_ACKNOWLEDGEMENT } else { 0 })
            | (if self.selective { SELECTIVE_ACKNOWLEDGEMENT } else { 0 })
    }
}

/// Contents of a CR or CC in addition to the agreement.
pub(super) struct Ends<'a> {
    pub(super) destination_reference: Reference,
    pub(super) source_reference: Reference,
    pub(super) credit: u8,
    pub(super) calling: &'a [u8],
    pub(super) called: &'a [u8],
    pub(super) acknowledge_ms: u16,
    pub(super) data: &'a [u8],
}

/// Encodes a CR or CC; `None` if TSAP-IDs and user data are too long.
pub(super) fn connect_tpdu(kind: Kind, ends: &Ends<'_>, agreed: Agreement) -> Option<Bytes> {
    let mut buffer = ParameterBuffer::new();
    // A CC that answers F0 omits C0; a CR has both, for responders that do not support F0.
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
    // 6.17.3: a CR always carries the checksum, because nothing is agreed yet.
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
