//! Carrying out one step: a bound one or a character, with the number it was given, from what it begins to what is kept
//! of it for `.`.

use super::table::Edit;
use super::walk::last;
use super::{Input, Modal, Mode, Outcome, moving, object, region, sentence};
use crate::widgets::textarea::TextArea;

impl Modal {
    /// Runs a bound step.
    pub fn run(&mut self, area: &mut TextArea, edit: Edit) -> Outcome {
        self.awaiting = None;
        self.begin(area);
        let numbers = matches!(edit, Edit::Times | Edit::Digit);
        let times = if numbers { None } else { self.take_times() };
        self.recording.push(Input::Edit(edit));
        let mut outcome = Outcome::Done;
        match times {
            Some(times) if region::repeats(edit) => {
                for _ in 0..times {
                    outcome = self.step(area, edit);
                }
            }
            times => {
                self.count = times.or(self.count);
                outcome = self.step(area, edit);
                // What has no use for a number leaves none behind.
                if times.is_some() && self.awaiting.is_none() {
                    self.count = None;
                }
            }
        }
        self.settle(area);
        // A number that is dropped is something that was there to be dropped.
        if times.is_some() {
            Outcome::Done
        } else {
            outcome
        }
    }

    /// A character that is bound to nothing, or an argument. In insert mode it is none of this.
    pub fn char(&mut self, area: &mut TextArea, char: char) {
        self.begin(area);
        if let Some(awaiting) = self.awaiting.take() {
            self.recording.push(Input::Char(char));
            self.argument(area, awaiting, char);
        } else if let Some(digit) = self.count_digit(char) {
            self.recording.push(Input::Digit(char));
            let count = self.count.unwrap_or(0).saturating_mul(10);
            self.count = Some(count.saturating_add(digit as usize).min(9_999));
            return;
        } else {
            self.fail();
        }
        self.settle(area);
    }

    /// A digit of a count; none begins with a zero.
    fn count_digit(&self, char: char) -> Option<u32> {
        let counts = self.mode != Mode::Insert || self.universal;
        let digit = char.to_digit(10).filter(|_| counts)?;
        (digit > 0 || self.count.is_some() || self.universal).then_some(digit)
    }

    /// What a command does to the text is one step of undo.
    pub(super) fn begin(&mut self, area: &mut TextArea) {
        if self.modes && self.mode != Mode::Insert {
            area.undo.open_group_once();
        }
    }

    /// There is nothing to do, or no way to do it.
    pub(super) fn fail(&mut self) {
        self.drop_begun();
    }

    pub(super) fn drop_begun(&mut self) {
        self.universal = false;
        self.count = None;
        self.pending = None;
        self.awaiting = None;
        self.register = None;
        self.recording.clear();
    }

    /// After a step: keeps a whole change for `.`, and the cursor on the text.
    pub(super) fn settle(&mut self, area: &mut TextArea) {
        let waits = self.pending.is_some() || self.awaiting.is_some() || self.count.is_some();
        // What was put beside it may have become one cluster with what it stands on.
        area.cursor = area.buffer.clamp(area.cursor);
        if self.mode != Mode::Insert {
            let line = area.line(area.cursor.line);
            if area.cursor.byte >= line.len() {
                area.cursor.byte = last(line);
            }
        }
        if waits || self.register.is_some() || self.mode == Mode::Insert {
            return;
        }
        area.undo.close_group();
        let recording = std::mem::take(&mut self.recording);
        if std::mem::take(&mut self.changed) && !self.replaying {
            self.last_change = recording;
        }
    }

    pub(super) fn step(&mut self, area: &mut TextArea, edit: Edit) -> Outcome {
        if is_operator(edit) {
            self.operator(area, edit);
            return Outcome::Done;
        }
        if object::is_object(edit) {
            self.object(area, edit);
            return Outcome::Done;
        }
        if let Some(awaiting) = moving::awaited(edit) {
            self.awaiting = Some(awaiting);
            return Outcome::Done;
        }
        match edit {
            Edit::NormalMode => return self.normal_mode(area),
            Edit::Up | Edit::Down => return self.vertical(area, edit == Edit::Up),
            Edit::FindAgain | Edit::FindReverse => self.find_again(area, edit == Edit::FindReverse),
            Edit::SearchNext => self.search_step(area, false),
            Edit::SearchPrevious => self.search_step(area, true),
            Edit::SearchWord | Edit::SearchWordBack => {
                self.search_word(area, edit == Edit::SearchWordBack);
            }
            Edit::Visual | Edit::VisualLine => self.visual(area, edit),
            Edit::VisualAgain => self.select_again(area),
            Edit::OtherEnd => {
                if let Some(anchor) = &mut self.anchor {
                    std::mem::swap(anchor, &mut area.cursor);
                }
                area.cursor = area.buffer.clamp(area.cursor);
            }
            Edit::Repeat => self.repeat(area),
            Edit::Undo | Edit::Redo => {
                let times = self.count.take().unwrap_or(1);
                self.take_back(area, edit == Edit::Redo, times);
            }
            edit if is_change(edit) => self.change(area, edit),
            edit if region::is_region(edit) => return self.region(area, edit),
            edit => self.motion(area, edit),
        }
        Outcome::Done
    }

    fn normal_mode(&mut self, area: &mut TextArea) -> Outcome {
        match self.mode {
            Mode::Insert if self.modes => self.leave_insert(area),
            mode if mode.is_visual() => self.leave_visual(area),
            _ if self.pending.is_none() && self.count.is_none() && self.register.is_none() => {
                self.recording.clear();
                return Outcome::Unused;
            }
            _ => {}
        }
        self.count = None;
        self.pending = None;
        self.register = None;
        Outcome::Done
    }

    fn object(&mut self, area: &mut TextArea, edit: Edit) {
        let times = self.total().unwrap_or(1);
        let found = object::find(&area.buffer, area.cursor, edit, times);
        let pending = self.pending.take();
        self.count = None;
        match (found, pending) {
            (Some(object), Some(pending)) => {
                let object = if matches!(edit, Edit::InnerSentence | Edit::ASentence) {
                    sentence::with_lines(&area.buffer, object)
                } else {
                    object
                };
                self.operate_object(area, pending.operator, object);
            }
            (Some(object), None) if self.anchor.is_some() => self.select(area, object),
            _ => self.fail(),
        }
    }
}

fn is_operator(edit: Edit) -> bool {
    (Edit::Delete as usize..=Edit::Lowercase as usize).contains(&(edit as usize))
}

/// Changes of their own, and what begins to insert.
fn is_change(edit: Edit) -> bool {
    let place = edit as usize;
    (Edit::Insert as usize..=Edit::OpenAbove as usize).contains(&place)
        || (Edit::DeleteChar as usize..=Edit::PutBefore as usize).contains(&place)
}
