//! Values of variables: their octets, their types, and writing to them.

use wire::ber::{BitString, Item, Tag, Writer};
use wire::mms::{Data, TypeDescription};

/// Write result: the value has another type.
pub(super) const TYPE_INCONSISTENT: u32 = 7;
/// Write result: the value is out of the type's range.
pub(super) const VALUE_INVALID: u32 = 11;

/// Value of a leaf, with its type.
#[derive(Clone, PartialEq, Debug)]
pub enum Value {
    /// Boolean.
    Boolean(bool),
    /// Integer with a sign.
    Integer {
        /// Width in bits.
        bits: u8,
        /// Value.
        value: i64,
    },
    /// Integer without a sign.
    Unsigned {
        /// Width in bits.
        bits: u8,
        /// Value.
        value: u64,
    },
    /// Floating point of 32 bits.
    Float32(f32),
    /// Floating point of 64 bits.
    Float64(f64),
    /// Bit string.
    Bits {
        /// True if `most` is a maximum, false if it is the length.
        varies: bool,
        /// Number of bits.
        most: u8,
        /// Bits in order.
        bits: Vec<bool>,
    },
    /// Octet string.
    Octets {
        /// True if `most` is a maximum, false if it is the length.
        varies: bool,
        /// Number of octets.
        most: u16,
        /// Octets.
        octets: Vec<u8>,
    },
    /// Visible string.
    Visible {
        /// Maximum number of octets.
        most: u16,
        /// Text.
        text: String,
    },
    /// Unicode string.
    Text {
        /// Maximum number of octets.
        most: u16,
        /// Text.
        text: String,
    },
    /// UTC time: seconds since 1970, a fraction of 24 bits, the quality.
    UtcTime([u8; 8]),
    /// Binary time: milliseconds of the day, days since 1984.
    BinaryTime([u8; 6]),
}

/// Octets of a bit string, and the number of unused bits.
pub(super) struct Packed {
    octets: Vec<u8>,
    unused: u8,
}

impl Packed {
    pub(super) fn new(bits: &[bool]) -> Self {
        let octets = bits.chunks(8).map(|chunk| {
            let octet = chunk.iter().fold(0, |octet, bit| octet << 1 | u8::from(*bit));
            octet << (8 - chunk.len())
        });
        let unused = ((8 - bits.len() % 8) % 8) as u8;
        Self { octets: octets.collect(), unused }
    }

    pub(super) fn as_bits(&self) -> BitString<'_> {
        BitString { unused: self.unused, octets: &self.octets }
    }
}

impl Value {
    /// Writes the value in front of what `out` holds.
    pub(super) fn put(&self, out: &mut Writer) {
        match self {
            Self::Boolean(value) => Data::Boolean(*value).put(out),
            Self::Integer { value, .. } => Data::Integer(*value).put(out),
            Self::Unsigned { value, .. } => Data::Unsigned(*value).put(out),
            Self::Float32(value) => {
                let [a, b, c, d] = value.to_be_bytes();
                Data::Float(&[8, a, b, c, d]).put(out);
            }
            Self::Float64(value) => {
                let [a, b, c, d, e, f, g, h] = value.to_be_bytes();
                Data::Float(&[11, a, b, c, d, e, f, g, h]).put(out);
            }
            Self::Bits { bits, .. } => Data::Bits(Packed::new(bits).as_bits()).put(out),
            Self::Octets { octets, .. } => Data::Octets(octets).put(out),
            Self::Visible { text, .. } => Data::Visible(text.as_bytes()).put(out),
            Self::Text { text, .. } => Data::Text(text.as_bytes()).put(out),
            Self::UtcTime(octets) => Data::UtcTime(*octets).put(out),
            Self::BinaryTime(octets) => Data::BinaryTime(octets).put(out),
        }
    }

