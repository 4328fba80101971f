//! Compares arguments with the names of options.

/// Whether the words of `list`, which blanks separate, contain `word`.
pub(super) fn has(list: &str, word: &str) -> bool {
    !word.is_empty() && list.split(' ').any(|known| known == word)
}

/// Whether the argument `given` is, contains or abbreviates `option`. `letters` says that a group
/// of letters needs no hyphen.
pub(super) fn is_given(option: &str, given: &str, letters: bool) -> bool {
    let name = given.split('=').next().unwrap_or_default();
    // These names are options of their own, and not abbreviations.
    if matches!(name, "--global" | "--target") {
        return false;
    }
    if let Some(long) = option.strip_prefix("--") {
        return name
            .strip_prefix("--")
            .is_some_and(|name| !name.is_empty() && long.starts_with(name));
    }
    let letter = option.strip_prefix('-').unwrap_or(option);
    if letter.chars().count() > 1 {
        return name == option;
    }
    let group = if letters {
        Some(given)
    } else {
        given
            .strip_prefix('-')
            .filter(|group| !group.starts_with('-'))
    };
    group.is_some_and(|group| group.contains(letter))
}
