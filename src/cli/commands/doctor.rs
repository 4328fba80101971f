//! `osier doctor`: what osier finds here, and what to do about what is wrong. Asks no network, starts no
//! server, changes nothing.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use crate::cli::exit::Exit;
use osier_base::folders::Folders;
use osier_base::problem::Problem;
use osier_base::process::{Invocation, spawn};
use osier_base::text::{sanitize, single_line};
use osier_sandbox::{Confinement, SandboxMode};
use osier_session::accounts::{AccountSource, Accounts};
use osier_settings::Settings;
use osier_term::input::TerminalReply;
use osier_term::picture::{Around, Protocol};
use osier_term::terminal::{Host, TerminalKind, ask, size};
use osier_term::theme::ColourDepth;

/// What is looked at.
pub(in crate::cli) struct Place<'a> {
    pub folders: &'a Folders,
    pub settings: &'a Settings,
    pub environment: &'a BTreeMap<String, String>,
    pub cwd: &'a Path,
    /// All that loading found.
    pub problems: &'a [Problem],
    /// The model a session would start with.
    pub model: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Good,
    /// It works, less well than it could.
    Less,
    Bad,
}

/// One thing that was looked at.
#[derive(Debug)]
struct Finding {
    about: &'static str,
    verdict: Verdict,
    text: String,
    /// What to do; empty when there is nothing to mend.
    mend: &'static str,
}

fn good(about: &'static str, text: impl Into<String>) -> Finding {
    let text = text.into();
    Finding {
        about,
        verdict: Verdict::Good,
        text,
        mend: "",
    }
}

fn less(about: &'static str, text: impl Into<String>, mend: &'static str) -> Finding {
    let text = text.into();
    Finding {
        about,
        verdict: Verdict::Less,
        text,
        mend,
    }
}

fn bad(about: &'static str, text: impl Into<String>, mend: &'static str) -> Finding {
    let text = text.into();
    Finding {
        about,
        verdict: Verdict::Bad,
        text,
        mend,
    }
}

/// Looks at everything and prints it. A failure when something does not work.
pub(in crate::cli) async fn run(place: &Place<'_>, out: &mut dyn Write) -> io::Result<Exit> {
    let mut kind = TerminalKind::detect(|name| place.environment.get(name).cloned());
    let answers = ask(&kind);
    for reply in answers.iter().flatten() {
        if let TerminalReply::Version(name) = reply {
            kind.call(name);
        }
    }
    let around = match kind.host {
        Host::Tmux => Some(Around::ask().await),
        _ => None,
    };
    let findings = [
        terminal(&kind, place),
        colour(&kind, place),
        keyboard(&kind, place, answers.as_deref()),
        screen(&kind, answers.as_deref()),
        pictures(answers.as_deref(), around),
        clipboard(&kind, place),
        git(place).await,
        sandbox(place).await,
        providers(place),
        model(place),
        sessions(place),
        files(place),
    ];
    for finding in &findings {
        let mark = match finding.verdict {
            Verdict::Good => "ok",
            Verdict::Less => "--",
            Verdict::Bad => "!!",
        };
        writeln!(out, "{mark} {:<10} {}", finding.about, finding.text)?;
        if !finding.mend.is_empty() {
            writeln!(out, "   {:<10} {}", "", finding.mend)?;
        }
    }
    let works = findings
        .iter()
        .all(|finding| finding.verdict != Verdict::Bad);
    Ok(if works { Exit::Success } else { Exit::Failure })
}

fn terminal(kind: &TerminalKind, place: &Place<'_>) -> Finding {
    let about = "terminal";
    let variable = |name: &str| {
        place
            .environment
            .get(name)
            .map_or("not set", String::as_str)
    };
    let shown = size();
    let host = match kind.host {
        Host::Emulator => "",
        Host::Tmux => ", in tmux",
        Host::Screen => ", in screen",
        Host::Console => ", the console of Linux",
        Host::Dumb => ", without a cursor that moves",
    };
    let remote = if kind.remote { ", over SSH" } else { "" };
    let text = format!(
        "TERM={}, {}x{}{host}{remote}",
        variable("TERM"),
        shown.width,
        shown.height
    );
    match kind.host {
        Host::Dumb => bad(
            about,
            text,
            "set TERM to what your terminal is, e.g. xterm-256color; `osier -p` works here",
        ),
        _ if shown.width < 40 || shown.height < 10 => bad(about, text, "make it 40x10 or larger"),
        _ if kind.limited => less(
            about,
            text,
            "with TERM=xterm-256color less is drawn anew, if your terminal is one",
        ),
        Host::Screen => less(
            about,
            text,
            "tmux passes on colours, links and the clipboard; screen does not",
        ),
        _ => good(about, text),
    }
}

