//! What a station's machine costs: the same station behind processors, buses and tasks.
//!
//! ```text
//!   station.crossing ─▶ submit or deliver ─▶ station.crossed       user data, where it crosses
//!   station.poll ─▶ send ─▶ [buffer] ─▶ write ─▶ medium ─▶ (returned) ─▶ complete ─▶ .transmitted
//!   medium ─▶ [buffer] ─▶ read ─▶ [buffer free] ─▶ receive ─▶ station.receive
//! ```
//!
//! Each word between two arrows is a list of [`Task`]s, and each task has one or more [`Resource`]s
//! to itself for as long as its [`Cost`] says. What a frame is about to do waits in front of a
//! resource that is taken. When the last task is done the station is called, and what it then sends
//! goes the same way out. The protocol machines are not touched: without tasks, and with an
//! interface that has room for every frame, a station is called when it would be called anyway.
//!
//! Which task comes next: those of [`Level::Interrupt`] before those of [`Level::Base`], and of one
//! level those of the older frame. A task that waits for a resource keeps later ones off it. An
//! interrupt suspends base tasks that run on processors alone; they go on where they were. A transfer
//! over a bus is not suspended.
//!
//! A station may have its user on one processor and its protocols on another, a front end: then each
//! message crosses, downwards after the tasks of `submit` and upwards after those of `deliver`, in
//! interface data units that its tasks may charge for.
//!
//! Not modelled: other transfers between two units of one message; the time that timers and the user's program take; cycles that a transfer steals from
//! a processor, but where the transfer's task takes the processor itself; switching between tasks,
//! but where it is in their costs; memory that runs out.

mod buffers;
mod costed;
mod schedule;

pub use costed::{Costed, Counters};
pub use schedule::{Usage, Work};

use core::time::Duration;
use wire::addr::Sap;

/// Something that does one thing at a time: a processor, a bus, a DMA channel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resource {
    /// What it is called.
    pub name: String,
    /// Whether it is a processor, so that its time is CPU time and its work can be interrupted.
    pub is_processor: bool,
}

/// How urgent a task is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// What a processor does between interrupts.
    Base,
    /// What an interrupt makes it do.
    Interrupt,
}

/// How long a task takes: a fixed part, a part for each octet, and no less than a least.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// For each frame.
    pub fixed: Duration,
    /// For each octet of the frame's data, in picoseconds.
    pub octet_picos: u64,
    /// For each octet over which software makes or checks a CRC, or the checksum of class 4, in
    /// picoseconds.
    pub checked_octet_picos: u64,
    /// For each interface data unit, of so many octets, that the data are cut into: one at the least.
    /// None where there are no octets in a unit.
    pub unit: Duration,
    /// The most octets in a unit.
    pub unit_octets: usize,
    /// Once, where there is more than one unit.
    pub divided: Duration,
    /// The least, where something else that goes on meanwhile hides the first octets.
    pub least: Duration,
}

impl Cost {
    /// How long it takes for a frame with so many octets of data, so many of them checked.
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

/// Work for each frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Task {
    /// What it is called; its time is added up under this name.
    pub name: String,
    /// The resources that it has to itself, by their places in [`Params::resources`].
    pub uses: Vec<usize>,
    /// How urgent it is.
    pub level: Level,
    /// How long it takes.
    pub cost: Cost,
    /// Only frames and messages of this LLC service access point cost it; all if none is named.
    pub sap: Option<Sap>,
}

impl Task {
    /// Of the checked octets of a frame to a SAP those that are its own: transport's tasks make and
    /// check the checksum of TPDUs, and those of LLC the CRC of messages.
    pub(super) fn checked(&self, sap: Option<Sap>, octets: usize) -> usize {
        let is_transport = sap == Some(Sap::ISO_NETWORK);
        if self.sap.is_some() == is_transport { octets } else { 0 }
    }
}

/// The tasks of a machine, in the order in which they are done.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Tasks {
    /// Before a message of a user, which is on one processor, reaches the protocols on another.
    pub submit: Vec<Task>,
    /// Before a message from the protocols reaches the user.
    pub deliver: Vec<Task>,
    /// Before a frame that the station sends gets the interface's buffer.
    pub send: Vec<Task>,
    /// With the buffer, before the medium gets the frame.
    pub write: Vec<Task>,
    /// After the medium is done with the frame, before the station hears of it.
    pub complete: Vec<Task>,
    /// While a frame that arrived holds the buffer.
    pub read: Vec<Task>,
    /// After that, before the station gets the frame.
    pub receive: Vec<Task>,
}

/// What room the network interface has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Interface {
    /// For every frame.
    Unlimited,
    /// For one frame going out, from its writing until the medium is done with it, and for one
    /// coming in, until it is read.
    Separate,
    /// For one frame, going out or coming in: writing, transmission and reading never overlap.
    Shared,
}

/// What becomes of a frame that arrives while the buffer is taken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum NoBuffer {
    /// The medium asks [`stack::station::Station::has_receive_buffer`] and refuses it, as a ring
    /// does. One that was let through before the buffer was taken gets it next.
    Refused,
    /// It is lost.
    Lost,
}

/// What a machine is like.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Params {
    /// Its processors, buses and channels.
    pub resources: Vec<Resource>,
    /// What they do.
    pub tasks: Tasks,
    /// Its network interface.
    pub interface: Interface,
    /// What becomes of a frame that finds no buffer.
    pub no_buffer: NoBuffer,
    /// How many frames may be on their way out; more are given up.
    pub queue_frames: usize,
}

impl Params {
    /// A machine that takes no time.
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

    /// Checks that each task has its resources, and none twice.
    ///
    /// # Errors
    /// Names the first task that has not.
    pub fn check(&self) -> Result<(), Invalid> {
        let Tasks { submit, deliver, send, write, complete, read, receive } = &self.tasks;
        for task in [submit, deliver, send, write, complete, read, receive].into_iter().flatten() {
            let twice = task.uses.iter().enumerate().any(|(i, one)| task.uses[..i].contains(one));
            let missing = task.uses.iter().any(|resource| *resource >= self.resources.len());
            if task.uses.is_empty() || twice || missing {
                return Err(Invalid::Resources { task: task.name.clone() });
            }
        }
        if self.queue_frames == 0 { Err(Invalid::Queue) } else { Ok(()) }
    }
}

/// Why there cannot be such a machine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Invalid {
    /// A task that uses nothing, a resource twice, or one that is not there.
    Resources {
        /// The task.
        task: String,
    },
    /// No room for any frame on its way out.
    Queue,
}

impl core::fmt::Display for Invalid {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Resources { task } => write!(
                f,
                "the task \"{task}\" uses no resource, one twice, or one that is not there"
            ),
            Self::Queue => f.write_str("there is no room for a frame on its way out"),
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
    fn interface_data_units_cost_each_and_a_message_of_several_once_more() {
        let (unit, divided) = (Duration::from_micros(500), Duration::from_millis(3));
        let cost = Cost { unit, unit_octets: 1_024, divided, ..Cost::default() };
        let millis = |octets| cost.of(octets, 0).as_secs_f64() * 1e3;
        // Of 1,025 octets there are 2 units: 2 x 0.5 ms + 3 ms.
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
        assert_eq!(Params { queue_frames: 0, ..Params::ideal() }.check(), Err(Invalid::Queue));
    }
}
