//! Which stretches of a text were signed.
//!
//! The vendor signs single parts of its stream and wants each signature back on exactly its part, while a
//! person reads the parts as one text. So a block keeps where in it the signed parts lie; sent back, it is
//! cut up there again. What lies between was not signed and may be sent as one part.

use serde_json::Value;

/// Signed stretches in order: start and length in bytes, and the signature.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Marks(Vec<(usize, usize, String)>);

impl Marks {
    pub(super) fn add(&mut self, start: usize, length: usize, signature: String) {
        self.0.push((start, length, signature));
    }

    /// As the signature of a block; none when no part was signed.
    pub(super) fn write(&self) -> Option<String> {
        let marks = self.0.iter();
        let marks: Vec<Value> = marks
            .map(|(start, length, signature)| {
                Value::Array(vec![
                    (*start).into(),
                    (*length).into(),
                    signature.as_str().into(),
                ])
            })
            .collect();
        (!marks.is_empty()).then(|| Value::Array(marks).to_string())
    }

    /// Reads what `write` wrote. Anything else is no mark.
    pub(super) fn read(signature: Option<&str>) -> Self {
        let read = signature.and_then(|text| serde_json::from_str(text).ok());
        Self(read.unwrap_or_default())
    }

    /// The parts of `text` in order, with their signatures. Marks that do not fit the text are left out.
    pub(super) fn cut<'a>(&'a self, text: &'a str) -> Vec<(&'a str, Option<&'a str>)> {
        let mut parts = Vec::new();
        let mut at = 0;
        for (start, length, signature) in &self.0 {
            let Some(end) = start.checked_add(*length) else {
                continue;
            };
            let (Some(before), Some(signed)) = (text.get(at..*start), text.get(*start..end)) else {
                continue;
            };
            if !before.is_empty() {
                parts.push((before, None));
            }
            parts.push((signed, Some(signature.as_str())));
            at = end;
        }
        if let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            parts.push((rest, None));
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_again() {
        let mut marks = Marks::default();
        marks.add(2, 3, "s".to_owned());
        marks.add(8, 0, "end".to_owned());
        let kept = marks.write().unwrap();
        assert_eq!(kept, r#"[[2,3,"s"],[8,0,"end"]]"#);
        let read = Marks::read(Some(&kept));
        assert_eq!(read, marks);
        assert_eq!(
            read.cut("ab漢def"),
            [
                ("ab", None),
                ("漢", Some("s")),
                ("def", None),
                ("", Some("end"))
            ]
        );
        // A text that is not the one the marks were made for.
        assert_eq!(read.cut("漢"), [("漢", None)]);
        assert_eq!(Marks::read(Some("opaque")), Marks::default());
        assert_eq!(Marks::default().write(), None);
    }
}
