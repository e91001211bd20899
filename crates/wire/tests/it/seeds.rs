//! Seeds of the fuzz corpus: one small example of each kind of input.

use std::io::Write;
use wire::addr::{Mac, Nsap, Sap};
use wire::dissect::Link;
use wire::time::Instant;
use wire::{clnp, llc, mac, pcap, pcapng};

/// File of the corpus.
pub(crate) struct Seed {
    pub(crate) target: &'static str,
    pub(crate) name: &'static str,
    pub(crate) octets: Vec<u8>,
}

/// Every TPDU, both formats: the vectors of the unit tests of `tp`.
const TPDUS: [(&str, &str); 16] = [
    ("cr", "1be10000010140c0010ac1020001c2020002c40101c60102c302ce44"),
    ("cc-extended", "10d80101020242c0010ac60101c3025420"),
    ("dt", "04f002028068656c6c6f"),
    ("dt-checksum", "08f0020280c302198d68656c6c6f"),
    ("dt-extended", "07f002028000000168656c6c6f"),
    ("dt-class0", "02f080"),
    ("ak", "0463010102"),
    ("ak-confirming", "16630101028a0200018c080000000200010003c3025143"),
    ("ak-extended", "0d600101000000020007c302457c"),
    ("ed", "0810010180c302b8f9585044"),
    ("ea", "0820010100c302848b"),
    ("dr", "0a800101020280c302a088"),
    ("dc", "09c001010202c3023a30"),
    ("er", "0c70010102c10605f002028000"),
    ("rj", "0455010102"),
    ("ak-ak-dt", "0463010102 0960030300000002 0007 04f00202806869"),
];

/// Frame with one of the TPDUs; also with an ER without a rejected TPDU.
pub(crate) fn tpdu_frame(name: &str) -> Vec<u8> {
    let own = [("er-alone", "0470010102")];
    let mut all = TPDUS.iter().chain(&own);
    let (_, tpdu) = all.find(|(found, _)| *found == name).expect("the name of a TPDU");
    frame(&inactive(&hex(tpdu)))
}

/// All seeds.
pub(crate) fn all() -> Vec<Seed> {
    let mut seeds = Vec::new();
    let mut add = |target, name, octets| seeds.push(Seed { target, name, octets });
    for (name, tpdu) in TPDUS {
        add("dissect", name, frame(&inactive(&hex(tpdu))));
        add("round_trip", name, hex(tpdu));
    }
    let dt = hex("08f0020280c302198d68656c6c6f");
    let part = clnp::Segmentation { identifier: 1, offset: 0, total_octets: 200 };
    for (name, npdu) in [
        ("clnp", network(None, false, &dt)),
        ("clnp-segmented", network(Some(part), true, &dt[..8])),
        ("clnp-unit-data", network(None, false, &hex("01406869"))),
        ("es-is", hex("820a0100 04012c 0000 00")),
    ] {
        add("dissect", name, frame(&npdu));
        add("round_trip", name, npdu);
    }
    internet(&mut add);
    for (name, text) in [
        ("xid", "0022bf810100"),
        ("test-response", "2201f36162"),
        ("ac1-response", "0205f70068"),
        ("i", "f0f00e1161"),
        ("rr", "f0f10110"),
        ("snap-ip", "aaaa030000000800 4500"),
    ] {
        add("dissect", name, lan(&[], &hex(text)));
        add("round_trip", name, hex(text));
    }
    add("dissect", "two-tags", lan(&hex("88a80064 81002005"), &ui(&inactive(&dt))));
    add("dissect", "ip", hex("020000000001 020000000002 0800 4500"));
    add("round_trip", "frame", frame(&inactive(&dt)));
    add("round_trip", "type-frame", hex("020000000001 020000000002 0800 4500"));
    for (name, stream) in [
        ("cr", "03000016 11e00000000100c0010dc1020001c2020001"),
        ("two", "03000007 02f080 03000008 02f08055"),
        ("cut", "0300000a 02f080"),
        ("cut-header", "03000007 02f080 0300"),
        ("wrong-version", "03000007 02f080 47455420"),
        ("too-short", "03000006 02f0"),
        ("reserved", "03ff0007 02f080"),
        ("longest", "0300ffff 02f080"),
        ("one-octet", "03"),
    ] {
        add("tpkt", name, hex(stream));
    }
    let classic = pcap_file(&frame(&inactive(&dt)));
    let next = pcapng_file(&frame(&inactive(&dt)));
    add("capture_file", "pcap-gz", gzip(&classic));
    add("capture_file", "pcapng-gz", gzip(&next));
    add("capture_file", "pcap-zstd", zstd(&classic));
    add("capture_file", "pcap-cut", classic[..classic.len() - 9].to_vec());
    add("capture_file", "pcapng-cut", next[..next.len() - 9].to_vec());
    add("capture_file", "pcap-big-endian", hex(BIG_ENDIAN));
    add("capture_file", "pcap-absurd", hex(ABSURD));
    add("capture_file", "pcapng-big-endian", hex(BIG_ENDIAN_NEXT));
    add("capture_file", "pcap", classic);
    add("capture_file", "pcapng", next);
    seeds
}