    /// Type of the value.
    pub(super) fn description(&self) -> TypeDescription<'static> {
        let sized = |number, size| TypeDescription::Sized { number, size };
        let length = |most: i64, varies: bool| if varies { -most } else { most };
        match self {
            Self::Boolean(_) => TypeDescription::Plain(3),
            Self::Integer { bits, .. } => sized(5, i64::from(*bits)),
            Self::Unsigned { bits, .. } => sized(6, i64::from(*bits)),
            Self::Float32(_) => TypeDescription::Float { width: 32, exponent: 8 },
            Self::Float64(_) => TypeDescription::Float { width: 64, exponent: 11 },
            Self::Bits { varies, most, .. } => sized(4, length(i64::from(*most), *varies)),
            Self::Octets { varies, most, .. } => sized(9, length(i64::from(*most), *varies)),
            Self::Visible { most, .. } => sized(10, -i64::from(*most)),
            Self::Text { most, .. } => sized(16, -i64::from(*most)),
            Self::UtcTime(_) => TypeDescription::Plain(17),
            // The size is a boolean: with the day.
            Self::BinaryTime(_) => sized(12, 1),
        }
    }

    /// Takes a written value of the same type; otherwise returns the data access error.
    pub(super) fn set(&mut self, data: Data<'_>) -> Result<(), u32> {
        match (self, data) {
            (Self::Boolean(own), Data::Boolean(value)) => *own = value,
            // Some makers write true as FF.
            (Self::Boolean(own), Data::Other { tag: Tag(0x83), content: [octet] }) => {
                *own = *octet != 0;
            }
            (Self::Integer { bits, value: own }, Data::Integer(value)) => {
                let limit = 1_i128 << (bits.saturating_sub(1).min(63));
                if !(-limit..limit).contains(&i128::from(value)) {
                    return Err(VALUE_INVALID);
                }
                *own = value;
            }
            (Self::Unsigned { bits, value: own }, Data::Unsigned(value)) => {
                if *bits < 64 && value >> *bits != 0 {
                    return Err(VALUE_INVALID);
                }
                *own = value;
            }
            (Self::Float32(own), Data::Float([8, a, b, c, d])) => {
                *own = f32::from_be_bytes([*a, *b, *c, *d]);
            }
            (Self::Float64(own), Data::Float([11, a, b, c, d, e, f, g, h])) => {
                *own = f64::from_be_bytes([*a, *b, *c, *d, *e, *f, *g, *h]);
            }
            (Self::Bits { varies, most, bits }, Data::Bits(value)) => {
                check_length(value.len(), usize::from(*most), *varies)?;
                *bits = (0..value.len()).map(|number| value.bit(number)).collect();
            }
            (Self::Octets { varies, most, octets }, Data::Octets(value)) => {
                check_length(value.len(), usize::from(*most), *varies)?;
                *octets = value.to_vec();
            }
            (Self::Visible { most, text }, Data::Visible(value))
            | (Self::Text { most, text }, Data::Text(value)) => {
                check_length(value.len(), usize::from(*most), true)?;
                *text = core::str::from_utf8(value).map_err(|_| VALUE_INVALID)?.to_owned();
            }
            (Self::UtcTime(own), Data::UtcTime(value)) => *own = value,
            (Self::BinaryTime(own), Data::BinaryTime(value)) => {
                *own = value.try_into().map_err(|_| VALUE_INVALID)?;
            }
            _ => return Err(TYPE_INCONSISTENT),
        }
        Ok(())
    }

    /// Truth of a boolean; false for any other type.
    pub(super) const fn is_true(&self) -> bool {
        matches!(self, Self::Boolean(true))
    }

    /// Number of an entry, from its identifier; `None` for another length.
    pub(super) fn entry(&self) -> Option<u64> {
        match self {
            Self::Octets { octets, .. } => {
                octets.as_slice().try_into().ok().map(u64::from_be_bytes)
            }
            _ => None,
        }
    }

    /// Number of an integer without a sign; 0 for any other type.
    pub(super) const fn number(&self) -> u64 {
        match self {
            Self::Unsigned { value, .. } => *value,
            _ => 0,
        }
    }
}

const fn check_length(length: usize, most: usize, varies: bool) -> Result<(), u32> {
    let is_valid = if varies { length <= most } else { length == most };
    if is_valid { Ok(()) } else { Err(VALUE_INVALID) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_written_only_with_its_type_and_range() {
        let mut value = Value::Integer { bits: 8, value: 0 };
        assert_eq!(value.set(Data::Integer(127)), Ok(()));
        assert_eq!(value.set(Data::Integer(128)), Err(VALUE_INVALID));
        assert_eq!(value.set(Data::Unsigned(1)), Err(TYPE_INCONSISTENT));
        let mut value = Value::Visible { most: 2, text: String::new() };
        assert_eq!(value.set(Data::Visible(b"ab")), Ok(()));
        assert_eq!(value.set(Data::Visible(b"abc")), Err(VALUE_INVALID));
        let mut value = Value::Boolean(false);
        assert_eq!(value.set(Data::Other { tag: Tag(0x83), content: &[0xFF] }), Ok(()));
        assert!(value.is_true());
    }

    #[test]
    fn bits_are_packed_from_the_top_of_the_first_octet() {
        let packed = Packed::new(&[true, false, true]);
        assert_eq!(packed.as_bits(), BitString { unused: 5, octets: &[0xA0] });
        assert_eq!(Packed::new(&[]).as_bits(), BitString { unused: 0, octets: &[] });
    }
}
