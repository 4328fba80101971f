//! The keymap `vim` beside Vim itself: the same keys on the same text leave the same text and the same cursor.

#![expect(clippy::disallowed_methods, reason = "the test runs the real program")]

use std::fs;
use std::path::Path;

use osier_term::input::{KeyCode, KeyPress};
use osier_term::keymap;
use osier_term::keymap::{Keymap, KeymapSource, Lookup};
use osier_term::widgets::textarea::modal::{EDITS, Edit, Macros, Modal, Mode, Request};
use osier_term::widgets::textarea::{Motion, Position, TextArea};
use osier_testing::skip;

/// Stands where the cursor is.
const CURSOR: char = '¦';

/// Texts to work on.
const PROSE: &str = "The quick brown fox, jumps over\n  the lazy (dog and \"the cat\") today.\n\nSecond par-agraph here;\nwith foo.bar(baz, qux) { x }\n    indented line\n\n\nlast line";
const CODE: &str =
    "fn main() {\n    let x = call(a, [1, 2], \"s t\");\n    if x {\n        y();\n    }\n}\n";
const MARKUP: &str = "One. Two is here!  Three (is it?) so. <b>bold <i>and x</i></b> four.\n<p class=\"a\">\n  x y\n</p>\n\nLast one? Yes.";
const WIDE: &str = "漢字 kana かなカナ 한글\nemoji 🙂 ünïcode_word naïve\nend";

