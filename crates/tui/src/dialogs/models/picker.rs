//! Choosing a model: window, price, abilities, whether there is a key, and what the switch means for the
//! conversation so far.

use std::cell::{Cell as Shared, RefCell};
use std::rc::Rc;

use super::levels::Levels;
use super::order::Order;
use crate::actions::{Action, Command, Effect, Toast};
use crate::drawing::{Choice, Picker};
use crate::status::{Footer, footer::tokens};
use osier_base::{clock, text};
use osier_llm::{Modality, ThinkingLevel};
use osier_protocol::{KeyState, ModelInfo, Op, TreeOp};
use osier_settings::quoted;
use osier_term::{Cell, Column, Columns, Face, Item, Row, Token};

pub(super) const ID: &str = "model";
pub(super) const FAN_ID: &str = "fan_models";
pub(super) const RETRY_ID: &str = "retry_model";

/// The columns of the list. Prices are dollars per million tokens.
const COLUMNS: Columns = Columns {
    label: "model",
    details: &[
        Column::words("key", 0),
        Column::words("thinking", 3),
        Column::words("images", 3),
        Column::numbers("$ in", 2),
        Column::numbers("$ out", 2),
        Column::numbers("context", 1),
        Column::numbers("tok/s", 4),
    ],
};

/// Words that narrow the list, besides names.
const FILTERS: &str =
    "type to filter: name, thinking, images, free, price<1, window>200k, speed>50";

/// The mark of a favourite.
const FAVOURITE: &str = "★ ";

/// The picker over the models that can be used, with the current one selected; a key shows the others too.
pub(super) fn picker(
    models: &[ModelInfo],
    footer: &Footer,
    (shows_all, order): (Rc<Shared<bool>>, Rc<Shared<Order>>),
    levels: &Rc<Levels>,
) -> Picker<ModelInfo> {
    let title = order.get().title();
    let current = footer.model.as_ref().map(ModelInfo::reference);
    let is_current = |model: &ModelInfo| current.as_deref() == Some(&model.reference());
    let is_usable =
        |model: &ModelInfo| model.favourite || model.key != KeyState::Absent || is_current(model);
    let now = footer.clone();
    let listed = models.iter().cloned();
    let (taken, stored, cycled) = (Rc::clone(levels), Rc::clone(levels), Rc::clone(levels));
    let shown = Rc::clone(levels);
    let (level, answers) = (footer.level, current.clone());
    Picker::new(title, "no model matches", listed, move |model| {
        let reference = taken.reference(model);
        [Op::SelectModel { reference }]
    })
    .with_columns(COLUMNS)
    .taking("switch")
    .asking(FILTERS)
    .on_global(Command::CycleThinking, "thinking level", move |model| {
        if answers.as_deref() == Some(&model.reference()) {
            return [Action::from(Op::CycleThinkingLevel)];
        }
        if model.thinking_levels.len() < 2 {
            let text = format!("{} has no thinking levels", model.reference());
            return [Toast::info(text).into()];
        }
        cycled.choose_next(model, level);
        // The new list shows the level in its preview.
        [Op::ListModels.into()]
    })
    .with_few(is_usable, shows_all)
    .on(Command::ListOrder, "order", move |_| {
        order.set(order.get().next());
        // The list is requested again, for the new order.
        [Op::ListModels]
    })
    .on(Command::SaveDefault, "default", move |model| {
        let reference = stored.reference(model);
        let setting = Effect::WriteSetting {
            name: "model".to_owned(),
            value: Some(quoted(&model.reference())),
        };
        [
            Action::CloseLayer,
            setting.into(),
            Op::SelectModel { reference }.into(),
        ]
    })
    .on(Command::Favourite, "favourite", |model| {
        let (reference, on) = (model.reference(), !model.favourite);
        [Op::SetFavourite { reference, on }]
    })
    .with_preview(move |model| preview(model, &now, shown.of(model)))
    .with_selected(is_current)
}

