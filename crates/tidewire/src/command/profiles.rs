//! `tidewire profiles`: the machines that come with the program, and files that describe others.

use crate::args::profiles::{ProfileAction, Profiles};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::scenario_choice;
use crate::table::{Align, Table};
use bench::paragraph::wrapped;
use bench::profile::{self, BuiltIn, Input, Profile, TaskView, Unreadable};
use bench::scenario::meant;
use serde::Serialize;
use serde_json::{Value, json};
use std::path::Path;
use wire::printable::Printable;

/// A profile, and where it is from.
pub(crate) struct Found {
    pub(crate) profile: Profile,
    text: String,
    origin: &'static str,
}

/// A line of NDJSON.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Record<'a> {
    Profile {
        name: &'a str,
        title: &'a str,
        origin: &'a str,
        #[serde(flatten)]
        about: Value,
    },
    Copied {
        name: &'a str,
        file: &'a Path,
    },
}

pub(crate) fn run(profiles: &Profiles, output: &Output) -> anyhow::Result<Exit> {
    match &profiles.action {
        ProfileAction::List => list(output)?,
        ProfileAction::Show { name } => show(&find(name)?, output)?,
        ProfileAction::Copy { name, file } => {
            scenario_choice::write_new(&find(name)?.text, file)?;
            output.record(&Record::Copied { name, file })?;
            if !output.quiet {
                output.line(format_args!("{} written", file.display()))?;
            }
        }
    }
    Ok(Exit::Ok)
}

