//! Reads texts in Python and JavaScript just far enough to see what they load: names, calls, quoted texts and lists of them.

/// The modules and commands that a text loads.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::trust) struct Loads {
    pub modules: Vec<String>,
    /// Commands for a shell.
    pub commands: Vec<String>,
    /// Folders in which Python looks for modules, relative to the script.
    pub paths: Vec<String>,
    /// The text can import a module by a computed name.
    pub imports_any: bool,
    /// The text sets environment variables with computed names, which can choose the code that other programs load.
    pub sets_variables: bool,
    /// The text can run any command, any file or any code.
    pub runs_any: bool,
}

#[cfg(test)]
impl Loads {
    /// Exactly these modules and commands, and nothing computed.
    pub(in crate::trust) fn only(modules: &[&str], commands: &[&str]) -> Self {
        let all = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        Self {
            modules: all(modules),
            commands: all(commands),
            ..Self::default()
        }
    }
}

/// The variable for a computed part of a command that a shell reads, so that the value can contain other commands.
pub(in crate::trust) const SPLICED: &str = "$spliced";
/// The variable for another computed part.
const UNKNOWN: &str = "$unknown";

/// Environment variables that choose the code of other programs. A text that only names one counts.
#[rustfmt::skip]
const SELECTING: [&str; 20] = [
    "PATH", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "NODE_OPTIONS", "NODE_PATH", "LD_PRELOAD", "LD_LIBRARY_PATH", "BASH_ENV",
    "PERL5LIB", "PERL5OPT", "RUBYLIB", "RUBYOPT", "BUNDLE_GEMFILE", "JAVA_TOOL_OPTIONS", "RUSTC_WRAPPER", "GIT_EXTERNAL_DIFF",
    "GIT_SSH_COMMAND", "GIT_CONFIG_GLOBAL", "MAKEFLAGS",
];

/// Whether the text names a variable that chooses the code which its commands load.
pub(in crate::trust) fn selects(text: &str) -> bool {
    let mut parts = names(text).flat_map(|name| name.split('.'));
    parts.any(|part| SELECTING.contains(&part) || part.starts_with("npm_config_"))
}

/// Whether the text sets an environment variable with a computed name. `environment` is the expression for all variables. Harmless uses are
/// an access in `reads`, an index in quotes, and an index that is only read.
pub(in crate::trust) fn sets_any(text: &str, environment: &str, reads: &[&str]) -> bool {
    text.match_indices(environment).any(|(at, _)| {
        let rest = &text[at + environment.len()..];
        let is_fixed = |rest: &str| rest.starts_with(['"', '\'']);
        let sets = |rest: &str| {
            let rest = rest.trim_start_matches([' ', '?', '|']);
            rest.starts_with('=') && !rest.starts_with("==")
        };
        if let Some(index) = rest.strip_prefix('[') {
            let after = within(index).map_or("=", |inner| &index[inner.len() + 1..]);
            return !is_fixed(index) && sets(after);
        }
        // The text gives the environment another name, or changes it with a function.
        let is_renamed = text[..at].trim_end().ends_with('=') && rest.starts_with(['\n', ';']);
        let is_changed = rest.starts_with('.')
            && !reads.iter().any(|read| {
                let after = rest[1..].strip_prefix(read);
                after.is_some_and(|after| {
                    !read.ends_with('(') || *read != "setdefault(" || is_fixed(after)
                })
            });
        is_renamed || is_changed || text[..at].ends_with("assign(")
    })
}

/// The names in a text; a name with points, such as `os.path`, is one name.
pub(in crate::trust) fn names(text: &str) -> impl Iterator<Item = &str> {
    let is_name = |char: char| char.is_alphanumeric() || "_.$".contains(char);
    text.split(move |char| !is_name(char))
        .filter(|name| !name.is_empty())
}

