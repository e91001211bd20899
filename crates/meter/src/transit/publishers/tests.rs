use super::*;
use crate::draw::Draw;

/// Frame of PROFINET RT with this counter.
fn frame(counter: u16) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0x92, 0x80, 1];
    frame.extend([0; 40]);
    frame.extend(counter.to_be_bytes());
    frame.extend([0x35, 0]);
    frame
}

fn at(micros: u64) -> Instant {
    Instant::from_nanos(micros * 1_000)
}

/// Observes frames, each at a tap at a time in microseconds, and returns the only stream.
fn found(frames: impl IntoIterator<Item = (Tap, u64, u16)>) -> StreamTransit {
    let mut publishers = Publishers::default();
    for (tap, micros, counter) in frames {
        let octets = frame(counter);
        assert!(publishers.observe(tap, at(micros), &octets, octets.len()));
    }
    let (streams, left_out) = publishers.finish();
    let [stream] = &streams[..] else { panic!("{streams:?}") };
    assert_eq!(left_out, 0);
    stream.clone()
}

#[test]
fn a_frame_is_found_at_the_other_tap_by_its_number() {
    // Each of 5,000 takes 100 us, one of a hundred 400 us, so that it is overtaken; one of a
    // thousand is lost. The counter rolls over each 2,048 frames.
    let each = (0..5_000_u64).flat_map(|n| {
        let (sent, counter) = (n * 1_000, (n * 32) as u16);
        let took = if n % 100 == 7 { 1_400 } else { 100 };
        let arrives = (n % 1_000 != 500).then_some((Tap::Far, sent + took, counter));
        [Some((Tap::Near, sent, counter)), arrives].into_iter().flatten()
    });
    let mut all: Vec<_> = each.collect();
    all.sort_by_key(|(_, micros, _)| *micros);
    let stream = found(all);
    assert_eq!((stream.frames, stream.alone), ([5_000, 4_995], [5, 0]));
    assert_eq!((stream.repeated, stream.unnumbered), ([0; 2], [0; 2]));
    let [there, back] = stream.ways;
    assert_eq!((there.count, there.min_ns, there.max_ns), (4_995, 100_000, 1_400_000));
    assert!((100_000..=100_800).contains(&there.p50_ns), "{there:?}");
    assert_eq!(back, Summary::default());
}

#[test]
fn a_frame_that_goes_back_and_one_too_late_are_told_apart() {
    let back = found([(Tap::Far, 10, 0), (Tap::Near, 60, 0)]);
    assert_eq!((back.ways[0].count, back.ways[1].max_ns), (0, 50_000));
    let just = found([(Tap::Near, 0, 0), (Tap::Far, 450_000, 0)]);
    assert_eq!((just.alone, just.ways[0].max_ns), ([0, 0], 450_000_000));
    let late = found([(Tap::Near, 0, 0), (Tap::Far, 450_001, 0)]);
    assert_eq!((late.alone, late.ways[0].count), ([1, 1], 0));
    // Read in another order, as two captures are.
    let other = found([(Tap::Far, 90, 32), (Tap::Near, 20, 32)]);
    assert_eq!((other.ways[0].max_ns, other.alone), (70_000, [0; 2]));
}

#[test]
fn a_lost_frame_does_not_give_the_transit_of_its_successor() {
    // The counter stands still; the second of three frames is lost.
    let still = [0, 10_000, 20_000].map(|micros| (Tap::Near, micros, 7));
    let arrive = [100, 20_100].map(|micros| (Tap::Far, micros, 7));
    let mut all = [&still[..], &arrive].concat();
    all.sort_by_key(|(_, micros, _)| *micros);
    let stream = found(all);
    assert_eq!((stream.frames, stream.repeated, stream.alone), ([3, 2], [3, 2], [0; 2]));
    assert_eq!(stream.ways, [Summary::default(); 2]);
    // A number that comes back within the time, of which the first frame was lost, by a far clock
    // that is 300 ms behind: the second at the far tap seems to come after the first at the near one.
    let lost = [(Tap::Near, 0, 7), (Tap::Far, 212_000, 7), (Tap::Near, 512_000, 7)];
    let stream = found(lost);
    assert_eq!((stream.repeated, stream.alone), ([2, 1], [0; 2]));
    assert_eq!(stream.ways[0].count, 0);
    // After the time it is another frame.
    let again = [(0, 7), (900_001, 7)];
    let again =
        again.map(|(micros, counter)| [Tap::Near, Tap::Far].map(|tap| (tap, micros, counter)));
    assert_eq!(found(again.concat()).ways[0].count, 2);
}

