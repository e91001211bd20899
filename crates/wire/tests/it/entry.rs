//! Entry points of the fuzz targets, also run by plain tests over the corpus: octets in, claims
//! checked.

#[path = "laid.rs"]
mod laid;

use laid::Laid;
use std::io::Cursor;
use wire::capture::{Capture, CaptureError, Record};
use wire::dissect::{Layer, Link, NoNsdu, dissect, dissect_cut, levels};
use wire::time::Instant;
use wire::tpkt;
use wire::{
    avtp, cc_link, cip_io, clnp, encapsulation, enip, es_is, ethercat, goose, ipv4, ipv6, is_is,
    llc, mac, mpls, powerlink, profinet, prp, ptp, routable, sampled_values, snap, someip, tcp, tp,
    uadp,
};

/// Compressed files expand; this number of records is enough.
const RECORDS: usize = 10_000;

/// Checks that a frame, whole or cut by a capture, is decoded without panic and within its bounds.
pub(crate) fn frame(octets: &[u8]) {
    let others = encapsulation::LINKS.iter().map(|(number, _)| Link::Other(*number));
    for link in [Link::Ethernet, Link::Other(147)].into_iter().chain(others) {
        for original in [octets.len(), octets.len() + 1, octets.len() + 1_500] {
            let whole = levels(link, octets, original);
            match whole.nsdu {
                Ok(nsdu) => {
                    assert!(nsdu.octets.len() + nsdu.missing_octets < original);
                    let (lpdu, npdu) = (whole.lpdu_octets.unwrap(), whole.npdu_octets.unwrap());
                    assert!(nsdu.octets.len() + nsdu.missing_octets < npdu && npdu < lpdu);
                    assert!(lpdu <= original);
                }
                Err(NoNsdu::Malformed(fault)) => assert!(fault.offset <= octets.len()),
                Err(NoNsdu::Stream(piece)) => {
                    let (lpdu, npdu) = (whole.lpdu_octets.unwrap(), whole.npdu_octets.unwrap());
                    assert!(piece.octets.len() + piece.missing_octets + 40 <= npdu);
                    assert!(npdu <= lpdu && lpdu <= original);
                }
                Err(NoNsdu::Leaf(alone)) => assert!(alone.octets.len() <= octets.len()),
                Err(NoNsdu::Datagram(it)) => {
                    let npdu = whole.npdu_octets.unwrap();
                    assert!(it.octets.len() + it.missing_octets + 28 <= npdu);
                }
                Err(NoNsdu::Foreign(_)) => {}
            }
            let dissection = dissect_cut(link, octets, original);
            assert!(dissection.fault.is_none_or(|fault| fault.offset <= octets.len()));
            // A TPDU has at least three octets; up to eight layers can surround them.
            assert!(dissection.layers.len() <= octets.len() / 3 + 8);
            assert!(dissection.to_string().lines().count() <= dissection.layers.len() + 1);
            let has_nsdu = matches!(whole.nsdu, Ok(_) | Err(NoNsdu::Stream(_)));
            agree(has_nsdu, &dissection.layers);
        }
    }
    assert_eq!(dissect(Link::Ethernet, octets), dissect_cut(Link::Ethernet, octets, octets.len()));
}

