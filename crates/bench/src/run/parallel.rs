//! Parallel execution of all runs of a study, with results in the order of the study.

use super::{RunError, Watch, run_watched};
use crate::folder::hash;
use crate::sample::Sample;
use crate::scenario::Study;
use core::ops::ControlFlow;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::collections::BTreeMap;
use std::sync::mpsc;
use std::thread;

/// Execution plan of a study.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plan {
    /// Number of replications of each point, instead of the scenario's.
    pub replications: Option<u64>,
    /// Number of concurrent runs; at least one.
    pub jobs: usize,
}

/// Runs made earlier, by point and replication.
pub type Made = BTreeMap<(usize, u64), Sample>;

/// Makes every run of a study and passes its samples to `each`, by point and replication regardless
/// of the threads, until `each` breaks off. Once `stop` is set, runs end early and are reported as
/// incomplete, and no further ones begin.
///
/// # Errors
/// The error of the first run that cannot be made; earlier samples have been passed on.
pub fn run_all(
    study: &Study,
    plan: Plan,
    stop: &AtomicBool,
    each: impl FnMut(Sample) -> ControlFlow<()>,
) -> Result<(), RunError> {
    let runs = all_runs(study, plan);
    run_these(study, &runs, &Made::new(), plan.jobs, stop, each)
}

/// All runs of a study in order: point and replication.
#[must_use]
pub fn all_runs(study: &Study, plan: Plan) -> Vec<(usize, u64)> {
    let points = study.points.iter();
    points
        .flat_map(|point| {
            let replications = plan.replications.unwrap_or(point.scenario.replications);
            (0..replications).map(|replication| (point.index, replication))
        })
        .collect()
}

/// Makes these runs, except those made earlier, and passes all their samples to `each` in this
/// order, like [`run_all`].
///
/// # Errors
/// Errors of [`run_all`].
pub fn run_these(
    study: &Study,
    runs: &[(usize, u64)],
    made: &Made,
    jobs: usize,
    stop: &AtomicBool,
    mut each: impl FnMut(Sample) -> ControlFlow<()>,
) -> Result<(), RunError> {
    let bases = study.bases.iter().map(|(name, base)| format!("\0{name}\0{}", base.text));
    let scenario_hash = hash(&(study.source.file_text().to_owned() + &bases.collect::<String>()));
    let make = |index: usize, abandoned: &AtomicBool| {
        let is_interrupted = || stop.load(Ordering::Relaxed) || abandoned.load(Ordering::Relaxed);
        let (point, replication) = *runs.get(index).filter(|_| !is_interrupted())?;
        if let Some(sample) = made.get(&(point, replication)) {
            return Some(Ok(sample.clone()));
        }
        let mut watch =
            Watch { tap: None, is_interrupted: &is_interrupted, messages: None, trace: None };
        Some(run_watched(study.points.get(point)?, &scenario_hash, replication, &mut watch))
    };
    let mut told = Ok(());
    in_order(runs.len(), jobs, make, |result| match result {
        Ok(sample) => each(sample),
        Err(error) => {
            told = Err(error);
            ControlFlow::Break(())
        }
    });
    told
}

/// Does `count` pieces of work, `jobs` at a time, and passes the results to `each` in the order of
/// their numbers, regardless of the threads, until `each` breaks off or a piece has no result.
/// `work` can check whether its result is still needed.
pub fn in_order<T: Send>(
    count: usize,
    jobs: usize,
    work: impl Fn(usize, &AtomicBool) -> Option<T> + Sync,
    mut each: impl FnMut(T) -> ControlFlow<()>,
) {
    let next = AtomicUsize::new(0);
    let abandoned = AtomicBool::new(false);
    let work = |results: &mpsc::SyncSender<(usize, T)>| {
        while !abandoned.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(result) = (index < count).then(|| work(index, &abandoned)).flatten() else {
                break;
            };
            if results.send((index, result)).is_err() {
                break;
            }
        }
    };
    let jobs = jobs.clamp(1, count.max(1));
    thread::scope(|scope| {
        let (sender, results) = mpsc::sync_channel(jobs);
        for _ in 0..jobs {
            let sender = sender.clone();
            scope.spawn(|| {
                let sender = sender;
                work(&sender);
            });
        }
        drop(sender);
        tell(results, &mut each);
        abandoned.store(true, Ordering::Relaxed);
    });
}

/// Passes results on in the order of their index, and stops at the first gap that remains.
fn tell<T>(results: mpsc::Receiver<(usize, T)>, each: &mut impl FnMut(T) -> ControlFlow<()>) {
    let mut early = BTreeMap::new();
    let mut due = 0;
    for (index, result) in results {
        early.insert(index, result);
        while let Some(result) = early.remove(&due) {
            due += 1;
            if each(result).is_break() {
                return;
            }
        }
    }
}
