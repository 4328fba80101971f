//! AWS credentials, found as AWS's own tools do: in the environment, then in a profile of
//! `~/.aws/credentials` and `~/.aws/config`, which contains keys or a command that prints them.
//!
//! Single sign-on, assumed roles and instance metadata are supported only through such a command
//! (`credential_process`), for example the AWS CLI.

use std::collections::BTreeMap;
use std::fs;

use jiff::Timestamp;
use serde::Deserialize;

use super::variables::Variables;
use crate::secret::Secret;
use crate::sigv4::Signing;
use osier_base::regular_file;

const SERVICE: &str = "bedrock";

/// The credentials of a profile.
#[derive(Debug)]
pub(super) enum Found {
    Keys(Signing),
    /// A command that prints them as JSON; requests go to `region`.
    Process {
        command: String,
        region: String,
    },
}

/// The settings of one profile, by name.
type Profile = BTreeMap<String, String>;

/// Whether there seem to be credentials and a region.
pub(super) fn is_available(variables: &Variables) -> bool {
    let keys = variables.get("AWS_ACCESS_KEY_ID").is_some()
        && variables.get("AWS_SECRET_ACCESS_KEY").is_some();
    let files = || files(variables);
    let keys = keys || files().iter().any(|path| fs::exists(path).unwrap_or(false));
    keys && region(variables, &profile(variables)).is_some()
}

/// Describes the source of the credentials for the user.
pub(super) fn source(variables: &Variables) -> String {
    match variables.get("AWS_ACCESS_KEY_ID") {
        Some(_) => "key of $AWS_ACCESS_KEY_ID".to_owned(),
        None => format!("AWS profile `{}`", profile_name(variables)),
    }
}

/// Finds the credentials. Reads files.
pub(super) fn find(variables: &Variables) -> Result<Found, String> {
    let profile = profile(variables);
    let region = region(variables, &profile)
        .ok_or("no region is set: set AWS_REGION, or `region` in ~/.aws/config")?;
    let keys = |access: String, secret: String, token: Option<String>| {
        Found::Keys(Signing {
            access_key: access,
            secret: Secret::new(secret),
            session_token: token.map(Secret::new),
            region: region.clone(),
            service: SERVICE,
        })
    };
    // A profile that was set explicitly has precedence: the keys may be left over from another profile.
    let named = variables.get("AWS_PROFILE").is_some();
    let access = variables.get("AWS_ACCESS_KEY_ID").filter(|_| !named);
    if let (Some(access), Some(secret)) = (access, variables.get("AWS_SECRET_ACCESS_KEY")) {
        return Ok(keys(access, secret, variables.get("AWS_SESSION_TOKEN")));
    }
    let of = |name: &str| profile.get(name).cloned();
    if let (Some(access), Some(secret)) = (of("aws_access_key_id"), of("aws_secret_access_key")) {
        return Ok(keys(access, secret, of("aws_session_token")));
    }
    if let Some(command) = of("credential_process") {
        return Ok(Found::Process { command, region });
    }
    let name = profile_name(variables);
    if profile.is_empty() {
        return Err(format!("unknown AWS profile `{name}`: set AWS_PROFILE"));
    }
    Err(format!(
        "the AWS profile `{name}` has no keys: add \
         `credential_process = aws configure export-credentials --format process --profile NAME`, \
         or set AWS_BEARER_TOKEN_BEDROCK"
    ))
}

/// The output of a `credential_process`.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Printed {
    access_key_id: String,
    secret_access_key: String,
    #[serde(default)]
    session_token: Option<String>,
    #[serde(default)]
    expiration: Option<Timestamp>,
}

/// Parses the output of a `credential_process`; returns the credentials and when they expire, in milliseconds
/// since the Unix epoch. Errors never contain the output.
pub(super) fn printed(text: &str, region: String) -> Result<(Signing, Option<i64>), String> {
    let printed: Printed = serde_json::from_str(text).map_err(|error| {
        format!(
            "`credential_process` did not print credentials (line {}, column {})",
            error.line(),
            error.column()
        )
    })?;
    let signing = Signing {
        access_key: printed.access_key_id,
        secret: Secret::new(printed.secret_access_key),
        session_token: printed.session_token.map(Secret::new),
        region,
        service: SERVICE,
    };
    Ok((signing, printed.expiration.map(Timestamp::as_millisecond)))
}

fn region(variables: &Variables, profile: &Profile) -> Option<String> {
    let set = variables.get("AWS_REGION");
    set.or_else(|| variables.get("AWS_DEFAULT_REGION"))
        .or_else(|| profile.get("region").cloned())
}

fn profile_name(variables: &Variables) -> String {
    let named = variables.get("AWS_PROFILE");
    named.unwrap_or_else(|| "default".to_owned())
}

/// The credentials file, then the configuration file.
fn files(variables: &Variables) -> [std::path::PathBuf; 2] {
    let file = |variable: &str, name: &str| match variables.get(variable) {
        Some(path) => path.into(),
        None => variables.home().join(".aws").join(name),
    };
    [
        file("AWS_SHARED_CREDENTIALS_FILE", "credentials"),
        file("AWS_CONFIG_FILE", "config"),
    ]
}

