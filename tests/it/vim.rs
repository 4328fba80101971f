//! Compares the keymap `vim` with Vim: the same keys on the same text give the same text and cursor.

#![expect(clippy::disallowed_methods, reason = "the test runs the real program")]

use std::fs;
use std::path::Path;

use osier_term::input::{KeyCode, KeyPress};
use osier_term::keymap;
use osier_term::keymap::{Keymap, KeymapSource, Lookup};
use osier_term::widgets::textarea::modal::{EDITS, Edit, Modal, Mode};
use osier_term::widgets::textarea::{Motion, Position, TextArea};
use osier_testing::skip;

/// Marks the cursor.
const CURSOR: char = '¦';

/// Texts to work on.
const PROSE: &str = "The quick brown fox, jumps over\n  the lazy (dog and \"the cat\") today.\n\nSecond par-agraph here;\nwith foo.bar(baz, qux) { x }\n    indented line\n\n\nlast line";
const CODE: &str =
    "fn main() {\n    let x = call(a, [1, 2], \"s t\");\n    if x {\n        y();\n    }\n}\n";
const MARKUP: &str = "One. Two is here!  Three (is it?) so. <b>bold <i>and x</i></b> four.\n<p class=\"a\">\n  x y\n</p>\n\nLast one? Yes.";
const WIDE: &str = "漢字 kana かなカナ 한글\nemoji 🙂 ünïcode_word naïve\nend";

