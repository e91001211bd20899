//! Properties of the machine and of this program's build, for the records of a run and for `doctor`.

use live::interface::Interface;
use std::collections::BTreeMap;
use std::{fs, path::PathBuf};

/// Commit from which a release was built; none of other builds.
const COMMIT: Option<&str> = option_env!("TIDEWIRE_COMMIT");

/// Properties of this machine and of this program's build, by name; unknown ones are left out.
pub(crate) fn facts() -> BTreeMap<String, String> {
    let found = [
        ("system", system()),
        ("kernel", line("/proc/sys/kernel/osrelease")),
        ("processor", processor()),
        ("cores", Some(cores().to_string())),
        ("clock_source", clock_source()),
        ("governor", governors().map(|governors| governors.join(", "))),
        ("commit", COMMIT.map(str::to_owned)),
    ];
    let known = found.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    known.collect()
}

/// Name and value of a fact: a port, its driver and its rate, and the offloads that are on.
pub(crate) fn port(name: &str) -> (String, String) {
    let described = Interface::named(name).map(|found| {
        let driver = found.driver().unwrap_or_else(|| "driver unknown".to_owned());
        let rate = found.rate.map_or_else(|| "rate unknown".to_owned(), |rate| rate.to_string());
        let offloads = match &found.offloads()[..] {
            [] => "no offloads".to_owned(),
            on => format!("offloads {}", on.join(", ")),
        };
        format!("{driver}, {rate}, {offloads}")
    });
    (format!("port {name}"), described.unwrap_or_else(|error| error.to_string()))
}

/// Number of threads that can run at a time.
pub(crate) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Clock source of the kernel.
pub(crate) fn clock_source() -> Option<String> {
    line("/sys/devices/system/clocksource/clocksource0/current_clocksource")
}

/// The frequency governors of the processors, each once; none where frequencies are not for this
/// machine to set.
pub(crate) fn governors() -> Option<Vec<String>> {
    let mut governors: Vec<String> = fs::read_dir("/sys/devices/system/cpu")
        .ok()?
        .filter_map(|entry| {
            line(entry.ok()?.path().join("cpufreq/scaling_governor").to_str().unwrap_or_default())
        })
        .collect();
    governors.sort();
    governors.dedup();
    (!governors.is_empty()).then_some(governors)
}

/// Path of this program.
pub(crate) fn program() -> PathBuf {
    std::env::current_exe().unwrap_or_else(|_| PathBuf::from("tidewire"))
}

/// The first line of a small file.
pub(crate) fn line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    text.lines().next().map(|line| line.trim().to_owned())
}

fn system() -> Option<String> {
    let text = fs::read_to_string("/etc/os-release").ok()?;
    let name = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches('"').to_owned())
}

fn processor() -> Option<String> {
    let text = fs::read_to_string("/proc/cpuinfo").ok()?;
    let model = text.lines().find_map(|line| line.strip_prefix("model name"))?;
    Some(model.trim_start_matches(['\t', ' ', ':']).trim().to_owned())
}
