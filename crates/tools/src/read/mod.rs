//! Reading for models: text with line numbers, images, recordings, PDF files, documents, notebooks, and pages of the web.

mod again;
pub mod attachment;
mod binary;
pub(crate) mod document;
mod error;
pub mod illustration;
pub mod image;
pub mod media;
pub(crate) mod notebook;
pub mod pdf;
pub(crate) mod tool;
pub(crate) mod web_fetch;