/// The settings of the selected profile. The credentials file has precedence over the configuration file.
fn profile(variables: &Variables) -> Profile {
    let name = profile_name(variables);
    let mut settings = Profile::new();
    for path in files(variables) {
        let text = regular_file::read_text(&path, regular_file::SMALL).unwrap_or_default();
        for (key, value) in section(&text, &name) {
            settings.entry(key).or_insert(value);
        }
    }
    settings
}

/// The settings of the section `[name]` or `[profile name]`. Indented lines belong to nested settings, which
/// are ignored.
fn section(text: &str, name: &str) -> Profile {
    let mut found = Profile::new();
    let mut inside = false;
    for line in text.lines() {
        let trimmed = line.trim();
        if let Some(header) = trimmed.strip_prefix('[') {
            let header = header.split(']').next().unwrap_or_default().trim();
            let header = header.strip_prefix("profile ").unwrap_or(header).trim();
            inside = header == name;
        } else if inside
            && !trimmed.starts_with(['#', ';'])
            && !line.starts_with([' ', '\t'])
            && let Some((key, value)) = trimmed.split_once('=')
        {
            let value = value.trim();
            if !value.is_empty() {
                found.insert(key.trim().to_lowercase(), value.to_owned());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREDENTIALS: &str = "[default]\naws_access_key_id = AKIDDEFAULT\naws_secret_access_key=abc=def\n\n\
         # work\n[work]\naws_access_key_id = AKIDWORK\naws_secret_access_key = w\naws_session_token = t\n";
    const CONFIG: &str = "[default]\nregion = eu-west-1\ns3 =\n  region = nested\n\
         [profile work]\nregion = us-west-2\n[profile sso]\nsso_session = x\nregion = r\n\
         [profile tool]\nregion = r\ncredential_process = /bin/tool --json\n";

    fn variables(home: &std::path::Path, set: &[(&str, &str)]) -> Variables {
        let mut all = vec![("HOME".to_owned(), home.to_string_lossy().into_owned())];
        all.extend(
            set.iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        Variables::of(all)
    }

    fn describe(found: Result<Found, String>) -> String {
        match found {
            Ok(Found::Keys(signing)) => format!(
                "{} {} {:?} {}",
                signing.access_key,
                signing.secret.expose(),
                signing.session_token.as_ref().map(Secret::expose),
                signing.region
            ),
            Ok(Found::Process { command, region }) => format!("{command} {region}"),
            Err(error) => error,
        }
    }

    #[test]
    fn environment_precedes_the_default_profile() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".aws");
        fs::create_dir(&folder).unwrap();
        let nothing = variables(home.path(), &[("AWS_REGION", "r")]);
        assert!(!is_available(&nothing));
        for (name, text) in [("credentials", CREDENTIALS), ("config", CONFIG)] {
            osier_base::atomic_file::write(&folder.join(name), text.as_bytes()).unwrap();
        }
        let env = [("AWS_ACCESS_KEY_ID", "A"), ("AWS_SECRET_ACCESS_KEY", "S")];
        let with = |more: &[(&'static str, &'static str)]| [&env[..], more].concat();
        for (set, expected) in [
            (vec![], "AKIDDEFAULT abc=def None eu-west-1"),
            (
                vec![("AWS_PROFILE", "work")],
                "AKIDWORK w Some(\"t\") us-west-2",
            ),
            (with(&[]), "A S None eu-west-1"),
            (
                with(&[("AWS_SESSION_TOKEN", "T"), ("AWS_REGION", "x")]),
                "A S Some(\"T\") x",
            ),
            (
                with(&[("AWS_PROFILE", "work")]),
                "AKIDWORK w Some(\"t\") us-west-2",
            ),
            (vec![("AWS_PROFILE", "tool")], "/bin/tool --json r"),
        ] {
            let variables = variables(home.path(), &set);
            assert!(is_available(&variables), "{set:?}");
            assert_eq!(describe(find(&variables)), expected, "{set:?}");
        }
        let sso = describe(find(&variables(home.path(), &[("AWS_PROFILE", "sso")])));
        assert!(
            sso.contains("`sso` has no keys: add `credential_process"),
            "{sso}"
        );
        let none = describe(find(&variables(
            home.path(),
            &[("AWS_PROFILE", "x"), ("AWS_REGION", "r")],
        )));
        assert_eq!(none, "unknown AWS profile `x`: set AWS_PROFILE");
    }

    #[test]
    fn command_output_has_credentials_and_expiry() {
        let text = r#"{"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "S", "SessionToken": "T",
            "Expiration": "2026-11-21T12:00:00Z"}"#;
        let (signing, ends) = printed(text, "r".to_owned()).unwrap();
        assert_eq!(describe(Ok(Found::Keys(signing))), "A S Some(\"T\") r");
        assert_eq!(ends, Some(1_795_262_400_000));
        let error = printed("{\"SecretAccessKey\": \"hidden\"}", String::new()).unwrap_err();
        assert!(!error.contains("hidden"), "{error}");
    }
}