/// The picker for a model to retry the last prompt with. The first model that can be used and is not the current one is
/// selected.
pub(super) fn retry_picker(models: &[ModelInfo], footer: &Footer) -> Picker<ModelInfo> {
    let current = footer.model.as_ref().map(ModelInfo::reference);
    let title = "Send the last prompt to";
    let now = footer.clone();
    let listed = models.iter().cloned();
    Picker::new(title, "no model matches", listed, |model| {
        let model = Some(model.reference());
        [TreeOp::RetryPrompt { model }]
    })
    .with_columns(COLUMNS)
    .taking("send")
    .with_preview(move |model| preview(model, &now, None))
    .with_selected(|model| {
        current.as_deref() != Some(&model.reference())
            && model.key != KeyState::Absent
            && model.provider != "demo"
    })
}

/// A model that can run next to others.
#[derive(Debug)]
pub(super) struct Lane {
    model: ModelInfo,
    is_marked: bool,
}

/// The picker for the models of `/fan`: the choice marks, another key writes the command for the marked ones.
pub(super) fn fan_picker(models: &[ModelInfo], marked: &Rc<RefCell<Vec<String>>>) -> Picker<Lane> {
    let is_marked = |model: &ModelInfo| marked.borrow().contains(&model.reference());
    let usable = models.iter().filter(|model| model.key != KeyState::Absent);
    let lanes: Vec<Lane> = usable
        .map(|model| Lane {
            model: model.clone(),
            is_marked: is_marked(model),
        })
        .collect();
    let (toggled, written) = (Rc::clone(marked), Rc::clone(marked));
    Picker::new(
        "Run side by side",
        "no model with a key",
        lanes,
        move |lane: &Lane| {
            let reference = lane.model.reference();
            let mut marked = toggled.borrow_mut();
            match marked.iter().position(|model| *model == reference) {
                Some(place) => drop(marked.remove(place)),
                None => marked.push(reference),
            }
            // The list is requested again, for the marks.
            [Op::ListModels]
        },
    )
    .with_columns(COLUMNS)
    .taking("mark")
    .staying()
    .on(Command::SaveDefault, "write the prompt", move |_| {
        let marked = written.borrow();
        if marked.len() < 2 {
            return vec![Action::from(Toast::error("mark at least two models"))];
        }
        let text = format!("/fan {} -- ", marked.join(" "));
        vec![Action::CloseLayer, Action::SetEditor { text }]
    })
}

