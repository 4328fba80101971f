//! Painting the app. Reads the state, the area and the time; changes nothing but layout caches.

use std::time::Instant;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};

use super::{App, linear};
use crate::actions::Command;
use crate::conversation::{Printing, Transcript, search, welcome};
use crate::dialogs::{Questions, help};
use crate::drawing::{Surface, layout, layout::Areas, layout::Wanted};
use crate::input::{keymap::hints, keymap::hints::KeysPage, prompt};
use crate::status::{Footer, side_panel::Shared};
use osier_term::keymap::describe;
use osier_term::{KeyPress, Links, Token, View, Wrap};

/// Divides the area of the conversation: an empty session has the start page above the notices.
fn start_page(transcript: &mut Transcript, mut area: Rect) -> (Rect, Rect) {
    let rows = match transcript.notice_rows(area.width) {
        Some(0) => 0,
        Some(rows) if rows + welcome::LEAST < area.height => rows,
        _ => area.height,
    };
    let conversation = layout::cut_bottom(&mut area, rows);
    // An empty row separates the page and the notices.
    let gap = u16::from(rows > 0).min(area.height);
    area.height -= gap;
    (area, conversation)
}

/// The rows between the top of the conversation and the status line.
fn above_status(areas: Areas) -> Rect {
    Rect {
        height: areas.status.y.saturating_sub(areas.transcript.y),
        y: areas.transcript.y,
        ..areas.rule
    }
}

/// The main screen without the side panel.
#[derive(Debug, Clone, Copy)]
struct Division {
    screen: Rect,
    has_panel: bool,
    areas: Areas,
    /// The dialog of a question has the place of the editor.
    is_asking: bool,
}

/// Ends an area above the first row that something else covers.
fn end_above(area: &mut Rect, covered: Option<u16>) {
    if let Some(first) = covered {
        area.height = area.height.min(first.saturating_sub(area.y));
    }
}

impl App {
    /// Paints everything into `buffer`; returns where the cursor belongs.
    pub fn draw(&mut self, buffer: &mut Buffer, links: &Links, now: Instant) -> Option<Position> {
        self.transcript.take_placed();
        let screen = buffer.area;
        let fits = layout::fits(screen);
        let linear = self.settings.screen_reader;
        let mut keys = None;
        let cursor = if fits {
            let division = self.divide(screen, now);
            keys = self.keys_shown.page().map(|number| {
                let above = above_keys(self, screen, division);
                let keys = page_of_keys(self);
                (
                    KeysPage::new("Keys", keys, Some(number), above, linear),
                    above,
                )
            });
            let first_key = keys.as_ref().map(|(keys, above)| {
                self.keys_shown.set_count(keys.count);
                above.bottom().saturating_sub(keys.height())
            });
            let cursor = self.draw_all(buffer, links, now, (division, first_key));
            // The page of keys is over the editor.
            let is_over = |first: u16| cursor.is_some_and(|cursor| cursor.y >= first);
            cursor.filter(|_| linear || division.is_asking || !first_key.is_some_and(is_over))
        } else {
            // A question takes no answer while it is not on the screen.
            self.overlays.hide();
            None
        };
        let mut surface = Surface {
            buffer,
            links,
            theme: &self.theme,
        };
        if !fits {
            draw_too_small(screen, &mut surface);
        } else if let Some((keys, above)) = keys {
            keys.draw(above, &mut surface);
        }
        surface.paint_ground();
        cursor
    }

