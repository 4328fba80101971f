//! The table of actions for keymaps with modes or regions: names, descriptions and functions.

use super::super::buffer::Position;
use super::super::{Motion, TextArea};
use super::motion::{
    Case, Cursor, Operator, Target, last_in_line, last_text, left, line_of, matching,
    next_sentence, nth_line, paragraph, previous_sentence, right, to, word_end, word_end_back,
    word_start, word_start_back,
};
use super::object::{TextRange, bracketed, paragraph_lines, quoted, sentence, tag, word};
use super::state::{Edit, Modal, Mode};
use super::text::{above, after, at_column, below, first_text, indent, line_end, line_start};

use self::Action::{
    Argument, Around, Change, Chars, Do, Go, Inner, Jump, Lines, Local, Operate, Prefix, Search,
    Select, Short,
};
use self::Case::{Capital, Lower, Toggle, Upper};
use self::Operator::{Copy, Delete, Indent, Outdent};

/// The effect of an action on a command.
#[derive(Debug, Clone, Copy)]
pub(super) enum Action {
    /// Goes to the target, or applies the operator up to it.
    Go(fn(&Cursor<'_>) -> Option<Target>),
    /// A motion that sets the jump mark and deletes into the numbered registers.
    Jump(fn(&Cursor<'_>) -> Option<Target>),
    /// Applies the operator to a text object without its surroundings, or selects it.
    Inner(fn(&Cursor<'_>) -> Option<TextRange>),
    /// Applies the operator to a text object with its surroundings, or selects it.
    Around(fn(&Cursor<'_>) -> Option<TextRange>),
    Operate(Operator),
    /// Applies an operator to the selection or to characters.
    Chars(Operator),
    /// Applies an operator to the lines of the selection or to a motion.
    Short(Operator, fn(&Cursor<'_>) -> Option<Target>),
    /// Applies an operator to the lines of the selection or to lines.
    Lines(Operator),
    Select(Mode),
    Search {
        back: bool,
        incremental: bool,
    },
    /// Waits for a character.
    Argument(fn(&mut Modal, &mut TextArea, char)),
    /// A change without an operator.
    Change(fn(&mut Modal, &mut TextArea)),
    /// A change that a numeric argument repeats.
    Local(fn(&mut TextArea)),
    /// Starts a numeric argument.
    Prefix(fn(&mut Modal, &mut TextArea)),
    Do(fn(&mut Modal, &mut TextArea)),
}

/// An action with its name in keymaps and its description in help.
#[derive(Debug, Clone, Copy)]
pub struct EditInfo {
    pub edit: Edit,
    pub name: &'static str,
    pub description: &'static str,
    pub(super) action: Action,
}

macro_rules! edits {
    ($($name:literal => $action:expr, $description:literal;)*) => {
        &[$(EditInfo {
            edit: Edit($name),
            name: $name,
            description: $description,
            action: $action,
        },)*]
    };
}

/// Every action.
pub const EDITS: &[EditInfo] = edits![
    "normal_mode" => Do(Modal::normal_mode), "return to normal mode; cancel the pending command";
    "insert" => Change(|m, a| m.insert(a, |_, at| at)), "insert before the cursor";
    "insert_at_text" => Change(|m, a| m.insert(a, indent)), "insert before the first text of the line";
    "append" => Change(|m, a| m.insert(a, after)), "insert after the cursor";
    "append_at_end" => Change(|m, a| m.insert(a, line_end)), "insert at the end of the line";
    "open_below" => Change(|m, a| m.open_line(a, true)), "insert in a new line below";
    "open_above" => Change(|m, a| m.open_line(a, false)), "insert in a new line above";
    "visual" => Select(Mode::Visual), "select characters";
    "visual_line" => Select(Mode::VisualLine), "select lines";
    "visual_again" => Do(Modal::select_again), "select the last selection again";
    "other_end" => Do(Modal::swap_ends), "go to the other end of the selection";
    "go_left" => Go(left), "go left in the line";
    "go_right" => Go(right), "go right in the line";
    "go_up" => Do(|m, a| m.vertical(a, true)), "go a line up; on the first one, to an earlier prompt";
    "go_down" => Do(|m, a| m.vertical(a, false)), "go a line down; on the last one, to a later prompt";
    "go_line_start" => Go(|c| to(line_start(c.text, c.at))), "go to the start of the line";
    "go_line_text" => Go(|c| to(first_text(c.text, c.at))), "go to the first text of the line";
    "go_line_end" => Go(last_in_line), "go to the end of the line";
    "go_line_last_text" => Go(last_text), "go to the last text of the line";
    "go_column" => Go(|c| to(at_column(c.text, c.at, c.times() - 1))), "go to the column given by the count";
    "go_line_up_text" => Go(|c| line_of(c, above(c.text, c.at, c.times())?)), "go to the first text of the line above";
    "go_line_down_text" => Go(|c| line_of(c, below(c.text, c.at, c.times())?)), "go to the first text of the line below";
    "go_this_line_text" => Go(|c| line_of(c, below(c.text, c.at, c.times() - 1)?)), "go to the first text of the line; with a count, of one below";
    "word_forward" => Go(|c| word_start(c, false)), "go to the start of the next word";
    "big_word_forward" => Go(|c| word_start(c, true)), "go to the start of the next WORD";
    "word_back" => Go(|c| word_start_back(c, false)), "go back to the start of a word";
    "big_word_back" => Go(|c| word_start_back(c, true)), "go back to the start of a WORD";
    "word_end" => Go(|c| word_end(c, false)), "go to the end of the word";
    "big_word_end" => Go(|c| word_end(c, true)), "go to the end of the WORD";
    "word_end_back" => Go(|c| word_end_back(c, false)), "go back to the end of a word";
    "big_word_end_back" => Go(|c| word_end_back(c, true)), "go back to the end of a WORD";
    "first_line" => Jump(|c| nth_line(c, c.times())), "go to the first line, or to the line of the count";
    "last_line" => Jump(|c| nth_line(c, c.count.unwrap_or(usize::MAX))), "go to the last line, or to the line of the count";
    "paragraph_forward" => Jump(|c| paragraph(c, false)), "go to the end of the paragraph";
    "paragraph_back" => Jump(|c| paragraph(c, true)), "go to the start of the paragraph";
    "sentence_forward" => Jump(next_sentence), "go to the start of the next sentence";
    "sentence_back" => Jump(previous_sentence), "go to the start of the sentence";
    "matching" => Jump(matching), "go to the matching bracket";
    "find_forward" => Argument(|m, a, char| m.find(a, char, false, false)), "go to the next character of the line that you type";
    "find_back" => Argument(|m, a, char| m.find(a, char, true, false)), "go back to a character of the line";
    "till_forward" => Argument(|m, a, char| m.find(a, char, false, true)), "go to before the next character that you type";
    "till_back" => Argument(|m, a, char| m.find(a, char, true, true)), "go back to after a character of the line";
    "find_again" => Do(|m, a| m.go_to_char(a, false, true)), "find the same character again";
    "find_reverse" => Do(|m, a| m.go_to_char(a, true, true)), "find the same character in the other direction";
    "search_forward" => Search { back: false, incremental: false }, "search forward";
    "search_back" => Search { back: true, incremental: false }, "search backward";
    "search_next" => Do(|m, a| m.search_step(a, false)), "go to the next match";
    "search_previous" => Do(|m, a| m.search_step(a, true)), "go to the previous match";
    "search_word" => Do(|m, a| m.search_word(a, false)), "search forward for the word under the cursor";
    "search_word_back" => Do(|m, a| m.search_word(a, true)), "search backward for the word under the cursor";
    "go_mark" => Argument(|m, a, char| m.go_to_mark(a, char, false)), "go to a mark";
    "go_mark_line" => Argument(|m, a, char| m.go_to_mark(a, char, true)), "go to the line of a mark";
    "inner_word" => Inner(|c| word(c, false)), "the word";
    "a_word" => Around(|c| word(c, false)), "the word with its spaces";
    "inner_big_word" => Inner(|c| word(c, true)), "the WORD";
    "a_big_word" => Around(|c| word(c, true)), "the WORD with its spaces";
    "inner_paragraph" => Inner(paragraph_lines), "the paragraph";
    "a_paragraph" => Around(paragraph_lines), "the paragraph with its empty lines";
    "inner_double_quote" => Inner(|c| quoted(c, '"')), "the text in double quotes";
    "a_double_quote" => Around(|c| quoted(c, '"')), "double quotes and their text";
    "inner_single_quote" => Inner(|c| quoted(c, '\'')), "the text in single quotes";
    "a_single_quote" => Around(|c| quoted(c, '\'')), "single quotes and their text";
    "inner_backtick" => Inner(|c| quoted(c, '`')), "the text in backticks";
    "a_backtick" => Around(|c| quoted(c, '`')), "backticks and their text";
    "inner_parenthesis" => Inner(|c| bracketed(c, ('(', ')'))), "the text in parentheses";
    "a_parenthesis" => Around(|c| bracketed(c, ('(', ')'))), "parentheses and their text";
    "inner_bracket" => Inner(|c| bracketed(c, ('[', ']'))), "the text in square brackets";
    "a_bracket" => Around(|c| bracketed(c, ('[', ']'))), "square brackets and their text";
    "inner_brace" => Inner(|c| bracketed(c, ('{', '}'))), "the text in braces";
    "a_brace" => Around(|c| bracketed(c, ('{', '}'))), "braces and their text";
    "inner_angle" => Inner(|c| bracketed(c, ('<', '>'))), "the text in angle brackets";
    "an_angle" => Around(|c| bracketed(c, ('<', '>'))), "angle brackets and their text";
    "inner_sentence" => Inner(sentence), "the sentence";
    "a_sentence" => Around(sentence), "the sentence with its spaces";
    "inner_tag" => Inner(tag), "the text between two tags";
    "a_tag" => Around(tag), "two tags and their text";
    "delete" => Operate(Delete), "delete the text of a motion";
    "change" => Operate(Operator::Change), "replace the text of a motion";
    "copy" => Operate(Copy), "copy the text of a motion";
    "indent" => Operate(Indent), "indent lines";
    "outdent" => Operate(Outdent), "remove indentation from lines";
    "toggle_case" => Operate(Operator::Case(Toggle)), "toggle the case of the text of a motion";
    "uppercase" => Operate(Operator::Case(Upper)), "uppercase the text of a motion";
    "lowercase" => Operate(Operator::Case(Lower)), "lowercase the text of a motion";
    "delete_char" => Chars(Delete), "delete the character under the cursor";
    "delete_char_before" => Short(Delete, left), "delete the character before the cursor";
    "delete_to_end" => Short(Delete, last_in_line), "delete to the end of the line";
    "substitute" => Chars(Operator::Change), "replace characters";
    "substitute_line" => Lines(Operator::Change), "replace lines";
    "change_to_end" => Short(Operator::Change, last_in_line), "replace to the end of the line";
    "copy_line" => Lines(Copy), "copy lines";
    "replace" => Argument(Modal::replace), "replace the character under the cursor by another";
    "toggle_case_char" => Change(Modal::toggle_case), "toggle the case of a character and go right";
    "join" => Change(|m, a| m.join(a, true)), "join lines with a space";
    "join_bare" => Change(|m, a| m.join(a, false)), "join lines without a space";
    "put_after" => Change(|m, a| m.put(a, true)), "insert a register after the cursor";
    "put_before" => Change(|m, a| m.put(a, false)), "insert a register before the cursor";
    "undo_change" => Do(|m, a| m.step_undo(a, false)), "undo a change";
    "redo_change" => Do(|m, a| m.step_undo(a, true)), "redo a change";
    "repeat" => Do(Modal::repeat), "repeat the last change";
    "register" => Argument(Modal::set_register), "select a register (`+` is the clipboard)";
    "set_mark" => Argument(Modal::set_mark), "set a mark";
    "mark" => Do(|m, a| m.anchor = Some(a.cursor)), "start a region";
    "exchange_mark" => Do(Modal::swap_ends), "swap the cursor and the mark";
    "mark_all" => Do(|m, a| (m.anchor, a.cursor) = (Some(a.buffer.end()), Position::default())), "select everything";
    "kill_region" => Do(|m, a| m.kill_region(a, true)), "cut the region";
    "copy_region" => Do(|m, a| m.kill_region(a, false)), "copy the region";
    "drop_mark" => Do(|m, _| m.unused = m.anchor.take().is_none()), "end the region";
    "kill_line" => Local(TextArea::kill_lines), "cut the line";
    "transpose_chars" => Local(TextArea::transpose_chars), "swap two characters";
    "transpose_words" => Local(TextArea::transpose_words), "swap two words";
    "uppercase_word" => Local(|a| a.case_word(Upper)), "uppercase the word";
    "lowercase_word" => Local(|a| a.case_word(Lower)), "lowercase the word";
    "capitalize_word" => Local(|a| a.case_word(Capital)), "capitalize the word";
    "delete_space" => Local(|a| a.set_space("")), "delete the spaces around the cursor";
    "one_space" => Local(|a| a.set_space(" ")), "reduce the spaces around the cursor to one";
    "join_above" => Local(TextArea::join_above), "join the line to the one above";
    "open_line" => Local(TextArea::break_line), "break the line after the cursor";
    "find_text" => Search { back: false, incremental: true }, "search while typing; again, the next match";
    "find_text_back" => Search { back: true, incremental: true }, "search backward while typing";
    "transpose_lines" => Local(TextArea::transpose_lines), "swap with the line above";
    "mark_word" => Do(|m, a| m.anchor = Some(a.target(Motion::WordRight))), "extend the region to the end of the next word";
    "mark_paragraph" => Do(Modal::mark_paragraph), "select the paragraph";
    "uppercase_region" => Do(|m, a| m.case_region(a, Upper)), "uppercase the region";
    "lowercase_region" => Do(|m, a| m.case_region(a, Lower)), "lowercase the region";
    "zap_to_char" => Argument(Modal::zap), "cut up to and including a character";
    "times" => Prefix(|m, _| m.multiply_count()), "give a repeat count; four without a number";
    "digit" => Prefix(|m, _| m.universal = true), "give a repeat count";
];

impl Edit {
    /// The action called `name` in keymaps.
    pub fn from_name(name: &str) -> Option<Self> {
        let info = EDITS.iter().find(|info| info.name == name)?;
        Some(info.edit)
    }

    /// The row of the action; every action has one.
    pub fn info(self) -> Option<&'static EditInfo> {
        EDITS.iter().find(|info| info.name == self.0)
    }
}
