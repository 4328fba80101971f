//! Commands and skills of Claude Code: their fields and placeholders.
//!
//! `$ARGUMENTS` inserts all arguments, `$ARGUMENTS[0]` or `$0` the first one, `$name` one that `arguments` names. An
//! argument that is not given leaves its placeholder. `` !`command` `` inserts the output of a command, `@path` attaches
//! a file. Checked against Claude Code 2.1.331.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::front_matter::Document;

/// The folders of a project with commands and skills.
pub const COMMANDS: &str = ".claude/commands";
pub const SKILLS: &str = ".claude/skills";

/// The values of placeholders other than arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Placeholders {
    /// The root of the project.
    pub project: PathBuf,
    pub session_id: String,
}

/// The fields of a command or skill that change how it runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields {
    /// Names of the arguments.
    pub arguments: Vec<String>,
    pub model: Option<String>,
    /// Rules of calls that need no permission while the command runs.
    pub allowed_tools: Vec<String>,
}

/// The prompt of a slash command, before its commands have run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Expansion {
    pub text: String,
    /// Commands whose output replaces a part of the text, in order.
    pub commands: Vec<EmbeddedCommand>,
    /// Files to attach, as written.
    pub mentions: Vec<String>,
    pub model: Option<String>,
    pub allowed_tools: Vec<String>,
    /// The file that contains the prompt.
    pub path: PathBuf,
    /// Whether the file belongs to the project.
    pub of_project: bool,
}

/// A command in a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddedCommand {
    /// The part of the text that the output replaces.
    pub range: Range<usize>,
    pub command: String,
}

impl Expansion {
    pub fn of_text(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }

    #[must_use]
    pub fn from(self, path: &Path, of_project: bool) -> Self {
        Self {
            path: path.to_owned(),
            of_project,
            ..self
        }
    }

    /// Puts text around the prompt.
    pub fn wrap(&mut self, before: &str, after: &str) {
        self.text = format!("{before}{}{after}", self.text);
        for command in &mut self.commands {
            command.range.start += before.len();
            command.range.end += before.len();
        }
    }

    /// The prompt with the outputs of the commands, which are in the same order.
    pub fn with_outputs(&self, outputs: &[String]) -> String {
        let mut text = String::with_capacity(self.text.len());
        let mut at = 0;
        for (command, output) in self.commands.iter().zip(outputs) {
            text.push_str(&self.text[at..command.range.start]);
            text.push_str(output.trim_end());
            at = command.range.end;
        }
        text.push_str(&self.text[at..]);
        text
    }
}

impl Fields {
    pub fn read(document: &Document<'_>) -> Self {
        let model = document.text("model");
        Self {
            arguments: document.words("arguments").unwrap_or_default(),
            model: model.filter(|model| !model.is_empty() && model != "inherit"),
            allowed_tools: document
                .list("allowed-tools")
                .map(|texts| texts.iter().flat_map(|text| rules(text)).collect())
                .unwrap_or_default(),
        }
    }

    /// The prompt for `arguments`; `folder` is the one of a skill. Arguments without a placeholder are appended.
    pub fn expand(
        &self,
        body: &str,
        arguments: &str,
        values: &Placeholders,
        folder: Option<&Path>,
    ) -> Expansion {
        let (mut expansion, used) = self.expand_parts(body, arguments, values, folder);
        let arguments = arguments.trim();
        if !used && !arguments.is_empty() {
            expansion.wrap("", &format!("\n\nARGUMENTS: {arguments}"));
        }
        expansion
    }

    /// The prompt without appended arguments, and whether an argument was used.
    pub fn expand_parts(
        &self,
        body: &str,
        arguments: &str,
        values: &Placeholders,
        folder: Option<&Path>,
    ) -> (Expansion, bool) {
        let fill = Fill {
            all: arguments.trim(),
            words: words(arguments),
            names: &self.arguments,
            values,
            folder,
        };
        let mut expansion = Expansion {
            model: self.model.clone(),
            allowed_tools: self.allowed_tools.clone(),
            ..Expansion::default()
        };
        let mut used = false;
        let mut at = 0;
        for (range, command) in embedded(body) {
            let (text, with_argument) = fill.text(&body[at..range.start]);
            expansion.text.push_str(&text);
            let (command, in_command) = fill.text(command);
            used |= with_argument || in_command;
            let start = expansion.text.len();
            expansion.text.push_str(&body[range.clone()]);
            expansion.commands.push(EmbeddedCommand {
                range: start..expansion.text.len(),
                command: command.trim().to_owned(),
            });
            at = range.end;
        }
        let (text, with_argument) = fill.text(&body[at..]);
        expansion.text.push_str(&text);
        expansion.mentions = mentions(&expansion);
        (expansion, used | with_argument)
    }
}

