//! The elements of a part, one after the other.

use std::borrow::Cow;
use std::collections::BTreeMap;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use super::container::{Container, DocumentError};

/// A step through a part. Names have no prefix.
#[derive(Debug)]
pub(super) enum Node<'a> {
    Open(&'a Element),
    Close(&'a str),
    Text(&'a str),
}

/// An element without its content.
#[derive(Debug, Default)]
pub(super) struct Element {
    pub name: String,
    attributes: Vec<(String, String)>,
}

impl Element {
    /// The value of an attribute.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        let mut attributes = self.attributes.iter();
        attributes
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The values of all attributes with this name, each with a prefix of its own.
    pub(super) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let attributes = self.attributes.iter();
        attributes
            .filter(move |(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    pub(super) fn number(&self, name: &str) -> Option<usize> {
        self.get(name)?.parse().ok()
    }

    fn of(start: &BytesStart<'_>) -> Self {
        let mut attributes = start.attributes();
        attributes.with_checks(false);
        let attributes = attributes.flatten().map(|attribute| {
            let value = String::from_utf8_lossy(&attribute.value);
            let unescaped = quick_xml::escape::unescape(&value).map(Cow::into_owned);
            let value = unescaped.unwrap_or_else(|_| value.into_owned());
            (local(attribute.key.as_ref()), value)
        });
        Self {
            name: local(start.name().as_ref()),
            attributes: attributes.collect(),
        }
    }
}

fn local(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    let local = name.rsplit_once(':').map(|(_, local)| local.to_owned());
    local.unwrap_or_else(|| name.into_owned())
}

/// Elements around an element at most.
const DEPTH: usize = 1_000;

/// Visits the elements and texts of a part.
pub(super) fn walk(bytes: &[u8], mut visit: impl FnMut(Node<'_>)) -> Result<(), DocumentError> {
    let mut reader = Reader::from_reader(bytes);
    let mut depth = 0_usize;
    loop {
        let event = reader
            .read_event()
            .map_err(|error| DocumentError::Damaged(error.to_string()))?;
        match event {
            Event::Start(start) => {
                depth += 1;
                if depth > DEPTH {
                    let problem = "its elements are nested too deeply";
                    return Err(DocumentError::Damaged(problem.to_owned()));
                }
                visit(Node::Open(&Element::of(&start)));
            }
            Event::Empty(start) => {
                let element = Element::of(&start);
                visit(Node::Open(&element));
                visit(Node::Close(&element.name));
            }
            Event::End(end) => {
                depth = depth.saturating_sub(1);
                visit(Node::Close(&local(end.name().as_ref())));
            }
            Event::Text(text) => visit(Node::Text(&String::from_utf8_lossy(&text))),
            Event::CData(text) => visit(Node::Text(&String::from_utf8_lossy(&text))),
            Event::GeneralRef(reference) => {
                let character = match &*reference {
                    b"amp" => Some('&'),
                    b"lt" => Some('<'),
                    b"gt" => Some('>'),
                    b"quot" => Some('"'),
                    b"apos" => Some('\''),
                    // Entities of the file itself are not expanded.
                    _ => reference.resolve_char_ref().ok().flatten(),
                };
                let mut buffer = [0; 4];
                if let Some(character) = character {
                    visit(Node::Text(character.encode_utf8(&mut buffer)));
                }
            }
            Event::Eof => return Ok(()),
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
        }
    }
}

/// The targets of the relations of a part, by id, as parts of the archive.
pub(super) fn relations(
    container: &mut Container<'_>,
    part: &str,
) -> Result<BTreeMap<String, String>, DocumentError> {
    let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
    let mut targets = BTreeMap::new();
    let Some(bytes) = container.part(&format!("{folder}/_rels/{name}.rels"))? else {
        return Ok(targets);
    };
    walk(&bytes, |node| {
        if let Node::Open(element) = node
            && let (Some(id), Some(target)) = (element.get("Id"), element.get("Target"))
        {
            targets.insert(id.to_owned(), resolved(folder, target));
        }
    })?;
    Ok(targets)
}

/// The part that `target` means in the parts of `folder`.
fn resolved(folder: &str, target: &str) -> String {
    if let Some(absolute) = target.strip_prefix('/') {
        return absolute.to_owned();
    }
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in target.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}
