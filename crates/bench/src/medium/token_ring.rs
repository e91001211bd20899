//! Token rings: that of IEEE 802.5, and Proteon's ProNET-10.

use super::{Kind, MediumKind, Model, Shape, Site, refusal};
use crate::scenario::fields::Fields;
use crate::scenario::problem::Problem;
use crate::scenario::quantity::{Length, Rate};
use schemars::JsonSchema;
use serde::Serialize;
use sim::medium::token_ring::{self, Params, Release};
use stack::profile::Framing;
use wire::units::BitRate;

/// The rates of IEEE 802.5.
const RATES: [BitRate; 2] = [BitRate::mbps(4), BitRate::mbps(16)];

/// Keys of a ring of IEEE 802.5.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub struct TokenRing {
    /// The bit rate: 4 or 16 Mbit/s in the standard.
    pub rate: Rate,
    /// The length of cable all the way round.
    pub length: Length,
    /// True if the token follows the last frame at once; if not given, it waits until the
    /// sender's own header has come round.
    #[schemars(with = "Option<bool>")]
    pub early_release: bool,
}

/// Keys of a ProNET-10 ring.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub struct ProNet10 {
    /// The length of cable all the way round.
    pub length: Length,
}

/// A ring of this length with these stations.
fn ring(params: Params, length: Length, site: Site) -> Model {
    let positions_metres = site.positions_metres;
    Model::TokenRing(Params { positions_metres, length_metres: length.metres(), ..params })
}

impl Kind for TokenRing {
    const KIND: MediumKind = MediumKind::TokenRing;

    fn read(fields: &mut Fields<'_, '_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let rate = fields.required("rate", problems);
        let length = fields.required("length", problems);
        let early_release = fields.optional("early-release", problems).unwrap_or(false);
        Some(Self { rate: rate?, length: length?, early_release })
    }

    fn rate(&self) -> Rate {
        self.rate
    }

    fn shape(&self) -> Shape {
        Shape::Ring(self.length)
    }

    fn framing(&self) -> Framing {
        Framing::Ieee8025
    }

    fn model(&self, site: Site) -> Model {
        let release = if self.early_release { Release::Early } else { Release::OwnHeader };
        let params = Params::ieee_802_5(self.rate.0, 0, 0.0);
        let priority_of = token_ring::access_control;
        ring(Params { release, priority_of, ..params }, self.length, site)
    }

    fn check(&self, site: &Site, problems: &mut Vec<Problem<String>>) {
        problems.extend(refusal(self.model(site.clone())));
        if !RATES.contains(&self.rate.0) {
            let message = format!("IEEE 802.5 has no ring of {}", self.rate);
            let problem = Problem::warning("medium.rate", message);
            problems.push(problem.help("its rates are 4 Mbit/s and 16 Mbit/s"));
        }
    }
}

impl Kind for ProNet10 {
    const KIND: MediumKind = MediumKind::ProNet10;

    fn read(fields: &mut Fields<'_, '_>, problems: &mut Vec<Problem>) -> Option<Self> {
        fields.required("length", problems).map(|length| Self { length })
    }

    fn rate(&self) -> Rate {
        Rate(BitRate::mbps(10))
    }

    fn shape(&self) -> Shape {
        Shape::Ring(self.length)
    }

    fn framing(&self) -> Framing {
        Framing::WholeFrame
    }

    fn model(&self, site: Site) -> Model {
        ring(Params::pronet_10(0, 0.0), self.length, site)
    }
}