/// TPKT with a class 0 DT over TCP, both versions of IP, MPLS and links other than Ethernet.
fn internet(add: &mut impl FnMut(&'static str, &'static str, Vec<u8>)) {
    let dt = "03000008 02f08055";
    let tcp = format!("0401 0066 00000001 00000002 5018 2000 0000 0000 {dt}");
    let four = format!("45000030 006f4000 40060000 0a000001 0a000002 {tcp}");
    let address = "fe80000000000000 000000000000000";
    let six = format!("60000000 001c0640 {address}1 {address}2 {tcp}");
    let ends = "020000000002 020000000001";
    add("dissect", "ipv4-tcp-tpkt", hex(&format!("{ends} 0800 {four}")));
    add("dissect", "ipv6-tcp-tpkt", hex(&format!("{ends} 86dd {six}")));
    add("dissect", "mpls-ipv4", hex(&format!("{ends} 8847 0001d0ff 0001e1ff {four}")));
    add("dissect", "snap-ipv4", lan(&[], &hex(&format!("aaaa03 000000 0800 {four}"))));
    add(
        "dissect",
        "ipv4-fragment",
        hex(&format!("{ends} 0800 45000018 006f2000 40060000 0a000001 0a000002 00000000")),
    );
    add("dissect", "cooked", hex(&format!("0000 0001 0006 0200000000010000 0800 {four}")));
    add("dissect", "is-is", frame(&hex("831b0100 0f010000 02")));
    add("round_trip", "ipv4", hex(&four));
    add("round_trip", "ipv6", hex(&six));
    add(
        "round_trip",
        "ipv6-extensions",
        hex(&format!("60000000 00080040 {address}1 {address}2 3b00000000000000")),
    );
    add("round_trip", "tcp", hex(&tcp));
    add("round_trip", "is-is", hex("831b0100 0f010000 02"));
    add("round_trip", "mpls", hex("0001d0ff 0001e1ff 45"));
}

/// Microseconds, snap length 65535, Ethernet; one record of 3 octets at 1.000002 s.
const BIG_ENDIAN: &str = "a1b2c3d4 0002 0004 00000000 00000000 0000ffff 00000001 \
                          00000001 00000002 00000003 0000003c 020000";
/// A record with a length field of 4 GiB.
const ABSURD: &str = "a1b2c3d4 0002 0004 00000000 00000000 0000ffff 00000001 \
                      00000001 00000002 ffffffff ffffffff 020000";
/// A section, an interface with steps of 2^-10 s, an enhanced and a simple packet of 3 octets.
const BIG_ENDIAN_NEXT: &str = "0a0d0d0a 0000001c 1a2b3c4d 0001 0000 ffffffffffffffff 0000001c \
                               00000001 00000020 0001 0000 0000ffff 0009 0001 8a000000 \
                               0000 0000 00000020 \
                               00000006 00000024 00000000 00000000 00000400 00000003 0000003c \
                               02000000 00000024 \
                               00000003 00000014 00000003 02000000 00000014";

