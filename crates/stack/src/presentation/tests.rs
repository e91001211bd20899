//! Octets of the PPDUs, agreement on contexts, refusals and protocol errors.

use super::*;
use crate::machine::Output;
use bytes::Bytes;
use wire::time::Instant;

const NOW: Instant = Instant::ZERO;

fn hex(text: &str) -> Bytes {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let octet = |two: &[u8]| u8::from_str_radix(core::str::from_utf8(two).unwrap(), 16).unwrap();
    digits.chunks(2).map(octet).collect()
}

fn kernel() -> Presentation {
    Presentation::Kernel(Kernel::new(Params::mms()))
}

fn value(context: i64, octets: &str) -> Pdv {
    Pdv { context, octets: hex(octets) }
}

fn addresses() -> Addresses {
    let end = Selectors { presentation: hex("00000001"), session: hex("0001") };
    Addresses { calling: end.clone(), called: end }
}

struct Outputs {
    below: Vec<session::Primitive>,
    above: Vec<Primitive>,
}

fn drain(machine: &mut Presentation) -> Outputs {
    let mut outputs = Outputs { below: Vec::new(), above: Vec::new() };
    while let Some(output) = machine.poll() {
        match output {
            Output::Send(primitive) => outputs.below.push(primitive),
            Output::Deliver(primitive) => outputs.above.push(primitive),
            Output::Note(_) => {}
        }
    }
    outputs
}

/// CP around the value 60 00, as libiec61850 encodes it.
const CP: &str = "31 4C A0 03 80 01 01 A2 45 81 04 00 00 00 01 82 04 00 00 00 01 A4 23 \
                  30 0F 02 01 01 06 04 52 01 00 01 30 04 06 02 51 01 \
                  30 10 02 01 03 06 05 28 CA 22 02 01 30 04 06 02 51 01 \
                  61 12 30 10 02 01 01 A0 0B 60 09 A1 07 06 05 28 CA 22 02 03";
const CPA: &str = "31 30 A0 03 80 01 01 A2 29 83 04 00 00 00 01 A5 12 30 07 80 01 00 81 02 51 01 \
                   30 07 80 01 00 81 02 51 01 61 0D 30 0B 02 01 01 A0 06 61 04 A2 02 02 00";

fn connected() -> Presentation {
    let mut machine = kernel();
    let data = value(1, "60 09 A1 07 06 05 28 CA 22 02 03");
    machine.request(NOW, Primitive::Connect { addresses: addresses(), data });
    drain(&mut machine);
    machine.receive(NOW, session::Primitive::Accept { data: hex(CPA) });
    assert_eq!(drain(&mut machine).above.len(), 1);
    machine
}

#[test]
fn a_cp_has_the_octets_of_libiec61850() {
    let mut machine = kernel();
    let data = value(1, "60 09 A1 07 06 05 28 CA 22 02 03");
    machine.request(NOW, Primitive::Connect { addresses: addresses(), data });
    let [session::Primitive::Connect { data, calling, .. }] = &drain(&mut machine).below[..] else {
        panic!("no S-CONNECT")
    };
    assert_eq!((data, calling), (&hex(CP), &hex("0001")));
    assert_eq!(machine.context_of(Syntax::MMS), Some(3));
}

#[test]
fn a_cpa_answers_each_proposed_context_in_order() {
    let mut machine = kernel();
    // A third syntax, 2.2.1.0.9, that nothing here has.
    let cp = CP
        .replace("31 4C", "31 5D")
        .replace("A2 45", "A2 56")
        .replace("A4 23", "A4 34 30 0F 02 01 05 06 04 52 01 00 09 30 04 06 02 51 01");
    let [calling, called] = [Bytes::new(), Bytes::new()];
    machine.receive(NOW, session::Primitive::Connect { calling, called, data: hex(&cp) });
    let told = drain(&mut machine).above;
    assert!(matches!(&told[..], [Primitive::Connect { .. }]), "{told:?}");
    machine.request(NOW, Primitive::Accept { data: value(1, "61 04 A2 02 02 00") });
    let [session::Primitive::Accept { data }] = &drain(&mut machine).below[..] else { panic!() };
    let outcomes = "A5 1A 30 06 80 01 02 82 01 01 30 07 80 01 00 81 02 51 01";
    let found = data.windows(19).any(|window| window == &hex(outcomes)[..]);
    assert!(found, "{data:02x?}");
    assert_eq!(machine.context_of(Syntax::ACSE), Some(1));
}

