//! Blocks of a selective acknowledgement (8F in an AK; 1995 edition).
//!
//! A block is a run of DTs that arrived beyond a gap: its lower edge, which is the TPDU-NR of its first
//! DT, and its upper edge, which is the TPDU-NR after its last. An edge has two octets in the normal
//! format and four in the extended format. Blocks ascend and do not touch.
//!
//! That an upper edge lies behind the block is taken from the window edges of the standard; no other
//! implementation was at hand to compare it with.

use super::Format;

/// Octets of an edge.
const fn edge_octets(format: Format) -> usize {
    match format {
        Format::Extended => 4,
        Format::Class0 | Format::Normal => 2,
    }
}

/// Edges of the blocks in the value of the parameter, the lower one first. Octets of an incomplete block
/// are left out.
pub fn selective_blocks(octets: &[u8], format: Format) -> impl Iterator<Item = [u32; 2]> + '_ {
    let edge = edge_octets(format);
    let number = |octets: &[u8]| octets.iter().fold(0, |sum, octet| sum << 8 | u32::from(*octet));
    octets.chunks_exact(2 * edge).map(move |block| {
        let (lower, upper) = block.split_at(edge);
        [number(lower), number(upper)]
    })
}

/// Octets of a block with these edges, which are numbers of the format.
pub fn selective_block([lower, upper]: [u32; 2], format: Format) -> impl Iterator<Item = u8> {
    let skip = size_of::<u32>() - edge_octets(format);
    let octets = move |edge: u32| edge.to_be_bytes().into_iter().skip(skip);
    octets(lower).chain(octets(upper))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_come_back_in_both_formats() {
        for (format, most) in [(Format::Normal, 127), (Format::Extended, 0x7FFF_FFFF)] {
            let blocks = [[3, 5], [most, 0], [9, 10]];
            let octets: Vec<u8> =
                blocks.iter().flat_map(|block| selective_block(*block, format)).collect();
            assert_eq!(octets.len(), 6 * edge_octets(format));
            assert!(selective_blocks(&octets, format).eq(blocks));
            let cut = &octets[..octets.len() - 1];
            assert!(selective_blocks(cut, format).eq(blocks[..2].iter().copied()));
        }
    }
}
