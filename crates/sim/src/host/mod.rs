//! Processing cost of a station's machine: the same station behind processors, buses and tasks.
//!
//! ```text
//!   station.work ─▶ tasks of that layer and kind ─▶ station.worked
//!   station.poll ─▶ send ─▶ [buffer] ─▶ write ─▶ medium ─▶ (returned) ─▶ complete ─▶ .transmitted
//!   medium ─▶ [buffer] ─▶ read ─▶ [buffer free] ─▶ receive ─▶ station.receive
//! ```
//!
//! Each word between two arrows is a list of [`Task`]s. Each task holds one or more [`Resource`]s
//! exclusively for the time given by its [`Cost`]; a frame whose next resource is taken waits for
//! it. When the last task is done, the station is called, and the frames it then sends take the
//! same way out. The protocol machines are unchanged: without tasks, and with an interface that has
//! room for every frame, a station is called at the same times as without a machine.
//!
//! Order of tasks: [`Level::Interrupt`] before [`Level::Base`], and within a level the older frame
//! first. A task that waits for a resource reserves it against later tasks. An interrupt suspends
//! base tasks that run on processors alone; they then resume. A transfer over a bus is not
//! suspended.
//!
//! In addition to the work on frames, a layer may request work on a data unit: a message that crosses between
//! the user's processor and a front end (`submit` downwards, `deliver` upwards), a TPDU, an
//! acknowledgement ([`stack::station::Charge`]). The data unit waits until its tasks are done. Messages
//! cross in interface data units that tasks may charge for.
//!
//! Not modelled: other transfers between two units of one message; the time of timers and of the
//! user's program; processor cycles stolen by a transfer, unless the transfer's task takes the
//! processor itself; task switching, unless the costs include it; memory exhaustion.

mod buffers;
mod schedule;
mod with_cpu;

pub use schedule::{Usage, Work};
pub use with_cpu::{Counters, WithCpu};

use core::time::Duration;
use stack::station::Charge;
use std::collections::{BTreeMap, BTreeSet};
use wire::addr::Sap;

/// Exclusive resource, which does one thing at a time: a processor, a bus, a DMA channel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resource {
    /// Name.
    pub name: String,
    /// True for a processor: its time is CPU time and its work can be interrupted.
    pub is_processor: bool,
}

/// Urgency of a task.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// Base level: work between interrupts.
    Base,
    /// Interrupt level.
    Interrupt,
}

/// Duration of a task: a fixed part, parts for each octet and unit, and a minimum.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// Time for each frame.
    pub fixed: Duration,
    /// Time for each octet of the frame's data, in picoseconds.
    pub octet_picos: u64,
    /// Time for each octet over which software computes a CRC, or the checksum of class 4, in
    /// picoseconds.
    pub checked_octet_picos: u64,
    /// Time for each interface data unit of at most `unit_octets` into which the data are cut: at
    /// least one unit. Not charged if `unit_octets` is 0.
    pub unit: Duration,
    /// Maximum number of octets in a unit.
    pub unit_octets: usize,
    /// Time charged once if there is more than one unit.
    pub divided: Duration,
    /// Minimum time, where a concurrent activity hides the first octets.
    pub least: Duration,
}

impl Cost {
    /// Time for a frame with `octets` of data, of which `checked_octets` are checked.
    #[must_use]
    pub fn of(&self, octets: usize, checked_octets: usize) -> Duration {
        let each = |count: usize, picos: u64| u128::from(picos) * count as u128;
        let picos = each(octets, self.octet_picos) + each(checked_octets, self.checked_octet_picos);
        let nanos = u64::try_from((picos + 500) / 1_000).unwrap_or(u64::MAX);
        let whole = self.fixed.saturating_add(Duration::from_nanos(nanos));
        whole.saturating_add(self.of_units(octets)).max(self.least)
    }

