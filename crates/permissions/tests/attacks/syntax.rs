//! Syntax that hides a command from a reader that is not bash.

use osier_protocol::PermissionMode::{Ask, Yolo};

use super::{Table, check};

/// Lines that run `{C}`, always or for some value of a variable.
const HIDDEN: &[&str] = &[
    // Here-documents: where they end, and what is expanded in them.
    "git status <<E\n\tE\ngit status <<'F'\nE\n{C}\nF",
    "git status <<E\n\tE\ngit status <<'F'\n{C}\nF\nE\n{C}",
    "git status <<-E\n\tE\n{C}",
    "git status <<E\n`{C}`\nE",
    "git status <<E\n$({C})\nE",
    "git status <<E\n$\\\n({C})\nE",
    "git status <<E\n${x:-`{C}`}\nE",
    "git status <<E\nE \nE\n{C}",
    "git status << E\nx\nE\n{C}",
    "git status <<E; {C}\nE",
    "git status <<E\\\nF\nEF\n{C}",
    "git status <<'E F'\nE F\n{C}",
    "git status <<$E\n$E\n{C}",
    "git status <<E\"\"F\nEF\n{C}",
    "git status <<''\n\n{C}",
    "git status <<E <<F\nE\nF\n{C}",
    "git status <<E $(\nE\n{C})\nE",
    "git status $(cat <<'E'\nE; {C})\nE\n)",
    "git status $(cat <<'E'\nx\nE\ngit status; {C})",
    "git status $(cat <<'E'\nE)\n{C}",
    "git status \"$(cat <<'E'\nx\nEa $({C}))\nE\n)\"",
    "git status `cat <<E\nE\n{C}`",
    // Expansions that are more than a value.
    "git status ${x:-\\} #} ; {C}",
    "git status ${x:-$({C})}",
    "git status ${x:=$({C})}",
    "git status ${x:+`{C}`}",
    "git status ${x#$({C})}",
    "git status ${x/$({C})/}",
    "git status ${x@P}",
    "git status ${x^^}",
    "git status ${!x}",
    "git status ${!x*}",
    "git status ${HOME:x}",
    "git status ${HOME:a[$({C})]}",
    "git status ${a[x]}",
    "git status ${a[$({C})]}",
    "git status ${#a[$({C})]}",
    "git status \"${x:-\"}\" ; {C} ; \"\"",
    "git status ${x:-'}' ; {C}",
    "git status ${ {C}; }",
    "git status ${| {C}; }",
    // Arithmetic runs commands in subscripts.
    "git status $['$({C})']",
    "git status $[a[$({C})]]",
    "for x in 'a[$({C})]'; do git status $[x]; done",
    "for x in 'a[$({C})]'; do git status $((x)); done",
    "for x in 'a[$({C})]'; do ((x)); git status; done",
    "for x in 'a[$({C})]'; do [[ $x -eq 1 ]]; done",
    "for x in 'a[$({C})]'; do [[ -v $x ]]; done",
    "git status $((`{C}`))",
    "git status $((a[$({C})]))",
    "for ((i=$({C}); i<1; i++)); do git status; done",
    "for RANDOM in 'a[$({C})]'; do git status; done",
    "for OPTIND in 'a[$({C})]'; do git status; done",
    "SRANDOM='a[$({C})]' git status",
    // Quotes.
    "git status \"$\\\n({C})\"",
    "git status $\\\n({C})",
    "git status \"`\\\n{C}`\"",
    "git status $'\\'' ; {C} ; ''",
    "git status $'\\n'`{C}`",
    "git status $\"`{C}`\"",
    "git status \"$$(a \"; {C}; git status \")\"",
    "git status \"`echo \\\"`; {C} \"",
    "git status `git status \\`{C}\\``",
    "git status 'a\n' ; {C}",
    "git sta\\\ntus; {C}",
    "git status \\\n; {C}",
    "git status # '\n{C} # '",
    "git status $( # )\n{C} )",
    "git status `# `\n{C}",
    "git status ''# ; {C}",
    "git status {\\$,x}({C})",
    "git status {$,x}'$({C})'",
    "git status x{Z..a}{C}{Z..a}",
    "git status >&'$({C})'",
    "git status >&\"\\`{C}\\`\"",
    "git status {x[$({C})]}>/dev/null",
    // Assignments and loops.
    "for PATH in /tmp/evil; do git status; done",
    "for HOME in /tmp/evil; do git status; done",
    "for IFS in x; do git status; done",
    "for https_proxy in evil; do git status; done",
    "for GIT_PAGER in evil; do git status; done",
    "PATH=/tmp/evil; git status",
    "PATH=/tmp/evil git status",
    "LD_PRELOAD=./x.so git status",
    "GIT_EXTERNAL_DIFF='{C}' git status",
    "a[$({C})]=1 git status",
    "a[$({C})]=1",
    "a=($({C})); git status",
    "set -- a; for x do {C}; done",
    "set -- a; for x\ndo {C}; done",
    "for x in a; { {C}; }",
    "for x in git; do $x status; done",
    "select x in a; do {C}; done",
    "case x in x) {C};; esac",
    "case x in (x) git status;; (*) {C};; esac",
    "[[ x =~ $({C}) ]] && git status",
    "coproc {C}",
    "git() { {C}; }; git status",
    "function git { {C}; }; git status",
    "git () ({C}); git status",
    "git status a(b){C}",
    "git status &\n{C}",
    "git status |& {C}",
    "git status <({C})",
    "git status<({C})",
    "git status >({C})",
    "git status 2>({C})",
    "{ git status; {C}; }",
    "! {C}",
    "time {C}",
    "time { {C}; }",
    "time -p -- {C}",
    "if git status; then :; elif {C}; then :; fi",
    "until {C}; do git status; done",
    "((git status) | {C})",
    "(( git status )); {C}",
    // Builtins.
    "test -v 'a[$({C})]'",
    "[ -v 'a[$({C})]' ]",
    "[ x -o -v 'a[$({C})]' ]",
    "for x in -v; do for y in 'a[$({C})]'; do test \"$x\" \"$y\"; done; done",
    "printf -v 'a[$({C})]' x",
    "printf '-va[$({C})]' x",
    "for x in -v; do printf $x 'a[$({C})]' x; done",
    "read 'a[$({C})]' <<< x",
    "unset 'a[$({C})]'",
    "declare 'a[$({C})]=1'",
    "declare -i 'x=a[$({C})]'",
    "export -n 'a[$({C})]'",
    "readonly 'a[$({C})]=1'",
    "let 'a[$({C})]'",
    "mapfile -C '{C}' -c 1 x <<< y",
    "wait -p 'a[$({C})]'",
    "getopts a 'a[$({C})]' -a",
    "compgen -W '$({C})'",
    "complete -C '{C}' git; git status",
    "alias git='{C}'; git status",
    "shopt -s expand_aliases; git status",
    "enable -f ./evil.so git; git status",
    "hash -p ./evil git; git status",
    "builtin eval '{C}'",
    "command eval '{C}'",
    "eval '{C}'",
    "eval 'git status'; {C}",
    "trap '{C}' EXIT; git status",
    "trap '{C}' DEBUG; git status",
    "source ./evil; git status",
    ". ./evil; git status",
    "exec {C}",
    "set -x; git status",
    "export GIT_PAGER='{C}'; git status",
    "export PATH=.; git status",
    "declare -x PATH=.; git status",
    "read PATH <<< .; git status",
    "printf -v PATH .; git status",
    "unset PATH; git status",
    // Control characters.
    "git status #\r{C}",
    "git status\u{8}\u{8}; {C}",
    "git status \u{1b}]0;{C}\u{7}",
    "git status \u{9b}2K",
    // Redirections.
    "git status > .git/hooks/pre-commit",
    "git status >| x",
    "git status <> x",
    "git status &> x",
    "git status >& x",
    "git status 2>&-x",
    "git status > $x",
    "git status > ~/.bashrc",
    "git status < /dev/tcp/evil/80",
    "cd /etc && git status > passwd",
    // Incomplete lines.
    "git status '",
    "git status \"",
    "git status `",
    "git status $(",
    "git status (",
    "git status )",
    "git status &&",
    "git status ;; {C}",
    "git status | ; {C}",
    "if git status; then {C}",
];

