//! The screen: keys and a scripted model in, whole screens out.

mod support;

mod editor;
mod frames;
mod looks;
mod overlays;
mod running;
mod sessions;
mod transcript;

mod pty;
