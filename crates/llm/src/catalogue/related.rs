//! The known model that is most similar to a new one. It determines how the new model is called: a
//! provider can have several wire formats and base URLs.

use std::sync::Arc;

use crate::model::Model;

/// Minimum number of letters that the ids of two related models share.
const MIN_SHARED_LETTERS: usize = 3;

/// A known model with a similar id.
pub(super) struct Relative<'a> {
    pub model: &'a Arc<Model>,
    /// Whether the model is of the same family, such as `gpt`. If not, it may only be of the same
    /// vendor at a router.
    pub is_of_family: bool,
}

/// The model of `known` whose id shares the longest beginning with `id`; the newest of several.
pub(super) fn related<'a>(id: &str, known: &'a [Arc<Model>]) -> Option<Relative<'a>> {
    let shared = |model: &&Arc<Model>| {
        let pairs = model.id.bytes().zip(id.bytes());
        pairs.take_while(|(one, other)| one == other).count()
    };
    let model = known.iter().rev().max_by_key(shared)?;
    let shared = shared(&model);
    let vendor = id.rfind('/').map_or(0, |slash| slash + 1);
    (shared >= MIN_SHARED_LETTERS).then_some(Relative {
        model,
        is_of_family: shared >= vendor + MIN_SHARED_LETTERS,
    })
}
