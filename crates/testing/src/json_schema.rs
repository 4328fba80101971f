//! Checks values against a JSON schema.

use boon::{Compiler, ErrorKind, SchemaIndex, Schemas, ValidationError};
use serde_json::Value;

const URL: &str = "schema:///";

/// A compiled JSON schema.
pub struct JsonSchema {
    schemas: Schemas,
    root: SchemaIndex,
}

impl JsonSchema {
    /// # Panics
    ///
    /// If `schema` is no JSON schema.
    #[track_caller]
    #[expect(clippy::panic, reason = "for tests")]
    pub fn new(schema: &Value) -> Self {
        let mut schemas = Schemas::new();
        let mut compiler = Compiler::new();
        let added = compiler.add_resource(URL, schema.clone());
        let added = added.map_err(|error| error.to_string());
        let compile = |()| {
            compiler
                .compile(URL, &mut schemas)
                .map_err(|error| error.to_string())
        };
        let root = added
            .and_then(compile)
            .unwrap_or_else(|error| panic!("not a JSON schema: {error}"));
        Self { schemas, root }
    }

    pub fn is_valid(&self, value: &Value) -> bool {
        self.errors(value).is_empty()
    }

    /// The mismatches, as `PATH: REASON`.
    pub fn errors(&self, value: &Value) -> Vec<String> {
        let mut errors = Vec::new();
        if let Err(error) = self.schemas.validate(value, self.root) {
            collect(&error, &mut errors);
        }
        errors
    }
}

impl std::fmt::Debug for JsonSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JsonSchema").finish_non_exhaustive()
    }
}

/// Collects the errors inside groups; any other error counts once, with all its alternatives.
fn collect(error: &ValidationError<'_, '_>, errors: &mut Vec<String>) {
    match &error.kind {
        ErrorKind::Group
        | ErrorKind::Schema { .. }
        | ErrorKind::Reference { .. }
        | ErrorKind::AllOf => {
            error.causes.iter().for_each(|cause| collect(cause, errors));
        }
        kind => errors.push(format!("{}: {kind}", error.instance_location)),
    }
}
