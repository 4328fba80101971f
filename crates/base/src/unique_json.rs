//! Parses JSON in which every object has each key once. In JSON as such, the last of equal keys counts: a second
//! `"hooks": {}` would silently remove what the first one denies.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// Parses `text`.
///
/// # Errors
/// A syntax error, or a key that an object has twice, with its line and column.
pub fn parse(text: &str) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = Unique.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

#[derive(Clone, Copy)]
struct Unique;

impl<'de> DeserializeSeed<'de> for Unique {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unique {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(value) = values.next_element_seed(self)? {
            list.push(value);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                return Err(A::Error::custom(format_args!("duplicate key `{key}`")));
            }
            let value = entries.next_value_seed(self)?;
            map.insert(key, value);
        }
        Ok(map.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_value_is_that_of_other_parsers() {
        for text in [
            r#"{"b": [1, -2, 2.5, 1e300, "x", null, true], "a": {"b": {}}, "": "\u00e4"}"#,
            "18446744073709551615",
            " [] ",
            "\"a\"",
        ] {
            let expected: Value = serde_json::from_str(text).unwrap();
            assert_eq!(parse(text).unwrap(), expected);
            assert_eq!(parse(text).unwrap().to_string(), expected.to_string());
        }
    }

    #[test]
    fn a_key_that_is_there_twice_is_an_error_with_its_place() {
        for (text, expected) in [
            (
                "{\"a\": 1,\n \"a\": 2}",
                "duplicate key `a` at line 2 column 4",
            ),
            (
                "[{\"b\": {\"a\": 1, \"\\u0061\": 2}}]",
                "duplicate key `a` at line 1 column 24",
            ),
            ("{} {}", "trailing characters at line 1 column 4"),
            ("{", "EOF while parsing an object at line 1 column 1"),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), expected);
        }
        assert!(parse(&"[".repeat(100_000)).is_err());
    }
}
