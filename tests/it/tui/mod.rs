//! The screen: keys and a scripted model in, whole screens out.

mod support;

mod editor;
mod running;
mod transcript;
