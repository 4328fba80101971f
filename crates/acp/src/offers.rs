//! What an editor has said it can do. What it has not offered is never asked of it.

use serde_json::Value;

/// The capabilities that are made use of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Offers {
    /// Texts are read and written through it: both, or what is read would not be what is changed.
    pub files: bool,
    pub terminals: bool,
    /// It shows forms.
    pub forms: bool,
    /// It opens addresses.
    pub addresses: bool,
    /// It shows what a person should know.
    pub notices: bool,
    /// It shows that a conversation is compacted.
    pub compaction: bool,
    /// It runs programs in a terminal of the person's, to sign in.
    pub sign_in: bool,
}

impl Offers {
    /// Those of the parameters of `initialize`.
    pub(super) fn of(params: &Value) -> Self {
        let client = &params["clientCapabilities"];
        let says = |place: &str| client.pointer(place) == Some(&Value::Bool(true));
        // A capability that is an object is there when it is.
        let has = |place: &str| client.pointer(place).is_some_and(Value::is_object);
        Self {
            files: says("/fs/readTextFile") && says("/fs/writeTextFile"),
            terminals: says("/terminal"),
            forms: has("/elicitation/form"),
            addresses: has("/elicitation/url"),
            notices: has("/session/notices"),
            compaction: has("/session/compaction"),
            sign_in: says("/auth/terminal"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_offered_is_not_there() {
        assert_eq!(
            Offers::of(&json!({"protocolVersion": 1})),
            Offers::default()
        );
        let half = json!({"clientCapabilities": {"fs": {"readTextFile": true}}});
        assert!(!Offers::of(&half).files);
        let all = json!({"clientCapabilities": {
            "fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true,
            "elicitation": {"form": {}, "url": {}},
            "session": {"notices": {}, "compaction": null}, "auth": {"terminal": true},
        }});
        assert_eq!(
            Offers::of(&all),
            Offers {
                files: true,
                terminals: true,
                forms: true,
                addresses: true,
                notices: true,
                compaction: false,
                sign_in: true,
            }
        );
    }
}