    fn of_units(&self, octets: usize) -> Duration {
        if self.unit_octets == 0 {
            return Duration::ZERO;
        }
        let units = octets.div_ceil(self.unit_octets).max(1);
        let each = self.unit.saturating_mul(u32::try_from(units).unwrap_or(u32::MAX));
        let divided = if units > 1 { self.divided } else { Duration::ZERO };
        each.saturating_add(divided)
    }
}

/// Work done for each frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Task {
    /// Name, under which its time is summed.
    pub name: String,
    /// Resources that it holds exclusively, as indices into [`Params::resources`]. Without any, it is a
    /// delay: the data unit waits, and all other work goes on. Only requested work may be one.
    pub uses: Vec<usize>,
    /// Urgency.
    pub level: Level,
    /// Duration.
    pub cost: Cost,
    /// LLC service access point whose frames and messages incur the task; all if `None`.
    pub sap: Option<Sap>,
}

impl Task {
    /// Share of a frame's checked octets, sent to `sap`, that this task processes: transport's
    /// tasks compute the checksum of TPDUs, and those of LLC the CRC of messages.
    pub(super) fn checked(&self, sap: Option<Sap>, octets: usize) -> usize {
        let is_transport = sap == Some(Sap::ISO_NETWORK);
        if self.sap.is_some() == is_transport { octets } else { 0 }
    }
}

/// Tasks of a machine, each list in the order of execution.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tasks {
    /// Before a message of a user, who runs on one processor, reaches the protocols on another.
    pub submit: Vec<Task>,
    /// Before a message from the protocols reaches the user.
    pub deliver: Vec<Task>,
    /// Of the other layers, by layer and kind.
    pub layers: BTreeMap<Charge, Vec<Task>>,
    /// Before a frame that the station sends gets the interface's buffer.
    pub send: Vec<Task>,
    /// With the buffer, before the medium gets the frame.
    pub write: Vec<Task>,
    /// After the medium is done with the frame, before the station is notified.
    pub complete: Vec<Task>,
    /// While a frame that arrived holds the buffer.
    pub read: Vec<Task>,
    /// After the buffer is free again, before the station gets the frame.
    pub receive: Vec<Task>,
}

impl Tasks {
    /// Tasks of a layer.
    #[must_use]
    pub fn of(&self, charge: Charge) -> &[Task] {
        match charge {
            Charge::DOWN => &self.submit,
            Charge::UP => &self.deliver,
            other => self.layers.get(&other).map(Vec::as_slice).unwrap_or_default(),
        }
    }

    /// Work of layers that takes time. A machine with a front end charges messages both ways.
    #[must_use]
    pub fn charged(&self) -> BTreeSet<Charge> {
        let has_front_end = !self.submit.is_empty() || !self.deliver.is_empty();
        let crossing = [Charge::DOWN, Charge::UP].into_iter().filter(|_| has_front_end);
        crossing.chain(self.layers.keys().copied()).collect()
    }
}

/// Buffers of the network interface.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Interface {
    /// Room for every frame.
    Unlimited,
    /// One buffer for an outgoing frame, from its writing until the medium is done with it, and one
    /// for an incoming frame, until it is read.
    Separate,
    /// One buffer for both directions: writing, transmission and reading never overlap.
    Shared,
}

/// Treatment of a frame that arrives while the buffer is taken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NoBuffer {
    /// The medium asks [`stack::station::Station::has_receive_buffer`] and refuses the frame, as a
    /// ring does. A frame admitted before the buffer was taken gets it next.
    Refused,
    /// The frame is lost.
    Lost,
}

/// Parameters of a machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Params {
    /// Processors, buses and channels.
    pub resources: Vec<Resource>,
    /// Tasks of the resources.
    pub tasks: Tasks,
    /// Network interface.
    pub interface: Interface,
    /// Treatment of a frame that finds no buffer.
    pub no_buffer: NoBuffer,
    /// Maximum number of outgoing frames; further frames are dropped.
    pub queue_frames: usize,
}

impl Params {
    /// Machine that takes no time.
    #[must_use]
    pub fn ideal() -> Self {
        Self {
            resources: Vec::new(),
            tasks: Tasks::default(),
            interface: Interface::Unlimited,
            no_buffer: NoBuffer::Refused,
            queue_frames: 1_000,
        }
    }

