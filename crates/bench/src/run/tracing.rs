//! Trace of a run's medium, passed on while the run goes on.

use sim::medium::Medium;
use sim::medium::trace::{Activity, Trace};
use sim::world::World;
use stack::station::Station;
use wire::time::Instant;

/// Destination of the trace of a run.
pub struct Tracing<'a> {
    /// Start of the window; frames before it are passed on too.
    pub from: Instant,
    /// End of the window.
    pub until: Instant,
    /// Receives each activity of the medium, in the order in which they ended.
    pub sink: &'a mut dyn FnMut(&Activity),
    /// Start of the first activity that found no room in the trace, set at the end of the run.
    pub cut_at: Option<Instant>,
}

impl Tracing<'_> {
    pub(super) fn begin<M: Medium, S: Station>(&self, world: &mut World<M, S>) {
        world.begin_trace(Trace::new(self.from, self.until));
    }

    pub(super) fn pass_on<M: Medium, S: Station>(&mut self, world: &mut World<M, S>) {
        world.take_activities().iter().for_each(&mut *self.sink);
    }

    pub(super) fn end<M: Medium, S: Station>(&mut self, world: &mut World<M, S>) {
        let Some(mut trace) = world.end_trace() else { return };
        trace.take().iter().for_each(&mut *self.sink);
        self.cut_at = trace.cut_at();
    }
}
