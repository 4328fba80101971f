//! The division of the screen, from its size and the wanted heights.

use ratatui::layout::Rect;

/// The smallest screen that osier draws on: a phone, or a pane at the side.
pub(crate) const MIN_WIDTH: u16 = 27;
pub(crate) const MIN_HEIGHT: u16 = 10;
/// Queued messages shown at most.
pub(crate) const QUEUE_ROWS: u16 = 4;

/// The areas of the main screen, top to bottom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Areas {
    pub transcript: Rect,
    pub status: Rect,
    pub queue: Rect,
    /// The questions that wait.
    pub questions: Rect,
    pub rule: Rect,
    pub editor: Rect,
    pub footer: Rect,
}

/// Whether the screen is large enough.
pub(crate) fn fits(screen: Rect) -> bool {
    screen.width >= MIN_WIDTH && screen.height >= MIN_HEIGHT
}

/// Rows the editor may take at most: 40 % of the screen.
pub(crate) fn editor_limit(height: u16) -> u16 {
    (height * 2 / 5).max(1)
}

/// The rows that the areas below the conversation want.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wanted {
    pub status: u16,
    pub queue: u16,
    pub questions: u16,
    pub editor: u16,
}

/// Divides `screen`.
pub(crate) fn divide(screen: Rect, wanted: Wanted) -> Areas {
    let Wanted {
        status, questions, ..
    } = wanted;
    let editor = wanted.editor.clamp(1, editor_limit(screen.height));
    let queue = wanted.queue.min(QUEUE_ROWS);
    let below = status + queue + questions + 1 + editor + 1;
    let transcript = screen.height.saturating_sub(below);
    let mut y = screen.y;
    let mut take = |height: u16| {
        let area = Rect {
            x: screen.x,
            y,
            width: screen.width,
            height,
        };
        y += height;
        area
    };
    Areas {
        transcript: take(transcript),
        status: take(status),
        queue: take(queue),
        questions: take(questions),
        rule: take(1),
        editor: take(editor),
        footer: take(1),
    }
}

/// Divides `screen` while a question has the place of the editor: `rows` of it above the footer, the rows of a notice above
/// the question, and the conversation.
pub(crate) fn divide_for_question(screen: Rect, rows: u16, notice: u16) -> Areas {
    let footer = Rect {
        y: screen.bottom().saturating_sub(1),
        height: screen.height.min(1),
        ..screen
    };
    let rows = rows.min(screen.height.saturating_sub(1));
    let questions = Rect {
        y: footer.y - rows,
        height: rows,
        ..screen
    };
    let none = Rect {
        y: questions.y,
        height: 0,
        ..screen
    };
    let mut transcript = Rect {
        height: questions.y - screen.y,
        ..screen
    };
    let status = cut_bottom(&mut transcript, notice);
    Areas {
        transcript,
        status,
        queue: none,
        questions,
        rule: none,
        editor: none,
        footer,
    }
}

/// The place of the footer's text: where the text of the editor begins, and not up to the edge of the panel.
pub(crate) fn footer_text(footer: Rect, linear: bool) -> Rect {
    const START: u16 = 2;
    const END: u16 = 1;
    if linear {
        return footer;
    }
    Rect {
        x: footer.x + START,
        width: footer.width.saturating_sub(START + END),
        ..footer
    }
}

/// Cuts `rows` off the bottom of `area`, at most a third of it.
pub(crate) fn split_bottom(area: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height / 3);
    cut_bottom(area, rows)
}

/// Cuts the last `rows` off an area.
pub(crate) fn cut_bottom(area: &mut Rect, rows: u16) -> Rect {
    let rows = rows.min(area.height);
    area.height -= rows;
    Rect {
        y: area.y + area.height,
        height: rows,
        ..*area
    }
}

/// With fewer columns next to a box, the box takes the full width: fragments of words at its side are only noise.
const MARGIN: u16 = 40;

/// A box for an overlay that wants this size: in the place of the editor, above the footer.
pub(crate) fn docked(screen: Rect, width: u16, height: u16) -> Rect {
    let width = if width.saturating_add(MARGIN) >= screen.width {
        screen.width
    } else {
        width.max(1)
    };
    let height = height.min(screen.height.saturating_sub(2)).max(1);
    Rect {
        x: screen.x,
        y: screen.bottom().saturating_sub(height + 1).max(screen.y),
        width,
        height,
    }
}

/// A docked box with at most 70 % of the rows, so that the newest rows of the conversation stay in
/// sight.
pub(crate) fn docked_panel(screen: Rect, width: u16, height: u16) -> Rect {
    const LEAST: u16 = 5;
    let most = (screen.height * 7 / 10).max(LEAST);
    docked(screen, width, height.min(most))
}

/// A box over a docked box: within its sides, if they leave enough room.
pub(crate) fn docked_over(screen: Rect, width: u16, height: u16) -> Rect {
    const SIDE: u16 = 4;
    let width = if width + 2 * SIDE > screen.width {
        screen.width
    } else {
        width.max(1)
    };
    Rect {
        x: screen.x + (screen.width - width) / 2,
        width,
        ..docked(screen, width, height)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_areas_fill_the_screen() {
        let screen = Rect::new(0, 0, 80, 24);
        let wanted = Wanted {
            status: 1,
            queue: 9,
            questions: 1,
            editor: 3,
        };
        let areas = divide(screen, wanted);
        assert_eq!(areas.transcript, Rect::new(0, 0, 80, 13));
        assert_eq!(areas.status, Rect::new(0, 13, 80, 1));
        assert_eq!(areas.queue, Rect::new(0, 14, 80, 4));
        assert_eq!(areas.questions, Rect::new(0, 18, 80, 1));
        assert_eq!(areas.rule, Rect::new(0, 19, 80, 1));
        assert_eq!(areas.editor, Rect::new(0, 20, 80, 3));
        assert_eq!(areas.footer, Rect::new(0, 23, 80, 1));
        let much = Wanted {
            editor: 100,
            ..wanted
        };
        assert_eq!(divide(screen, much).editor.height, 9);
    }

    #[test]
    fn a_question_leaves_the_other_rows_to_the_conversation() {
        let areas = divide_for_question(Rect::new(0, 0, 80, 24), 4, 1);
        assert_eq!(areas.transcript, Rect::new(0, 0, 80, 18));
        assert_eq!(areas.status, Rect::new(0, 18, 80, 1));
        assert_eq!(areas.questions, Rect::new(0, 19, 80, 4));
        assert_eq!(areas.footer, Rect::new(0, 23, 80, 1));
    }
}