#[test]
fn every_transit_is_that_of_one_frame() {
    // Whatever the period, the modulus and the difference of the clocks; the far tap misses frames.
    let (mut draw, mut repeating) = (Draw(2_026), 0);
    for _ in 0..400 {
        let period = u64::from(50 + draw.below(20_000));
        let modulus = 1 + u64::from(draw.below(300));
        let later = u64::from(draw.below(800_000));
        let mut frames = Vec::new();
        for n in 0..400 {
            let (sent, counter) = (1_000_000 + n * period, (n % modulus) as u16);
            frames.push((Tap::Near, sent, counter));
            if draw.below(20) > 0 {
                frames.push((Tap::Far, sent + later - 400_000, counter));
            }
        }
        frames.sort_by_key(|(_, micros, _)| *micros);
        let stream = found(frames);
        let apart_ns = later.abs_diff(400_000) * 1_000;
        for way in stream.ways.iter().filter(|way| way.count > 0) {
            assert_eq!(
                (way.min_ns, way.max_ns),
                (apart_ns, apart_ns),
                "{period} {modulus} {later}"
            );
        }
        let matched = stream.ways[0].count + stream.ways[1].count;
        for tap in [0, 1] {
            let apart = stream.alone[tap] + stream.repeated[tap] + stream.unnumbered[tap];
            assert_eq!(stream.frames[tap], matched + apart);
        }
        if modulus * period > 900_000 {
            assert_eq!(
                (stream.alone[1], stream.repeated),
                (0, [0; 2]),
                "{period} {modulus} {later}"
            );
        } else {
            repeating += u32::from(stream.repeated[0] > 0);
        }
    }
    assert!((100..300).contains(&repeating), "{repeating}");
}

#[test]
fn a_copy_of_a_mirror_port_leaves_the_first_frame_matched() {
    let sent = (0..20_u16).flat_map(|n| {
        let micros = u64::from(n) * 1_000;
        let copy = (n > 0).then_some((Tap::Near, micros + 100, n));
        [Some((Tap::Near, micros, n)), copy, Some((Tap::Far, micros + 110, n))]
    });
    let stream = found(sent.flatten());
    assert_eq!((stream.frames, stream.repeated, stream.alone), ([39, 20], [19, 0], [0; 2]));
    let there = stream.ways[0];
    assert_eq!((there.count, there.min_ns, there.max_ns), (20, 110_000, 110_000));
    // 126 us is over an eighth of the gap.
    let late = [(0, 1), (1_000, 2), (1_126, 2)].map(|(micros, n)| (Tap::Near, micros, n));
    assert_eq!(found(late).repeated, [2, 0]);
}

#[test]
fn frames_with_trailers_of_prp_are_matched_in_their_lan() {
    let mut publishers = Publishers::default();
    for n in 0..50_u16 {
        for (lan, later) in [(0xA0, 0), (0xB0, 12)] {
            let mut octets = frame(n * 32);
            let [high, low] = ((octets.len() - 14 + 6) as u16).to_be_bytes();
            octets.extend([&n.to_be_bytes()[..], &[lan | high, low, 0x88, 0xFB]].concat());
            let sent = u64::from(n) * 1_000 + later;
            assert!(publishers.observe(Tap::Near, at(sent), &octets, octets.len()));
            // One in ten of LAN A is lost.
            if later > 0 || n % 10 != 5 {
                assert!(publishers.observe(Tap::Far, at(sent + 40), &octets, octets.len()));
            }
        }
    }
    let (streams, _) = publishers.finish();
    let [stream] = &streams[..] else { panic!("{streams:?}") };
    assert_eq!((stream.frames, stream.alone, stream.repeated), ([100, 95], [5, 0], [0; 2]));
    let there = stream.ways[0];
    assert_eq!((there.count, there.min_ns, there.max_ns), (95, 40_000, 40_000));
}

#[test]
fn frames_that_never_arrive_take_bounded_memory() {
    let mut publishers = Publishers::default();
    let mut octets = frame(0);
    for n in 0..200_000_u64 {
        let [.., high, low, _, _] = &mut octets[..] else { panic!() };
        [*high, *low] = (n as u16).to_be_bytes();
        octets[15] = (n >> 16) as u8;
        publishers.observe(Tap::Near, at(n), &octets, octets.len());
        assert_eq!(publishers.waiting.len(), publishers.due.len());
    }
    assert_eq!(publishers.waiting(), WAITING);
    let (streams, _) = publishers.finish();
    let alone: u64 = streams.iter().map(|it| it.alone[0]).sum();
    assert_eq!((streams.len(), alone), (4, 200_000));
}

#[test]
fn frames_of_streams_beyond_the_limit_are_counted() {
    let mut publishers = Publishers::default();
    for n in 0..5_000_u16 {
        let mut octets = frame(0);
        octets[10..12].copy_from_slice(&n.to_be_bytes());
        publishers.observe(Tap::Near, at(n.into()), &octets, octets.len());
    }
    let (streams, left_out) = publishers.finish();
    assert_eq!((streams.len(), left_out), (STREAMS, 5_000 - STREAMS as u64));
}
