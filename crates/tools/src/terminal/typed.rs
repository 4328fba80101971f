//! The input of a terminal since the last line: a line for a shell is checked like a command before it is sent.

use super::keys::normalized;

/// Keys that change the line in ways that only the program knows. A terminal that no editor reads inserts `ctrl+h`, and
/// discards the line at `ctrl+z`; a shell that edits lines itself does the opposite.
const EDITING: [&str; 27] = [
    "backspace",
    "ctrl+?",
    "ctrl+h",
    "ctrl+c",
    "ctrl+d",
    "ctrl+z",
    "ctrl+l",
    "ctrl+\\",
    "up",
    "down",
    "left",
    "right",
    "home",
    "end",
    "tab",
    "delete",
    "insert",
    "ctrl+a",
    "ctrl+b",
    "ctrl+e",
    "ctrl+f",
    "ctrl+k",
    "ctrl+n",
    "ctrl+p",
    "ctrl+u",
    "ctrl+w",
    "ctrl+r",
];
/// The editing keys that change nothing in an empty line.
const HARMLESS_WHEN_EMPTY: [&str; 8] = [
    "backspace",
    "ctrl+?",
    "ctrl+h",
    "ctrl+c",
    "ctrl+d",
    "ctrl+z",
    "ctrl+l",
    "ctrl+\\",
];
/// Keys that leave the line as it is.
const NEUTRAL: [&str; 2] = ["ctrl+q", "ctrl+s"];

/// The meaning of input for a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Typed {
    /// The input completes no line.
    Nothing,
    /// The input completes these lines.
    Command(String),
    /// The input runs a line that is not known, or in another language.
    Unknown,
    /// A program reads the input before a shell, for which it is these lines, if they are known.
    Ahead(Option<String>),
}

/// The line that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// Not set if it is not known.
    begun: Option<String>,
    /// The lines that the input completes.
    done: String,
    runs: bool,
    is_unknown: bool,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            begun: Some(String::new()),
            done: String::new(),
            runs: false,
            is_unknown: false,
        }
    }
}

impl Line {
    /// Adds input; returns what it means.
    pub(super) fn add(&mut self, text: &str, keys: &[String]) -> Typed {
        for character in text.chars() {
            match character {
                '\n' | '\r' => self.enter(),
                '\x03' => self.edit("ctrl+c"),
                // Escape sequences and other keys written as text.
                character if character.is_control() => self.run_unknown(),
                character => self.push(character),
            }
        }
        for key in keys {
            let key = normalized(key);
            let mut characters = key.chars();
            match (key.as_str(), characters.next(), characters.next()) {
                (_, Some(character), None) => self.push(character),
                ("enter" | "return" | "ctrl+m" | "ctrl+j", ..) => self.enter(),
                ("space", ..) => self.push(' '),
                (key, ..) if NEUTRAL.contains(&key) => {}
                (key, ..) if EDITING.contains(&key) => self.edit(key),
                _ => self.run_unknown(),
            }
        }
        let runs = std::mem::take(&mut self.runs);
        let is_unknown = std::mem::take(&mut self.is_unknown);
        let done = std::mem::take(&mut self.done);
        match (runs, is_unknown) {
            (false, _) => Typed::Nothing,
            (true, true) => Typed::Unknown,
            (true, false) if done.trim().is_empty() => Typed::Nothing,
            (true, false) => Typed::Command(done),
        }
    }

    /// Adds input; returns all lines, complete or not, if their meaning is known. The meaning of a line that shells read in
    /// different ways is unknown: another shell can be running when the line is read.
    pub(super) fn begin(mut self, text: &str, keys: &[String]) -> Option<String> {
        let done = match self.add(text, keys) {
            Typed::Command(done) => done + "\n",
            Typed::Nothing => String::new(),
            Typed::Unknown | Typed::Ahead(_) => return None,
        };
        let is_plain = |char: char| char.is_ascii_alphanumeric() || " \n_./:@%+,-".contains(char);
        Some(done + &self.begun?).filter(|lines| lines.chars().all(is_plain))
    }

    /// The user typed something, which nobody records.
    pub(super) fn add_unseen(&mut self, bytes: &[u8]) {
        let ends = bytes
            .last()
            .is_some_and(|last| b"\r\x03\x04".contains(last));
        self.begun = ends.then(String::new);
    }

    fn push(&mut self, character: char) {
        if let Some(line) = &mut self.begun {
            line.push(character);
        }
    }

    /// A key of `EDITING`. `ctrl+d` hands what was typed to the program, which may run it.
    fn edit(&mut self, key: &str) {
        let is_empty = self.begun.as_ref().is_some_and(String::is_empty);
        if is_empty && HARMLESS_WHEN_EMPTY.contains(&key) {
            return;
        }
        if key == "ctrl+d" {
            self.run_unknown();
        }
        self.begun = None;
    }