#[test]
fn data_passes_in_nine_octets_and_comes_out_again() {
    let mut machine = connected();
    machine.request(NOW, Primitive::Data(value(3, "A0 05 02 01 01 82 00")));
    let ssdu = hex("61 0E 30 0C 02 01 03 A0 07 A0 05 02 01 01 82 00");
    assert_eq!(drain(&mut machine).below, [session::Primitive::Data { ssdu: ssdu.clone() }]);
    machine.receive(NOW, session::Primitive::Data { ssdu });
    assert_eq!(drain(&mut machine).above, [Primitive::Data(value(3, "A0 05 02 01 01 82 00"))]);
}

#[test]
fn data_of_an_unknown_context_aborts_the_connection() {
    let mut machine = connected();
    let ssdu = hex("61 09 30 07 02 01 05 A0 02 8B 00");
    machine.receive(NOW, session::Primitive::Data { ssdu });
    let outputs = drain(&mut machine);
    assert_eq!(outputs.above, [Primitive::ProviderAbort { reason: Reason::ProtocolError }]);
    let data = hex("30 03 80 01 06");
    assert_eq!(outputs.below, [session::Primitive::Abort { data }]);
}

#[test]
fn x410_mode_and_what_is_no_ppdu_are_refused() {
    for (cp, reason) in [("31 05 A0 03 80 01 00", 0), ("31 02 A0 05", 6), ("FF", 6)] {
        let mut machine = kernel();
        let [calling, called] = [Bytes::new(), Bytes::new()];
        machine.receive(NOW, session::Primitive::Connect { calling, called, data: hex(cp) });
        let outputs = drain(&mut machine);
        let data = hex(&format!("30 03 8A 01 0{reason}"));
        assert_eq!(outputs.below, [session::Primitive::Refuse { reason: 0, data }], "{cp}");
        assert!(outputs.above.is_empty(), "{cp}");
    }
}

#[test]
fn a_refusal_names_the_layer_that_refused() {
    let refused = |reason, data: &str| {
        let mut machine = kernel();
        let user_data = value(1, "60 00");
        machine.request(NOW, Primitive::Connect { addresses: addresses(), data: user_data });
        machine.receive(NOW, session::Primitive::Refuse { reason, data: hex(data) });
        let told = drain(&mut machine).above;
        let [Primitive::Refuse { refusal, .. }] = told[..] else { panic!("{told:?}") };
        refusal
    };
    assert_eq!(refused(0x81, ""), Refusal::Session(0x81));
    assert_eq!(refused(2, "30 03 8A 01 03"), Refusal::Presentation(3));
    assert_eq!(refused(2, "30 09 61 07 30 05 02 01 01 A0 00"), Refusal::User);
}

#[test]
fn an_abort_before_agreement_names_its_contexts() {
    let mut machine = kernel();
    let data = value(1, "60 00");
    machine.request(NOW, Primitive::Connect { addresses: addresses(), data });
    drain(&mut machine);
    machine.request(NOW, Primitive::Abort { data: Some(value(1, "64 03 80 01 00")) });
    let expected =
        "A0 19 A0 09 30 07 02 01 01 06 02 51 01 61 0C 30 0A 02 01 01 A0 05 64 03 80 01 00";
    assert_eq!(drain(&mut machine).below, [session::Primitive::Abort { data: hex(expected) }]);
}

#[test]
fn the_null_layer_adds_no_octet() {
    let mut machine = Presentation::Null(Null::new());
    machine.request(NOW, Primitive::Data(value(0, "01 02")));
    let ssdu = hex("01 02");
    assert_eq!(drain(&mut machine).below, [session::Primitive::Data { ssdu }]);
    assert_eq!(machine.context_of(Syntax::ACSE), Some(0));
}
