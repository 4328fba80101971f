//! HTML to Markdown. The converter is recursive, so pages that are nested too deeply are refused before.

use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};

use htmd::element_handler::Handlers;
use htmd::{Element, HtmlToMarkdown, Node};
use tokio::sync::oneshot;

use crate::fetch::FetchError;

/// Elements within one another at most.
const DEPTH: usize = 512;
/// The stack of the converter; the pages that it uses are all it costs.
const STACK: usize = 64 * 1024 * 1024;
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

/// Converts a page on a thread of its own.
pub(crate) async fn to_markdown(html: String) -> Result<Converted, FetchError> {
    let (reply, converted) = oneshot::channel();
    let work = move || {
        // Nobody waits for an interrupted call.
        let _ = reply.send(convert(&html));
    };
    let builder = std::thread::Builder::new().name("html".to_owned());
    builder
        .stack_size(STACK)
        .spawn(work)
        .map_err(|error| FetchError::Conversion(error.to_string()))?;
    let failed = |_| FetchError::Conversion("the converter failed".to_owned());
    converted.await.map_err(failed)?
}

fn convert(html: &str) -> Result<Converted, FetchError> {
    let title = Arc::new(Mutex::new(None));
    let found = Arc::clone(&title);
    let on_title = move |handlers: &dyn Handlers, element: Element<'_>| {
        let text = handlers.walk_children(element.node).content;
        let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
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
    let title = title.lock().unwrap_or_else(PoisonError::into_inner).take();
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
        let page = to_markdown(html.to_owned()).await.unwrap();
        assert_eq!(page.title.as_deref(), Some("A & page"));
        let expected = "# Hi\n\nOne **bold** [link](/x)\n\n```\nlet x = 1;\n```\n\n*   a\n*   b\n\n\
            | k   | v   |\n| --- | --- |\n| 1   | 2   |";
        assert_eq!(page.markdown, expected);
    }

    #[tokio::test]
    async fn deep_pages_are_refused_without_a_crash() {
        let deep = |depth| format!("{}x{}", "<div>".repeat(depth), "</div>".repeat(depth));
        let page = to_markdown(deep(400)).await.unwrap();
        assert_eq!(page.markdown, "x");
        let error = to_markdown(deep(200_000)).await.err().unwrap();
        let text = error.to_string();
        assert!(text.ends_with("deep, and the limit is 512"), "{text}");
    }
}
