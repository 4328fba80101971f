//! Rows of the table that have a common form.

use super::schema::Form::{Flag, Text, Texts};
use super::{Read, Setting, Take::Plain};

/// A setting that is on or off.
pub(super) const fn flag(
    name: &'static str,
    default: &'static str,
    description: &'static str,
    take: Read,
) -> Setting {
    Setting {
        name,
        default,
        accepts: "true or false",
        form: Flag,
        description,
        take: Plain(take),
    }
}

/// What a setting that names a model accepts.
pub(super) const MODEL: &str = "\"PROVIDER/ID\", \"PROVIDER/ID:LEVEL\" or part of a name";

/// A setting that names a model.
pub(super) const fn model(name: &'static str, description: &'static str, take: Read) -> Setting {
    Setting {
        name,
        default: "",
        accepts: MODEL,
        form: Text,
        description,
        take: Plain(take),
    }
}

/// A setting that is a list of texts.
pub(super) const fn list(
    name: &'static str,
    accepts: &'static str,
    description: &'static str,
    take: Read,
) -> Setting {
    Setting {
        name,
        default: "[]",
        accepts,
        form: Texts,
        description,
        take: Plain(take),
    }
}
