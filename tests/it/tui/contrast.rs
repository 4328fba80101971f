//! The share of the characters of typical screens that are hard to read, in every theme with every number of colours.
//! Dim text is for what can be left unread, so most of a screen has a contrast of 4.5 or more.

use osier_llm::Script;
use osier_protocol::{Event, PermissionMode};
use osier_term::theme::{ColourDepth, TerminalColours, ThemeStore};
use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use serde_json::json;

use super::support::Screen;

/// A contrast below this one is hard to read.
const READABLE: f32 = 4.5;

/// The highest percentage of such characters, and the one where the terminal does not report its colours: its own blue and
/// magenta can be hard to read.
const MOST: usize = 12;
const MOST_NOT_REPORTED: usize = 30;

type Rgb = (u8, u8, u8);

/// The own colours of a terminal.
struct Terminal {
    name: &'static str,
    foreground: Rgb,
    background: Rgb,
    ansi: [u32; 16],
}

/// The sixteen colours that themes are made for.
const XTERM: [u32; 16] = [
    0x00_0000, 0xcd_0000, 0x00_cd00, 0xcd_cd00, 0x00_00ee, 0xcd_00cd, 0x00_cdcd, 0xe5_e5e5,
    0x7f_7f7f, 0xff_0000, 0x00_ff00, 0xff_ff00, 0x5c_5cff, 0xff_00ff, 0x00_ffff, 0xff_ffff,
];

const PLAIN: Terminal = Terminal {
    name: "xterm",
    foreground: (229, 229, 229),
    background: (0, 0, 0),
    ansi: XTERM,
};

/// Terminals with the colours of VS Code, where the theme `system` is drawn.
const TERMINALS: [Terminal; 2] = [
    Terminal {
        name: "dark",
        foreground: (0xcc, 0xcc, 0xcc),
        background: (0x16, 0x18, 0x1d),
        ansi: [
            0x00_0000, 0xcd_3131, 0x0d_bc79, 0xe5_e510, 0x24_72c8, 0xbc_3fbc, 0x11_a8cd, 0xe5_e5e5,
            0x66_6666, 0xf1_4c4c, 0x23_d18b, 0xf5_f543, 0x3b_8eea, 0xd6_70d6, 0x29_b8db, 0xe5_e5e5,
        ],
    },
    Terminal {
        name: "light",
        foreground: (0x33, 0x33, 0x33),
        background: (0xff, 0xff, 0xff),
        ansi: [
            0x00_0000, 0xcd_3131, 0x10_7c10, 0x94_9800, 0x04_51a5, 0xbc_05bc, 0x05_98bc, 0x55_5555,
            0x66_6666, 0xcd_3131, 0x14_ce14, 0xb5_ba00, 0x04_51a5, 0xbc_05bc, 0x05_98bc, 0xa5_a5a5,
        ],
    },
];

fn rgb(value: u32) -> Rgb {
    let [_, red, green, blue] = value.to_be_bytes();
    (red, green, blue)
}

impl Terminal {
    fn colour(&self, colour: Color, default: Rgb) -> Rgb {
        const NAMED: [Color; 16] = [
            Color::Black,
            Color::Red,
            Color::Green,
            Color::Yellow,
            Color::Blue,
            Color::Magenta,
            Color::Cyan,
            Color::Gray,
            Color::DarkGray,
            Color::LightRed,
            Color::LightGreen,
            Color::LightYellow,
            Color::LightBlue,
            Color::LightMagenta,
            Color::LightCyan,
            Color::White,
        ];
        match colour {
            Color::Reset => default,
            Color::Rgb(red, green, blue) => (red, green, blue),
            Color::Indexed(index) => self.indexed(index),
            named => {
                let place = NAMED.iter().position(|known| *known == named).unwrap();
                rgb(self.ansi[place])
            }
        }
    }

