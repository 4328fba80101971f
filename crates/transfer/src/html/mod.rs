//! A self-contained page of a session: all branches, collapsed tools, highlighted code, colours for light and
//! dark. It makes no network requests, is readable without its script, and cannot run foreign code: all text
//! is escaped, and the content security policy allows only the page's own style and script, by hash.
//!
//! The page is written in one pass while the session is read. The outline is collected on the way and written
//! at the end of the file.

mod article;
mod code;
mod escape;
mod math;
mod outline;
pub(super) mod prose;
pub(super) mod theme;
mod tool;

use std::io::{self, Write};
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use self::article::Articles;
use self::escape::escape;
use self::outline::Outline;
use self::theme::{HtmlThemes, Palette, PlainThemes};
use super::error::TransferError;
use super::options::ExportOptions;
use super::plan::Plan;
use osier_base::clock;
use osier_protocol::{ExportScope, ExportSummary};
use osier_store::Reading;

const STYLE: &str = include_str!("../../../../assets/page.css");
const SCRIPT: &str = include_str!("../../../../assets/page.js");

pub(super) fn write(
    reading: &Reading,
    scope: ExportScope,
    options: &ExportOptions,
    out: &mut dyn Write,
    place: &Path,
) -> Result<ExportSummary, TransferError> {
    let plan = Plan::new(reading, scope);
    if plan.shown.is_empty() {
        return Err(TransferError::Empty);
    }
    let themes: &dyn HtmlThemes = options.themes.as_deref().unwrap_or(&PlainThemes);
    let (style, first) = style(themes, options.theme.as_deref())?;
    let failed = |error| TransferError::io("write", place, error);
    body(
        reading,
        &plan,
        &Appearance {
            themes,
            style: &style,
            mode: first,
        },
        options.log_text().as_deref(),
        out,
    )
    .map_err(failed)
}

/// The themes of a page, its style sheet and its initial colour mode.
struct Appearance<'a> {
    themes: &'a dyn HtmlThemes,
    style: &'a str,
    mode: &'a str,
}

fn body(
    reading: &Reading,
    plan: &Plan,
    appearance: &Appearance<'_>,
    log: Option<&str>,
    out: &mut dyn Write,
) -> io::Result<ExportSummary> {
    let title = title(reading);
    head(out, &title, appearance.style, appearance.mode)?;
    let mut highlighter = appearance.themes.highlighter();
    let mut outline = Outline::new(plan);
    let mut articles = Articles::new(reading, plan, &mut *highlighter);
    write!(out, "<main id=top>")?;
    for number in &plan.shown {
        articles.write(*number, &mut outline, out)?;
    }
    let unreadable = articles.unreadable();
    if let Some(log) = log {
        let lines = escape(log);
        write!(
            out,
            "<details class=file id=log><summary>log</summary><pre class=plain tabindex=0>{lines}</pre></details>"
        )?;
    }
    writeln!(out, "<p id=end class=end>·</p></main>")?;
    outline.write(reading, plan, out)?;
    writeln!(out, "<script>{SCRIPT}</script>\n</body>\n</html>")?;
    Ok(ExportSummary {
        entries: plan.shown.len() - unreadable,
        branches: plan.chains().len(),
        unreadable,
    })
}

fn head(out: &mut dyn Write, title: &str, style: &str, first: &str) -> io::Result<()> {
    let policy = format!(
        "default-src 'none'; img-src data:; style-src '{}'; script-src '{}'; base-uri 'none'; \
         form-action 'none'",
        hash(style),
        hash(SCRIPT)
    );
    let title = escape(title);
    write!(
        out,
        "<!doctype html>\n<html lang=en data-first=\"{first}\">\n<head>\n<meta charset=utf-8>\n\
         <meta http-equiv=Content-Security-Policy content=\"{policy}\">\n\
         <meta name=viewport content=\"width=device-width, initial-scale=1\">\n\
         <meta name=referrer content=no-referrer>\n<meta name=color-scheme content=\"light dark\">\n\
         <meta name=generator content=osier>\n<title>{title}</title>\n<style>{style}</style>\n</head>\n\
         <body>\n<header class=bar><h1>{title}</h1><div class=tools></div></header>\n"
    )
}

/// The content security policy hash of an inline element.
fn hash(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

/// The page's style with the colours of both modes, and the initial mode.
fn style(
    themes: &dyn HtmlThemes,
    theme: Option<&str>,
) -> Result<(String, &'static str), TransferError> {
    let load = |name: &str| themes.palette(name).map_err(TransferError::Theme);
    let (mut light, mut dark) = (load("light")?, load("dark")?);
    let mut first = "";
    if let Some(name) = theme.filter(|name| *name != "system") {
        let chosen = load(name)?;
        first = if chosen.dark { "dark" } else { "light" };
        let side = if chosen.dark { &mut dark } else { &mut light };
        *side = chosen;
    }
    let (light, dark) = (Palette::variables(&light), Palette::variables(&dark));
    let css = format!(
        ":root{{color-scheme:light;{light}}}\
         @media (prefers-color-scheme:dark){{:root{{color-scheme:dark;{dark}}}}}\
         :root[data-first=light],:root[data-theme=light]{{color-scheme:light;{light}}}\
         :root[data-first=dark],:root[data-theme=dark]{{color-scheme:dark;{dark}}}\
         :root[data-theme=light]{{color-scheme:light;{light}}}\n{STYLE}"
    );
    Ok((css, first))
}

/// The session's name, else its directory.
fn title(reading: &Reading) -> String {
    if let Some(name) = reading.tree().name() {
        return name.to_owned();
    }
    let cwd = Path::new(&reading.header().cwd);
    let folder = cwd.file_name().map(|name| name.to_string_lossy());
    let folder = folder.unwrap_or_else(|| "session".into());
    let day = clock::stored_day(&reading.header().timestamp).unwrap_or_default();
    format!("{folder} · {day}")
}
