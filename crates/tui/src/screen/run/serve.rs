//! The loop: input first, then frames, then events.
//!
//! While a frame is due, pieces of an answer are left in their queue, where they merge: a fast stream wakes
//! this loop once a frame, not once a delta. A session that is not shown wakes it only when something has
//! ended there.

use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::time::sleep_until;

use super::screen::{Finished, Screen};
use crate::actions::Command;
use crate::conversation::Printing;
use crate::history::TabState;
use crate::screen::draw_next;
use osier_protocol::Op;
use osier_term::Highlighted;
use osier_term::frame::SentFrame;
use osier_term::input::{InputEvent, TerminalReply};
use osier_term::terminal::{Signal, Signals};

/// How long a terminal may accept nothing before osier ends: the connection was probably lost.
const DEAF: Duration = Duration::from_mins(10);

/// The number of SIGHUP.
const HANGUP: i32 = 1;

impl Screen {
    pub(super) async fn serve(
        &mut self,
        (mut signals, mut input): (Signals, mpsc::UnboundedReceiver<InputEvent>),
        mut highlighted: mpsc::UnboundedReceiver<Highlighted>,
        mut finished: mpsc::UnboundedReceiver<Finished>,
    ) -> anyhow::Result<Option<i32>> {
        let (_watcher, mut changes) = self.watch();
        self.catch_up();
        self.tabs.front.host.send(Op::ListHistory);
        if self.options.pick_session {
            let app = &mut self.tabs.front.app;
            app.act(Command::SessionPicker, Instant::now());
            self.after_change();
        }
        loop {
            // While the process is stopped, the shell has the terminal: no frame is due.
            let is_active = self.terminal.is_active();
            let deadline = self.clock.deadline(Instant::now()).filter(|_| is_active);
            let idle = self.terminal.output().is_idle();
            let gone = self.gone_at();
            // Decoration is due later than a part of an answer would be.
            let next = self.clock.next_background(Instant::now());
            let is_far = self.clock.is_due_after(next);
            let events = &self.tabs.front.events;
            tokio::select! {
                biased;
                signal = signals.next() => {
                    if let Some(signal) = self.on_signal(signal)? {
                        return Ok(Some(signal));
                    }
                }
                event = input.recv() => {
                    let (mut next, mut echoes) = (event.or(Some(InputEvent::Closed)), false);
                    while let Some(event) = next {
                        if event == InputEvent::Closed {
                            return Ok(None);
                        }
                        echoes |= self.on_input(event);
                        next = input.try_recv().ok();
                    }
                    if echoes {
                        self.clock.request_now(Instant::now());
                    }
                }
                () = self.terminal.output().failed() => return Ok(Some(HANGUP)),
                () = sleep_to(gone), if gone.is_some() => return Ok(Some(HANGUP)),
                () = self.terminal.output().ready(), if deadline.is_some() && !idle => {}
                () = sleep_to(deadline), if deadline.is_some() && idle => {
                    self.apply_events();
                    self.draw();
                    // A frame that is due at once leaves signals, the model and tools their turn.
                    tokio::task::yield_now().await;
                }
                // Pieces of an answer wait for their frame; its end, and what tools do, do not.
                () = events.urgent_ready(), if deadline.is_some() => {
                    self.apply_events();
                    self.clock.request(Instant::now());
                }
                () = events.ready(), if deadline.is_none() => self.apply_events(),
                () = events.ready(), if is_far => self.clock.request_background(Instant::now()),
                () = self.tabs.others_ready(), if self.tabs.is_several() => self.apply_events_of_others(),
                Some(lines) = highlighted.recv() => {
                    for tab in self.tabs.tabs() {
                        tab.app.on_highlight(&lines);
                    }
                }
                Some(result) = finished.recv() => self.on_finished(result),
                Some(paths) = changes.recv() => self.on_files_changed(&paths),
            }
            if self.after_change() {
                return Ok(None);
            }
        }
    }

    /// When the program ends because the terminal accepts nothing. A run ends first, so that its turn is stored.
    fn gone_at(&self) -> Option<Instant> {
        let since = self.terminal.output().blocked_since()?;
        (!self.tabs.has(TabState::Working)).then(|| since + DEAF)
    }

    fn apply_events(&mut self) {
        let front = &mut self.tabs.front;
        front.apply_events(&mut self.options, Instant::now());
    }

