//! Parses a theme file. Reports every problem with its position; valid entries still apply.

use std::collections::BTreeMap;
use std::path::Path;

use ratatui::style::Modifier;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::colour::ANSI_NAMES;
use super::{Colour, StyleSpec, TOKENS, ThemeKind};
use crate::document::{Document, did_you_mean};
use crate::text::face::Token;
use osier_base::problem::Problem;

/// A theme file as written, without its parent.
#[derive(Debug)]
pub(super) struct ThemeFile {
    pub(super) name: Option<String>,
    pub(super) kind: Option<ThemeKind>,
    pub(super) background: Option<Colour>,
    pub(super) paints_background: Option<bool>,
    pub(super) specs: [Option<StyleSpec>; TOKENS],
    pub(super) problems: Vec<Problem>,
}

const KEYS: [&str; 7] = [
    "name",
    "kind",
    "inherit",
    "background",
    "paint_background",
    "palette",
    "tokens",
];

pub(super) const MODIFIERS: [(&str, Modifier); 6] = [
    ("bold", Modifier::BOLD),
    ("dim", Modifier::DIM),
    ("italic", Modifier::ITALIC),
    ("underline", Modifier::UNDERLINED),
    ("reverse", Modifier::REVERSED),
    ("strike", Modifier::CROSSED_OUT),
];

type Value<'a> = Spanned<DeValue<'a>>;

/// Named colours of a theme.
pub(super) type Palette = BTreeMap<String, Colour>;

/// The part of a theme that is needed to find its parent.
#[derive(Debug)]
pub(super) struct ThemeHeader {
    pub(super) kind: Option<ThemeKind>,
    pub(super) inherit: Option<String>,
    pub(super) palette: Palette,
}

impl ThemeHeader {
    /// `ThemeFile::parse` reports the problems.
    pub(super) fn parse(path: &Path, text: &str) -> Self {
        let (document, table) = Document::parse(path, text);
        let mut reader = Reader {
            document,
            palette: Palette::new(),
        };
        if let Some(palette) = table.get("palette") {
            reader.read_palette(palette);
        }
        Self {
            kind: table.get("kind").and_then(|value| reader.kind(value)),
            inherit: table.get("inherit").and_then(|value| reader.text(value)),
            palette: reader.palette,
        }
    }
}

impl ThemeFile {
    /// Parses a theme with the names in `palette`, where themes that inherit from this theme have replaced its colours.
    pub(super) fn parse(path: &Path, text: &str, palette: &Palette) -> Self {
        let (document, table) = Document::parse(path, text);
        let mut reader = Reader {
            document,
            palette: palette.clone(),
        };
        let mut file = Self {
            name: None,
            kind: None,
            background: None,
            paints_background: None,
            specs: [None; TOKENS],
            problems: Vec::new(),
        };
        for (key, value) in &table {
            match &**key.get_ref() {
                "name" => file.name = reader.text(value),
                "kind" => file.kind = reader.kind(value),
                "inherit" => drop(reader.text(value)),
                "background" => file.background = reader.colour(value),
                "paint_background" => file.paints_background = reader.flag(value),
                "tokens" => reader.read_tokens(value, &mut file.specs),
                "palette" => {
                    let merged = std::mem::take(&mut reader.palette);
                    reader.read_palette(value);
                    reader.palette = merged;
                }
                unknown => {
                    let hint = did_you_mean(unknown, KEYS);
                    let message = format!("unknown key `{unknown}`");
                    reader.document.report(key.span(), message, hint);
                }
            }
        }
        file.problems = reader.document.finish();
        file
    }
}

struct Reader<'a> {
    document: Document<'a>,
    palette: BTreeMap<String, Colour>,
}

