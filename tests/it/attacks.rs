//! Attacks that got through once, as tables. Each must leave no trace.

mod files;
