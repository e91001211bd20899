//! Fletcher's sums, 32 octets at a time, on processors with AVX2. `wire::checksum` has the portable
//! equivalent, and a test there compares the two.
#![expect(unsafe_code, reason = "whether the processor has AVX2 is known only at run time")]

use core::arch::x86_64::{
    __m256i, _mm_add_epi32, _mm_cvtsi128_si32, _mm_shuffle_epi32, _mm256_add_epi32,
    _mm256_and_si256, _mm256_castsi256_si128, _mm256_extracti128_si256, _mm256_loadu_si256,
    _mm256_madd_epi16, _mm256_maddubs_epi16, _mm256_mullo_epi32, _mm256_sad_epu8, _mm256_set_epi8,
    _mm256_set1_epi16, _mm256_set1_epi32, _mm256_setzero_si256, _mm256_slli_epi32,
    _mm256_sub_epi32,
};

const LOG_LANES: i32 = 5;
const LANES: usize = 1 << LOG_LANES;
/// Chunks of [`LANES`] octets between reductions. `later` below is then at most 8,160 * 128 * 127 /
/// 2, and 32 times that still fits into 32 bits.
const CHUNKS: usize = 128;

/// Fletcher's sums `c0` (of the octets) and `c1` (of the values of `c0`), each modulo 255, continued
/// over `octets` (ISO 8073 annex B). `None` if the processor has no AVX2.
#[must_use]
pub fn add(sums: (u32, u32), octets: &[u8]) -> Option<(u32, u32)> {
    // SAFETY: the function is called only where its instructions exist.
    std::arch::is_x86_feature_detected!("avx2").then(|| unsafe { add_chunks(sums, octets) })
}

#[target_feature(enable = "avx2")]
fn add_chunks((mut c0, mut c1): (u32, u32), octets: &[u8]) -> (u32, u32) {
    // The last octet of a chunk counts once in `c1`, the first 32 times.
    let weights = _mm256_set_epi8(
        1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
        26, 27, 28, 29, 30, 31, 32,
    );
    let (zero, ones) = (_mm256_setzero_si256(), _mm256_set1_epi16(1));
    for block in octets.chunks(LANES * CHUNKS) {
        let (odd, chunks) = block.as_rchunks::<LANES>();
        let Some(first) = block.first_chunk::<LANES>() else {
            for octet in odd {
                c0 += u32::from(*octet);
                c1 += c0;
            }
            (c0, c1) = (c0 % 255, c1 % 255);
            continue;
        };
        // Of these octets only the odd ones count, and each is weighted too high by the number of
        // octets after them.
        let first = _mm256_and_si256(load(first), load(first_octets(odd.len())));
        let mut later = zero;
        let mut sum = _mm256_sad_epu8(first, zero);
        let excess = _mm256_mullo_epi32(sum, _mm256_set1_epi32((LANES - odd.len()) as i32));
        let pairs = _mm256_maddubs_epi16(first, weights);
        let mut weighted = _mm256_sub_epi32(_mm256_madd_epi16(pairs, ones), excess);
        for chunk in chunks {
            let octets = load(chunk);
            later = _mm256_add_epi32(later, sum);
            sum = _mm256_add_epi32(sum, _mm256_sad_epu8(octets, zero));
            // Two octets times 32 and 31 give at most 16,065, which fits into 16 bits with a sign.
            let pairs = _mm256_maddubs_epi16(octets, weights);
            weighted = _mm256_add_epi32(weighted, _mm256_madd_epi16(pairs, ones));
        }
        weighted = _mm256_add_epi32(weighted, _mm256_slli_epi32::<LOG_LANES>(later));
        c1 += block.len() as u32 * c0 + total(weighted);
        c0 += total(sum);
        (c0, c1) = (c0 % 255, c1 % 255);
    }
    (c0, c1)
}

/// Loads a chunk into a register.
#[target_feature(enable = "avx2")]
fn load(octets: &[u8; LANES]) -> __m256i {
    // SAFETY: the reference covers the 32 octets that are read, and the load permits any alignment.
    unsafe { _mm256_loadu_si256(octets.as_ptr().cast()) }
}

/// Mask of the first `count` octets of a chunk; `count` is less than [`LANES`].
fn first_octets(count: usize) -> &'static [u8; LANES] {
    const WINDOW: &[u8] = [[0xFF; LANES], [0; LANES]].as_flattened();
    let from = WINDOW.get(LANES - count.min(LANES)..);
    from.and_then(|window| window.first_chunk()).unwrap_or(&[0; LANES])
}

/// Sum of the eight lanes.
#[target_feature(enable = "avx2")]
fn total(lanes: __m256i) -> u32 {
    let (low, high) = (_mm256_castsi256_si128(lanes), _mm256_extracti128_si256::<1>(lanes));
    let four = _mm_add_epi32(low, high);
    let two = _mm_add_epi32(four, _mm_shuffle_epi32::<0b01_00_11_10>(four));
    _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32::<0b10_11_00_01>(two))) as u32
}