/// Keys by subject, on each of the texts. `<|>` makes Vim begin another undo step, as it does between typed keys.
const KEYS: &[(&str, &str)] = &[
    (
        "motions",
        "w 3w ww wwww 5w 9w 20w W 4W e 3e 8e E 5E $b $3b $B $ge Gge G$bb G3b $ 2$ 0 ^ j^ j0 jw jjw G Gk gg 3G 2gg 99G
         j$ j$k $j $jj $jkj 10l 10lj 10ljj 3| l 5l h 5lh 5l9h } 2} }} 9} G{ G2{ j} fo 2fo fo; fo;; fo;, to to; 2to $Fo
         $To $To; fz j% jf(% jf(%% jjjj% + j+ j- _ 3_ g_ j2g_ wge wwgE wwwge /the<CR> /the<CR>n /the<CR>nn /the<CR>N
         ?the<CR> ?line<CR>n /nothing<CR> w* w# * majj`a jwmajj'a Gjk wmajj`` G`` jjG'' <Space> 3<Space> G$w G$e Gw 4j
         9j 9k",
    ),
    (
        "delete",
        "dw d2w 2dw 2d2w dW de d3e dE $db wdb wwd2b d$ D 2D jD d0 wwd0 d^ jwwd^ dd 2dd jdd 3dd Gdd G2dd 9dd dj dk jdk
         jdj dG jdG dgg jdgg d} jd} jwd} d{ Gd{ dfo d2fo dto $dFo $dTo d; fod; jf(d% j$d% d/the<CR> dn /the<CR>dn x 3x
         99x $x $3x X $X 5l3X wx jjx jjdw jjdd $dw wwwwdw G$dw Gdw 5dw 9dw jd2w j$dw dge wwdge dl d3l $dl dh $d2h
         madjd`a wmajd`a wmajd'a d_ d2_ d+ jd- d| wwwd3| dN",
    ),
    (
        "copy and put",
        r#"yyp yyP yy3p jyyjp 2yyp ywP ywp yw3p y$p yjp jykp yGp ywjp xp xph ddp ddP ddjp dwwP dwjjp Yp yiwjP y}P ywG$p
         jjywp "ayyj"ap "ayw"Ayww"ap "ayyj"Ayy"ap ywdd"0P dddd"1p dddd"2p dwdd"-P "_ddp yyjdd"0p dwdw"1P wwy0 y0 $yb
         jyk jygg yj jyip yfo $yFo yG jjy{"#,
    ),
    (
        "change and insert",
        "cwnew<Esc> c2wnew<Esc> 3cwnew<Esc> jcwnew<Esc> wcenew<Esc> ccnew<Esc> jccnew<Esc> 2ccnew<Esc> Cnew<Esc>
         wCnew<Esc> snew<Esc> 3snew<Esc> Snew<Esc> jSnew<Esc> c$new<Esc> cjnew<Esc> jckx<Esc> inew<Esc> anew<Esc>
         Inew<Esc> jInew<Esc> Anew<Esc> onew<Esc> Onew<Esc> jonew<Esc> 3inew<Esc> 3anew<Esc> 2onew<Esc> 2Anew<Esc>
         2Onew<Esc> ia<CR>b<Esc> 2ia<CR>b<Esc> oa<CR>b<Esc> iab<BS>c<Esc> A<BS><BS>x<Esc> cfonew<Esc> cGnew<Esc>
         jcipx<Esc> c0x<Esc> wwcbx<Esc> c}x<Esc> lcwx<Esc> $cwx<Esc> jjcwx<Esc> 3lclx<Esc> jcw<Esc> wi<Esc> wa<Esc>
         a<Esc> $a<Esc> A<Esc> i<Esc>i<Esc> jjix<Esc> jjax<Esc> Gox<Esc> Ox<Esc>jP 4lcwx<Esc>",
    ),
    (
        "replace, case, join, indent",
        "rx 3rx 99rx $rx $2rx wr- ~ 3~ $~ 99~ g~w g~~ gUw guw gUU guu gUiw gUj jgUk wgUe g~$ jgUU wjgUU jwg~~ jwgUj
         gU2w 2gUU wgUU jwguu wg~~ J 3J jJ jjJ 9J GJ jjjJ gJ 3gJ j3gJ 5JJ >> 2>> j>> >j << j<< jjjjj<< >>>> >><< >ip
         j>ip >G j<j 5j<<<< jw>>",
    ),
    (
        "text objects",
        r#"diw daw wdiw wdaw ldiw d2iw d3iw d2aw wd2aw $diw $daw 3ldiw 3ldaw diW daW $daW jdiw jdaw wwwwdaw wwwdaw jf"di"
         jf"da" jfhdi" jdi" jda" jci"x<Esc> jdi( jf(di( jf(da( jfodi( jfoda( jfodib jf)di( jjjjdi( jjjjf(ldi( jjjjf{di{
         jjjjf{lda{ jjjjf{ldiB dip dap jdip jjdip jjdap jjjdip jjjdap Gdip Gdap d2ip d2ap yipP jyapP cipx<Esc>
         jf(ci(x<Esc> jfoci(x<Esc> jf[di[ jf[lda[ jf[ldi[ jjdi{ jjjdi{ jjjda{ jdi{ jci{x<Esc> jjjci{x<Esc> jf1d2i(
         jf1di( jf1da( jf1di[ ciwx<Esc> wcawx<Esc> di' di`"#,
    ),
    (
        "visual",
        r#"vd vwd v$d vjd vlld Vd Vjd VGd vey veyP vwcx<Esc> Vcx<Esc> Vjcx<Esc> vjx vU veU veu ve~ Vu VU vjU V> Vj> V2>
         Vj< vrx verx vjrx Vrx vJ VjjJ viwd vawd vipd wviwd vbd wwvbd wwvbod wveod vohd wvlohd vfod v2wd vGd jVkd
         v<Esc>x vj<Esc> ywwvep ywwviwp yyjVp ywjVp yyjwviwp vwy$p Vyp vX vY vD vC<Space>x<Esc> vS<Space>x<Esc>
         vsx<Esc> wvj$d v}d jf(v%d jfovi(d jfova(d vVd Vvd vv wvevx v/the<CR>d jvi"d vapd jjvipd vlOd wvbOd"#,
    ),
    (
        "undo, redo, repeat",
        "xu wxu wdwu ddu wddu jddu wjddu x. x3. 3x. dw. dw2. d2w. dd. ddp. 2dd. x<|>xu x<|>xuu x<|>xuu<C-R>
         x<|>xuu<C-R><C-R> wxu<C-R> dwwu inew<Esc>u winew<Esc>u Anew<Esc>u onew<Esc>u wonew<Esc>u jonew<Esc>u
         Onew<Esc>u cwnew<Esc>u wcwnew<Esc>u cwnew<Esc>w. cwnew<Esc>u<|>w. cwnew<Esc>w<|>.u inew<Esc>. inew<Esc>3.
         3inew<Esc>. Anew<Esc>j. onew<Esc>. onew<Esc><|>.u ciwx<Esc>w. rxl. rxu ~. J. Ju jJu 3Ju >>. >>u j>>u >>j<|>.u
         gUww. gUwu yypu yyp. ywP. ywPu vlldw. Vd. Vjdj. vewcx<Esc>w. dw<|>jj.uu dfo. dfo2. dto. ddggp. wx<|>jxuu
         wx<|>jxuu<C-R> wx<|>jxuuu ddju dGu jdGu jjdggu d}u vjdu wvjdu xj<|>xu. A<Space>foo<Esc>j. ia<Esc><|>ib<Esc>u
         ia<Esc><|>ib<Esc>uu dd<|>pu dd<|>Pu 2dd<|>Pu<C-R> cc<Esc>u wDu wDu<C-R> jipre<Space><Esc>u<C-R> 5xu w5xu yyp3.
         x<|>ddu<|>x dw<|>iab<Esc><|>xuu gUUu wgUUu jwguuu wg~~u Vju vip>u jciwx<Esc>u 2onew<Esc>u 3inew<Esc>u
         jjAx<Esc>u Gddu Gxu jJ<|>Ju rx<|>u<C-R> viwcx<Esc>u yiwjviwpu jdd<|>pu x<|>pu d3wu cwa<CR>b<Esc>u S<Esc>u",
    ),
    (
        "commands without effect",
        r#"d<Esc>x 2<Esc>x dfzx d3<Esc>x "a<Esc>x r<Esc>x f<Esc>x dvx ciz<Esc> cp dp yx gzx hx kx kdd dku 99dd G9dd d9j
         G$x G$xp ggdGix<Esc> dGp dGP dGOx<Esc> dGdd dGx dGJ dG>> dGiw<Esc>dw ggVGd VGyGp"#,
    ),
    (
        "selection again",
        "vl<Esc>Ggvd vl<Esc>jgvd Vj<Esc>Ggvd vly`>x vjy'>x",
    ),
    (
        "sentences",
        ") )) ))) 2) G( G(( ( d) Gd( dis das )dis )das d2is jdis jjdis jjjdas cisx<Esc> visd yisP",
    ),
    ("tags", "dit dat jfxdit citx<Esc>"),
    (
        "patterns",
        r"/t.e<CR>x /^<Space><CR>x /a$<CR>x /\d<CR>x /[aeiou][aeiou]<CR>x /The<CR>nx /T.e<CR>x /ab*<CR>x ?^.<CR>x
         d/\s\w<CR> d?e$<CR> /(<CR>x /\.<CR>nx /^$<CR>x /o<CR>/<CR>x",
    ),
];

/// Known differences, by text.
const DIFFERENT: &[(&str, &str)] = &[
    // Vim counts cells, osier counts characters.
    ("wide", "vewcx<Esc>w."),
    // In osier the empty line between two paragraphs is a sentence.
    ("prose", "d2is"),
];

struct Driver {
    area: TextArea,
    modal: Modal,
    keymap: Keymap<&'static str>,
    pending: Vec<KeyPress>,
}

impl Driver {
    fn new(keymap: Keymap<&'static str>, text: &str) -> Self {
        let mut area = TextArea::default();
        area.insert(text);
        area.set_cursor(Position::new(0, 0));
        let mut driver = Self {
            area,
            modal: Modal::new(true),
            keymap,
            pending: Vec::new(),
        };
        driver.modal.run(&mut driver.area, Edit::NORMAL_MODE);
        driver.area.forget_undo();
        driver
    }

    /// Handles a key as the editor does.
    fn press(&mut self, key: KeyPress) {
        if let Some(char) = key
            .typed()
            .filter(|char| self.pending.is_empty() && self.modal.wants(*char))
        {
            return self.modal.char(&mut self.area, char);
        }
        if self.modal.is_searching() {
            match key.code {
                KeyCode::Enter => return self.modal.search_key(&mut self.area, true),
                KeyCode::Backspace => return self.modal.search_key(&mut self.area, false),
                _ => return self.modal.leave_search(&mut self.area),
            }
        }
        let contexts = self.modal.contexts();
        match self.keymap.lookup(contexts, &self.pending, key) {
            Lookup::Actions(names) => {
                self.pending.clear();
                self.act(names[0]);
            }
            Lookup::Prefix => self.pending.push(key),
            Lookup::None if !self.pending.is_empty() => {
                self.pending.clear();
                self.modal.char(&mut self.area, '\u{0}');
            }
            Lookup::None => match key.typed() {
                Some(char) if self.modal.mode() == Mode::Insert => self.write(&char.to_string()),
                Some(char) => self.modal.char(&mut self.area, char),
                None => {}
            },
        }
    }

    fn act(&mut self, name: &str) {
        if let Some(edit) = Edit::from_name(name) {
            self.modal.run(&mut self.area, edit);
            return;
        }
        match name {
            "submit" | "newline" if self.modal.mode() == Mode::Insert => self.write("\n"),
            "delete_backward" => {
                self.modal.touch(&mut self.area);
                self.area.delete(Motion::Left);
                self.modal.edited(&mut self.area, false);
            }
            _ => {}
        }
    }

    fn write(&mut self, text: &str) {
        self.modal.touch(&mut self.area);
        self.area.insert(text);
        self.modal.edited(&mut self.area, false);
    }

    /// The text with the cursor in it.
    fn shown(&self) -> String {
        let cursor = self.area.cursor();
        let mut lines: Vec<String> = (0..self.area.line_count())
            .map(|line| self.area.line(line).to_owned())
            .collect();
        lines[cursor.line].insert(cursor.byte, CURSOR);
        lines.join("\n")
    }
}

/// All key sequences of `KEYS`.
fn sequences() -> impl Iterator<Item = &'static str> {
    KEYS.iter().flat_map(|(_, keys)| keys.split_whitespace())
}

/// `ab<Esc><C-R>` as keys.
fn keys(text: &str) -> Vec<KeyPress> {
    let mut keys = Vec::new();
    let mut rest = text;
    while let Some(char) = rest.chars().next() {
        let named = [
            ("<Esc>", KeyPress::plain(KeyCode::Esc)),
            ("<CR>", KeyPress::plain(KeyCode::Enter)),
            ("<BS>", KeyPress::plain(KeyCode::Backspace)),
            ("<C-R>", KeyPress::ctrl('r')),
            ("<Space>", KeyPress::char(' ')),
        ];
        if let Some(after) = rest.strip_prefix("<|>") {
            rest = after;
            continue;
        }
        if let Some((name, key)) = named.iter().find(|(name, _)| rest.starts_with(name)) {
            keys.push(*key);
            rest = &rest[name.len()..];
            continue;
        }
        keys.push(KeyPress::char(char));
        rest = &rest[char.len_utf8()..];
    }
    keys
}

/// The result of the same keys in Vim.
fn vim(program: &Path, place: &Path, text: &str, typed: &str) -> String {
    let bytes = [
        ("<Esc>", "\u{1b}"),
        ("<CR>", "\r"),
        ("<BS>", "\u{8}"),
        ("<C-R>", "\u{12}"),
        ("<Space>", " "),
        ("<|>", ":set ul=1000\r"),
    ];
    let mut script = typed.to_owned();
    for (name, byte) in bytes {
        script = script.replace(name, byte);
    }
    for part in ["\u{1b}i", &CURSOR.to_string(), "\u{1b}:wq!\r"] {
        script.push_str(part);
    }
    let (file, keys) = (place.join("text"), place.join("keys"));
    fs::write(&file, format!("{text}\n")).unwrap();
    fs::write(&keys, script).unwrap();
    let options = "set enc=utf-8 sw=4 et bs=2 ic scs nojs nofixeol";
    let status = std::process::Command::new(program)
        .args([
            "-u",
            "NONE",
            "-i",
            "NONE",
            "-n",
            "-N",
            "--not-a-term",
            "-T",
            "dumb",
            "--cmd",
            options,
            "-s",
        ])
        .arg(&keys)
        .arg(&file)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status();
    assert!(status.is_ok(), "{} does not run", program.display());
    let shown = fs::read_to_string(&file).unwrap();
    shown.strip_suffix('\n').unwrap_or(&shown).to_owned()
}

const VIM_KEYMAP: &str = include_str!("../../keymaps/vim.toml");

fn keymap() -> Keymap<&'static str> {
    let sources = [
        KeymapSource::new("default.toml", keymap::DEFAULT),
        KeymapSource::new("vim.toml", VIM_KEYMAP),
    ];
    let text = [keymap::DEFAULT, VIM_KEYMAP].into_iter();
    let text: Vec<&'static str> = text.flat_map(str::lines).collect();
    let named = text
        .iter()
        .filter_map(|line| line.split_once("= \"")?.1.strip_suffix('"'));
    let names = named.chain(EDITS.iter().map(|info| info.name));
    let actions: Vec<_> = names.map(|name| (name, name)).collect();
    let contexts: Vec<&str> = text
        .iter()
        .filter_map(|line| line.strip_prefix('[')?.strip_suffix(']'))
        .collect();
    Keymap::load(&sources, &contexts, &actions).0
}

#[test]
fn keymap_behaves_like_vim() {
    let Some(program) = skip::program(&["vim", "vim.tiny"], "apt install vim-tiny") else {
        return;
    };
    let program = program.as_path();
    let keymap = keymap();
    let texts = [
        ("prose", PROSE),
        ("code", CODE),
        ("wide", WIDE),
        ("markup", MARKUP),
    ];
    // Starting Vim takes most of the time, so the texts run in parallel.
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let compared = texts.map(|(name, text)| {
            let keymap = &keymap;
            scope.spawn(move || compare(program, name, text, keymap))
        });
        let found = compared.map(|thread| thread.join().unwrap());
        found.into_iter().flatten().collect()
    });
    let count = sequences().count() * texts.len() - DIFFERENT.len();
    println!("{count} sequences compared with {}", program.display());
    assert!(
        wrong.is_empty(),
        "{} differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// The differences after all key sequences on one text.
fn compare(
    program: &Path,
    name: &'static str,
    text: &str,
    keymap: &Keymap<&'static str>,
) -> Vec<String> {
    let place = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for typed in sequences().filter(|typed| !DIFFERENT.contains(&(name, *typed))) {
        let mut driver = Driver::new(keymap.clone(), text);
        for key in keys(typed)
            .into_iter()
            .chain([KeyPress::plain(KeyCode::Esc)])
        {
            driver.press(key);
        }
        let (own, other) = (driver.shown(), vim(program, place.path(), text, typed));
        if own != other {
            wrong.push(format!("── {name}: {typed}\nvim:\n{other}\nosier:\n{own}"));
        }
    }
    wrong
}
