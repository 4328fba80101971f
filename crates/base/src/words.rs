//! Types whose values have one name: in files, on the command line, in requests and on screen.

/// A type that `words!` declares.
pub trait Word: Copy + 'static {
    /// The names of all values, in order.
    const NAMES: &'static [&'static str];

    fn of_name(name: &str) -> Option<Self>;
}

/// Declares an enum whose values have names, one row each:
///
/// ```
/// osier_base::words! {
///     /// Where a lamp hangs.
///     #[derive(Debug, Clone, Copy, PartialEq, Eq)]
///     pub enum Place {
///         Ceiling = "ceiling",
///         /// Next to the bed.
///         Bed = "bed",
///     }
/// }
///
/// assert_eq!(Place::ALL, [Place::Ceiling, Place::Bed]);
/// assert_eq!(Place::Bed.name(), "bed");
/// assert_eq!(Place::from_name("bed"), Some(Place::Bed));
/// ```
///
/// It is also a parameter of a request: a word.
#[macro_export]
macro_rules! words {
    (
        $(#[$meta:meta])*
        $visibility:vis enum $enum:ident {
            $($(#[$variant_meta:meta])* $variant:ident = $name:literal),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        $visibility enum $enum {
            $($(#[$variant_meta])* $variant,)+
        }

        impl $enum {
            /// All values, in order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The name in files, on the command line and on the wire.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }

            /// The value with this name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.into_iter().find(|value| value.name() == name)
            }
        }

        impl $crate::words::Word for $enum {
            const NAMES: &'static [&'static str] = &[$($name),+];

            fn of_name(name: &str) -> Option<Self> {
                Self::from_name(name)
            }
        }

        impl $crate::request::ParameterType for $enum {
            const KIND: $crate::request::Kind = $crate::request::Kind::Word(&[$($name),+]);
        }
    };
}
