//! How a request of the protocol is declared: once, as a row of [`requests!`](crate::requests).
//!
//! A row holds the parameters of a request, its documentation, its effect on the conversation and
//! the events that answer it. The enum of requests, the commands of `osier rpc` with their schema
//! and documentation, the typed client, the rules for several clients in one session and the order
//! of requests while a session is not read yet all come from it.

use std::path::PathBuf;

/// One request, as its row declares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// `type` of the request on the wire.
    pub name: &'static str,
    /// The name of its command, if it differs.
    pub command: Option<&'static str>,
    /// More names of its command.
    pub aliases: &'static [&'static str],
    pub group: Group,
    pub doc: &'static str,
    pub effect: Effect,
    /// The request waits until the session file is completely read.
    pub needs_session: bool,
    pub parameters: &'static [Parameter],
    /// `type` of the events that answer it: one of them is sent. Empty if the end of the request is
    /// the answer.
    pub replies: &'static [&'static str],
}

/// Requests that belong together in the documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    Connection,
    Prompts,
    State,
    Sessions,
    Tree,
    Files,
    Models,
    Tools,
    Permissions,
    Extensions,
    Drafts,
}

/// The effect of a request on the conversation, which several clients may share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// No effect: any client may send it at any time.
    None,
    /// Changes the conversation: refused while another client is the active writer.
    Change,
    /// Starts work: the client becomes the active writer until the work ends.
    Begin,
    /// Stops work: any client may.
    Stop,
}

/// One parameter of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameter {
    pub name: &'static str,
    /// Other accepted names.
    pub aliases: &'static [&'static str],
    pub kind: Kind,
    pub required: bool,
    pub doc: &'static str,
}