/// The profile of this name, or in the file of this name.
///
/// # Errors
/// There is no such profile, or the file is not a profile.
pub(crate) fn find(name: &str) -> Result<Found, Failure> {
    if profile::is_file_name(name) {
        let file = profile::read_file(name, Path::new(name)).map_err(|error| match error {
            Unreadable::Wrong(error) => {
                Failure::usage(format!("{name} is not a profile:\n{error}"))
                    .with_fix("tidewire help profiles")
            }
            error => Failure::failed(error.to_string()),
        })?;
        return Ok(Found { profile: file.profile, text: file.text, origin: "file" });
    }
    let text = profile::ALL.into_iter().find(|built_in| built_in.name == name);
    match profile::built_in(name).zip(text) {
        Some((profile, BuiltIn { text, .. })) => {
            Ok(Found { profile, text: text.to_owned(), origin: "built-in" })
        }
        None => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> Failure {
    let names = || profile::ALL.into_iter().map(|built_in| built_in.name);
    let all = names().collect::<Vec<_>>().join(", ");
    let fix = match meant(name, names()) {
        Some(meant) => format!("did you mean {meant}? There are {all}; a file ends in .toml"),
        None => format!("one of {all}; a file ends in .toml"),
    };
    Failure::usage(format!("no built-in profile {name:?}")).with_fix(fix)
}

fn list(output: &Output) -> anyhow::Result<()> {
    let mut table = Table::new([
        ("profile", Align::Left),
        ("resources", Align::Left),
        ("from", Align::Left),
        ("title", Align::Left),
    ]);
    for built_in in profile::ALL {
        let Found { profile, origin, .. } = find(built_in.name)?;
        let resources: Vec<&str> = profile.resources().map(|resource| resource.name).collect();
        let (name, title) = (profile.name.as_str(), profile.title.as_str());
        let about = json!({ "resources": resources, "calibrated_on": profile.calibrated_on() });
        output.record(&Record::Profile { name, title, origin, about })?;
        let resources = if resources.is_empty() { "-".to_owned() } else { resources.join(", ") };
        table.row([name.to_owned(), resources, origin.to_owned(), title.to_owned()]);
    }
    output.line(table)?;
    Ok(())
}

fn show(found: &Found, output: &Output) -> anyhow::Result<()> {
    let Found { profile, origin, .. } = found;
    let (name, title) = (profile.name.as_str(), profile.title.as_str());
    output.record(&Record::Profile { name, title, origin, about: about(profile) })?;
    let heading = format!("{}: ", Printable(name));
    output.line(wrapped(&heading, &Printable(title).to_string()))?;
    let memory = profile.memory_octets();
    let memory = memory.map_or_else(String::new, |octets| format!("; memory: {octets} octets"));
    output.line(format_args!("from: {origin}; interface: {}{memory}", profile.interface()))?;
    if profile.is_ideal() {
        output.line("no task: a station on it takes no time")?;
    } else {
        output.line(format_args!("\n{}", resources(profile)))?;
        output.line(format_args!("\n{}", tasks(profile)))?;
    }
    if !profile.inputs.is_empty() {
        output.line("\nSources")?;
    }
    for input in &profile.inputs {
        let from = match input.calibrated_on.as_slice() {
            [] => String::new(),
            rows => format!(" (calibrated on {})", rows.join(", ")),
        };
        let source = Printable(input.source.trim_end()).to_string();
        let words = format!("{}: {source}{from}", amount(input));
        output.line(wrapped(&format!("  {}  ", input.name), &words))?;
    }
    paragraphs(
        "Assumptions",
        profile.assumptions.iter().map(|taken| ("-", taken.as_str())),
        output,
    )?;
    let variants = profile.variants.iter().map(|one| (one.name.as_str(), one.why.as_str()));
    paragraphs("Variants: other inputs that fit the same figures", variants, output)
}

fn paragraphs<'a>(
    heading: &str,
    entries: impl Iterator<Item = (&'a str, &'a str)>,
    output: &Output,
) -> anyhow::Result<()> {
    for (place, (name, words)) in entries.enumerate() {
        if place == 0 {
            output.line(format_args!("\n{heading}"))?;
        }
        output.line(wrapped(&format!("  {name}  "), &Printable(words).to_string()))?;
    }
    Ok(())
}

fn amount(input: &Input) -> String {
    format!("{} {}", input.value, input.unit)
}

fn resources(profile: &Profile) -> Table {
    let mut table =
        Table::new([("resource", Align::Left), ("kind", Align::Left), ("speed", Align::Left)]);
    for resource in profile.resources() {
        let kind = if resource.is_processor { "processor" } else { "transfer" };
        let speed = resource
            .speed
            .map_or_else(|| "1".to_owned(), |input| format!("{} ({})", input.value, input.name));
        table.row([resource.name.to_owned(), kind.to_owned(), speed]);
    }
    table
}

/// A row for each part of a task's cost.
fn tasks(profile: &Profile) -> Table {
    let mut table = Table::new([
        ("task (stage)", Align::Left),
        ("layer", Align::Left),
        ("on", Align::Left),
        ("part", Align::Left),
        ("cost", Align::Right),
        ("unit", Align::Left),
        ("input", Align::Left),
    ]);
    for TaskView { name, stage, layer, medium, uses, costs, .. } in profile.tasks() {
        let layer = &medium.map_or_else(|| layer.to_owned(), |only| format!("{layer}, {only}"));
        for (place, cost) in costs.into_iter().enumerate() {
            let of_task = [format!("{name} ({stage})"), layer.clone(), uses.join(" + ")];
            let [name, layer, on] = if place == 0 { of_task } else { Default::default() };
            let (value, unit) = (cost.input.value.to_string(), cost.input.unit.to_string());
            let (part, input) = (cost.part.to_owned(), cost.input.name.clone());
            table.row([name, layer, on, part, value, unit, input]);
        }
    }
    table
}

/// Everything that a profile holds.
fn about(profile: &Profile) -> Value {
    let resources = profile.resources().map(|resource| {
        let speed = resource.speed.map(|input| input.name.as_str());
        json!({ "name": resource.name, "processor": resource.is_processor, "speed": speed })
    });
    let tasks = profile.tasks().map(|task| {
        let cost: serde_json::Map<String, Value> = task
            .costs
            .iter()
            .map(|cost| (cost.part.to_owned(), cost.input.name.clone().into()))
            .collect();
        json!({
            "name": task.name, "stage": task.stage, "layer": task.layer, "level": task.level,
            "medium": task.medium, "uses": task.uses, "cost": cost,
        })
    });
    let inputs = profile.inputs.iter().map(|input| {
        json!({
            "name": input.name, "value": input.value, "unit": input.unit.to_string(),
            "calibrated_on": input.calibrated_on, "source": input.source.trim_end(),
        })
    });
    let variants = profile.variants.iter().map(|one| {
        let inputs: serde_json::Map<String, Value> =
            one.inputs.iter().map(|(name, value)| (name.clone(), (*value).into())).collect();
        json!({ "name": one.name, "why": one.why, "inputs": inputs })
    });
    json!({
        "interface": profile.interface(),
        "memory_octets": profile.memory_octets(),
        "calibrated_on": profile.calibrated_on(),
        "assumptions": profile.assumptions,
        "resources": resources.collect::<Vec<_>>(),
        "tasks": tasks.collect::<Vec<_>>(),
        "inputs": inputs.collect::<Vec<_>>(),
        "variants": variants.collect::<Vec<_>>(),
    })
}