    /// Paints the main screen and the overlays; `covered` is the first row that something else will cover. Returns where
    /// the cursor belongs.
    fn draw_all(
        &mut self,
        buffer: &mut Buffer,
        links: &Links,
        now: Instant,
        (division, covered): (Division, Option<u16>),
    ) -> Option<Position> {
        let linear = self.settings.screen_reader;
        let Division {
            screen,
            has_panel,
            mut areas,
            is_asking,
        } = division;
        let covered = covered.or_else(|| first_row_of_next_keys(self, areas));
        let completion = if is_asking {
            end_above(&mut areas.transcript, covered);
            None
        } else {
            make_room(self, &mut areas, covered, buffer.area, now)
        };
        let widgets = layout::split_bottom(&mut areas.transcript, self.plugins.widget_height());
        let mut todo_rows = self.todo.lay_out(screen.height, self.activity.is_idle());
        if has_panel {
            areas.footer.width = buffer.area.width;
            todo_rows = 0;
        }
        let todo = layout::split_bottom(&mut areas.transcript, todo_rows);
        let list = completion.map(|area| area.y);
        let covered = covered.into_iter().chain(list).min();
        draw_conversation(self, (areas.transcript, covered), (buffer, links), now);
        let mut surface = Surface {
            buffer,
            links,
            theme: &self.theme,
        };
        if widgets.height > 0 {
            surface.paint(&self.plugins.widget_rows(), widgets);
        }
        if todo.height > 0 {
            surface.paint(&self.todo.rows(todo.width, todo.height), todo);
        }
        let cursor = if is_asking {
            self.prompt.hide_editor();
            surface.paint(&self.activity.toast.rows(now, screen.width), areas.status);
            Position::default()
        } else {
            self.draw_prompt(areas, buffer, links, now)
        };
        let mut surface = Surface {
            buffer,
            links,
            theme: &self.theme,
        };
        draw_footer(&self.footer, areas, &mut surface);
        let shared = Shared {
            todo: &self.todo,
            servers: &self.footer.code_servers,
            cwd: &self.session.cwd,
        };
        self.side_panel.draw(&shared, &mut surface);
        if is_asking {
            Questions::on_drawn(&mut self.transcript, &mut self.overlays);
            return self.draw_overlays(buffer, screen, links, now);
        }
        self.prompt
            .draw_attached(areas, &mut self.pictures, &mut surface);
        if let Some(area) = completion {
            self.prompt.draw_completion(area, linear, &mut surface);
        }
        draw_next_keys(self, areas, linear, &mut surface);
        if self.overlays.is_empty() {
            self.main_cursor(buffer, areas, cursor)
        } else {
            // The results of a search are in the conversation, which stays readable.
            if !linear && self.overlays.top() != Some(search::ID) {
                step_back(screen, areas, &mut surface);
            }
            self.draw_overlays(buffer, buffer.area, links, now)
        }
    }

    /// The areas of the screen, and whether the dialog of a question has the place of the editor.
    fn divide(&mut self, whole: Rect, now: Instant) -> Division {
        let is_allowed = !self.settings.screen_reader && !self.inline.is_frame();
        let (screen, has_panel) = self.side_panel.divide(whole, is_allowed);
        let (areas, is_asking) = divide_beside_panel(self, screen, now);
        Division {
            screen,
            has_panel,
            areas,
            is_asking,
        }
    }

    /// Paints the status line, what waits, and the editor; returns where its cursor is. After the conversation, which
    /// counts the rows below the viewport.
    fn draw_prompt(
        &mut self,
        areas: Areas,
        buffer: &mut Buffer,
        links: &Links,
        now: Instant,
    ) -> Position {
        let mut surface = Surface {
            buffer,
            links,
            theme: &self.theme,
        };
        // A toast has priority over the keys of browse mode.
        let is_free = !(self.transcript.is_browsing() && self.activity.toast.is_shown(now));
        let keys = started(&self.pending_keys);
        let width = areas.status.width;
        let right = keys.or_else(|| self.transcript.status(&self.keymap, width));
        let right = right.filter(|_| is_free);
        let is_waiting = self.questions.height() > 0;
        let right = right.as_deref();
        let status = self.activity.row(now, width, right, is_waiting);
        surface.paint(&[status], areas.status);
        if areas.status.height > 1 {
            let below = Rect {
                y: areas.status.y + 1,
                height: areas.status.height - 1,
                ..areas.status
            };
            let rows = self.activity.below(now, width, is_waiting);
            surface.paint(&rows, below);
        }
        self.prompt.draw_queue(areas, &self.keymap, &mut surface);
        self.questions
            .draw(areas.questions, &self.keymap, &mut surface);
        let linear = self.settings.screen_reader;
        let elsewhere = self.transcript.where_keys_go(&self.keymap);
        self.prompt
            .draw_editor(areas, elsewhere.as_deref(), linear, &mut surface)
    }

