//! Allocation of resources: steps of work that wait, run, are suspended and end.

use super::{Level, Resource};
use core::cmp::Reverse;
use core::ops::Bound;
use core::time::Duration;
use std::collections::BTreeMap;
use wire::time::Instant;

/// Busy time of a resource, completed work only.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Usage {
    /// Name.
    pub name: String,
    /// True for a processor.
    pub is_processor: bool,
    /// Busy time.
    pub busy: Duration,
}

/// Part of a task that ran without interruption.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Work {
    /// Name of the task.
    pub task: String,
    /// True if a processor took part; false for a transfer alone.
    pub on_processor: bool,
    /// Number of the frame; older ones are smaller.
    pub frame: u64,
    /// Start.
    pub begin: Instant,
    /// End.
    pub end: Instant,
}

/// Next step of work for a frame.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// Number of the frame; older ones are smaller. A frame has one step at a time.
    pub(super) job: u64,
    pub(super) task: String,
    pub(super) uses: Vec<usize>,
    pub(super) level: Level,
    /// Remaining duration.
    pub(super) left: Duration,
}

#[derive(Clone, Debug)]
struct Running {
    step: Step,
    since: Instant,
}

impl Running {
    fn ends(&self) -> Instant {
        self.since + self.step.left
    }
}

/// Rank of a step: the higher level first, then the older frame.
type Rank = (Reverse<Level>, u64);

/// Resources of a machine and the work that they do.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    usage: Vec<Usage>,
    by_task: BTreeMap<String, Duration>,
    waiting: BTreeMap<Rank, Step>,
    running: Vec<Running>,
    /// Work in the order in which it ended, if recording is on.
    record: Option<Vec<Work>>,
}

impl Schedule {
    pub(super) fn new(resources: &[Resource]) -> Self {
        let usage = resources.iter().map(|resource| Usage {
            name: resource.name.clone(),
            is_processor: resource.is_processor,
            busy: Duration::ZERO,
        });
        Self {
            usage: usage.collect(),
            by_task: BTreeMap::new(),
            waiting: BTreeMap::new(),
            running: Vec::new(),
            record: None,
        }
    }

    /// Records work from now on.
    pub(super) fn record(&mut self) {
        self.record.get_or_insert_default();
    }

    /// Recorded work.
    pub(super) fn work(&self) -> &[Work] {
        self.record.as_deref().unwrap_or_default()
    }

    pub(super) fn usage(&self) -> &[Usage] {
        &self.usage
    }

    pub(super) const fn by_task(&self) -> &BTreeMap<String, Duration> {
        &self.by_task
    }

    /// Queues a step.
    pub(super) fn put(&mut self, step: Step) {
        self.waiting.insert((Reverse(step.level), step.job), step);
    }

    /// Time at which the next step ends.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.running.iter().map(Running::ends).min()
    }

    /// Frame whose step has ended by `now`: the step that ended first, and of equal times the older
    /// frame.
    pub(super) fn finished(&mut self, now: Instant) -> Option<u64> {
        self.dispatch(now);
        let ended = self.running.iter().enumerate().filter(|(_, running)| running.ends() <= now);
        let (place, _) = ended.min_by_key(|(_, running)| (running.ends(), running.step.job))?;
        let running = self.running.swap_remove(place);
        self.account(&running.step, running.since, running.step.left);
        self.dispatch(now);
        Some(running.step.job)
    }

    fn account(&mut self, step: &Step, since: Instant, busy: Duration) {
        let on_processor = step.uses.iter().any(|resource| self.usage[*resource].is_processor);
        if let Some(record) = self.record.as_mut().filter(|_| !busy.is_zero()) {
            let (task, frame) = (step.task.clone(), step.job);
            record.push(Work { task, on_processor, frame, begin: since, end: since + busy });
        }
        for resource in &step.uses {
            self.usage[*resource].busy += busy;
        }
        *self.by_task.entry(step.task.clone()).or_default() += busy;
    }

    /// Starts every step that can start.
    fn dispatch(&mut self, now: Instant) {
        if self.waiting.is_empty() {
            return;
        }
        // Resources that a step of higher rank waits for.
        let mut claimed = Vec::new();
        let mut suspended = Vec::new();
        let mut behind = Bound::Unbounded;
        while let Some(rank) = self.next_to_begin(behind, &mut claimed, now) {
            behind = Bound::Excluded(rank);
            let step = self.waiting.remove(&rank).expect("the step was waiting just now");
            self.suspend_for(&step, now, &mut suspended);
            self.running.push(Running { step, since: now });
        }
        suspended.into_iter().for_each(|step| self.put(step));
    }

    /// First step behind the rank `behind` that can start; steps that cannot claim their resources.
    fn next_to_begin(
        &self,
        behind: Bound<Rank>,
        claimed: &mut Vec<usize>,
        now: Instant,
    ) -> Option<Rank> {
        let mut steps = self.waiting.range((behind, Bound::Unbounded));
        let next = steps.find(|(_, step)| {
            let is_claimed = step.uses.iter().any(|resource| claimed.contains(resource));
            if !is_claimed && self.may_begin(step, now) {
                return true;
            }
            for resource in &step.uses {
                if !claimed.contains(resource) {
                    claimed.push(*resource);
                }
            }
            false
        });
        next.map(|(rank, _)| *rank)
    }

    /// Returns whether every running step that holds one of this step's resources can be suspended
    /// for it.
    fn may_begin(&self, step: &Step, now: Instant) -> bool {
        self.running.iter().filter(|running| overlap(&running.step, step)).all(|running| {
            let on_processors =
                running.step.uses.iter().all(|resource| self.usage[*resource].is_processor);
            running.step.level < step.level && on_processors && running.ends() > now
        })
    }

    fn suspend_for(&mut self, step: &Step, now: Instant, all: &mut Vec<Step>) {
        while let Some(place) = self.running.iter().position(|running| overlap(&running.step, step))
        {
            let Running { step: mut suspended, since } = self.running.swap_remove(place);
            let done = now.since(since);
            self.account(&suspended, since, done);
            suspended.left = suspended.left.saturating_sub(done);
            all.push(suspended);
        }
    }
}

