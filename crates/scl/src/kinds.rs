//! Functional constraints and basic types (IEC 61850-7-2 and 7-3).

/// Functional constraint of an attribute.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Constraint {
    /// Status.
    St,
    /// Measured values.
    Mx,
    /// Setpoints.
    Sp,
    /// Substitution.
    Sv,
    /// Configuration.
    Cf,
    /// Description.
    Dc,
    /// Active setting group.
    Sg,
    /// Setting group to be edited.
    Se,
    /// Service response.
    Sr,
    /// Operate received.
    Or,
    /// Blocking.
    Bl,
    /// Extended definition.
    Ex,
    /// Control.
    Co,
}

impl Constraint {
    /// All, in the order in which the MMS view lists them.
    pub const ALL: [Self; 13] = [
        Self::St,
        Self::Mx,
        Self::Sp,
        Self::Sv,
        Self::Cf,
        Self::Dc,
        Self::Sg,
        Self::Se,
        Self::Sr,
        Self::Or,
        Self::Bl,
        Self::Ex,
        Self::Co,
    ];

    /// Two letters of the standard.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::St => "ST",
            Self::Mx => "MX",
            Self::Sp => "SP",
            Self::Sv => "SV",
            Self::Cf => "CF",
            Self::Dc => "DC",
            Self::Sg => "SG",
            Self::Se => "SE",
            Self::Sr => "SR",
            Self::Or => "OR",
            Self::Bl => "BL",
            Self::Ex => "EX",
            Self::Co => "CO",
        }
    }

    /// Constraint with these letters.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|constraint| constraint.name() == name)
    }
}

/// Type of a leaf, as MMS has it (IEC 61850-8-1, 8.1.2): the length of strings is the maximum.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Basic {
    /// Boolean.
    Boolean,
    /// Integer with a sign.
    Integer {
        /// Width in bits.
        bits: u8,
    },
    /// Integer without a sign.
    Unsigned {
        /// Width in bits.
        bits: u8,
    },
    /// Floating point.
    Float {
        /// Width in bits: 32 or 64.
        bits: u8,
    },
    /// Bit string of a fixed length.
    Bits {
        /// Number of bits.
        bits: u8,
    },
    /// Bit string of a variable length.
    BitsUpTo {
        /// Maximum number of bits.
        bits: u8,
    },
    /// Octet string of a fixed length.
    Octets {
        /// Number of octets.
        octets: u16,
    },
    /// Octet string of a variable length.
    OctetsUpTo {
        /// Maximum number of octets.
        octets: u16,
    },
    /// Visible string.
    Visible {
        /// Maximum number of octets.
        octets: u16,
    },
    /// Unicode string.
    Unicode {
        /// Maximum number of octets.
        octets: u16,
    },
    /// UTC time.
    UtcTime,
    /// Binary time of day with the day: six octets.
    BinaryTime,
}

impl Basic {
    /// Basic type of a `bType`; `None` for structures, enumerations and unknown names.
    #[must_use]
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "BOOLEAN" => Self::Boolean,
            "INT8" => Self::Integer { bits: 8 },
            "INT16" => Self::Integer { bits: 16 },
            "INT24" | "INT32" => Self::Integer { bits: 32 },
            "INT64" | "INT128" => Self::Integer { bits: 64 },
            "INT8U" => Self::Unsigned { bits: 8 },
            "INT16U" => Self::Unsigned { bits: 16 },
            "INT24U" | "INT32U" => Self::Unsigned { bits: 32 },
            "FLOAT32" => Self::Float { bits: 32 },
            "FLOAT64" => Self::Float { bits: 64 },
            "Dbpos" | "Tcmd" | "Check" => Self::Bits { bits: 2 },
            "Quality" => Self::BitsUpTo { bits: 13 },
            "TrgOps" => Self::BitsUpTo { bits: 6 },
            "OptFlds" => Self::BitsUpTo { bits: 10 },
            "SvOptFlds" => Self::BitsUpTo { bits: 5 },
            "EntryID" => Self::Octets { octets: 8 },
            "Octet6" => Self::OctetsUpTo { octets: 6 },
            "Octet16" => Self::OctetsUpTo { octets: 16 },
            "Octet64" => Self::OctetsUpTo { octets: 64 },
            "VisString32" => Self::Visible { octets: 32 },
            "VisString64" => Self::Visible { octets: 64 },
            "VisString65" => Self::Visible { octets: 65 },
            "VisString129" | "ObjRef" => Self::Visible { octets: 129 },
            "VisString255" => Self::Visible { octets: 255 },
            "Currency" => Self::Visible { octets: 3 },
            "Unicode255" => Self::Unicode { octets: 255 },
            "Timestamp" => Self::UtcTime,
            "EntryTime" => Self::BinaryTime,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_constraint_is_found_by_its_letters() {
        for constraint in Constraint::ALL {
            assert_eq!(Constraint::of(constraint.name()), Some(constraint));
        }
        assert_eq!(Constraint::of("XX"), None);
    }

    #[test]
    fn quality_is_a_bit_string_of_up_to_13_bits() {
        assert_eq!(Basic::of("Quality"), Some(Basic::BitsUpTo { bits: 13 }));
        assert_eq!(Basic::of("Struct"), None);
    }
}
