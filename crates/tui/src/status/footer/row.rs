//! The footer as one row: which parts have room, and how they are joined.

use super::{Footer, SHOWN};
use osier_base::text;
use osier_settings::FooterPart;
use osier_term::{Row, Span, Token};

/// The rank from which on a part stays while the name of the model can be cut, so that the name
/// never hides the permission mode.
const KEPT: u8 = 8;
/// Fewest columns of a name that is cut.
const LEAST_COLUMNS: usize = 8;
/// The word before the thinking level. It is shown if at least `NAMED_LEVEL` more columns stay free.
const LEVEL: &str = "thinking ";
const NAMED_LEVEL: usize = 4;
/// Columns of the left side that the provider of the model makes room for.
const LEAST_LEFT: usize = 20;

/// A part with content.
#[derive(Debug)]
struct Piece {
    spans: Vec<Span>,
    rank: u8,
    part: FooterPart,
}

fn spans_width(spans: &[Span]) -> usize {
    spans.iter().map(|span| text::width(&span.text)).sum()
}

impl Footer {
    /// One row, never wider than `width`. The least important part is dropped first; the left side gets the rest and
    /// loses its beginning.
    pub fn row(&self, width: u16) -> Row {
        let width = usize::from(width);
        let left = self.pieces(&self.settings.footer_left);
        // The open sessions stay: what waits in another one must be seen.
        let tabs = left
            .first()
            .filter(|piece| piece.part == FooterPart::Sessions);
        let limit = width.saturating_sub(tabs.map_or(0, |piece| spans_width(&piece.spans) + 2));
        let mut right = self.pieces(&self.settings.footer_right);
        let mut right_width = self.width(&right, "  ");
        while right_width > limit && right.len() > 1 {
            let least = (0..right.len()).min_by_key(|place| right[*place].rank);
            let least = least.unwrap_or_default();
            if right[least].rank < KEPT || !shorten(&mut right, right_width - limit) {
                right.remove(least);
            }
            right_width = self.width(&right, "  ");
        }
        let room_of = |right_width: usize| {
            width.saturating_sub(right_width + if right_width > 0 { 2 } else { 0 })
        };
        // The directory is wanted more than the provider.
        let wanted = self.width(&left, " · ").min(LEAST_LEFT);
        let shorter = right_width.saturating_sub(provider_width(&right));
        if room_of(right_width) < wanted && room_of(shorter) >= LEAST_COLUMNS {
            drop_provider(&mut right);
            right_width = shorter;
        }
        let room = room_of(right_width);
        let left = if room < 8 {
            Vec::new()
        } else {
            self.cut(left, room)
        };
        let mut gap = width.saturating_sub(spans_width(&left) + right_width);
        if gap >= NAMED_LEVEL + text::width(LEVEL) && name_level(&mut right) {
            gap -= text::width(LEVEL);
        }
        let mut row = Row::new(left);
        row.spans.reserve(right.len() * 2 + 2);
        row.push(" ".repeat(gap), Token::Footer);
        self.join(right, "  ", &mut row.spans);
        row
    }

    fn pieces(&self, parts: &[FooterPart]) -> Vec<Piece> {
        let shown = parts.iter().filter_map(|part| {
            let (_, show, rank) = SHOWN.iter().find(|(known, ..)| known == part)?;
            let spans = show(self);
            (!spans.is_empty()).then_some(Piece {
                spans,
                rank: *rank,
                part: *part,
            })
        });
        shown.collect()
    }

    /// The pieces with their separators; `usual` between unrelated ones.
    fn joined(&self, mut pieces: Vec<Piece>, usual: &'static str) -> Vec<Span> {
        if pieces.len() == 1 {
            return pieces.remove(0).spans;
        }
        let mut spans = Vec::with_capacity(pieces.len() * 2 + 2);
        self.join(pieces, usual, &mut spans);
        spans
    }

    /// Adds the pieces with their separators.
    fn join(&self, pieces: Vec<Piece>, usual: &'static str, spans: &mut Vec<Span>) {
        let mut above = None;
        for piece in pieces {
            if let Some(above) = above.replace(piece.part) {
                spans.push(Span::new(
                    self.between(above, piece.part, usual),
                    Token::Footer,
                ));
            }
            spans.extend(piece.spans);
        }
    }