fn colour(kind: &TerminalKind, place: &Place<'_>) -> Finding {
    let about = "colour";
    let is_off = place
        .environment
        .get("NO_COLOR")
        .is_some_and(|value| !value.is_empty());
    match kind.depth {
        ColourDepth::True => good(about, "16 million"),
        ColourDepth::None if is_off => good(
            about,
            "none, as NO_COLOR asks; bold and reversed text tells what colours would",
        ),
        ColourDepth::None => less(about, "none", "set TERM to a terminal with colours"),
        ColourDepth::Indexed if kind.host == Host::Tmux => less(
            about,
            "256",
            "for all colours: `set -as terminal-features \",*:RGB\"` in ~/.tmux.conf and COLORTERM=truecolor",
        ),
        ColourDepth::Indexed => less(about, "256", "if it shows more, set COLORTERM=truecolor"),
        ColourDepth::Ansi => less(
            about,
            "16",
            "if it shows more, set TERM=xterm-256color or COLORTERM=truecolor",
        ),
    }
}

fn keyboard(kind: &TerminalKind, place: &Place<'_>, answers: Option<&[TerminalReply]>) -> Finding {
    let about = "keyboard";
    let keymap = format!("keymap `{}`", place.settings.keymap);
    let is_kitty = |reply: &TerminalReply| matches!(reply, TerminalReply::KeyboardFlags(_));
    if answers.is_some_and(|replies| replies.iter().any(is_kitty)) {
        return good(
            about,
            format!("{keymap}; the Kitty protocol: every key can be told"),
        );
    }
    if answers.is_some_and(has_answered) && kind.host == Host::Emulator {
        return less(
            about,
            format!("{keymap}; without the Kitty protocol"),
            "ctrl+j is a new line, shift+enter may not arrive; nothing else needs it",
        );
    }
    match kind.host {
        Host::Tmux => less(
            about,
            format!("{keymap}; shift+enter arrives where tmux passes it on"),
            "`set -s extended-keys on` in ~/.tmux.conf; ctrl+j is a new line everywhere",
        ),
        Host::Screen | Host::Console => less(
            about,
            format!("{keymap}; plain keys"),
            "ctrl+j is a new line, alt is esc first",
        ),
        _ => good(
            about,
            format!(
                "{keymap}; a terminal with the Kitty protocol is asked for it when osier starts"
            ),
        ),
    }
}

/// Whether the terminal has said all it has to say.
fn has_answered(replies: &[TerminalReply]) -> bool {
    let is_fence = |reply: &TerminalReply| matches!(reply, TerminalReply::DeviceAttributes(_));
    replies.iter().any(is_fence)
}

/// What frames can use.
fn screen(kind: &TerminalKind, answers: Option<&[TerminalReply]>) -> Finding {
    let about = "screen";
    let Some(replies) = answers else {
        return less(
            about,
            "not asked: this is no terminal",
            "run `osier doctor` in a terminal, not through a pipe",
        );
    };
    if !has_answered(replies) {
        return less(
            about,
            "the terminal did not answer in time",
            "osier works with what is known of it; a line that swallows answers costs some bytes",
        );
    }
    let has_mode = |wanted: u16| {
        let is_set = |reply: &TerminalReply| matches!(reply, TerminalReply::Mode { mode, state: 1..=3 } if *mode == wanted);
        replies.iter().any(is_set)
    };
    let named = replies.iter().find_map(|reply| match reply {
        TerminalReply::Version(name) => Some(single_line(&sanitize(name))),
        _ => None,
    });
    let told = |reply: &TerminalReply| matches!(reply, TerminalReply::Background(_));
    let mut parts = vec![named.unwrap_or_else(|| "without a name".to_owned())];
    for (has, yes, no) in [
        (has_mode(2026), "frames show at once", "frames may flicker"),
        (
            kind.features().margins,
            "scrolls by itself",
            "is drawn anew to scroll",
        ),
        (
            replies.iter().any(told),
            "tells its colours",
            "does not tell its colours",
        ),
    ] {
        parts.push(if has { yes } else { no }.to_owned());
    }
    good(about, parts.join("; "))
}