    fn indexed(&self, index: u8) -> Rgb {
        const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
        let level = |number: u8| LEVELS[usize::from(number % 6)];
        match index {
            0..16 => rgb(self.ansi[usize::from(index)]),
            16..232 => {
                let number = index - 16;
                (level(number / 36), level(number / 6), level(number))
            }
            232.. => {
                let grey = 8 + (index - 232) * 10;
                (grey, grey, grey)
            }
        }
    }

    /// The contrast of a cell's text with its background. Dim text is half as strong, as most terminals draw it.
    fn contrast(&self, cell: &Cell) -> f32 {
        let (mut text, mut ground) = (
            self.colour(cell.fg, self.foreground),
            self.colour(cell.bg, self.background),
        );
        if cell.modifier.contains(Modifier::REVERSED) {
            (text, ground) = (ground, text);
        }
        if cell.modifier.contains(Modifier::DIM) {
            text = (
                u8::midpoint(text.0, ground.0),
                u8::midpoint(text.1, ground.1),
                u8::midpoint(text.2, ground.2),
            );
        }
        let (one, other) = (luminance(text), luminance(ground));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    /// The percentage of letters and digits that are hard to read, and the words that contain them.
    fn weak(&self, buffer: &Buffer) -> (usize, String) {
        let (mut weak, mut all, mut words) = (0, 0, String::new());
        for row in buffer.content.chunks(usize::from(buffer.area.width)) {
            for cell in row {
                let is_text = cell.symbol().chars().all(char::is_alphanumeric);
                let is_weak = is_text && self.contrast(cell) < READABLE;
                all += usize::from(is_text);
                weak += usize::from(is_weak);
                match is_weak {
                    true => words.push_str(cell.symbol()),
                    false if !words.ends_with([' ', '\n']) => words.push(' '),
                    false => {}
                }
            }
            words.push('\n');
        }
        let words = words.lines().map(str::trim).filter(|line| !line.is_empty());
        (
            weak * 100 / all.max(1),
            words.collect::<Vec<_>>().join("\n"),
        )
    }
}

/// As WCAG defines it.
fn luminance((red, green, blue): Rgb) -> f32 {
    let [red, green, blue] = [red, green, blue].map(|part| {
        let part = f32::from(part) / 255.0;
        if part <= 0.04045 {
            part / 12.92
        } else {
            ((part + 0.055) / 1.055).powf(2.4)
        }
    });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

const CART: &str = "class Cart:\n    def total(self):\n        return sum(price for _, price, _ in self.items)\n\n    \
                    def discount(self, part):\n        return self.total() * (1 - part)\n";

const ANSWER: &str = "# Result\n\nThe cart ignores `count`. I changed **one method** and added a test. See [the issue](https://example.org/1).\n\n\
                      - `total()` multiplies by the count\n- `discount()` is unchanged\n\n\
                      | file | change | risk |\n|:--|--:|:-:|\n| `src/cart.py` | +1 −1 | low |\n| `tests/test_cart.py` | +4 | none |\n\n\
                      ```python\ndef total(self):\n    \"\"\"Sum of all items.\"\"\"\n    return sum(price * count for _, price, count in self.items)\n```\n\n\
                      > A quotation: always test money code.\n\nDone. Next: run the tests.\n";

fn script() -> Script {
    let todos = ["Read the cart", "Fix total()", "Report"]
        .map(|content| json!({"content": content, "status": "pending"}));
    let edit = json!({
        "file_path": "cart.py",
        "old_string": "sum(price for _, price, _ in self.items)",
        "new_string": "sum(price * count for _, price, count in self.items)",
    });
    let choices = json!([{
        "question": "How should discount() round?",
        "header": "Rounding",
        "options": [
            {"label": "Half up", "description": "2.5 becomes 3"},
            {"label": "Not at all", "description": "keep fractions"},
        ],
    }]);
    Script::new()
        .turn(|turn| {
            turn.thinking("The user wants the cart fixed. Let me look at the files first.")
                .text("I look at the project first.")
                .tool("todo", json!({"todos": todos}))
                .tool("read", json!({"file_path": "cart.py"}))
        })
        .turn(|turn| {
            turn.text("The test fails, as expected; I check it.").tool(
                "bash",
                json!({"command": "touch tested && echo total is 12, expected 16"}),
            )
        })
        .turn(|turn| turn.text("`total()` ignores the count.").tool("edit", edit))
        .turn(|turn| turn.tool("ask_user", json!({"questions": choices})))
        .turn(|turn| turn.text(ANSWER))
}

/// The name of a screen, and the screen as it is drawn in each theme.
type Drawn = (&'static str, Vec<Buffer>);

/// Every theme with its name and the terminal that it is drawn on.
fn looks() -> Vec<(String, osier_term::Theme, Terminal)> {
    let mut looks = Vec::new();
    for depth in [ColourDepth::True, ColourDepth::Indexed, ColourDepth::Ansi] {
        let store = ThemeStore::new(None, depth);
        for name in ThemeStore::embedded() {
            let (theme, _) = store.load(name);
            if name != "system" {
                looks.push((format!("{name}, {depth:?}"), theme, PLAIN));
                continue;
            }
            for terminal in TERMINALS {
                let mut reported = TerminalColours {
                    foreground: Some(terminal.foreground),
                    background: Some(terminal.background),
                    ..TerminalColours::default()
                };
                for (place, colour) in reported.ansi.iter_mut().enumerate() {
                    *colour = Some(rgb(terminal.ansi[place]));
                }
                let on = terminal.name;
                let known = format!("system on {on}, {depth:?}");
                looks.push((known, theme.adapted(&reported), terminal));
            }
            for terminal in TERMINALS {
                let unknown = format!("system on {}, not reported, {depth:?}", terminal.name);
                looks.push((unknown, theme.clone(), terminal));
            }
        }
    }
    looks
}

/// Draws the screen in every theme.
fn drawn(
    name: &'static str,
    screen: &mut Screen,
    looks: &[(String, osier_term::Theme, Terminal)],
) -> Drawn {
    let buffers = looks.iter().map(|(_, theme, _)| {
        screen.app.set_theme(theme.clone());
        screen.draw().0
    });
    (name, buffers.collect())
}

/// Draws typical screens.
async fn screens(looks: &[(String, osier_term::Theme, Terminal)]) -> Vec<Drawn> {
    let mut screen = Screen::new(80, 24)
        .script(script())
        .file("cart.py", CART)
        .settings(|settings| {
            settings.screen.turn_summary = true;
            settings.permissions = PermissionMode::Ask;
        })
        .start()
        .await;
    let mut all = vec![drawn("start", &mut screen, looks)];
    screen.send("fix the cart").shows("Run this command?").await;
    all.push(drawn("question for a command", &mut screen, looks));
    screen.advance(std::time::Duration::from_secs(1));
    screen.press("y").shows("Make this change?").await;
    all.push(drawn("question for an edit", &mut screen, looks));
    screen.advance(std::time::Duration::from_secs(1));
    screen.press("y").shows("Half up").await;
    all.push(drawn("question of the model", &mut screen, looks));
    screen.advance(std::time::Duration::from_secs(1));
    screen.press("1").settled().await;
    all.push(drawn("answer", &mut screen, looks));
    screen.press("pageup pageup");
    all.push(drawn("tools", &mut screen, looks));
    screen.send("/diff");
    screen
        .until(|event| matches!(event, Event::Checkpoint(_)))
        .await;
    screen.shows("cart.py").await;
    all.push(drawn("diff", &mut screen, looks));
    screen.press("esc").send("/tree").shows("Tree").await;
    all.push(drawn("tree", &mut screen, looks));
    all
}

#[tokio::test]
async fn few_characters_of_a_screen_are_hard_to_read() {
    let looks = looks();
    let mut wrong = Vec::new();
    for (name, buffers) in screens(&looks).await {
        for ((look, _, terminal), buffer) in looks.iter().zip(&buffers) {
            let (share, words) = terminal.weak(buffer);
            let most = if look.contains("not reported") {
                MOST_NOT_REPORTED
            } else {
                MOST
            };
            if share > most {
                wrong.push(format!("{name}: {share} % in {look}:\n{words}\n"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
