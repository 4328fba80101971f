//! `osier doctor`: checks the environment and suggests fixes. Uses no network, starts no server and changes
//! nothing.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

use crate::cli::exit::Exit;
use osier_base::folders::Folders;
use osier_base::git::Git;
use osier_base::problem::Problem;
use osier_base::process::{Invocation, run_captured};
use osier_base::text::{sanitize, single_line};
use osier_extensions::hooks::HookCheck;
use osier_protocol::{AccountSource, SandboxMode};
use osier_sandbox::Confinement;
use osier_session::accounts::Accounts;
use osier_settings::Settings;
use osier_term::images::{OuterTerminal, Protocol};
use osier_term::input::TerminalReply;
use osier_term::terminal::{TerminalHost, TerminalKind, query, size};
use osier_term::theme::ColourDepth;

/// Time for a program to print its version.
const PATIENCE: Duration = Duration::from_secs(5);

/// The configuration and environment to check.
pub(in crate::cli) struct DoctorContext<'a> {
    pub folders: &'a Folders,
    pub settings: &'a Settings,
    pub environment: &'a BTreeMap<String, String>,
    pub cwd: &'a Path,
    /// The errors of the configuration files.
    pub problems: &'a [Problem],
    /// The model of a new session.
    pub model: String,
    pub hooks: &'a HookCheck,
    /// Deny rules that are only advice.
    pub deny_rules: &'a [String],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Ok,
    /// The checked part works, but could be better.
    Warning,
    Error,
}

/// The result of one check.
#[derive(Debug)]
struct Check {
    name: &'static str,
    status: Status,
    text: String,
    /// The advice for the user; empty when nothing is wrong.
    suggestion: &'static str,
}

fn passed(name: &'static str, text: impl Into<String>) -> Check {
    let text = text.into();
    Check {
        name,
        status: Status::Ok,
        text,
        suggestion: "",
    }
}

fn warning(name: &'static str, text: impl Into<String>, suggestion: &'static str) -> Check {
    let text = text.into();
    Check {
        name,
        status: Status::Warning,
        text,
        suggestion,
    }
}

fn failed(name: &'static str, text: impl Into<String>, suggestion: &'static str) -> Check {
    let text = text.into();
    Check {
        name,
        status: Status::Error,
        text,
        suggestion,
    }
}

/// Runs and prints all checks. Fails when one of them reports an error.
pub(in crate::cli) async fn run(
    context: &DoctorContext<'_>,
    out: &mut dyn Write,
) -> io::Result<Exit> {
    let mut kind = TerminalKind::detect(|name| context.environment.get(name).cloned());
    let replies = query(&kind);
    for reply in replies.iter().flatten() {
        if let TerminalReply::Version(name) = reply {
            kind.apply_reported_name(name);
        }
    }
    let outer = match kind.host {
        TerminalHost::Tmux => Some(OuterTerminal::query().await),
        _ => None,
    };
    let checks = [
        terminal(&kind, context),
        colour(&kind, context),
        keyboard(&kind, context, replies.as_deref()),
        screen(&kind, replies.as_deref()),
        images(replies.as_deref(), outer),
        clipboard(&kind, context),
        notifications(outer),
        git(context).await,
        sandbox(context).await,
        rules(context),
        providers(context),
        model(context),
        sessions(context),
        hooks(context),
        files(context),
    ];
    for check in &checks {
        let mark = match check.status {
            Status::Ok => "ok",
            Status::Warning => "--",
            Status::Error => "!!",
        };
        writeln!(out, "{mark} {:<10} {}", check.name, check.text)?;
        if !check.suggestion.is_empty() {
            writeln!(out, "   {:<10} {}", "", check.suggestion)?;
        }
    }
    let works = checks.iter().all(|check| check.status != Status::Error);
    Ok(if works { Exit::Success } else { Exit::Failure })
}

fn terminal(kind: &TerminalKind, context: &DoctorContext<'_>) -> Check {
    let name = "terminal";
    let variable = |name: &str| {
        context
            .environment
            .get(name)
            .map_or("not set", String::as_str)
    };
    let size = size();
    let host = match kind.host {
        TerminalHost::Emulator => "",
        TerminalHost::Tmux => ", in tmux",
        TerminalHost::Screen => ", in screen",
        TerminalHost::Console => ", Linux console",
        TerminalHost::Dumb => ", without cursor movement",
    };
    let remote = if kind.remote { ", over SSH" } else { "" };
    let text = format!(
        "TERM={}, {}x{}{host}{remote}",
        variable("TERM"),
        size.width,
        size.height
    );
    match kind.host {
        TerminalHost::Dumb => failed(
            name,
            text,
            "set `TERM` to your terminal, for example `xterm-256color`; `osier -p` works without it",
        ),
        _ if size.width < 40 || size.height < 10 => {
            failed(name, text, "enlarge the terminal to at least 40x10")
        }
        _ if kind.limited => warning(
            name,
            text,
            "if your terminal is compatible with xterm, set `TERM=xterm-256color` for fewer redraws",
        ),
        TerminalHost::Screen => warning(
            name,
            text,
            "use tmux for colours, links and the clipboard; screen does not support them",
        ),
        _ => passed(name, text),
    }
}