    /// Checks that each task names existing resources, each once.
    ///
    /// # Errors
    /// Names the first task that does not.
    pub fn check(&self) -> Result<(), Invalid> {
        let Tasks { submit, deliver, layers, send, write, complete, read, receive } = &self.tasks;
        let lists = [submit, deliver, send, write, complete, read, receive];
        let of_layers = layers.values().flatten().map(|task| (task, true));
        let of_frames = lists.into_iter().flatten().map(|task| (task, false));
        for (task, may_delay) in of_frames.chain(of_layers) {
            let is_without = task.uses.is_empty() && !may_delay;
            let twice = task.uses.iter().enumerate().any(|(i, one)| task.uses[..i].contains(one));
            let missing = task.uses.iter().any(|resource| *resource >= self.resources.len());
            if is_without || twice || missing {
                return Err(Invalid::Resources { task: task.name.clone() });
            }
        }
        if self.queue_frames == 0 { Err(Invalid::Queue) } else { Ok(()) }
    }
}

/// Reason why a machine's parameters are inconsistent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Invalid {
    /// A task names no resource, one resource twice, or a missing resource.
    Resources {
        /// The task.
        task: String,
    },
    /// The outgoing queue has no room.
    Queue,
}

impl core::fmt::Display for Invalid {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Resources { task } => write!(
                f,
                "the task \"{task}\" names no resource, the same resource twice, or a missing resource"
            ),
            Self::Queue => f.write_str("the outgoing queue has no room for a frame"),
        }
    }
}

impl core::error::Error for Invalid {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_fixed_and_by_octet_and_no_less_than_its_least() {
        let cost = Cost {
            fixed: Duration::from_micros(830),
            octet_picos: 2_457_300,
            checked_octet_picos: 30_000_000,
            ..Cost::default()
        };
        // 830 us + 100 x 2.4573 us = 1,075.73 us; + 97 x 30 us = 3,985.73 us.
        assert_eq!(cost.of(100, 0), Duration::from_nanos(1_075_730));
        assert_eq!(cost.of(100, 97), Duration::from_nanos(3_985_730));
        let floor = Cost { least: Duration::from_micros(1_000), ..cost };
        assert_eq!(floor.of(10, 0), Duration::from_micros(1_000), "854.573 us are hidden");
        assert_eq!(floor.of(100, 0), cost.of(100, 0));
    }

    #[test]
    fn a_message_of_several_interface_data_units_costs_extra() {
        let (unit, divided) = (Duration::from_micros(500), Duration::from_millis(3));
        let cost = Cost { unit, unit_octets: 1_024, divided, ..Cost::default() };
        let millis = |octets| cost.of(octets, 0).as_secs_f64() * 1e3;
        // 1,025 octets make 2 units: 2 x 0.5 ms + 3 ms.
        assert_eq!([0, 1_024, 1_025, 4_097].map(millis), [0.5, 0.5, 4.0, 5.5]);
    }

    #[test]
    fn a_task_without_its_resource_is_refused() {
        let task = |uses| Task {
            name: "read".to_owned(),
            uses,
            level: Level::Base,
            cost: Cost::default(),
            sap: None,
        };
        let mut params = Params::ideal();
        assert_eq!(params.check(), Ok(()));
        params.resources = vec![Resource { name: "cpu".to_owned(), is_processor: true }];
        for (uses, is_right) in
            [(vec![0], true), (vec![], false), (vec![1], false), (vec![0, 0], false)]
        {
            params.tasks.read = vec![task(uses)];
            assert_eq!(params.check().is_ok(), is_right);
        }
        params.tasks.read = Vec::new();
        params.tasks.layers.insert(Charge::UP, vec![task(vec![])]);
        assert_eq!(params.check(), Ok(()), "requested work may be a delay");
        assert_eq!(Params { queue_frames: 0, ..Params::ideal() }.check(), Err(Invalid::Queue));
    }
}