    /// Paints the overlays over the main screen; returns where the cursor belongs.
    fn draw_overlays(
        &mut self,
        buffer: &mut Buffer,
        screen: Rect,
        links: &Links,
        now: Instant,
    ) -> Option<Position> {
        let view = View {
            theme: &self.theme,
            keymap: &self.keymap,
            settings: &self.settings,
            links,
            now,
            focused: self.focus.has_it(),
        };
        let is_search = self.overlays.top() == Some(search::ID);
        let cursor = if self.settings.screen_reader && is_search {
            self.overlays.render(screen, buffer, &view);
            // The screen reader reads the results, not the query.
            let found = osier_term::linear::strip(buffer, screen);
            let query = self.overlays.cursor().map(|cursor| cursor.position);
            found.or(query)
        } else if self.settings.screen_reader {
            linear::draw_layer(&mut self.overlays, buffer, &view)
        } else {
            self.overlays.render(screen, buffer, &view);
            self.overlays.cursor().map(|cursor| cursor.position)
        };
        self.overlays.request_highlight(&mut self.highlighter);
        let rows = self.activity.toast.rows(now, screen.width);
        let shows_status = is_search || Questions::is_in_front(&self.overlays);
        if !rows.is_empty() && (!shows_status || self.settings.screen_reader) {
            let height = u16::try_from(rows.len()).unwrap_or(1).min(screen.height);
            let line = notice_area(self, screen, height);
            let mut surface = Surface {
                buffer,
                links,
                theme: &self.theme,
            };
            surface.paint(&rows, line);
        }
        cursor
    }

    /// The cursor of the main screen: on the selected completion, on the selected block in browse mode, else in the
    /// editor.
    fn main_cursor(&self, buffer: &mut Buffer, areas: Areas, typing: Position) -> Option<Position> {
        let browses = self.transcript.is_browsing();
        if !self.settings.screen_reader {
            return (!browses).then_some(typing);
        }
        let seen = linear::selected(buffer, areas);
        if browses {
            return Some(seen.unwrap_or(areas.transcript.as_position()));
        }
        Some(
            seen.filter(|_| self.prompt.editor.is_choosing())
                .unwrap_or(typing),
        )
    }
}

/// Draws the start page or the conversation; in an inline frame only the rows that are not printed. `covered` is the first row
/// that something else covers.
fn draw_conversation(
    app: &mut App,
    (area, covered): (Rect, Option<u16>),
    (buffer, links): (&mut Buffer, &Links),
    now: Instant,
) {
    let mut surface = Surface {
        buffer,
        links,
        theme: &app.theme,
    };
    let printing = app.inline.printing();
    let (page, conversation) = start_page(&mut app.transcript, area);
    let has_page = page.height > 0 && printing != Printing::All;
    let mut used = 0;
    if has_page {
        used = draw_start_page(app, page, &mut surface);
    }
    if app.inline.is_frame() {
        let end = if has_page { page } else { area }.bottom();
        let end = covered.map_or(end, |first| end.min(first));
        let mut printed = None;
        if !has_page {
            let moment = (now, app.activity.is_idle(), printing);
            let pictures = &mut app.pictures;
            let live = app
                .transcript
                .render_live(area, &mut surface, pictures, moment);
            (printed, used) = (live.printed, live.height);
        }
        app.inline.set(printed, end.min(area.y + used)..end);
    }
    let is_drawn = app.inline.is_frame() && !has_page;
    if conversation.height > 0 && !is_drawn {
        app.transcript
            .render(conversation, &mut surface, &mut app.pictures);
    }
    if conversation.height > 0 {
        app.transcript.request_highlight(&mut app.highlighter);
    }
}