fn colour(kind: &TerminalKind, context: &DoctorContext<'_>) -> Check {
    let name = "colour";
    let is_off = context
        .environment
        .get("NO_COLOR")
        .is_some_and(|value| !value.is_empty());
    match kind.depth {
        ColourDepth::True => passed(name, "16 million colours"),
        ColourDepth::None if is_off => passed(
            name,
            "off, set by `NO_COLOR`; osier uses bold and reversed text",
        ),
        ColourDepth::None => warning(name, "no colours", "set `TERM` to a terminal with colours"),
        ColourDepth::Indexed if kind.host == TerminalHost::Tmux => warning(
            name,
            "256 colours",
            "for 16 million, add `set -as terminal-features \",*:RGB\"` to ~/.tmux.conf and set `COLORTERM=truecolor`",
        ),
        ColourDepth::Indexed => warning(
            name,
            "256 colours",
            "if your terminal supports more, set `COLORTERM=truecolor`",
        ),
        ColourDepth::Ansi => warning(
            name,
            "16 colours",
            "if your terminal supports more, set `TERM=xterm-256color` or `COLORTERM=truecolor`",
        ),
    }
}

fn keyboard(
    kind: &TerminalKind,
    context: &DoctorContext<'_>,
    replies: Option<&[TerminalReply]>,
) -> Check {
    let name = "keyboard";
    let keymap = format!("keymap `{}`", context.settings.screen.keymap);
    let is_kitty = |reply: &TerminalReply| matches!(reply, TerminalReply::KeyboardFlags(_));
    if replies.is_some_and(|replies| replies.iter().any(is_kitty)) {
        return passed(
            name,
            format!("{keymap}; Kitty keyboard protocol, all keys work"),
        );
    }
    if replies.is_some_and(is_complete) && kind.host == TerminalHost::Emulator {
        return warning(
            name,
            format!("{keymap}; no Kitty keyboard protocol"),
            "use ctrl+j for a new line, because shift+enter may not work",
        );
    }
    match kind.host {
        TerminalHost::Tmux => warning(
            name,
            format!("{keymap}; shift+enter depends on tmux"),
            "add `set -s extended-keys on` to ~/.tmux.conf, or use ctrl+j for a new line",
        ),
        TerminalHost::Screen | TerminalHost::Console => warning(
            name,
            format!("{keymap}; basic keys only"),
            "use ctrl+j for a new line, and esc followed by the key for alt",
        ),
        _ => passed(
            name,
            format!("{keymap}; osier uses the Kitty keyboard protocol if the terminal supports it"),
        ),
    }
}

/// Whether the terminal has sent all its replies.
fn is_complete(replies: &[TerminalReply]) -> bool {
    let is_last = |reply: &TerminalReply| matches!(reply, TerminalReply::DeviceAttributes(_));
    replies.iter().any(is_last)
}

/// The features that the renderer uses.
fn screen(kind: &TerminalKind, replies: Option<&[TerminalReply]>) -> Check {
    let name = "screen";
    let Some(replies) = replies else {
        return warning(
            name,
            "not checked: standard input or output is not a terminal",
            "run `osier doctor` without a pipe",
        );
    };
    if !is_complete(replies) {
        return warning(
            name,
            "the terminal did not reply in time",
            "osier uses its defaults for this terminal, which costs some bandwidth",
        );
    }
    let has_mode = |wanted: u16| {
        let is_set = |reply: &TerminalReply| matches!(reply, TerminalReply::Mode { mode, state: 1..=3 } if *mode == wanted);
        replies.iter().any(is_set)
    };
    let version = replies.iter().find_map(|reply| match reply {
        TerminalReply::Version(name) => Some(single_line(&sanitize(name))),
        _ => None,
    });
    let is_background = |reply: &TerminalReply| matches!(reply, TerminalReply::Background(_));
    let mut parts = vec![version.unwrap_or_else(|| "unknown terminal".to_owned())];
    for (has, yes, no) in [
        (
            has_mode(2026),
            "synchronized output",
            "no synchronized output, may flicker",
        ),
        (
            kind.features().margins,
            "scroll regions",
            "no scroll regions",
        ),
        (
            replies.iter().any(is_background),
            "reports its colours",
            "does not report its colours",
        ),
    ] {
        parts.push(if has { yes } else { no }.to_owned());
    }
    passed(name, parts.join("; "))
}