/// Keys, on each of the texts.
const KEYS: &[&str] = &[
    // Motions.
    "w",
    "3w",
    "ww",
    "wwww",
    "5w",
    "9w",
    "20w",
    "W",
    "4W",
    "e",
    "3e",
    "8e",
    "E",
    "5E",
    "$b",
    "$3b",
    "$B",
    "$ge",
    "Gge",
    "G$bb",
    "G3b",
    "$",
    "2$",
    "0",
    "^",
    "j^",
    "j0",
    "jw",
    "jjw",
    "G",
    "Gk",
    "gg",
    "3G",
    "2gg",
    "99G",
    "j$",
    "j$k",
    "$j",
    "$jj",
    "$jkj",
    "10l",
    "10lj",
    "10ljj",
    "3|",
    "l",
    "5l",
    "h",
    "5lh",
    "5l9h",
    "}",
    "2}",
    "}}",
    "9}",
    "G{",
    "G2{",
    "j}",
    "fo",
    "2fo",
    "fo;",
    "fo;;",
    "fo;,",
    "to",
    "to;",
    "2to",
    "$Fo",
    "$To",
    "$To;",
    "fz",
    "j%",
    "jf(%",
    "jf(%%",
    "jjjj%",
    "+",
    "j+",
    "j-",
    "_",
    "3_",
    "g_",
    "j2g_",
    "wge",
    "wwgE",
    "wwwge",
    "/the<CR>",
    "/the<CR>n",
    "/the<CR>nn",
    "/the<CR>N",
    "?the<CR>",
    "?line<CR>n",
    "/nothing<CR>",
    "w*",
    "w#",
    "*",
    "majj`a",
    "jwmajj'a",
    "Gjk",
    "wmajj``",
    "G``",
    "jjG''",
    " ",
    "3 ",
    "G$w",
    "G$e",
    "Gw",
    "4j",
    "9j",
    "9k",
    // Delete.
    "dw",
    "d2w",
    "2dw",
    "2d2w",
    "dW",
    "de",
    "d3e",
    "dE",
    "$db",
    "wdb",
    "wwd2b",
    "d$",
    "D",
    "2D",
    "jD",
    "d0",
    "wwd0",
    "d^",
    "jwwd^",
    "dd",
    "2dd",
    "jdd",
    "3dd",
    "Gdd",
    "G2dd",
    "9dd",
    "dj",
    "dk",
    "jdk",
    "jdj",
    "dG",
    "jdG",
    "dgg",
    "jdgg",
    "d}",
    "jd}",
    "jwd}",
    "d{",
    "Gd{",
    "dfo",
    "d2fo",
    "dto",
    "$dFo",
    "$dTo",
    "d;",
    "fod;",
    "jf(d%",
    "j$d%",
    "d/the<CR>",
    "dn",
    "/the<CR>dn",
    "x",
    "3x",
    "99x",
    "$x",
    "$3x",
    "X",
    "$X",
    "5l3X",
    "wx",
    "jjx",
    "jjdw",
    "jjdd",
    "$dw",
    "wwwwdw",
    "G$dw",
    "Gdw",
    "5dw",
    "9dw",
    "jd2w",
    "j$dw",
    "dge",
    "wwdge",
    "dl",
    "d3l",
    "$dl",
    "dh",
    "$d2h",
    "madjd`a",
    "wmajd`a",
    "wmajd'a",
    "d_",
    "d2_",
    "d+",
    "jd-",
    "d|",
    "wwwd3|",
    "dN",
    // Yank and put.
    "yyp",
    "yyP",
    "yy3p",
    "jyyjp",
    "2yyp",
    "ywP",
    "ywp",
    "yw3p",
    "y$p",
    "yjp",
    "jykp",
    "yGp",
    "ywjp",
    "xp",
    "xph",
    "ddp",
    "ddP",
    "ddjp",
    "dwwP",
    "dwjjp",
    "Yp",
    "yiwjP",
    "y}P",
    "ywG$p",
    "jjywp",
    "\"ayyj\"ap",
    "\"ayw\"Ayww\"ap",
    "\"ayyj\"Ayy\"ap",
    "ywdd\"0P",
    "dddd\"1p",
    "dddd\"2p",
    "dwdd\"-P",
    "\"_ddp",
    "yyjdd\"0p",
    "dwdw\"1P",
    "wwy0",
    "y0",
    "$yb",
    "jyk",
    "jygg",
    "yj",
    "jyip",
    "yfo",
    "$yFo",
    "yG",
    "jjy{",
    // Change and insert.
    "cwnew<Esc>",
    "c2wnew<Esc>",
    "3cwnew<Esc>",
    "jcwnew<Esc>",
    "wcenew<Esc>",
    "ccnew<Esc>",
    "jccnew<Esc>",
    "2ccnew<Esc>",
    "Cnew<Esc>",
    "wCnew<Esc>",
    "snew<Esc>",
    "3snew<Esc>",
    "Snew<Esc>",
    "jSnew<Esc>",
    "c$new<Esc>",
    "cjnew<Esc>",
    "jckx<Esc>",
    "inew<Esc>",
    "anew<Esc>",
    "Inew<Esc>",
    "jInew<Esc>",
    "Anew<Esc>",
    "onew<Esc>",
    "Onew<Esc>",
    "jonew<Esc>",
    "3inew<Esc>",
    "3anew<Esc>",
    "2onew<Esc>",
    "2Anew<Esc>",
    "2Onew<Esc>",
    "ia<CR>b<Esc>",
    "2ia<CR>b<Esc>",
    "oa<CR>b<Esc>",
    "iab<BS>c<Esc>",
    "A<BS><BS>x<Esc>",
    "cfonew<Esc>",
    "cGnew<Esc>",
    "jcipx<Esc>",
    "c0x<Esc>",
    "wwcbx<Esc>",
    "c}x<Esc>",
    "lcwx<Esc>",
    "$cwx<Esc>",
    "jjcwx<Esc>",
    "3lclx<Esc>",
    "jcw<Esc>",
    "wi<Esc>",
    "wa<Esc>",
    "a<Esc>",
    "$a<Esc>",
    "A<Esc>",
    "i<Esc>i<Esc>",
    "jjix<Esc>",
    "jjax<Esc>",
    "Gox<Esc>",
    "Ox<Esc>jP",
    "4lcwx<Esc>",
    // Replace, case, join, indent.
    "rx",
    "3rx",
    "99rx",
    "$rx",
    "$2rx",
    "wr-",
    "~",
    "3~",
    "$~",
    "99~",
    "g~w",
    "g~~",
    "gUw",
    "guw",
    "gUU",
    "guu",
    "gUiw",
    "gUj",
    "jgUk",
    "wgUe",
    "g~$",
    "jgUU",
    "wjgUU",
    "jwg~~",
    "jwgUj",
    "gU2w",
    "2gUU",
    "wgUU",
    "jwguu",
    "wg~~",
    "J",
    "3J",
    "jJ",
    "jjJ",
    "9J",
    "GJ",
    "jjjJ",
    "gJ",
    "3gJ",
    "j3gJ",
    "5JJ",
    ">>",
    "2>>",
    "j>>",
    ">j",
    "<<",
    "j<<",
    "jjjjj<<",
    ">>>>",
    ">><<",
    ">ip",
    "j>ip",
    ">G",
    "j<j",
    "5j<<<<",
    "jw>>",
    // Text objects.
    "diw",
    "daw",
    "wdiw",
    "wdaw",
    "ldiw",
    "d2iw",
    "d3iw",
    "d2aw",
    "wd2aw",
    "$diw",
    "$daw",
    "3ldiw",
    "3ldaw",
    "diW",
    "daW",
    "$daW",
    "jdiw",
    "jdaw",
    "wwwwdaw",
    "wwwdaw",
    "jf\"di\"",
    "jf\"da\"",
    "jfhdi\"",
    "jdi\"",
    "jda\"",
    "jci\"x<Esc>",
    "jdi(",
    "jf(di(",
    "jf(da(",
    "jfodi(",
    "jfoda(",
    "jfodib",
    "jf)di(",
    "jjjjdi(",
    "jjjjf(ldi(",
    "jjjjf{di{",
    "jjjjf{lda{",
    "jjjjf{ldiB",
    "dip",
    "dap",
    "jdip",
    "jjdip",
    "jjdap",
    "jjjdip",
    "jjjdap",
    "Gdip",
    "Gdap",
    "d2ip",
    "d2ap",
    "yipP",
    "jyapP",
    "cipx<Esc>",
    "jf(ci(x<Esc>",
    "jfoci(x<Esc>",
    "jf[di[",
    "jf[lda[",
    "jf[ldi[",
    "jjdi{",
    "jjjdi{",
    "jjjda{",
    "jdi{",
    "jci{x<Esc>",
    "jjjci{x<Esc>",
    "jf1d2i(",
    "jf1di(",
    "jf1da(",
    "jf1di[",
    "ciwx<Esc>",
    "wcawx<Esc>",
    "di'",
    "di`",
    // Visual.
    "vd",
    "vwd",
    "v$d",
    "vjd",
    "vlld",
    "Vd",
    "Vjd",
    "VGd",
    "vey",
    "veyP",
    "vwcx<Esc>",
    "Vcx<Esc>",
    "Vjcx<Esc>",
    "vjx",
    "vU",
    "veU",
    "veu",
    "ve~",
    "Vu",
    "VU",
    "vjU",
    "V>",
    "Vj>",
    "V2>",
    "Vj<",
    "vrx",
    "verx",
    "vjrx",
    "Vrx",
    "vJ",
    "VjjJ",
    "viwd",
    "vawd",
    "vipd",
    "wviwd",
    "vbd",
    "wwvbd",
    "wwvbod",
    "wveod",
    "vohd",
    "wvlohd",
    "vfod",
    "v2wd",
    "vGd",
    "jVkd",
    "v<Esc>x",
    "vj<Esc>",
    "ywwvep",
    "ywwviwp",
    "yyjVp",
    "ywjVp",
    "yyjwviwp",
    "vwy$p",
    "Vyp",
    "vX",
    "vY",
    "vD",
    "vC x<Esc>",
    "vS x<Esc>",
    "vsx<Esc>",
    "wvj$d",
    "v}d",
    "jf(v%d",
    "jfovi(d",
    "jfova(d",
    "vVd",
    "Vvd",
    "vv",
    "wvevx",
    "v/the<CR>d",
    "jvi\"d",
    "vapd",
    "jjvipd",
    // Undo, redo, repeat; `<|>` makes Vim begin another step of undo, as it does between keys that are typed.
    "xu",
    "wxu",
    "wdwu",
    "ddu",
    "wddu",
    "jddu",
    "wjddu",
    "x.",
    "x3.",
    "3x.",
    "dw.",
    "dw2.",
    "d2w.",
    "dd.",
    "ddp.",
    "2dd.",
    "x<|>xu",
    "x<|>xuu",
    "x<|>xuu<C-R>",
    "x<|>xuu<C-R><C-R>",
    "wxu<C-R>",
    "dwwu",
    "inew<Esc>u",
    "winew<Esc>u",
    "Anew<Esc>u",
    "onew<Esc>u",
    "wonew<Esc>u",
    "jonew<Esc>u",
    "Onew<Esc>u",
    "cwnew<Esc>u",
    "wcwnew<Esc>u",
    "cwnew<Esc>w.",
    "cwnew<Esc>u<|>w.",
    "cwnew<Esc>w<|>.u",
    "inew<Esc>.",
    "inew<Esc>3.",
    "3inew<Esc>.",
    "Anew<Esc>j.",
    "onew<Esc>.",
    "onew<Esc><|>.u",
    "ciwx<Esc>w.",
    "rxl.",
    "rxu",
    "~.",
    "J.",
    "Ju",
    "jJu",
    "3Ju",
    ">>.",
    ">>u",
    "j>>u",
    ">>j<|>.u",
    "gUww.",
    "gUwu",
    "yypu",
    "yyp.",
    "ywP.",
    "ywPu",
    "vlldw.",
    "Vd.",
    "Vjdj.",
    "vewcx<Esc>w.",
    "dw<|>jj.uu",
    "dfo.",
    "dfo2.",
    "dto.",
    "ddggp.",
    "wx<|>jxuu",
    "wx<|>jxuu<C-R>",
    "wx<|>jxuuu",
    "ddju",
    "dGu",
    "jdGu",
    "jjdggu",
    "d}u",
    "vjdu",
    "wvjdu",
    "xj<|>xu.",
    "A foo<Esc>j.",
    "ia<Esc><|>ib<Esc>u",
    "ia<Esc><|>ib<Esc>uu",
    "dd<|>pu",
    "dd<|>Pu",
    "2dd<|>Pu<C-R>",
    "cc<Esc>u",
    "wDu",
    "wDu<C-R>",
    "jipre <Esc>u<C-R>",
    "5xu",
    "w5xu",
    "yyp3.",
    "x<|>ddu<|>x",
    "dw<|>iab<Esc><|>xuu",
    "gUUu",
    "wgUUu",
    "jwguuu",
    "wg~~u",
    "Vju",
    "vip>u",
    "jciwx<Esc>u",
    "2onew<Esc>u",
    "3inew<Esc>u",
    "jjAx<Esc>u",
    "Gddu",
    "Gxu",
    "jJ<|>Ju",
    "rx<|>u<C-R>",
    "viwcx<Esc>u",
    "yiwjviwpu",
    "jdd<|>pu",
    "x<|>pu",
    "d3wu",
    "cwa<CR>b<Esc>u",
    "S<Esc>u",
    // What leads nowhere.
    "d<Esc>x",
    "2<Esc>x",
    "dfzx",
    "d3<Esc>x",
    "\"a<Esc>x",
    "r<Esc>x",
    "f<Esc>x",
    "dvx",
    "ciz<Esc>",
    "cp",
    "dp",
    "yx",
    "gzx",
    "hx",
    "kx",
    "kdd",
    "dku",
    "99dd",
    "G9dd",
    "d9j",
    "G$x",
    "G$xp",
    "ggdGix<Esc>",
    "dGp",
    "dGP",
    "dGOx<Esc>",
    "dGdd",
    "dGx",
    "dGJ",
    "dG>>",
    "dGiw<Esc>dw",
    "ggVGd",
    "VGyGp",
    // Macros.
    "qaxq@a",
    "qaxq3@a",
    "qaxq@a@@",
    "qaxq@a2@@",
    "qadwjq@a",
    "qaI- <Esc>jq2@a",
    "qaI- <Esc>jq99@a",
    "qaAx<Esc>j0q@a",
    "qafoxq9@a",
    "qacwnew<Esc>wq@a.",
    "qaxqqAlq@a",
    "qaxjq@a\"ap",
    "ywqaiA<Esc>q@a",
    "qaddq@aP",
    "qaq@ax",
    "qa/the<CR>xq@a",
    "qawq@zx",
    "qayypq3@a",
    "qbrxlq4@b",
    "qaxqqb@alq2@b",
    "qa2xq2@a",
    "qa:s/o/0/<CR>jq2@a",
    // Blocks.
    "<C-V>jd",
    "<C-V>jld",
    "<C-V>jjlld",
    "w<C-V>jd",
    "w<C-V>jlld",
    "<C-V>j$d",
    "w<C-V>j$d",
    "<C-V>jIx<Esc>",
    "<C-V>jjI- <Esc>",
    "w<C-V>jIx<Esc>",
    "<C-V>jAx<Esc>",
    "<C-V>jlAx<Esc>",
    "<C-V>jj$A;<Esc>",
    "<C-V>j$A;<Esc>u",
    "<C-V>jlcx<Esc>",
    "<C-V>jlcnew<Esc>u",
    "<C-V>jlrx",
    "<C-V>jjl~",
    "<C-V>jlU",
    "<C-V>jlyP",
    "<C-V>jlyp",
    "<C-V>jly$p",
    "<C-V>jlyGp",
    "<C-V>jldp",
    "<C-V>jldP",
    "<C-V>jld2P",
    "<C-V>jlod",
    "<C-V>jlold",
    "w<C-V>jhd",
    "<C-V>jlOld",
    "<C-V>jD",
    "w<C-V>jD",
    "w<C-V>jCnew<Esc>",
    "<C-V>jX",
    "<C-V>jY",
    "<C-V>jsx<Esc>",
    "<C-V>jSx<Esc>",
    "<C-V>jJ",
    "<C-V>j>",
    "<C-V>jlvd",
    "<C-V>jlVd",
    "v<C-V>jd",
    "<C-V><C-V>x",
    "<C-V>jld.",
    "<C-V>jldj.",
    "<C-V>jIx<Esc>jw.",
    "<C-V>jrxjw.",
    "<C-V>jGd",
    "<C-V>jx<|>u",
    "<C-V>3jlx",
    "<C-V>jly<Esc>w<C-V>jp",
    // Selected again.
    "vl<Esc>Ggvd",
    "vl<Esc>jgvd",
    "Vj<Esc>Ggvd",
    "<C-V>jl<Esc>Ggvd",
    "vly`>x",
    "vjy'>x",
    // Sentences.
    ")",
    "))",
    ")))",
    "2)",
    "G(",
    "G((",
    "(",
    "d)",
    "Gd(",
    "dis",
    "das",
    ")dis",
    ")das",
    "d2is",
    "jdis",
    "jjdis",
    "jjjdas",
    "cisx<Esc>",
    "visd",
    "yisP",
    // Tags.
    "dit",
    "dat",
    "jfxdit",
    "citx<Esc>",
    // Patterns.
    "/t.e<CR>x",
    "/\\<the<CR>x",
    "/e\\><CR>x",
    "/o\\+<CR>x",
    "/^ <CR>x",
    "/[aeiou]\\{2}<CR>x",
    "/\\v(a|e)n<CR>x",
    "/a$<CR>x",
    "/\\d<CR>x",
    "/\\u<CR>x",
    "/The\\c<CR>nx",
    "/\\Cthe<CR>nx",
    "?^.<CR>x",
    "d/\\s\\w\\+<CR>",
    "/x\\=y<CR>x",
    "/(<CR>x",
    // Command lines.
    ":2<CR>x",
    ":$<CR>x",
    ":99<CR>x",
    ":+<CR>x",
    ":+2<CR>x",
    "G:-2<CR>x",
    ":s/e/E/<CR>",
    ":s/e/E/g<CR>",
    ":%s/e/E/<CR>",
    ":%s/e/E/g<CR>",
    ":%s/e/E/g<CR>u",
    ":%s/\\v(\\w+) (\\w+)/\\2 \\1/<CR>",
    ":%s/\\w\\+/<&>/<CR>",
    ":%s/\\w\\+/\\u&/g<CR>",
    ":%s/ /\\r/<CR>",
    ":%s/e$/;/<CR>",
    ":%s/^/> /<CR>",
    ":%s#o#/#g<CR>",
    ":%s/nothing/x/<CR>x",
    ":s/e/E/<CR>j:s<CR>",
    ":s/e/E/<CR>j:&&<CR>",
    ":s/e/E/<CR>:%s//X/g<CR>",
    "/the<CR>:s//THE/<CR>",
    ":%s/E/x/gi<CR>",
    ":%s/e/x/gI<CR>",
    ":1,2s/e/E/g<CR>",
    ":2,$s/e/E/<CR>",
    ":.,+1s/e/E/<CR>",
    "Vj:s/e/E/<CR>",
    "vj:d<CR>",
    "2:d<CR>",
    ":d<CR>",
    ":2d<CR>",
    ":2,3d<CR>p",
    ":%d<CR>",
    ":$d<CR>",
    ":d a<CR>\"aP",
    ":2y<CR>p",
    ":y b<CR>G\"bp",
    ":j<CR>",
    ":1,3j<CR>",
    ":m$<CR>",
    ":2m0<CR>",
    ":1m2<CR>",
    ":1,2m3<CR>",
    "G:m0<CR>",
    ":t.<CR>",
    ":1t$<CR>",
    ":2,3t0<CR>",
    ":2co1<CR>",
    ":><CR>",
    ":2,3><CR>",
    "j:<<CR>",
    ":g/e/d<CR>",
    ":v/e/d<CR>",
    ":g!/a/d<CR>",
    ":g/e/s/e/E/g<CR>",
    ":g/a/m0<CR>",
    ":g/a/t.<CR>",
    ":g/the/><CR>",
    ":ka<CR>G'ax",
    ":2ma b<CR>'bx",
    "majj:'a,.d<CR>",
    ":/the/d<CR>",
    "G:?the?d<CR>",
    ":1;+1d<CR>",
    "x<|>:u<CR>",
    "x<|>u:red<CR>",
    "yy:2pu<CR>",
    "qaxq:2pu a<CR>",
    ":s/e/E/<CR>@:",
    ":s/e/E/<CR>j@:",
    ":s/e/E/<CR>3@:",
    ":d<CR>.",
    "x:d<CR>.",
    ":nothing<Esc>x",
    ":s/e<BS>o/0/<CR>",
];

