//! [`opaque_debug!`](crate::opaque_debug) implements `Debug` where the contents cannot be shown, or must not.

/// Implements `Debug` as the name of the type alone.
#[macro_export]
macro_rules! opaque_debug {
    ($name:ident $(<$parameter:tt>)?) => {
        impl$(<$parameter>)? ::std::fmt::Debug for $name$(<$parameter>)? {
            fn fmt(&self, formatter: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                formatter
                    .debug_struct(stringify!($name))
                    .finish_non_exhaustive()
            }
        }
    };
}
