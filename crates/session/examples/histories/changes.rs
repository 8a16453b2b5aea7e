//! Changes between two states as JSON: small enough to print after every entry, exact enough to make the later state of the
//! earlier one.

use serde_json::{Value, json};

/// Lists what changed: `[path, "set", value]`, `[path, "drop", null]`, `[path, "append", text]` or
/// `[path, "splice", [start, count, items]]`.
pub(crate) fn changes(old: &Value, new: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    collect(&mut Vec::new(), old, new, &mut found);
    found
}

fn collect(path: &mut Vec<Value>, old: &Value, new: &Value, found: &mut Vec<Value>) {
    match (old, new) {
        (Value::Object(before), Value::Object(after)) => {
            for (name, field) in after {
                path.push(json!(name));
                match before.get(name) {
                    Some(known) => collect(path, known, field, found),
                    None => found.push(json!([path, "set", field])),
                }
                path.pop();
            }
            for name in before.keys().filter(|name| !after.contains_key(*name)) {
                path.push(json!(name));
                found.push(json!([path, "drop", null]));
                path.pop();
            }
        }
        (Value::Array(before), Value::Array(after)) => collect_items(path, before, after, found),
        (Value::String(before), Value::String(after))
            if !before.is_empty() && after.len() > before.len() && after.starts_with(before) =>
        {
            found.push(json!([path, "append", after[before.len()..]]));
        }
        _ if old != new => found.push(json!([path, "set", new])),
        _ => {}
    }
}

fn collect_items(path: &mut Vec<Value>, before: &[Value], after: &[Value], found: &mut Vec<Value>) {
    let same = |(old, new): &(&Value, &Value)| old == new;
    let start = before.iter().zip(after).take_while(same).count();
    let (left, right) = (&before[start..], &after[start..]);
    let end = left.iter().rev().zip(right.iter().rev()).take_while(same).count();
    let (left, right) = (&left[..left.len() - end], &right[..right.len() - end]);
    if left.len() != right.len() {
        found.push(json!([path, "splice", [start, left.len(), right]]));
        return;
    }
    for (at, (old, new)) in left.iter().zip(right).enumerate() {
        path.push(json!(start + at));
        collect(path, old, new, found);
        path.pop();
    }
}
