//! Lengths of encoded values: of MMS Data in GOOSE and reports (IEC 61850-8-1, 8.1.2), and of samples
//! (IEC 61850-9-2, table 15). Both are the longest that the types allow.

use crate::kinds::Basic;
use crate::view::{Named, Shape, View};

/// Octets of a sample that is a string: octet string, visible string.
const SAMPLE_STRINGS: [u64; 2] = [20, 35];
/// Octets of a bit string in a sample.
const SAMPLE_BITS: u64 = 4;

/// Octets of a tag and a length.
const fn header(content: u64) -> u64 {
    match content {
        0..=0x7F => 2,
        0x80..=0xFF => 3,
        _ => 4,
    }
}

const fn element(content: u64) -> u64 {
    header(content).saturating_add(content)
}

impl Basic {
    /// Octets as MMS Data, with tag and length.
    const fn data_octets(self) -> u64 {
        match self {
            Self::Boolean => element(1),
            Self::Integer { bits } => element(bits as u64 / 8),
            // A leading zero keeps the sign.
            Self::Unsigned { bits } => element(bits as u64 / 8 + 1),
            Self::Float { bits } => element(bits as u64 / 8 + 1),
            Self::Bits { bits } | Self::BitsUpTo { bits } => element((bits as u64).div_ceil(8) + 1),
            Self::Octets { octets }
            | Self::OctetsUpTo { octets }
            | Self::Visible { octets }
            | Self::Unicode { octets } => element(octets as u64),
            Self::UtcTime => element(8),
            Self::BinaryTime => element(6),
        }
    }

    /// Octets in a sample.
    const fn sample_octets(self) -> u64 {
        let [octet_string, visible_string] = SAMPLE_STRINGS;
        match self {
            Self::Boolean => 1,
            Self::Integer { bits } | Self::Unsigned { bits } | Self::Float { bits } => {
                bits as u64 / 8
            }
            Self::Bits { .. } | Self::BitsUpTo { .. } => SAMPLE_BITS,
            Self::Octets { .. } | Self::OctetsUpTo { .. } => octet_string,
            Self::Visible { .. } | Self::Unicode { .. } => visible_string,
            Self::UtcTime => 8,
            Self::BinaryTime => 6,
        }
    }
}

impl Shape {
    /// Octets as MMS Data, with tag and length.
    #[must_use]
    pub fn data_octets(&self) -> u64 {
        match self {
            Self::Structure(members) => {
                let content = members.iter().map(|member| member.shape.data_octets());
                element(content.fold(0, u64::saturating_add))
            }
            Self::Array { count, element: each } => {
                element(u64::from(*count).saturating_mul(each.data_octets()))
            }
            Self::Leaf { basic, .. } => basic.data_octets(),
        }
    }

    /// Octets in a sample, which has neither tags nor lengths.
    #[must_use]
    pub fn sample_octets(&self) -> u64 {
        match self {
            Self::Structure(members) => {
                let octets = members.iter().map(|member| member.shape.sample_octets());
                octets.fold(0, u64::saturating_add)
            }
            Self::Array { count, element } => {
                u64::from(*count).saturating_mul(element.sample_octets())
            }
            Self::Leaf { basic, .. } => basic.sample_octets(),
        }
    }
}

impl View {
    /// Contents of the members of a data set, by the names of its domain and of its list; none if a member is
    /// not there.
    #[must_use]
    pub fn members(&self, domain: &str, list: &str) -> Option<Vec<&Shape>> {
        let domain = self.domains.iter().find(|it| it.name == domain)?;
        let list = domain.lists.iter().find(|it| it.name == list)?;
        list.members.iter().map(|member| self.shape(member)).collect()
    }

    fn shape(&self, named: &Named) -> Option<&Shape> {
        let domain = self.domains.iter().find(|it| it.name == named.domain)?;
        let (node, path) = named.item.split_once('$')?;
        let variable = domain.variables.iter().find(|it| it.name == node)?;
        variable.shape.part(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_takes_21_octets_as_data() {
        // A2 13, Dbpos 84 02 06 xx, Quality 84 03 03 xx xx, Timestamp 91 08 and eight.
        let leaf = |basic| Shape::Leaf { basic, value: None };
        let kinds = [Basic::Bits { bits: 2 }, Basic::BitsUpTo { bits: 13 }, Basic::UtcTime];
        let members =
            kinds.map(|basic| crate::view::Variable { name: String::new(), shape: leaf(basic) });
        let position = Shape::Structure(members.into());
        assert_eq!(position.data_octets(), 2 + 4 + 5 + 10);
        // The profile 9-2LE has 64 octets of four currents and four voltages.
        let both = [Basic::Integer { bits: 32 }, Basic::BitsUpTo { bits: 13 }];
        assert_eq!(8 * both.map(Basic::sample_octets).iter().sum::<u64>(), 64);
        let array = Shape::Array { count: 100, element: Box::new(leaf(Basic::Boolean)) };
        assert_eq!((array.data_octets(), array.sample_octets()), (304, 100));
        assert_eq!(leaf(Basic::Float { bits: 32 }).data_octets(), 7);
        assert_eq!(leaf(Basic::Visible { octets: 255 }).data_octets(), 258);
    }
}
