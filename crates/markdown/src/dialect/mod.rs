//! The Markdown that models write, as every reader of osier parses it: the screen, exported pages and the browser chat.
//!
//! It is GitHub's dialect with three differences, which are decided before the parser sees the
//! text. Literal links come first, so that no `_` or `$` in them means anything else. A dollar is
//! text unless it surely belongs to a formula. The fences inside of a fenced `markdown` block form
//! pairs. [`Dialect`] replaces characters that must have no meaning by others of the same length,
//! parses the result, and returns events with the text as it was written.

mod events;
mod fences;
mod formulas;
mod html;
mod links;
pub(crate) mod rules;
mod survey;

use std::borrow::Cow;
use std::ops::Range;

use pulldown_cmark::{BrokenLink, CowStr, Event, Parser};

use self::events::Events;
pub(super) use self::fences::{Fence, paired};
use self::rules::options;
use self::survey::Survey;

/// A text that is ready to be parsed.
#[derive(Debug)]
pub struct Dialect<'s> {
    source: &'s str,
    /// The text that the parser reads. It has the length of `source`.
    parsed: Cow<'s, str>,
    /// The literal links, in order.
    links: Vec<Range<usize>>,
}

impl<'s> Dialect<'s> {
    /// Finds the literal links and the formulas of `source`.
    pub fn new(source: &'s str) -> Self {
        let mut dialect = Self {
            source,
            parsed: paired(source),
            links: Vec::new(),
        };
        if links::may_occur(source) || formulas::may_occur(source) {
            let survey = Survey::new(&dialect.parsed);
            let mut parsed = dialect.parsed.as_bytes().to_vec();
            dialect.links = links::find(source, &survey);
            for link in &dialect.links {
                links::neutralise(&mut parsed[link.clone()]);
            }
            formulas::prepare(source, &survey, &dialect.links, &mut parsed);
            // Only ASCII characters were replaced, by ASCII characters.
            if let Ok(parsed) = String::from_utf8(parsed) {
                dialect.parsed = Cow::Owned(parsed);
            }
        }
        dialect
    }

    /// The events of the text. `resolve` finds the destination of a reference that has no
    /// definition in the text.
    pub fn events<'a>(
        &'a self,
        resolve: &'a dyn Fn(&str) -> Option<String>,
    ) -> impl Iterator<Item = (Event<'a>, Range<usize>)> {
        let callback = |broken: BrokenLink<'a>| {
            let destination = resolve(&broken.reference)?;
            Some((CowStr::from(destination), CowStr::from("")))
        };
        let parser = Parser::new_with_broken_link_callback(&self.parsed, options(), Some(callback));
        Events::new(
            self.source,
            &self.parsed,
            &self.links,
            parser.into_offset_iter(),
        )
    }
}

/// The offsets of the lines that begin a block of the document.
///
/// ```
/// assert_eq!(osier_markdown::block_starts("# A\n\n- b\n\n  c\n\nd\n"), [0, 5, 15]);
/// ```
pub fn block_starts(source: &str) -> Vec<usize> {
    let parsed = paired(source);
    let mut depth = 0;
    let mut starts = Vec::new();
    for (event, range) in Parser::new_ext(&parsed, options()).into_offset_iter() {
        if depth == 0 {
            let newline = source[..range.start].rfind('\n');
            starts.push(newline.map_or(0, |newline| newline + 1));
        }
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => {}
        }
    }
    starts
}

#[cfg(test)]
mod tests;