/// Checks that the meter finds the NSDU wherever the dissection finds TPDUs, except in discarded
/// network PDUs.
fn agree(has_nsdu: bool, layers: &[Layer<'_>]) {
    let is_discarded = layers.iter().any(|layer| match layer {
        Layer::Clnp(pdu, sum) => pdu.version != clnp::VERSION || *sum == clnp::Checksum::Bad,
        _ => false,
    });
    let has_tpdu = layers.iter().any(|layer| matches!(layer, Layer::Tp(..)));
    assert!(!has_tpdu || has_nsdu || is_discarded, "the meter misses {layers:?}");
}

/// Checks that encoding inverts decoding.
pub(crate) fn round_trip(octets: &[u8]) {
    let mut again = Vec::new();
    if let Ok(pdu) = mac::Pdu::decode(octets) {
        pdu.encode(&mut again);
        assert_eq!(mac::Pdu::decode(&again), Ok(pdu));
    }
    again.clear();
    if let Ok(pdu) = llc::Pdu::decode(octets) {
        pdu.encode(&mut again);
        assert_eq!(llc::Pdu::decode(&again), Ok(pdu));
    }
    again.clear();
    if let Ok(pdu) = snap::Pdu::decode(octets) {
        pdu.encode(&mut again);
        assert_eq!(snap::Pdu::decode(&again), Ok(pdu));
    }
    again.clear();
    if let Ok(pdu) = clnp::Pdu::decode(octets) {
        pdu.encode(&mut again);
        assert_eq!(clnp::Pdu::decode(&again), Ok(pdu));
    }
    internet(octets);
    tpdus(octets);
}

fn internet(octets: &[u8]) {
    let mut again = Vec::new();
    if let Ok(pdu) = ipv4::Pdu::decode(octets) {
        pdu.encode(&mut again);
        assert_eq!(ipv4::Pdu::decode(&again), Ok(pdu));
    }
    again.clear();
    if let Ok(pdu) = ipv6::Pdu::decode(octets) {
        pdu.encode(&mut again);
        assert_eq!(ipv6::Pdu::decode(&again), Ok(pdu));
        assert!(pdu.carried().err().is_none_or(|fault| fault.offset <= octets.len()));
    }
    again.clear();
    if let Ok(pdu) = tcp::Pdu::decode(octets) {
        pdu.encode(&mut again);
        assert_eq!(tcp::Pdu::decode(&again), Ok(pdu));
    }
    again.clear();
    if let Ok(pdu) = es_is::Pdu::decode(octets) {
        pdu.encode(&mut again);
        assert_eq!(es_is::Pdu::decode(&again), Ok(pdu));
    }
    again.clear();
    if let Ok(pdu) = goose::Pdu::decode(octets) {
        assert_eq!(goose::Pdu::decode(&pdu.encode()), Ok(pdu));
    }
    if let Ok(pdu) = sampled_values::Pdu::decode(octets) {
        let asdus = |pdu: &sampled_values::Pdu<'_>| pdu.asdus().map_while(Result::ok).count();
        let read: Vec<_> = pdu.asdus().map_while(Result::ok).collect();
        let again = sampled_values::Pdu::encode(pdu.appid, pdu.reserved, &read);
        assert_eq!(sampled_values::Pdu::decode(&again).map(|pdu| asdus(&pdu)), Ok(read.len()));
    }
    let _ = profinet::Pdu::decode(octets).map(|pdu| pdu.to_string());
    if let Ok(pdu) = cip_io::Pdu::decode(octets) {
        assert_eq!(cip_io::Pdu::decode(&pdu.encode()), Ok(pdu));
    }
    for service in [0x54, 0x5B, 0x4E] {
        for is_reply in [false, true] {
            let message = enip::Message { sequence: None, service, is_reply, data: octets };
            let _ = cip_io::SetUp::of(&message);
        }
    }
    let _ = avtp::Pdu::decode(octets).map(|pdu| pdu.map(|pdu| pdu.to_string()));
    let _ = uadp::Pdu::decode(octets).map(|pdu| pdu.to_string());
    let _ = routable::Pdu::decode(octets).map(|pdu| pdu.payloads().count());
    let _ = powerlink::Pdu::decode(octets).map(|pdu| pdu.to_string());
    let _ = prp::Marked::of(octets, true).map(|marked| marked.plain());
    let _ = prp::Supervision::decode(octets).map(|pdu| pdu.to_string());
    let _ = cc_link::Pdu::decode(octets);
    let _ = someip::Messages::of(octets).map(Iterator::count);
    let _ = ptp::Pdu::decode(octets).map(|pdu| pdu.to_string());
    if let Ok(pdu) = ethercat::Pdu::decode(octets)
        && pdu.kind == 1
    {
        let read: Vec<_> = pdu.datagrams().map_while(Result::ok).collect();
        let again = ethercat::Pdu::encode(&read);
        let again = ethercat::Pdu::decode(&again).unwrap();
        assert!(again.datagrams().map_while(Result::ok).eq(read));
        assert!(!pdu.to_string().is_empty());
    }
    if let Ok(pdu) = is_is::Pdu::decode(octets) {
        pdu.encode(&mut again);
        assert_eq!(is_is::Pdu::decode(&again), Ok(pdu));
    }
    if let Ok(stack) = mpls::Pdu::decode(octets) {
        assert_eq!(stack.header_octets() + stack.data.len(), octets.len());
    }
}

fn tpdus(octets: &[u8]) {
    for raw in tp::tpdus(octets).flatten() {
        for format in [None, Some(tp::Format::Normal), Some(tp::Format::Extended)] {
            let Ok(pdu) = tp::Pdu::decode(&raw, format) else { continue };
            let mut again = Vec::new();
            pdu.encode(&mut again);
            let second = tp::tpdus(&again).next().unwrap().unwrap();
            assert_eq!(tp::Pdu::decode(&second, format), Ok(pdu), "as {format:?}");
            assert_eq!(
                (second.octets.len(), second.header_octets),
                (raw.octets.len(), raw.header_octets)
            );
        }
    }
}

/// Checks that a file is read to its end or to a persistent error, that no record reaches past the
/// file, and that reading and mapping give the same, one by one and passed.
pub(crate) fn file(octets: &[u8]) {
    let read = || Capture::open(Cursor::new(octets.to_vec()));
    let mapped = || Capture::open_mapped(Laid::new(octets, 100));
    let (mut read, others) = match (read(), [mapped(), read(), mapped()]) {
        (Ok(read), [Ok(mapped), Ok(first), Ok(second)]) => (read, [mapped, first, second]),
        (read, others) => {
            let error = read.err();
            assert_eq!(others.map(Result::err), [error.clone(), error.clone(), error]);
            return;
        }
    };
    let [mut mapped, mut passing @ ..] = others;
    let mut offset = read.offset();
    for _ in 0..RECORDS {
        let next = read.next();
        assert_eq!(next, mapped.next(), "read, and in memory");
        let seen = next.as_ref().map(|record| record.as_ref().map(owned)).map_err(Clone::clone);
        for capture in &mut passing {
            assert_eq!(passed(capture), seen, "one by one, and passed");
        }
        match next {
            Ok(None) => return,
            Ok(Some(record)) => {
                assert!(record.octets.len() <= record.original_octets);
                frame(record.octets.get(..200).unwrap_or(record.octets));
                let interface = record.interface as usize;
                assert!(interface < read.interfaces().len());
            }
            Err(error) => {
                assert_eq!(read.next().map(|_| ()), Err(error), "an error stays");
                return;
            }
        }
        assert!(read.offset() > offset, "a record takes octets");
        offset = read.offset();
        assert_eq!(mapped.offset(), offset);
        passing.iter().for_each(|capture| assert_eq!(capture.offset(), offset));
    }
}

/// Record with octets of its own.
type Owned = (Instant, Link, Vec<u8>, usize, u32);

fn owned(record: &Record<'_>) -> Owned {
    let Record { at, link, octets, original_octets, interface } = *record;
    (at, link, octets.to_vec(), original_octets, interface)
}

/// Has one record passed.
fn passed(capture: &mut Capture) -> Result<Option<Owned>, CaptureError> {
    let mut seen = None;
    capture.each(|record| {
        seen = Some(owned(&record));
        false
    })?;
    Ok(seen)
}

/// Checks that a TCP stream gives the same TPDUs whole and cut at arbitrary octets, and that an
/// error persists.
pub(crate) fn tpkt(octets: &[u8]) {
    let whole = reassembled([octets]);
    let mut rest = octets;
    let parts = core::iter::from_fn(|| {
        let (cut, _) = rest.split_first()?;
        let (part, behind) = rest.split_at((usize::from(*cut) + 1).min(rest.len()));
        rest = behind;
        Some(part)
    });
    assert_eq!(reassembled(parts), whole);
    let packets: usize = whole.0.iter().map(|tpdu| tpdu.len() + tpkt::HEADER_OCTETS).sum();
    assert!(packets <= octets.len());
    assert!(whole.0.iter().all(|tpdu| tpkt::Header::of_tpdu(tpdu.len()).is_some()));
    assert!(whole.1.is_none_or(|fault| (packets..octets.len()).contains(&fault.offset)));
}

fn reassembled<'a>(
    parts: impl IntoIterator<Item = &'a [u8]>,
) -> (Vec<Vec<u8>>, Option<wire::read::Malformed>) {
    let (mut reassembler, mut tpdus) = (tpkt::Reassembler::new(), Vec::new());
    for mut part in parts {
        while !part.is_empty() {
            let taken = reassembler.push(part);
            part = &part[taken..];
            loop {
                match reassembler.take_tpdu() {
                    Ok(Some(tpdu)) => tpdus.push(tpdu.to_vec()),
                    Ok(None) => break,
                    Err(fault) => {
                        assert_eq!(reassembler.take_tpdu(), Err(fault), "an error stays");
                        return (tpdus, Some(fault));
                    }
                }
            }
        }
        assert!(reassembler.held_octets() < tpkt::LONGEST);
    }
    (tpdus, None)
}