    /// Sends ops, carries effects out, and asks for a frame when something changed. True when the user
    /// leaves.
    pub(super) fn after_change(&mut self) -> bool {
        let now = Instant::now();
        self.send_ops();
        for effect in self.tabs.front.app.take_effects() {
            if self.carry_out(effect) {
                return true;
            }
        }
        if self.update_tabs() {
            return true;
        }
        let front = &mut self.tabs.front;
        if front.app.take_dirty() {
            // Users wait for the end of an answer.
            let answered = std::mem::take(&mut front.answered);
            if answered {
                self.clock.request_at(now);
            } else {
                self.clock.request_background(now);
            }
        }
        let next = self.tabs.front.app.next_change(now);
        if let Some(then) = next.work {
            self.clock.request_work(then);
        }
        if let Some(then) = next.decoration {
            self.clock.request_decoration(then);
        }
        false
    }

    /// True for what the user does, which is echoed at once.
    fn on_input(&mut self, mut event: InputEvent) -> bool {
        if let InputEvent::Mouse(mouse) = &mut event {
            mouse.column = self.writer.logical_column(mouse.column, mouse.row);
        }
        let is_reply = if let InputEvent::Reply(reply) = &event {
            self.on_reply(reply);
            true
        } else {
            false
        };
        if let InputEvent::FocusGained | InputEvent::FocusLost = event {
            for tab in self.tabs.others() {
                tab.app.focus.report(event == InputEvent::FocusGained);
            }
        }
        self.tabs.front.app.on_input(event, Instant::now());
        if !is_reply {
            self.tabs.front.touched();
        }
        !is_reply
    }

    fn on_reply(&mut self, reply: &TerminalReply) {
        if matches!(reply, TerminalReply::DeviceAttributes(_)) {
            self.clock.acknowledged(Instant::now());
        }
        if self.terminal.on_reply(reply) {
            self.writer.set_features(self.terminal.features());
        }
        if self.painted.on_reply(reply) {
            self.clock.request_now(Instant::now());
        }
        self.colours_changed |= self.appearance.on_reply(reply);
        self.colours_changed |= self.appearance.set_depth(self.terminal.kind().depth);
        // The replies at the start arrive one by one; a fence marks the last.
        if self.terminal.is_answered() && std::mem::take(&mut self.colours_changed) {
            self.apply_colours();
        }
    }

    /// Returns the signal if it ends the program.
    fn on_signal(&mut self, signal: Signal) -> anyhow::Result<Option<i32>> {
        match signal {
            Signal::Resize => {
                self.writer.resize(self.terminal.size());
                self.resize_pictures();
                self.clock.request_now(Instant::now());
            }
            Signal::Continue => {
                self.terminal.resume()?;
                self.repaint_after();
            }
            Signal::Leave(signal) => return Ok(Some(signal)),
        }
        Ok(None)
    }

    pub(super) fn repaint(&mut self) {
        self.writer.resize(self.terminal.size());
        self.writer.repaint();
        self.forget_pictures();
        self.clock.forget_fence();
        self.clock.request_now(Instant::now());
    }

    /// Repaints after another program had the terminal.
    pub(super) fn repaint_after(&mut self) {
        self.begin_region();
        self.repaint();
    }

    pub(super) fn draw(&mut self) {
        self.draw_at(Instant::now(), Printing::Settled);
    }

    /// Draws a frame. Before osier leaves the terminal, an inline frame prints more rows of the conversation.
    pub(super) fn draw_at(&mut self, now: Instant, printing: Printing) {
        self.tabs.front.app.tick(now);
        self.choose_screen(printing != Printing::Settled);
        let canvas = self.canvas();
        let app = &mut self.tabs.front.app;
        app.set_canvas(canvas);
        // All changes until now are in this frame.
        app.take_dirty();
        let cursor = draw_next(app, &mut self.writer, now, printing);
        self.send_pictures();
        self.read_illustrations();
        let mut frame = self.terminal.output().buffer();
        self.writer.finish(cursor, &mut frame);
        self.terminal
            .set_rows_above(self.writer.rows_above_cursor());
        let fenced = self.clock.wants_fence(frame.len()) && self.terminal.fence(&mut frame);
        let bytes = frame.len();
        let drain = self.terminal.output().drain();
        self.terminal.output().send(frame);
        let drawn = Instant::now();
        let frame = SentFrame {
            drawing: drawn.saturating_duration_since(now),
            drain,
            bytes,
            fenced,
        };
        self.clock.frame_sent(drawn, frame);
    }
}

async fn sleep_to(deadline: Option<Instant>) {
    match deadline {
        // The timer counts whole milliseconds and rounds up: the echo of a key must not wait for it.
        Some(deadline) if deadline <= Instant::now() => {}
        Some(deadline) => sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}
