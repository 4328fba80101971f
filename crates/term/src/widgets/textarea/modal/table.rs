//! The table of actions for keymaps with modes or regions, with names and descriptions.

/// An action of modal editing. `Inner` and `Around` select a text object without and with its
/// surroundings. `Chars`, `ToEnd` and `Lines` apply an operator to characters, up to the end of the
/// line, or to lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Edit {
    NormalMode,
    Insert(InsertAt),
    Visual,
    VisualLine,
    VisualAgain,
    OtherEnd,
    Up,
    Down,
    Move(Move),
    Find { back: bool, till: bool },
    FindAgain { reverse: bool },
    Search { back: bool },
    SearchAgain { reverse: bool },
    SearchWord { back: bool },
    IncrementalSearch { back: bool },
    SetMark,
    GoToMark { line: bool },
    Inner(Object),
    Around(Object),
    Operator(Operator),
    Chars(Operator),
    ToEnd(Operator),
    Lines(Operator),
    DeleteCharBefore,
    Replace,
    Join { spaced: bool },
    Put { after: bool },
    Undo,
    Redo,
    Repeat,
    Register,
    Region(RegionEdit),
    Local(LocalEdit),
    ZapToChar,
    Times,
    Digit,
}

/// Where insert mode starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum InsertAt {
    Cursor,
    AfterCursor,
    FirstText,
    LineEnd,
    LineBelow,
    LineAbove,
}

/// A motion without an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Move {
    Left,
    Right,
    LineStart,
    FirstText,
    LineEnd,
    LastText,
    Column,
    LineAbove,
    LineBelow,
    ThisLine,
    FirstLine,
    LastLine,
    WordStart { back: bool, big: bool },
    WordEnd { back: bool, big: bool },
    Paragraph { back: bool },
    Sentence { back: bool },
    Matching,
}

/// A text object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Object {
    Word { big: bool },
    Paragraph,
    Sentence,
    Tag,
    Quotes(char),
    Brackets(char, char),
}

/// A change of the text that a motion, an object or a selection covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operator {
    Delete,
    Change,
    Copy,
    Indent,
    Outdent,
    Case(Case),
}

/// A conversion of letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Case {
    Upper,
    Lower,
    Toggle,
    Capital,
}

/// An action on the region between the mark and the cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RegionEdit {
    Mark,
    MarkWord,
    MarkParagraph,
    MarkAll,
    Exchange,
    Drop,
    Kill,
    Copy,
    Case(Case),
}

/// A change of words, lines or spaces at the cursor. A numeric argument repeats it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LocalEdit {
    KillLine,
    OpenLine,
    JoinAbove,
    TransposeChars,
    TransposeWords,
    TransposeLines,
    CaseWord(Case),
    DeleteSpace,
    OneSpace,
}

/// An action with its name in keymaps and its description in help.
#[derive(Debug, Clone, Copy)]
pub struct EditInfo {
    pub edit: Edit,
    pub name: &'static str,
    pub description: &'static str,
}

macro_rules! edits {
    ($($name:literal => $edit:expr, $description:literal;)*) => {
        &[$(EditInfo { edit: $edit, name: $name, description: $description },)*]
    };
}

