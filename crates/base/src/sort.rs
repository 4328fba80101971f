//! Sorts lists by a comparison or a key, stably. The methods of slices are compiled again for each
//! comparison, 4 kB each; these functions are not. Use the methods for long lists and for lists
//! that are sorted in every frame.

use std::cmp::Ordering;

/// Sorts `list` by `compare`.
pub fn by<T>(list: &mut [T], compare: impl Fn(&T, &T) -> Ordering) {
    let places = places(list.len(), &|one, other| compare(&list[one], &list[other]));
    arrange(list, places);
}

/// Sorts `list` by the keys of its elements, which are computed for each comparison.
pub fn by_key<T, K: Ord>(list: &mut [T], key: impl Fn(&T) -> K) {
    by(list, |one, other| key(one).cmp(&key(other)));
}

/// For each position in the sorted list, the present position of its element.
fn places(length: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..length).collect();
    places.sort_by(|one, other| compare(*one, *other));
    places
}

/// Moves the elements to their positions, one cycle after the other.
fn arrange<T>(list: &mut [T], mut places: Vec<usize>) {
    for start in 0..places.len() {
        let mut place = start;
        while places[place] != start {
            let from = std::mem::replace(&mut places[place], place);
            list.swap(place, from);
            place = from;
        }
        places[place] = place;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lists_are_sorted_like_those_of_the_standard_library(list: Vec<(u8, u16)>) {
            let (mut ours, mut theirs) = (list.clone(), list);
            by_key(&mut ours, |(key, _)| *key);
            theirs.sort_by_key(|(key, _)| *key);
            prop_assert_eq!(&ours, &theirs);
            let descending = |one: &(u8, u16), other: &(u8, u16)| other.1.cmp(&one.1).then(one.0.cmp(&other.0));
            by(&mut ours, descending);
            theirs.sort_by(descending);
            prop_assert_eq!(ours, theirs);
        }
    }
}