impl Reader<'_> {
    fn text(&mut self, value: &Value<'_>) -> Option<String> {
        let text = value.get_ref().as_str();
        if text.is_none() {
            self.report_expected(value, "a quoted string");
        }
        text.map(str::to_owned)
    }

    fn flag(&mut self, value: &Value<'_>) -> Option<bool> {
        let flag = value.get_ref().as_bool();
        if flag.is_none() {
            self.report_expected(value, "`true` or `false`");
        }
        flag
    }

    fn kind(&mut self, value: &Value<'_>) -> Option<ThemeKind> {
        match value.get_ref().as_str() {
            Some("dark") => Some(ThemeKind::Dark),
            Some("light") => Some(ThemeKind::Light),
            Some("system") => Some(ThemeKind::System),
            _ => {
                self.report_expected(value, "`dark`, `light` or `system`");
                None
            }
        }
    }

    fn table<'v, 'i>(&mut self, value: &'v Value<'i>) -> Option<&'v DeTable<'i>> {
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.report_expected(value, "a table");
        }
        table
    }

    fn read_palette(&mut self, value: &Value<'_>) {
        for (name, value) in self.table(value).into_iter().flatten() {
            if let Some(colour) = self.colour(value) {
                self.palette.insert(name.get_ref().to_string(), colour);
            }
        }
    }

    fn read_tokens(&mut self, value: &Value<'_>, specs: &mut [Option<StyleSpec>; TOKENS]) {
        for (name, value) in self.table(value).into_iter().flatten() {
            let known = Token::ALL
                .iter()
                .position(|(_, known)| *known == &**name.get_ref());
            let Some(index) = known else {
                let hint = did_you_mean(name.get_ref(), Token::ALL.iter().map(|(_, name)| *name));
                let message = format!("unknown token `{}`", name.get_ref());
                self.document.report(name.span(), message, hint);
                continue;
            };
            specs[index] = self.spec(value);
        }
    }

    /// The style; `None` if it is an invalid colour.
    fn spec(&mut self, value: &Value<'_>) -> Option<StyleSpec> {
        let mut spec = StyleSpec::default();
        let Some(table) = value.get_ref().as_table() else {
            spec.fg = Some(self.colour(value)?);
            return Some(spec);
        };
        for (key, value) in table {
            match &**key.get_ref() {
                "fg" => spec.fg = self.colour(value),
                "bg" => spec.bg = self.colour(value),
                "modifiers" => spec.modifier = self.modifiers(value),
                unknown => {
                    let hint = did_you_mean(unknown, ["fg", "bg", "modifiers"]);
                    let message = format!("unknown key `{unknown}`");
                    self.document.report(key.span(), message, hint);
                }
            }
        }
        Some(spec)
    }

    fn modifiers(&mut self, value: &Value<'_>) -> Modifier {
        let Some(list) = value.get_ref().as_array() else {
            self.report_expected(value, "a list such as `[\"bold\"]`");
            return Modifier::empty();
        };
        let mut all = Modifier::empty();
        for item in list {
            let name = item.get_ref().as_str().unwrap_or_default();
            if let Some((_, modifier)) = MODIFIERS.iter().find(|(known, _)| *known == name) {
                all |= *modifier;
                continue;
            }
            let hint = "expected one of bold, dim, italic, underline, reverse, strike";
            let message = format!("unknown modifier `{name}`");
            self.document
                .report(item.span(), message, Some(hint.to_owned()));
        }
        all
    }

    fn colour(&mut self, value: &Value<'_>) -> Option<Colour> {
        let number = value
            .get_ref()
            .as_integer()
            .map(|number| number.as_str().to_owned());
        let Some(text) = number.or_else(|| value.get_ref().as_str().map(str::to_owned)) else {
            self.report_expected(value, "a colour");
            return None;
        };
        let colour = self.palette.get(&text).copied();
        let colour = colour.or_else(|| Colour::parse(&text));
        if colour.is_none() {
            let names: Vec<&str> = self
                .palette
                .keys()
                .map(String::as_str)
                .chain(ANSI_NAMES)
                .collect();
            let hint = did_you_mean(&text, names).unwrap_or_else(|| {
                "write `#rrggbb`, 0 to 255, `default`, a terminal colour such as `bright-blue`, or \
                 a name of the palette"
                    .to_owned()
            });
            let message = format!("unknown colour `{text}`");
            self.document.report(value.span(), message, Some(hint));
        }
        colour
    }

    fn report_expected(&mut self, value: &Value<'_>, what: &str) {
        let message = format!("expected {what}, found {}", value.get_ref().type_str());
        self.document.report(value.span(), message, None);
    }
}
