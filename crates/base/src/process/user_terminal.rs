//! Lends the terminal of the screen to a command of the user.
//!
//! A command that the user starts with `!` has no terminal. When it opens an editor, or is a program that needs a terminal,
//! the hidden subcommand [`super::unattended`] asks the screen over a socket. The screen steps aside, runs the program on the
//! real terminal, returns, and reports the exit code. Only commands of the user without a sandbox know the socket: its
//! requests run outside of a sandbox, and a command of the model could ask, too.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::net::UnixListener;
use tokio::sync::mpsc::UnboundedSender;
use tokio::task::JoinHandle;

use super::search::program_path;
use crate::leftovers::{FolderKind, TemporaryFolder};

/// The variable that names the socket to a command of the user.
const SOCKET: &str = "OSIER_TERMINAL_SOCKET";
/// Bytes of a request.
const REQUEST: u64 = 1024 * 1024;

/// The socket of the screen of this process.
static SCREEN: Mutex<Option<PathBuf>> = Mutex::new(None);

#[derive(Debug, Serialize, Deserialize)]
struct Wanted {
    program: Program,
    cwd: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
enum Program {
    /// An editor for these files. `variable` named the editor, `configured` has the choices of git by variable.
    Editor {
        variable: String,
        configured: BTreeMap<String, String>,
        files: Vec<String>,
    },
    /// A command for this shell.
    Command { shell: String, command: String },
}

/// A request for the terminal. Without an answer, it fails when it is dropped.
#[derive(Debug)]
pub struct TerminalRequest {
    wanted: Wanted,
    answer: UnixStream,
}

impl TerminalRequest {
    /// The program and its arguments. `own` has the user's environment.
    pub fn program(&self, own: &BTreeMap<String, String>) -> (String, Vec<String>) {
        match &self.wanted.program {
            Program::Command { shell, command } => {
                (shell.clone(), vec!["-c".to_owned(), command.clone()])
            }
            Program::Editor {
                variable,
                configured,
                files,
            } => {
                let editor = editor(variable, configured, own);
                let script = format!("{editor} \"$@\"");
                let mut arguments = vec!["-c".to_owned(), script, editor.to_owned()];
                arguments.extend(files.iter().cloned());
                ("sh".to_owned(), arguments)
            }
        }
    }

    pub fn cwd(&self) -> &Path {
        &self.wanted.cwd
    }

    /// Reports the exit code to the command.
    pub fn answer(mut self, code: u8) {
        // The command can have been stopped meanwhile.
        let _ = self.answer.write_all(&[code]);
    }

    fn read(stream: UnixStream) -> io::Result<Self> {
        let mut line = String::new();
        BufReader::new((&stream).take(REQUEST)).read_line(&mut line)?;
        Ok(Self {
            wanted: serde_json::from_str(&line)?,
            answer: stream,
        })
    }
}

/// The user's editor, as programs choose it.
fn editor<'a>(
    variable: &'a str,
    configured: &'a BTreeMap<String, String>,
    own: &'a BTreeMap<String, String>,
) -> &'a str {
    let order: &[&str] = match variable {
        "GIT_SEQUENCE_EDITOR" => &["GIT_SEQUENCE_EDITOR", "GIT_EDITOR", "VISUAL", "EDITOR"],
        "EDITOR" => &["EDITOR", "VISUAL"],
        _ => &[variable, "VISUAL", "EDITOR"],
    };
    let of = |name: &&str| own.get(*name).or_else(|| configured.get(*name));
    let set = order.iter().filter_map(of);
    set.map(String::as_str)
        .find(|editor| !editor.trim().is_empty())
        .unwrap_or("vi")
}

/// The screen's end of the socket. Commands of the user find the socket until this is dropped.
#[derive(Debug)]
pub struct TerminalLender {
    _folder: TemporaryFolder,
    task: JoinHandle<()>,
}

impl Drop for TerminalLender {
    fn drop(&mut self) {
        *SCREEN.lock() = None;
        self.task.abort();
    }
}

/// Starts to pass requests for the terminal to `requests`. Requires a tokio runtime.
pub fn lend_terminal<T: Send + 'static>(
    requests: UnboundedSender<T>,
    as_message: fn(TerminalRequest) -> T,
) -> io::Result<TerminalLender> {
    let folder = TemporaryFolder::new(FolderKind::Editor)?;
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path)?;
    let task = crate::task::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let read = crate::task::spawn_blocking(move || {
                let stream = stream.into_std()?;
                stream.set_nonblocking(false)?;
                TerminalRequest::read(stream)
            });
            let requests = requests.clone();
            crate::task::spawn(async move {
                if let Ok(Ok(request)) = read.await {
                    let _ = requests.send(as_message(request));
                }
            });
        }
    });
    *SCREEN.lock() = Some(path);
    Ok(TerminalLender {
        _folder: folder,
        task,
    })
}