    /// The pieces of the left side without those at its start that have no room; the open sessions
    /// stay.
    fn cut(&self, mut pieces: Vec<Piece>, room: usize) -> Vec<Span> {
        let first = pieces.first().map(|piece| piece.part);
        if pieces.len() < 2 || first != Some(FooterPart::Sessions) {
            return cut(self.joined(pieces, " · "), room);
        }
        let rest = pieces.split_off(1);
        let between = self.between(FooterPart::Sessions, rest[0].part, " ");
        let mut spans = self.joined(pieces, " ");
        spans.push(Span::new(between, Token::Footer));
        if spans_width(&spans) > room {
            return Vec::new();
        }
        let room = room - spans_width(&spans);
        spans.extend(cut(self.joined(rest, " · "), room));
        spans
    }

    /// Columns of the pieces when they are joined.
    fn width(&self, pieces: &[Piece], usual: &'static str) -> usize {
        let own: usize = pieces.iter().map(|piece| spans_width(&piece.spans)).sum();
        let pairs = pieces.windows(2);
        let between =
            pairs.map(|pair| text::width(self.between(pair[0].part, pair[1].part, usual)));
        own + between.sum::<usize>()
    }

    fn between(&self, above: FooterPart, part: FooterPart, usual: &'static str) -> &'static str {
        let belongs = matches!(
            (above, part),
            (FooterPart::Cwd, FooterPart::Branch)
                | (FooterPart::Tokens, FooterPart::Cost)
                | (FooterPart::Model, FooterPart::Thinking)
        );
        match (belongs, self.settings.screen_reader) {
            (true, _) => " ",
            (false, true) => ", ",
            (false, false) => usual,
        }
    }
}

/// Cuts the name of the model by `over` columns; returns whether enough of it remains.
fn shorten(pieces: &mut [Piece], over: usize) -> bool {
    let model = pieces
        .iter_mut()
        .find(|piece| piece.part == FooterPart::Model);
    let Some(last) = model.and_then(|piece| piece.spans.last_mut()) else {
        return false;
    };
    let width = text::width(&last.text);
    if width < over + LEAST_COLUMNS {
        return false;
    }
    last.text = text::truncate(&last.text, width - over).into_owned().into();
    true
}

/// Columns of the provider in the name of the model.
fn provider_width(pieces: &[Piece]) -> usize {
    let model = pieces.iter().find(|piece| piece.part == FooterPart::Model);
    let name = model.and_then(|piece| piece.spans.last());
    let provider = name.and_then(|name| name.text.split_once('/'));
    provider.map_or(0, |(provider, _)| text::width(provider) + 1)
}

/// Leaves the provider out of the name of the model.
fn drop_provider(pieces: &mut [Piece]) {
    let mut pieces = pieces.iter_mut();
    let model = pieces.find(|piece| piece.part == FooterPart::Model);
    if let Some(last) = model.and_then(|piece| piece.spans.last_mut())
        && let Some((_, name)) = last.text.split_once('/')
    {
        last.text = name.to_owned().into();
    }
}

/// Adds the word for the thinking level. Returns false if the row has no level.
fn name_level(pieces: &mut [Piece]) -> bool {
    let mut pieces = pieces.iter_mut();
    let level = pieces.find(|piece| piece.part == FooterPart::Thinking);
    let Some(span) = level.and_then(|piece| piece.spans.first_mut()) else {
        return false;
    };
    span.text = format!("{LEVEL}{}", span.text).into();
    true
}

/// The end of a side that fits into `room`.
fn cut(spans: Vec<Span>, room: usize) -> Vec<Span> {
    let mut over = spans_width(&spans).saturating_sub(room);
    if over == 0 {
        return spans;
    }
    let kept = spans.into_iter().filter_map(|span| {
        let width = text::width(&span.text);
        let lost = over.min(width);
        over -= lost;
        let end = text::truncate_start(&span.text, width - lost).into_owned();
        (lost < width).then(|| Span::new(end, span.face))
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    use osier_llm::{Price, ThinkingLevel};
    use osier_protocol::{KeyState, ModelInfo, PermissionMode, SandboxMode};
    use osier_settings::ScreenSettings;

    #[test]
    fn the_parts_stand_where_they_are_wanted_and_the_least_goes_first() {
        let known: Vec<FooterPart> = SHOWN.iter().map(|(part, ..)| *part).collect();
        assert_eq!(known, FooterPart::ALL);
        let mut footer = Footer {
            cwd: "~/work".into(),
            branch: Some("main".into()),
            session_name: Some("a name".into()),
            model_hint: "m/m".into(),
            jobs: 2,
            permissions: PermissionMode::Ask,
            sandbox: SandboxMode::Workspace,
            ..Footer::default()
        };
        footer.total.input = 1_500;
        footer.total.cost.total = 0.25;
        assert_eq!(
            footer.row(80).text(),
            "~/work (main) · a name    2 jobs   ask   sandbox workspace  ↑1.5k ↓0 $0.250  m/m"
        );
        assert_eq!(
            footer.row(40).text(),
            "   2 jobs   ask   sandbox workspace  m/m"
        );
        let mut settings = ScreenSettings {
            footer_left: vec![FooterPart::Model, FooterPart::Cost],
            footer_right: vec![FooterPart::Branch],
            ..ScreenSettings::default()
        };
        footer.settings = Arc::new(settings.clone());
        assert_eq!(footer.row(30).text(), "m/m · $0.250            (main)");
        settings.screen_reader = true;
        settings.footer_left = vec![FooterPart::Tokens];
        footer.settings = Arc::new(settings.clone());
        assert_eq!(footer.row(30).text(), "in 1.5k, out 0          (main)");
        settings.footer_left = vec![FooterPart::Cwd, FooterPart::Branch];
        settings.footer_right = Vec::new();
        footer.settings = Arc::new(settings);
        assert_eq!(footer.row(10).text(), "…rk (main)");
    }

    #[test]
    fn the_thinking_level_is_named_where_there_is_room() {
        let footer = Footer {
            cwd: "~/work".into(),
            model: Some(ModelInfo {
                provider: "m".into(),
                id: "x".into(),
                name: "x".into(),
                context_window: 1_000,
                max_tokens: 100,
                thinking_levels: vec![ThinkingLevel::Low],
                input: Vec::new(),
                price: Price::default(),
                key: KeyState::NotNeeded,
                cache_seconds: None,
                in_cycle: false,
                favourite: false,
                speed: None,
            }),
            level: ThinkingLevel::Low,
            permissions: PermissionMode::Ask,
            ..Footer::default()
        };
        let rows = [40, 30].map(|width| footer.row(width).text());
        let named = "~/work            ask   m/x thinking low";
        assert_eq!(rows, [named, "~/work           ask   m/x low"]);
    }

    #[test]
    fn the_open_sessions_stay_before_what_matters_less() {
        let mut footer = Footer {
            sessions: vec![Span::new("tab 1/2, 1 waiting", Token::Footer)],
            cwd: "~/work".into(),
            model_hint: "m/m".into(),
            jobs: 2,
            permissions: PermissionMode::Ask,
            sandbox: SandboxMode::Workspace,
            ..Footer::default()
        };
        footer.total.input = 1_500;
        for (width, shown) in [
            (
                72,
                "tab 1/2, 1 waiting …ork  2 jobs   ask   sandbox workspace  ↑1.5k ↓0  m/m",
            ),
            (40, "tab 1/2, 1 waiting …  2 jobs   ask   m/m"),
        ] {
            assert_eq!(footer.row(width).text(), shown);
        }
    }

    #[test]
    fn a_narrow_footer_keeps_the_model() {
        let footer = Footer {
            cwd: "~/very/long/path".into(),
            model_hint: "mock/mock".into(),
            ..Footer::default()
        };
        assert_eq!(footer.row(12).text(), "   mock/mock");
        let footer = Footer {
            model_hint: "here/a-name-that-is-longer-than-the-screen".into(),
            permissions: PermissionMode::Ask,
            ..footer
        };
        assert_eq!(
            footer.row(40).text(),
            " ask   here/a-name-that-is-longer-than-…"
        );
        let footer = Footer {
            model_hint: "mock/mock".into(),
            permissions: PermissionMode::default(),
            ..footer
        };
        assert_eq!(footer.row(30).text(), "~/very/long/path   yolo   mock");
    }
}