/// The rules in a list such as `Read, Bash(git add:*) Bash(git log, x)`.
fn rules(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let parts = text.split(|char| {
        match char {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && matches!(char, ',' | ' ')
    });
    let parts = parts.filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

/// Replaces placeholders.
struct Fill<'a> {
    all: &'a str,
    words: Vec<String>,
    names: &'a [String],
    values: &'a Placeholders,
    folder: Option<&'a Path>,
}

impl Fill<'_> {
    /// The text, and whether an argument was inserted. Inserted text is not expanded again.
    fn text(&self, body: &str) -> (String, bool) {
        let (mut text, mut used) = (String::with_capacity(body.len()), false);
        let mut rest = body;
        while let Some(dollar) = rest.find('$') {
            let (before, here) = rest.split_at(dollar);
            if let Some(plain) = before.strip_suffix('\\') {
                text.push_str(plain);
                text.push('$');
                rest = &here[1..];
                continue;
            }
            text.push_str(before);
            if let Some((length, value, is_argument)) = self.placeholder(&here[1..]) {
                text.push_str(&value);
                used |= is_argument;
                rest = &here[1 + length..];
            } else {
                text.push('$');
                rest = &here[1..];
            }
        }
        text.push_str(rest);
        (text, used)
    }

    /// The length of the placeholder at the start of `text`, its value and whether that is an argument.
    fn placeholder(&self, text: &str) -> Option<(usize, String, bool)> {
        if let Some(rest) = text.strip_prefix("ARGUMENTS") {
            let Some((number, _)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'))
            else {
                return Some(("ARGUMENTS".len(), self.all.to_owned(), true));
            };
            if number.bytes().all(|byte| byte.is_ascii_digit()) && !number.is_empty() {
                let value = self.words.get(number.parse::<usize>().ok()?)?;
                return Some(("ARGUMENTS[]".len() + number.len(), value.clone(), true));
            }
            return Some(("ARGUMENTS".len(), self.all.to_owned(), true));
        }
        if let Some((name, _)) = text.strip_prefix('{').and_then(|text| text.split_once('}')) {
            let value = match name {
                "CLAUDE_SKILL_DIR" => self.folder?.display().to_string(),
                "CLAUDE_PROJECT_DIR" => self.values.project.display().to_string(),
                "CLAUDE_SESSION_ID" => self.values.session_id.clone(),
                _ => return None,
            };
            return Some((name.len() + 2, value, false));
        }
        let is_word = |char: char| char.is_alphanumeric() || char == '_';
        let name = &text[..text.find(|char| !is_word(char)).unwrap_or(text.len())];
        let number = match name.parse::<usize>() {
            Ok(number) => Some(number),
            Err(_) => self.names.iter().position(|known| known == name),
        };
        let value = self.words.get(number?)?;
        Some((name.len(), value.clone(), true))
    }
}

/// Splits the arguments like a shell; an unclosed quote is a character.
pub fn words(arguments: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = arguments;
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        let closed = after.find(first).filter(|_| matches!(first, '"' | '\''));
        if let Some(end) = closed {
            word.get_or_insert_default().push_str(&after[..end]);
            rest = &after[end + 1..];
            continue;
        }
        if first.is_whitespace() {
            words.extend(word.take());
        } else {
            word.get_or_insert_default().push(first);
        }
        rest = after;
    }
    words.extend(word);
    words
}

/// The commands in `body`: `` !`command` `` after a blank, or a code block that starts with ```` ```! ````.
fn embedded(body: &str) -> Vec<(Range<usize>, &str)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(offset) = body[at..].find(['!', '`']) {
        let start = at + offset;
        let rest = &body[start..];
        let starts_line = start == 0 || body[..start].ends_with('\n');
        let is_free = start == 0 || body[..start].ends_with(char::is_whitespace);
        if let Some(code) = rest.strip_prefix("```!").filter(|_| starts_line)
            && let Some(end) = code.find("\n```")
        {
            let length = "```!".len() + end + "\n```".len();
            found.push((start..start + length, &code[..end]));
            at = start + length;
            continue;
        }
        if let Some(code) = rest.strip_prefix("!`").filter(|_| is_free)
            && let Some(end) = code.find('`')
            && !code[..end].contains('\n')
            && end > 0
        {
            let length = "!`".len() + end + 1;
            found.push((start..start + length, &code[..end]));
            at = start + length;
            continue;
        }
        // Other code blocks and `!` are text.
        let marks = rest.len() - rest.trim_start_matches('`').len();
        at = start + marks.max(1);
    }
    found
}

