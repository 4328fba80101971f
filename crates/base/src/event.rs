//! How an event of the protocol is declared: once, as a row of [`events!`](crate::events), with how it is delivered.

/// How an event is delivered to the clients of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// The answer to a request. Not a change of the session.
    Answer,
    /// An event for the clients that are connected now. A client that reconnects does not need it.
    Connected,
    /// A change of the session. A client that reconnects receives it if it is still in the replay buffer.
    Change,
    /// A change whose latest event is retained for late clients until another session is opened.
    RetainedForSession,
    /// A change whose latest event is retained for late clients as long as the process runs.
    Retained,
}

impl Delivery {
    /// Whether a client that reconnects receives the events that it missed.
    pub fn is_replayed(self) -> bool {
        !matches!(self, Self::Answer | Self::Connected)
    }
}

/// Declares an enum of events, one row each:
///
/// ```
/// use osier_base::event::Delivery;
/// use serde::{Deserialize, Serialize};
///
/// osier_base::events! {
///     /// Events of a lamp.
///     #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
///     #[serde(tag = "type", rename_all = "snake_case")]
///     pub enum LampEvent {
///         /// The lamp was switched on or off.
///         Switched { on: bool },
///         /// Answer to `get_brightness`.
///         #[event(Answer)]
///         Brightness { percent: u64 },
///     }
/// }
///
/// assert_eq!(LampEvent::Switched { on: true }.delivery(), Delivery::Change);
/// assert_eq!(LampEvent::events(), [("switched", Delivery::Change), ("brightness", Delivery::Answer)]);
/// ```
///
/// An event without `#[event(DELIVERY)]` is a change. `#[event(DELIVERY, wire "NAME")]` names a `type` that differs from
/// the variant. `flatten Variant(Enum);` after the rows adds the events of another enum. `answers { … }` after the enum adds
/// the events that rows of [`requests!`](crate::requests) declare; they are answers unless they say otherwise.
#[macro_export]
macro_rules! events {
    (
        $(#[$meta:meta])*
        $visibility:vis enum $enum:ident {
            $(
                $(#[doc = $doc:literal])*
                $(#[event($delivery:ident $(, wire $wire:literal)?)])?
                $variant:ident $({ $($fields:tt)* })?
            ),+ $(,)?
            $(; $(
                $(#[doc = $outer_doc:literal])*
                flatten $outer:ident($inner:ty)
            ),+ $(,)?)?
        }
        $(answers { $(
            $(#[doc = $answer_doc:literal])*
            $(#[event($answer_delivery:ident $(, wire $answer_wire:literal)?)])?
            $answer:ident { $($answer_fields:tt)* }
        ),* $(,)? })?
    ) => {
        $(#[$meta])*
        $visibility enum $enum {
            $(
                $(#[doc = $doc])*
                $($(#[serde(rename = $wire)])?)?
                $variant $({ $($fields)* })?,
            )+
            $($(
                $(#[doc = $answer_doc])*
                $($(#[serde(rename = $answer_wire)])?)?
                $answer { $($answer_fields)* },
            )*)?
            $($(
                $(#[doc = $outer_doc])*
                #[serde(untagged)]
                $outer($inner),
            )+)?
        }

        impl $enum {
            /// How this event is delivered.
            pub fn delivery(&self) -> $crate::event::Delivery {
                match self {
                    $(Self::$variant { .. } => $crate::events!(@delivery $($delivery)?),)+
                    $($(Self::$answer { .. } => $crate::events!(@answer $($answer_delivery)?),)*)?
                    $($(Self::$outer(event) => event.delivery(),)+)?
                }
            }

            /// The `type` of every event, and how it is delivered.
            pub fn events() -> Vec<(&'static str, $crate::event::Delivery)> {
                #[allow(unused_mut, reason = "not every enum contains another")]
                let mut events = vec![$((
                    $crate::request_name!(wire $variant $($($wire)?)?),
                    $crate::events!(@delivery $($delivery)?),
                )),+];
                $($(events.push((
                    $crate::request_name!(wire $answer $($($answer_wire)?)?),
                    $crate::events!(@answer $($answer_delivery)?),
                ));)*)?
                $($(events.extend(<$inner>::events());)+)?
                events
            }
        }
    };
    (@answer) => {
        $crate::event::Delivery::Answer
    };
    (@answer $delivery:ident) => {
        $crate::event::Delivery::$delivery
    };
    (@delivery) => {
        $crate::event::Delivery::Change
    };
    (@delivery $delivery:ident) => {
        $crate::event::Delivery::$delivery
    };
}