/// How pictures are shown.
fn pictures(answers: Option<&[TerminalReply]>, around: Option<Around>) -> Finding {
    let about = "pictures";
    let protocol = match around {
        Some(around) if around.protocol == Some(Protocol::Kitty) && !around.passes_through => {
            return less(
                about,
                "in coloured half-blocks",
                "`set -g allow-passthrough on` in ~/.tmux.conf: the terminal around tmux shows them whole",
            );
        }
        Some(around) => Some(around.shows()),
        None => answers.and_then(Protocol::told),
    };
    match protocol {
        Some(Protocol::Kitty) => good(about, "in Kitty's way"),
        Some(Protocol::Iterm) => good(about, "in iTerm2's way"),
        Some(Protocol::Sixel) => good(about, "as Sixel"),
        _ => good(about, "in coloured half-blocks"),
    }
}

fn clipboard(kind: &TerminalKind, place: &Place<'_>) -> Finding {
    let about = "clipboard";
    let display = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| place.environment.contains_key(*name));
    match kind.host {
        _ if display && !kind.remote => good(about, "the desktop's"),
        Host::Console | Host::Dumb | Host::Screen => less(
            about,
            format!(
                "none here: copies go into {}",
                place.folders.data.join("clipboard.txt").display()
            ),
            "a terminal emulator, or tmux, takes copies by OSC 52",
        ),
        Host::Tmux => less(
            about,
            "tmux's buffer, and the terminal's by OSC 52",
            "`set -g set-clipboard on` in ~/.tmux.conf, if copies do not arrive",
        ),
        Host::Emulator => good(
            about,
            "the terminal's, by OSC 52; pasting is the terminal's own key",
        ),
    }
}

/// The first line a program prints; `None` when it is not there or fails.
async fn first_line(program: &str, args: &[&str], cwd: &Path) -> Option<String> {
    let invocation = Invocation {
        cwd: Some(cwd.to_owned()),
        ..Invocation::new(program, args.iter().copied())
    };
    let mut running = spawn(&invocation).ok()?;
    let (mut printed, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        match running.read(&mut buffer).await {
            Ok(0) => break,
            Ok(length) => printed.extend_from_slice(&buffer[..length]),
            Err(_) => return None,
        }
    }
    let ended = running.finish();
    let text = String::from_utf8_lossy(&printed);
    let line = text.lines().next().unwrap_or_default().to_owned();
    ended.exit.is_success().then_some(line)
}

async fn git(place: &Place<'_>) -> Finding {
    let about = "git";
    let Some(version) = first_line("git", &["--version"], place.cwd).await else {
        return less(
            about,
            "not found: the branch is not shown; states of files are kept all the same",
            "install git",
        );
    };
    let version = version.trim_start_matches("git version ").to_owned();
    match first_line("git", &["rev-parse", "--show-toplevel"], place.cwd).await {
        Some(top) => good(about, format!("{version}, in {top}")),
        None => good(
            about,
            format!("{version}; this directory is in no repository"),
        ),
    }
}

async fn sandbox(place: &Place<'_>) -> Finding {
    let about = "sandbox";
    let mode = place.settings.sandbox;
    let found = Confinement::new(place.cwd, None).ready().await;
    match found {
        Ok(backend) => good(
            about,
            format!(
                "{} is there; the setting is `{}`",
                backend.name(),
                mode.name()
            ),
        ),
        Err(error) if mode == SandboxMode::Off => less(
            about,
            format!("{}; the setting is `off`", error.reason),
            "install bubblewrap, to confine commands",
        ),
        Err(error) => bad(
            about,
            error.reason,
            "install bubblewrap, or set sandbox = \"off\"",
        ),
    }
}