/// The calls of the function `name`: the text before each call, and the text that starts at its arguments.
pub(in crate::trust) fn calls<'t>(
    text: &'t str,
    name: &'t str,
) -> impl Iterator<Item = (&'t str, &'t str)> {
    let is_name = |char: char| char.is_alphanumeric() || "_$".contains(char);
    text.match_indices(name).filter_map(move |(at, _)| {
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let arguments = after.trim_start().strip_prefix('(')?;
        (!before.ends_with(is_name)).then_some((before, arguments.trim_start()))
    })
}

/// The text up to the bracket that closes the one before its start.
pub(in crate::trust) fn within(text: &str) -> Option<&str> {
    let (mut depth, mut quote) = (0_usize, None);
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match (quote, char) {
            (Some(_), '\\') => drop(chars.next()),
            (Some(mark), _) if char == mark => quote = None,
            (None, '"' | '\'' | '`') => quote = Some(char),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') if depth == 0 => return Some(&text[..at]),
            (None, ')' | ']' | '}') => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The elements of a list, which commas separate.
fn parts(text: &str) -> Vec<&str> {
    let (mut depth, mut quote, mut start) = (0_usize, None, 0);
    let mut found = Vec::new();
    for (at, char) in text.char_indices() {
        match (quote, char) {
            (Some(mark), _) if char == mark => quote = None,
            (None, '"' | '\'' | '`') => quote = Some(char),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, ',') if depth == 0 => {
                found.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    found.push(text[start..].trim());
    found.retain(|part| !part.is_empty());
    found
}

/// Finds the commands that the calls in a text run.
pub(in crate::trust) struct Commands<'t> {
    pub text: &'t str,
    /// The character between the name of an argument and its value.
    pub mark: char,
    /// Expressions for the root of the project, or for the directory in which the text starts.
    pub roots: &'static [&'static str],
    /// The number of nested function calls that are followed.
    pub depth: usize,
}

impl Commands<'_> {
    /// The commands that a call with these arguments can run; `None` if they are computed.
    pub(in crate::trust) fn of_call(&self, arguments: &str) -> Option<Vec<String>> {
        let call = within(arguments)?;
        let given = parts(call.strip_prefix("args=").unwrap_or(call));
        let (first, rest) = given.split_first()?;
        let mut moves = None;
        self.options(rest, &mut moves)?;
        let mut found = if is_text(first) || *first == "process.execPath" {
            let (text, after) = match *first {
                "process.execPath" => ("node".to_owned(), ""),
                _ => literal(first.trim_start_matches(['f', 'r', 'b']))?,
            };
            if !after.trim().is_empty() {
                // The command is put together from several texts.
                return None;
            }
            // The arguments are a list of their own: `spawn("npx", ["prettier"])`.
            let is_list = |words: &&&str| {
                self.mark == ':' && !words.starts_with(['{', '(']) && !words.contains("=>")
            };
            match rest.first().filter(is_list) {
                None => vec![text.replace(UNKNOWN, SPLICED)],
                Some(words) => {
                    let lists = self.lists(words)?.into_iter();
                    let lists = lists.map(|words| format!("'{text}' {words}"));
                    // A shell reads the words, too.
                    let splices = rest
                        .iter()
                        .any(|part| part.replace(' ', "").contains("shell:true"));
                    let splice = |words: String| words.replace(UNKNOWN, SPLICED);
                    lists
                        .map(|words| if splices { splice(words) } else { words })
                        .collect()
                }
            }
        } else {
            self.lists(first)?
        };
        if let Some(folder) = moves {
            for command in &mut found {
                *command = format!("cd {folder} && {command}");
            }
        }
        Some(found)
    }

    /// Reads the options of a call, with the directory that `cd` needs before the command; `None` if an option is computed.
    fn options(&self, rest: &[&str], moves: &mut Option<String>) -> Option<()> {
        for part in rest {
            let mut lists = vec![*part];
            // The list of arguments is a variable: `spawn("npx", words, options)`.
            let is_name = part
                .chars()
                .all(|char| char.is_alphanumeric() || char == '_');
            if self.mark == ':' && is_name {
                lists = self.values(part).map(|(_, value)| value).collect();
                let is_callback = ["callback", "cb", "done", "undefined", "null"].contains(part);
                if lists.is_empty() && !is_callback && self.functions_with(part).is_empty() {
                    return None;
                }
            }
            for list in lists {
                let inner = list.strip_prefix('{').and_then(within);
                for option in inner.map_or_else(|| vec![list], parts) {
                    self.option(option, inner.is_some(), moves)?;
                }
            }
        }
        Some(())
    }

    /// Reads an option of a call; `None` if it can choose other code.
    fn option(&self, option: &str, is_inner: bool, moves: &mut Option<String>) -> Option<()> {
        let (name, value) = option.split_once(self.mark).unwrap_or((option, option));
        let (name, value) = (name.trim(), value.trim());
        match name {
            "cwd" => *moves = self.directory(value),
            "env" if !self.is_plain_environment(value) => return None,
            "executable" | "execPath" => return None,
            "shell" if value.starts_with(['"', '\'', '`']) => return None,
            _ if option.starts_with("**") || is_inner && option.starts_with("...") => return None,
            _ => {}
        }
        Some(())
    }

    /// The words of a list, or of a variable with lists, perhaps followed by more words.
    fn lists(&self, text: &str) -> Option<Vec<String>> {
        let spread = text.strip_prefix('[').and_then(|rest| {
            let rest = rest.trim_start();
            rest.strip_prefix('*').or(rest.strip_prefix("..."))
        });
        let text = match spread {
            Some(rest) => rest.split([',', ']']).next()?,
            None if text.starts_with('[') => return Some(vec![list_of(text)?]),
            None => text.split('+').next()?,
        };
        self.lists_of(text.trim())
    }

    /// The lists that a variable can have: those that the text assigns to it, and those that callers pass as this parameter.
    fn lists_of(&self, name: &str) -> Option<Vec<String>> {
        if name.is_empty()
            || !name
                .chars()
                .all(|char| char.is_alphanumeric() || char == '_')
        {
            return None;
        }
        let mut found = Vec::new();
        for (_, value) in self.values(name) {
            match list_of(value) {
                Some(words) => found.push(format!("{words} \"$unknown\"")),
                None => found.extend(self.member(value)?),
            }
        }
        let changes = [".insert", ".unshift", ".splice", "["].map(|end| format!("{name}{end}"));
        let is_changed = changes.iter().any(|change| self.text.contains(change));
        if self.depth == 0 || is_changed || self.text.contains(&format!("lambda {name}")) {
            return None;
        }
        for list in self.loops(name) {
            found.extend(self.members(list)?);
        }
        for (function, place) in self.functions_with(name) {
            if place > 0 || function.is_empty() {
                return None;
            }
            let inner = Commands {
                depth: self.depth - 1,
                ..*self
            };
            for (before, arguments) in calls(self.text, function) {
                let is_definition = ["def ", "function ", "."]
                    .iter()
                    .any(|end| before.ends_with(end));
                if !is_definition {
                    let commands = inner.of_call(arguments)?.into_iter();
                    found.extend(commands.map(|command| format!("{command} \"$unknown\"")));
                }
            }
        }
        (!found.is_empty()).then_some(found)
    }

    /// The values of loops over the name: `for end, name in all.items()`, `for (const name of all)`.
    fn loops(&self, name: &str) -> Vec<&str> {
        let lines = self
            .text
            .match_indices("for ")
            .map(|(at, _)| &self.text[at + 4..]);
        let lines = lines.map(|line| line.split('\n').next().unwrap_or_default());
        let parts = lines.filter_map(|line| line.split_once(" in ").or(line.split_once(" of ")));
        let is_end = |char: char| !char.is_alphanumeric() && char != '_';
        let parts = parts.filter(|(names, _)| names.split(is_end).any(|word| word == name));
        parts.map(|(_, list)| list).collect()
    }

    /// The commands in one member of a named collection: `all[end]`, `all.get(end)`.
    fn member(&self, value: &str) -> Option<Vec<String>> {
        let value = value.lines().next()?;
        let is_member = |rest: &str| rest.starts_with('[') || rest.starts_with(".get(");
        let at = value
            .find(['[', '.'])
            .filter(|at| is_member(&value[*at..]))?;
        self.members(&value[..at])
    }

    /// The commands in a named collection of lists that does not change.
    fn members(&self, name: &str) -> Option<Vec<String>> {
        let is_name = |char: char| char.is_alphanumeric() || char == '_';
        let (name, rest) = name.split_at(name.find(|char| !is_name(char)).unwrap_or(name.len()));
        let calls = ["", ":", ".items():", ".values():", ")", ") {"];
        let changes = [
            "append",
            "extend",
            "update",
            "insert",
            "setdefault",
            "push",
            "unshift",
        ];
        let is_changed = changes
            .iter()
            .any(|change| self.text.contains(&format!("{name}.{change}")));
        let sets = |(at, _): (usize, &str)| {
            let inner = self.text[at + name.len() + 1..].split_once(']');
            let after = inner.map_or("=", |(_, rest)| rest.trim_start());
            after.starts_with('=') && !after.starts_with("==")
        };
        let mut indices = self.text.match_indices(name);
        let is_set = indices
            .any(|(at, _)| self.text[at + name.len()..].starts_with('[') && sets((at, name)));
        if name.is_empty() || !calls.contains(&rest.trim()) || is_changed || is_set {
            return None;
        }
        let mut found = Vec::new();
        for (_, value) in self.values(name) {
            let inner = value.strip_prefix(['{', '['])?;
            for part in parts(within(inner)?) {
                let list = part.find('[').map(|at| &part[at..])?;
                found.push(format!("{} \"$unknown\"", list_of(list)?));
            }
        }
        (!found.is_empty()).then_some(found)
    }

    /// The functions with a parameter of this name, and the position of the parameter.
    fn functions_with(&self, name: &str) -> Vec<(&str, usize)> {
        let is_it = |part: &&str| part.split([':', '=', ' ']).next() == Some(name);
        let lines = self.text.lines().map(str::trim).filter_map(parameters);
        let lines = lines
            .filter_map(|(function, given)| Some((function, parts(given).iter().position(is_it)?)));
        lines.collect()
    }

    /// The values that the text assigns to the name.
    fn values(&self, name: &str) -> impl Iterator<Item = (&str, &str)> {
        let is_name = |char: char| char.is_alphanumeric() || "_$.".contains(char);
        let name = name.to_owned();
        let text = self.text;
        let places: Vec<usize> = text.match_indices(&*name).map(|(at, _)| at).collect();
        places.into_iter().filter_map(move |at| {
            let (before, after) = (&text[..at], &text[at + name.len()..]);
            let after = after.trim_start();
            let value = after
                .strip_prefix('=')
                .filter(|rest| !rest.starts_with(['=', '>']))?;
            (!before.ends_with(is_name)).then_some((before, value.trim_start()))
        })
    }

    /// The directory in which a command starts, for `cd`; `None` if it is the root of the project.
    fn directory(&self, value: &str) -> Option<String> {
        let is_root = |value: &str| {
            let value = value.trim_end_matches([';', ' ']);
            let value = value
                .strip_prefix("str(")
                .map_or(value, |rest| rest.trim_end_matches(')'));
            self.roots.iter().any(|root| value.starts_with(root)) && !value.contains(['+', '/'])
        };
        if is_root(value) {
            return None;
        }
        let mut values = self
            .values(value)
            .map(|(_, value)| value.lines().next().unwrap_or_default());
        let first = values.next();
        if first.is_some_and(is_root) && values.all(is_root) {
            return None;
        }
        let known =
            literal(value).filter(|(text, rest)| rest.is_empty() && !text.contains(['\'', '$']));
        Some(known.map_or_else(
            || "\"$unknown\"".to_owned(),
            |(text, _)| format!("'{text}'"),
        ))
    }

    /// Whether the command gets the environment of the script, with only what the text itself adds.
    fn is_plain_environment(&self, value: &str) -> bool {
        let is_plain = |value: &str| {
            ["{", "dict(", "os.environ", "process.env", "None"]
                .iter()
                .any(|start| value.starts_with(start))
        };
        let mut values = self.values(value).peekable();
        is_plain(value) || values.peek().is_some() && values.all(|(_, value)| is_plain(value))
    }
}

/// The name of the function that a line defines, which can be empty, and its parameters.
fn parameters(line: &str) -> Option<(&str, &str)> {
    let line = line
        .trim_start_matches("export ")
        .trim_start_matches("async ");
    if let Some(rest) = line
        .strip_prefix("def ")
        .or_else(|| line.strip_prefix("function "))
    {
        let (name, rest) = rest.split_once('(')?;
        return Some((name.trim(), within(rest).unwrap_or(rest)));
    }
    let (before, _) = line.split_once("=>")?;
    let start = before.rfind(['(', '=', ',']).map_or(0, |at| at + 1);
    let given = before[start..].trim().trim_end_matches(')');
    // `const run = (words) =>`
    let name = before.split_once('=').map_or("", |(name, _)| name).trim();
    let name = name.rsplit(' ').next().unwrap_or_default();
    let given = before
        .find('(')
        .map_or(given, |at| before[at + 1..].trim().trim_end_matches(')'));
    Some((name, given))
}

fn is_text(text: &str) -> bool {
    let text = text.trim_start_matches(['f', 'r', 'b']);
    text.starts_with(['"', '\'', '`'])
}

/// The text inside the list that starts here, and the text after it.
fn list(text: &str) -> Option<(&str, &str)> {
    let inner = within(text.strip_prefix('[')?)?;
    Some((inner, &text[inner.len() + 2..]))
}

/// The command that the words of a list make up; a computed word becomes a variable.
fn list_of(text: &str) -> Option<String> {
    let (inner, rest) = list(text)?;
    let mut found = Vec::new();
    for (place, word) in parts(inner).into_iter().enumerate() {
        let is_plain = literal(word).is_some_and(|(text, rest)| {
            rest.is_empty() && !text.contains(['\'', '$']) && !word.starts_with('`')
        });
        match word {
            "sys.executable" => found.push("python3".to_owned()),
            "process.execPath" => found.push("node".to_owned()),
            _ if is_plain => found.push(format!("'{}'", literal(word)?.0)),
            _ if place == 0 => return None,
            _ => found.push("\"$unknown\"".to_owned()),
        }
    }
    // The text adds more words to the list.
    if rest.trim_start().starts_with(['+', '.']) {
        found.push("\"$unknown\"".to_owned());
    }
    Some(found.join(" "))
}

/// The quoted text at the start, in which computed parts become a variable, and the text after it.
pub(in crate::trust) fn literal(text: &str) -> Option<(String, &str)> {
    let quote = text.chars().next().filter(|char| "\"'`".contains(*char))?;
    let (inner, rest) = text[1..].split_once(quote)?;
    if inner.contains('\\') || inner.is_empty() {
        return None;
    }
    let mut parts = inner.split('{');
    let mut found = parts
        .next()
        .unwrap_or_default()
        .trim_end_matches('$')
        .to_owned();
    for part in parts {
        let (_, after) = part.split_once('}')?;
        found.push_str(UNKNOWN);
        found.push_str(after.trim_end_matches('$'));
    }
    Some((found, rest))
}