/// How images are shown.
fn images(replies: Option<&[TerminalReply]>, outer: Option<OuterTerminal>) -> Check {
    let name = "images";
    let protocol = match outer {
        Some(outer) if outer.protocol == Some(Protocol::Kitty) && !outer.passes_through => {
            return warning(
                name,
                "coloured half-blocks",
                "add `set -g allow-passthrough on` to ~/.tmux.conf for full resolution",
            );
        }
        Some(outer) => Some(outer.protocol_in_tmux()),
        None => replies.and_then(Protocol::from_replies),
    };
    match protocol {
        Some(Protocol::Kitty) => passed(name, "Kitty protocol"),
        Some(Protocol::Iterm) => passed(name, "iTerm2 protocol"),
        Some(Protocol::Sixel) => passed(name, "Sixel"),
        _ => passed(name, "coloured half-blocks"),
    }
}

/// When a run that ended is announced.
fn notifications(outer: Option<OuterTerminal>) -> Check {
    let name = "notices";
    match outer.and_then(|outer| outer.reports_focus) {
        Some(false) => warning(
            name,
            "sent if no key came since the run began; tmux does not report the focus",
            "add `set -g focus-events on` to ~/.tmux.conf",
        ),
        _ => passed(
            name,
            "sent when a long run ends and the terminal has no focus",
        ),
    }
}

fn clipboard(kind: &TerminalKind, context: &DoctorContext<'_>) -> Check {
    let name = "clipboard";
    let display = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| context.environment.contains_key(*name));
    match kind.host {
        _ if display && !kind.remote => passed(name, "desktop clipboard"),
        TerminalHost::Console | TerminalHost::Dumb | TerminalHost::Screen => warning(
            name,
            format!(
                "none; osier writes copies to {}",
                context.folders.data.join("clipboard.txt").display()
            ),
            "use a terminal or tmux with OSC 52 support",
        ),
        TerminalHost::Tmux if context.environment.contains_key("TMUX") => {
            passed(name, "tmux buffer; tmux sends it to the terminal")
        }
        TerminalHost::Tmux => warning(
            name,
            "tmux through OSC 52",
            "if copying fails, add `set -g set-clipboard on` to ~/.tmux.conf",
        ),
        TerminalHost::Emulator => passed(
            name,
            "terminal clipboard through OSC 52; paste with the key of the terminal",
        ),
    }
}

/// The first line that a program prints; `None` when it is missing or fails.
async fn first_line(program: &str, args: &[&str], cwd: &Path) -> Option<String> {
    let invocation = Invocation {
        cwd: Some(cwd.to_owned()),
        ..Invocation::new(program, args.iter().copied())
    };
    let output = run_captured(&invocation, None, PATIENCE).await.ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().next().unwrap_or_default().to_owned();
    output.exit.is_success().then_some(line)
}

async fn git(context: &DoctorContext<'_>) -> Check {
    let name = "git";
    let Some(version) = first_line("git", &["--version"], context.cwd).await else {
        return warning(
            name,
            "not found; osier cannot show the branch, but checkpoints work",
            "install git",
        );
    };
    let version = version.trim_start_matches("git version ").to_owned();
    match Git::open(context.cwd).await {
        Ok(git) => passed(name, format!("{version}, in {}", git.root().display())),
        Err(_) => passed(
            name,
            format!("{version}; this directory is not in a repository"),
        ),
    }
}

async fn sandbox(context: &DoctorContext<'_>) -> Check {
    let name = "sandbox";
    let mode = context.settings.sandbox;
    let confinement = Confinement::new(context.cwd, None);
    match confinement.ready().await {
        Ok(backend) => {
            let alone = if confinement.starts_alone() {
                ", and osier makes its namespaces itself"
            } else {
                ""
            };
            let (backend, mode) = (backend.name(), mode.name());
            passed(
                name,
                format!("{backend} is available{alone}; sandbox mode `{mode}`"),
            )
        }
        Err(error) if mode == SandboxMode::Off => warning(
            name,
            format!("{}; sandbox mode `off`", error.reason),
            "install bubblewrap to run commands in a sandbox",
        ),
        Err(error) => failed(
            name,
            error.reason,
            "install bubblewrap, or set `sandbox = \"off\"`",
        ),
    }
}

fn rules(context: &DoctorContext<'_>) -> Check {
    let name = "rules";
    let suggestion = "list all with `osier config check`";
    match context.deny_rules {
        [] => passed(name, "every deny rule about commands holds"),
        [only] => warning(name, only.clone(), suggestion),
        [first, rest @ ..] => warning(
            name,
            format!("{first} (and {} more)", rest.len()),
            suggestion,
        ),
    }
}

