//! Routable GOOSE and Sampled Values (IEC 61850-8-1 and 61850-9-2, both of 2020; before, IEC TR 61850-90-5):
//! their PDUs in datagrams of UDP.
//!
//! ```text
//! 0   connectionless transport: length 1, UD 40
//! 2   SI 1 (A1 GOOSE, A2 Sampled Values), LI 1: octets of the header behind it
//! 4   common header: 80, LI 1
//! 6   SPDU length 4, SPDU number 4, version 2
//! 16  security: time of the current key 4, of the next 2, key 4, length 1 and initialisation vector
//!     payload length 4; for each PDU: type 1 (81 GOOSE, 82 SV), simulation 1, APPID 2, length 2, PDU
//!     signature: 85, length 1, octets
//! ```
//!
//! Left out: times of keys, and the signature, which is not checked. An encrypted payload has no PDU that can
//! be read.

use crate::read::{Malformed, Reader};
use crate::{goose, sampled_values};

/// Port of UDP.
pub const PORT: u16 = 102;
const UNIT_DATA: [u8; 2] = [1, 0x40];
/// Session identifiers of GOOSE and Sampled Values.
const SESSIONS: [u8; 2] = [0xA1, 0xA2];
const COMMON_HEADER: u8 = 0x80;
const GOOSE: u8 = 0x81;
const SAMPLED_VALUES: u8 = 0x82;

/// Session PDU of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pdu<'a> {
    /// SPDU number: counts the session PDUs of a sender.
    pub number: u32,
    /// Identifier of the key that signs or encrypts the payload; 0 without security.
    pub key: u32,
    /// The PDUs, each with its header.
    payload: &'a [u8],
    /// Offset of the payload in the datagram.
    at: usize,
}