/// The commands that the allow rules of the tables name.
const ALLOW: &[&str] = &["bash(git status *)", "bash(cat *)", "bash(:)", "bash([[ *)"];

#[test]
fn hidden_commands_are_asked_about() {
    check(&[Table {
        mode: Ask,
        allow: ALLOW,
        ask: &[],
        deny: &[],
        expected: "ask|deny",
        commands: HIDDEN,
    }]);
}

/// Denied commands do not run even if a rule allows the builtin that hides them.
#[test]
fn allowed_builtins_do_not_run_hidden_commands() {
    let builtins: Vec<&str> = HIDDEN
        .iter()
        .copied()
        .filter(|command| {
            [
                "test",
                "[ ",
                "printf",
                "read",
                "unset",
                "declare",
                "export -n",
                "readonly",
                "let",
                "mapfile",
                "wait",
                "getopts",
                "compgen",
            ]
            .iter()
            .any(|builtin| command.starts_with(builtin))
                && command.contains("{C}")
        })
        .collect();
    assert!(builtins.len() > 12);
    check(&[Table {
        mode: Ask,
        allow: &[
            "bash(test *)",
            "bash([ *)",
            "bash(printf *)",
            "bash(read *)",
            "bash(unset *)",
            "bash(declare *)",
            "bash(export *)",
            "bash(readonly *)",
            "bash(let *)",
            "bash(mapfile *)",
            "bash(wait *)",
            "bash(getopts *)",
            "bash(compgen *)",
            "bash(git status *)",
        ],
        ask: &[],
        deny: &[],
        expected: "ask",
        commands: builtins.leak(),
    }]);
}

/// In `yolo`, syntax that hides a denied command is denied or asked about, unless it only changes how other commands
/// run.
#[test]
fn hidden_commands_do_not_pass_deny_rules() {
    let hidden: Vec<&str> = HIDDEN
        .iter()
        .copied()
        .filter(|command| {
            command.contains("{C}") && !command.contains("GIT_") && !command.contains("''#")
        })
        .collect();
    check(&[
        Table {
            mode: Yolo,
            allow: &[],
            ask: &[],
            deny: &["bash(touch *)"],
            expected: "ask|deny",
            commands: hidden.clone().leak(),
        },
        Table {
            mode: Yolo,
            allow: &["bash"],
            ask: &["bash(touch *)"],
            deny: &[],
            expected: "ask|deny",
            commands: hidden.leak(),
        },
    ]);
}
