//! Files that usually hold secrets.

mod paths;

pub use paths::is_secret_path;
