//! Good frames cut at every octet, as a capture with a short snap length cuts them.

use crate::seeds;
use wire::dissect::{CUT, Layer, Link, NoNsdu, dissect, dissect_cut, levels};
use wire::tp;

/// The seeds that can be read to their end.
fn good_frames() -> Vec<seeds::Seed> {
    let is_good = |octets: &[u8]| dissect(Link::Ethernet, octets).fault.is_none();
    let mut frames = seeds::all();
    frames.retain(|seed| seed.target == "dissect" && is_good(&seed.octets));
    assert!(frames.len() > 25, "only {} good frames", frames.len());
    frames
}

#[test]
fn a_cut_invents_no_fault_and_no_bad_checksum() {
    for seed in good_frames() {
        let (octets, original) = (&seed.octets, seed.octets.len());
        for captured in 0..original {
            let dissection = dissect_cut(Link::Ethernet, &octets[..captured], original);
            assert_eq!(dissection.fault, None, "{} cut to {captured} octets", seed.name);
            let (last, layers) = dissection.layers.split_last().unwrap();
            assert_eq!(*last, Layer::Missing(original - captured));
            let is_bad = |layer: &Layer<'_>| matches!(layer, Layer::Tp(_, Some(tp::Checksum::Bad)));
            assert!(!layers.iter().any(is_bad), "{} cut to {captured} octets", seed.name);
            assert!(layers.len() <= dissect(Link::Ethernet, octets).layers.len());
        }
    }
}

#[test]
fn a_cut_changes_no_count_that_the_headers_tell() {
    let mut with_nsdu = 0;
    for seed in good_frames() {
        let (octets, original) = (&seed.octets, seed.octets.len());
        let whole = levels(Link::Ethernet, octets, original);
        with_nsdu += u32::from(whole.nsdu.is_ok());
        for captured in 0..original {
            let cut = levels(Link::Ethernet, &octets[..captured], original);
            let name = format!("{} cut to {captured} octets", seed.name);
            assert!([None, whole.lpdu_octets].contains(&cut.lpdu_octets), "{name}");
            assert!([None, whole.npdu_octets].contains(&cut.npdu_octets), "{name}");
            match (cut.nsdu, whole.nsdu) {
                (Ok(cut), Ok(whole)) => {
                    let octets = cut.octets.len() + cut.missing_octets;
                    assert_eq!(octets, whole.octets.len(), "{name}");
                    assert!(whole.octets.starts_with(cut.octets), "{name}");
                    assert_eq!(cut.destination_nsap, whole.destination_nsap, "{name}");
                }
                // With its code cut off, the connectionless transport protocol looks like the other.
                (Ok(cut), Err(why)) => {
                    assert_eq!(why, NoNsdu::Foreign("connectionless transport"), "{name}");
                    assert!(cut.octets.len() < 2, "{name}");
                }
                (Err(NoNsdu::Stream(cut)), Err(NoNsdu::Stream(whole))) => {
                    assert_eq!(cut.octets.len() + cut.missing_octets, whole.octets.len());
                    assert!(whole.octets.starts_with(cut.octets), "{name}");
                }
                (Err(why), whole) => {
                    let is_same = whole.is_err_and(|whole| whole == why);
                    assert!(is_same || why == NoNsdu::Foreign(CUT), "{name}: {why:?}");
                }
            }
        }
    }
    assert!(with_nsdu > 15, "only {with_nsdu} frames carry TPDUs");
}
