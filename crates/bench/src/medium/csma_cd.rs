//! Half-duplex ISO 8802-3 on one bus.

use super::{Kind, MediumKind, Model, Shape, Site, refusal};
use crate::scenario::fields::Fields;
use crate::scenario::problem::Problem;
use crate::scenario::quantity::{Length, Rate};
use schemars::JsonSchema;
use serde::Serialize;
use sim::medium::csma_cd::Params;

/// Keys of a bus with collisions.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub struct CsmaCd {
    /// The bit rate of the bus.
    pub rate: Rate,
    /// The length of the bus.
    pub length: Length,
}

impl Kind for CsmaCd {
    const KIND: MediumKind = MediumKind::CsmaCd;

    fn read(fields: &mut Fields<'_, '_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let rate = fields.required("rate", problems);
        let length = fields.required("length", problems);
        Some(Self { rate: rate?, length: length? })
    }

    fn rate(&self) -> Rate {
        self.rate
    }

    fn shape(&self) -> Shape {
        Shape::Line(self.length, "bus")
    }

    fn model(&self, site: Site) -> Model {
        Model::CsmaCd(Params {
            rate: self.rate.0,
            positions_metres: site.positions_metres,
            ..Params::spread(0, 0.0, site.seed)
        })
    }

    fn check(&self, site: &Site, problems: &mut Vec<Problem<String>>) {
        problems.extend(refusal(self.model(site.ends(self.length.metres()))));
    }
}
