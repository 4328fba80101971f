//! The keys that osier itself uses, for exports without a session: they are removed whatever they look like.

use std::collections::BTreeMap;
use std::path::Path;

use osier_base::folders::Folders;
use osier_base::regular_file;
use osier_base::secrets::{add_known, add_known_fields, is_secret_name};
use osier_llm::catalogue::ModelsFile;

/// Adds the keys in the environment, in the credential store, in the files of models and MCP
/// servers, and in the server's token file to the secrets that are removed from all text that
/// leaves the program. Call it before an export; keys in the system's keyring are not read.
pub fn remember(folders: &Folders, environment: &BTreeMap<String, String>) {
    let variables = environment.iter();
    let values = variables.filter(|(name, _)| is_secret_name(name));
    add_known(values.map(|(_, value)| value.clone()));
    // A file that cannot be read is reported where it is used.
    let read = |path: &Path| regular_file::read_text(path, regular_file::SMALL).unwrap_or_default();
    for path in [folders.credentials(), folders.servers()] {
        add_known_fields(&serde_json::from_str(&read(&path)).unwrap_or_default());
    }
    // Reading the file adds its keys.
    let models = ModelsFile::parse(&read(&folders.models()), "models.json").unwrap_or_default();
    let named = models.variables.iter();
    add_known(named.filter_map(|name| environment.get(name).cloned()));
    add_known([read(&folders.data.join("serve.token"))]);
}
