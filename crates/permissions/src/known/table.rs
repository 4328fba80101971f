//! The table of known forms: programs with options and operands whose effects are known.
//!
//! A row is a program with its subcommand; `|` separates names. Options are words that blanks separate:
//!
//! | in the list | is |
//! |---|---|
//! | `-abc` | flags of one letter |
//! | `-n:`, `--name:` | an option with a value: attached, after `=`, or the next word |
//! | `-n?`, `--name?` | an option with a value that is attached or missing |
//! | `:r`, `:d`, `:w`, `:c` | the value is a file that is read, a directory to work in, a path to write, columns of `ps` |
//! | `!` at the end | a rule must name the option: it runs a program, loads configuration or connects |
//! | `-#` | a number, as in `-5` |
//! | `@pinned` | no file of the project selects another version of the program, which would run |
//! | `@first` | options end before the first other word |
//! | `@local`, `@response` | no other word contains a `:`, begins with `@` |
//! | `@addresses` | it shows addresses of the configuration of git |
//! | `@part` | the program has other forms: rules with `*` cover what `programs` does not call dangerous |
//! | `@words` | options are complete words, as those of `find` |
//! | `@any` | no option of the program does more than print: file names that look like options do no harm |
//! | `@names` | a word of which the start is known, or a file that the shell finds, is no option |
//! | `@letters` | the first word can be a group of flags without a hyphen |
//! | `@NAME` | the options of a set |
//! | `--` | what follows are options after `--`; `*` is anything |

/// The effect of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// The form only reads: it needs no permission.
    Reads,
    /// A rule with `*` covers the form.
    Rule,
    /// Options before a subcommand.
    Before,
}
use Effect::{Before, Reads, Rule};

