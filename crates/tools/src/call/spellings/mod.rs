//! Names of arguments that several tools have in other programs. The spellings of a tool are next to its row.

pub(crate) mod values;

/// Arguments that describe a call.
pub(crate) const DESCRIPTIONS: &[&str] = &[
    "description",
    "explanation",
    "instruction",
    "reason",
    "thought",
];

/// Other names of the path of a file.
pub(crate) const FILE: &[&str] = &[
    "path",
    "file",
    "filename",
    "absolute_path",
    "abs_path",
    "target_file",
    "relative_path",
    "relative_workspace_path",
    "full_path",
    "notebook_path",
];

/// Other names of a directory or file to search.
pub(crate) const FOLDER: &[&str] = &[
    "directory",
    "dir",
    "dir_path",
    "directory_path",
    "folder",
    "file_path",
    "search_path",
    "target_directory",
    "relative_workspace_path",
    "absolute_path",
    "search_directory",
    "root",
];
