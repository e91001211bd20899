//! Services of MMS.

use wire::mms;

/// Confirmed service of MMS, by its number (ISO 9506-2 7.3); numbers without a name are one
/// service.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Service(u8);

impl Service {
    /// Services without a name in the standard, together.
    pub const OTHER: Self = Self(mms::Service::NAMED as u8);
    /// Number of services, [`Service::OTHER`] included.
    pub const COUNT: usize = mms::Service::NAMED as usize + 1;

    /// Service of this number.
    #[must_use]
    pub fn of(number: u32) -> Self {
        u8::try_from(number).map_or(Self::OTHER, |number| Self(number.min(Self::OTHER.0)))
    }

    /// Service of this name, if there is one.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::all().find(|service| service.name() == name)
    }

    /// All services, in the order of their numbers.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..=Self::OTHER.0).map(Self)
    }

    /// Place in the order of services.
    pub(crate) fn place(self) -> usize {
        usize::from(self.0)
    }

    /// Name in the standard.
    #[must_use]
    pub fn name(self) -> &'static str {
        if self == Self::OTHER { "other" } else { mms::Service(self.0.into()).name() }
    }
}
