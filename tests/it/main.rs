//! Tests from outside: whole programs, whole screens, real files and processes.

mod agent;
mod discovery;
mod json;
mod layers;
mod print;
mod real_model;
mod sessions;
mod support;
mod tools_loop;
mod wire;
