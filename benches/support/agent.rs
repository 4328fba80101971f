//! The measured programs, each with an empty home and the test server as its only model.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::{fs, io};

use serde_json::json;
use tempfile::TempDir;

use super::program::Command;

/// A terminal agent and its setup.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Agent {
    pub(crate) name: &'static str,
    /// Text that is on the screen once the program accepts keys.
    pub(crate) ready: &'static str,
    configure: fn(&Place, &str) -> io::Result<Start>,
}

/// A home directory that is deleted when it is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    folder: TempDir,
}

/// The parts of the command line that differ between programs.
#[derive(Debug, Default)]
struct Start {
    argv: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
}

pub(crate) const OSIER: Agent = Agent {
    name: "osier",
    ready: "mock",
    configure: osier,
};

/// All supported agents.
pub(crate) const AGENTS: &[Agent] = &[
    OSIER,
    Agent {
        name: "pi",
        ready: "0.0%/",
        configure: pi,
    },
    Agent {
        name: "codex",
        ready: "›",
        configure: codex,
    },
    Agent {
        name: "opencode",
        ready: "Ask anything",
        configure: opencode,
    },
    Agent {
        name: "claude",
        ready: "? for shortcuts",
        configure: claude,
    },
    Agent {
        name: "crush",
        ready: "mock",
        configure: crush,
    },
];

impl Agent {
    /// The path of the program; `None` if it is not on the search path.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        if self.name == OSIER.name {
            return Some(env!("CARGO_BIN_EXE_osier").into());
        }
        let path = std::env::var_os("PATH")?;
        let mut candidates = std::env::split_paths(&path).map(|folder| folder.join(self.name));
        candidates.find(|path| path.is_file())
    }

    /// An empty home, and the command that starts the agent in it.
    pub(crate) fn prepare(&self, server: &str) -> io::Result<(Place, Command)> {
        let place = Place::new()?;
        let start = (self.configure)(&place, server)?;
        let home = place.home();
        let mut environment: Vec<(String, OsString)> = [
            ("HOME", home.as_os_str()),
            ("TERM", "xterm-256color".as_ref()),
            ("COLORTERM", "truecolor".as_ref()),
            ("LANG", "C.UTF-8".as_ref()),
            ("SHELL", "/bin/sh".as_ref()),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        environment.push(("PATH".into(), std::env::var_os("PATH").unwrap_or_default()));
        let own = start.environment.into_iter();
        environment.extend(own.map(|(name, value)| (name.to_owned(), value)));
        let program = self.path().ok_or(io::ErrorKind::NotFound)?;
        let mut argv = vec![program.into_os_string()];
        argv.extend(start.argv);
        let cwd = place.work();
        Ok((
            place,
            Command {
                argv,
                environment,
                cwd,
            },
        ))
    }
}

impl Place {
    fn new() -> io::Result<Self> {
        let place = Self {
            folder: tempfile::tempdir()?,
        };
        place.put("project/README.md", "# demo\n")?;
        // An empty repository, because agents search for its root.
        place.put("project/.git/HEAD", "ref: refs/heads/main\n")?;
        for folder in ["objects", "refs"] {
            fs::create_dir_all(place.work().join(".git").join(folder))?;
        }
        Ok(place)
    }

