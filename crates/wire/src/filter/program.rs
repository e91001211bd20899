//! Compiler from a filter to a kernel program, which tests a few fixed offsets of an Ethernet
//! frame.
//!
//! A condition that a few octets decide is tested exactly. For any other condition, a frame is
//! dropped only if it certainly does not match. Under a "not" this is reversed: the condition
//! counts as met only if it certainly is. So the program drops no frame that the full decoding
//! would keep. Frames too short to be judged are kept.

use super::assembler::{
    ADD, ADD_INDEX, AND, AT_LEAST, AT_LEAST_INDEX, Assembler, CONSTANT, EQUAL, HALF, HALF_BEHIND,
    INDEX, Instruction, KEEP, KEEP_INDEX, LENGTH, Label, OCTET_BEHIND, RECALL, RECALL_INDEX,
    RETURN, SHIFT_LEFT, SHIFT_RIGHT, TO_INDEX, WORD, WORD_BEHIND,
};
use super::{Expression, Term, Way};
use crate::addr::Mac;
use crate::leaf::Leaf;
use crate::next::{OverOsi, OverType};
use core::net::Ipv6Addr;

/// Largest program that the kernel accepts, in instructions (`BPF_MAXINSNS`).
const MOST_INSTRUCTIONS: usize = 4_096;
/// Scratch memory: octets of VLAN tags in the frame, the type after them, and the start of TCP.
const TAGS: u32 = 0;
const TYPE: u32 = 1;
const TCP: u32 = 2;
/// Largest number of octets of tags.
const MOST_TAGS_OCTETS: u32 = 8;
const TAG_TYPES: [u32; 3] = [0x8100, 0x88A8, 0x9100];
/// Offset of the data in an untagged frame.
const DATA: u32 = 14;
const FIRST_TYPE: u32 = 0x0600;
const LLC_ENCAPSULATION: u32 = 0x8870;
/// Linux's ancillary data of a frame: the VLAN tag that was removed (`SKF_AD_VLAN_TAG`), and
/// whether one was removed (`SKF_AD_VLAN_TAG_PRESENT`).
const TAKEN_TAG: u32 = 0xFFFF_F000 + 44;
const HAS_TAKEN_TAG: u32 = 0xFFFF_F000 + 48;

/// Compiles an expression. If the program would be too long for the kernel, it keeps all frames.
pub(super) fn of(expression: &Expression, snap_octets: u32) -> Vec<Instruction> {
    let everything =
        || vec![Instruction { code: RETURN, jump_true: 0, jump_false: 0, operand: snap_octets }];
    if *expression == Expression::Term(Term::All) {
        return everything();
    }
    let mut code = Assembler::default();
    let (keep, drop) = (code.label(), code.label());
    behind_tags(&mut code, keep);
    emit(&mut code, expression, true, keep, drop);
    code.here(keep);
    code.plain(RETURN, snap_octets);
    code.here(drop);
    code.plain(RETURN, 0);
    let program = code.finish();
    if program.len() <= MOST_INSTRUCTIONS { program } else { everything() }
}

/// Finds the type after the addresses and up to two tags.
fn behind_tags(code: &mut Assembler, keep: Label) {
    let found = code.label();
    for tags in [0, 4, MOST_TAGS_OCTETS] {
        code.plain(LENGTH, 0);
        code.unless(AT_LEAST, DATA + tags, keep);
        code.plain(INDEX, tags);
        code.plain(KEEP_INDEX, TAGS);
        code.plain(HALF, 12 + tags);
        code.plain(KEEP, TYPE);
        if tags == MOST_TAGS_OCTETS {
            break;
        }
        let more = code.label();
        for tag in TAG_TYPES {
            code.when(EQUAL, tag, more);
        }
        code.go(found);
        code.here(more);
    }
    code.here(found);
}

/// Jumps to `yes` if an expression may hold or, with `may` false, if it certainly holds; else to
/// `no`.
fn emit(code: &mut Assembler, expression: &Expression, may: bool, yes: Label, no: Label) {
    match expression {
        Expression::Term(term) if may => possible(code, *term, yes, no),
        Expression::Term(term) => certain(code, *term, yes, no),
        Expression::Not(inner) => emit(code, inner, !may, no, yes),
        Expression::Both(parts) => {
            for part in parts {
                let on = code.label();
                emit(code, part, may, on, no);
                code.here(on);
            }
            code.go(yes);
        }
        Expression::Either(parts) => {
            for part in parts {
                let on = code.label();
                emit(code, part, may, yes, on);
                code.here(on);
            }
            code.go(no);
        }
    }
}

