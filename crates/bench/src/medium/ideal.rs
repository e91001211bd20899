//! An ideal wire: every station sends without waiting for another.

use super::{Kind, MediumKind, Model, Shape, Site};
use crate::scenario::fields::Fields;
use crate::scenario::problem::Problem;
use crate::scenario::quantity::{Rate, Span};
use core::time::Duration;
use schemars::JsonSchema;
use serde::Serialize;
use sim::medium::framing::Framing;
use sim::medium::ideal::Params;

/// Keys of an ideal wire.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(deny_unknown_fields)]
pub struct Ideal {
    /// The bit rate of each station.
    pub rate: Rate,
    /// From any station to any other; none if not given.
    #[schemars(with = "Option<Span>")]
    pub delay: Span,
}

impl Kind for Ideal {
    const KIND: MediumKind = MediumKind::Ideal;

    fn read(fields: &mut Fields<'_, '_>, problems: &mut Vec<Problem>) -> Option<Self> {
        let rate = fields.required("rate", problems);
        let delay = fields.optional("delay", problems);
        Some(Self { rate: rate?, delay: delay.unwrap_or(Span(Duration::ZERO)) })
    }

    fn rate(&self) -> Rate {
        self.rate
    }

    fn shape(&self) -> Shape {
        Shape::Separate
    }

    fn model(&self, _: Site) -> Model {
        Model::Ideal(Params {
            rate: Some(self.rate.0),
            propagation: self.delay.0,
            framing: Framing::IEEE_802_3,
            queue_frames: 0,
        })
    }
}