/// Where Vim counts cells, osier counts characters.
const DIFFERENT: &[(&str, &str)] = &[
    ("wide", "vewcx<Esc>w."),
    ("wide", "<C-V>jjlld"),
    ("wide", "<C-V>jlrx"),
    ("wide", "<C-V>jlold"),
    ("wide", "<C-V>jrxjw."),
    // The empty line between is a sentence or not.
    ("prose", "d2is"),
];

struct Driver {
    area: TextArea,
    modal: Modal,
    macros: Macros<KeyPress>,
    keymap: Keymap,
    pending: Vec<KeyPress>,
}

impl Driver {
    fn new(keymap: Keymap, text: &str) -> Self {
        let mut area = TextArea::default();
        area.insert(text);
        area.set_cursor(Position::new(0, 0));
        let mut driver = Self {
            area,
            modal: Modal::new(true),
            macros: Macros::default(),
            keymap,
            pending: Vec::new(),
        };
        driver.modal.run(&mut driver.area, Edit::NormalMode);
        driver.area.forget_undo();
        driver
    }

    /// As the editor does it.
    fn press(&mut self, key: KeyPress) {
        self.macros.press(key, self.pending.is_empty());
        self.one_key(key);
        self.serve();
        loop {
            if self.modal.has_failed() {
                self.macros.stop();
            }
            let Some(key) = self.macros.next_key() else {
                break;
            };
            self.one_key(key);
            self.serve();
        }
    }