/// The files that the prompt names with `@`, outside of its commands.
fn mentions(expansion: &Expansion) -> Vec<String> {
    let outputs = vec![String::new(); expansion.commands.len()];
    let text = expansion.with_outputs(&outputs);
    let words = text.split_whitespace();
    let names = words.filter_map(|word| word.strip_prefix('@'));
    let names = names.filter(|name| !name.is_empty() && !name.starts_with('@'));
    let mut mentions: Vec<String> = Vec::new();
    for name in names {
        if !mentions.iter().any(|known| known == name) {
            mentions.push(name.to_owned());
        }
    }
    mentions
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(body: &str, arguments: &str) -> Expansion {
        let fields = Fields {
            arguments: vec!["file".into(), "focus".into()],
            ..Fields::default()
        };
        let values = Placeholders {
            project: "/repo".into(),
            session_id: "s1".into(),
        };
        fields.expand(body, arguments, &values, Some(Path::new("/repo/skill")))
    }

    /// The lines are the ones that Claude Code 2.1.331 sent for the same files.
    #[test]
    fn placeholders_have_the_values_that_claude_code_gives_them() {
        let arguments = "one 'two words' three";
        for (body, expected) in [
            (
                "A0=$0 A1=$1 A2=$2 A5=$5",
                "A0=one A1=two words A2=three A5=$5",
            ),
            ("all=$ARGUMENTS", "all=one 'two words' three"),
            ("$ARGUMENTS[0] $ARGUMENTS[9]", "one $ARGUMENTS[9]"),
            ("${1} $5.00 $x \\$0 $2", "${1} $5.00 $x $0 three"),
            ("f=$file g=$focus", "f=one g=two words"),
            (
                "${CLAUDE_SKILL_DIR} ${CLAUDE_PROJECT_DIR} ${CLAUDE_SESSION_ID} $0",
                "/repo/skill /repo s1 one",
            ),
            ("none", "none\n\nARGUMENTS: one 'two words' three"),
        ] {
            assert_eq!(expand(body, arguments).text, expected, "{body}");
        }
        assert_eq!(expand("none", " ").text, "none");
        // A value is not expanded again.
        assert_eq!(expand("$0", "$ARGUMENTS").text, "$ARGUMENTS");
    }

    #[test]
    fn commands_are_found_with_their_arguments_and_replaced_by_their_outputs() {
        let body = "x!`no` a: !`echo $0` `code !`b``\n```!\nls\n```\n```sh\n!x\n```\nend $0";
        let expansion = expand(body, "one");
        let commands: Vec<&str> = expansion
            .commands
            .iter()
            .map(|command| command.command.as_str())
            .collect();
        assert_eq!(commands, ["echo one", "b", "ls"]);
        let outputs = ["1\n".to_owned(), "2".to_owned(), "3".to_owned()];
        assert_eq!(
            expansion.with_outputs(&outputs),
            "x!`no` a: 1 `code 2`\n3\n```sh\n!x\n```\nend one"
        );
    }

    #[test]
    fn mentions_are_words_of_the_prompt() {
        let expansion = expand("@a.md and @a.md, x@y @$0 !`cat @no`", "b.md");
        assert_eq!(expansion.mentions, ["a.md", "a.md,", "b.md"]);
    }

    #[test]
    fn fields_are_read_in_every_form() {
        let fields = |text: &str| Fields::read(&crate::front_matter::parse(text));
        let expected = Fields {
            arguments: vec!["file".into(), "focus".into()],
            model: Some("haiku".into()),
            allowed_tools: vec!["Read".into(), "Bash(git add:*)".into(), "Bash(a, b)".into()],
        };
        let line = "---\narguments: file focus\nmodel: haiku\nallowed-tools: Read, Bash(git add:*) Bash(a, b)\n---\n";
        assert_eq!(fields(line), expected);
        let list = "---\narguments: [file, focus]\nmodel: haiku\nallowed-tools:\n  - Read\n  - Bash(git add:*)\n  - Bash(a, b)\n---\n";
        assert_eq!(fields(list), expected);
        assert_eq!(fields("---\nmodel: inherit\n---\n").model, None);
    }
}
