//! Facts about programs: which of them run other commands, and which arguments do more than the
//! name of the program says. All facts are in the rows of `table`; no other code names a program.

mod compilers;
mod dangerous;
mod known;
mod options;
mod scripts;
mod special;
mod table;

pub(crate) use dangerous::{dangerous, prefix};
pub(crate) use known::{
    find, is_foreign_shell, is_shell, is_wrapper, name_of, runs_arguments, runs_code,
};
pub(crate) use scripts::{awk_is_plain, sed_scripts_are_plain as sed_is_plain};
pub(crate) use table::{Adds, Container, Input, Program, Script, Shell};
