use super::*;

/// The parts, one per line: the words joined by blanks, output as `> FILE`.
fn shown(command: &str) -> Option<Vec<String>> {
    let show = |part: Part| match part {
        Part::WriteTo(word) => format!("> {}", word.text),
        Part::ReadFrom(word) => format!("< {}", word.text),
        Part::Run(words) => {
            let words: Vec<String> = words.into_iter().map(|word| word.text).collect();
            words.join(" ")
        }
    };
    let shown = read(command)?.parts.into_iter().map(show);
    Some(
        shown
            .map(|part| part.replace(HOLE, "…").replace(GLOB, "*"))
            .collect(),
    )
}

#[test]
fn every_command_of_a_line_is_found() {
    let cases: &[(&str, &[&str])] = &[
        ("ls", &["ls"]),
        ("a && b || c; d & e", &["a", "b", "c", "d", "e"]),
        ("a | b |& c", &["a", "b", "c"]),
        ("a\nb \\\n c", &["a", "b c"]),
        ("echo $(rm -rf x) y", &["rm -rf x", "echo … y"]),
        ("echo \"in $(rm x)\"", &["rm x", "echo in …"]),
        ("echo `rm x`", &["rm x", "echo …"]),
        ("echo $(echo $(rm x))", &["rm x", "echo …", "echo …"]),
        ("diff <(rm a) <(b)", &["rm a", "b", "diff … …"]),
        ("(cd x; rm y)", &["cd x", "rm y"]),
        ("{ a; b; }", &["a", "b"]),
        ("if a; then b; else c; fi", &["a", "b", "c"]),
        ("while ! a; do b; done", &["a", "b"]),
        ("for x in $(a) *; do b $x; done", &["a", "b …"]),
        ("[ -f x ] && time a", &["[ -f x ]", "time a"]),
        ("r'm' -r\\f \"x y\"", &["rm -rf x y"]),
        ("X=1 a b", &["X=1 a b"]),
        ("echo 'rm; $(x)' # rm y", &["echo rm; $(x)"]),
        ("a '#' b#c", &["a # b#c"]),
        ("git commit -m \"$MSG\"", &["git commit -m …"]),
    ];
    for (command, expected) in cases {
        let found = shown(command).unwrap_or_default();
        assert_eq!(found, *expected, "{command}");
    }
}

#[test]
fn writing_to_a_file_is_a_part() {
    let cases: &[(&str, &[&str])] = &[
        ("a > b", &["> b", "a"]),
        ("a >>b 2>&1", &["> b", "a"]),
        ("a 2> e <in", &["> e", "< in", "a"]),
        ("a &> b", &["> b", "a"]),
        ("> b", &["> b"]),
        ("a >| b", &["> b", "a"]),
        ("a <> b", &["< b", "> b", "a"]),
        ("a 12 > b", &["> b", "a 12"]),
        ("a >&b", &["> b", "a"]),
        ("cat <<E > f\ntext; rm x\nE\nb", &["> f", "cat", "b"]),
        ("cat <<'E'\n$(rm x)\nE", &["cat"]),
    ];
    for (command, expected) in cases {
        let found = shown(command).unwrap_or_default();
        assert_eq!(found, *expected, "{command}");
    }
}

#[test]
fn unparsed_syntax_yields_none() {
    for command in [
        "$X y",
        "$(echo rm) x",
        "`echo rm` x",
        "echo 'open",
        "echo \"open",
        "echo $(open",
        "a )",
        "case x in y) z;; esac",
        "f() { rm x; }",
        "function f { a; }",
        "for ((;;)); do b; done",
        "{rm,-rf,x}",
        "/bin/r? x",
        "r[m] x",
        "echo $((1 + $(rm x)))",
        "((x=1))",
        "echo ${x:-$(rm y)}",
        "echo ${x@P}",
        "echo ${!x}",
        "echo $'\\x72m'",
        "cat <<E\n$(rm x)\nE",
        "cat <<E\nnever ends",
        "a=(b c)",
        "a \u{1b}[2J",
        "a\rb",
        "echo `a \\`rm x\\``",
        "coproc a",
        "a >",
    ] {
        assert_eq!(read(command), None, "{command}");
    }
}

#[test]
fn nesting_is_limited() {
    let deep = format!("{}a{}", "echo $(".repeat(50), ")".repeat(50));
    assert_eq!(read(&deep), None);
}

#[test]
fn assignments_are_distinguished_from_arguments() {
    for (word, expected) in [
        ("A=1", true),
        ("a_1+=x", true),
        ("1=2", false),
        ("--x=y", false),
        ("=x", false),
        ("a", false),
    ] {
        assert_eq!(is_assignment(word), expected, "{word}");
    }
}

/// Input that makes a parser recurse, backtrack or look ahead again and again.
#[test]
fn hostile_input_is_read_in_linear_time() {
    let pieces = [
        "(",
        "$(",
        "$((",
        "${",
        "`",
        "{",
        "{ ",
        "'",
        "\"",
        "\"$(",
        "<(",
        "<<E ",
        "<<'E'\n",
        "if ",
        "for x in ",
        "! ",
        "a|",
        "a&&",
        "[[ ",
        "[",
        "{a,",
        "{1..",
        "*",
        "~",
        "\\",
        " \\\n",
        "$x",
        "a;",
        "x=",
        "a=1 ",
        ">",
        ">&",
        "2>",
        "#",
        "\n",
        "\t",
        "time ",
        "é",
        "command ",
        "read ",
        "$(a ",
        "{ a; ",
        "(a;",
        "`a` ",
        "if a; then ",
        "while a; do ",
        "E\n",
        "sudo ",
        "-a ",
        "find ",
        "eval 'a' ",
        "bash -c 'a b' ",
    ];
    for piece in pieces {
        let count = LENGTH_LIMIT / piece.len();
        for text in [
            piece.repeat(count),
            format!("cat <<E\n{}", piece.repeat(count - 10)),
            format!("{}a{}", piece.repeat(100), ")".repeat(100)),
            format!("{}a{}", piece.repeat(10), "; done; fi; }".repeat(10)),
        ] {
            let line = read(&text);
            assert!(line.is_none_or(|line| line.parts.len() <= text.len()));
        }
    }
    assert_eq!(read(&"a ".repeat(LENGTH_LIMIT)), None);
}