fn providers(context: &DoctorContext<'_>) -> Check {
    let name = "providers";
    let accounts = Accounts::load(context.folders, context.settings, context.environment);
    let all = match accounts.list() {
        Ok(all) => all,
        Err(error) => {
            return failed(
                name,
                error.to_string(),
                "fix the file, or sign in again with `osier auth login`",
            );
        }
    };
    let available = all
        .iter()
        .filter(|account| account.source != AccountSource::Nothing);
    let names: Vec<&str> = available.map(|account| account.provider.as_str()).collect();
    if names.is_empty() {
        let suggestion = "run `osier auth login PROVIDER`, set a key such as `ANTHROPIC_API_KEY`, or start a local server";
        return warning(name, "no API key", suggestion);
    }
    passed(name, format!("keys for {}", names.join(", ")))
}

fn model(context: &DoctorContext<'_>) -> Check {
    let name = "model";
    if context.model.starts_with("demo/") {
        let text = format!("{}, a scripted demo", context.model);
        return warning(
            name,
            text,
            "add a key or start a local server, then choose a model from `osier models`",
        );
    }
    passed(name, context.model.clone())
}

fn sessions(context: &DoctorContext<'_>) -> Check {
    let name = "sessions";
    let folder = context.folders.sessions();
    let path = folder.display();
    // The nearest existing parent decides whether osier can create the directory.
    let existing = folder
        .ancestors()
        .find(|folder| folder.exists())
        .unwrap_or(&folder);
    let access = rustix::fs::access(existing, rustix::fs::Access::WRITE_OK);
    if access.is_err() {
        return failed(
            name,
            format!("cannot write to {path}"),
            "change its owner, or set `OSIER_HOME` to another directory",
        );
    }
    let projects = folder.read_dir().map_or(0, Iterator::count);
    match projects {
        0 => passed(name, format!("none yet; osier stores them in {path}")),
        1 => passed(name, format!("1 project, in {path}")),
        count => passed(name, format!("{count} projects, in {path}")),
    }
}

fn hooks(context: &DoctorContext<'_>) -> Check {
    let name = "hooks";
    let check = context.hooks;
    match (check.guards, check.obstacles.as_slice()) {
        (0, _) => passed(name, "none that can block a call or a prompt"),
        (count, []) => passed(
            name,
            format!("{count} can block calls or prompts, and do so if they fail"),
        ),
        (_, [first, rest @ ..]) => failed(
            name,
            match rest.len() {
                0 => format!("{}: it blocks", first.message),
                more => format!("{}: it blocks (and {more} more)", first.message),
            },
            "fix the command in the file that `/hooks` names, or delete the hook",
        ),
    }
}

fn files(context: &DoctorContext<'_>) -> Check {
    let name = "files";
    match context.problems {
        [] => passed(
            name,
            "no errors in settings, models, servers, theme and keymap",
        ),
        [only] => failed(
            name,
            only.to_string(),
            "fix the file, then run `osier config check`",
        ),
        [first, rest @ ..] => failed(
            name,
            format!("{first} (and {} more)", rest.len()),
            "list all errors with `osier config check`",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_doctor(variables: &[(&str, &str)], problems: &[Problem], model: &str) -> (String, Exit) {
        let home = tempfile::tempdir().unwrap();
        let folders = Folders::under(home.path());
        let environment = variables
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        let context = DoctorContext {
            folders: &folders,
            settings: &Settings::default(),
            environment: &environment,
            cwd: home.path(),
            problems,
            model: model.to_owned(),
            hooks: &HookCheck::default(),
            deny_rules: &["the deny rule `bash(rm *)`: advice".to_owned()],
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let mut out = Vec::new();
        let exit = runtime.block_on(run(&context, &mut out)).unwrap();
        (String::from_utf8(out).unwrap(), exit)
    }

    #[test]
    fn every_problem_has_a_suggestion() {
        let problem = Problem::of_file(
            "settings.toml",
            "unknown setting `them`",
            "did you mean `theme`?",
        );
        let (text, exit) = run_doctor(&[("TERM", "dumb")], &[problem], "demo/tour");
        assert_eq!(exit, Exit::Failure);
        for line in [
            "!! terminal   TERM=dumb, ",
            "!! files      settings.toml: unknown setting `them`; did you mean `theme`?\n              fix the file, then run `osier config check`",
            "-- rules      the deny rule `bash(rm *)`: advice\n              list all with `osier config check`",
            "-- model      demo/tour, a scripted demo",
            "-- providers  no API key\n              run `osier auth login PROVIDER`",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }

    #[test]
    fn tmux_gets_suggestions_for_its_settings() {
        let (text, exit) = run_doctor(
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
            "tmux buffer; tmux sends it to the terminal",
            "keys for anthropic",
            "ok model      anthropic/x",
            "ok files ",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }
}
