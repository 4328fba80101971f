//! Programs with arguments that run other programs or name an output file.

use super::git;

/// The dangerous arguments of a program.
pub(super) struct Program {
    pub names: &'static [&'static str],
    /// Subcommands that run other programs, or change what later commands run.
    pub subcommands: &'static [&'static str],
    /// Options, which can be abbreviated and have a value after `=`; one letter also matches in a group.
    pub options: &'static [&'static str],
    /// Options of one subcommand.
    pub of_subcommand: &'static [(&'static str, &'static [&'static str])],
    /// The only subcommands that are no other programs; none for a program that has no such subcommands.
    pub own: &'static [&'static str],
}

pub(super) const NONE: Program = Program {
    names: &[],
    subcommands: &[],
    options: &[],
    of_subcommand: &[],
    own: &[],
};

pub(super) const PROGRAMS: &[Program] = &[
    git::GIT,
    Program {
        names: &["find", "gfind"],
        options: &[
            "-delete", "-exec", "-execdir", "-fls", "-fprint", "-fprint0", "-fprintf", "-ok",
            "-okdir",
        ],
        ..NONE
    },
    Program {
        names: &["fd", "fdfind"],
        options: &["-x", "-X", "--exec", "--exec-batch"],
        ..NONE
    },
    Program {
        names: &["rg"],
        options: &["--hostname-bin", "--pre"],
        ..NONE
    },
    Program {
        names: &["ack", "ag", "bat", "batcat", "delta"],
        options: &["--pager"],
        ..NONE
    },
    Program {
        names: &["man"],
        options: &["-C", "-H", "-P", "--config-file", "--html", "--pager"],
        ..NONE
    },
    Program {
        names: &["sort", "gsort"],
        options: &["--compress-program", "-o", "--output"],
        ..NONE
    },
    Program {
        names: &["tar", "gtar", "bsdtar"],
        options: &[
            "-F",
            "-I",
            // The list can contain options.
            "-T",
            "-g",
            "--checkpoint-action",
            "--files-from",
            "--index-file",
            "--info-script",
            "--listed-incremental",
            "--new-volume-script",
            "--rmt-command",
            "--rsh-command",
            "--to-command",
            "--use-compress-program",
            "--volno-file",
        ],
        ..NONE
    },
    Program {
        names: &["zip"],
        options: &[
            "-b",
            "-lf",
            "-O",
            "-TT",
            "--logfile-path",
            "--log-file-path",
            "--output-file",
            "--temp-path",
            "--unzip-command",
        ],
        ..NONE
    },
    Program {
        names: &["rsync"],
        options: &[
            "-M",
            "-e",
            "--config",
            "--daemon",
            "--log-file",
            "--only-write-batch",
            "--remote-option",
            "--rsh",
            "--rsync-path",
            "--write-batch",
        ],
        ..NONE
    },
    Program {
        names: &["ssh"],
        options: &["-E", "-F", "-I", "-S", "-o"],
        ..NONE
    },
    Program {
        names: &["scp", "sftp"],
        options: &["-D", "-F", "-S", "-b", "-o"],
        ..NONE
    },
    Program {
        names: &["curl"],
        options: &[
            "-c",
            "-D",
            "-F",
            "-K",
            "-O",
            "-o",
            "-T",
            "--abstract-unix-socket",
            "--alt-svc",
            "--config",
            "--cookie-jar",
            "--dump-header",
            "--engine",
            "--etag-save",
            "--form",
            "--hsts",
            "--libcurl",
            "--output",
            "--output-dir",
            "--remote-name",
            "--remote-name-all",
            "--ssl-sessions",
            "--stderr",
            "--trace",
            "--trace-ascii",
            "--unix-socket",
            "--upload-file",
            "--variable",
        ],
        ..NONE
    },
    Program {
        names: &["wget"],
        options: &[
            "-a",
            "-e",
            "-i",
            "-O",
            "-o",
            "-P",
            "--append-output",
            "--body-file",
            "--config",
            "--directory-prefix",
            "--execute",
            "--hsts-file",
            "--input-file",
            "--output-document",
            "--output-file",
            "--post-file",
            "--rejected-log",
            "--save-cookies",
            "--use-askpass",
            "--warc-file",
        ],
        ..NONE
    },
    Program {
        names: &["sed", "gsed"],
        options: &["-f", "-i", "--file", "--in-place"],
        ..NONE
    },
    Program {
        names: &["yq", "tree"],
        options: &["-i", "--inplace", "-o", "-s", "--split-exp"],
        ..NONE
    },
    Program {
        names: &["split"],
        options: &["--filter"],
        ..NONE
    },
    Program {
        names: &["iconv", "info", "sdiff", "shuf"],
        options: &["-o", "--diff-program", "--dribble", "--output"],
        ..NONE
    },
    // Their options have no names that can be listed: see `is_special`.
    Program {
        names: COMPILERS,
        ..NONE
    },
    Program {
        names: &["gold", "ld", "lld", "mold"],
        options: &[
            "-o",
            "-plugin",
            "--plugin",
            "-Map",
            "--Map",
            "--dependency-file",
            "--output",
        ],
        ..NONE
    },
    Program {
        names: &["less"],
        options: &[
            "-k",
            "-O",
            "-o",
            "--lesskey-content",
            "--lesskey-file",
            "--lesskey-src",
            "--log-file",
            "--LOG-FILE",
        ],
        ..NONE
    },
    Program {
        names: &["file"],
        options: &["-C", "--compile"],
        ..NONE
    },
    Program {
        names: &["patch"],
        options: &["-o", "-r", "--output", "--reject-file"],
        ..NONE
    },
    Program {
        names: &["ss"],
        options: &["-D", "--diag"],
        ..NONE
    },
    Program {
        names: &["ar", "nm", "objdump", "ranlib"],
        options: &["--plugin"],
        ..NONE
    },
    Program {
        names: &["mypy"],
        options: &[
            "--cache-dir",
            "--config-file",
            "--junit-xml",
            "--python-executable",
        ],
        ..NONE
    },
    Program {
        names: &["ruff"],
        options: &["-o", "--output-file"],
        ..NONE
    },
    Program {
        names: &["pytest", "py.test"],
        options: &["--basetemp", "--junit-xml", "--junitxml", "--log-file"],
        ..NONE
    },
    Program {
        names: &["diff3"],
        options: &["--diff-program"],
        ..NONE
    },
    Program {
        names: &["jobs"],
        options: &["-x"],
        ..NONE
    },
    Program {
        names: &["kubectl", "oc"],
        subcommands: &["plugin"],
        options: &["--cache-dir", "--kubeconfig", "--profile-output"],
        ..NONE
    },
    Program {
        names: &["helm"],
        options: &["--kubeconfig", "--post-renderer"],
        subcommands: &["plugin"],
        ..NONE
    },
    Program {
        names: &["docker", "podman"],
        options: &["--config"],
        ..NONE
    },
    Program {
        names: &["pip", "pip3"],
        options: &["--log", "--python", "--report"],
        subcommands: &["config"],
        ..NONE
    },
    Program {
        names: &["pylint"],
        options: &["--init-hook", "--load-plugins", "--rcfile"],
        ..NONE
    },
    Program {
        names: &["eslint", "prettier"],
        options: &[
            "-c",
            "-f",
            "-o",
            "--config",
            "--format",
            "--output-file",
            "--parser",
            "--plugin",
            "--resolve-plugins-relative-to",
            "--rulesdir",
        ],
        ..NONE
    },
    Program {
        names: &["cargo"],
        options: &[
            "--artifact-dir",
            "--config",
            "--out-dir",
            "--root",
            "--target-dir",
        ],
        subcommands: &["rustc", "rustdoc"],
        of_subcommand: &[("", &["-C"])],
        ..NONE
    },
    Program {
        names: &["go"],
        options: &[
            "-exec",
            "--exec",
            "-gccgoflags",
            "--gccgoflags",
            "-ldflags",
            "--ldflags",
            "-blockprofile",
            "--blockprofile",
            "-coverprofile",
            "--coverprofile",
            "-cpuprofile",
            "--cpuprofile",
            "-memprofile",
            "--memprofile",
            "-modfile",
            "--modfile",
            "-mutexprofile",
            "--mutexprofile",
            "-outputdir",
            "--outputdir",
            "-overlay",
            "--overlay",
            "-pkgdir",
            "--pkgdir",
            "-trace",
            "--trace",
            "-toolexec",
            "--toolexec",
            "-vettool",
            "--vettool",
        ],
        subcommands: &["env", "generate", "tool"],
        ..NONE
    },
    Program {
        // Both load a library.
        names: &["ssh-keygen"],
        options: &["-D", "-w"],
        ..NONE
    },
    Program {
        names: &["npm", "pnpm", "yarn", "bun"],
        options: &[
            "-C",
            "--browser",
            "--cache",
            "--cwd",
            "--dir",
            "--editor",
            "--git",
            "--globalconfig",
            "--node-options",
            "--prefix",
            "--script-shell",
            "--shell",
            "--userconfig",
            "--viewer",
        ],
        // npm accepts abbreviations.
        subcommands: &[
            "c", "con", "conf", "confi", "config", "create", "dlx", "edit", "exe", "exec", "expl",
            "explo", "explor", "explore", "init", "innit", "set", "x",
        ],
        ..NONE
    },
    Program {
        names: &["gh"],
        subcommands: &["alias", "auth", "config", "ext", "extension", "extensions"],
        ..NONE
    },
];

