//! The configuration of a repository: settings that name no program.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::known::verifies;

/// Sections in which no setting names a program, and settings of other sections that do not name a
/// program.
const PLAIN_SECTIONS: &str = "advice branch color column commit fetch format gc gitreview index init log maintenance pack \
    pull push rebase receive rerere status tag transfer user worktree blame versionsort feature stash grep";
const PLAIN: &str = "core.abbrev core.autocrlf core.bare core.bigfilethreshold core.checkstat core.commentchar \
    core.compression core.deltabasecachelimit core.eol core.excludesfile core.attributesfile core.filemode \
    core.ignorecase core.logallrefupdates core.longpaths core.multipackindex core.precomposeunicode core.preloadindex \
    core.protecthfs core.protectntfs core.quotepath core.repositoryformatversion core.safecrlf core.sharedrepository \
    core.sparsecheckout core.sparsecheckoutcone core.symlinks core.trustctime core.untrackedcache core.whitespace \
    core.hookspath core.hidedotfiles core.usebuiltinfsmonitor core.commitgraph diff.algorithm diff.colormoved \
    diff.colormovedws diff.context diff.indentheuristic diff.interhunkcontext diff.mnemonicprefix diff.noprefix \
    diff.relative diff.renames diff.renamelimit diff.submodule diff.wordregex diff.ignoresubmodules \
    extensions.objectformat extensions.refstorage extensions.worktreeconfig core.worktree extensions.noop extensions.preciousobjects \
    extensions.relativeworktrees extensions.compatobjectformat merge.conflictstyle merge.ff merge.renames merge.stat \
    merge.renamelimit merge.directoryrenames submodule.recurse submodule.active submodule.fetchjobs \
    submodule.propagatebranches lfs.repositoryformatversion lfs.url lfs.pushurl lfs.batch lfs.concurrenttransfers \
    lfs.fetchinclude lfs.fetchexclude lfs.fetchrecentalways lfs.locksverify lfs.allowincompletepush http.postbuffer http.version clone.defaultremotename gui.wmstate gui.geometry";
/// Sections with a name (subsection), and their settings that do not name a program.
const NAMED: [(&str, &str); 4] = [
    ("branch", "*"),
    (
        "remote",
        "url pushurl fetch push mirror prune prunetags tagopt skipdefaultupdate skipfetchall \
                gh-resolved followremotehead",
    ),
    (
        "submodule",
        "url active branch fetchrecursesubmodules ignore shallow",
    ),
    // `lfs.extension.NAME.clean` names a program.
    ("lfs", "access locksverify contenttype"),
];
/// Settings that name a program, with the values that every installation of Git LFS writes, and the
/// values for the built-in monitor.
const VALUES: [(&str, &str); 10] = [
    ("filter.lfs.clean", "git-lfs clean -- %f"),
    ("filter.lfs.smudge", "git-lfs smudge -- %f"),
    ("filter.lfs.smudge", "git-lfs smudge --skip -- %f"),
    ("filter.lfs.process", "git-lfs filter-process"),
    ("filter.lfs.process", "git-lfs filter-process --skip"),
    ("filter.lfs.required", "true"),
    ("core.fsmonitor", "true"),
    ("core.fsmonitor", "false"),
    ("log.showsignature", "false"),
    ("log.showsignature", "0"),
];

/// Whether a setting names no program that git runs.
pub(crate) fn is_plain(name: &str, value: &str) -> bool {
    // Every setting of a repository is looked for, in each judgement of git.
    static KNOWN: LazyLock<[HashSet<&str>; 2]> =
        LazyLock::new(|| [PLAIN, PLAIN_SECTIONS].map(|list| list.split_whitespace().collect()));
    let [plain, sections] = &*KNOWN;
    let has = |list: &str, word: &str| list.split_whitespace().any(|known| known == word);
    let (section, rest) = name.split_once('.').unwrap_or((name, ""));
    let (middle, last) = match rest.rsplit_once('.') {
        Some((middle, last)) => (Some(middle), last),
        None => (None, rest),
    };
    // An alias is not a known form of git.
    if section == "alias" {
        return true;
    }
    // `!` begins a command, and `ext::` an address that is a command. A format can have signatures
    // verified.
    if value.starts_with('!') || value.contains("ext::") || verifies(value) {
        return false;
    }
    if VALUES.contains(&(name, value)) || plain.contains(name) {
        return true;
    }
    if VALUES.iter().any(|(known, _)| *known == name) {
        return false;
    }
    match middle {
        Some(_) => NAMED.iter().any(|(known, settings)| {
            *known == section && (*settings == "*" || has(settings, last))
        }),
        None => sections.contains(section),
    }
}

/// The settings of a configuration file: `section.name.key` with the section and the key in lower case. `None` for a file
/// that is not understood.
pub(crate) fn settings(text: &str) -> Option<Vec<(String, String)>> {
    let mut found = Vec::new();
    let mut section = String::new();
    for line in text.lines() {
        let line = line.trim_matches(BLANKS);
        if is_empty(line) {
            continue;
        }
        if let Some(header) = line.strip_prefix('[') {
            section = read_header(header)?;
            continue;
        }
        let (key, value) = line.split_once('=').unwrap_or((line, "true"));
        let key = key.trim_matches(BLANKS);
        let is_key = |char: char| char.is_ascii_alphanumeric() || char == '-';
        key.chars().all(is_key).then_some(())?;
        found.push((
            format!("{section}.{}", key.to_ascii_lowercase()),
            read_value(value)?,
        ));
    }
    Some(found)
}

/// Blanks of git.
const BLANKS: [char; 3] = [' ', '\t', '\r'];

/// Whether the rest of a line is empty or a comment.
fn is_empty(rest: &str) -> bool {
    let rest = rest.trim_start_matches(BLANKS);
    rest.is_empty() || rest.starts_with(['#', ';'])
}

/// The section of a line without its `[`. A setting on the same line is not understood.
fn read_header(header: &str) -> Option<String> {
    let is_name = |char: char| char.is_ascii_alphanumeric() || "-.".contains(char);
    let end = header.find(|char: char| !is_name(char))?;
    let (name, rest) = header.split_at(end);
    let name = name.to_ascii_lowercase();
    if let Some(rest) = rest.strip_prefix(']') {
        return is_empty(rest).then_some(name);
    }
    let rest = rest.trim_start_matches(BLANKS);
    let (subsection, rest) = rest.strip_prefix('"')?.split_once("\"]")?;
    // An escaped character could end it elsewhere.
    let is_plain = !subsection.contains(['"', '\\']);
    (is_plain && is_empty(rest)).then(|| format!("{name}.{subsection}"))
}

/// A value without quotes, escapes and the comment after it. `None` if it continues on the next
/// line.
fn read_value(text: &str) -> Option<String> {
    let (mut value, mut is_quoted) = (String::new(), false);
    let mut length = 0;
    let mut chars = text.trim_start_matches(BLANKS).chars();
    while let Some(char) = chars.next() {
        match char {
            '"' => is_quoted = !is_quoted,
            '#' | ';' if !is_quoted => break,
            '\\' => value.push(match chars.next()? {
                'n' => '\n',
                't' => '\t',
                same @ ('"' | '\\') => same,
                _ => return None,
            }),
            char => value.push(char),
        }
        if is_quoted || !BLANKS.contains(&char) {
            length = value.len();
        }
    }
    value.truncate(length);
    (!is_quoted).then_some(value)
}
