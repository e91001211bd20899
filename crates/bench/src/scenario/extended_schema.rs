//! JSON Schema of scenario files, which may extend others.

use serde_json::{Map, Value, json};

/// Prefix of the definitions without required keys.
const PARTIAL: &str = "Partial";
/// Beginning of a reference to a definition.
const DEFINITIONS: &str = "#/$defs/";

/// The schema of a whole scenario, or of one that extends another and may leave out any key.
pub(super) fn of(whole: Value) -> Value {
    let Value::Object(mut whole) = whole else { return whole };
    let definitions = match whole.remove("$defs") {
        Some(Value::Object(definitions)) => definitions,
        _ => Map::new(),
    };
    let mut schema = match partial(&Value::Object(whole.clone())) {
        Value::Object(part) => part,
        other => return other,
    };
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        let about =
            "The scenario that this one extends: a built-in one, or a file relative to this one.";
        properties.insert("extends".to_owned(), json!({ "description": about, "type": "string" }));
    }
    for key in ["$schema", "title", "description"] {
        whole.remove(key);
    }
    schema.insert("anyOf".to_owned(), json!([whole, { "required": ["extends"] }]));
    let partials = definitions.iter().map(|(name, of)| (format!("{PARTIAL}{name}"), partial(of)));
    let partials: Map<String, Value> = partials.collect();
    schema.insert("$defs".to_owned(), definitions.into_iter().chain(partials).collect());
    Value::Object(schema)
}

/// A schema that also accepts values without some of their keys.
fn partial(schema: &Value) -> Value {
    match schema {
        Value::Object(object) => {
            let pairs = object.iter().filter(|(key, _)| *key != "required");
            let pairs = pairs.map(|(key, value)| match (key.as_str(), value) {
                // Without their required keys, several kinds may fit.
                ("oneOf", forms) => ("anyOf".to_owned(), partial(forms)),
                ("$ref", Value::String(name)) => {
                    let name = name.strip_prefix(DEFINITIONS).unwrap_or(name);
                    (key.clone(), json!(format!("{DEFINITIONS}{PARTIAL}{name}")))
                }
                _ => (key.clone(), partial(value)),
            });
            Value::Object(pairs.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(partial).collect()),
        other => other.clone(),
    }
}
