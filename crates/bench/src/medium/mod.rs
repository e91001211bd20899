//! Media of scenarios, each in a file of its own: the keys it has in a scenario, its limits, and the
//! parameters of the simulator that follow from them.
//!
//! `Kind` is what such a file states. [`Model`] is the medium as the simulator knows it: several
//! kinds may share one, as 802.5 and ProNET-10 do. Whatever needs the medium's theory (bounds) or its
//! simulator (runs) uses the model.

mod csma_cd;
mod ideal;
mod model;
mod switched;
mod t1s;
mod token_bus;
mod token_ring;

pub use csma_cd::CsmaCd;
pub use ideal::Ideal;
pub use model::{Invalid, Model, Site};
pub(crate) use model::{Theory, Visitor};
pub use switched::Switched;
pub use t1s::T1s;
pub use token_bus::{Classes, Maintenance, RequestWithResponse, TokenBus};
pub use token_ring::{ProNet10, TokenRing};

use crate::scenario::fields::{Fields, Placed, Read};
use crate::scenario::problem::Problem;
use crate::scenario::quantity::{Length, Rate};
use schemars::JsonSchema;
use serde::Serialize;
use stack::profile::Framing;

/// Octets of a MAC frame around its data: addresses 12, length 2, FCS 4.
pub const MAC_OCTETS: u64 = 18;
/// Octets of the LLC header of a UI frame: DSAP, SSAP, control.
pub const LLC_OCTETS: u64 = 3;
/// The shortest frame on an 802.3 medium, FCS included; shorter data are padded.
pub const SHORTEST_FRAME_OCTETS: u64 = 64;
/// The most data an 802.3 frame carries.
pub const MOST_DATA_OCTETS: u64 = 1_500;
/// Octets of an 802.1Q tag.
const TAG_OCTETS: u64 = 4;

/// The medium that carries the frames.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Medium {
    /// Every station sends without waiting for another.
    Ideal(Ideal),
    /// Half-duplex ISO 8802-3 on one bus.
    CsmaCd(CsmaCd),
    /// A token ring of IEEE 802.5.
    TokenRing(TokenRing),
    /// A token bus of IEEE 802.4.
    TokenBus(TokenBus),
    /// A 10BASE-T1S multidrop segment of IEEE 802.3cg, at 10 Mbit/s.
    T1s(T1s),
    /// Full-duplex Ethernet with switches in a row.
    Switched(Switched),
    /// A Proteon ProNET-10 token ring, at 10 Mbit/s.
    #[serde(rename = "pronet-10")]
    ProNet10(ProNet10),
}

/// The same expression for the medium of each kind.
macro_rules! each {
    ($medium:expr, $it:ident => $body:expr) => {
        match $medium {
            Medium::Ideal($it) => $body,
            Medium::CsmaCd($it) => $body,
            Medium::TokenRing($it) => $body,
            Medium::TokenBus($it) => $body,
            Medium::T1s($it) => $body,
            Medium::Switched($it) => $body,
            Medium::ProNet10($it) => $body,
        }
    };
}

/// Kind of a medium.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum MediumKind {
    /// An ideal wire.
    Ideal,
    /// ISO 8802-3 with collisions.
    CsmaCd,
    /// IEEE 802.5.
    TokenRing,
    /// IEEE 802.4.
    TokenBus,
    /// 10BASE-T1S.
    T1s,
    /// Full-duplex links and switches.
    Switched,
    /// ProNET-10.
    ProNet10,
}

impl MediumKind {
    /// All of them, with their names in scenarios and profiles.
    pub const WORDS: [(&str, Self); 7] = [
        ("ideal", Self::Ideal),
        ("csma-cd", Self::CsmaCd),
        ("token-ring", Self::TokenRing),
        ("token-bus", Self::TokenBus),
        ("t1s", Self::T1s),
        ("switched", Self::Switched),
        ("pronet-10", Self::ProNet10),
    ];

    /// Its name in scenarios and profiles.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::WORDS.iter().find(|(_, kind)| *kind == self).map_or("", |(word, _)| word)
    }
}

/// The shape of a medium, on which stations have positions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Shape {
    /// Stations have no positions.
    Separate,
    /// A cable of this length with two ends, and its name.
    Line(Length, &'static str),
    /// A cable of this length around a ring.
    Ring(Length),
}

/// A kind of medium: its keys in a scenario, and what follows from them.
pub(crate) trait Kind: Sized {
    /// Its name.
    const KIND: MediumKind;

    /// Reads its keys, with the defaults of those that are not given.
    fn read(fields: &mut Fields<'_, '_>, problems: &mut Vec<Problem>) -> Option<Self>;

    /// The bit rate.
    fn rate(&self) -> Rate;

    /// The shape, if stations share it.
    fn shape(&self) -> Shape;

    /// The frame format of its stations.
    fn framing(&self) -> Framing {
        Framing::Ieee8023
    }

