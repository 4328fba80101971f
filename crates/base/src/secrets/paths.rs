//! Files that usually hold secrets, by their path.

use std::path::Path;
use std::sync::LazyLock;

/// The last components of a path, with `*` for any text in one, and why such a file is secret. The first match decides.
#[rustfmt::skip]
const PATHS: &[(&str, &str)] = &[
    // Files that show how a secret file looks.
    (".env.example", ""), (".env.sample", ""), (".env.template", ""), (".env.dist", ""), ("*.pub", ""),
    (".env", "environment variables, often with keys"),
    (".env.*", "environment variables, often with keys"),
    ("*.env", "environment variables, often with keys"),
    (".envrc", "environment variables, often with keys"),
    ("proc/*/environ", "the environment of a process, with its keys"),
    ("proc/*/task/*/environ", "the environment of a process, with its keys"),
    ("proc/*/mem", "the memory of a process"),
    (".ssh/id_*", "a private SSH key"),
    ("id_rsa", "a private SSH key"), ("id_dsa", "a private SSH key"),
    ("id_ecdsa", "a private SSH key"), ("id_ecdsa_sk", "a private SSH key"),
    ("id_ed25519", "a private SSH key"), ("id_ed25519_sk", "a private SSH key"),
    ("ssh_host_*_key", "a private SSH key"),
    ("*.pem", "a certificate or private key"),
    ("*.key", "a private key"), ("*.ppk", "a private key"),
    ("*.p12", "a private key"), ("*.pfx", "a private key"),
    ("*.jks", "a key store"), ("*.keystore", "a key store"),
    ("*.kdbx", "a password database"),
    (".gnupg/**", "keys of GnuPG"),
    (".netrc", "passwords of servers"), ("_netrc", "passwords of servers"),
    (".npmrc", "tokens of npm"), (".yarnrc.yml", "tokens of Yarn"),
    (".pypirc", "tokens of PyPI"),
    (".gem/credentials", "tokens of RubyGems"),
    (".cargo/credentials", "tokens of Cargo"), (".cargo/credentials.toml", "tokens of Cargo"),
    (".m2/settings.xml", "passwords of Maven"), (".gradle/gradle.properties", "passwords of Gradle"),
    (".composer/auth.json", "tokens of Composer"),
    (".aws/credentials", "keys of AWS"), (".aws/config", "settings of AWS"),
    (".aws/sso/cache/*", "tokens of AWS"), (".aws/cli/cache/*", "tokens of AWS"),
    (".azure/**", "credentials of Azure"),
    ("gcloud/**", "credentials of Google Cloud"),
    (".kube/config", "credentials of Kubernetes"), ("kubeconfig", "credentials of Kubernetes"),
    (".docker/config.json", "passwords of registries"), (".dockercfg", "passwords of registries"),
    (".git-credentials", "passwords of git servers"), (".config/git/credentials", "passwords of git servers"),
    (".config/gh/hosts.yml", "tokens of GitHub"), (".config/hub", "tokens of GitHub"),
    (".config/glab-cli/config.yml", "tokens of GitLab"),
    (".pgpass", "passwords of databases"), (".my.cnf", "passwords of databases"),
    (".vault-token", "a token of Vault"),
    (".terraformrc", "tokens of Terraform"), (".terraform.d/credentials.tfrc.json", "tokens of Terraform"),
    ("*.tfstate", "the state of Terraform, with its secrets"),
    ("*.tfvars", "variables of Terraform, often with keys"),
    ("credentials.json", "credentials"), ("client_secret*.json", "credentials of an application"),
    (".s3cfg", "keys of AWS"), (".boto", "keys of Google Cloud or AWS"), ("rclone.conf", "passwords of servers"),
    (".htpasswd", "passwords"), ("etc/shadow", "passwords"), ("etc/gshadow", "passwords"),
    (".password-store/**", "passwords"), (".local/share/keyrings/*", "passwords"),
    ("secrets.yml", "secrets"), ("secrets.yaml", "secrets"), ("secrets.json", "secrets"), ("secrets.toml", "secrets"),
    ("service-account*.json", "a key of a service account"),
    (".codex/auth.json", "credentials of Codex"), (".claude/.credentials.json", "credentials of Claude Code"),
    ("osier/auth.json", "credentials of osier"), (".osier/auth.json", "credentials of osier"),
    ("serve.token", "the token of the osier server"),
    (".bash_history", "commands, sometimes with keys"), (".zsh_history", "commands, sometimes with keys"),
];