/// Jumps to `yes` if a condition certainly holds, else to `no`.
fn certain(code: &mut Assembler, term: Term, yes: Label, no: Label) {
    match term {
        Term::All => code.go(yes),
        Term::Station(way, mac) => station(code, way, mac, yes, no),
        Term::Internet(..)
        | Term::Nsap(..)
        | Term::Port(..)
        | Term::Class(_)
        | Term::Tpdu(_)
        | Term::Leaf(_)
        | Term::Llc
        | Term::Iso
        | Term::Ip
        | Term::Tcp
        | Term::Vlan(_) => code.go(no),
    }
}

/// Jumps to `no` if a condition certainly does not hold, else to `yes`.
fn possible(code: &mut Assembler, term: Term, yes: Label, no: Label) {
    match term {
        Term::All => code.go(yes),
        Term::Station(way, mac) => station(code, way, mac, yes, no),
        Term::Internet(way, address) => {
            let ends = internet(code, yes, no);
            addresses(code, way, address, ends, yes, no);
        }
        Term::Port(way, port) => {
            let ends = internet(code, yes, no);
            tcp(code, Some((way, port)), ends, yes, no);
        }
        Term::Tcp => {
            let ends = internet(code, yes, no);
            tcp(code, None, ends, yes, no);
        }
        Term::Ip => {
            for version in internet(code, yes, no) {
                code.here(version);
            }
            code.go(yes);
        }
        Term::Llc => llc(code, yes, no),
        Term::Iso | Term::Nsap(..) => iso(code, yes, no),
        Term::Leaf(leaf) => leaf_of(code, leaf, yes, no),
        Term::Class(_) | Term::Tpdu(_) => {
            let other = code.label();
            iso(code, yes, other);
            code.here(other);
            let ends = internet(code, yes, no);
            tcp(code, None, ends, yes, no);
        }
        Term::Vlan(vlan) => tagged(code, vlan, yes, no),
    }
}

/// Loads the octet at `offset` in the data; jumps to `short` if the frame ends before it.
fn data_octet(code: &mut Assembler, offset: u32, short: Label) {
    code.plain(LENGTH, 0);
    code.unless(AT_LEAST, MOST_TAGS_OCTETS + DATA + offset + 1, short);
    code.plain(RECALL_INDEX, TAGS);
    code.plain(OCTET_BEHIND, DATA + offset);
}

fn station(code: &mut Assembler, way: Way, mac: Mac, yes: Label, no: Label) {
    let Mac([a, b, c, d, e, f]) = mac;
    let (front, back) = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([0, 0, e, f]));
    let places: &[u32] = match way {
        Way::Either => &[6, 0],
        Way::From => &[6],
        Way::To => &[0],
    };
    for place in places {
        let next = code.label();
        code.plain(WORD, *place);
        code.unless(EQUAL, front, next);
        code.plain(HALF, place + 4);
        code.when(EQUAL, back, yes);
        code.here(next);
    }
    code.go(no);
}

fn llc(code: &mut Assembler, yes: Label, no: Label) {
    code.plain(RECALL, TYPE);
    code.when(EQUAL, LLC_ENCAPSULATION, yes);
    code.compare(AT_LEAST, FIRST_TYPE, no, yes);
}

/// Matches LLC frames for this SAP.
fn sap(code: &mut Assembler, sap: u32, yes: Label, no: Label) {
    let found = code.label();
    llc(code, found, no);
    code.here(found);
    data_octet(code, 0, yes);
    code.compare(EQUAL, sap, yes, no);
}

fn iso(code: &mut Assembler, yes: Label, no: Label) {
    sap(code, 0xFE, yes, no);
}

/// Matches a leaf over OSI by the SAP, any other by its EtherType. Keeps SNAP, which may hold one.
fn leaf_of(code: &mut Assembler, leaf: &'static Leaf, yes: Label, no: Label) {
    if OverOsi::carries(leaf) {
        return iso(code, yes, no);
    }
    code.plain(RECALL, TYPE);
    for number in OverType::Leaf(leaf).types().map(u32::from) {
        code.when(EQUAL, number, yes);
    }
    sap(code, 0xAA, yes, no);
}

/// Returns two labels: the program jumps to the first if the data begins with an IPv4 packet, to
/// the second for IPv6. It jumps to `yes` if a packet may follow deeper, after SNAP or MPLS. The
/// version field decides, not the EtherType.
fn internet(code: &mut Assembler, yes: Label, no: Label) -> [Label; 2] {
    let [version, four, six, other] = [(); 4].map(|()| code.label());
    code.plain(RECALL, TYPE);
    for number in OverType::Internet.types().map(u32::from) {
        code.when(EQUAL, number, version);
    }
    for number in OverType::Mpls.types().map(u32::from) {
        code.when(EQUAL, number, yes);
    }
    code.go(other);
    code.here(version);
    data_octet(code, 0, yes);
    code.plain(SHIFT_RIGHT, 4);
    code.compare(EQUAL, 6, six, four);
    code.here(other);
    sap(code, 0xAA, yes, no);
    [four, six]
}

