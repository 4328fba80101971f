//! The HTML that models write into Markdown for other renderers: comments and folding are left out, `<br>` breaks the line.
//! Everything else is shown as it was written: it can be text, as in `Vec<String>`.

use std::borrow::Cow;

use osier_base::text::head_bytes;

/// Elements that only fold text, or name it.
const LEFT_OUT: [&str; 2] = ["details", "summary"];

/// Bytes of the longest tag that is left out.
const TAG: usize = 256;

/// The meaning of an element of HTML in a line of text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Markup {
    LineBreak,
    Nothing,
    Text,
}

/// The meaning of `html`, one tag or comment.
pub(super) fn meaning(html: &str) -> Markup {
    if html.starts_with("<!--") {
        return Markup::Nothing;
    }
    let name = html.trim_start_matches(['<', '/']);
    let end = name.find(|char: char| !char.is_ascii_alphanumeric());
    let name = &name[..end.unwrap_or(name.len())];
    if name.eq_ignore_ascii_case("br") {
        return Markup::LineBreak;
    }
    let is_left_out = LEFT_OUT
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known));
    if is_left_out {
        Markup::Nothing
    } else {
        Markup::Text
    }
}

/// A line of an HTML block as it is shown, empty where it has nothing to show. `closes_comments` is the place in the line up
/// to which a comment has an end, `in_comment` whether the line begins in a comment.
pub(super) fn line<'l>(
    line: &'l str,
    closes_comments: usize,
    in_comment: &mut bool,
) -> Cow<'l, str> {
    if !*in_comment && !line.contains('<') {
        return Cow::Borrowed(line);
    }
    let mut shown = String::new();
    let mut left = line;
    let mut is_changed = false;
    while !left.is_empty() {
        if *in_comment {
            is_changed = true;
            let Some(end) = left.find("-->") else { break };
            left = &left[end + 3..];
            *in_comment = false;
            continue;
        }
        let Some(tag) = left.find('<') else {
            shown.push_str(left);
            break;
        };
        shown.push_str(&left[..tag]);
        left = &left[tag..];
        // A comment without an end is shown: it would hide the rest of the answer.
        let at = line.len() - left.len();
        if left.starts_with("<!--") && at < closes_comments {
            *in_comment = true;
            left = &left[4..];
            continue;
        }
        let length = head_bytes(left, TAG).find('>').map_or(1, |end| end + 1);
        match meaning(&left[..length]) {
            Markup::LineBreak => shown.push('\n'),
            Markup::Nothing if length > 1 && !left.starts_with("<!") => {}
            _ => {
                shown.push_str(&left[..length]);
                left = &left[length..];
                continue;
            }
        }
        is_changed = true;
        left = &left[length..];
    }
    match (is_changed, shown.trim().is_empty()) {
        (false, _) => Cow::Borrowed(line),
        (true, true) => Cow::Borrowed(""),
        (true, false) => Cow::Owned(shown),
    }
}