    fn serve(&mut self) {
        for request in self.modal.take_requests() {
            match request {
                Request::Record(Some(register)) => self.macros.begin(register),
                Request::Record(None) => {
                    if let Some((register, typed)) = self.macros.end(|key| key.typed()) {
                        self.modal.keys_kept(register, &typed);
                    }
                }
                Request::Play {
                    register,
                    text,
                    times,
                } => self.macros.play(register, &text, times, |char| match char {
                    '\n' => KeyPress::plain(KeyCode::Enter),
                    char => KeyPress::char(char),
                }),
                _ => {}
            }
        }
    }

    fn one_key(&mut self, key: KeyPress) {
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
            Lookup::Action(name) => {
                let name = name.to_owned();
                self.pending.clear();
                self.act(&name);
            }
            Lookup::Prefix(_) => self.pending.push(key),
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
            ("<C-V>", KeyPress::ctrl('v')),
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

/// What Vim makes of the same keys.
fn vim(program: &Path, place: &Path, text: &str, typed: &str) -> String {
    let bytes = [
        ("<Esc>", "\u{1b}"),
        ("<CR>", "\r"),
        ("<BS>", "\u{8}"),
        ("<C-R>", "\u{12}"),
        ("<C-V>", "\u{16}"),
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

fn keymap() -> Keymap {
    let sources = [
        KeymapSource::new("default.toml", keymap::DEFAULT),
        KeymapSource::new("vim.toml", include_str!("../../keymaps/vim.toml")),
    ];
    let text: Vec<&str> = sources
        .iter()
        .flat_map(|source| source.text.lines())
        .collect();
    let named = text
        .iter()
        .filter_map(|line| line.split_once("= \"")?.1.strip_suffix('"'));
    let actions: Vec<&str> = named.chain(EDITS.iter().map(|info| info.name)).collect();
    let contexts: Vec<&str> = text
        .iter()
        .filter_map(|line| line.strip_prefix('[')?.strip_suffix(']'))
        .collect();
    Keymap::load(&sources, &contexts, &actions).0
}

#[test]
fn the_keys_of_vim_do_what_vim_does() {
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
    // Most of the time goes into starting Vim, which waits for its files: the texts take turns.
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let compared = texts.map(|(name, text)| {
            let keymap = &keymap;
            scope.spawn(move || compare(program, (name, text), keymap))
        });
        let found = compared.map(|thread| thread.join().unwrap());
        found.into_iter().flatten().collect()
    });
    let count = KEYS.len() * texts.len() - DIFFERENT.len();
    println!("{count} sequences compared with {}", program.display());
    assert!(
        wrong.is_empty(),
        "{} differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// What differs, after all the keys on one text.
fn compare(program: &Path, (name, text): (&'static str, &str), keymap: &Keymap) -> Vec<String> {
    let place = tempfile::tempdir().unwrap();
    let mut wrong = Vec::new();
    for typed in KEYS
        .iter()
        .filter(|typed| !DIFFERENT.contains(&(name, **typed)))
    {
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
