//! Conformance of documents to a JSON Schema.

use serde_json::Value;

/// So much of JSON Schema as our schemas use; what is wrong, and where.
pub(crate) fn conforms(value: &Value, schema: &Value, whole: &Value) -> Result<(), String> {
    if let Some(name) = schema["$ref"].as_str() {
        let of = &whole["$defs"][&name["#/$defs/".len()..]];
        assert!(of.is_object(), "{name}");
        conforms(value, of, whole)?;
    }
    for of in schema["allOf"].as_array().into_iter().flatten() {
        conforms(value, of, whole)?;
    }
    for key in ["anyOf", "oneOf"] {
        let Some(forms) = schema[key].as_array() else { continue };
        let faults: Vec<_> = forms.iter().map(|of| conforms(value, of, whole)).collect();
        let fitting = faults.iter().filter(|it| it.is_ok()).count();
        if fitting == 0 || key == "oneOf" && fitting > 1 {
            return Err(format!("{value} fits {fitting} of {key}: {faults:?}"));
        }
    }
    if schema.get("const").is_some_and(|constant| constant != value) {
        return Err(format!("{value} is not {}", schema["const"]));
    }
    if let Some(values) = schema["enum"].as_array()
        && !values.contains(value)
    {
        return Err(format!("{value} is none of {values:?}"));
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    };
    let is_of = |name: &&str| match *name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        other => panic!("the schema has the type {other}"),
    };
    if !types.is_empty() && !types.iter().any(is_of) {
        return Err(format!("{value} is no {types:?}"));
    }
    if schema["minimum"].as_u64().is_some() && value.as_i64().is_some_and(|value| value < 0) {
        return Err(format!("{value} is negative"));
    }
    for item in value.as_array().into_iter().flatten() {
        conforms(item, &schema["items"], whole)?;
    }
    if let (Some(least), Some(items)) = (schema["minItems"].as_u64(), value.as_array())
        && (items.len() as u64) < least
    {
        return Err(format!("{} items", items.len()));
    }
    names(value, schema, whole)
}

/// The names of an object: those that must be there, those that may, and what they hold.
fn names(value: &Value, schema: &Value, whole: &Value) -> Result<(), String> {
    let Some(object) = value.as_object() else { return Ok(()) };
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !object.contains_key(name) {
            return Err(format!("{name} is missing"));
        }
    }
    let is_closed = schema["unevaluatedProperties"] == false;
    for (name, value) in object {
        let inherited = schema["allOf"].as_array().into_iter().flatten().any(|of| {
            let of = &whole["$defs"][&of["$ref"].as_str().unwrap()["#/$defs/".len()..]];
            of["properties"].get(name).is_some()
        });
        match (schema["properties"].get(name), &schema["additionalProperties"]) {
            (Some(of), _) => conforms(value, of, whole).map_err(|e| format!("{name}: {e}"))?,
            (None, Value::Bool(false)) => return Err(format!("{name} is not in the schema")),
            (None, of) if of.is_object() => conforms(value, of, whole)?,
            (None, _) if is_closed && !inherited => {
                return Err(format!("{name} is not in the schema"));
            }
            (None, _) => {}
        }
    }
    Ok(())
}
