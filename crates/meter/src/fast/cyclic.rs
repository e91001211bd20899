//! Second path: frames of cyclic data, decoded once.
//!
//! Dissection decodes a PDU to name it, and the follower decodes it again. Here the follower's
//! decoder is the only one; a frame that it does not accept as a whole is dissected.

use crate::Meter;
use crate::follow::Follower as _;
use crate::follow::cyclic::Frame;
use wire::time::Instant;

impl Meter {
    /// Counts a frame of cyclic data on Ethernet; returns false, without effect, for any other
    /// frame.
    pub(super) fn cyclic_data(
        &mut self,
        at: Instant,
        octets: &[u8],
        original_octets: usize,
    ) -> bool {
        let (oddities, cyclic) = (self.intervals.oddities(), &mut self.cyclic);
        if cyclic.repeats(at, octets, original_octets) {
            self.paths.common += 1;
            return true;
        }
        let is_learnt = cyclic.wants(octets);
        let is_cyclic = Frame::each(octets, original_octets, |frame| {
            cyclic.observe(at, frame, oddities);
            if is_learnt {
                cyclic.learn(octets, original_octets, &frame);
            }
        });
        self.paths.plain += u64::from(is_cyclic);
        is_cyclic
    }
}

#[cfg(test)]
mod tests {
    use crate::draw::Draw;
    use crate::{Meter, Settings};
    use core::time::Duration;
    use wire::dissect::Link;
    use wire::ethercat::{self, Datagram};
    use wire::goose::{self, UtcTime};
    use wire::ptp;
    use wire::sampled_values::{self, Asdu};
    use wire::time::Instant;

    fn sample(identifier: &[u8], sample_count: u16) -> Asdu<'_> {
        Asdu {
            identifier,
            data_set: None,
            sample_count,
            configuration_revision: 1,
            synchronisation: 2,
            rate: None,
            sample: &[7; 16],
        }
    }

    fn message(draw: &mut Draw, n: u16) -> ptp::Pdu {
        use ptp::Kind;
        let kinds = [Kind::Sync, Kind::FollowUp, Kind::PeerDelayRequest, Kind::PeerDelayResponse];
        let kind = kinds[draw.below(4) as usize];
        let port = ptp::Port::default();
        ptp::Pdu {
            major_sdo: 0,
            kind,
            minor_version: 0,
            length: 0,
            domain: 0,
            minor_sdo: 0,
            flags: 0x0200,
            correction: 0,
            port,
            sequence: n / 8,
            log_interval: 0,
            time_ns: Some(u64::from(n) * 250_000),
            requesting: (kind == Kind::PeerDelayResponse).then_some(port),
            announce: None,
        }
    }

    /// Frame number `n` of one of five publishers, perhaps with a tag.
    fn frame(draw: &mut Draw, n: u16) -> Vec<u8> {
        let (kind, pdu): (u16, _) = match draw.below(5) {
            0 => {
                let pdu = goose::Pdu {
                    appid: 1,
                    reserved: [0; 2],
                    control_block: b"LD/LLN0$GO$gcb",
                    time_allowed_to_live_ms: 2_000,
                    data_set: b"LD/LLN0$trips",
                    identifier: None,
                    time: UtcTime([0; 8]),
                    state_number: 1,
                    sequence_number: n.into(),
                    is_simulated: false,
                    configuration_revision: 1,
                    needs_commissioning: false,
                    entries: 1,
                    data: &[0x83, 1, 1],
                };
                (0x88B8, pdu.encode())
            }
            1 => {
                let (one, other) = ([&b"MU1"[..], b"MU2"], draw.below(2) as usize);
                let samples = [sample(one[0], n), sample(one[other], n + 1)];
                let count = 1 + draw.below(2) as usize;
                (0x88BA, sampled_values::Pdu::encode(0x4000, [0; 2], &samples[..count]))
            }
            2 => {
                let data = [n as u8, 0, 0, 0, 0, 0, 0, 0];
                let command = [12, 14][draw.below(2) as usize];
                let datagram = Datagram {
                    command,
                    index: n as u8,
                    address: 0x0910_1001,
                    interrupt: 0,
                    data: &data,
                    working_counter: draw.below(3) as u16,
                };
                (0x88A4, ethercat::Pdu::encode(&[datagram]))
            }
            3 => (0x88F7, message(draw, n).encode()),
            _ => {
                let frame_id = [0x80, 0x80, 0x80, 0xFE][draw.below(4) as usize];
                let [high, low] = n.to_be_bytes();
                (0x8892, [&[frame_id, 1][..], &[0; 40], &[high, low, 0x35, 0]].concat())
            }
        };
        let tag = [&[][..], &[0x81, 0, 0x80, 5]][draw.below(2) as usize];
        let source = [0x10, 0x12][draw.below(2) as usize];
        let head = [2, 2, 2, 2, 2, 2, source, 2, 2, 2, 2, 2];
        [&head[..], tag, &kind.to_be_bytes(), &pdu].concat()
    }

    #[test]
    fn cyclic_frames_count_as_they_do_dissected() {
        let [mut ours, mut dissecting] =
            [0, 1].map(|_| Meter::new(Settings::every(Duration::from_secs(1))));
        let mut draw = Draw(0x6185);
        for n in 0..20_000_u16 {
            let mut octets = frame(&mut draw, n);
            let original_octets = octets.len();
            if draw.below(3) == 0 {
                let place = draw.below(octets.len() as u64) as usize;
                octets[place] ^= 1 << draw.octet_below(8);
            }
            let cut = if draw.below(8) == 0 { draw.below(60) as usize } else { 0 };
            octets.truncate(octets.len().saturating_sub(cut));
            let at = Instant::from_nanos(u64::from(n) * 250_000);
            for meter in [&mut ours, &mut dissecting] {
                meter.tick(at).expect("time runs forwards");
            }
            ours.plain_segment(at, Link::Ethernet, &octets, original_octets);
            dissecting.dissect(at, Link::Ethernet, &octets, original_octets);
        }
        let paths = ours.paths();
        println!("seen: {paths:?}");
        assert!(paths.plain > 8_000 && paths.dissected > 2_000, "{paths:?}");
        assert!(paths.common > 1_000, "frames that repeat their headers: {paths:?}");
        assert!(ours.each_stream().len() > 5);
        assert_eq!(ours.each_stream(), dissecting.each_stream());
        let [ours, dissecting] = [&mut ours, &mut dissecting].map(Meter::finish);
        assert_eq!((ours.measures, ours.oddities), (dissecting.measures, dissecting.oddities));
    }
}