fn overlap(one: &Step, other: &Step) -> bool {
    one.uses.iter().any(|resource| other.uses.contains(resource))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: usize = 0;
    const BUS: usize = 1;

    fn schedule() -> Schedule {
        let resource = |name: &str| Resource { name: name.to_owned(), is_processor: name == "cpu" };
        Schedule::new(&[resource("cpu"), resource("bus")])
    }

    fn step(job: u64, level: Level, uses: &[usize], left_us: u64) -> Step {
        let left = Duration::from_micros(left_us);
        Step { job, task: format!("task {job}"), uses: uses.to_vec(), level, left }
    }

    /// Submits steps at their times; returns the end time in microseconds and the frame of each.
    fn run(schedule: &mut Schedule, steps: Vec<(u64, Step)>) -> Vec<(u64, u64)> {
        let mut steps = steps.into_iter().peekable();
        let mut ended = Vec::new();
        loop {
            let next = schedule.deadline().map(|at| at.as_nanos() / 1_000);
            let Some(now_us) = next.into_iter().chain(steps.peek().map(|(at, _)| *at)).min() else {
                return ended;
            };
            let now = Instant::from_nanos(now_us * 1_000);
            while let Some((_, step)) = steps.next_if(|(at, _)| *at == now_us) {
                schedule.put(step);
            }
            while let Some(job) = schedule.finished(now) {
                ended.push((now_us, job));
            }
        }
    }

    #[test]
    fn an_interrupt_suspends_base_work_which_then_goes_on() {
        let mut it = schedule();
        // 1 works 0..40, is suspended 40..70 and works its other 60 until 130. 2 waits for 1.
        let steps = vec![
            (0, step(1, Level::Base, &[CPU], 100)),
            (10, step(2, Level::Base, &[CPU], 5)),
            (40, step(3, Level::Interrupt, &[CPU], 30)),
        ];
        it.record();
        assert_eq!(run(&mut it, steps), [(70, 3), (130, 1), (135, 2)]);
        let micros = |at: Instant| at.as_nanos() / 1_000;
        let parts = it.work().iter().map(|it| (it.frame, micros(it.begin), micros(it.end)));
        let expected = [(1, 0, 40), (3, 40, 70), (1, 70, 130), (2, 130, 135)];
        assert_eq!(parts.collect::<Vec<_>>(), expected);
        assert_eq!(it.usage()[CPU].busy, Duration::from_micros(135));
        assert_eq!(it.by_task()["task 1"], Duration::from_micros(100));
    }

    #[test]
    fn interrupts_do_not_suspend_each_other_nor_a_transfer() {
        let mut it = schedule();
        let steps = vec![
            (0, step(1, Level::Base, &[CPU, BUS], 50)),
            (10, step(2, Level::Interrupt, &[CPU], 20)),
            (60, step(3, Level::Interrupt, &[CPU], 10)),
        ];
        assert_eq!(run(&mut it, steps), [(50, 1), (70, 2), (80, 3)]);
    }

    #[test]
    fn a_step_waiting_for_two_resources_reserves_both() {
        let mut it = schedule();
        // Step 2 needs the bus until 30; step 3, which could have had the processor, comes after
        // it.
        let steps = vec![
            (0, step(1, Level::Base, &[BUS], 30)),
            (5, step(2, Level::Base, &[CPU, BUS], 10)),
            (6, step(3, Level::Base, &[CPU], 7)),
        ];
        assert_eq!(run(&mut it, steps), [(30, 1), (40, 2), (47, 3)]);
        assert_eq!(it.usage()[BUS].busy, Duration::from_micros(40));
        assert_eq!(it.usage()[CPU].busy, Duration::from_micros(17));
    }

    #[test]
    fn resources_work_in_parallel() {
        let mut it = schedule();
        let steps =
            vec![(0, step(1, Level::Base, &[CPU], 30)), (0, step(2, Level::Base, &[BUS], 20))];
        assert_eq!(run(&mut it, steps), [(20, 2), (30, 1)]);
    }
}
