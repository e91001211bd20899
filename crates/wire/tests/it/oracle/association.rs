//! AARQ and CP as the grammars of X.227 and X.226 define them, and random ones.

use super::draws::Draws;
use rasn::prelude::*;

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(tag(universal, 8))]
pub(crate) struct ExternalValue {
    pub(crate) direct: Option<ObjectIdentifier>,
    pub(crate) indirect: Option<Integer>,
    #[rasn(tag(1))]
    pub(crate) octets: OctetString,
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(tag(application, 0))]
pub(crate) struct Aarq {
    #[rasn(tag(0))]
    pub(crate) version: Option<BitString>,
    #[rasn(tag(explicit(1)))]
    pub(crate) context: ObjectIdentifier,
    #[rasn(tag(explicit(2)))]
    pub(crate) called_title: Option<ObjectIdentifier>,
    #[rasn(tag(explicit(3)))]
    pub(crate) called_qualifier: Option<Integer>,
    #[rasn(tag(explicit(5)))]
    pub(crate) called_invocation: Option<Integer>,
    #[rasn(tag(explicit(6)))]
    pub(crate) calling_title: Option<ObjectIdentifier>,
    #[rasn(tag(explicit(7)))]
    pub(crate) calling_qualifier: Option<Integer>,
    #[rasn(tag(explicit(8)))]
    pub(crate) calling_invocation: Option<Integer>,
    #[rasn(tag(10))]
    pub(crate) requirements: Option<BitString>,
    #[rasn(tag(11))]
    pub(crate) mechanism: Option<ObjectIdentifier>,
    #[rasn(tag(30))]
    pub(crate) information: Option<SequenceOf<ExternalValue>>,
}

pub(crate) fn aarq(draws: &mut Draws) -> Aarq {
    let external = |draws: &mut Draws| ExternalValue {
        direct: draws.maybe(Draws::oid),
        indirect: draws.maybe(|draws| draws.signed().into()),
        octets: draws.octets(200),
    };
    Aarq {
        version: draws.maybe(Draws::bits),
        context: draws.oid(),
        called_title: draws.maybe(Draws::oid),
        called_qualifier: draws.maybe(|draws| draws.signed().into()),
        called_invocation: draws.maybe(|draws| draws.signed().into()),
        calling_title: draws.maybe(Draws::oid),
        calling_qualifier: draws.maybe(|draws| draws.signed().into()),
        calling_invocation: draws.maybe(|draws| draws.signed().into()),
        requirements: draws.maybe(Draws::bits),
        mechanism: draws.maybe(Draws::oid),
        information: draws.maybe(|draws| {
            let mut list = draws.list(2, external);
            list.push(external(draws));
            list
        }),
    }
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
pub(crate) struct PdvList {
    pub(crate) transfer: Option<ObjectIdentifier>,
    pub(crate) context: Integer,
    #[rasn(tag(1))]
    pub(crate) octets: OctetString,
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(delegate, tag(application, 1))]
pub(crate) struct FullyEncoded(pub(crate) SequenceOf<PdvList>);

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
pub(crate) struct Context {
    pub(crate) identifier: Integer,
    pub(crate) abstract_syntax: ObjectIdentifier,
    pub(crate) transfer_syntaxes: SequenceOf<ObjectIdentifier>,
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
pub(crate) struct NormalMode {
    #[rasn(tag(0))]
    pub(crate) version: Option<BitString>,
    #[rasn(tag(1))]
    pub(crate) calling: Option<OctetString>,
    #[rasn(tag(2))]
    pub(crate) called: Option<OctetString>,
    #[rasn(tag(4))]
    pub(crate) contexts: Option<SequenceOf<Context>>,
    #[rasn(tag(8))]
    pub(crate) requirements: Option<BitString>,
    #[rasn(tag(9))]
    pub(crate) session_requirements: Option<BitString>,
    pub(crate) user_data: Option<FullyEncoded>,
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(set)]
pub(crate) struct Mode {
    #[rasn(tag(0))]
    pub(crate) number: u8,
}

#[derive(AsnType, Encode, Decode, Clone, Debug, PartialEq)]
#[rasn(set)]
pub(crate) struct Cp {
    #[rasn(tag(0))]
    pub(crate) mode: Mode,
    #[rasn(tag(2))]
    pub(crate) normal: NormalMode,
}

pub(crate) fn cp(draws: &mut Draws) -> Cp {
    let contexts = draws.maybe(|draws| {
        let context = |draws: &mut Draws| Context {
            identifier: draws.signed().into(),
            abstract_syntax: draws.oid(),
            transfer_syntaxes: draws.list(3, Draws::oid),
        };
        let mut list = draws.list(4, context);
        list.push(context(draws));
        list
    });
    let user_data = draws.maybe(|draws| {
        FullyEncoded(draws.list(3, |draws| PdvList {
            transfer: draws.maybe(Draws::oid),
            context: draws.signed().into(),
            octets: draws.octets(300),
        }))
    });
    let normal = NormalMode {
        version: draws.maybe(Draws::bits),
        calling: draws.maybe(|draws| draws.octets(16)),
        called: draws.maybe(|draws| draws.octets(16)),
        contexts,
        requirements: draws.maybe(Draws::bits),
        session_requirements: draws.maybe(Draws::bits),
        user_data,
    };
    Cp { mode: Mode { number: 1 }, normal }
}
