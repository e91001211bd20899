//! Comparison with an independent encoder of ASN.1: types as the standards' grammar defines them,
//! random values, and each side reading what the other wrote. `PROPTEST_CASES` raises the number of
//! cases.

mod association;
mod draws;
mod grammar;
mod pdus;

use association::{Cp, aarq, cp};
use draws::Draws;
use grammar::Mms;
use pdus::{found, mms};
use proptest::prelude::*;
use rasn::types::ObjectIdentifier;
use wire::ber::Writer;
use wire::mms::{Head, Pdu};
use wire::{acse, presentation, session};

/// Failing cases are printed in full, so no files are kept.
fn cases(least: u32) -> ProptestConfig {
    let config = ProptestConfig::default();
    ProptestConfig { failure_persistence: None, cases: config.cases.max(least), ..config }
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn mms_pdus_are_the_same_to_another_codec(seed in any::<u64>()) {
        let (value, expected) = mms(&mut Draws(seed));
        let octets = rasn::ber::encode(&value).unwrap();
        let pdu = Pdu::decode(&octets).unwrap();
        prop_assert_eq!(found(&pdu), expected);
        let mut out = Writer::new();
        pdu.encode(&mut out);
        prop_assert_eq!(Pdu::decode(out.octets()), Ok(pdu));
        prop_assert_eq!(rasn::ber::decode::<Mms>(out.octets()).unwrap(), value);
        let head = Head::of_pdu(3, &octets).unwrap();
        prop_assert_eq!((head.kind, head.invoke), (pdu.kind(), pdu.invoke()));
    }

    #[test]
    fn acse_apdus_are_the_same_to_another_codec(seed in any::<u64>()) {
        let value = aarq(&mut Draws(seed));
        let octets = rasn::ber::encode(&value).unwrap();
        let pdu = acse::Pdu::decode(&octets).unwrap();
        let acse::Pdu::Aarq(request) = pdu else { panic!("{pdu}") };
        prop_assert_eq!(request.context_name.unwrap().to_string(), dotted(&value.context));
        let number = value.calling_qualifier.clone().and_then(|it| i64::try_from(&it).ok());
        prop_assert_eq!(request.calling.qualifier_number(), number);
        let mut out = Writer::new();
        pdu.encode(&mut out);
        prop_assert_eq!(out.octets(), &octets[..]);
    }

    #[test]
    fn ppdus_are_the_same_to_another_codec(seed in any::<u64>()) {
        let value = cp(&mut Draws(seed));
        let octets = rasn::ber::encode(&value).unwrap();
        let pdu = presentation::Pdu::decode(session::Kind::Cn, &octets).unwrap();
        let presentation::Pdu::Cp(parameters) = pdu else { panic!("{pdu}") };
        prop_assert_eq!(parameters.calling, value.normal.calling.as_deref());
        let contexts = value.normal.contexts.iter().flatten();
        let names: Vec<_> = contexts.map(|it| dotted(&it.abstract_syntax)).collect();
        let found = parameters.contexts.iter().map(|it| it.abstract_syntax.to_string());
        prop_assert_eq!(found.collect::<Vec<_>>(), names);
        let mut out = Writer::new();
        pdu.encode(&mut out);
        prop_assert_eq!(rasn::ber::decode::<Cp>(out.octets()).unwrap(), value);
    }
}

fn dotted(oid: &ObjectIdentifier) -> String {
    oid.iter().map(ToString::to_string).collect::<Vec<_>>().join(".")
}
