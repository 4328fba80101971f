//! The table of all programs that run other commands, or have arguments that run other programs or name an output file.

use super::{compilers, special};
use crate::shell::Word;

/// The facts about a program. Lists are words that blanks separate.
pub(crate) struct Program {
    pub names: &'static str,
    /// Whether the names can end with a version.
    pub has_versions: bool,
    /// Whether the name can begin with a target, as in `x86_64-linux-gnu-gcc-14`.
    pub has_target: bool,

    /// Whether an argument, with the arguments after it, can be a command.
    pub wraps: bool,
    /// Maximum number of the program's own arguments before that command.
    pub operands: usize,
    /// Whether subcommands or options of the program can run a command.
    pub runs_options: bool,
    /// Whether the program can run anything that its arguments name: no rule with a wildcard is
    /// offered.
    pub runs_anything: bool,
    /// Whether the first argument is a subcommand: a rule for all subcommands would allow too much.
    pub has_subcommands: bool,
    pub shell: Shell,
    /// Whether the program runs all its arguments as one text.
    pub joins: bool,
    /// Whether any argument can be a text that the program runs.
    pub texts_run: bool,
    pub container: Container,
    /// Whether a setting in the arguments can define an alias for another subcommand.
    pub aliases: bool,

    /// How the program completes a command with its input.
    pub adds: Adds,
    /// The input that decides which commands the program runs.
    pub input: Input,
    /// Whether the input can be commands of the program's own language that run another program.
    pub reads_commands: bool,
    /// The program reads commands with this option.
    pub reads_with: Option<char>,
    /// The program starts a shell if no command is given: the word that must be there, and the operands before the
    /// command.
    pub starts_shell: &'static [(&'static str, usize)],
    /// The input can be a script. The value contains the options that name the script: a short one
    /// and long ones. A blank means that any argument can name it.
    pub script_option: Option<(char, &'static str)>,

    /// Subcommands that run other programs, or change what later commands run.
    pub subcommands: &'static str,
    /// Whether a subcommand with a slash is a program of the working directory.
    pub runs_paths: bool,
    /// Dangerous options, which can be abbreviated and have a value after `=`; one letter also matches in a group.
    pub options: &'static str,
    /// Whether the first argument is a group of options, also without a hyphen.
    pub letters: bool,
    /// Whether an argument is dangerous although no option name describes it. The second parameter is the argument
    /// before it.
    pub special: Option<fn(&str, Option<&Word>) -> bool>,
    pub script: Script,
    pub end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shell {
    No,
    /// The program runs the text of an argument as a command of the language that is read here.
    Posix,
    /// The program runs a program of another user, by default a shell, and accepts options also after its operand.
    OfUser,
    /// The shell has another language.
    Other,
}

/// The position at which the command of a container begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Container {
    No,
    Pod,
    /// After the name of an image.
    Image,
}

/// How a program completes a command with its input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Adds {
    Nothing,
    /// The program appends words of its input, or replaces a mark that an option names.
    Input,
    /// Words of the input or of lists after `:::` are appended, or replace marks in braces.
    Lists,
    /// The names of found files replace `{}` after options that run a command.
    Found,
    /// The names of found files replace all marks in braces.
    FoundInBraces,
    /// The name of a changed file replaces `/_`.
    Changed,
}

/// The input, or unread text, that decides which commands a program runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input {
    /// The default for the kind of program: it decides for a shell without a script, and for a program that adds its
    /// input to a command.
    OfKind,
    Always,
    Never,
    /// A script that is named `-`.
    Dash,
    /// A script that its first argument names.
    First,
    /// A text that an option splits by separate rules.
    Split,
    /// A command that this option names.
    Flag(char),
}

/// A language of scripts in arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Script {
    No,
    Awk,
    Sed,
}

/// The meaning of `--`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// No options follow.
    OfOptions,
    /// A rule must name it: options of another program follow.
    Named,
}

/// A program without known facts.
pub(super) const NONE: Program = Program {
    names: "",
    has_versions: false,
    has_target: false,
    wraps: false,
    operands: 0,
    runs_options: false,
    runs_anything: false,
    has_subcommands: false,
    shell: Shell::No,
    joins: false,
    texts_run: false,
    container: Container::No,
    aliases: false,
    adds: Adds::Nothing,
    input: Input::OfKind,
    reads_commands: false,
    reads_with: None,
    starts_shell: &[],
    script_option: None,
    subcommands: "",
    runs_paths: false,
    options: "",
    letters: false,
    special: None,
    script: Script::No,
    end: End::OfOptions,
};

/// Starts of the names of program loaders, which run a program in their arguments.
pub(super) const LOADERS: &str = "ld-linux ld-musl ld.so";

/// Any number of operands.
const ANY: usize = usize::MAX;

/// npm accepts abbreviations.
const NPM_SUBCOMMANDS: &str =
    "c con conf confi config create dlx edit exe exec expl explo explor explore init innit set x";
const NPM_OPTIONS: &str = "-C --browser --cache --cwd --dir --editor --git --globalconfig \
     --node-options --prefix --script-shell --shell --userconfig --viewer";