/// Compilers that run other programs, and their front ends.
pub(super) const COMPILERS: &[&str] = &[
    "c++", "c89", "c99", "cc", "clang", "clang++", "cpp", "g++", "gcc", "gccgo", "gdc", "gfortran",
    "gnat",
];

/// Programs whose first argument is a subcommand: a rule for all of them would allow too much.
pub(super) const WITH_SUBCOMMANDS: &[&str] = &[
    "apt",
    "aws",
    "brew",
    "cargo",
    "dnf",
    "gh",
    "git",
    "go",
    "gcloud",
    "helm",
    "npm",
    "pip",
    "pip3",
    "pnpm",
    "systemctl",
    "terraform",
    "yarn",
];

/// Programs that run whatever their arguments say: no rule with a wildcard is offered for them.
pub(super) const RUNS_ANYTHING: &[&str] = &[
    "ansible",
    "at",
    "awk",
    "batch",
    "bun",
    "bunx",
    "cmake",
    "crontab",
    "csh",
    "deno",
    "docker",
    "ed",
    "emacs",
    "ex",
    "expect",
    "gawk",
    "gradle",
    "gradlew",
    "java",
    "jshell",
    "julia",
    "just",
    "kubectl",
    "less",
    "lua",
    "luajit",
    "make",
    "man",
    "mawk",
    "more",
    "mvn",
    "nano",
    "nawk",
    "ninja",
    "node",
    "nodejs",
    "npx",
    "nvim",
    "osascript",
    "perl",
    "php",
    "pipx",
    "pnpx",
    "podman",
    "psql",
    "pwsh",
    "rake",
    "rm",
    "rsync",
    "ruby",
    "scp",
    "screen",
    "sed",
    "sqlite3",
    "tclsh",
    "tcsh",
    "tmux",
    "ts-node",
    "tsx",
    "uv",
    "uvx",
    "vi",
    "view",
    "vim",
    "xdg-open",
];