impl Choice for Lane {
    fn row(&self) -> Item {
        let mark = if self.is_marked { "☑" } else { "☐" };
        let row = self.model.row();
        Item {
            label: format!("{mark} {}", row.label),
            ..row
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.model.is_same(&other.model)
    }
}

impl Choice for ModelInfo {
    fn row(&self) -> Item {
        let mut label = self.reference();
        if self.favourite {
            label.insert_str(0, FAVOURITE);
        }
        if self.in_cycle {
            label.push_str(" ·");
        }
        Item {
            label,
            details: details(self).into(),
            keywords: format!("{} {}", self.name, abilities(self).join(" ")),
            numbers: numbers(self),
            first: self.favourite,
            dimmed: self.key == KeyState::Absent,
            ..Item::default()
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.provider == other.provider && self.id == other.id
    }
}

/// Words that find a model by what it can do.
fn abilities(model: &ModelInfo) -> Vec<&'static str> {
    let is_free = model.key == KeyState::NotNeeded;
    let words = [
        ("thinking", model.thinking_levels.len() > 1),
        ("images", model.input.contains(&Modality::Image)),
        ("pictures", model.input.contains(&Modality::Image)),
        ("key", model.key == KeyState::Present),
        ("free", is_free),
        ("favourite", model.favourite),
    ];
    let has = words.into_iter().filter(|(_, has)| *has);
    has.map(|(word, _)| word).collect()
}

/// Numbers that a query can limit. A model without a price has none.
fn numbers(model: &ModelInfo) -> Vec<(&'static str, f64)> {
    let price = model.price;
    let is_known = price.input + price.output > 0.0 || model.key == KeyState::NotNeeded;
    let prices = [("price", price.input), ("output", price.output)];
    let prices = prices.into_iter().filter(|_| is_known);
    let window = ("window", model.context_window as f64);
    let speed = model.speed.map(|speed| ("speed", speed as f64));
    prices.chain([window]).chain(speed).collect()
}

/// The details of a model, one cell for each column. Missing abilities are blank, so that the
/// others stand out.
fn details(model: &ModelInfo) -> [Cell; 7] {
    let key = match model.key {
        KeyState::Present => Cell::new("✓", Token::Success),
        KeyState::NotNeeded => "free".into(),
        KeyState::Absent => "no key".into(),
    };
    let mark = |has: bool| if has { "✓" } else { "" };
    let has_price = model.price.input + model.price.output > 0.0;
    let price = |price: f64| {
        if has_price {
            dollars(price)
        } else {
            String::new()
        }
    };
    [
        key,
        mark(model.thinking_levels.len() > 1).into(),
        mark(model.input.contains(&Modality::Image)).into(),
        price(model.price.input).into(),
        price(model.price.output).into(),
        tokens(model.context_window).into(),
        model
            .speed
            .map(|speed| speed.to_string())
            .unwrap_or_default()
            .into(),
    ]
}

/// A price in at most five characters, the width of its column.
fn dollars(price: f64) -> String {
    let text = match price {
        100.0.. => format!("{price:.0}"),
        10.0.. => format!("{price:.1}"),
        1.0.. => format!("{price:.2}"),
        _ => format!("{price:.3}"),
    };
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// The facts of a model, the consequences of switching to it, and the thinking level that the user has `chosen` for it.
fn preview(model: &ModelInfo, now: &Footer, chosen: Option<ThinkingLevel>) -> Vec<Row> {
    let mut name = Row::plain(text::single_line(&model.name), Face::bold(Token::Title));
    if model.favourite {
        name.push(" ★", Token::Accent);
    }
    // First: a low screen shows only this, and the list has the rest.
    let (fit, switch) = consequences(model, now, chosen);
    if let Some((fit, token)) = fit {
        name.push(format!(" · {fit}"), token);
    }
    let mut rows = vec![name];
    rows.extend(
        switch
            .into_iter()
            .map(|(text, token)| Row::plain(text, token)),
    );
    rows.push(Row::default());
    let mut fact = |name: &str, value: String| {
        let mut row = Row::plain(format!("{name:<18}"), Token::Muted);
        row.push(value, Token::Text);
        rows.push(row);
    };
    let (window, output) = (tokens(model.context_window), tokens(model.max_tokens));
    fact("context", format!("{window}, output up to {output}"));
    let price = model.price.of_prompt(now.context_tokens);
    if price.input + price.output > 0.0 {
        fact(
            "price in, out",
            format!("${}, ${} per 1M tokens", price.input, price.output),
        );
        fact(
            "cache read, write",
            format!("${}, ${}", price.cache_read, price.cache_write),
        );
    }
    if let Some(speed) = model.speed {
        fact("speed", format!("{speed} tokens a second in your sessions"));
    }
    if model.thinking_levels.len() > 1 {
        let used = chosen.unwrap_or(now.level);
        let levels = model.thinking_levels.iter().map(|level| {
            let mark = if *level == used { "◂" } else { "" };
            format!("{}{mark}", level.name())
        });
        fact("thinking", levels.collect::<Vec<_>>().join(" "));
    }
    fact(
        "key",
        match model.key {
            KeyState::Present => "found".to_owned(),
            KeyState::NotNeeded => "not needed".to_owned(),
            KeyState::Absent => format!("no key: /login {}", model.provider),
        },
    );
    rows
}

/// A text with its face.
type Remark = (String, Token);

/// How the conversation so far fits `model`, and the other consequences of switching to it, a line each: first what it
/// costs.
fn consequences(
    model: &ModelInfo,
    now: &Footer,
    chosen: Option<ThinkingLevel>,
) -> (Option<Remark>, Vec<Remark>) {
    let reference = model.reference();
    let current = now.model.as_ref();
    if current.is_some_and(|current| current.reference() == reference) {
        let fit = ("current model".to_owned(), Token::Success);
        return (Some(fit), Vec::new());
    }
    let used = now.context_tokens;
    let fit = if used == 0 {
        Some(("no conversation to carry over yet".to_owned(), Token::Text))
    } else if used <= room(model) {
        let percent = used * 100 / model.context_window.max(1);
        let text = format!("context of {} fits: {percent}%", tokens(used));
        Some((text, Token::Success))
    } else {
        None
    };
    let mut lines = Vec::new();
    if used > 0 {
        lines.extend(costs(model, now, clock::now_ms()));
    }
    if chosen.is_none() && !model.thinking_levels.contains(&now.level) {
        let text = format!("no thinking level {}: uses the nearest", now.level.name());
        lines.push((text, Token::Warning));
    }
    (fit, lines)
}

/// The tokens of a prompt that `model` accepts.
fn room(model: &ModelInfo) -> u64 {
    let output = model.max_tokens.min(model.context_window / 4);
    model.context_window.saturating_sub(output)
}

/// The costs and losses of the conversation so far with `model`, a line each. `time` is in milliseconds since the Unix epoch.
pub(super) fn costs(model: &ModelInfo, now: &Footer, time: i64) -> Vec<(String, Token)> {
    let mut lines = Vec::new();
    let used = now.context_tokens;
    if used > room(model) {
        let text = format!("context of {} does not fit: compacted first", tokens(used));
        lines.push((text, Token::Warning));
    } else if used > 0 && !now.cache.is_kept_by(model, time) {
        let price = model.price.of_prompt(used);
        let cold = price.input.max(price.cache_write) * used as f64 / 1e6;
        // Less than a cent is not worth a line.
        if cold >= 0.005 {
            let used = tokens(used);
            let text = format!("{used} tokens are sent again without cache: about ${cold:.2}");
            lines.push((text, Token::Text));
        }
    }
    if now.carried.thinking {
        lines.push((
            "earlier thinking is sent as text, without encrypted thinking".to_owned(),
            Token::Text,
        ));
    }
    if now.carried.images && !model.input.contains(&Modality::Image) {
        lines.push((
            "images are sent as notes: the model accepts text only".to_owned(),
            Token::Warning,
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::footer::Carried;
    use osier_llm::{AssistantMessage, Price};

    fn model(id: &str, window: u64) -> ModelInfo {
        ModelInfo {
            provider: "a".into(),
            id: id.into(),
            name: "Model".into(),
            context_window: window,
            max_tokens: 8_000,
            thinking_levels: vec![ThinkingLevel::Off],
            input: vec![Modality::Text],
            price: Price {
                input: 3.0,
                output: 15.0,
                cache_write: 3.75,
                ..Price::default()
            },
            key: KeyState::Present,
            cache_seconds: None,
            in_cycle: false,
            favourite: false,
            speed: None,
        }
    }

    #[test]
    fn the_preview_shows_the_consequences_of_a_switch() {
        let mut seeing = model("now", 200_000);
        seeing.input.push(Modality::Image);
        let now = Footer {
            model: Some(seeing),
            level: ThinkingLevel::High,
            context_tokens: 100_000,
            carried: Carried {
                thinking: true,
                images: true,
            },
            ..Footer::default()
        };
        let told = |model: &ModelInfo, now: &Footer| -> Vec<String> {
            let (fit, lines) = consequences(model, now, None);
            let all = fit.into_iter().chain(lines);
            all.map(|(text, _)| text).collect()
        };
        assert_eq!(told(&model("now", 200_000), &now), ["current model"]);
        assert_eq!(
            told(&model("other", 128_000), &now),
            [
                "context of 100k fits: 78%",
                "100k tokens are sent again without cache: about $0.38",
                "earlier thinking is sent as text, without encrypted thinking",
                "images are sent as notes: the model accepts text only",
                "no thinking level high: uses the nearest",
            ]
        );
        assert_eq!(
            told(&model("small", 32_000), &now)[0],
            "context of 100k does not fit: compacted first"
        );
        // Only consequences that are true of this conversation are listed.
        let plain = Footer {
            carried: Carried::default(),
            level: ThinkingLevel::Off,
            ..now
        };
        assert_eq!(
            told(&model("other", 128_000), &plain),
            [
                "context of 100k fits: 78%",
                "100k tokens are sent again without cache: about $0.38",
            ]
        );
        // The name is followed by how it fits: three rows of a low screen have the cost.
        let rows = preview(&model("other", 128_000), &plain, None);
        let rows: Vec<String> = rows.iter().take(3).map(Row::text).collect();
        assert_eq!(
            rows,
            [
                "Model · context of 100k fits: 78%",
                "100k tokens are sent again without cache: about $0.38",
                "",
            ]
        );
    }

    #[test]
    fn a_model_that_still_has_the_conversation_in_its_cache_costs_nothing_more() {
        let other = ModelInfo {
            cache_seconds: Some(300),
            ..model("other", 128_000)
        };
        let mut now = Footer {
            model: Some(model("now", 200_000)),
            context_tokens: 100_000,
            ..Footer::default()
        };
        for id in ["other", "now"] {
            now.cache.answered(&AssistantMessage {
                provider: "a".to_owned(),
                model: id.to_owned(),
                timestamp: 1_000,
                ..AssistantMessage::default()
            });
        }
        let count = |time| costs(&other, &now, time).len();
        assert_eq!((count(300_999), count(301_000)), (0, 1));
    }

    #[test]
    fn a_model_has_key_abilities_prices_and_context_window() {
        let model = ModelInfo {
            provider: "a".into(),
            id: "m".into(),
            name: "Model".into(),
            context_window: 200_000,
            max_tokens: 8_000,
            thinking_levels: ThinkingLevel::ALL.to_vec(),
            input: vec![Modality::Text, Modality::Image],
            price: Price {
                input: 3.0,
                output: 15.0,
                ..Price::default()
            },
            key: KeyState::Absent,
            cache_seconds: None,
            in_cycle: true,
            favourite: false,
            speed: Some(85),
        };
        let item = model.row();
        assert_eq!((item.label.as_str(), item.dimmed), ("a/m ·", true));
        let told = |model: &ModelInfo| details(model).map(|cell| cell.text);
        assert_eq!(told(&model), ["no key", "✓", "✓", "3", "15", "200k", "85"]);
        for (price, expected) in [
            (0.0, "0"),
            (0.137_5, "0.138"),
            (0.1, "0.1"),
            (2.5, "2.5"),
            (3.125, "3.12"),
            (15.0, "15"),
            (100.0, "100"),
        ] {
            assert_eq!(dollars(price), expected);
        }
        let local = ModelInfo {
            thinking_levels: vec![ThinkingLevel::Off],
            input: vec![Modality::Text],
            price: Price::default(),
            key: KeyState::NotNeeded,
            speed: None,
            ..model
        };
        assert_eq!(told(&local), ["free", "", "", "", "", "200k", ""]);
        let free = [("price", 0.0), ("output", 0.0), ("window", 200_000.0)];
        assert_eq!(numbers(&local), free);
        let unpriced = ModelInfo {
            key: KeyState::Absent,
            ..local
        };
        assert_eq!(numbers(&unpriced), free[2..]);
    }
}