    pub(crate) fn home(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn work(&self) -> PathBuf {
        self.home().join("project")
    }

    #[expect(clippy::disallowed_methods, reason = "a file that nobody reads yet")]
    fn put(&self, name: &str, text: &str) -> io::Result<()> {
        let path = self.home().join(name);
        fs::create_dir_all(path.parent().unwrap())?;
        fs::write(path, text)
    }
}

fn osier(place: &Place, server: &str) -> io::Result<Start> {
    let model = json!({"id": "mock", "name": "mock", "contextWindow": 200_000, "maxTokens": 8000});
    let provider = json!({"baseUrl": format!("{server}/v1"), "api": "openai-chat-completions",
        "apiKey": "x", "models": [model]});
    let models = json!({"providers": {"mock": provider}});
    place.put("osier/models.json", &models.to_string())?;
    Ok(Start {
        argv: ["--model", "mock/mock"].map(Into::into).into(),
        environment: vec![("OSIER_HOME", place.home().join("osier").into())],
    })
}

fn pi(place: &Place, server: &str) -> io::Result<Start> {
    let cost = json!({"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0});
    let model = json!({"id": "mock", "name": "mock", "contextWindow": 200_000, "maxTokens": 8000,
        "input": ["text"], "reasoning": false, "cost": cost});
    let provider = json!({"baseUrl": format!("{server}/v1"), "api": "openai-completions",
        "apiKey": "x", "models": [model]});
    let models = json!({"providers": {"mock": provider}});
    let settings = json!({"quietStartup": true, "defaultProvider": "mock", "defaultModel": "mock"});
    place.put(".pi/agent/models.json", &models.to_string())?;
    place.put(".pi/agent/settings.json", &settings.to_string())?;
    Ok(Start {
        argv: ["--provider", "mock", "--model", "mock"]
            .map(Into::into)
            .into(),
        environment: vec![
            ("PI_OFFLINE", "1".into()),
            ("PI_SKIP_VERSION_CHECK", "1".into()),
        ],
    })
}

fn codex(place: &Place, server: &str) -> io::Result<Start> {
    let work = place.work();
    let work = work.display();
    let config = format!(
        "model = \"mock\"\nmodel_provider = \"mock\"\napproval_policy = \"never\"\n\
         sandbox_mode = \"danger-full-access\"\ncheck_for_update_on_startup = false\n\
         [analytics]\nenabled = false\n\
         [model_providers.mock]\nname = \"mock\"\nbase_url = \"{server}/v1\"\nwire_api = \"responses\"\n\
         [projects.\"{work}\"]\ntrust_level = \"trusted\"\n\
         [notice]\nhide_full_access_warning = true\n"
    );
    place.put(".codex/config.toml", &config)?;
    Ok(Start {
        argv: vec!["--no-daemon".into()],
        ..Start::default()
    })
}

fn opencode(place: &Place, server: &str) -> io::Result<Start> {
    let model = json!({"name": "mock", "limit": {"context": 200_000, "output": 8000}});
    let provider = json!({"npm": "@ai-sdk/openai-compatible", "name": "mock",
        "options": {"baseURL": format!("{server}/v1"), "apiKey": "x"}, "models": {"mock": model}});
    let config = json!({"$schema": "https://opencode.ai/config.json", "autoupdate": false,
        "share": "disabled", "model": "mock/mock", "small_model": "mock/mock",
        "provider": {"mock": provider}});
    place.put(".config/opencode/opencode.json", &config.to_string())?;
    Ok(Start {
        argv: Vec::new(),
        environment: vec![
            ("OPENCODE_DISABLE_AUTOUPDATE", "1".into()),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1".into()),
            ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1".into()),
        ],
    })
}

fn claude(place: &Place, server: &str) -> io::Result<Start> {
    const KEY: &str = "sk-ant-mock-000000000000";
    let work = place.work().display().to_string();
    let project = json!({"hasTrustDialogAccepted": true, "allowedTools": ["Bash"]});
    let approved = json!({"approved": [&KEY[KEY.len() - 20..]], "rejected": []});
    let config = json!({"hasCompletedOnboarding": true, "theme": "dark", "numStartups": 5,
        "customApiKeyResponses": approved, "projects": {work: project},
        "bypassPermissionsModeAccepted": true});
    place.put(".claude.json", &config.to_string())?;
    Ok(Start {
        argv: ["--model", "claude-sonnet-4-5"].map(Into::into).into(),
        environment: vec![
            ("ANTHROPIC_BASE_URL", server.into()),
            ("ANTHROPIC_API_KEY", KEY.into()),
            ("DISABLE_TELEMETRY", "1".into()),
            ("DISABLE_AUTOUPDATER", "1".into()),
            ("DISABLE_ERROR_REPORTING", "1".into()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".into()),
        ],
    })
}

fn crush(place: &Place, server: &str) -> io::Result<Start> {
    let model = json!({"id": "mock", "name": "mock", "context_window": 200_000,
        "default_max_tokens": 8000});
    let provider = json!({"type": "openai-compat", "base_url": format!("{server}/v1"),
        "api_key": "x", "models": [model]});
    let chosen = json!({"model": "mock", "provider": "mock"});
    let config = json!({"providers": {"mock": provider}, "models": {"large": chosen, "small": chosen},
        "options": {"disable_metrics": true, "disable_provider_auto_update": true}});
    place.put(".config/crush/crush.json", &config.to_string())?;
    Ok(Start {
        argv: vec!["--yolo".into()],
        environment: vec![("CRUSH_DISABLE_METRICS", "1".into())],
    })
}
