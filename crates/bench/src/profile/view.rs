//! A profile as it is shown: its resources, tasks and costs, with names instead of numbers.

use super::{Input, Layer, Profile, Stage, Work};
use crate::scenario::MediumKind;
use sim::host::{Interface, Level};
use stack::station::{WorkKind, WorkLayer};

/// A resource of a machine.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ResourceView<'a> {
    /// Its name.
    pub name: &'a str,
    /// True for a processor.
    pub is_processor: bool,
    /// The input that gives its relative speed.
    pub speed: Option<&'a Input>,
}

/// A task of a machine.
#[derive(Clone, PartialEq, Debug)]
pub struct TaskView<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its stage in the processing of a frame.
    pub stage: &'static str,
    /// Its layer.
    pub layer: &'static str,
    /// The only medium on which it is done; all media if none.
    pub medium: Option<&'static str>,
    /// Its urgency.
    pub level: &'static str,
    /// The resources that it occupies.
    pub uses: Vec<&'a str>,
    /// The parts of its cost.
    pub costs: Vec<CostView<'a>>,
}

/// A part of a task's cost.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CostView<'a> {
    /// The key of the part.
    pub part: &'static str,
    /// The input that gives it.
    pub input: &'a Input,
}

impl Profile {
    /// The buffering of its network interface, in the file's terms.
    #[must_use]
    pub const fn interface(&self) -> &'static str {
        match self.interface {
            Interface::Unlimited => "unlimited",
            Interface::Separate => "separate",
            Interface::Shared => "shared",
        }
    }

    /// Its resources.
    pub fn resources(&self) -> impl Iterator<Item = ResourceView<'_>> {
        self.resources.iter().map(|machinery| ResourceView {
            name: &machinery.resource.name,
            is_processor: machinery.resource.is_processor,
            speed: machinery.speed.and_then(|input| self.inputs.get(input)),
        })
    }

    /// Its tasks in their order.
    pub fn tasks(&self) -> impl Iterator<Item = TaskView<'_>> {
        self.works.iter().map(|work| TaskView {
            name: &work.name,
            stage: work.stage.name(),
            layer: layer(work),
            medium: work.medium.map(MediumKind::name),
            level: match work.level {
                Level::Base => "base",
                Level::Interrupt => "interrupt",
            },
            uses: work
                .uses
                .iter()
                .filter_map(|resource| Some(self.resources.get(*resource)?.resource.name.as_str()))
                .collect(),
            costs: self.costs(work),
        })
    }

    fn costs(&self, work: &Work) -> Vec<CostView<'_>> {
        let parts = work.cost.parts().into_iter();
        let view = |(part, input): (_, Option<usize>)| {
            Some(CostView { part, input: self.inputs.get(input?)? })
        };
        parts.filter_map(view).collect()
    }
}

impl Stage {
    const fn name(self) -> &'static str {
        match self {
            Self::Submit => "submit",
            Self::Deliver => "deliver",
            Self::Send => "send",
            Self::Write => "write",
            Self::Complete => "complete",
            Self::Read => "read",
            Self::Receive => "receive",
            Self::Layer(charge) => kind(charge.kind),
        }
    }
}

/// The name of a kind of work.
const fn kind(kind: WorkKind) -> &'static str {
    match kind {
        WorkKind::Down => "down",
        WorkKind::Up => "up",
        WorkKind::Segment => "segment",
        WorkKind::MakeAk => "make-ack",
        WorkKind::TakeAk => "take-ack",
        WorkKind::Confirm => "confirm",
        WorkKind::Open => "open",
        WorkKind::Close => "close",
        WorkKind::Access => "access",
    }
}

const fn layer(work: &Work) -> &'static str {
    if let Some(at) = work.requested_by() {
        return match at {
            WorkLayer::User => "user",
            WorkLayer::Case => "case",
            WorkLayer::Mms => "mms",
            WorkLayer::Session => "session",
            WorkLayer::Transport => "transport",
            WorkLayer::Network => "network",
        };
    }
    match (work.layer, work.sap) {
        (Layer::Mac, _) => "mac",
        (Layer::Llc, None) => "llc",
        (Layer::Llc, Some(_)) => "transport",
    }
}
