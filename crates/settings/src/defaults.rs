//! The values without a file.

use std::collections::BTreeMap;

use osier_llm::CacheRetention;
use osier_protocol::{Budget, NetworkAccess, PermissionMode, SandboxMode};

use crate::screen::{ExitOutput, FooterPart, Images};
use crate::{Settings, WebSearch};

impl Default for Settings {
    fn default() -> Self {
        Self {
            model: None,
            models: Vec::new(),
            fallback: Vec::new(),
            favourites: Vec::new(),
            plan_model: None,
            edit_model: None,
            small_model: None,
            review_model: None,
            thinking: None,
            cache_retention: CacheRetention::default(),
            theme: "system".to_owned(),
            keymap: "default".to_owned(),
            mouse: true,
            exit_output: ExitOutput::Answer,
            show_thinking: true,
            turn_summary: true,
            reduced_motion: false,
            screen_reader: false,
            side_panel: false,
            images: Images::Auto,
            notifications: true,
            title: true,
            footer_left: FooterPart::LEFT.to_vec(),
            footer_right: FooterPart::RIGHT.to_vec(),
            max_retries: 5,
            idle_timeout: 300,
            answer_timeout: 3_600,
            background_after: 600,
            budget: Budget::default(),
            describe_environment: true,
            loop_guard: true,
            lsp: true,
            lsp_servers: Vec::new(),
            lsp_wait: 1_500,
            format: true,
            mcp_tools_share: 10,
            auto_compact: true,
            drop_results: true,
            titles: true,
            discover_local_models: true,
            checkpoints: true,
            subagents: false,
            checkpoints_limit: 5_000,
            checkpoints_days: 90,
            keyring: false,
            proxy: None,
            ca_file: None,
            refresh_models: None,
            permissions: PermissionMode::default(),
            allow: Vec::new(),
            ask: Vec::new(),
            deny: Vec::new(),
            claude_hooks: None,
            sandbox: SandboxMode::default(),
            sandbox_network: NetworkAccess::Off,
            sandbox_write: Vec::new(),
            web_search: WebSearch::default(),
            web_private_hosts: Vec::new(),
            pass_environment: Vec::new(),
            secret_warnings: true,
            model_options: Vec::new(),
            command_environment: BTreeMap::new(),
            directories: Vec::new(),
            project_directories: Vec::new(),
            faults: Vec::new(),
            least: PermissionMode::Yolo,
            written: String::new(),
        }
    }
}
