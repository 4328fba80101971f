//! The hooks: when each runs, which file names it, how it went last.

use super::picker::Picker;
use crate::base::text;
use crate::coding::hooks::HookInfo;
use crate::modes::tui::action::Action;
use crate::term::widgets::select::Item;

pub const ID: &str = "hooks";

/// One line a hook; taking one copies its command.
pub fn picker(hooks: &[HookInfo]) -> Picker {
    let items = hooks.iter().enumerate().map(|(place, hook)| {
        let event = hook.event.name();
        let command = text::single_line(&hook.command);
        let matcher = match hook.matcher.as_str() {
            "" => String::new(),
            matcher => format!(" {}", text::single_line(matcher)),
        };
        Item {
            key: format!("{place} {}", hook.command),
            label: format!("{} {event}{matcher}  {command}", mark(hook)),
            detail: detail(hook),
            keywords: hook.file.clone(),
            dimmed: false,
        }
    });
    Picker::new(
        "Hooks",
        "none: `hooks.json` of the configuration folder or of .osier names them",
        items.collect(),
        Box::new(|key| {
            let (_, command) = key.split_once(' ').unwrap_or_default();
            vec![Action::Copy(command.to_owned())]
        }),
    )
}

fn mark(hook: &HookInfo) -> &'static str {
    match hook.last.as_ref().map(|last| last.outcome.as_str()) {
        None => "○",
        Some("failed") => "■",
        Some("goes on") => "◐",
        Some(_) => "●",
    }
}

/// How it went, and the end of the file's path.
fn detail(hook: &HookInfo) -> String {
    let went = match &hook.last {
        None => "has not run".to_owned(),
        Some(last) if last.message.is_empty() => {
            format!("{} in {} ms", last.outcome, last.duration_ms)
        }
        Some(last) => format!("{}: {}", last.outcome, text::single_line(&last.message)),
    };
    let mut parts = hook.file.rsplit('/');
    let (name, folder) = (parts.next().unwrap_or_default(), parts.next());
    match folder {
        Some(folder @ (".osier" | ".claude")) => format!("{went} · {folder}/{name}"),
        _ => format!("{went} · {name}"),
    }
}