/// Every action.
pub const EDITS: &[EditInfo] = edits![
    "normal_mode" => Edit::NormalMode, "return to normal mode; cancel the pending command";
    "insert" => Edit::Insert(InsertAt::Cursor), "insert before the cursor";
    "insert_at_text" => Edit::Insert(InsertAt::FirstText), "insert before the first text of the line";
    "append" => Edit::Insert(InsertAt::AfterCursor), "insert after the cursor";
    "append_at_end" => Edit::Insert(InsertAt::LineEnd), "insert at the end of the line";
    "open_below" => Edit::Insert(InsertAt::LineBelow), "insert in a new line below";
    "open_above" => Edit::Insert(InsertAt::LineAbove), "insert in a new line above";
    "visual" => Edit::Visual, "select characters";
    "visual_line" => Edit::VisualLine, "select lines";
    "visual_again" => Edit::VisualAgain, "select the last selection again";
    "other_end" => Edit::OtherEnd, "go to the other end of the selection";
    "go_left" => Edit::Move(Move::Left), "go left in the line";
    "go_right" => Edit::Move(Move::Right), "go right in the line";
    "go_up" => Edit::Up, "go a line up; on the first one, to an earlier prompt";
    "go_down" => Edit::Down, "go a line down; on the last one, to a later prompt";
    "go_line_start" => Edit::Move(Move::LineStart), "go to the start of the line";
    "go_line_text" => Edit::Move(Move::FirstText), "go to the first text of the line";
    "go_line_end" => Edit::Move(Move::LineEnd), "go to the end of the line";
    "go_line_last_text" => Edit::Move(Move::LastText), "go to the last text of the line";
    "go_column" => Edit::Move(Move::Column), "go to the column given by the count";
    "go_line_up_text" => Edit::Move(Move::LineAbove), "go to the first text of the line above";
    "go_line_down_text" => Edit::Move(Move::LineBelow), "go to the first text of the line below";
    "go_this_line_text" => Edit::Move(Move::ThisLine), "go to the first text of the line; with a count, of one below";
    "word_forward" => Edit::Move(Move::WordStart { back: false, big: false }), "go to the start of the next word";
    "big_word_forward" => Edit::Move(Move::WordStart { back: false, big: true }), "go to the start of the next WORD";
    "word_back" => Edit::Move(Move::WordStart { back: true, big: false }), "go back to the start of a word";
    "big_word_back" => Edit::Move(Move::WordStart { back: true, big: true }), "go back to the start of a WORD";
    "word_end" => Edit::Move(Move::WordEnd { back: false, big: false }), "go to the end of the word";
    "big_word_end" => Edit::Move(Move::WordEnd { back: false, big: true }), "go to the end of the WORD";
    "word_end_back" => Edit::Move(Move::WordEnd { back: true, big: false }), "go back to the end of a word";
    "big_word_end_back" => Edit::Move(Move::WordEnd { back: true, big: true }), "go back to the end of a WORD";
    "first_line" => Edit::Move(Move::FirstLine), "go to the first line, or to the line of the count";
    "last_line" => Edit::Move(Move::LastLine), "go to the last line, or to the line of the count";
    "paragraph_forward" => Edit::Move(Move::Paragraph { back: false }), "go to the end of the paragraph";
    "paragraph_back" => Edit::Move(Move::Paragraph { back: true }), "go to the start of the paragraph";
    "sentence_forward" => Edit::Move(Move::Sentence { back: false }), "go to the start of the next sentence";
    "sentence_back" => Edit::Move(Move::Sentence { back: true }), "go to the start of the sentence";
    "matching" => Edit::Move(Move::Matching), "go to the matching bracket";
    "find_forward" => Edit::Find { back: false, till: false }, "go to the next character of the line that you type";
    "find_back" => Edit::Find { back: true, till: false }, "go back to a character of the line";
    "till_forward" => Edit::Find { back: false, till: true }, "go to before the next character that you type";
    "till_back" => Edit::Find { back: true, till: true }, "go back to after a character of the line";
    "find_again" => Edit::FindAgain { reverse: false }, "find the same character again";
    "find_reverse" => Edit::FindAgain { reverse: true }, "find the same character in the other direction";
    "search_forward" => Edit::Search { back: false }, "search forward";
    "search_back" => Edit::Search { back: true }, "search backward";
    "search_next" => Edit::SearchAgain { reverse: false }, "go to the next match";
    "search_previous" => Edit::SearchAgain { reverse: true }, "go to the previous match";
    "search_word" => Edit::SearchWord { back: false }, "search forward for the word under the cursor";
    "search_word_back" => Edit::SearchWord { back: true }, "search backward for the word under the cursor";
    "go_mark" => Edit::GoToMark { line: false }, "go to a mark";
    "go_mark_line" => Edit::GoToMark { line: true }, "go to the line of a mark";
    "inner_word" => Edit::Inner(Object::Word { big: false }), "the word";
    "a_word" => Edit::Around(Object::Word { big: false }), "the word with its spaces";
    "inner_big_word" => Edit::Inner(Object::Word { big: true }), "the WORD";
    "a_big_word" => Edit::Around(Object::Word { big: true }), "the WORD with its spaces";
    "inner_paragraph" => Edit::Inner(Object::Paragraph), "the paragraph";
    "a_paragraph" => Edit::Around(Object::Paragraph), "the paragraph with its empty lines";
    "inner_double_quote" => Edit::Inner(Object::Quotes('"')), "the text in double quotes";
    "a_double_quote" => Edit::Around(Object::Quotes('"')), "double quotes and their text";
    "inner_single_quote" => Edit::Inner(Object::Quotes('\'')), "the text in single quotes";
    "a_single_quote" => Edit::Around(Object::Quotes('\'')), "single quotes and their text";
    "inner_backtick" => Edit::Inner(Object::Quotes('`')), "the text in backticks";
    "a_backtick" => Edit::Around(Object::Quotes('`')), "backticks and their text";
    "inner_parenthesis" => Edit::Inner(Object::Brackets('(', ')')), "the text in parentheses";
    "a_parenthesis" => Edit::Around(Object::Brackets('(', ')')), "parentheses and their text";
    "inner_bracket" => Edit::Inner(Object::Brackets('[', ']')), "the text in square brackets";
    "a_bracket" => Edit::Around(Object::Brackets('[', ']')), "square brackets and their text";
    "inner_brace" => Edit::Inner(Object::Brackets('{', '}')), "the text in braces";
    "a_brace" => Edit::Around(Object::Brackets('{', '}')), "braces and their text";
    "inner_angle" => Edit::Inner(Object::Brackets('<', '>')), "the text in angle brackets";
    "an_angle" => Edit::Around(Object::Brackets('<', '>')), "angle brackets and their text";
    "inner_sentence" => Edit::Inner(Object::Sentence), "the sentence";
    "a_sentence" => Edit::Around(Object::Sentence), "the sentence with its spaces";
    "inner_tag" => Edit::Inner(Object::Tag), "the text between two tags";
    "a_tag" => Edit::Around(Object::Tag), "two tags and their text";
    "delete" => Edit::Operator(Operator::Delete), "delete the text of a motion";
    "change" => Edit::Operator(Operator::Change), "replace the text of a motion";
    "copy" => Edit::Operator(Operator::Copy), "copy the text of a motion";
    "indent" => Edit::Operator(Operator::Indent), "indent lines";
    "outdent" => Edit::Operator(Operator::Outdent), "remove indentation from lines";
    "toggle_case" => Edit::Operator(Operator::Case(Case::Toggle)), "toggle the case of the text of a motion";
    "uppercase" => Edit::Operator(Operator::Case(Case::Upper)), "uppercase the text of a motion";
    "lowercase" => Edit::Operator(Operator::Case(Case::Lower)), "lowercase the text of a motion";
    "delete_char" => Edit::Chars(Operator::Delete), "delete the character under the cursor";
    "delete_char_before" => Edit::DeleteCharBefore, "delete the character before the cursor";
    "delete_to_end" => Edit::ToEnd(Operator::Delete), "delete to the end of the line";
    "substitute" => Edit::Chars(Operator::Change), "replace characters";
    "substitute_line" => Edit::Lines(Operator::Change), "replace lines";
    "change_to_end" => Edit::ToEnd(Operator::Change), "replace to the end of the line";
    "copy_line" => Edit::Lines(Operator::Copy), "copy lines";
    "replace" => Edit::Replace, "replace the character under the cursor by another";
    "toggle_case_char" => Edit::Chars(Operator::Case(Case::Toggle)), "toggle the case of a character and go right";
    "join" => Edit::Join { spaced: true }, "join lines with a space";
    "join_bare" => Edit::Join { spaced: false }, "join lines without a space";
    "put_after" => Edit::Put { after: true }, "insert a register after the cursor";
    "put_before" => Edit::Put { after: false }, "insert a register before the cursor";
    "undo_change" => Edit::Undo, "undo a change";
    "redo_change" => Edit::Redo, "redo a change";
    "repeat" => Edit::Repeat, "repeat the last change";
    "register" => Edit::Register, "select a register (`+` is the clipboard)";
    "set_mark" => Edit::SetMark, "set a mark";
    "mark" => Edit::Region(RegionEdit::Mark), "start a region";
    "exchange_mark" => Edit::Region(RegionEdit::Exchange), "swap the cursor and the mark";
    "mark_all" => Edit::Region(RegionEdit::MarkAll), "select everything";
    "kill_region" => Edit::Region(RegionEdit::Kill), "cut the region";
    "copy_region" => Edit::Region(RegionEdit::Copy), "copy the region";
    "drop_mark" => Edit::Region(RegionEdit::Drop), "end the region";
    "kill_line" => Edit::Local(LocalEdit::KillLine), "cut the line";
    "transpose_chars" => Edit::Local(LocalEdit::TransposeChars), "swap two characters";
    "transpose_words" => Edit::Local(LocalEdit::TransposeWords), "swap two words";
    "uppercase_word" => Edit::Local(LocalEdit::CaseWord(Case::Upper)), "uppercase the word";
    "lowercase_word" => Edit::Local(LocalEdit::CaseWord(Case::Lower)), "lowercase the word";
    "capitalize_word" => Edit::Local(LocalEdit::CaseWord(Case::Capital)), "capitalize the word";
    "delete_space" => Edit::Local(LocalEdit::DeleteSpace), "delete the spaces around the cursor";
    "one_space" => Edit::Local(LocalEdit::OneSpace), "reduce the spaces around the cursor to one";
    "join_above" => Edit::Local(LocalEdit::JoinAbove), "join the line to the one above";
    "open_line" => Edit::Local(LocalEdit::OpenLine), "break the line after the cursor";
    "find_text" => Edit::IncrementalSearch { back: false }, "search while typing; again, the next match";
    "find_text_back" => Edit::IncrementalSearch { back: true }, "search backward while typing";
    "transpose_lines" => Edit::Local(LocalEdit::TransposeLines), "swap with the line above";
    "mark_word" => Edit::Region(RegionEdit::MarkWord), "extend the region to the end of the next word";
    "mark_paragraph" => Edit::Region(RegionEdit::MarkParagraph), "select the paragraph";
    "uppercase_region" => Edit::Region(RegionEdit::Case(Case::Upper)), "uppercase the region";
    "lowercase_region" => Edit::Region(RegionEdit::Case(Case::Lower)), "lowercase the region";
    "zap_to_char" => Edit::ZapToChar, "cut up to and including a character";
    "times" => Edit::Times, "give a repeat count; four without a number";
    "digit" => Edit::Digit, "give a repeat count";
];

impl Edit {
    /// The action called `name` in keymaps.
    pub fn from_name(name: &str) -> Option<Self> {
        let info = EDITS.iter().find(|info| info.name == name)?;
        Some(info.edit)
    }

    /// Its row in [`EDITS`]; every action has one.
    fn row(self) -> Option<&'static EditInfo> {
        EDITS.iter().find(|info| info.edit == self)
    }

    /// Its name in keymaps.
    pub fn name(self) -> &'static str {
        self.row().map_or("", |info| info.name)
    }

    /// Its description for help.
    pub fn description(self) -> &'static str {
        self.row().map_or("", |info| info.description)
    }
}
