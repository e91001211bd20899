//! `tidewire schema`: JSON Schemas of outputs and of scenario files.

use super::compare::{self, percentiles, print, throughput};
use super::merge;
use crate::args::shell::{Schema, Subject};
use crate::exit::Exit;
use crate::failure;
use crate::output::Output;
use crate::runs;
use bench::sample::Line;
use bench::scenario;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

pub(crate) fn run(options: &Schema, output: &Output) -> anyhow::Result<Exit> {
    let schema = match options.of {
        Subject::Scenario => named(scenario::schema(), "scenario"),
        Subject::Measures => serde_json::from_str(&records::json_schema())?,
        Subject::Samples => named(of::<Line>(), "samples"),
        Subject::Report => named(record::<runs::Record<'static>>("report"), "report"),
        Subject::Compare => {
            let studies = record::<compare::Record<'static>>("comparison");
            let files = record::<percentiles::Record<'static>>("percentile-comparison");
            let tools = record::<throughput::Record<'static>>("tool-comparison");
            let sides = record::<print::Head<'static>>("interval-comparison");
            let interval = record::<print::Interval<'static>>("compared-interval");
            let stream = record::<print::Stream<'static>>("compared-stream");
            named(any([studies, files, tools, sides, interval, stream]), "compare")
        }
        Subject::Histograms => {
            named(record::<merge::histograms::Record<'static>>("merged-histograms"), "histograms")
        }
        Subject::Result => {
            let error = record::<failure::Record<'static>>("error");
            let report = record::<runs::Record<'static>>("report");
            named(any([of::<Line>(), report, error]), "result")
        }
    };
    output.record(&schema)?;
    output.line(format_args!("{schema:#}"))?;
    Ok(Exit::Ok)
}

/// Schema of a type as it is written.
fn of<T: JsonSchema>() -> Value {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value()
}

/// Schema of a record, with its type, which the record's own description lacks.
fn record<T: JsonSchema>(kind: &str) -> Value {
    let mut schema = of::<T>();
    schema["properties"]["type"] = json!({ "const": kind });
    if let Some(required) = schema["required"].as_array_mut() {
        required.push(json!("type"));
    }
    schema
}

/// Schema with the name and the version of its output.
fn named(mut schema: Value, name: &str) -> Value {
    if let Value::Object(schema) = &mut schema {
        schema.insert("$id".to_owned(), json!(format!("tidewire.{name}/1")));
    }
    schema
}

/// Schema of any of several records; their definitions have different names.
fn any<const N: usize>(schemas: [Value; N]) -> Value {
    let mut definitions = Map::new();
    let mut forms = Vec::new();
    for mut schema in schemas {
        if let Value::Object(schema) = &mut schema {
            schema.remove("$schema");
            if let Some(Value::Object(more)) = schema.remove("$defs") {
                definitions.extend(more);
            }
        }
        forms.push(schema);
    }
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "anyOf": forms,
        "$defs": definitions,
    })
}
