//! Tests of the meter's public interface: whole captures and hand-made cases.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod association_entry;
mod associations;
mod busiest;
mod capture;
mod cases;
mod changed;
mod cip_io;
mod corpus;
mod cyclic;
mod cyclic_counters;
mod cyclic_entry;
mod entry;
mod ethercat;
mod every_capture;
mod fence;
mod hostile;
mod known;
mod made;
mod measures;
mod modbus_wire;
mod more_streams;
mod ncc84;
mod ordinary;
mod ptp;
mod reassembler;
mod remarks;
mod replies;
mod request_pdus;
mod segments;
mod streams;
mod tcp_times;
mod transactions;
mod transactions_entry;
mod transactions_made;
mod tsdus;
mod two_taps;

/// SplitMix64.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) % bound as u64).unwrap()
    }

    fn octet(&mut self) -> u8 {
        u8::try_from(self.below(256)).unwrap()
    }
}
