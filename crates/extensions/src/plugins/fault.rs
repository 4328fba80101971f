//! Converts a Lua error to a problem with its position.

use std::path::Path;

use mlua::Error;

use super::api::{FUNCTIONS, Function};
use osier_base::problem::{Problem, nearest};
use osier_base::text;

/// Maximum bytes of a message.
const MESSAGE_LIMIT: usize = 500;

/// Parts of errors about functions that plugins do not have, and the functions to use instead.
const HINTS: [(&str, &str); 5] = [
    (
        "(global 'io')",
        "plugins have no `io`: use `osier.exec` with a program, such as `cat`, and `print` for output",
    ),
    (
        "(field 'execute')",
        "plugins have no `os.execute`: use `osier.exec`",
    ),
    (
        "(field 'getenv')",
        "plugins have no `os.getenv`: use `osier.exec` with `printenv`",
    ),
    ("(global 'load')", "plugins cannot load code"),
    (
        "a userdata value",
        "functions that wait do not work in a coroutine of the plugin",
    ),
];

/// The problem for `error`. `chunk` is the Lua name of the file at `path`; other chunks of the plugin are in
/// the same directory.
pub(super) fn problem(path: &Path, chunk: &str, error: &Error) -> Problem {
    let (mut message, traceback) = flatten(error);
    let mut position = Position::parse(&message, chunk);
    if let Some(position) = &position {
        message = message[position.length..].trim_start().to_owned();
    } else {
        position = traceback
            .lines()
            .find_map(|line| Position::parse(line.trim(), chunk));
    }
    let message = text::single_line(&text::sanitize(text::head_bytes(&message, MESSAGE_LIMIT)));
    let line = position.as_ref().map(|position| position.line);
    let file = position.and_then(|position| position.module);
    let path = match (file, path.parent()) {
        (Some(file), Some(folder)) => folder.join(file),
        _ => path.to_owned(),
    };
    let hint = HINTS.iter().find(|(part, _)| message.contains(part));
    let hint = hint.map(|(_, hint)| (*hint).to_owned());
    let hint = hint.or_else(|| likely(&message)).unwrap_or_default();
    Problem {
        line,
        ..Problem::of_file(path, message, &hint)
    }
}

/// The function that is likely to be meant by the call of an unknown one.
fn likely(message: &str) -> Option<String> {
    let (_, rest) = message.split_once("attempt to call a nil value (field '")?;
    let (name, _) = rest.split_once('\'')?;
    let last = |function: &Function| function.name.rsplit('.').next().unwrap_or(function.name);
    let known = nearest(name, FUNCTIONS.iter().map(last))?;
    let function = FUNCTIONS.iter().find(|function| last(function) == known)?;
    Some(format!("did you mean `osier.{}`?", function.name))
}

/// The problem as one line for the model.
pub(super) fn text(problem: &Problem, chunk: &str) -> String {
    match problem.line {
        Some(line) => format!("{chunk}:{line}: {}", problem.message),
        None => problem.message.clone(),
    }
}

/// Whether the plugin ran out of memory.
pub(super) fn is_memory(error: &Error) -> bool {
    match error {
        Error::MemoryError(_) => true,
        Error::CallbackError { cause, .. } => is_memory(cause),
        _ => false,
    }
}

fn flatten(error: &Error) -> (String, String) {
    match error {
        Error::CallbackError { traceback, cause } => {
            let (message, inner) = flatten(cause);
            (message, format!("{inner}\n{traceback}"))
        }
        Error::SyntaxError { message, .. } | Error::RuntimeError(message) => {
            let (message, traceback) = message
                .split_once("\nstack traceback:")
                .unwrap_or((message, ""));
            (message.trim().to_owned(), traceback.to_owned())
        }
        Error::MemoryError(_) => ("ran out of memory (64 MiB)".to_owned(), String::new()),
        other => (other.to_string(), String::new()),
    }
}

/// The position of an error in Lua code.
struct Position {
    /// The file of a module; `None` for the chunk itself.
    module: Option<String>,
    line: usize,
    /// Bytes of the position in the text.
    length: usize,
}

impl Position {
    /// Parses a position at the start of `text`.
    fn parse(text: &str, chunk: &str) -> Option<Self> {
        let (file, rest) = text.split_once(':')?;
        let (line, _) = rest.split_once(':')?;
        let is_chunk = file == chunk;
        let is_module = Path::new(file)
            .extension()
            .is_some_and(|extension| extension == "lua");
        (is_chunk || is_module).then_some(Self {
            module: (!is_chunk).then(|| file.to_owned()),
            line: line.parse().ok()?,
            length: file.len() + line.len() + 2,
        })
    }
}

#[cfg(test)]
mod tests {
    use mlua::Lua;

    use super::*;

    fn shown(code: &str) -> String {
        let lua = Lua::new();
        let fail = lua.create_function(|_, ()| -> mlua::Result<()> {
            Err(Error::RuntimeError("refused".to_owned()))
        });
        lua.globals().set("fail", fail.unwrap()).unwrap();
        let error = lua.load(code).set_name("@todo.lua").exec().unwrap_err();
        problem(Path::new("/p/todo.lua"), "todo.lua", &error).to_string()
    }

    #[test]
    fn every_error_has_its_line_number() {
        assert_eq!(
            shown("local x = 1\nlocal = 2"),
            "/p/todo.lua:2: <name> expected near '='"
        );
        assert_eq!(shown("\n\nerror('no')"), "/p/todo.lua:3: no");
        assert_eq!(
            shown("local osier = {}\nosier.onn('turn_end', print)"),
            "/p/todo.lua:2: attempt to call a nil value (field 'onn'); did you mean `osier.on`?"
        );
        assert_eq!(
            shown("\nlocal t = nil\nt.x = 1"),
            "/p/todo.lua:3: attempt to index a nil value (local 't')"
        );
        assert_eq!(
            shown("local function f()\n  fail()\nend\nf()"),
            "/p/todo.lua:2: refused"
        );
    }
}
