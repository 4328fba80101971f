//! The definitions that the scan and the grammars find in each language.

use crate::definition::{Definition, hash};
use crate::language::{self, Language};
use crate::scan::{Seen, scan};

fn language(path: &str) -> &'static Language {
    language::numbered(language::of_path(path).unwrap()).unwrap()
}

/// The definitions as `line kind name`, and the hashes of the used names.
fn scanned(path: &str, text: &str) -> (Vec<String>, Vec<u32>) {
    let (mut uses, mut found) = (Vec::new(), Vec::new());
    let mut define = |definition| found.push(shown(&definition));
    let language = language(path);
    scan(
        language,
        text.as_bytes(),
        &mut Seen::new(),
        &mut uses,
        &mut define,
    );
    (found, uses)
}

fn shown(definition: &Definition) -> String {
    let Definition {
        name, kind, line, ..
    } = definition;
    format!("{line} {} {name}", kind.name())
}

fn parsed(path: &str, text: &str) -> Vec<String> {
    let grammar = language(path).grammar.unwrap();
    let (found, is_whole) = crate::grammar::definitions(grammar, text.as_bytes()).unwrap();
    assert!(is_whole, "{path}");
    found.iter().map(shown).collect()
}

/// A file of a language with the definitions that the grammar and the scan find.
struct Case {
    path: &'static str,
    text: &'static str,
    expected: &'static [&'static str],
    /// The result of the scan, if it differs.
    scan: Option<&'static [&'static str]>,
}

const CASES: &[Case] = &[
    Case {
        path: "a.rs",
        text: "\
//! fn comment() {}
mod other;
mod tests { fn inner() {} }
pub const LIMIT: usize = helper(\"fn text() {}\");
static mut STATE: u8 = b'{';
pub struct Point<'a> { x: &'a *const Raw }
enum Shape { Round }
trait Draw { fn draw(&self); type Out; }
impl Draw for Point<'_> {
    const fn draw(&self) { let f: fn(u8) = used_name; r#\"struct Raw\"#; }
}
type Alias = Vec<u8>;
macro_rules! shout { () => {} }
",
        expected: &[
            "3 module tests",
            "3 function inner",
            "4 constant LIMIT",
            "5 constant STATE",
            "6 struct Point",
            "7 enum Shape",
            "8 trait Draw",
            "8 function draw",
            "8 type Out",
            "10 function draw",
            "12 type Alias",
            "13 macro shout",
        ],
        scan: None,
    },
    Case {
        path: "a.py",
        text: "\
LIMIT = used_name('def text(): pass')
class Cart(Base):
    '''def doc(): pass'''
    @property
    def total(self):
        def inner(): pass
        return 1  # def comment()
async def main(): pass
if True:
    def late(): pass
",
        expected: &[
            "1 constant LIMIT",
            "2 class Cart",
            "5 function total",
            "8 function main",
            "10 function late",
        ],
        scan: Some(&[
            "2 class Cart",
            "5 function total",
            "6 function inner",
            "8 function main",
            "10 function late",
        ]),
    },
    Case {
        path: "a.ts",
        text: "\
import { x } from 'function text() {}';
export const make = (used_name: number) => { return `class ${x}`; };
export default class Cart extends Base {
  constructor(private n: number) { super(); }
  get total(): number { if (n) { go(); } return 1; }
}
export interface Shape { area(): number }
type Name = string | typeof x;
export enum Color { Red }
async function* run<T>(a: T) { const inner = 1; }
",
        expected: &[
            "2 function make",
            "3 class Cart",
            "4 function constructor",
            "5 function total",
            "7 interface Shape",
            "7 function area",
            "8 type Name",
            "9 enum Color",
            "10 function run",
        ],
        scan: Some(&[
            "2 constant make",
            "3 class Cart",
            "4 function constructor",
            "5 function total",
            "7 interface Shape",
            "8 type Name",
            "9 enum Color",
            "10 function run",
        ]),
    },
    Case {
        path: "a.jsx",
        text: "var View = function () { return <div title=\"a\">{used_name}</div>; };\nclass Page {}\n",
        expected: &["1 function View", "2 class Page"],
        scan: Some(&["1 constant View", "2 class Page"]),
    },
    Case {
        path: "a.go",
        text: "\
package main
const Limit = 10
type Cart struct { n int }
type Shape interface { Area() int }
func (c *Cart) Total(x int) int { f := func() error { return nil }; return used_name }
func main() { var x = `func no() {`; type T int }
",
        expected: &[
            "2 constant Limit",
            "3 struct Cart",
            "4 interface Shape",
            "5 function Total",
            "6 function main",
        ],
        scan: Some(&[
            "2 constant Limit",
            "3 type Cart",
            "4 type Shape",
            "5 function Total",
            "6 function main",
        ]),
    },
    Case {
        path: "a.c",
        text: "\
#define LIMIT 10
struct list;
struct list { struct node *head; };
enum color { RED };
typedef unsigned long size;
static int *find(struct list *l, int n) {
  if (n) { while (used_name(n)) { } }
  return call(n);
}
int declared(int n);
",
        expected: &[
            "1 macro LIMIT",
            "3 struct list",
            "4 enum color",
            "5 type size",
            "6 function find",
        ],
        scan: Some(&["3 struct list", "4 enum color", "6 function find"]),
    },
    Case {
        path: "A.java",
        text: "\
package a;
public class Cart extends Base implements Shape, Other {
  private final int n = used_name(1);
  public Cart(int n) { this.n = n; }
  public List<String> names(int x) throws IOException { for (;;) { run(); } }
  interface Inner { int area(); }
}
enum Color { RED }
record Point(int x) {}
",
        expected: &[
            "2 class Cart",
            "4 function Cart",
            "5 function names",
            "6 interface Inner",
            "6 function area",
            "8 enum Color",
            "9 class Point",
        ],
        scan: Some(&[
            "2 class Cart",
            "4 function Cart",
            "5 function names",
            "6 interface Inner",
            "8 enum Color",
            "9 class Point",
        ]),
    },
];