    /// The medium in the simulator, with these stations.
    fn model(&self, site: Site) -> Model;

    /// Adds the problems of its keys, by path. Without a problem of its own, a medium that the
    /// simulator refuses has one at the key that the refusal names.
    fn check(&self, site: &Site, problems: &mut Vec<Problem<String>>) {
        problems.extend(refusal(self.model(site.clone())));
    }
}

/// The problem of a medium that the simulator refuses.
fn refusal(model: Model) -> Option<Problem<String>> {
    let invalid = model.check().err()?;
    Some(Problem::error(invalid.key(), invalid.to_string()))
}

impl Read for Medium {
    fn read(value: &Placed<'_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let mut fields = Fields::of(value, problems)?;
        let kind = fields.word("kind", &MediumKind::WORDS, problems)?;
        let fill = &mut fields;
        let medium = match kind {
            MediumKind::Ideal => Ideal::read(fill, problems).map(Self::Ideal),
            MediumKind::CsmaCd => CsmaCd::read(fill, problems).map(Self::CsmaCd),
            MediumKind::TokenRing => TokenRing::read(fill, problems).map(Self::TokenRing),
            MediumKind::TokenBus => TokenBus::read(fill, problems).map(Self::TokenBus),
            MediumKind::T1s => T1s::read(fill, problems).map(Self::T1s),
            MediumKind::Switched => Switched::read(fill, problems).map(Self::Switched),
            MediumKind::ProNet10 => ProNet10::read(fill, problems).map(Self::ProNet10),
        };
        fields.finish(problems);
        medium
    }
}

impl Medium {
    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> MediumKind {
        const fn kind<K: Kind>(_: &K) -> MediumKind {
            K::KIND
        }
        each!(self, it => kind(it))
    }

    /// Its bit rate.
    #[must_use]
    pub fn rate(&self) -> Rate {
        each!(self, it => it.rate())
    }

    /// The medium in the simulator, with these stations.
    #[must_use]
    pub fn model(&self, site: Site) -> Model {
        each!(self, it => it.model(site))
    }

    /// The frame format of its stations.
    #[must_use]
    pub fn framing(&self) -> Framing {
        each!(self, it => it.framing())
    }

    /// Adds the problems of its keys, by path.
    pub(crate) fn check(&self, site: &Site, problems: &mut Vec<Problem<String>>) {
        each!(self, it => it.check(site, problems));
    }

    fn shape(&self) -> Shape {
        each!(self, it => it.shape())
    }

    /// The position of station `index` of `stations` if the scenario gives none, in metres: evenly
    /// along a bus, the first and last at its ends, or evenly around a ring.
    #[must_use]
    pub fn spread(&self, index: usize, stations: usize) -> f64 {
        let (length, gaps) = match self.shape() {
            Shape::Separate => return 0.0,
            Shape::Line(length, _) => (length, stations.saturating_sub(1)),
            Shape::Ring(length) => (length, stations),
        };
        length.metres() * index as f64 / gaps.max(1) as f64
    }

    /// The length of the medium and its name; none if stations have no positions.
    #[must_use]
    pub fn length(&self) -> Option<(Length, &'static str)> {
        match self.shape() {
            Shape::Separate => None,
            Shape::Line(length, name) => Some((length, name)),
            Shape::Ring(length) => Some((length, "ring")),
        }
    }

    /// True if its stations share the rate.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.shape() != Shape::Separate
    }

    /// True if its stations may collide.
    #[must_use]
    pub fn has_collisions(&self) -> bool {
        matches!(self.model(Site::default()), Model::CsmaCd(_))
    }

    /// Bits of the frame that carries `data_octets` octets of data, LLC header included: from
    /// destination address to FCS, padding included, or on a ring or a token bus the whole frame.
    #[must_use]
    pub fn frame_bits(&self, data_octets: u64) -> u64 {
        let octets = usize::try_from(data_octets).unwrap_or(usize::MAX);
        self.model(Site::default()).frame_bits(octets).unwrap_or_else(|| {
            let tag = if self.framing() == Framing::Ieee8021Q { TAG_OCTETS } else { 0 };
            let whole = data_octets.saturating_add(MAC_OCTETS + tag);
            whole.max(SHORTEST_FRAME_OCTETS).saturating_mul(8)
        })
    }

    /// The most octets of data in a frame, LLC header included: the limit of 802.3 or 802.4, or on
    /// a ring that of the token holding time and of the interface's buffer.
    #[must_use]
    pub fn most_data_octets(&self) -> u64 {
        self.model(Site::default()).most_data_octets().unwrap_or(MOST_DATA_OCTETS)
    }

    /// The most octets of an LSDU.
    #[must_use]
    pub fn most_lsdu_octets(&self) -> u64 {
        self.most_data_octets().saturating_sub(LLC_OCTETS)
    }
}