/// Rows of a page of keys at least, above a question.
const LEAST_KEYS: u16 = 5;
/// Rows of a page of keys that covers the start of a question.
const COVERED: u16 = 10;
/// Rows of the answers and the keys of a question, which stay in sight.
const ANSWERS: u16 = 6;

/// The rows in which a page of keys has its place: above the answers of a question, and above the line of keys of a
/// view.
fn above_keys(app: &App, screen: Rect, division: Division) -> Rect {
    let bottom = if division.is_asking {
        let above = division.areas.questions.y;
        if above.saturating_sub(screen.y) < LEAST_KEYS {
            // The page covers the start of a long question, but not its answers.
            let covered = (screen.y + COVERED).min(screen.bottom().saturating_sub(ANSWERS));
            above.max(covered)
        } else {
            above
        }
    } else {
        screen.bottom().saturating_sub(app.overlays.foot())
    };
    Rect {
        height: bottom.saturating_sub(screen.y),
        ..screen
    }
}

/// The first row of the keys that can follow those that were pressed, in an inline frame, which has no other rows there.
fn first_row_of_next_keys(app: &App, areas: Areas) -> Option<u16> {
    if !app.inline.is_frame() || app.pending_keys.is_empty() {
        return None;
    }
    let above = above_status(areas);
    let page = next_keys(app, above, app.settings.screen_reader);
    Some(above.bottom().saturating_sub(page.height()))
}

/// The keys that can follow those that were pressed.
fn next_keys(app: &App, above: Rect, linear: bool) -> KeysPage {
    let next = app.keymap.hints_after(&app.contexts(), &app.pending_keys);
    let next = hints::after_prefix(&next, app.plugins.keys());
    KeysPage::new("", next, None, above, linear)
}

/// Paints the keys that can follow those that were pressed.
fn draw_next_keys(app: &App, areas: Areas, linear: bool, surface: &mut Surface<'_>) {
    if !app.pending_keys.is_empty() {
        let above = above_status(areas);
        next_keys(app, above, linear).draw(above, surface);
    }
}

fn divide_beside_panel(app: &mut App, screen: Rect, now: Instant) -> (Areas, bool) {
    let status = app.transcript.status(&app.keymap, screen.width);
    let (transcript, overlays) = (&mut app.transcript, &mut app.overlays);
    let is_linear = app.settings.screen_reader;
    let rows = (!is_linear)
        .then(|| app.questions.lay_out(screen, transcript, status, overlays))
        .flatten();
    if let Some(rows) = rows {
        let notice = app.activity.toast.rows(now, screen.width).len();
        let notice = u16::try_from(notice).unwrap_or_default();
        let areas = layout::divide_for_question(screen, rows, notice);
        return (areas, true);
    }
    let limit = layout::editor_limit(screen.height);
    let editor = app.prompt.height(screen.width, limit);
    let (queue, questions) = (app.prompt.queue_height(), app.questions.height());
    let has_text = !app.activity.is_idle() && !app.prompt.editor.is_empty();
    let keys = has_text.then(|| app.keymap.keys_for("global", Command::FollowUp));
    app.activity.queue_key = keys.and_then(|keys| keys.into_iter().next());
    let wanted = Wanted {
        status: app.activity.height(now, screen.width, questions > 0),
        queue,
        questions,
        editor,
    };
    (layout::divide(screen, wanted), false)
}

/// The rows of a notice while a list or a view covers the status line: on the footer, above a list if that has one row
/// only, and above the line of keys of a view.
fn notice_area(app: &mut App, screen: Rect, height: u16) -> Rect {
    const FOOTER: u16 = 1;
    let bottom = match app.overlays.first_row_in(screen) {
        _ if app.settings.screen_reader => screen.bottom(),
        Some(first) if height > FOOTER => first.max(screen.y + height),
        Some(_) => screen.bottom(),
        None => screen.bottom().saturating_sub(app.overlays.foot()),
    };
    Rect {
        y: bottom.saturating_sub(height).max(screen.y),
        height,
        ..screen
    }
}

