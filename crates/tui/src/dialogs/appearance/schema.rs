//! JSON Schemas of keymaps and themes, from which editors complete and check the files.

use osier_settings::schema::DIALECT;
use osier_term::Token;
use serde_json::{Map, Value, json};

use super::CONTEXTS;
use crate::actions::Command;

/// The schema of a file in `keymaps/`.
pub fn keymap_schema() -> Value {
    let names = Command::names().into_iter();
    let mut actions: Vec<Value> = names
        .map(|(name, command)| match command.description() {
            "" => json!({"const": name}),
            description => json!({"const": name, "description": description}),
        })
        .collect();
    actions.push(json!({"const": "", "description": "Remove the binding"}));
    let contexts = CONTEXTS.iter().map(|context| {
        let bindings = json!({
            "type": "object",
            "description": "Keys, such as `ctrl+x`, `alt+left` or `leader s`, and what they do.",
            "additionalProperties": {"$ref": "#/definitions/action"},
        });
        ((*context).to_owned(), bindings)
    });
    let mut properties: Map<String, Value> = contexts.collect();
    let text = |description: &str| json!({"type": "string", "description": description});
    properties.insert("inherit".into(), text("The keymap that this one extends."));
    properties.insert(
        "leader".into(),
        text("The key that the word `leader` stands for."),
    );
    properties.insert(
        "modes".into(),
        json!({"type": "boolean", "description": "Whether the editor has modes, as in vim."}),
    );
    json!({
        "$schema": DIALECT,
        "title": "Keymap of osier",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
        "definitions": {"action": {"oneOf": actions}},
    })
}

/// The schema of a file in `themes/`.
pub fn theme_schema() -> Value {
    let colour = json!({
        "description": "`#rrggbb`, 0 to 255, `default`, a terminal colour such as `bright-blue`, or a name of the palette.",
        "type": ["string", "integer"],
    });
    let reference = json!({"$ref": "#/definitions/colour"});
    let modifiers = ["bold", "dim", "italic", "underline", "reverse", "strike"];
    let style = json!({"anyOf": [reference, {
        "type": "object",
        "properties": {
            "fg": reference,
            "bg": reference,
            "modifiers": {"type": "array", "items": {"enum": modifiers}},
        },
        "additionalProperties": false,
    }]});
    let tokens = Token::ALL
        .iter()
        .map(|(_, name)| ((*name).to_owned(), json!({"$ref": "#/definitions/style"})));
    let tokens: Map<String, Value> = tokens.collect();
    json!({
        "$schema": DIALECT,
        "title": "Theme of osier",
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The name in lists."},
            "kind": {"enum": ["dark", "light", "system"], "description": "The background that the theme is for."},
            "inherit": {"type": "string", "description": "The theme that this one extends."},
            "background": reference,
            "paint_background": {"type": "boolean", "description": "Whether osier paints the background."},
            "palette": {
                "type": "object",
                "description": "Names of colours.",
                "additionalProperties": reference,
            },
            "tokens": {"type": "object", "properties": tokens, "additionalProperties": false},
        },
        "additionalProperties": false,
        "definitions": {"colour": colour, "style": style},
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use osier_testing::json_schema::JsonSchema;

    use super::*;

    #[test]
    fn built_in_keymaps_and_themes_fit_their_schemas() {
        for (schema, folder, mistake) in [
            (
                keymap_schema(),
                "../../keymaps",
                "[global]\n\"ctrl+x\" = \"no_such_action\"\n",
            ),
            (
                theme_schema(),
                "../../themes",
                "[tokens]\nno_such_token = \"red\"\n",
            ),
        ] {
            let schema = JsonSchema::new(&schema);
            let faults = |text: &str| schema.errors(&json!(text.parse::<toml::Table>().unwrap()));
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
            let mut count = 0;
            for file in std::fs::read_dir(folder).unwrap() {
                let path = file.unwrap().path();
                let text = std::fs::read_to_string(&path).unwrap();
                assert_eq!(faults(&text), [""; 0], "{}", path.display());
                count += 1;
            }
            assert!(count >= 3, "{count}");
            assert_eq!(faults(mistake).len(), 1, "{mistake}");
        }
    }
}
