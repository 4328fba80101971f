//! The arguments of a call as text that a user reads and edits: a section for each value, under a line with its name.
//! Strings are written as they are, never escaped; other values as JSON.

use serde_json::Value;

/// The start of the line above a section.
const RULE: &str = "───";

/// One value of the arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Section {
    /// The path of the value: `edits[0].new_string`.
    pub(crate) name: String,
    pub(crate) text: String,
    is_string: bool,
}

/// The sections of a call's arguments.
pub(crate) fn sections(arguments: &Value) -> Vec<Section> {
    let mut found = Vec::new();
    collect(arguments, String::new(), &mut found);
    found
}

fn collect(value: &Value, name: String, found: &mut Vec<Section>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                let dot = if name.is_empty() { "" } else { "." };
                collect(value, format!("{name}{dot}{key}"), found);
            }
        }
        Value::Array(values) if !values.is_empty() => {
            for (place, value) in values.iter().enumerate() {
                collect(value, format!("{name}[{place}]"), found);
            }
        }
        Value::String(text) => found.push(Section {
            name,
            text: text.clone(),
            is_string: true,
        }),
        value => found.push(Section {
            name,
            text: value.to_string(),
            is_string: false,
        }),
    }
}

/// The text of the arguments. A single string has no line above it.
pub(crate) fn write(arguments: &Value) -> String {
    let sections = sections(arguments);
    if let [only] = sections.as_slice()
        && only.is_string
    {
        return only.text.clone();
    }
    let rule = rule(&sections);
    let parts = sections.iter();
    let parts =
        parts.map(|section| format!("{rule} {}\n{}", section.name.escape_debug(), section.text));
    parts.collect::<Vec<_>>().join("\n")
}

/// The arguments with the changes that the user made to their text. `shown` is the text as it was before.
///
/// # Errors
/// The line that is missing, or the value that cannot be read.
pub(crate) fn read(arguments: &Value, shown: &str, edited: &str) -> Result<Value, String> {
    if shown == edited {
        return Ok(arguments.clone());
    }
    let sections = sections(arguments);
    let before = split(&sections, shown)?;
    let after = split(&sections, edited)?;
    let mut changed = arguments.clone();
    let mut place = 0;
    apply(&mut changed, &mut place, &mut |at| {
        let (section, text) = (sections.get(at)?, after.get(at)?);
        if before.get(at) == Some(text) {
            return None;
        }
        Some(if section.is_string {
            Ok(Value::String(text.clone()))
        } else {
            serde_json::from_str(text.trim())
                .map_err(|error| format!("invalid value of `{}`: {error}", section.name))
        })
    })?;
    Ok(changed)
}

/// Replaces the values in the order of their sections.
fn apply(
    value: &mut Value,
    place: &mut usize,
    new: &mut dyn FnMut(usize) -> Option<Result<Value, String>>,
) -> Result<(), String> {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for value in fields.values_mut() {
                apply(value, place, new)?;
            }
        }
        Value::Array(values) if !values.is_empty() => {
            for value in values {
                apply(value, place, new)?;
            }
        }
        value => {
            if let Some(changed) = new(*place) {
                *value = changed?;
            }
            *place += 1;
        }
    }
    Ok(())
}

/// The dashes that begin the lines above the sections: more than any line of a value begins with.
fn rule(sections: &[Section]) -> String {
    let lines = sections.iter().flat_map(|section| section.text.lines());
    let dashes = |line: &str| line.chars().take_while(|dash| *dash == '─').count();
    let longest = lines.map(dashes).max().unwrap_or(0);
    "─".repeat((longest + 1).max(RULE.chars().count()))
}

/// The texts of the sections.
fn split(sections: &[Section], text: &str) -> Result<Vec<String>, String> {
    if let [only] = sections
        && only.is_string
    {
        return Ok(vec![text.to_owned()]);
    }
    let rule = rule(sections);
    let mut lines = text.split('\n').peekable();
    let mut texts = Vec::new();
    for (place, section) in sections.iter().enumerate() {
        let head = |section: &Section| format!("{rule} {}", section.name.escape_debug());
        let own = head(section);
        if lines.next() != Some(own.as_str()) {
            return Err(format!("the line `{own}` is missing"));
        }
        let next = sections.get(place + 1).map(head);
        let mut body = Vec::new();
        while let Some(line) = lines.next_if(|line| Some(*line) != next.as_deref()) {
            body.push(line);
        }
        texts.push(body.join("\n"));
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn edit() -> Value {
        json!({
            "file_path": "a.rs",
            "edits": [{"old_string": "\tlet a = \"x\\n\";\n", "new_string": "─── b\nc"}],
            "replace_all": false,
        })
    }

    #[test]
    fn strings_are_written_as_they_are() {
        assert_eq!(
            write(&edit()),
            "──── file_path\na.rs\n──── edits[0].old_string\n\tlet a = \"x\\n\";\n\n\
             ──── edits[0].new_string\n─── b\nc\n──── replace_all\nfalse"
        );
        assert_eq!(write(&json!({"input": "a\nb"})), "a\nb");
        assert_eq!(write(&json!({"count": 3})), "─── count\n3");
        assert_eq!(write(&json!({})), "─── \n{}");
    }

    #[test]
    fn only_changed_sections_change() {
        let shown = write(&edit());
        assert_eq!(read(&edit(), &shown, &shown), Ok(edit()));
        let edited = shown.replace("b\nc", "\"d\"\n").replace("false", " true ");
        let mut expected = edit();
        expected["edits"][0]["new_string"] = json!("─── \"d\"\n");
        expected["replace_all"] = json!(true);
        assert_eq!(read(&edit(), &shown, &edited), Ok(expected));
        // A screen that shows a tab as blanks changes nothing.
        let drawn = shown.replace('\t', "    ");
        let edited = drawn.replace("a.rs", "b.rs");
        let mut expected = edit();
        expected["file_path"] = json!("b.rs");
        assert_eq!(read(&edit(), &drawn, &edited), Ok(expected));
    }

    #[test]
    fn a_lost_line_and_an_odd_value_are_named() {
        let shown = write(&edit());
        let lost = shown.replace("──── edits[0].new_string\n", "");
        assert_eq!(
            read(&edit(), &shown, &lost),
            Err("the line `──── edits[0].new_string` is missing".to_owned())
        );
        let odd = shown.replace("false", "no");
        let error = read(&edit(), &shown, &odd).unwrap_err();
        assert!(
            error.starts_with("invalid value of `replace_all`: "),
            "{error}"
        );
    }
}
