//! Fields of arguments that are lenient about common mistakes of models that are unambiguous.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// A count that may be written as `3`, `3.0` or `"3"`.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Count {
        Whole(u64),
        Fraction(f64),
        Text(String),
    }
    let fail = || D::Error::custom("expected a whole number that is not negative");
    match Option::<Count>::deserialize(deserializer)? {
        None => Ok(None),
        Some(Count::Whole(count)) => Ok(Some(count)),
        Some(Count::Fraction(count)) if count >= 0.0 && count.fract() == 0.0 => {
            Ok(Some(count as u64))
        }
        Some(Count::Fraction(_)) => Err(fail()),
        Some(Count::Text(text)) => text.trim().parse().map(Some).map_err(|_| fail()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    struct Arguments {
        #[serde(default, deserialize_with = "count")]
        limit: Option<u64>,
    }

    #[test]
    fn counts_come_in_several_forms() {
        for (arguments, expected) in [
            (json!({}), None),
            (json!({"limit": null}), None),
            (json!({"limit": 3}), Some(3)),
            (json!({"limit": 3.0}), Some(3)),
            (json!({"limit": "3"}), Some(3)),
        ] {
            let arguments: Arguments = serde_json::from_value(arguments).unwrap();
            assert_eq!(arguments.limit, expected);
        }
        for arguments in [
            json!({"limit": -1}),
            json!({"limit": 1.5}),
            json!({"limit": "x"}),
        ] {
            assert!(serde_json::from_value::<Arguments>(arguments).is_err());
        }
    }
}
