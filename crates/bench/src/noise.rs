//! Noise of the host that measured, next to the results of a report.
//!
//! A measured time includes how late the host woke its programs. The latest wake before the runs is
//! the noise: a limit that is nearer to a result than that decides nothing, because the next run
//! may lie on its other side ([`crate::verdict`]). Simulated runs have no noise.

use crate::analysis::{NearDeadline, Report};
use crate::sample::{FlowSample, Origin, Sample};

/// Adds the messages of one run of a flow.
fn add(near: &mut NearDeadline, flow: &FlowSample, noise_ns: u64) {
    let Some(deadline) = flow.deadline_ns else { return };
    let times = if flow.response.count > 0 { &flow.response } else { &flow.delay };
    for (time, count) in &times.classes {
        if time.abs_diff(deadline) <= noise_ns {
            let side = if *time > deadline { &mut near.missed } else { &mut near.met };
            *side = side.saturating_add(*count);
        }
    }
}

impl Report {
    /// Adds the noise of the host that measured these samples, in nanoseconds
    /// ([`crate::folder::Provenance::host_noise_ns`]). Without noise, and for simulated samples,
    /// the report is as it was.
    #[must_use]
    pub fn with_host_noise(mut self, samples: &[Sample], noise_ns: Option<u64>) -> Self {
        let is_measured = samples.iter().all(|sample| sample.source == Origin::Measured);
        let Some(noise_ns) = noise_ns.filter(|_| is_measured) else { return self };
        self.host_noise_ns = Some(noise_ns);
        for point in &mut self.points {
            let index = point.point;
            let is_counted = |sample: &&Sample| {
                sample.point == index && (point.left_out == 0 || sample.complete)
            };
            for found in point.flows.iter_mut().filter(|flow| flow.deadline_ns.is_some()) {
                let mut near = NearDeadline::default();
                let flows = samples.iter().filter(is_counted).flat_map(|sample| &sample.flows);
                flows
                    .filter(|flow| flow.name == found.name)
                    .for_each(|flow| add(&mut near, flow, noise_ns));
                found.near_deadline = Some(near);
            }
        }
        self
    }
}
