//! Entry point of the fuzz target of the layers above transport: a TSDU in, claims checked.

use wire::ber::Writer;
use wire::mms::{self, Head};
use wire::upper::{self, Upper};
use wire::{acse, case, presentation, session};

/// Kinds of SPDU that carry PPDUs.
const KINDS: [session::Kind; 5] =
    [session::Kind::Cn, session::Kind::Ac, session::Kind::Rf, session::Kind::Ab, session::Kind::Dt];

/// Checks that octets, as a TSDU and as a PDU of each layer, are decoded without panic and within
/// their bounds, that encoding inverts decoding, and that a PDU prints one line.
pub(crate) fn tsdu(octets: &[u8]) {
    if let Ok(upper) = Upper::decode(octets) {
        assert!(upper.fault.is_none_or(|fault| fault.offset <= octets.len()));
        assert_eq!(upper.is_clear(), Upper::decode(octets).is_ok_and(|it| it.is_clear()));
        presented(upper.session.ssdu());
        upper.acse.into_iter().for_each(apdu);
        upper.mms.into_iter().for_each(message);
    }
    session(octets);
    presented(octets);
    apdu(octets);
    message(octets);
    let head = upper::Head::decode(octets);
    assert!(head.is_none_or(|head| head.mms == Head::decode(octets)));
    for end in 0..octets.len().min(80) {
        if let Some(head) = Head::decode(&octets[..end]) {
            let whole = Head::decode(octets).map(|whole| (whole.context, whole.kind));
            assert!(whole.is_none_or(|it| it == (head.context, head.kind)));
        }
    }
}

fn session(octets: &[u8]) {
    match session::Pdu::decode(octets) {
        Ok(pdu) => {
            assert_eq!(pdu.to_string().lines().count(), 1);
            let mut out = Writer::new();
            pdu.encode(&mut out);
            assert_eq!(session::Pdu::decode(out.octets()), Ok(pdu));
        }
        Err(fault) => assert!(fault.offset <= octets.len(), "{fault}"),
    }
}

fn presented(octets: &[u8]) {
    for kind in KINDS {
        match presentation::Pdu::decode(kind, octets) {
            Ok(pdu) => {
                assert_eq!(pdu.to_string().lines().count(), 1);
                let mut out = Writer::new();
                pdu.encode(&mut out);
                assert_eq!(presentation::Pdu::decode(kind, out.octets()), Ok(pdu));
            }
            Err(fault) => assert!(fault.offset <= octets.len(), "{fault}"),
        }
    }
}

fn apdu(octets: &[u8]) {
    match acse::Pdu::decode(octets) {
        Ok(pdu) => {
            assert_eq!(pdu.to_string().lines().count(), 1);
            let mut out = Writer::new();
            pdu.encode(&mut out);
            assert_eq!(acse::Pdu::decode(out.octets()), Ok(pdu));
        }
        Err(fault) => assert!(fault.offset <= octets.len(), "{fault}"),
    }
    match case::Pdu::decode(octets) {
        Ok(pdu) => {
            let mut out = Writer::new();
            pdu.encode(&mut out);
            assert_eq!(out.octets(), octets);
        }
        Err(fault) => assert!(fault.offset <= octets.len(), "{fault}"),
    }
}

fn message(octets: &[u8]) {
    match mms::Pdu::decode(octets) {
        Ok(pdu) => {
            assert_eq!(pdu.to_string().lines().count(), 1);
            let mut out = Writer::new();
            pdu.encode(&mut out);
            assert_eq!(mms::Pdu::decode(out.octets()), Ok(pdu));
            let head = Head::of_pdu(3, octets).expect("a PDU has a head");
            assert_eq!((head.kind, head.invoke), (pdu.kind(), pdu.invoke()));
            if let (Some(found), Some(service)) = (head.service, pdu.service()) {
                assert_eq!(found, service);
            }
        }
        Err(fault) => assert!(fault.offset <= octets.len(), "{fault}"),
    }
}