/// Continues if the data has at least `octets` octets, else jumps to `short`.
fn long_enough(code: &mut Assembler, octets: u32, short: Label) {
    code.plain(LENGTH, 0);
    code.unless(AT_LEAST, MOST_TAGS_OCTETS + DATA + octets, short);
    code.plain(RECALL_INDEX, TAGS);
}

fn addresses(
    code: &mut Assembler,
    way: Way,
    address: Ipv6Addr,
    [four, six]: [Label; 2],
    yes: Label,
    no: Label,
) {
    let places = |source: u32, destination: u32| match way {
        Way::Either => vec![source, destination],
        Way::From => vec![source],
        Way::To => vec![destination],
    };
    code.here(four);
    if let Some(address) = address.to_ipv4_mapped() {
        long_enough(code, 20, yes);
        for place in places(12, 16) {
            code.plain(WORD_BEHIND, DATA + place);
            code.when(EQUAL, address.to_bits(), yes);
        }
    }
    code.go(no);
    code.here(six);
    long_enough(code, 40, yes);
    let [a, b, c, d, e, f, g, h] = address.segments().map(u32::from);
    for place in places(8, 24) {
        let next = code.label();
        for (word, at) in [(a << 16 | b, 0), (c << 16 | d, 4), (e << 16 | f, 8)] {
            code.plain(WORD_BEHIND, DATA + place + at);
            code.unless(EQUAL, word, next);
        }
        code.plain(WORD_BEHIND, DATA + place + 12);
        code.when(EQUAL, g << 16 | h, yes);
        code.here(next);
    }
    code.go(no);
}

/// Matches TCP segments, with this port if given. A later fragment may belong to one and is kept.
fn tcp(
    code: &mut Assembler,
    port: Option<(Way, u16)>,
    [four, six]: [Label; 2],
    yes: Label,
    no: Label,
) {
    let ports = code.label();
    code.here(four);
    data_octet(code, 9, yes);
    code.unless(EQUAL, u32::from(crate::tcp::PROTOCOL), no);
    code.plain(HALF_BEHIND, DATA + 6);
    code.plain(AND, 0x1FFF);
    code.unless(EQUAL, 0, yes);
    code.plain(OCTET_BEHIND, DATA);
    code.plain(AND, 0x0F);
    code.plain(SHIFT_LEFT, 2);
    code.go(ports);
    code.here(six);
    let header = code.label();
    data_octet(code, 6, yes);
    code.when(EQUAL, u32::from(crate::tcp::PROTOCOL), header);
    // UDP and ICMP end the chain of headers; after other headers TCP may follow.
    code.when(EQUAL, 17, no);
    code.compare(EQUAL, 58, no, yes);
    code.here(header);
    long_enough(code, 40, yes);
    code.plain(CONSTANT, 40);
    code.go(ports);
    // The accumulator holds the length of the IP header in octets, the index that of the tags.
    code.here(ports);
    let Some((way, port)) = port else { return code.go(yes) };
    code.plain(ADD_INDEX, 0);
    code.plain(ADD, DATA);
    code.plain(KEEP, TCP);
    code.plain(ADD, 4);
    code.plain(TO_INDEX, 0);
    code.plain(LENGTH, 0);
    code.unless(AT_LEAST_INDEX, 0, yes);
    code.plain(RECALL_INDEX, TCP);
    let places: &[u32] = match way {
        Way::Either => &[0, 2],
        Way::From => &[0],
        Way::To => &[2],
    };
    for place in places {
        code.plain(HALF_BEHIND, *place);
        code.when(EQUAL, u32::from(port), yes);
    }
    code.go(no);
}

fn tagged(code: &mut Assembler, vlan: Option<u16>, yes: Label, no: Label) {
    let inline = code.label();
    code.plain(WORD, HAS_TAKEN_TAG);
    match vlan {
        None => code.unless(EQUAL, 0, yes),
        Some(vlan) => {
            code.when(EQUAL, 0, inline);
            code.plain(WORD, TAKEN_TAG);
            code.plain(AND, 0x0FFF);
            code.when(EQUAL, u32::from(vlan), yes);
        }
    }
    code.here(inline);
    for tags in [4, MOST_TAGS_OCTETS] {
        code.plain(RECALL, TAGS);
        code.unless(AT_LEAST, tags, no);
        let Some(vlan) = vlan else { return code.go(yes) };
        code.plain(HALF, 10 + tags);
        code.plain(AND, 0x0FFF);
        code.when(EQUAL, u32::from(vlan), yes);
    }
    code.go(no);
}