/// Filters, each followed by a frame, for the fuzzer of the filter language.
pub(crate) fn filters() -> Vec<Seed> {
    let dt = tpdu_frame("dt");
    let tcp = all().into_iter().find(|seed| seed.name == "ipv6-tcp-tpkt");
    let tcp = tcp.expect("a segment with a packet in it").octets;
    let tagged = lan(&[0x81, 0, 0, 7], &ui(&inactive(&hex("04f0020280"))));
    [
        ("stations", "from 02:00:00:00:00:01 and not tpdu ak", &dt),
        ("numbers", "class 4 or port 102 or vlan 7", &tagged),
        ("nested", "!(host 10.0.0.1 or (tcp and not ip)) llc", &dt),
        ("addresses", "to host fe80::1 || from nsap 49*", &tcp),
        ("ends", "to port 102 && from nsap 490001", &tcp),
        ("nothing", "", &dt),
        ("unclosed", "not ( iso", &dt),
        ("no-number", "port ten", &tcp),
    ]
    .map(|(name, text, frame)| Seed {
        target: "filter",
        name,
        octets: [text.as_bytes(), &[0], frame].concat(),
    })
    .into()
}

fn inactive(nsdu: &[u8]) -> Vec<u8> {
    [&[clnp::INACTIVE], nsdu].concat()
}

fn network(segmentation: Option<clnp::Segmentation>, more_segments: bool, data: &[u8]) -> Vec<u8> {
    let nsap = |last| Nsap::new(&[0x49, 0x00, 0x01, last, 0x21]).unwrap();
    let mut pdu = clnp::Pdu {
        version: clnp::VERSION,
        lifetime: 64,
        segmentation_permitted: segmentation.is_some(),
        more_segments,
        error_report: true,
        kind: clnp::Kind::Data,
        segment_octets: 0,
        checksum: [0, 0],
        destination: nsap(2),
        source: nsap(1),
        segmentation,
        options: &[0xCD, 1, 3],
        data,
        header_octets: 0,
    };
    let header_octets = pdu.encoded_header_octets();
    pdu.segment_octets = (header_octets + data.len()) as u16;
    let mut octets = Vec::new();
    pdu.encode(&mut octets);
    clnp::seal(&mut octets[..header_octets]);
    octets
}

fn ui(npdu: &[u8]) -> Vec<u8> {
    let mut octets = Vec::new();
    let (source, destination) = (Sap::ISO_NETWORK, Sap::ISO_NETWORK);
    let (is_response, poll_final, control) = (false, false, llc::Control::Ui);
    llc::Pdu { destination, source, is_response, control, poll_final, information: npdu }
        .encode(&mut octets);
    octets
}

fn frame(npdu: &[u8]) -> Vec<u8> {
    lan(&[], &ui(npdu))
}

/// A length frame with `tags`, padded to the minimum.
fn lan(tags: &[u8], lpdu: &[u8]) -> Vec<u8> {
    let header = mac::header(Mac::local(2), Mac::local(1), lpdu.len() as u16);
    let mut octets = [&header[..12], tags, &header[12..], lpdu].concat();
    octets.resize(octets.len().max(mac::MIN_OCTETS), 0);
    octets
}

fn pcap_file(frame: &[u8]) -> Vec<u8> {
    let mut writer = pcap::Writer::new(Vec::new(), Link::Ethernet).unwrap();
    writer.write(Instant::from_nanos(1_000_000_001), frame, frame.len()).unwrap();
    writer.write(Instant::from_nanos(1_000_000_002), &frame[..20], frame.len()).unwrap();
    writer.into_inner()
}

fn pcapng_file(frame: &[u8]) -> Vec<u8> {
    let mut writer = pcapng::Writer::new(Vec::new()).unwrap();
    let interface = writer.interface(Link::Ethernet, "lan0").unwrap();
    let at = Instant::from_nanos(1_000_000_001);
    writer.write(interface, at, frame, frame.len(), "a comment").unwrap();
    writer.into_inner()
}

/// Stored without compression, so that the octets do not depend on the library. RFC 1951 3.2.4.
fn gzip(octets: &[u8]) -> Vec<u8> {
    let mut writer = flate2::GzBuilder::new().write(Vec::new(), flate2::Compression::none());
    writer.write_all(octets).unwrap();
    writer.finish().unwrap()
}

/// One raw block in one frame of one segment (RFC 8878 3.1.1): descriptor 20 means that the frame's
/// size has one octet, and bit 0 of the block's three octets marks the last block.
fn zstd(octets: &[u8]) -> Vec<u8> {
    let size = u8::try_from(octets.len()).unwrap();
    let block = (u32::from(size) << 3 | 1).to_le_bytes();
    [&[0x28, 0xB5, 0x2F, 0xFD, 0x20, size], &block[..3], octets].concat()
}

pub(crate) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.chars().filter_map(|c| c.to_digit(16)).map(|digit| digit as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}