fn providers(place: &Place<'_>) -> Finding {
    let about = "providers";
    let accounts = Accounts::load(place.folders, place.settings, place.environment);
    let all = match accounts.list() {
        Ok(all) => all,
        Err(error) => {
            return bad(
                about,
                error.to_string(),
                "mend the file, or sign in again: `osier auth login`",
            );
        }
    };
    let there = all
        .iter()
        .filter(|account| account.source != AccountSource::Nothing);
    let names: Vec<&str> = there.map(|account| account.provider.as_str()).collect();
    if names.is_empty() {
        let mend =
            "`osier auth login PROVIDER`, a key such as ANTHROPIC_API_KEY, or a local server";
        return less(about, "none has a key", mend);
    }
    good(about, format!("keys for {}", names.join(", ")))
}

fn model(place: &Place<'_>) -> Finding {
    let about = "model";
    if place.model.starts_with("demo/") {
        let text = format!("{}: a script that shows what osier does", place.model);
        return less(
            about,
            text,
            "`osier models` lists those there are; a key or a local server makes one work",
        );
    }
    good(about, place.model.clone())
}

fn sessions(place: &Place<'_>) -> Finding {
    let about = "sessions";
    let folder = place.folders.sessions();
    let shown = folder.display();
    // The first of the folders that exist decides whether one can be made.
    let there = folder
        .ancestors()
        .find(|path| path.exists())
        .unwrap_or(&folder);
    let access = rustix::fs::access(there, rustix::fs::Access::WRITE_OK);
    if access.is_err() {
        return bad(
            about,
            format!("{shown} cannot be written"),
            "change its owner, or set OSIER_HOME to another folder",
        );
    }
    let projects = folder.read_dir().map_or(0, Iterator::count);
    match projects {
        0 => good(about, format!("none yet; they go into {shown}")),
        1 => good(about, format!("of 1 directory, in {shown}")),
        count => good(about, format!("of {count} directories, in {shown}")),
    }
}

fn files(place: &Place<'_>) -> Finding {
    let about = "files";
    match place.problems {
        [] => good(
            about,
            "settings, models, servers, theme and keymap are sound",
        ),
        [only] => bad(
            about,
            only.to_string(),
            "`osier config check` reads them again",
        ),
        [first, rest @ ..] => bad(
            about,
            format!("{first} (and {} more)", rest.len()),
            "`osier config check` lists them",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(variables: &[(&str, &str)], problems: &[Problem], model: &str) -> (String, Exit) {
        let home = tempfile::tempdir().unwrap();
        let folders = Folders::under(home.path());
        let environment = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let place = Place {
            folders: &folders,
            settings: &Settings::default(),
            environment: &environment,
            cwd: home.path(),
            problems,
            model: model.to_owned(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let mut out = Vec::new();
        let exit = runtime.block_on(run(&place, &mut out)).unwrap();
        (String::from_utf8(out).unwrap(), exit)
    }

    #[test]
    fn what_is_wrong_comes_with_its_mend() {
        let problem = Problem::of_file(
            "settings.toml",
            "unknown setting `them`",
            "did you mean `theme`?",
        );
        let (text, exit) = shown(&[("TERM", "dumb")], &[problem], "demo/tour");
        assert_eq!(exit, Exit::Failure);
        for line in [
            "!! terminal   TERM=dumb, ",
            "!! files      settings.toml: unknown setting `them`; did you mean `theme`?\n              `osier config check`",
            "-- model      demo/tour: a script",
            "-- providers  none has a key\n              `osier auth login PROVIDER`",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }

    #[test]
    fn tmux_is_told_how_to_pass_things_on() {
        let (text, exit) = shown(
            &[
                ("TERM", "tmux-256color"),
                ("TMUX", "/tmp/x,1,0"),
                ("ANTHROPIC_API_KEY", "k"),
            ],
            &[],
            "anthropic/x",
        );
        assert_eq!(exit, Exit::Success, "{text}");
        for line in [
            "extended-keys on",
            "set-clipboard on",
            "keys for anthropic",
            "ok model      anthropic/x",
            "ok files ",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}
