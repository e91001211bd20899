//! Number of a shard in the environment of a job.

use crate::args::shard::Wanted;
use crate::exit::Failure;
use bench::run::Shard;

/// A scheduler, and the variables from which it lets a job know its place among the others.
struct Scheduler {
    name: &'static str,
    /// Number of the job.
    index: &'static str,
    /// Number of the first job.
    first: Known,
    /// Distance from one number to the next, if it can be set.
    step: Option<&'static str>,
    /// Number of them.
    all: All,
}

/// A number that is fixed, or in a variable.
enum Known {
    At(u64),
    In(&'static str),
}

/// Number of all jobs.
enum All {
    /// In this variable.
    Count(&'static str),
    /// Follows from the last number in this variable.
    Last(&'static str),
    /// Is in no variable.
    Unknown,
}

const SCHEDULERS: [Scheduler; 7] = [
    Scheduler {
        name: "Slurm",
        index: "SLURM_ARRAY_TASK_ID",
        first: Known::In("SLURM_ARRAY_TASK_MIN"),
        step: Some("SLURM_ARRAY_TASK_STEP"),
        all: All::Count("SLURM_ARRAY_TASK_COUNT"),
    },
    Scheduler {
        name: "Grid Engine",
        index: "SGE_TASK_ID",
        first: Known::In("SGE_TASK_FIRST"),
        step: Some("SGE_TASK_STEPSIZE"),
        all: All::Last("SGE_TASK_LAST"),
    },
    Scheduler {
        name: "LSF",
        index: "LSB_JOBINDEX",
        first: Known::At(1),
        step: Some("LSB_JOBINDEX_STEP"),
        all: All::Last("LSB_JOBINDEX_END"),
    },
    Scheduler {
        name: "PBS",
        index: "PBS_ARRAY_INDEX",
        first: Known::At(1),
        step: None,
        all: All::Unknown,
    },
    Scheduler {
        name: "GitLab",
        index: "CI_NODE_INDEX",
        first: Known::At(1),
        step: None,
        all: All::Count("CI_NODE_TOTAL"),
    },
    Scheduler {
        name: "CircleCI",
        index: "CIRCLE_NODE_INDEX",
        first: Known::At(0),
        step: None,
        all: All::Count("CIRCLE_NODE_TOTAL"),
    },
    Scheduler {
        name: "Buildkite",
        index: "BUILDKITE_PARALLEL_JOB",
        first: Known::At(0),
        step: None,
        all: All::Count("BUILDKITE_PARALLEL_JOB_COUNT"),
    },
];

/// The shard that is meant, by its number or by variables that `variable` returns.
///
/// # Errors
/// No scheduler has set its variables, or they name no shard.
pub(super) fn shard(
    wanted: Wanted,
    variable: impl Fn(&str) -> Option<String>,
) -> Result<Shard, Failure> {
    let given = match wanted {
        Wanted::This(shard) => return Ok(shard),
        Wanted::OfJob(given) => given,
    };
    let number = |name: &str| variable(name)?.parse::<u64>().ok();
    // LSF sets 0 and Grid Engine a word where a job is no part of an array.
    let of_array = |scheduler: &&Scheduler| match number(scheduler.index) {
        Some(0) => matches!(scheduler.first, Known::In(_) | Known::At(0)),
        index => index.is_some(),
    };
    let Some(scheduler) = SCHEDULERS.iter().find(of_array) else {
        let names: Vec<&str> = SCHEDULERS.iter().map(|scheduler| scheduler.index).collect();
        let message = format!("--shard auto: none of {} is set", names.join(", "));
        return Err(Failure::usage(message).with_fix("name the shard, such as --shard 3/40"));
    };
    let wrong = |what: &str| Failure::usage(format!("--shard auto: {} {what}", scheduler.name));
    let index = number(scheduler.index).unwrap_or_default();
    let first = match scheduler.first {
        Known::At(first) => first,
        Known::In(name) => number(name).ok_or_else(|| wrong(&format!("does not set {name}")))?,
    };
    let step = scheduler.step.and_then(number).filter(|step| *step > 0).unwrap_or(1);
    let place = |index: u64| index.checked_sub(first).map(|index| index / step + 1);
    let all = match (given, &scheduler.all) {
        (Some(given), _) => Some(given),
        (None, All::Count(name)) => number(name),
        (None, All::Last(name)) => number(name).and_then(place),
        (None, All::Unknown) => None,
    };
    let Some(all) = all else {
        let message = wrong("does not say how many jobs there are");
        return Err(message.with_fix("give their number, such as --shard auto/40"));
    };
    let shard = place(index).and_then(|number| Shard::new(number, all));
    shard.ok_or_else(|| {
        wrong(&format!("numbers this job {index}, which is none of {all} from {first}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard_in(wanted: Wanted, environment: &[(&str, &str)]) -> Result<String, String> {
        let variable = |name: &str| {
            let found = environment.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        match shard(wanted, variable) {
            Ok(shard) => Ok(shard.to_string()),
            Err(failure) => Err(failure.message().to_owned()),
        }
    }

    #[test]
    fn schedulers_number_jobs_in_their_own_ways() {
        let auto = Wanted::OfJob(None);
        // sbatch --array=10-40:10, the third task.
        let slurm = [
            ("SLURM_ARRAY_TASK_ID", "30"),
            ("SLURM_ARRAY_TASK_MIN", "10"),
            ("SLURM_ARRAY_TASK_STEP", "10"),
            ("SLURM_ARRAY_TASK_COUNT", "4"),
        ];
        assert_eq!(shard_in(auto, &slurm), Ok("3/4".to_owned()));
        // sbatch --array=0-3, the first task.
        let from_zero = [
            ("SLURM_ARRAY_TASK_ID", "0"),
            ("SLURM_ARRAY_TASK_MIN", "0"),
            ("SLURM_ARRAY_TASK_COUNT", "4"),
        ];
        assert_eq!(shard_in(auto, &from_zero), Ok("1/4".to_owned()));
        // qsub -t 2-8:2, the last task.
        let grid_engine = [
            ("SGE_TASK_ID", "8"),
            ("SGE_TASK_FIRST", "2"),
            ("SGE_TASK_LAST", "8"),
            ("SGE_TASK_STEPSIZE", "2"),
        ];
        assert_eq!(shard_in(auto, &grid_engine), Ok("4/4".to_owned()));
        let lsf = [("LSB_JOBINDEX", "2"), ("LSB_JOBINDEX_END", "5"), ("LSB_JOBINDEX_STEP", "1")];
        assert_eq!(shard_in(auto, &lsf), Ok("2/5".to_owned()));
        let gitlab = [("CI_NODE_INDEX", "1"), ("CI_NODE_TOTAL", "2")];
        assert_eq!(shard_in(auto, &gitlab), Ok("1/2".to_owned()));
        let circle = [("CIRCLE_NODE_INDEX", "1"), ("CIRCLE_NODE_TOTAL", "2")];
        assert_eq!(shard_in(auto, &circle), Ok("2/2".to_owned()));
        let pbs = [("PBS_ARRAY_INDEX", "7")];
        assert_eq!(shard_in(Wanted::OfJob(Some(40)), &pbs), Ok("7/40".to_owned()));
    }

    #[test]
    fn a_job_without_a_place_is_refused() {
        let auto = Wanted::OfJob(None);
        let no_array = [("SGE_TASK_ID", "undefined"), ("LSB_JOBINDEX", "0")];
        for environment in [&no_array[..], &[]] {
            assert!(shard_in(auto, environment).unwrap_err().contains("LSB_JOBINDEX"));
        }
        let pbs = [("PBS_ARRAY_INDEX", "41")];
        assert!(shard_in(auto, &pbs).unwrap_err().contains("does not say how many"));
        assert_eq!(
            shard_in(Wanted::OfJob(Some(40)), &pbs).unwrap_err(),
            "--shard auto: PBS numbers this job 41, which is none of 40 from 1"
        );
    }
}
