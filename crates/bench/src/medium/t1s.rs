//! A 10BASE-T1S multidrop segment of IEEE 802.3cg, with or without PLCA.

use super::{Kind, MediumKind, Model, Shape, Site, refusal};
use crate::scenario::fields::Fields;
use crate::scenario::problem::Problem;
use crate::scenario::quantity::{Length, Rate};
use schemars::JsonSchema;
use serde::Serialize;
use sim::medium::{csma_cd, plca};

/// The length of a multidrop segment, in metres, that IEEE 802.3cg guarantees to work.
const GUARANTEED_METRES: f64 = 25.0;

/// Keys of a segment; those that are not given have the defaults of IEEE 802.3cg.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub struct T1s {
    /// The length of the segment.
    pub length: Length,
    /// True if stations take turns (PLCA), as they do if not given; else they contend, as in
    /// CSMA/CD. The other keys set the details of the turns.
    #[schemars(with = "Option<bool>")]
    pub plca: bool,
    /// The number of frames that a station may send in its turn after the first; none if not
    /// given.
    #[schemars(with = "Option<u64>")]
    pub max_burst: u64,
    /// The time that a station waits for a further frame of a burst, in bit times; 128 if not
    /// given.
    #[schemars(with = "Option<u64>")]
    pub burst_timer: u64,
    /// The length of a turn that is not taken, in bit times; 32 if not given.
    #[schemars(with = "Option<u64>")]
    pub to_timer: u64,
}

impl Kind for T1s {
    const KIND: MediumKind = MediumKind::T1s;

    fn read(fields: &mut Fields<'_, '_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let length = fields.required("length", problems);
        let plca = fields.optional("plca", problems).unwrap_or(true);
        let max_burst = fields.optional("max-burst", problems).unwrap_or(0);
        let burst_timer = fields.optional("burst-timer", problems).unwrap_or(128);
        let to_timer = fields.optional("to-timer", problems).unwrap_or(32);
        Some(Self { length: length?, plca, max_burst, burst_timer, to_timer })
    }

    fn rate(&self) -> Rate {
        Rate(plca::RATE)
    }

    fn shape(&self) -> Shape {
        Shape::Line(self.length, "segment")
    }

    fn model(&self, site: Site) -> Model {
        let positions_metres = site.positions_metres;
        if !self.plca {
            let params = csma_cd::Params::t1s(0, 0.0, site.seed);
            return Model::CsmaCd(csma_cd::Params { positions_metres, ..params });
        }
        Model::Plca(plca::Params {
            maximum_burst: self.max_burst,
            burst_bits: self.burst_timer,
            opportunity_bits: self.to_timer,
            node_count: positions_metres.len() as u64,
            positions_metres,
            ..plca::Params::spread(0, 0.0)
        })
    }

    fn check(&self, site: &Site, problems: &mut Vec<Problem<String>>) {
        let metres = self.length.metres();
        let site = if self.plca { site.spanning(metres) } else { site.ends(metres) };
        problems.extend(refusal(self.model(site)));
        if metres > GUARANTEED_METRES {
            let message = "IEEE 802.3cg promises 25 m of a multidrop segment, and no more";
            let problem = Problem::warning("medium.length", message);
            problems.push(problem.help("a longer one may work with few stations"));
        }
    }
}
