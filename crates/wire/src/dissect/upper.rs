//! Layers above transport, from the TSDUs that lie in one DT.
//!
//! A frame alone does not tell where a TSDU begins, so a DT with the end of one is taken for a
//! whole TSDU if all its layers decode. [`dissect_tsdu`] has the layers of a TSDU that was
//! reassembled. Left out: frames that a capture cut.

use super::Link;
use super::layers::{Dissection, Layer, Layers, dissect_to_transport};
use crate::tp;
use crate::upper::Upper;

/// Decodes every layer of a completely captured frame.
#[must_use]
pub fn dissect(link: Link, octets: &[u8]) -> Dissection<'_> {
    dissect_cut(link, octets, octets.len())
}

/// Decodes every layer of a frame that was `original_octets` long and of which `octets` were
/// captured.
#[must_use]
pub fn dissect_cut(link: Link, octets: &[u8], original_octets: usize) -> Dissection<'_> {
    let mut dissection = dissect_to_transport(link, octets, original_octets);
    if octets.len() >= original_octets {
        insert(&mut dissection.layers);
    }
    dissection
}

/// Inserts the layers of the TSDUs in `layers` behind their DTs.
fn insert(layers: &mut Layers<'_>) {
    let mut place = 0;
    while let Some(layer) = layers.get(place) {
        place += 1;
        let Layer::Tp(tp::Pdu::Dt(dt), _) = *layer else { continue };
        let is_other = matches!(layers.get(place), Some(Layer::S7(_)));
        if !dt.end_of_tsdu || is_other {
            continue;
        }
        for layer in dissect_tsdu(dt.data) {
            layers.insert(place, layer);
            place += 1;
        }
    }
}

/// Returns the layers of a whole TSDU, from the session layer up; none for the user data of other protocols.
pub fn dissect_tsdu(tsdu: &[u8]) -> impl Iterator<Item = Layer<'_>> {
    let upper = Upper::decode(tsdu).ok().filter(Upper::is_clear);
    upper.into_iter().flat_map(|upper| {
        let (kind, ssdu) = (upper.session.kind, upper.session.ssdu());
        let layers = [
            Some(Layer::Session(tsdu)),
            upper.presentation.map(|_| Layer::Presentation(kind, ssdu)),
            upper.acse.map(Layer::Acse),
            upper.transfer.map(Layer::Case),
            upper.mms.map(Layer::Mms),
            upper.fault.map(Layer::NotUnderstood),
        ];
        layers.into_iter().flatten()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ber::tests::hex;

    /// Frame with a TSDU in a DT of class 4, over LLC.
    fn frame(tsdu: &str) -> Vec<u8> {
        let tsdu = hex(tsdu);
        let mut octets = hex("020000000002020000000001");
        octets.extend((9 + tsdu.len() as u16).to_be_bytes());
        octets.extend(hex("fefe03 00 04f0020280"));
        octets.extend(tsdu);
        octets
    }

    #[track_caller]
    fn check(tsdu: &str, lines: &[&str]) {
        let octets = frame(tsdu);
        let dissection = dissect(Link::Ethernet, &octets);
        assert_eq!(dissection.fault, None);
        let found: Vec<String> =
            dissection.layers.iter().skip(4).map(ToString::to_string).collect();
        assert_eq!(found, lines);
        let cut = dissect_cut(Link::Ethernet, &octets, octets.len() + 1);
        assert!(!cut.layers.iter().any(|layer| matches!(layer, Layer::Session(_))));
    }

    #[test]
    fn a_whole_tsdu_prints_a_line_per_layer() {
        check(
            "01000100 610e 300c 020103 a007 a005 020101 8200",
            &[
                "session DT 16 octets",
                "presentation TD context=3 7 octets",
                "MMS request invoke=1 identify",
            ],
        );
        check(
            "0910 c10e 610c 300a 020101 a005 6203800100",
            &["session FN 14 octets", "presentation TD context=1 5 octets", "ACSE RLRQ reason=0"],
        );
        check("01000100 65820003 616263", &["session DT 7 octets", "CASE transfer 3 octets"]);
        check(
            "0c06 110101 320181",
            &["session RF disconnect=01 reason=129 (session selector unknown)"],
        );
    }

    #[test]
    fn a_fault_above_session_keeps_the_layers_below() {
        check(
            "01000100 6110 300e 020103 a009 a107 020100 a602 8000",
            &[
                "session DT 18 octets",
                "presentation TD context=3 9 octets",
                "malformed MMS deletable at octet 20 of the TSDU",
            ],
        );
    }

    #[test]
    fn other_user_data_print_no_line() {
        check("68656c6c6f", &[]);
        check("0d00", &[]);
        check("01000100 7f6501", &[]);
    }

    #[test]
    fn a_layer_stays_small() {
        let clnp = size_of::<(crate::clnp::Pdu<'_>, crate::clnp::Checksum)>();
        assert_eq!(size_of::<Layer<'_>>(), clnp, "the PDU of CLNP is the largest");
    }
}