    fn enter(&mut self) {
        self.runs = true;
        match self.begun.replace(String::new()) {
            // An interactive shell inserts earlier lines.
            Some(line) if recalls(&line) => self.is_unknown = true,
            Some(line) => {
                if !self.done.is_empty() {
                    self.done.push('\n');
                }
                self.done.push_str(&line);
            }
            None => self.is_unknown = true,
        }
    }

    fn run_unknown(&mut self) {
        self.runs = true;
        self.is_unknown = true;
        self.begun = None;
    }
}

/// Whether a line contains what bash replaces with earlier lines: `!!`, `!:1`, `^a^b`.
fn recalls(line: &str) -> bool {
    let is_mark = |at: usize| {
        let next = line[at + 1..].chars().next();
        next.is_some_and(|next| !next.is_whitespace() && next != '=')
    };
    line.trim_start().starts_with('^') || line.match_indices('!').any(|(at, _)| is_mark(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn lines_are_put_together_from_all_input() {
        let mut line = Line::default();
        let command = |text: &str| Typed::Command(text.to_owned());
        assert_eq!(line.add("rm -rf ", &[]), Typed::Nothing);
        assert_eq!(line.add("x", &keys(&["enter"])), command("rm -rf x"));
        assert_eq!(line.add("", &keys(&["enter"])), Typed::Nothing);
        assert_eq!(line.add("a\nb\nc", &[]), command("a\nb"));
        assert_eq!(line.add("\r", &[]), command("c"));
        // These keys leave an empty line empty.
        let stop = keys(&["ctrl+c", "ctrl+d", "backspace", "ctrl+l"]);
        assert_eq!(line.add("\x03", &stop), Typed::Nothing);
        assert_eq!(line.add("d\r", &[]), command("d"));
        assert_eq!(line.add("e", &keys(&["C-m"])), command("e"));
    }

    #[test]
    fn lines_for_the_shell_behind_a_program_are_put_together() {
        let mut line = Line::default();
        line.add("to", &[]);
        let begin = |text: &str, names: &[&str]| line.clone().begin(text, &keys(names));
        assert_eq!(begin("uch", &[]).as_deref(), Some("touch"));
        let names = ["u", "c", "h", "space", "x", "enter"];
        assert_eq!(begin("", &names).as_deref(), Some("touch x\n"));
        assert_eq!(begin("a\nb\nc", &[]).as_deref(), Some("toa\nb\nc"));
        assert_eq!(begin("echo x # ; touch made", &[]), None);
        for names in [
            ["up", "enter"],
            ["ctrl+c", "a"],
            ["tab", "enter"],
            ["ctrl+o", "a"],
        ] {
            assert_eq!(begin("", &names), None, "{names:?}");
        }
        assert_eq!(
            Line::default().begin("", &keys(&["ctrl+c"])).as_deref(),
            Some("")
        );
    }

    #[test]
    fn lines_that_only_the_program_knows_are_unknown() {
        for (text, names) in [
            ("", &["up", "enter"][..]),
            ("ls", &["tab", "enter"]),
            ("ls", &["ctrl+o"]),
            ("", &["f3"]),
            ("", &["alt+enter"]),
            ("\x1b[A\n", &[]),
            // `sh` runs what precedes the end of its input.
            ("rm -rf x", &["ctrl+d", "ctrl+d"]),
            // `sh` inserts ctrl+h, so the line is `rm -rf x;` and not empty.
            ("rm;", &["ctrl+h", "ctrl+h", "ctrl+h", "l", "s", "enter"]),
            ("rm;", &["backspace", "enter"]),
            // `sh` discards the line, and runs only what follows.
            ("echo ", &["ctrl+\\", "r", "m", "enter"]),
            ("echo ", &["ctrl+z", "r", "m", "enter"]),
            ("echo ", &["ctrl+c", "r", "m", "enter"]),
            // bash replaces these with parts of earlier lines.
            ("echo !!:1:s/\"x;/x;/:s/M\"/M/\n", &[]),
            ("!!\n", &[]),
            ("!touch\n", &[]),
            ("echo !$\n", &[]),
            ("echo \"!-1\"\n", &[]),
            ("^echo^touch\n", &[]),
        ] {
            let mut line = Line::default();
            assert_eq!(
                line.add(text, &keys(names)),
                Typed::Unknown,
                "{text} {names:?}"
            );
        }
        let mut line = Line::default();
        line.add_unseen(b"ec");
        assert_eq!(line.add("ho\n", &[]), Typed::Unknown);
        line.add_unseen(b"ls\r");
        let pwd = Typed::Command("pwd".to_owned());
        assert_eq!(line.add("pwd\n", &[]), pwd);
        // Text that a program did not read is the start of the next line.
        line.add_unseen(b"touch M");
        assert_eq!(line.add("\n", &[]), Typed::Unknown);
        line.add_unseen(b"exit()\r");
        assert_eq!(
            line.add("[ ! -e x ]\n", &[]),
            Typed::Command("[ ! -e x ]".to_owned())
        );
    }
}
