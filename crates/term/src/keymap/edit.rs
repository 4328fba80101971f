//! Writes one binding into a keymap file and preserves every other byte.

use toml::Table;
use toml::de::DeTable;

use super::notation::{describe_all, parse_sequence};
use crate::input::KeyPress;

/// The text of a keymap file with `keys` bound to `action` in a context. An empty action removes
/// the binding.
///
/// # Errors
/// The syntax error in `text`, or that the bindings of the context are in a form that cannot be changed.
pub fn set_binding(
    text: &str,
    context: &str,
    keys: &[KeyPress],
    action: &str,
) -> Result<String, String> {
    let (changed, written) = changed(text, context, keys, action)?;
    // A context can also be written as an inline table, with dotted keys or in parts.
    if is_only_change(text, &changed, context, &written, action) {
        Ok(changed)
    } else {
        Err(format!(
            "`{context}` has its bindings outside of a table `[{context}]`"
        ))
    }
}

/// Whether `changed` is `text` with the binding `keys`, as written, and nothing else.
fn is_only_change(text: &str, changed: &str, context: &str, keys: &str, action: &str) -> bool {
    let (Ok(mut before), Ok(after)) = (text.parse::<Table>(), changed.parse::<Table>()) else {
        return false;
    };
    let bindings = before.entry(context).or_insert_with(|| Table::new().into());
    let Some(bindings) = bindings.as_table_mut() else {
        return false;
    };
    bindings.insert(keys.to_owned(), action.into());
    before == after
}

/// The changed text, and the keys as the text spells them.
fn changed(
    text: &str,
    context: &str,
    keys: &[KeyPress],
    action: &str,
) -> Result<(String, String), String> {
    let table = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(0, |span| span.start);
        let line = text[..text.floor_char_boundary(at)].matches('\n').count() + 1;
        format!("line {line}: {}", error.message().trim().to_lowercase())
    })?;
    let table = table.into_inner();
    let leader = table
        .get("leader")
        .and_then(|leader| leader.get_ref().as_str());
    let leader = leader.and_then(|leader| parse_sequence(leader, None).ok());
    let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
    let line = format!("{} = {}\n", quoted(&describe_all(keys)), quoted(action));
    let mut changed = text.to_owned();
    let found = table.iter().find(|(name, _)| &**name.get_ref() == context);
    let Some((name, bindings)) = found else {
        let gap = if text.is_empty() || text.ends_with("\n\n") {
            ""
        } else if text.ends_with('\n') {
            "\n"
        } else {
            "\n\n"
        };
        for part in [gap, "[", context, "]\n", &line] {
            changed.push_str(part);
        }
        return Ok((changed, describe_all(keys)));
    };
    let bindings = bindings
        .get_ref()
        .as_table()
        .ok_or_else(|| format!("`{context}` is not a table"))?;
    let same = bindings.iter().find(|(written, _)| {
        parse_sequence(written.get_ref(), leader.as_deref()).is_ok_and(|written| written == keys)
    });
    if let Some((written, value)) = same {
        changed.replace_range(value.span(), &quoted(action));
        return Ok((changed, written.get_ref().to_string()));
    }
    // After the last binding of the context, or after its header.
    let ends = bindings.iter().map(|(_, value)| value.span().end);
    let insert_after = ends.max().unwrap_or(name.span().end);
    let at = text[insert_after..]
        .find('\n')
        .map_or(text.len(), |at| insert_after + at + 1);
    let before = if text[..at].ends_with('\n') { "" } else { "\n" };
    changed.insert_str(at, &format!("{before}{line}"));
    Ok((changed, describe_all(keys)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setting_a_binding_preserves_all_other_bytes() {
        let text =
            "leader = \"ctrl+x\"\n\n# mine\n[editor]\n\"leader s\" = \"submit\" # send\n\n[list]\n";
        for (context, keys, action, expected) in [
            (
                "editor",
                "ctrl+x s",
                "newline",
                text.replace("\"submit\"", "\"newline\""),
            ),
            ("editor", "ctrl+x s", "", text.replace("\"submit\"", "\"\"")),
            (
                "editor",
                "alt+k",
                "undo",
                text.replace("# send\n", "# send\n\"alt+k\" = \"undo\"\n"),
            ),
            ("list", "f3", "first", format!("{text}\"f3\" = \"first\"\n")),
            (
                "global",
                "f3",
                "help",
                format!("{text}\n[global]\n\"f3\" = \"help\"\n"),
            ),
        ] {
            let keys = parse_sequence(keys, None).unwrap();
            assert_eq!(
                set_binding(text, context, &keys, action).as_deref(),
                Ok(&*expected)
            );
        }
        let keys = parse_sequence("f3", None).unwrap();
        assert_eq!(
            set_binding("", "global", &keys, "help").as_deref(),
            Ok("[global]\n\"f3\" = \"help\"\n")
        );
        assert!(
            set_binding("[a\n", "global", &keys, "help")
                .unwrap_err()
                .starts_with("line 1")
        );
        for text in [
            "global = { \"f1\" = \"help\" }\n",
            "global.\"f1\" = \"help\"\n[list]\n",
            "[global.sub]\n\"f1\" = \"help\"\n",
        ] {
            let refused = set_binding(text, "global", &keys, "help");
            let expected = "`global` has its bindings outside of a table `[global]`";
            assert_eq!(refused, Err(expected.to_owned()), "{text}");
        }
    }
}