/// Declares the programs, one row each: `"NAMES": COLUMN, COLUMN: VALUE;`.
macro_rules! programs {
    ($($names:literal: $($column:ident $(: $value:expr)?),+;)+) => {
        pub(super) static PROGRAMS: &[Program] = &[$(Program {
            names: $names,
            $($column: programs!(@value $($value)?),)+
            ..NONE
        }),+];
    };
    (@value) => { true };
    (@value $value:expr) => { $value };
}

programs! {
    // Shells, and builtins that run texts or what they read.
    ". source": runs_anything, input: Input::First;
    "ash bash dash ksh lksh mksh oksh osh posh rbash sh yash": shell: Shell::Posix;
    "csh pwsh tcsh": shell: Shell::Other, runs_anything;
    "elvish es fish nu powershell rc xonsh zsh": shell: Shell::Other;
    "eval": shell: Shell::Posix, input: Input::Never, joins;
    "mapfile readarray": input: Input::Flag('C');
    "su": wraps, shell: Shell::OfUser;
    "trap": shell: Shell::Posix, input: Input::Never, texts_run;
    // Programs that run a command in their arguments.
    "builtin caffeinate catchsegv cgexec choom chpst command coproc cpulimit daemonize dotenv dumb-init \
     eatmydata exec flatpak-spawn genv gnice gnohup gosu gpg-agent gstdbuf heaptrack hyperfine ionice ltrace \
     nice nodemon nohup numactl perf pipesz prlimit proxychains rlwrap setlock setpriv setsid softlimit \
     ssh-agent stdbuf strace su-exec systemd-inhibit time tini torsocks toybox uclampset unbuffer valgrind \
     watchexec xvfb-run":
        wraps;
    "bunx npx uvx": wraps, runs_anything;
    "busybox": wraps, has_versions;
    "bwrap start-stop-daemon": wraps, operands: ANY;
    "capsh runuser": wraps, operands: ANY, starts_shell: &[("", ANY)];
    "chroot gchroot setarch sg": wraps, operands: 1, starts_shell: &[("", 1)];
    "chrt faketime flock gtimeout logsave runcon taskset timeout": wraps, operands: 1;
    "dbus-run-session doas fakechroot fakeroot firejail i386 linux32 linux64 nsenter pkexec run0 sudo \
     systemd-run unshare x86_64":
        wraps, starts_shell: &[("", 0)];
    "entr": wraps, adds: Adds::Changed;
    "env": wraps, input: Input::Split;
    "fd fdfind": wraps, adds: Adds::FoundInBraces;
    "find gfind": wraps, adds: Adds::Found;
    "gdb": wraps, runs_options, operands: ANY, reads_commands;
    "gxargs xargs": wraps, adds: Adds::Input;
    "jobs": wraps;
    "parallel": wraps, adds: Adds::Lists;
    "proot": wraps, operands: ANY, starts_shell: &[("", 0)];
    "screen": wraps, runs_anything, script_option: Some(('c', ""));
    "script": wraps, runs_options, operands: ANY, starts_shell: &[("", ANY)];
    "ssh": wraps, runs_options, options: "-E -F -I -S -o", operands: 1, starts_shell: &[("", 1)];
    "watch": wraps, runs_options;
    // Version control and packages.
    "apt aws brew dnf gcloud systemctl terraform": has_subcommands;
    "asdf bundle direnv doppler mise rbenv": runs_options;
    "bun": runs_anything, subcommands: NPM_SUBCOMMANDS, options: NPM_OPTIONS;
    "cargo": runs_options, has_subcommands;
    "conda": runs_options, starts_shell: &[("run", ANY)];
    "docker nerdctl podman":
        runs_options, runs_anything, options: "--config",
        starts_shell: &[("attach", ANY), ("exec", 2), ("run", 2), ("start", ANY)], container: Container::Image;
    "gh": has_subcommands, subcommands: "alias auth config ext extension extensions", end: End::Named;
    "git": has_subcommands, aliases;
    "go":
        has_subcommands, subcommands: "env generate tool",
        options: "-exec --exec -gccgoflags --gccgoflags -ldflags --ldflags -blockprofile --blockprofile -coverprofile \
            --coverprofile -cpuprofile --cpuprofile -memprofile --memprofile -modfile --modfile -mutexprofile \
            --mutexprofile -outputdir --outputdir -overlay --overlay -pkgdir --pkgdir -trace --trace -toolexec \
            --toolexec -vettool --vettool",
        special: Some(special::of_go);
    "helm": has_subcommands, subcommands: "plugin", options: "--kubeconfig --post-renderer";
    "just": runs_anything, script_option: Some(('f', "--justfile"));
    "kubectl oc":
        runs_options, runs_anything, subcommands: "plugin", options: "--cache-dir --kubeconfig --profile-output",
        runs_paths, starts_shell: &[("attach", ANY), ("debug", 2), ("exec", 2), ("run", 2)],
        container: Container::Pod;
    "ninja": runs_anything, script_option: Some(('f', ""));
    "nix": runs_options, starts_shell: &[("develop", 2), ("shell", ANY)];
    "nix-shell": runs_options, starts_shell: &[("", ANY)];
    "npm pnpm yarn": runs_options, has_subcommands, subcommands: NPM_SUBCOMMANDS, options: NPM_OPTIONS;
    "pip pip3": has_subcommands, subcommands: "config", options: "--log --python --report";
    "pipenv poetry pyenv": runs_options, starts_shell: &[("shell", ANY)];
    // Programs that run commands of their own language, which they read.
    "at batch": runs_anything, input: Input::Always;
    "awk gawk mawk nawk": runs_options, runs_anything, script: Script::Awk, script_option: Some(('f', "--file"));
    "crontab": runs_anything, input: Input::Dash, starts_shell: &[("", 0)], script_option: Some((' ', ""));
    "dc ftp gnuplot lftp lldb m4 mail mailx mariadb mysql red rview rvim": reads_commands;
    "distrobox toolbox": starts_shell: &[("enter", 2)];
    "ed psql": runs_anything, reads_commands;
    "ex nvim sqlite3 vi view vim": runs_options, runs_anything, reads_commands;
    "gmake make":
        runs_options, runs_anything, options: "-E -f --eval --file --makefile", special: Some(special::of_make),
        script_option: Some(('f', "--file --makefile"));
    "gsed sed":
        runs_options, runs_anything, script: Script::Sed,
        script_option: Some(('f', "--file"));
    "lxc-attach schroot systemd-nspawn": starts_shell: &[("", 0)];
    "machinectl": starts_shell: &[("shell", 2)];
    "newgrp": input: Input::Always;
    "scriptlive": starts_shell: &[("", ANY)];
    "sftp": options: "-D -F -S -b -o", reads_commands;
    "tmux": runs_options, runs_anything, script_option: Some((' ', "")), reads_with: Some('C');
    // Programs that can run anything that their arguments name.
    "ansible cmake deno emacs expect gradle gradlew java jshell julia lua luajit mvn nano node nodejs osascript \
     perl php pipx pnpx pypy python rake rm ruby tclsh ts-node tsx xdg-open":
        runs_anything;
    "more uv": runs_options, runs_anything;
    // Programs with options that run others or name an output file.
    "ack ag bat batcat delta": options: "--pager";
    "ar nm objdump ranlib": options: "--plugin", has_target;
    "bsdtar gtar tar":
        runs_options,
        options: "-F -I -T -g --checkpoint-action --files-from --index-file --info-script --listed-incremental \
            --new-volume-script --one-top-level --rmt-command --rsh-command --to-command --use-compress-program --volno-file",
        special: Some(special::of_tar), letters;
    "c++ c89 c99 cc clang clang++ cpp g++ gcc gccgo gdc gfortran gnat":
        special: Some(compilers::is_dangerous), has_target;
    "curl":
        options: "-c -D -F -K -O -o -T --abstract-unix-socket --alt-svc --config --cookie-jar --dump-header --engine \
            --etag-save --form --hsts --libcurl --output --output-dir --remote-name --remote-name-all \
            --ssl-sessions --stderr --trace --trace-ascii --unix-socket --upload-file --variable",
        special: Some(special::of_curl);
    "dd": special: Some(special::of_dd);
    "diff3": options: "--diff-program";
    "eslint prettier":
        options: "-c -f -o --config --format --output-file --parser --plugin --resolve-plugins-relative-to --rulesdir";
    "gold ld lld mold": options: "-o -plugin --plugin -Map --Map --dependency-file --output", has_target;
    "iconv info sdiff": options: "-o --diff-program --dribble --output";
    "less":
        runs_options, runs_anything,
        options: "-k -O -o --lesskey-content --lesskey-file --lesskey-src --log-file --LOG-FILE",
        special: Some(special::starts_command);
    "man": runs_anything, options: "-C -H -P --config-file --html --pager";
    "mypy": options: "--cache-dir --config-file --junit-xml --python-executable";
    "patch": options: "-o -r --output --reject-file";
    "py.test pytest": options: "--basetemp --junit-xml --junitxml --log-file";
    "pylint": options: "--init-hook --load-plugins --rcfile";
    "rsync":
        runs_options, runs_anything,
        options: "-M -T -e --config --daemon --log-file --only-write-batch --remote-option --rsh --rsync-path \
            --temp-dir --write-batch",
        special: Some(special::leaves);
    "ruff": options: "-o --output-file";
    "scp": runs_anything, options: "-D -F -S -b -o";
    "split": options: "--filter";
    "ss": options: "-D --diag";
    // Both options load a library.
    "ssh-keygen": options: "-D -w";
    "yq": options: "-i --inplace -o -s --split-exp";
    "wget":
        options: "-a -e -i -O -o -P --append-output --body-file --config --directory-prefix --execute --hsts-file \
            --input-file --output-document --output-file --post-file --rejected-log --save-cookies --use-askpass \
            --warc-file";
    "zip":
        runs_options,
        options: "-b -lf -O -TT --logfile-path --log-file-path --output-file --temp-path --unzip-command",
        special: Some(special::of_zip);
}
