//! JSON Schema of the stream, record by record: the structure of records comes from a file, the
//! names of measures from the registry.

use meter::observation::DelayKind;
use meter::registry::{Count, DelayStatistic, KindCount, Measure, so_far_of};
use wire::tp::Kind;

/// Structure of records, without the names of measures.
const SHAPES: &str = include_str!("../measures.schema.json");
/// Placeholder for the names of measures.
const PLACE: &str = "\"properties\": {},";

/// Returns the schema.
pub fn json_schema() -> String {
    let properties: Vec<String> = measures().map(property).collect();
    let properties = format!("\"properties\": {{\n{}\n      }},", properties.join(",\n"));
    SHAPES.replacen(PLACE, &properties, 1)
}

/// Returns all measures whose names do not depend on settings.
fn measures() -> impl Iterator<Item = Measure> {
    let of_kind = |kind| KindCount::ALL.map(|count| Measure::OfKind(kind, count));
    let of_delay = |delay| DelayStatistic::ALL.map(|statistic| Measure::Delay(delay, statistic));
    let counts = Count::ALL.into_iter().map(Measure::from);
    let kinds = Kind::ALL.into_iter().flat_map(of_kind);
    let delays = DelayKind::ALL.into_iter().flat_map(of_delay);
    counts.chain(kinds).chain(delays).chain(so_far_of(DelayKind::Response))
}

fn property(measure: Measure) -> String {
    let about = serde_json::Value::from(measure.help());
    format!("        \"{measure}\": {{ \"description\": {about}, \"$ref\": \"#/$defs/count\" }}")
}