/// The meaning of the words that are no options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
    /// No operands are allowed.
    No,
    /// No operands are allowed, but an option is required.
    Flags,
    /// Text, or names that are not opened.
    Text,
    /// Files whose contents are shown.
    Files,
    /// Files, or folders whose files are all shown.
    Trees,
    /// Commits and files of a repository.
    Revisions,
    /// A pattern, then files or, with an option, all files below.
    Search,
    /// A pattern, then folders whose files are all read.
    Tree,
    /// One file; a second one would be written.
    OneFile,
    /// At most one word.
    One,
    /// One of these options is required, and then operands are text.
    With(&'static str),
    /// One of these options is required.
    Needs(&'static str),
    /// A script of sed, awk, jq or yq, then files.
    Sed,
    Awk,
    Filter,
    Query,
    /// Paths to write.
    Written,
    /// Paths to read, and the last one to write.
    Copied,
    /// Any number of words. They name no file to write, or a rule must allow the form in any case.
    Any,
    /// A directory.
    Directory,
    /// Exactly one of these words.
    Alone(&'static str),
    /// A repository. A rule must name the directory for its copy, if there is one.
    Derived,
    /// The name of a setting of git.
    Setting,
    /// The current directory. A rule must name any other one.
    Here,
    /// The tests of `[ … ]`.
    Test,
    /// A format after `+`.
    Format,
}
use Operands::{
    Alone, Any, Awk, Copied, Derived, Directory, Files, Filter, Flags, Format, Here, Needs, No,
    One, OneFile, Query, Revisions, Search, Sed, Setting, Test, Text, Tree, Trees, With, Written,
};

/// A row.
pub(super) type Form = (&'static str, Effect, &'static str, Operands);

/// Sets of options that several rows have.
pub(super) const SETS: &[(&str, &str)] = &[
    ("@help", "--help --version"),
    (
        "@diff",
        "-pusabwRWzDrtmcq0123 -U: -X? -B? -M? -C? -l: -S: -G: -I: -O:r --patch --no-patch --unified: --raw --patch-with-raw \
         --indent-heuristic --no-indent-heuristic --minimal --patience --histogram --anchored: --diff-algorithm: --stat? \
         --stat-width: --stat-name-width: --stat-count: --compact-summary --numstat --shortstat --dirstat? --cumulative \
         --summary --patch-with-stat --name-only --name-status --submodule? --color? --no-color --color-moved? \
         --no-color-moved --color-moved-ws: --word-diff? --word-diff-regex: --color-words? --no-renames --rename-empty \
         --no-rename-empty --check --ws-error-highlight: --full-index --binary --abbrev? --no-abbrev --break-rewrites? \
         --find-renames? --find-copies? --find-copies-harder --irreversible-delete --diff-filter: --find-object: \
         --pickaxe-all --pickaxe-regex --skip-to: --rotate-to: --relative? --no-relative --text --ignore-cr-at-eol \
         --ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines: \
         --inter-hunk-context: --function-context --exit-code --quiet --no-ext-diff --no-textconv --ignore-submodules? \
         --src-prefix: --dst-prefix: --no-prefix --default-prefix --line-prefix: --ita-invisible-in-index --base --ours \
         --theirs --cached --staged --merge-base --cc --combined-all-paths --diff-merges: --no-diff-merges --remerge-diff \
         --root",
    ),
    (
        "@log",
        "@diff -# -n: -L: -giEFP --max-count: --skip: --since: --after: --until: --before: --since-as-filter: --author: \
         --committer: --grep: --grep-reflog: --all-match --invert-grep --regexp-ignore-case --basic-regexp \
         --extended-regexp --fixed-strings --perl-regexp --remove-empty --merges --no-merges --min-parents: \
         --max-parents: --no-min-parents --no-max-parents --first-parent --exclude-first-parent-only --not --all \
         --branches? --tags? --remotes? --glob: --exclude: --exclude-hidden: --reflog --single-worktree \
         --ignore-missing --bisect --cherry-mark --cherry-pick --cherry --left-only --right-only --walk-reflogs --merge \
         --boundary --simplify-by-decoration --show-pulls --full-history --dense --sparse --simplify-merges \
         --ancestry-path? --date-order --author-date-order --topo-order --reverse --no-walk? --do-walk --pretty? \
         --format: --abbrev-commit --no-abbrev-commit --oneline --encoding: --expand-tabs? --no-expand-tabs --notes? \
         --no-notes --show-notes? --relative-date --date: --parents --children --left-right --graph --no-graph \
         --show-linear-break? --follow --no-decorate --decorate? --decorate-refs: --decorate-refs-exclude: \
         --clear-decorations --source --mailmap --no-mailmap --use-mailmap --log-size --count --full-diff --no-commit-id",
    ),
    (
        "@refs",
        "-i --contains: --no-contains: --merged: --no-merged: --points-at: --sort: --format: --column? --no-column --color? \
         --no-color --ignore-case --omit-empty",
    ),
    (
        "@merge",
        "-qvne -S? --no-edit --edit --commit --no-commit --ff --no-ff --ff-only --squash --no-squash --stat --no-stat --log? \
         --no-log --signoff --no-signoff -m: -X: --strategy-option: --verify --no-verify --autostash --no-autostash \
         --allow-unrelated-histories --quiet --verbose --progress --no-progress --abort --continue --quit --rerere-autoupdate \
         --no-rerere-autoupdate --no-gpg-sign --into-name: --cleanup: -F:r --file:r",
    ),
    (
        "@fetch",
        "-aqvfkptPnu46 -j: --all --no-all --append --atomic --depth: --deepen: --shallow-since: --shallow-exclude: --unshallow \
         --update-shallow --dry-run --force --keep --multiple --auto-maintenance --no-auto-maintenance --auto-gc --no-auto-gc \
         --write-commit-graph --prefetch --prune --prune-tags --no-tags --tags --refmap: --recurse-submodules? \
         --no-recurse-submodules --jobs: --quiet --verbose --progress --no-progress --set-upstream --ipv4 --ipv6 \
         --show-forced-updates --no-show-forced-updates -o: --server-option: --filter: --refetch --porcelain \
         --negotiation-tip:",
    ),
    (
        "@cargo",
        "-qv -j: -p: -F: --quiet --verbose --color: --jobs: --keep-going --profile: --release -r --features: --all-features \
         --no-default-features --target: --package: --workspace --exclude: --all --lib --bin: --bins --example: --examples \
         --test: --tests --bench: --benches --all-targets --locked --offline --frozen --manifest-path:d --message-format: \
         --timings? --ignore-rust-version --future-incompat-report --unit-graph",
    ),
    (
        "@list",
        "-aAbBcCdDfFgGhHiIklLmnNopqQrRsStTuUvwxXZ1 --all --almost-all --author --block-size: --color? --directory --classify? \
         --dereference-command-line --file-type --format: --full-time --group-directories-first --no-group --human-readable \
         --si --hide: --hyperlink? --indicator-style: --inode --ignore: --kibibytes --dereference --numeric-uid-gid --literal \
         --quote-name --quoting-style: --reverse --recursive --size --sort: --time: --time-style: --width: --context --zero \
         --escape --ignore-backups --show-control-chars --hide-control-chars @help",
    ),
    (
        "@grep",
        "-EFGPivwxclLqsbHhnorRaIUZyz0 -# -e: -m: -A: -B: -C: -d: -D: --regexp: --extended-regexp --fixed-strings --basic-regexp \
         --perl-regexp --ignore-case --no-ignore-case --invert-match --word-regexp --line-regexp --count --color? --colour? \
         --files-without-match --files-with-matches --max-count: --only-matching --quiet --silent --no-messages --byte-offset \
         --with-filename --no-filename --label: --line-number --initial-tab --null --after-context: --before-context: \
         --context: --group-separator: --no-group-separator --text --binary-files: --devices: --directories: --exclude: \
         --exclude-dir: --include: --recursive --dereference-recursive --line-buffered --null-data -T @help",
    ),
];

/// A program that runs a program: its names, its options, the number of its own operands, and
/// whether it adds words of its input.
pub(super) type Wrapper = (&'static str, &'static str, usize, bool);

/// Programs that run the program in their arguments, and do nothing else.
pub(super) const WRAPPERS: &[Wrapper] = &[
    ("time", "-p", 0, false),
    ("nice|gnice", "-# -n: --adjustment:", 0, false),
    (
        "ionice",
        "-t -c: -n: --class: --classdata: --ignore",
        0,
        false,
    ),
    (
        "timeout|gtimeout",
        "-v -k: -s: --kill-after: --signal: --preserve-status --foreground --verbose",
        1,
        false,
    ),
    (
        "stdbuf|gstdbuf",
        "-i: -o: -e: --input: --output: --error:",
        0,
        false,
    ),
    // Assignments of variables are judged separately. `-i` would remove those that osier sets for
    // git.
    ("env|genv", "", 0, false),
    (
        "xargs|gxargs",
        "-0rtx -n: -L: -P: -d: -s: -I: --null --no-run-if-empty --verbose --exit --max-args: --max-lines: --max-procs: --delimiter: --max-chars:",
        0,
        true,
    ),
];

/// Columns of `ps` that do not show the arguments of programs.
pub(super) const COLUMNS: &str = "pid ppid pgid pgrp sid sess tid lwp spid nlwp thcount user ruser euser uid ruid euid group rgroup gid comm ucomm ucmd %cpu pcpu c %mem pmem rss rssize rsz vsz vsize sz size drs trs pss uss etime etimes time cputime cputimes times start start_time lstart bsdstart bsdtime stat state s f flags flag ni nice pri priority opri psr cls policy rtprio wchan nwchan tty tt tname tpgid majflt minflt maj_flt min_flt";

/// All known forms.
#[rustfmt::skip]
pub(super) const FORMS: &[Form] = &[
    // Builtins of the shell.
    (":|true|false", Reads, "@any", Text),
    ("pwd", Reads, "@any -LP", Text),
    ("cd", Reads, "-LPe", Directory),
    ("echo", Reads, "@any", Text),
    ("printf", Reads, "@any", Text),
    ("[|test|[[", Reads, "@any", Test),
    ("command", Reads, "@part @first -vV", With("-v -V")),
    ("type", Reads, "-aftpP", Text),
    ("which", Reads, "@part -as", Text),
    ("whereis|whatis|apropos", Reads, "-bmsflu", Text),
    ("wait|sleep", Reads, "", Text),
    ("read", Reads, "-rse -d: -n: -N: -p: -t:", Text),
    ("set", Reads, "-eu -o:", Flags),
    ("exit|return|break|continue|shift", Reads, "", Text),
    ("umask|ulimit|times|dirs", Reads, "-Sac", No),
    // Files and folders.
    ("ls|dir|vdir", Reads, "@any @list -I: -T: -w: --tabsize:", Text),
    ("cat|tac", Reads, "@any -AbeEnstTuv --number --number-nonblank --show-all --show-ends --show-nonprinting --show-tabs --squeeze-blank --before --regex --separator: -r @help", Files),
    ("head", Reads, "@any -# -qvz -n: -c: --lines: --bytes: --quiet --silent --verbose --zero-terminated @help", Files),
    ("tail", Reads, "@any -# -fFqvzr -n: -c: -s: --lines: --bytes: --quiet --silent --verbose --zero-terminated --follow? --pid: --retry --sleep-interval: @help", Files),
    ("wc", Reads, "@names -clmwL --bytes --chars --lines --words --max-line-length --total: @help", Text),
    ("nl", Reads, "@any -p -b: -d: -f: -h: -i: -l: -n: -s: -v: -w: --body-numbering: --number-format: --number-width: --number-separator: @help", Files),
    ("od|hexdump|hd", Reads, "@any -abcdfhilosvxCB -A: -j: -N: -t: -w? -S? -n: -s: -e: -f --address-radix: --skip-bytes: --read-bytes: --format: --width? --strings? --bytes: --radix: --all --output-duplicates @help", Files),
    ("rev", Reads, "@any @help", Files),
    ("cut", Reads, "@any -nsz -b: -c: -d: -f: --bytes: --characters: --delimiter: --fields: --complement --only-delimited --output-delimiter: --zero-terminated @help", Files),
    ("paste", Reads, "@any -sz -d: --serial --delimiters: --zero-terminated @help", Files),
    ("join", Reads, "@any -iz -a: -e: -j: -o: -t: -v: -1: -2: --check-order --nocheck-order --header --ignore-case @help", Files),
    ("comm", Reads, "@any -123z --check-order --nocheck-order --output-delimiter: --total --zero-terminated @help", Files),
    ("cmp", Reads, "-bls -i: -n: --print-bytes --ignore-initial: --verbose --bytes: --quiet --silent @help", Files),
    ("diff", Reads, "-qsrNabBdeEitTuwyZp -# -c -C: -U: -I: -x: -F: -W: --normal --brief --report-identical-files --context? --unified? --ed --rcs --side-by-side --width: --left-column --suppress-common-lines --show-c-function --show-function-line: --label: -L: --expand-tabs --recursive --new-file --unidirectional-new-file --ignore-case --exclude: --ignore-tab-expansion --ignore-trailing-space --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines: --strip-trailing-cr --text --minimal --color? --no-dereference --speed-large-files @help", Trees),
    ("fold|fmt|expand|unexpand", Reads, "-abcistuz -# -w: -g: -p: -t: --width: --bytes --spaces --tabs: --goal: --initial --all --first-only @help", Files),
    ("column", Reads, "-telxLRJndm -s: -o: -c: -N: -n: -H: -W: -O: -E: -i: -p: -r: -T: --table --separator: --output-separator: --table-columns: --table-name: --table-right: --table-hide: --json --fillrows --keep-empty-lines @help", Files),
    ("pr", Reads, "-# -adFfmtTrvJ -h: -l: -w: -W: -o: -n? -e? -i? -s? @help", Files),
    ("tr", Reads, "@any -cCdst --complement --delete --squeeze-repeats --truncate-set1 @help", Text),
    ("sort|gsort", Reads, "-bdfgihMnRrVcCmsuz -k: -t: -S: --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --ignore-nonprinting --human-numeric-sort --month-sort --numeric-sort --random-sort --reverse --sort: --version-sort --check? --debug --key: --merge --stable --buffer-size: --field-separator: --parallel: --unique --zero-terminated --batch-size: @help", Files),
    ("uniq", Reads, "-cdDiuz -f: -s: -w: --count --repeated --all-repeated? --group? --ignore-case --skip-fields: --skip-chars: --unique --zero-terminated --check-chars: @help", OneFile),
    ("tsort|shuf|gshuf", Reads, "-erz -i: -n: --echo --input-range: --head-count: --repeat --zero-terminated @help", Files),
    ("basename|dirname", Reads, "@any -azs: --suffix: --multiple --zero @help", Text),
    ("seq|expr|factor|numfmt", Reads, "-azw -s: -f: --suffix: --multiple --zero --separator: --format: --equal-width --to: --from: --field: --delimiter: --padding: --round: --header? --grouping --invalid: -d: @help", Text),
    ("md5sum|sha1sum|sha224sum|sha256sum|sha384sum|sha512sum|b2sum|cksum|sum|shasum", Reads, "-bctwzrs -a: --binary --check --tag --text --zero --ignore-missing --quiet --status --strict --warn --algorithm: --length: --raw --base64 --untagged @help", Files),
    ("base64|base32", Reads, "-di -w: --decode --ignore-garbage --wrap: @help", Files),
    ("stat", Reads, "@any -Lft -c: --dereference --file-system --cached: --format: --printf: --terse @help", Text),
    ("file", Reads, "-bhiLNnprsEkv0 -F: -e: -P: --brief --mime --mime-type --mime-encoding --extension --keep-going --no-dereference --dereference --exclude: --separator: --no-pad --print0 --raw --uncompress-noreport @help", Text),
    ("du", Reads, "-abcDHhkLlmPsSx0 -d: -t: -B: -X:r --apparent-size --all --block-size: --bytes --total --dereference --max-depth: --human-readable --inodes --summarize --si --separate-dirs --threshold: --time? --time-style: --exclude: --one-file-system --null @help", Text),
    ("df", Reads, "-ahHiklPTv -B: -t: -x: --all --block-size: --human-readable --si --inodes --local --output? --portability --print-type --total --type: --exclude-type: @help", Text),
    ("readlink|realpath", Reads, "-efmnqsvzLPE --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent --verbose --zero --logical --physical --strip --no-symlinks --relative-to: --relative-base: @help", Text),
    ("tree", Reads, "-adflxCnNqpsughDFrtcUvXJSA -L: -I: -P: --dirsfirst --filesfirst --prune --noreport --gitignore --ignore-case --matchdirs --du --si --inodes --device --sort: --charset: --timefmt: --filelimit: --nolinks --metafirst --info --help --version", Text),
    ("find|gfind", Reads, "@words -H -L -P -O? -name: -iname: -path: -ipath: -wholename: -iwholename: -lname: -ilname: -regex: -iregex: -regextype: -type: -xtype: -maxdepth: -mindepth: -newer: -anewer: -cnewer: -newermt: -newerat: -newerct: -mtime: -mmin: -atime: -amin: -ctime: -cmin: -size: -empty -perm: -user: -group: -uid: -gid: -nouser -nogroup -links: -inum: -samefile: -readable -writable -executable -fstype: -prune -print -print0 -printf: -ls -quit -depth -d -mount -xdev -daystart -follow -noleaf -warn -nowarn -not ! ( ) -a -and -o -or , -true -false -used: -help -version --help --version", Text),
    ("fd|fdfind", Reads, "-HIsigatLpFuq10 -d: -e: -E: -t: -S: -c: -j: -o: --hidden --no-ignore --no-ignore-vcs --no-ignore-parent --unrestricted --case-sensitive --ignore-case --glob --regex --fixed-strings --and: --absolute-path --follow --full-path --print0 --max-depth: --min-depth: --exact-depth: --prune --type: --extension: --exclude: --size: --changed-within: --changed-before: --owner: --max-results: --quiet --show-errors --color: --threads: --strip-cwd-prefix? --path-separator: @help", Text),
    ("grep|egrep|fgrep", Reads, "@grep -f:r --file:r --exclude-from:r", Search),
    ("rg", Reads, "-# -abcFHiIlLnNopPqsSUuvVwx.0 -A: -B: -C: -E: -M: -d: -e: -f:r -g: -j: -m: -r: -t: -T: --regexp: --file:r --after-context: --before-context: --context: --auto-hybrid-regex --binary --block-buffered --byte-offset --case-sensitive --color: --colors: --column --no-column --context-separator: --count --count-matches --crlf --debug --dfa-size-limit: --encoding: --engine: --field-context-separator: --field-match-separator: --files --files-with-matches --files-without-match --fixed-strings --follow --glob: --glob-case-insensitive --heading --no-heading --hidden --no-hidden --iglob: --ignore-case --ignore-file:r --include-zero --invert-match --json --line-buffered --line-number --no-line-number --line-regexp --max-columns: --max-columns-preview --max-count: --max-depth: --maxdepth: --max-filesize: --mmap --no-mmap --multiline --multiline-dotall --no-config --no-ignore --no-ignore-dot --no-ignore-exclude --no-ignore-files --no-ignore-global --no-ignore-messages --no-ignore-parent --no-ignore-vcs --no-messages --no-require-git --no-unicode --null --null-data --one-file-system --only-matching --passthru --path-separator: --pcre2 --pcre2-version --pretty -p --quiet --regex-size-limit: --replace: --smart-case --sort: --sortr: --stats --stop-on-nonmatch --text --threads: --trim --type: --type-not: --type-list --type-add: --type-clear: --unrestricted --vimgrep --with-filename --no-filename --word-regexp @help", Tree),
    ("sed|gsed", Reads, "-nErsuz -e: --expression: --quiet --silent --regexp-extended --separate --unbuffered --null-data --posix --debug --sandbox -l: @help", Sed),
    ("awk|gawk|mawk|nawk", Reads, "-F: -v:", Awk),
    ("jq|gojq|jaq", Reads, "-acCejMnrsSR --compact-output --null-input --raw-input --slurp --raw-output --raw-output0 --join-output --ascii-output --sort-keys --color-output --monochrome-output --tab --indent: --unbuffered --stream --stream-errors --seq --exit-status --arg:: --argjson:: --slurpfile::r --rawfile::r --args --jsonargs @help", Filter),
    ("yq", Reads, "@part -rPCMNenjc0yY -o: -p: -I: --output-format: --input-format: --prettyPrint --no-colors --colors --unwrapScalar? --no-doc --null-input --exit-status --tojson --indent: --yaml-output --raw-output --compact-output @help", Query),
    ("bc", Reads, "-lqswihvq -e: --mathlib --quiet --standard --warn --version --help --expression:", Files),
    ("ag", Reads, "@part -# -acFHhilnLNQsSvwtu0U -A: -B: -C: -m: -G: -g: --after: --before: --context: --all-types --all-text --count --color --nocolor --column --nocolumn --filename --nofilename --files-with-matches --files-without-matches --file-search-regex: --follow --group --nogroup --heading --noheading --hidden --ignore: --ignore-case --ignore-dir: --invert-match --literal --fixed-strings --max-count: --nobreak --break --nonumbers --numbers --null --only-matching --print-long-lines --smart-case --case-sensitive --unrestricted --vimgrep --word-regexp --rust --python --js --ts --go --cc --cpp --csharp --java --kotlin --ruby --html --css --sass --json --yaml --toml --markdown --php --shell --sql --swift --xml", Tree),
    ("bat|batcat", Reads, "@part -npAfPu -l: -r: -H: --plain --paging: --style: --color: --decorations: --language: --line-range: --highlight-line: --number --show-all --wrap: --tabs: --theme: --terminal-width: --file-name: --squeeze-blank --force-colorization --nonprintable-notation: --strip-ansi: --no-pager --list-languages --list-themes @help", Files),
    ("xxd", Reads, "-abCdeEipu -c: -g: -l: -n: -o: -s: -r -h -v -cols: -len: -seek: -groupsize:", OneFile),
    ("zcat|bzcat|xzcat|zstdcat|lz4cat", Reads, "-fqv", Files),
    ("unzip", Reads, "@part -l -v -Z -t -q", With("-l -v -Z -t")),
    ("zipinfo", Reads, "@part -12hlmstvzTM", Files),
    ("tar|bsdtar|gtar", Reads, "@part @letters @local -tvzjJa -f:r --list --verbose --gzip --gunzip --bzip2 --xz --zstd --auto-compress --file:r --wildcards --no-wildcards --exclude: --strip-components: --full-time --utc --quoting-style: --numeric-owner --force-local ", With("-t --list")),
    ("nm|size|objdump|readelf|strings|c++filt", Reads, "@part @response -aABCDfFhnopPrRstTuVxdX -j: -t: -m: -M: --demangle? --dynamic --extern-only --undefined-only --defined-only --no-sort --numeric-sort --print-size --size-sort --reverse-sort --radix: --format: --headers --section-headers --program-headers --symbols --syms --dynamic-syms --all --file-header --relocs --disassemble --no-show-raw-insn --wide --section: --start-address: --stop-address: --bytes: -n: @help", Files),
    // The system.
    ("date", Reads, "-uIR -d: -I? -r: --date: --utc --universal --iso-8601? --rfc-3339: --rfc-email --reference: @help", Format),
    ("cal|ncal", Reads, "-1 -3 -y -j -m -s -w -n: -A: -B: @help", Text),
    ("uname|nproc|whoami|groups|id|logname|users|tty|uptime|free|locale|lscpu|lsmem|lsusb|lsblk|sw_vers|hostid|getconf", Reads, "-abcdefghiklmnopqrstuvwxGHILMNOPRSTUVZ @help --all --ignore: --kernel-name --nodename --kernel-release --machine --operating-system --bytes --mega --giga --human --total --pretty --since", Text),
    ("arch", Reads, "", No),
    ("pstree", Reads, "-cghlnpstTuUZAGH --compact-not --show-pids --show-pgids --long --numeric-sort --hide-threads --ascii --unicode --version", Text),
    ("hostname", Reads, "-sI --short --all-ip-addresses", No),
    // Without the arguments of processes, which can contain passwords.
    ("ps", Reads, "@words -e -A -a -d -T -L -H -N -p: -q: -t: -u: -U: -g: -G: -C: -o:c -eo:c -Ao:c -ao:c -axo:c axo:c --format:c --sort: --pid: --ppid: --user: --tty: --no-headers --forest", No),
    ("top", Reads, "@part -bHi1 -n: -o: -p: -u: -U: -w?", Needs("-n")),
    // Without `-n` it asks a server for the names of hosts.
    ("lsof", Reads, "@part -nPtlUawRb -i? -p: -u: -c: -d: -s: -F? -v -h", Needs("-n")),
    ("tput cols|tput lines|tput colors|tput bold|tput dim|tput rev|tput sgr0|tput smul|tput rmul|tput el", Reads, "@part -T:", No),
    ("tput setaf|tput setab", Reads, "@part -T:", One),
    ("pgrep", Reads, "-cfilnovwxqs -d: -g: -G: -P: -s: -t: -u: -U: --full --list-name --count --newest --oldest --exact --ignore-case @help", Text),
    ("ss", Reads, "@part -abeghilmnopstuvwx046 --tcp --udp --listening --numeric --processes --all --summary", No),
    ("jobs", Reads, "-lnprs", Text),
    ("tokei|cloc|scc", Reads, "@part -f -C -e: -t: -s: -o: --files --sort: --exclude: --types: --hidden --by-file --quiet --exclude-dir: --include-ext: --vcs: @help", Text),
    // Versions of tools. With other arguments they run code.
    ("node|nodejs|npm|python|python3|pip|pip3|ruby|gem|perl|php|java|javac|rustc|rustup|rustfmt|gcc|g++|clang|cc|make|gmake|cmake|docker|podman|bash|zsh|fish|tmux|vim|nvim|emacs|curl|wget|zip|openssl|sqlite3|psql|mysql|redis-cli|uv|ruff|black|mypy|prettier|tsc|just|ninja|meson|zig|ghc|lua|luajit|R|julia|nix|dpkg|strace|gdb|lldb|ffmpeg|pandoc|gpg|rsync|deno|bun", Reads, "@pinned", Alone("--version -version")),
    ("node|nodejs|npm|bun|ruby|perl|php|lua", Reads, "@pinned", Alone("-v")),
    ("python|python3|rustc|pip|pip3|ssh|tmux|curl|wget", Reads, "@pinned", Alone("-V")),
    ("rustc", Reads, "@part @pinned -vV --version --verbose", No),
    ("rustc --print sysroot|rustc --print cfg|rustc --print target-list|rustc --print host-tuple|rustc --print target-cpus", Reads, "@part @pinned", No),
    ("go|openssl|zig", Reads, "@pinned", Alone("version")),
    // For other names, `go env` runs a compiler, or shows addresses that can contain passwords.
    ("go env GOPATH|go env GOROOT|go env GOOS|go env GOARCH|go env GOMOD|go env GOVERSION|go env GOBIN|go env GOCACHE|go env GOMODCACHE|go env GOWORK", Reads, "@part @pinned", No),
    ("rustup toolchain list|rustup target list|rustup component list", Reads, "@part @pinned --installed -v --verbose", Text),
    ("dpkg", Reads, "@part -lLsSp --list --listfiles --status --search --print-avail", Text),
    // Each subcommand has its own row: `--local` of another one abbreviates `--local-log`.
    ("pip list|pip3 list", Reads, "@part @pinned -lvq --format: --local --user --not-required --verbose --disable-pip-version-check", Text),
    ("pip freeze|pip3 freeze", Reads, "@part @pinned -lvq --local --user --verbose --disable-pip-version-check", Text),
    ("pip show|pip3 show", Reads, "@part @pinned -fvq --files --verbose --disable-pip-version-check", Text),
    ("pip check|pip3 check", Reads, "@part @pinned -vq --verbose --disable-pip-version-check", Text),
    // Cargo: a build runs build scripts and macros of the project.
    ("cargo", Before, "@cargo -Z:! -C:! --config:!", No),
    // Without dependencies nothing is resolved, and no compiler runs.
    ("cargo metadata", Reads, "@pinned -q --quiet --no-deps --format-version: --color: --manifest-path:d", Needs("--no-deps")),
    ("cargo locate-project", Reads, "@pinned -q --quiet --workspace --message-format: --color: --manifest-path:d", No),
    ("cargo tree|cargo metadata|cargo pkgid|cargo locate-project|cargo verify-project|cargo read-manifest", Rule, "@cargo -ide: --invert: --depth: --prefix: --no-dedupe --duplicates --charset: --format: --edges: --prune: --format-version: --no-deps --filter-platform: --workspace --message-format:", Any),
    ("cargo", Reads, "@pinned -V --version", No),
    ("cargo version", Reads, "@pinned -v --verbose", No),
    ("cargo build|cargo check|cargo doc|cargo clean|cargo b|cargo c|cargo d|cargo fetch|cargo generate-lockfile|cargo package|cargo vendor", Rule, "@cargo --build-plan --open --no-deps --document-private-items --doc --allow-dirty --no-verify --list --no-metadata --dry-run -n", Any),
    ("cargo clippy|cargo fix", Rule, "@cargo --fix --no-deps --allow-dirty --allow-staged --allow-no-vcs --broken-code --edition --edition-idioms -- -D: -W: -A: -F: --deny: --warn: --allow: --forbid:", Any),
    ("cargo test|cargo run|cargo bench|cargo t|cargo r|cargo miri|cargo nextest", Rule, "@cargo --no-run --no-fail-fast --doc --ignore-rust-version -E: --run-ignored: --no-capture --nocapture --retries: -- *", Any),
    ("cargo fmt", Rule, "-qv -p: --all --check --package: --quiet --verbose --message-format: --manifest-path:d -- --check --edition: --emit: -l", Any),
    ("cargo add|cargo remove|cargo rm|cargo update|cargo search|cargo info|cargo install|cargo uninstall|cargo init|cargo new|cargo publish|cargo yank|cargo owner|cargo login|cargo logout|cargo report", Rule, "@cargo -L: -Dn --dev --build --optional --no-optional --rename: --path: --git: --branch: --tag: --rev: --registry: --vers: --version: --force -f --debug --dry-run --precise: --recursive --aggressive --limit: --index: --list --no-track --edition: --name: --vcs: --allow-dirty --no-verify --token: --undo --add:", Any),
    // Git: the command line can name the repository, and the configuration programs.
    ("git", Before, "-pP --paginate --no-pager --no-optional-locks --literal-pathspecs --glob-pathspecs --noglob-pathspecs --icase-pathspecs --no-replace-objects --no-lazy-fetch --no-advice --bare --attr-source: --shallow-file:! -C:d -c:! --config-env:! --git-dir:! --work-tree:! --namespace:! --exec-path?! --super-prefix:! --list-cmds:", No),
    ("git", Reads, "-vh --version --exec-path --html-path --man-path --info-path", No),
    ("git version", Reads, "--build-options", No),
    ("git status", Reads, "-sbvz -u? --short --branch --show-stash --no-show-stash --porcelain? --long --verbose --untracked-files? --ignore-submodules? --ignored? --column? --no-column --ahead-behind --no-ahead-behind --renames --no-renames --find-renames?", Revisions),
    ("git diff|git range-diff", Reads, "@diff --creation-factor: --no-dual-color --left-only --right-only", Revisions),
    ("git log|git show|git shortlog|git whatchanged|git rev-list|git reflog show|git cherry", Reads, "@log -v --summary --numbered --email -e --group: -w? --objects --objects-edge --disk-usage? --header --timestamp --in-commit-order --max-count: --stdin", Revisions),
    ("git reflog", Reads, "@log", No),
    ("git diff-tree|git diff-index|git diff-files", Reads, "@log -v --stdin", Revisions),
    ("git branch", Reads, "-avqrl @refs --all --remotes --list --show-current --verbose --quiet --abbrev? --no-abbrev", With("--list -l --contains --no-contains --merged --no-merged --points-at")),
    ("git tag", Reads, "-l -n? @refs --list", With("--list -l --contains --no-contains --merged --no-merged --points-at -n")),
    ("git remote", Reads, "@addresses -v --verbose", No),
    ("git remote get-url", Reads, "@addresses --push --all", Text),
    ("git remote show", Reads, "@addresses -n", With("-n")),
    ("git stash list", Reads, "@log", Revisions),
    ("git stash show", Reads, "@diff --include-untracked --only-untracked --no-include-untracked", Revisions),
    ("git worktree list|git notes list", Reads, "-vz --porcelain --verbose", No),
    ("git notes show", Reads, "", Revisions),
    ("git config", Reads, "@addresses -z --get --get-all --show-origin --show-scope --null --local --global --system --worktree --type: --bool --int --path --includes --no-includes --default:", Setting),
    ("git config", Rule, "-lz --get --get-all --get-regexp --get-urlmatch --list --show-origin --show-scope --name-only --null --local --global --system --worktree --type: --bool --int --path --includes --no-includes --default:", With("--get --get-all --get-regexp --get-urlmatch --list -l")),
    ("git config get", Reads, "@addresses -z --all --show-origin --show-scope --local --global --system --worktree --type: --default:", Setting),
    ("git config get|git config list", Rule, "-z --all --regexp --value: --show-origin --show-scope --name-only --local --global --system --worktree --type: --default:", Text),
    ("git rev-parse", Reads, "--abbrev-ref? --all --branches? --tags? --remotes? --glob: --exclude: --git-dir --git-common-dir --absolute-git-dir --show-toplevel --show-prefix --show-cdup --show-superproject-working-tree --is-inside-git-dir --is-inside-work-tree --is-bare-repository --is-shallow-repository --git-path: --verify -q --quiet --short? --symbolic --symbolic-full-name --revs-only --no-revs --flags --no-flags --default: --since: --until: --shared-index-path --show-object-format? --show-ref-format --path-format: --not --sq --disambiguate: --local-env-vars", Revisions),
    ("git ls-files", Reads, "-cdmoiskutvfz -x: -X:r --cached --deleted --modified --others --ignored --stage --directory --no-empty-directory --unmerged --killed --resolve-undo --exclude: --exclude-from:r --exclude-per-directory: --exclude-standard --error-unmatch --with-tree: --full-name --recurse-submodules --abbrev? --debug --deduplicate --eol --sparse --format:", Text),
    ("git ls-tree", Reads, "-drtlz --long --name-only --name-status --object-only --full-name --full-tree --abbrev? --format:", Revisions),
    ("git cat-file", Reads, "-tsep --batch-check? --batch-all-objects --buffer --unordered --allow-unknown-type --follow-symlinks --no-mailmap --mailmap", Revisions),
    ("git blame|git annotate", Reads, "-bcefhlnpstw -L: -M? -C? -S:r --root --show-stats --date: --porcelain --line-porcelain --incremental --encoding: --first-parent --reverse --since: --abbrev? --show-name --show-number --show-email --score-debug --color-lines --color-by-age --ignore-rev: --ignore-revs-file:r --progress --no-progress --minimal", Revisions),
    ("git grep", Reads, "-aIivwWrLlhHnoEFGPczqp -# -e: -f:r -A: -B: -C: -m: --cached --recurse-submodules --text --ignore-case --no-textconv --max-depth: --recursive --no-recursive --word-regexp --invert-match --full-name --extended-regexp --basic-regexp --perl-regexp --fixed-strings --line-number --column --files-with-matches --name-only --files-without-match --null --only-matching --count --color? --no-color --break --heading --show-function --context: --after-context: --before-context: --function-context --max-count: --threads: --and --or --not ( ) --all-match --quiet", Revisions),
    ("git describe|git name-rev", Reads, "--dirty? --broken? --all --tags --contains --abbrev: --candidates: --exact-match --debug --long --match: --no-match --exclude: --no-exclude --always --first-parent --refs: --name-only --no-undefined --annotate-stdin --stdin", Revisions),
    ("git merge-base", Reads, "-az --all --octopus --is-ancestor --independent --fork-point", Revisions),
    ("git for-each-ref|git show-ref", Reads, "-qsd @refs --count: --shell --perl --python --tcl --exclude: --include-root-refs --stdin --head --branches --heads --tags --dereference --hash? --verify --abbrev? --quiet --exists", Text),
    ("git show-branch", Reads, "-arg --all --remotes --current --topo-order --date-order --sparse --more: --list --merge-base --independent --no-name --sha1-name --topics --color? --no-color", Text),
    ("git symbolic-ref", Reads, "-q --short --quiet --recurse --no-recurse", One),
    ("git count-objects", Reads, "-vH --verbose --human-readable", No),
    ("git bisect log", Reads, "", No),
    ("git submodule", Reads, "--cached --quiet -q", No),
    ("git submodule status", Reads, "--cached --quiet -q", Revisions),
    ("git check-ignore|git check-attr|git check-mailmap|git check-ref-format", Reads, "-aqvnz --quiet --verbose --stdin --non-matching --no-index --all --cached --source: --branch --normalize --allow-onelevel --no-allow-onelevel --refspec-pattern", Text),
    ("git var", Reads, "", Text),
    ("git verify-pack|git fsck|git merge-tree|git show-index|git patch-id|git stripspace|git column|git get-tar-commit-id|git mktag|git mktree|git hash-object|git write-tree|git commit-tree|git unpack-file|git unpack-objects|git pack-redundant|git pack-refs|git prune|git prune-packed|git rerere|git refs|git replace|git update-server-info|git verify-commit|git verify-tag|git last-modified|git pickaxe|git fmt-merge-msg|git multi-pack-index|git commit-graph|git reflog expire|git reflog delete|git reflog exists|git fsck-objects|git request-pull|git backfill|git replay|git repo|git read-tree|git update-index|git update-ref|git fast-export|git fast-import|git index-pack|git fetch-pack|git send-pack|git interpret-trailers|git ls-remote|git archive|git gc|git repack", Rule, "-vlsqtwznadfFuchkpmAaDiyr --verbose --stat-only --full --strict --unreachable --dangling --no-dangling --connectivity-only --lost-found --cache --name-objects --progress --no-progress --auto --aggressive --prune? --no-prune --expire: --all --stdin --no-filters --path: --type -S --parse --trailer: --only-trailers --only-input --unfold --where: --if-exists: --if-missing: --heads --branches --tags --refs --quiet --exit-code --get-url --sort: --symref --format: --prefix: --add-file:r --mtime: --list --write-tree --messages --no-messages --merge-base: --allow-unrelated-histories -X: --cruft --no-cruft --keep-largest-pack --window: --depth: --threads: --refresh --really-refresh --assume-unchanged --no-assume-unchanged --skip-worktree --no-skip-worktree --chmod: --cacheinfo: --add --remove --force-remove --index-info --no-deref --delete -d --create-reflog -m: --dry-run --write-bitmap-index --path-walk -b --max-pack-size: --object-format: -C: --reset -p: -b -e --edit --graft: --convert-graft-file --rewrite --updateref --stale-fix --expire-unreachable: write verify expire clear diff forget gc status remaining", Any),
    ("git add|git stage", Rule, "-nvfipAueN --dry-run --verbose --force --interactive --patch --edit --update --all --no-all --ignore-removal --intent-to-add --refresh --ignore-errors --ignore-missing --renormalize --chmod: --sparse --pathspec-from-file:r --pathspec-file-nul", Any),
    ("git commit", Rule, "-apqvsneizo -S? -u? -m: -F:r -C: -c: -t:r --all --patch --reuse-message: --reedit-message: --fixup: --squash: --reset-author --short --branch --porcelain --long --null --file:r --author: --date: --message: --template:r --signoff --no-signoff --trailer: --no-verify --verify --allow-empty --allow-empty-message --cleanup: --edit --no-edit --amend --no-post-rewrite --include --only --pathspec-from-file:r --untracked-files? --verbose --quiet --dry-run --status --no-status --gpg-sign? --no-gpg-sign", Any),
    ("git push", Rule, "-nqvufd46 -o: --all --branches --prune --mirror --dry-run --porcelain --delete --tags --follow-tags --signed? --no-signed --atomic --no-atomic --push-option: --force-with-lease? --no-force-with-lease --force --force-if-includes --no-force-if-includes --repo: --set-upstream --thin --no-thin --quiet --verbose --progress --recurse-submodules? --no-recurse-submodules --verify --no-verify --ipv4 --ipv6", Any),
    ("git fetch", Rule, "@fetch", Any),
    ("git pull", Rule, "@fetch @merge -r? --rebase? --no-rebase", Any),
    ("git merge", Rule, "@merge", Any),
    ("git remote add|git remote remove|git remote rm|git remote rename|git remote set-url|git remote set-head|git remote set-branches|git remote prune|git remote update|git remote show", Rule, "-fmtdap -t: -m: --add --delete --push --tags --no-tags --auto --dry-run -n --prune --mirror? --progress --no-progress", Any),
    ("git checkout|git switch|git restore", Rule, "-qfbBtldmpcCsSWu --quiet --force --ours --theirs --track? --no-track --guess --no-guess --detach --orphan: --merge --conflict: --patch --ignore-other-worktrees --overwrite-ignore --no-overwrite-ignore --recurse-submodules --no-recurse-submodules --overlay --no-overlay --pathspec-from-file:r --source: -s: --staged --worktree --create: --force-create: --discard-changes --progress --no-progress --ignore-unmerged", Any),
    ("git branch|git tag", Rule, "-dDmMcCfatuqrvsi -m: -F:r --delete --move --copy --force --track? --no-track --set-upstream-to: --unset-upstream --create-reflog --edit-description --annotate --sign --message: --file:r --cleanup: --quiet --no-sign --local-user: --recurse-submodules -l --list @refs", Any),
    ("git reset|git rm|git mv|git clean|git stash|git stash push|git stash pop|git stash apply|git stash drop|git stash clear|git stash branch|git stash save|git stash create|git stash store|git notes add|git notes append|git notes remove|git worktree remove|git worktree prune|git worktree lock|git worktree unlock|git worktree repair|git sparse-checkout set|git sparse-checkout add|git sparse-checkout list|git sparse-checkout disable|git sparse-checkout reapply", Rule, "-qNpfrnvdxXkSuai -e: -m: --soft --mixed --hard --merge --keep --quiet --patch --refresh --no-refresh --pathspec-from-file:r --force --dry-run --cached --ignore-unmatch --sparse --verbose --interactive --exclude: --index --keep-index --no-keep-index --staged --include-untracked --all --message: --cone --no-cone --sparse-index --no-sparse-index --expire: --reason: --porcelain list", Any),
    ("git cherry-pick|git revert", Rule, "-nsxeqv -m: -X: -S? --continue --skip --abort --quit --no-commit --commit --signoff --mainline: --ff --edit --no-edit --allow-empty --allow-empty-message --keep-redundant-commits --empty: --cleanup: --strategy-option: --gpg-sign? --no-gpg-sign --rerere-autoupdate --no-rerere-autoupdate --reference", Any),
    ("git rebase", Rule, "-qvnfkrm -C: -X: -S? --onto: --keep-base --root --autosquash --no-autosquash --autostash --no-autostash --continue --skip --abort --quit --show-current-patch --signoff --empty: --no-keep-empty --keep-empty --strategy-option: --gpg-sign? --no-gpg-sign --rerere-autoupdate --no-rerere-autoupdate --apply --merge --no-ff --force-rebase --fork-point --no-fork-point --ignore-date --committer-date-is-author-date --reset-author-date --ignore-whitespace --whitespace: --rebase-merges? --no-rebase-merges --update-refs --no-update-refs --stat --no-stat --quiet --verbose --verify --no-verify --reapply-cherry-picks --no-reapply-cherry-picks --no-reschedule-failed-exec", Any),
    ("git am|git apply", Rule, "-sqvkuRi3cCNbrz -S? -p: -C: --continue --skip --abort --quit --show-current-patch? --signoff --allow-empty --empty: --gpg-sign? --no-gpg-sign --rerere-autoupdate --no-rerere-autoupdate --committer-date-is-author-date --ignore-date --ignore-whitespace --whitespace: --stat --quiet --verbose --verify --no-verify --keep --keep-non-patch --3way --no-3way --reject --check --numstat --summary --cached --index --intent-to-add --reverse --recount --unidiff-zero --no-add --exclude: --include: --directory: --inaccurate-eof --ignore-space-change --allow-overlap --message-id --scissors --no-scissors --utf8 --no-utf8 --retry --resolved --ours --theirs --no-keep-cr --keep-cr --patch-format: --quoted-cr: --apply", Any),
    ("git format-patch", Rule, "@log -nNks -v: --numbered --no-numbered --start-number: --numbered-files --keep-subject --signoff --stdout --attach? --no-attach --inline? --thread? --no-thread --in-reply-to: --ignore-if-in-upstream --cover-from-description: --subject-prefix: --rfc? --to: --cc: --from? --no-to --no-cc --add-header: --cover-letter --no-cover-letter --encode-email-headers --interdiff: --range-diff: --notes? --signature: --no-signature --base: --zero-commit --progress --always --filename-max-length:", Any),
    ("git clone", Rule, "-lsqvn46 -j: -b: -o: --local --no-hardlinks --shared --quiet --verbose --progress --no-checkout --reject-shallow --no-reject-shallow --bare --sparse --filter: --also-filter-submodules --mirror --origin: --branch: --revision: --single-branch --no-single-branch --no-tags --tags --recurse-submodules? --recursive --shallow-submodules --remote-submodules --depth: --shallow-since: --shallow-exclude: --jobs: --dissociate --ipv4 --ipv6", Derived),
    ("git init|git init-db", Rule, "-q -b: --quiet --bare --initial-branch: --object-format: --ref-format: --shared?", Here),
    // Programs that write files: a rule covers them inside of the project.
    ("mkdir|touch|rmdir|rm|unlink|truncate|shred", Rule, "-pvachdfirRIxuznoq0 -m: -t: -d: -s: --parents --verbose --mode: --no-create --date: --reference: --time: --recursive --force --interactive? --dir --one-file-system --preserve-root? --ignore-fail-on-non-empty --size: --iterations: --zero --remove? @help", Written),
    ("cp|mv|ln|install", Rule, "-aAbdfHilLnNpPrRsTuvxZ -m: -t:w -S: -o: -g: -D -C -c --archive --backup? --force --interactive --link --dereference --no-clobber --no-dereference --preserve? --no-preserve: --parents --recursive --reflink? --remove-destination --sparse: --strip-trailing-slashes --symbolic --symbolic-link --suffix: --target-directory:w --no-target-directory --update? --verbose --one-file-system --relative --mode: --directory --debug --exchange @help", Copied),
    ("tee", Rule, "-aip --append --ignore-interrupts --output-error? @help", Written),
    ("chmod", Rule, "-cfvRHLP --changes --quiet --silent --verbose --recursive --preserve-root --no-preserve-root --reference: @help", Written),
];

/// Variables that a line may set for a program: they select a language, colours or the amount of output.
pub(super) const VARIABLES: &str = "CI RUST_BACKTRACE RUST_LOG RUST_LOG_STYLE LC_ALL LC_CTYPE LC_COLLATE LC_MESSAGES LC_NUMERIC LC_TIME LANG LANGUAGE TZ NO_COLOR CLICOLOR CLICOLOR_FORCE FORCE_COLOR COLUMNS LINES CARGO_TERM_COLOR CARGO_TERM_PROGRESS_WHEN CARGO_TERM_VERBOSE CARGO_INCREMENTAL RUST_TEST_THREADS PROPTEST_CASES PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE PYTHONHASHSEED PYTHONIOENCODING PYTHONUTF8 NODE_ENV DEBUG VERBOSE LOG_LEVEL SOURCE_DATE_EPOCH CGO_ENABLED GOOS GOARCH JEST_WORKER_ID PYTEST_DISABLE_PLUGIN_AUTOLOAD";