/// Files in languages without a grammar, and the definitions that the scan finds.
const SCANNED: &[(&str, &str, &[&str])] = &[
    (
        "a.cpp",
        "namespace app {\nenum class Color { Red };\nclass EXPORT Cart final : public Base {\n  int total() const override { return used_name; }\n};\nint Cart::find(int n) { return 1; }\nclass Forward;\ntemplate <class T> T max(T a) { return a; }\n}\n",
        &[
            "1 module app",
            "2 enum Color",
            "3 class Cart",
            "4 function total",
            "6 function find",
            "8 function max",
        ],
    ),
    (
        "a.cs",
        "namespace App {\npublic class Cart : Base {\n  public int Total(int n) { return used_name; }\n}\n}\n",
        &["2 class Cart", "3 function Total"],
    ),
    (
        "a.rb",
        "module App\n  class Cart < Base\n    def self.find(id) # def no\n    end\n    def empty?\n      used_name\n    end\n  end\nend\n",
        &[
            "1 module App",
            "2 class Cart",
            "3 function find",
            "5 function empty?",
        ],
    ),
    (
        "a.sh",
        "# f() {\ndeploy() {\n  echo \"$(used_name)\" ${x#y}\n}\nfunction build { :; }\n",
        &["2 function deploy", "5 function build"],
    ),
    (
        "a.php",
        "<?php\nfinal class Cart { public function &total() { return used_name(); } }\ninterface Shape {}\n",
        &["2 class Cart", "2 function total", "3 interface Shape"],
    ),
    (
        "a.kt",
        "class Cart(val n: Int)\nfun <T> List<T>.second(): T = used_name\nobject App\n",
        &["1 class Cart", "2 function second", "3 class App"],
    ),
    (
        "a.swift",
        "struct Cart { func total() -> Int { used_name } }\nprotocol Shape {}\n",
        &["1 struct Cart", "1 function total", "2 interface Shape"],
    ),
    (
        "a.scala",
        "object App { def run(n: Int) = used_name }\ntrait Shape\n",
        &["1 module App", "1 function run", "2 trait Shape"],
    ),
    (
        "a.lua",
        "--[[ function no() end ]]\nlocal function total() end\nfunction M.find(x) return used_name end\n",
        &["2 function total", "3 function find"],
    ),
    (
        "a.ex",
        "defmodule App.Cart do\n  def total(x), do: used_name\nend\n",
        &["1 module Cart", "2 function total"],
    ),
    (
        "a.dart",
        "class Cart extends Base {\n  int total(int n) { return used_name; }\n}\n",
        &["1 class Cart", "2 function total"],
    ),
    (
        "a.zig",
        "pub fn total(n: u8) u8 { return used_name; }\n",
        &["1 function total"],
    ),
];

#[test]
fn grammars_find_the_definitions_of_each_language() {
    for case in CASES {
        assert_eq!(parsed(case.path, case.text), case.expected, "{}", case.path);
    }
}

#[test]
fn the_scan_finds_definitions_without_a_grammar() {
    for case in CASES {
        let expected = case.scan.unwrap_or(case.expected);
        assert_eq!(scanned(case.path, case.text).0, expected, "{}", case.path);
    }
    for (path, text, expected) in SCANNED {
        assert_eq!(scanned(path, text).0, *expected, "{path}");
    }
}

#[test]
fn names_in_code_are_uses_and_names_in_comments_and_texts_are_not() {
    let texts = CASES.iter().map(|case| (case.path, case.text));
    let texts = texts.chain(SCANNED.iter().map(|(path, text, _)| (*path, *text)));
    for (path, text) in texts {
        let (_, uses) = scanned(path, text);
        assert!(uses.is_sorted_by(|one, other| one < other), "{path}");
        // A shell replaces `$(…)` in texts, which the scan does not know.
        let is_used = uses.contains(&hash(b"used_name"));
        assert_eq!(is_used, path != "a.sh", "{path}");
        for hidden in ["text", "comment", "doc"] {
            assert!(!uses.contains(&hash(hidden.as_bytes())), "{path} {hidden}");
        }
    }
}

#[test]
fn hostile_files_end_and_are_bounded() {
    let deep = "{".repeat(100_000);
    let open = "/*".to_owned() + &"x\n".repeat(1000);
    let many = (0..5000).fold(String::new(), |text, n| text + &format!("fn f{n}() {{}}\n"));
    let long = format!("fn {}() {{}}", "x".repeat(5000));
    for text in [
        deep.as_str(),
        &open,
        "\"",
        "'",
        "'\\",
        "r#\"",
        "fn",
        "fn (",
        "\\",
        "--[[",
    ] {
        for path in [
            "a.rs", "a.py", "a.ts", "a.go", "a.c", "A.java", "a.lua", "a.sh",
        ] {
            assert_eq!(scanned(path, text).0, [""; 0], "{path}");
            if let Some(grammar) = language(path).grammar {
                let _ = crate::grammar::definitions(grammar, text.as_bytes());
            }
        }
    }
    assert_eq!(scanned("a.rs", &many).0.len(), 1000);
    assert_eq!(scanned("a.rs", &long).0, [""; 0]);
}
