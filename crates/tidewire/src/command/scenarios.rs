//! `tidewire scenarios`: those that come with the program, and the schema of all.

use crate::args::{ScenarioAction, Scenarios};
use crate::exit::{Exit, Failure};
use crate::output::Output;
use crate::quantity::counted;
use crate::scenario_choice;
use crate::scl_file;
use bench::paragraph::wrapped;
use bench::scenario;
use bench::scenarios::{self, BuiltIn};
use serde::Serialize;
use std::path::Path;

/// A line of NDJSON.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Record<'a> {
    BuiltIn { name: &'a str, title: &'a str, points: usize, replications: u64 },
    File { name: &'a str, text: &'a str },
    Copied { name: &'a str, file: &'a Path },
    Imported { name: &'a str, file: &'a Path, flows: usize },
}

pub(crate) fn run(scenarios: &Scenarios, output: &Output) -> anyhow::Result<Exit> {
    match &scenarios.action {
        ScenarioAction::List => list(output)?,
        ScenarioAction::Show { name } => {
            let BuiltIn { name, text } = find(name)?;
            output.record(&Record::File { name, text })?;
            output.line(text.trim_end())?;
        }
        ScenarioAction::Copy { name, file } => {
            let BuiltIn { name, text } = find(name)?;
            scenario_choice::write_new(text, file)?;
            output.record(&Record::Copied { name, file })?;
            if !output.quiet {
                output.line(format_args!("{} written", file.display()))?;
            }
        }
        ScenarioAction::Import { scl, file } => import(scl, file.as_deref(), output)?,
        ScenarioAction::Schema => {
            let schema = scenario::schema();
            output.record(&schema)?;
            output.line(format_args!("{schema:#}"))?;
        }
    }
    Ok(Exit::Ok)
}

/// Prints or writes the scenario of an SCL file.
fn import(path: &Path, file: Option<&Path>, output: &Output) -> anyhow::Result<()> {
    let octets = scl_file::read(path)?;
    let name = path.display().to_string();
    let imported =
        records::import(&octets, &name).map_err(|error| scl_file::wrong(path, &error))?;
    let text = &imported.text;
    let Some(file) = file else {
        output.record(&Record::File { name: &name, text })?;
        output.line(text.trim_end())?;
        return Ok(());
    };
    scenario_choice::write_new(text, file)?;
    output.record(&Record::Imported { name: &name, file, flows: imported.flows })?;
    if !output.quiet {
        let (flows, file) = (counted(imported.flows as u64, "flow"), file.display());
        output
            .line(format_args!("{file} written, {flows}; tidewire predict {file} simulates it"))?;
    }
    Ok(())
}

fn list(output: &Output) -> anyhow::Result<()> {
    let longest = scenarios::ALL.iter().map(|built_in| built_in.name.len()).max().unwrap_or(0);
    for built_in in scenarios::ALL {
        let study = scenario::load(built_in.text, &built_in.file())?;
        let (name, scenario) = (built_in.name, study.scenario());
        let (title, points) = (scenario.title.as_str(), study.points.len());
        let replications = scenario.replications;
        output.record(&Record::BuiltIn { name, title, points, replications })?;
        let of_points = if points == 1 { String::new() } else { format!(", {points} points") };
        output.line(wrapped(&format!("{name:longest$}  "), &format!("{title}{of_points}")))?;
    }
    Ok(())
}

fn find(name: &str) -> Result<BuiltIn, Failure> {
    scenarios::get(name).ok_or_else(|| {
        Failure::usage(format!("no built-in scenario {name:?}"))
            .with_fix(scenario_choice::names(name))
    })
}