/// The variable for a command of the user, if this process has a screen.
pub fn lent_terminal() -> Option<(OsString, OsString)> {
    let path = SCREEN.lock().clone()?;
    Some((SOCKET.into(), path.into()))
}

/// Asks the screen that this command knows for `program`. `None` without a screen, or when it cannot help.
fn request(program: Program) -> Option<u8> {
    let socket = std::env::var_os(SOCKET)?;
    let cwd = std::env::current_dir().ok()?;
    let mut stream = UnixStream::connect(socket).ok()?;
    let mut line = serde_json::to_string(&Wanted { program, cwd }).ok()?;
    line.push('\n');
    stream.write_all(line.as_bytes()).ok()?;
    let mut code = [0];
    stream.read_exact(&mut code).ok()?;
    Some(code[0])
}

/// Opens the user's editor on the terminal of the screen.
pub(super) fn request_editor(variable: &str, files: Vec<String>) -> Option<u8> {
    // Without a screen, git is not started.
    std::env::var_os(SOCKET)?;
    let mut configured = BTreeMap::new();
    if variable.starts_with("GIT_") {
        for (name, key) in [
            ("GIT_SEQUENCE_EDITOR", "sequence.editor"),
            ("GIT_EDITOR", "core.editor"),
        ] {
            configured.extend(git_setting(key).map(|editor| (name.to_owned(), editor)));
        }
    }
    let variable = variable.to_owned();
    request(Program::Editor {
        variable,
        configured,
        files,
    })
}

/// Runs a command line on the terminal of the screen.
pub(super) fn request_command(shell: String, command: String) -> Option<u8> {
    request(Program::Command { shell, command })
}

/// A setting of the git that started this process, with its `-c` options.
fn git_setting(key: &str) -> Option<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "it has the environment of this process, a child of that git"
    )]
    let mut git = std::process::Command::new(program_path("git".as_ref()));
    let output = git.args(["config", "--get", key]).output();
    let output = output.ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    Some(text.trim_end_matches('\n').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc::unbounded_channel;

    fn variables(all: &[(&str, &str)]) -> BTreeMap<String, String> {
        let pairs = all.iter().map(|(name, value)| (*name, *value));
        pairs
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }

    #[test]
    fn the_editor_is_the_one_that_the_program_would_choose() {
        let configured = variables(&[("GIT_EDITOR", "configured")]);
        for (variable, own, expected) in [
            ("GIT_EDITOR", &[("GIT_EDITOR", "own")][..], "own"),
            ("GIT_EDITOR", &[("EDITOR", "ed")], "configured"),
            ("GIT_SEQUENCE_EDITOR", &[("EDITOR", "ed")], "configured"),
            ("VISUAL", &[("EDITOR", "ed"), ("VISUAL", "")], "ed"),
            ("EDITOR", &[("EDITOR", "ed"), ("VISUAL", "vis")], "ed"),
            ("SUDO_EDITOR", &[("VISUAL", "vis")], "vis"),
            ("EDITOR", &[], "vi"),
        ] {
            let found = editor(variable, &configured, &variables(own)).to_owned();
            assert_eq!(found, expected, "{variable} {own:?}");
        }
    }

    #[tokio::test]
    async fn the_screen_gets_the_request_and_the_command_the_exit_code() {
        let (send, mut requests) = unbounded_channel();
        let lender = lend_terminal(send, |request| request).unwrap();
        let (_, socket) = lent_terminal().unwrap();
        let mut stream = UnixStream::connect(socket).unwrap();
        let wanted = Wanted {
            program: Program::Editor {
                variable: "EDITOR".to_owned(),
                configured: BTreeMap::new(),
                files: vec!["a b".to_owned()],
            },
            cwd: PathBuf::from("/"),
        };
        writeln!(stream, "{}", serde_json::to_string(&wanted).unwrap()).unwrap();
        let request = requests.recv().await.unwrap();
        let (program, arguments) = request.program(&variables(&[("EDITOR", "ed -s")]));
        assert_eq!(program, "sh");
        assert_eq!(arguments, ["-c", "ed -s \"$@\"", "ed -s", "a b"]);
        assert_eq!(request.cwd(), Path::new("/"));
        request.answer(3);
        let mut code = [0];
        stream.read_exact(&mut code).unwrap();
        assert_eq!(code, [3]);
        drop(lender);
        assert_eq!(lent_terminal(), None);
    }
}
