//! HTML to Markdown. A page can be built to need any amount of memory and time, so another process of osier converts it
//! (`helper`), which has limits. The converter is recursive, so pages that are nested too deeply are refused before.

pub mod helper;

use parking_lot::Mutex;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use htmd::element_handler::Handlers;
use htmd::{Element, HtmlToMarkdown, Node};
use osier_base::process::{Invocation, QuietError, run_bounded};
use serde::{Deserialize, Serialize};

use crate::error::FetchError;

/// The hidden subcommand of the helper.
const NAME: &str = "__html";
/// Elements within one another at most.
const DEPTH: usize = 512;
/// Time for a page.
const TIME: Duration = Duration::from_secs(15);
/// Bytes of the answer of the helper at most.
const ANSWER: usize = 16 * 1024 * 1024;
/// Elements without text for a reader.
const SKIPPED: [&str; 13] = [
    "script", "style", "noscript", "template", "iframe", "object", "embed", "svg", "canvas",
    "form", "button", "input", "nav",
];
const TITLE: usize = 300;

/// A converted page.
pub(crate) struct Converted {
    pub title: Option<String>,
    pub markdown: String,
}

/// Converts a page: in a process of `program`, which has limits, or without one in this process.
pub(crate) async fn to_markdown(
    html: &str,
    program: Option<&Path>,
) -> Result<Converted, FetchError> {
    let Some(program) = program else {
        return convert(html);
    };
    let invocation = Invocation::new(program, [NAME]);
    let output = run_bounded(&invocation, Some(html.as_bytes()), ANSWER, TIME).await;
    let failed = || {
        let reason = "it needs too much memory or time; it may be built to do harm";
        FetchError::Conversion(reason.to_owned())
    };
    let output = output.map_err(|error| match error {
        QuietError::Timeout { .. } => failed(),
        error => FetchError::Conversion(error.to_string()),
    })?;
    let answer: Answer = serde_json::from_slice(&output.stdout).map_err(|_| failed())?;
    match answer {
        Answer::Converted { title, markdown } => Ok(Converted { title, markdown }),
        Answer::Problem { problem } => Err(FetchError::Conversion(problem)),
    }
}

/// The line of the helper.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Answer {
    Converted {
        title: Option<String>,
        markdown: String,
    },
    Problem {
        problem: String,
    },
}

fn convert(html: &str) -> Result<Converted, FetchError> {
    let title = Arc::new(Mutex::new(None));
    let found = Arc::clone(&title);
    let on_title = move |handlers: &dyn Handlers, element: Element<'_>| {
        let text = handlers.walk_children(element.node).content;
        let mut found = found.lock();
        found.get_or_insert(text);
        None
    };
    let converter = HtmlToMarkdown::builder()
        .skip_tags(SKIPPED.to_vec())
        .add_handler(vec!["title"], on_title)
        .build();
    let failed = |error: std::io::Error| FetchError::Conversion(error.to_string());
    let tree = converter.html_to_tree(html).map_err(failed)?;
    let depth = depth(&tree);
    if depth > DEPTH {
        let reason = format!("its elements are nested {depth} deep, and the limit is {DEPTH}");
        return Err(FetchError::Conversion(reason));
    }
    let markdown = squeezed(&converter.tree_to_markdown(&tree));
    let title = title.lock().take();
    let title = title.map(|title| one_line(&title));
    Ok(Converted {
        title: title.filter(|title| !title.is_empty()),
        markdown,
    })
}

/// The depth of the tree, found without recursion.
fn depth(tree: &Rc<Node>) -> usize {
    let mut deepest = 0;
    let mut waiting = vec![(Rc::clone(tree), 0)];
    while let Some((node, depth)) = waiting.pop() {
        deepest = deepest.max(depth);
        let children = node.children.borrow();
        waiting.extend(children.iter().map(|child| (Rc::clone(child), depth + 1)));
    }
    deepest
}

fn one_line(title: &str) -> String {
    let words: Vec<&str> = title.split_whitespace().collect();
    let line = osier_base::text::single_line(&words.join(" "));
    osier_base::text::truncate(&line, TITLE).into_owned()
}

/// At most one blank line in a row, and no blanks at line ends.
fn squeezed(markdown: &str) -> String {
    let mut text = String::with_capacity(markdown.len());
    let mut blank = 0;
    for line in markdown.lines().map(str::trim_end) {
        blank = if line.is_empty() { blank + 1 } else { 0 };
        if blank < 2 {
            text.push_str(line);
            text.push('\n');
        }
    }
    text.truncate(text.trim_end().len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pages_become_markdown_without_scripts() {
        let html = "<html><head><title> A &amp;\n page </title><style>p {}</style></head><body><nav>Menu</nav>\
            <h1>Hi</h1><p>One <b>bold</b> <a href=\"/x\">link</a></p><script>alert(1)</script>\
            <pre><code>let x = 1;</code></pre><ul><li>a</li><li>b</li></ul>\
            <table><tr><th>k</th><th>v</th></tr><tr><td>1</td><td>2</td></tr></table></body></html>";
        let page = to_markdown(html, None).await.unwrap();
        assert_eq!(page.title.as_deref(), Some("A & page"));
        let expected = "# Hi\n\nOne **bold** [link](/x)\n\n```\nlet x = 1;\n```\n\n*   a\n*   b\n\n\
            | k | v |\n| - | - |\n| 1 | 2 |";
        assert_eq!(page.markdown, expected);
    }

    #[tokio::test]
    async fn deep_pages_are_refused_without_a_crash() {
        let deep = |depth| format!("{}x{}", "<div>".repeat(depth), "</div>".repeat(depth));
        let page = to_markdown(&deep(100), None).await.unwrap();
        assert_eq!(page.markdown, "x");
        let error = to_markdown(&deep(2_000), None).await.err().unwrap();
        let text = error.to_string();
        assert!(text.ends_with("deep, and the limit is 512"), "{text}");
    }
}
