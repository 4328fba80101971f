//! Options of compilers that run other programs, load a library or pass options to the assembler and the linker.

use crate::shell::Word;

/// The starts of such options, without their hyphens.
const STARTS: &[&str] = &[
    "B",
    "ccc-",
    "fdump-",
    "fpass-plugin",
    "fplugin",
    "iplugindir",
    "load",
    "mllvm",
    "no-canonical-prefixes",
    "plugin",
    "resource-dir",
    "specs",
    "tooldir",
    "wrapper",
    "Wa,",
    "Wl,",
    "Wp,",
    "Xarch",
    "Xassembler",
    "Xclang",
    "Xlinker",
    "Xpreprocessor",
];

/// Such options with two hyphens, also abbreviated.
const LONG: &[&str] = &[
    "config",
    "for-assembler",
    "for-linker",
    "for-preprocessor",
    "gcc-install-dir",
    "gcc-toolchain",
    "ld-path",
    "plugin",
    "prefix",
    "specs",
    "wrapper",
];

pub(super) fn is_dangerous(text: &str, _: Option<&Word>) -> bool {
    // A file with options.
    if text.starts_with('@') {
        return true;
    }
    let Some(option) = text.strip_prefix('-') else {
        return false;
    };
    let long = option.strip_prefix('-');
    let option = long.unwrap_or(option);
    let name = option.split('=').next().unwrap_or(option);
    let is_long = LONG.iter().any(|wanted| {
        option.starts_with(wanted) || (long.is_some() && name.len() > 2 && wanted.starts_with(name))
    });
    // clang also accepts the path of a linker.
    let is_linker = option.starts_with("fuse-ld=") && option.contains('/');
    is_long || is_linker || STARTS.iter().any(|start| option.starts_with(start))
}
