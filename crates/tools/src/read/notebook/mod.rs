//! Notebooks (`.ipynb`): their cells with outputs for a model, and their places in the file for edits.

mod parse;
mod read;
mod render;

pub(crate) use parse::{Cell, LIMIT, Notebook, is_notebook};
pub(crate) use read::read;

#[cfg(test)]
mod tests;