/// PDU in a payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Payload<'a> {
    /// GOOSE.
    Goose(goose::Pdu<'a>),
    /// Sampled Values.
    SampledValues(sampled_values::Pdu<'a>),
}

/// Encodes the session PDU with this number for PDUs of GOOSE or of Sampled Values, each as it stands behind
/// the EtherType on Ethernet. It has no key, initialisation vector and signature.
#[must_use]
pub fn encode(number: u32, pdus: &[&[u8]]) -> Vec<u8> {
    let (mut session, mut payload) = (SESSIONS[1], Vec::new());
    for pdu in pdus {
        let (header, body) = pdu.split_at_checked(goose::HEADER_OCTETS).unwrap_or((pdu, &[]));
        let is_goose = body.first().is_some_and(|tag| u32::from(*tag) == goose::GOOSE_PDU.0);
        if is_goose {
            session = SESSIONS[0];
        }
        let [appid_high, appid_low, _, _, simulation, ..] = header else { continue };
        let kind = if is_goose { GOOSE } else { SAMPLED_VALUES };
        payload.extend([kind, simulation >> 7, *appid_high, *appid_low]);
        payload.extend((body.len() as u16).to_be_bytes());
        payload.extend_from_slice(body);
    }
    // SPDU length, number, version and security; the SPDU length counts what follows it.
    const HEADER: u8 = 4 + 4 + 2 + 6 + 4 + 1;
    let spdu = (payload.len() as u32).wrapping_add(u32::from(HEADER));
    let front = [UNIT_DATA[0], UNIT_DATA[1], session, HEADER + 2, COMMON_HEADER, HEADER];
    let version = 2_u16.to_be_bytes();
    let lengths = [spdu.to_be_bytes(), number.to_be_bytes()].concat();
    let payload_length = (payload.len() as u32).to_be_bytes();
    [&front[..], &lengths, &version, &[0; 6], &[0; 4], &[0], &payload_length, &payload].concat()
}

/// True if a datagram to [`PORT`] begins as one with GOOSE or Sampled Values does.
#[must_use]
pub fn is_session(octets: &[u8]) -> bool {
    octets.strip_prefix(&UNIT_DATA).and_then(<[u8]>::first).is_some_and(|si| SESSIONS.contains(si))
}

impl<'a> Pdu<'a> {
    /// Decodes a datagram. [`Pdu::payloads`] decodes its PDUs.
    ///
    /// # Errors
    /// Names the field that cannot be read.
    pub fn decode(octets: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(octets);
        let at_session = reader.malformed("session header");
        if !is_session(octets) {
            return Err(at_session);
        }
        reader.take("SI", UNIT_DATA.len() + 1)?;
        let header_octets = usize::from(reader.u8("LI")?);
        let end = reader.offset() + header_octets;
        let at_header = reader.malformed("common header");
        if reader.u8("common header")? != COMMON_HEADER {
            return Err(at_header);
        }
        reader.u8("common header's length")?;
        reader.u32("SPDU length")?;
        let number = reader.u32("SPDU number")?;
        reader.u16("version")?;
        reader.take("times of keys", 6)?;
        let key = reader.u32("key")?;
        let vector = reader.u8("initialisation vector's length")?;
        reader.take("initialisation vector", vector.into())?;
        // Fields that a later version adds.
        let more = end.checked_sub(reader.offset()).ok_or(at_header)?;
        reader.take("session header", more)?;
        let length = usize::try_from(reader.u32("payload length")?).unwrap_or(usize::MAX);
        let at = reader.offset();
        Ok(Self { number, key, payload: reader.take("payload", length)?, at })
    }

    /// Decodes its PDUs, one after the other, up to the first that cannot be read. Those of other types are
    /// passed over.
    pub fn payloads(
        &self,
    ) -> impl Iterator<Item = Result<Payload<'a>, Malformed>> + Clone + use<'a> {
        let (at, mut rest) = (self.at, Some(Reader::new(self.payload)));
        core::iter::from_fn(move || {
            let mut reader = rest.take()?;
            while !reader.is_empty() {
                match payload(&mut reader, at) {
                    Ok(None) => {}
                    Ok(Some(found)) => {
                        rest = Some(reader);
                        return Some(Ok(found));
                    }
                    Err(fault) => return Some(Err(fault)),
                }
            }
            None
        })
    }
}

/// Decodes the next PDU of a payload that begins at `at` of the datagram; `None` for another type.
fn payload<'a>(reader: &mut Reader<'a>, at: usize) -> Result<Option<Payload<'a>>, Malformed> {
    let mut next = || {
        let kind = reader.u8("payload type")?;
        let is_simulated = reader.u8("simulation")? != 0;
        let appid = reader.u16("APPID")?;
        let length = reader.u16("APDU length")?;
        let offset = reader.offset() + at;
        Ok((kind, is_simulated, appid, reader.take("APDU", length.into())?, offset))
    };
    let (kind, is_simulated, appid, octets, offset) =
        next().map_err(|it: Malformed| it.within(at))?;
    let reserved = [u16::from(is_simulated) << 15, 0];
    let body = crate::ber::Reader::at(octets, offset);
    Ok(match kind {
        GOOSE => Some(Payload::Goose(goose::Pdu::of_body(appid, reserved, body)?)),
        SAMPLED_VALUES => {
            Some(Payload::SampledValues(sampled_values::Pdu::of_body(appid, reserved, body)?))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Datagram with these PDUs behind the header of a session.
    fn datagram(vector: &[u8], pdus: &[u8]) -> Vec<u8> {
        let header = [&[0; 4][..], &7_u32.to_be_bytes(), &[0, 2], &[0; 6], &[0, 0, 0, 9]].concat();
        let length = (header.len() + 1 + vector.len()) as u8;
        let payload = (pdus.len() as u32).to_be_bytes();
        let front = [1, 0x40, 0xA1, length + 2, 0x80, length];
        [&front[..], &header, &[vector.len() as u8], vector, &payload, pdus, &[0x85, 2, 1, 2]]
            .concat()
    }

    /// PDU of a payload, from its form on Ethernet.
    fn pdu(kind: u8, simulation: u8, ethernet: &[u8]) -> Vec<u8> {
        let (header, body) = ethernet.split_at(goose::HEADER_OCTETS);
        let length = (body.len() as u16).to_be_bytes();
        [&[kind, simulation, header[0], header[1]], &length[..], body].concat()
    }

    #[test]
    fn goose_and_samples_are_read_behind_the_session_header() {
        let goose = goose::Pdu {
            appid: 0x3001,
            reserved: [0x8000, 0],
            control_block: b"IED/LLN0$RG$gcb",
            time_allowed_to_live_ms: 2_000,
            data_set: b"set",
            identifier: None,
            time: goose::UtcTime([0; 8]),
            state_number: 3,
            sequence_number: 4,
            is_simulated: false,
            configuration_revision: 1,
            needs_commissioning: false,
            entries: 0,
            data: &[],
        };
        let asdu = sampled_values::Asdu {
            identifier: b"MU",
            data_set: None,
            sample_count: 5,
            configuration_revision: 1,
            synchronisation: 0,
            rate: None,
            sample: &[1, 2],
        };
        let samples = sampled_values::Pdu::encode(0x4000, [0; 2], &[asdu]);
        let all = [
            pdu(GOOSE, 1, &goose.encode()),
            pdu(0x84, 0, &[0; 12]),
            pdu(SAMPLED_VALUES, 0, &samples),
        ];
        for vector in [&[][..], &[1, 2, 3]] {
            let octets = datagram(vector, &all.concat());
            let session = Pdu::decode(&octets).unwrap();
            assert_eq!((session.number, session.key), (7, 9));
            let found: Vec<_> = session.payloads().collect();
            let [Ok(Payload::Goose(first)), Ok(Payload::SampledValues(second))] = found[..] else {
                panic!("{found:?}")
            };
            assert_eq!(first, goose);
            assert_eq!((second.appid, second.asdus().next().unwrap()), (0x4000, Ok(asdu)));
        }
    }

    #[test]
    fn a_session_is_encoded_as_devices_do() {
        // A device sent this front before 152 octets of payload.
        let front = [1, 0x40, 0xA1, 0x17, 0x80, 0x15, 0, 0, 0, 0xAD, 0, 0, 0x96, 0x46, 0, 2];
        let front = [&front[..], &[0; 11], &[0, 0, 0, 0x98, 0x81, 1, 0x30, 1, 0, 0x92]].concat();
        let body = [&[0x61, 0x81, 0x8F][..], &[0; 0x8F]].concat();
        let pdu = [&[0x30, 1, 0, 0x9A, 0x80, 0, 0, 0], &body[..]].concat();
        assert_eq!(encode(0x9646, &[&pdu]), [front, body].concat());
        let samples = sampled_values::Pdu::encode(0x4000, [0; 2], &[]);
        let octets = encode(1, &[&samples, &samples]);
        assert_eq!(octets[2], 0xA2);
        assert_eq!(Pdu::decode(&octets).unwrap().payload.len(), 2 * (samples.len() - 2));
    }

    #[test]
    fn a_fault_is_told_at_its_offset() {
        let whole = datagram(&[], &pdu(GOOSE, 0, &[0; 12]));
        let session = Pdu::decode(&whole).unwrap();
        let fault = session.payloads().next().unwrap().unwrap_err();
        assert_eq!(fault.to_string(), "malformed goosePdu at octet 37");
        let fault = Pdu::decode(&whole[..33]).unwrap_err();
        assert_eq!(fault.to_string(), "malformed payload at octet 31");
        let mut short = whole.clone();
        short[3] = 4;
        assert_eq!(
            Pdu::decode(&short).unwrap_err().to_string(),
            "malformed common header at octet 4"
        );
        short[2] = 0xA0;
        assert!(!is_session(&short) && is_session(&whole));
    }
}