/// Why the file at `path` is likely to hold secrets. `path` must be resolved: absolute, without symbolic links and `..`.
/// Names are compared without case, because some file systems do.
///
/// ```
/// use osier_base::secrets::is_secret_path;
///
/// assert_eq!(is_secret_path("/home/me/.netrc".as_ref()), Some("passwords of servers"));
/// assert_eq!(is_secret_path("/work/src/main.rs".as_ref()), None);
/// ```
pub fn is_secret_path(path: &Path) -> Option<&'static str> {
    // A search asks for each file: patterns are split once.
    static ROWS: LazyLock<Vec<(Vec<&str>, &str)>> = LazyLock::new(|| {
        let rows = PATHS.iter();
        rows.map(|(pattern, reason)| (pattern.split('/').collect(), *reason))
            .collect()
    });
    let path = path.to_string_lossy().to_lowercase();
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    let row = ROWS.iter().find(|(pattern, _)| matches(pattern, &names));
    row.map(|(_, reason)| *reason)
        .filter(|reason| !reason.is_empty())
}

fn matches(pattern: &[&str], names: &[&str]) -> bool {
    if let [folder, "**"] = *pattern {
        let folders = names.split_last().map_or(&[][..], |(_, folders)| folders);
        return folders.contains(&folder);
    }
    let Some(start) = names.len().checked_sub(pattern.len()) else {
        return false;
    };
    // `proc` and `etc` are folders of the root.
    if matches!(pattern[0], "proc" | "etc") && start > 0 {
        return false;
    }
    names[start..]
        .iter()
        .zip(pattern)
        .all(|(name, part)| match part.split_once('*') {
            None => name == part,
            Some((head, tail)) => {
                let length = head.len() + tail.len();
                name.len() >= length && name.starts_with(head) && name.ends_with(tail)
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_files_are_known_by_their_path() {
        for path in [
            "/work/.env",
            "/work/.env.local",
            "/work/.ENV",
            "/work/prod.env",
            "/work/.envrc",
            "/proc/1/environ",
            "/proc/self/environ",
            "/proc/thread-self/environ",
            "/proc/12/task/12/environ",
            "/home/me/.ssh/id_work",
            "/work/id_ed25519",
            "/work/tls/server.pem",
            "/work/tls/server.KEY",
            "/home/me/.netrc",
            "/work/.npmrc",
            "/home/me/.pypirc",
            "/home/me/.aws/credentials",
            "/home/me/.aws/sso/cache/0a.json",
            "/home/me/.kube/config",
            "/home/me/.docker/config.json",
            "/home/me/.git-credentials",
            "/home/me/.gnupg/private-keys-v1.d/x.key",
            "/home/me/.config/gcloud/application_default_credentials.json",
            "/home/me/.config/gh/hosts.yml",
            "/home/me/.azure/msal_token_cache.json",
            "/etc/shadow",
            "/home/me/.local/share/osier/auth.json",
            "/home/me/.cargo/credentials.toml",
            "/home/me/.pgpass",
            "/work/terraform.tfstate",
        ] {
            assert!(is_secret_path(path.as_ref()).is_some(), "{path}");
        }
    }

    #[test]
    fn other_files_are_not() {
        for path in [
            "/work/src/main.rs",
            "/work/.env.example",
            "/work/environ",
            "/work/proc/1/environ",
            "/work/etc/shadow",
            "/home/me/.ssh/id_ed25519.pub",
            "/home/me/.ssh/config",
            "/home/me/.ssh/known_hosts",
            "/work/keys.rs",
            "/work/env.rs",
            "/work/auth.json",
            "/proc/1/status",
            "/",
            "/work/gcloud",
            "/home/me/.aws",
        ] {
            assert_eq!(is_secret_path(path.as_ref()), None, "{path}");
        }
    }
}