/// The keys of the moment, or of the view in front.
fn page_of_keys(app: &App) -> Vec<(String, String)> {
    let moment = match (app.writes(), app.activity.is_idle()) {
        (false, _) => help::Moment::View,
        (true, _) if app.questions.height() > 0 => help::Moment::Asked,
        (true, true) => help::Moment::Idle,
        (true, false) => help::Moment::Working,
    };
    let uses = |command| app.overlays.is_empty() || app.overlays.uses(command);
    let meaning = |command| app.overlays.meaning(command);
    let bound = help::keys(&app.keymap, &app.contexts(), moment, (uses, meaning));
    let letters = app.overlays.letters();
    letters.into_iter().chain(bound).collect()
}

/// Draws the start page; returns its rows.
fn draw_start_page(app: &App, page: Rect, surface: &mut Surface<'_>) -> u16 {
    let start = welcome::Start {
        model: app.footer.model.as_ref(),
        permissions: app.footer.permissions,
        keymap: &app.keymap,
        directory: &app.footer.cwd,
        recent: app.sessions.recent(),
        is_drawn: !app.settings.screen_reader,
    };
    let rows = welcome::rows(page.width, page.height, &start);
    surface.paint(&rows, page);
    // An empty row separates the page and the editor.
    u16::try_from(rows.len() + 1)
        .unwrap_or(u16::MAX)
        .min(page.height)
}

/// Ends the conversation above the first row that a list covers, so that its newest rows stay in sight. Returns the
/// place of the completions.
fn make_room(
    app: &mut App,
    areas: &mut Areas,
    covered: Option<u16>,
    screen: Rect,
    now: Instant,
) -> Option<Rect> {
    let linear = app.settings.screen_reader;
    let is_quiet = app.activity.is_idle() && !app.activity.toast.is_shown(now);
    let completion = app.prompt.completion_area(*areas, is_quiet, linear);
    // A notice tells why the command was not run.
    let is_told = app.activity.toast.is_shown(now) && app.prompt.editor.unknown_command().is_some();
    let completion = completion.filter(|_| !is_told);
    let list = completion.map(|area| area.y);
    let covered = covered.into_iter().chain(list);
    let covered = covered.chain(app.overlays.first_row_in(screen));
    let area = &mut areas.transcript;
    // The start page has no end.
    let has_end = app.transcript.notice_rows(area.width).is_none();
    if !linear && app.transcript.follows() && has_end {
        end_above(area, covered.min());
    }
    completion
}

/// The keys of a started sequence.
fn started(keys: &[KeyPress]) -> Option<String> {
    let names: Vec<String> = keys.iter().map(|key| describe(*key)).collect();
    (!names.is_empty()).then(|| format!("{} …", names.join(" ")))
}

/// Draws the footer, and the panel that it shares with the editor.
fn draw_footer(footer: &Footer, areas: Areas, surface: &mut Surface<'_>) {
    let text = layout::footer_text(areas.footer, footer.settings.screen_reader);
    surface.paint(&[footer.row(text.width)], text);
    if footer.settings.screen_reader {
        return;
    }
    for area in [areas.rule, areas.editor, areas.footer] {
        surface.paint_background(area, prompt::PANEL);
    }
}

/// Makes room for an overlay: it has the place of the editor, also where it is narrower.
fn step_back(screen: Rect, areas: Areas, surface: &mut Surface<'_>) {
    let (y, end) = (areas.status.y, areas.footer.y);
    let height = end - y;
    surface.paint(
        &[],
        Rect {
            y,
            height,
            ..screen
        },
    );
    let (y, height) = (screen.y, end - screen.y);
    surface.dim(Rect {
        y,
        height,
        ..areas.footer
    });
}

fn draw_too_small(screen: Rect, surface: &mut Surface<'_>) {
    let (width, height) = (screen.width, screen.height);
    let text = format!(
        "osier needs {}x{} cells; this terminal has {width}x{height}",
        layout::MIN_WIDTH,
        layout::MIN_HEIGHT
    );
    let mut rows = Vec::new();
    Wrap::new(usize::from(width)).text(&text, Token::Warning, &mut rows);
    surface.paint(&rows, screen);
}
