//! The events of a text: with the characters as they were written, with literal links, and with the
//! meaning of HTML in place of its source.

use std::collections::VecDeque;
use std::ops::Range;

use pulldown_cmark::{CowStr, Event, LinkType, Tag, TagEnd};

use super::{html, links};

/// An event and where it is.
type Found<'a> = (Event<'a>, Range<usize>);

pub(super) struct Events<'a, I> {
    source: &'a str,
    parsed: &'a str,
    /// The literal links after the current position.
    links: &'a [Range<usize>],
    found: I,
    /// Further events that the last event of the parser became.
    waiting: VecDeque<Found<'a>>,
    /// The number of open links and images.
    depth: usize,
    /// The number of open containers that began inside of the open element `a`; not set without
    /// such an element.
    element: Option<usize>,
    script: Option<html::Script>,
    in_comment: bool,
    /// The offset of the last end of a comment.
    comments_end: Option<usize>,
}

impl<'a, I: Iterator<Item = Found<'a>>> Events<'a, I> {
    pub(super) fn new(
        source: &'a str,
        parsed: &'a str,
        links: &'a [Range<usize>],
        found: I,
    ) -> Self {
        Self {
            source,
            parsed,
            links,
            found,
            waiting: VecDeque::new(),
            depth: 0,
            element: None,
            script: None,
            in_comment: false,
            comments_end: None,
        }
    }

    /// The text of an event as it was written, unless the source stands for other characters.
    fn written(&self, text: CowStr<'a>, range: &Range<usize>) -> CowStr<'a> {
        let is_verbatim = self.parsed.get(range.clone()) == Some(&*text);
        match self.source.get(range.clone()) {
            Some(written) if is_verbatim => CowStr::Borrowed(written),
            _ => text,
        }
    }

    fn comments_end(&mut self) -> usize {
        let source = self.source;
        *self
            .comments_end
            .get_or_insert_with(|| source.rfind("-->").unwrap_or(0))
    }

    /// The text, or `None` if it contains literal links: then its parts are in `waiting`, which
    /// most texts never use.
    fn text(&mut self, text: CowStr<'a>, range: Range<usize>) -> Option<Found<'a>> {
        let text = self.written(text, &range);
        if let Some(script) = self.script {
            return Some((Event::Text(script.of(&text).into()), range));
        }
        let passed = |link: &&Range<usize>| link.start < range.start;
        let passed = self.links.iter().take_while(passed).count();
        self.links = &self.links[passed..];
        let mut at = range.start;
        while let Some((link, behind)) = self.links.split_first() {
            let (CowStr::Borrowed(written), 0) = (&text, self.depth) else {
                break;
            };
            if link.end > range.end || written.len() != range.len() {
                break;
            }
            let written: &'a str = written;
            let part = |start: usize, end: usize| &written[start - range.start..end - range.start];
            if at < link.start {
                let before = Event::Text(part(at, link.start).into());
                self.waiting.push_back((before, at..link.start));
            }
            let shown = links::text(part(link.start, link.end));
            let tag = Tag::Link {
                link_type: LinkType::Autolink,
                dest_url: links::destination(&shown).into(),
                title: CowStr::Borrowed(""),
                id: CowStr::Borrowed(""),
            };
            let events = [
                Event::Start(tag),
                Event::Text(shown.into()),
                Event::End(TagEnd::Link),
            ];
            self.waiting
                .extend(events.map(|event| (event, link.clone())));
            at = link.end;
            self.links = behind;
        }
        if at == range.start {
            return Some((Event::Text(text), range));
        }
        if let (CowStr::Borrowed(written), true) = (&text, at < range.end) {
            let behind = Event::Text(written[at - range.start..].into());
            self.waiting.push_back((behind, at..range.end));
        }
        None
    }

    /// The event as readers get it; `None` if it is dropped, or if other events replace it.
    fn event(&mut self, (event, range): Found<'a>) -> Option<Found<'a>> {
        let event = match event {
            Event::Text(text) => return self.text(text, range),
            Event::Html(text) => {
                let text = self.written(text, &range);
                let closes = self.comments_end().saturating_sub(range.start);
                let shown = match html::line(&text, closes, &mut self.in_comment) {
                    shown if shown == *text => None,
                    shown => Some(shown.into_owned()),
                };
                Event::Html(shown.map_or(text, CowStr::from))
            }
            Event::InlineHtml(text) => {
                let text = self.written(text, &range);
                return self.element(text, range);
            }
            Event::Start(tag @ (Tag::Link { .. } | Tag::Image { .. })) => {
                self.depth += 1;
                Event::Start(tag)
            }
            Event::End(tag @ (TagEnd::Link | TagEnd::Image)) => {
                self.depth = self.depth.saturating_sub(1);
                Event::End(tag)
            }
            Event::End(TagEnd::HtmlBlock) => {
                self.in_comment = false;
                Event::End(TagEnd::HtmlBlock)
            }
            other => other,
        };
        match &event {
            Event::Start(Tag::Link { .. }) => self.close_element(&range),
            Event::Start(_) => self.element = self.element.map(|inside| inside + 1),
            Event::End(_) if self.element == Some(0) => self.close_element(&range),
            Event::End(_) => self.element = self.element.map(|inside| inside - 1),
            _ => {}
        }
        if matches!(event, Event::End(_)) {
            self.script = None;
        }
        if self.waiting.is_empty() {
            return Some((event, range));
        }
        self.waiting.push_back((event, range));
        None
    }

    /// Ends the link of an element `a` before another event.
    fn close_element(&mut self, range: &Range<usize>) {
        if self.element.take().is_some() {
            self.depth = self.depth.saturating_sub(1);
            let end = Event::End(TagEnd::Link);
            self.waiting.push_back((end, range.start..range.start));
        }
    }

    /// The event of a tag in a line of text.
    fn element(&mut self, html: CowStr<'a>, range: Range<usize>) -> Option<Found<'a>> {
        let before = self.source[..range.start].chars().next_back();
        let event = match html::meaning(&html, before) {
            html::Markup::Text => Event::InlineHtml(html),
            html::Markup::LineBreak => Event::HardBreak,
            html::Markup::Script(script) => {
                self.script = Some(script);
                return None;
            }
            html::Markup::ScriptEnd => {
                self.script = None;
                return None;
            }
            html::Markup::Link(to) if self.depth == 0 => {
                self.depth = 1;
                self.element = Some(0);
                Event::Start(Tag::Link {
                    link_type: LinkType::Inline,
                    dest_url: to.into_owned().into(),
                    title: CowStr::Borrowed(""),
                    id: CowStr::Borrowed(""),
                })
            }
            html::Markup::LinkEnd if self.element == Some(0) => {
                self.close_element(&range);
                return None;
            }
            html::Markup::Image(text) => Event::Text(text.into_owned().into()),
            html::Markup::Cell => Event::Text(" │ ".into()),
            html::Markup::Link(_)
            | html::Markup::LinkEnd
            | html::Markup::Nothing
            | html::Markup::Item => return None,
        };
        Some((event, range))
    }
}

impl<'a, I: Iterator<Item = Found<'a>>> Iterator for Events<'a, I> {
    type Item = Found<'a>;

    fn next(&mut self) -> Option<Found<'a>> {
        loop {
            if let Some(waiting) = self.waiting.pop_front() {
                return Some(waiting);
            }
            let found = self.found.next()?;
            if let Some(event) = self.event(found) {
                return Some(event);
            }
        }
    }
}