/// The type of a parameter. `null` counts as a missing parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    /// A whole number from 0.
    Number,
    Flag,
    /// One of these words.
    Word(&'static [&'static str]),
    Texts,
    /// A list of the type with this name in the schema.
    List(&'static str),
    /// The type with this name in the schema.
    Object(&'static str),
    /// Any value.
    Any,
}

/// The kind of parameter that a Rust type is.
pub trait ParameterType {
    const KIND: Kind;
    /// The kind of a list of this type.
    const LIST: Kind = Kind::Any;
    const OPTIONAL: bool = false;
}

impl ParameterType for String {
    const KIND: Kind = Kind::Text;
    const LIST: Kind = Kind::Texts;
}

impl<T: ParameterType> ParameterType for Option<T> {
    const KIND: Kind = T::KIND;
    const OPTIONAL: bool = true;
}

impl<T: ParameterType> ParameterType for Vec<T> {
    const KIND: Kind = T::LIST;
}

impl<T: ParameterType> ParameterType for Box<T> {
    const KIND: Kind = T::KIND;
}

/// Declares the kind of parameter that types are: `Name: Kind`.
#[macro_export]
macro_rules! parameter_types {
    ($($name:ty: $kind:ident $(($($value:expr),+))?),+ $(,)?) => {
        $($crate::parameter_types!(@one $name, $kind $(($($value),+))?);)+
    };
    (@one $name:ty, Word($($word:expr),+)) => {
        impl $crate::request::ParameterType for $name {
            const KIND: $crate::request::Kind = $crate::request::Kind::Word(&[$($word),+]);
        }
    };
    (@one $name:ty, Object($schema:expr)) => {
        impl $crate::request::ParameterType for $name {
            const KIND: $crate::request::Kind = $crate::request::Kind::Object($schema);
            const LIST: $crate::request::Kind = $crate::request::Kind::List($schema);
        }
    };
    (@one $name:ty, $kind:ident) => {
        impl $crate::request::ParameterType for $name {
            const KIND: $crate::request::Kind = $crate::request::Kind::$kind;
        }
    };
}

parameter_types! {
    PathBuf: Text,
    crate::parts::Parts: Text,
    bool: Flag,
    u32: Number,
    u64: Number,
    u16: Number,
    usize: Number,
}

/// Declares an enum of requests, one row each:
///
/// ```
/// use serde::{Deserialize, Serialize};
///
/// osier_base::requests! {
///     /// Requests of a lamp.
///     #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
///     #[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
///     pub enum LampRequest {
///         /// Set the brightness.
///         #[request(Tools, Change, also "dim" => BrightnessChanged)]
///         SetBrightness {
///             /// from 0 to 100
///             percent: u64,
///             /// how long the change takes
///             #[serde(default)]
///             fade_seconds: u64,
///         },
///     }
/// }
///
/// let request = LampRequest::SetBrightness { percent: 50, fade_seconds: 0 }.request();
/// assert_eq!(request.name, "set_brightness");
/// assert_eq!(request.doc, "Set the brightness.");
/// assert_eq!(request.replies, ["brightness_changed"]);
/// let parameters: Vec<_> = request.parameters.iter().map(|one| (one.name, one.required)).collect();
/// assert_eq!(parameters, [("percent", true), ("fadeSeconds", false)]);
/// ```
///
/// `#[request(GROUP, EFFECT [if FLAG] [+ session] [, wire "NAME"] [, command "NAME"] [, also "ALIAS" | …]
/// [=> Event | …])]`: `if` names a flag without which there is no effect, `+ session` makes the request wait until
/// the session file is read, `wire` is the `type` if it differs from the variant. An event whose `type` differs from
/// its variant is named by its `type`, as a string. A field with a `serde` attribute is optional.
/// `flatten Variant(Enum);` before the rows adds the requests of another enum.
///
/// A request that has an event of its own declares it: `GetAbout => About { about: Box<About> }`. The event can have
/// documentation and `#[event(DELIVERY, wire "NAME")]`, as in [`events!`](crate::events), and is the answer of the request.
/// `answers NAME $` after the enum makes a macro that declares an enum of events with those of the rows: `NAME! { pub enum
/// Event { … } }`.
///
/// `enum Name by Groups` has its rows in groups, `group Variant(Enum) { … }`. A group is an enum of its own, and
/// `in_group` makes a value of `Groups` of a request: each feature handles one group, and the compiler misses no request.
/// Programs and the wire do not see the groups.
#[macro_export]
macro_rules! requests {
    (
        $(#[$meta:meta])*
        $visibility:vis enum $enum:ident by $groups:ident {
            $(
                $(#[doc = $group_doc:literal])*
                group $group:ident($group_enum:ident) {
                    $(
                        $(#[doc = $doc:literal])*
                        #[request($($row:tt)*)]
                        $variant:ident $({
                            $(
                                $(#[$($field_meta:tt)*])*
                                $field:ident: $type:ty
                            ),+ $(,)?
                        })? $(=> $(#[$($answer_meta:tt)*])* $answer:ident { $($answer_fields:tt)* })?
                    ),+ $(,)?
                }
            )+
            ; $(
                $(#[doc = $outer_doc:literal])*
                flatten $outer:ident($inner:ty)
            ),+ $(,)?
        }
        $(answers $answers:ident $dollar:tt)?
    ) => {
        $crate::requests! {
            $(#[$meta])*
            $visibility enum $enum {
                $($(
                    $(#[doc = $doc])*
                    #[request($($row)*)]
                    $variant $({
                        $(
                            $(#[$($field_meta)*])*
                            $field: $type
                        ),+
                    })? $(=> $(#[$($answer_meta)*])* $answer { $($answer_fields)* })?,
                )+)+
                ; $(
                    $(#[doc = $outer_doc])*
                    flatten $outer($inner)
                ),+
            }
            $(answers $answers $dollar)?
        }

        /// A request in its group, for the feature that handles the group.
        #[derive(Debug)]
        $visibility enum $groups {
            $(
                $(#[doc = $group_doc])*
                $group($group_enum),
            )+
            $(
                $(#[doc = $outer_doc])*
                $outer($inner),
            )+
        }

        $(
            $(#[doc = $group_doc])*
            #[derive(Debug)]
            $visibility enum $group_enum {
                $(
                    $(#[doc = $doc])*
                    $variant $({ $($field: $type),+ })?,
                )+
            }
        )+

        impl $enum {
            /// The request in its group.
            pub fn in_group(self) -> $groups {
                match self {
                    $($(
                        Self::$variant $({ $($field),+ })? => {
                            $groups::$group($group_enum::$variant $({ $($field),+ })?)
                        }
                    )+)+
                    $(Self::$outer(inner) => $groups::$outer(inner),)+
                }
            }
        }
    };
    (
        $(#[$meta:meta])*
        $visibility:vis enum $enum:ident {
            $(
                $(#[doc = $doc:literal])*
                #[request(
                    $group:ident, $effect:ident $(if $flag:ident)? $(+ $session:ident)?
                    $(, wire $wire:literal)?
                    $(, command $command:literal)?
                    $(, also $($alias:literal)|+)?
                    $(=> $($reply:tt)|+)?
                )]
                $variant:ident $({
                    $(
                        $(#[doc = $field_doc:literal])*
                        $(#[serde($($serde:tt)*)])?
                        $(#[also($($field_alias:literal),+)])?
                        $field:ident: $type:ty
                    ),+ $(,)?
                })? $(=>
                    $(#[doc = $answer_doc:literal])*
                    $(#[event($delivery:ident $(, wire $answer_wire:literal)?)])?
                    $answer:ident { $($answer_fields:tt)* }
                )?
            ),+ $(,)?
            $(; $(
                $(#[doc = $outer_doc:literal])*
                flatten $outer:ident($inner:ty)
            ),+ $(,)?)?
        }
        $(answers $answers:ident $dollar:tt)?
    ) => {
        $crate::request_name! {
            answers [$($answers $dollar)?]
            $($(
                $(#[doc = $answer_doc])*
                $(#[event($delivery $(, wire $answer_wire)?)])?
                $answer { $($answer_fields)* },
            )?)+
        }


        $(#[$meta])*
        $visibility enum $enum {
            $(
                $(#[doc = $doc])*
                $(#[serde(rename = $wire)])?
                $variant $({
                    $(
                        $(#[doc = $field_doc])*
                        $(#[serde($($serde)*)])?
                        $field: $type,
                    )+
                })?,
            )+
            $($(
                $(#[doc = $outer_doc])*
                #[serde(untagged)]
                $outer($inner),
            )+)?
        }

        $($(
            impl From<$inner> for $enum {
                fn from(inner: $inner) -> Self {
                    Self::$outer(inner)
                }
            }
        )+)?

        impl $enum {
            const ROWS: &'static [$crate::request::Request] = &[
                $($crate::request::Request {
                    name: $crate::request_name!(wire $variant $($wire)?),
                    command: $crate::request_name!(option $($command)?),
                    aliases: &[$($($alias),+)?],
                    group: $crate::request::Group::$group,
                    doc: concat!($($doc),*).trim_ascii(),
                    effect: $crate::request::Effect::$effect,
                    needs_session: $crate::request_name!(is $($session)?),
                    parameters: &[$($($crate::request::Parameter {
                        name: $crate::request_name!(camel, $field),
                        aliases: &[$($($field_alias),+)?],
                        kind: <$type as $crate::request::ParameterType>::KIND,
                        required: !<$type as $crate::request::ParameterType>::OPTIONAL
                            $(&& $crate::request_name!(not $($serde)*))?,
                        doc: concat!($($field_doc),*).trim_ascii(),
                    },)+)?],
                    replies: &[
                        $($($crate::request_name!(snake, $reply)),+)?
                        $($crate::request_name!(wire $answer $($($answer_wire)?)?))?
                    ],
                },)+
            ];

            /// Every request, in the order of the rows.
            pub fn requests() -> Vec<&'static $crate::request::Request> {
                #[allow(unused_mut, reason = "not every enum contains another")]
                let mut requests: Vec<_> = Self::ROWS.iter().collect();
                $($(requests.extend(<$inner>::requests());)+)?
                requests
            }

            /// The row that declares this request.
            pub fn request(&self) -> &'static $crate::request::Request {
                #[allow(clippy::enum_variant_names, reason = "the names are those of the requests")]
                enum Index { $($variant),+ }
                match self {
                    $(Self::$variant { .. } => &Self::ROWS[Index::$variant as usize],)+
                    $($(Self::$outer(inner) => inner.request(),)+)?
                }
            }

            /// The effect of this request on the conversation.
            pub fn effect(&self) -> $crate::request::Effect {
                $($(
                    if let Self::$variant { $flag: false, .. } = self {
                        return $crate::request::Effect::None;
                    }
                )?)+
                $($(
                    if let Self::$outer(inner) = self {
                        return inner.effect();
                    }
                )+)?
                self.request().effect
            }
        }
    };
}

/// The parts of a row that a macro cannot write down directly.
#[doc(hidden)]
#[macro_export]
macro_rules! request_name {
    (answers []) => {};
    (answers [$answers:ident $dollar:tt] $($rows:tt)*) => {
        macro_rules! $answers {
            ($dollar($dollar events:tt)*) => {
                $crate::events! { $dollar($dollar events)* answers { $($rows)* } }
            };
        }
        #[allow(unused_imports, reason = "the events can be in the same file")]
        pub(crate) use $answers;
    };
    (option) => {
        None
    };
    (option $name:literal) => {
        Some($name)
    };
    (is) => {
        false
    };
    (is session) => {
        true
    };
    (not $($any:tt)*) => {
        false
    };
    (wire $name:ident) => {
        $crate::request_name!(snake, $name)
    };
    (wire $name:ident $wire:literal) => {
        $wire
    };
    (snake, $name:literal) => {
        $name
    };
    ($case:ident, $name:ident) => {{
        const NAME: &str = stringify!($name);
        const LENGTH: usize = $crate::request::case::length(NAME);
        const BYTES: [u8; LENGTH] = $crate::request::case::$case::<LENGTH>(NAME);
        $crate::request::case::text(&BYTES)
    }};
}

/// Names in the case of the wire, made while compiling.
#[doc(hidden)]
pub mod case {
    /// Bytes of a name in the other case.
    pub const fn length(name: &str) -> usize {
        let bytes = name.as_bytes();
        let mut length = bytes.len();
        let mut at = 0;
        while at < bytes.len() {
            if at > 0 && bytes[at].is_ascii_uppercase() {
                length += 1;
            }
            if bytes[at] == b'_' {
                length -= 1;
            }
            at += 1;
        }
        length
    }

    /// `SetModel` as `set_model`.
    pub const fn snake<const LENGTH: usize>(name: &str) -> [u8; LENGTH] {
        let bytes = name.as_bytes();
        let mut out = [0; LENGTH];
        let (mut at, mut end) = (0, 0);
        while at < bytes.len() {
            if at > 0 && bytes[at].is_ascii_uppercase() {
                out[end] = b'_';
                end += 1;
            }
            out[end] = bytes[at].to_ascii_lowercase();
            end += 1;
            at += 1;
        }
        out
    }

    /// `entry_id` as `entryId`.
    pub const fn camel<const LENGTH: usize>(name: &str) -> [u8; LENGTH] {
        let bytes = name.as_bytes();
        let mut out = [0; LENGTH];
        let (mut at, mut end) = (0, 0);
        while at < bytes.len() {
            if bytes[at] == b'_' {
                at += 1;
                out[end] = bytes[at].to_ascii_uppercase();
            } else {
                out[end] = bytes[at];
            }
            end += 1;
            at += 1;
        }
        out
    }

    pub const fn text(bytes: &[u8]) -> &str {
        match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(_) => "",
        }
    }
}
