//! JSON files of secrets: every string in an object is a value, and its path is its key.

use serde_json::Value;

use super::Entry;

/// Parses a file; an error is `line: what; mend`.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<Entry>, String> {
    // The library's own message may quote the text.
    let value: Value = serde_json::from_slice(bytes).map_err(|e| {
        format!("{}: it is no JSON from column {} on; mend it there, or set `format`", e.line(), e.column())
    })?;
    if !value.is_object() {
        return Err("1: the JSON is no object; write {\"key\": \"value\"}".to_owned());
    }
    let mut out = Vec::new();
    collect(String::new(), value, &mut out);
    Ok(out)
}

/// How deep is bounded by the parser.
fn collect(path: String, value: Value, out: &mut Vec<Entry>) {
    let below = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
    match value {
        Value::String(s) => out.push(Entry { line: 1, readings: vec![s.into_bytes()], key: path }),
        Value::Array(items) => {
            items.into_iter().enumerate().for_each(|(i, v)| collect(below(&i.to_string()), v, out));
        }
        Value::Object(items) => items.into_iter().for_each(|(k, v)| collect(below(&k), v, out)),
        _ => {}
    }
}
