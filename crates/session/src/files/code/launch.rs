//! Starts programs of a project in the sandbox of the session, if they are as the user trusted them.

use async_trait::async_trait;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use osier_base::process::Invocation;
use osier_lsp::Launch;
use osier_permissions::trust::{ProgramGuard, ProgramUse, UNCOMPILED, command};
use osier_sandbox::Confinement;

/// The compiler that language servers for TypeScript and its relatives run from the project.
const COMPILER: &str = "node_modules/typescript/lib/tsserver.js";

/// The sandbox for servers and formatters, and the guard that decides whether their programs may
/// start.
#[derive(Debug, Clone)]
pub(crate) struct Confined {
    pub sandbox: Arc<Confinement>,
    pub guard: Arc<dyn ProgramGuard>,
}

impl Confined {
    /// The program in the sandbox.
    pub(crate) async fn confine(&self, mut invocation: Invocation) -> Result<Invocation, String> {
        let sandbox = &self.sandbox;
        // Compiled modules are not checked, so Python does not read those of the project.
        let environment = Path::new(&invocation.program).ancestors().nth(2);
        if environment.is_some_and(|folder| folder.join("pyvenv.cfg").is_file()) {
            let (name, folder) = UNCOMPILED;
            invocation.env.push((name.into(), folder.into()));
        }
        sandbox.prepare().await.map_err(|error| error.to_string())?;
        sandbox.wrap(invocation).map_err(|error| error.to_string())
    }
}

#[async_trait]
impl Launch for Confined {
    fn key(&self) -> String {
        let sandbox = &self.sandbox;
        let (mode, network) = (sandbox.mode().name(), sandbox.has_network());
        let denies = sandbox.denies_network();
        format!("{mode} {network} {denies}")
    }

    async fn wrap(&self, invocation: Invocation, settings: &str) -> Result<Invocation, String> {
        let program = PathBuf::from(&invocation.program);
        let mut files = vec![program.clone()];
        let cwd = invocation.cwd.clone().unwrap_or_default();
        let mut compilers = cwd.ancestors().map(|folder| folder.join(COMPILER));
        files.extend(compilers.find(|path| path.is_file()));
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        let arguments = invocation.args.iter().map(|word| word.to_string_lossy());
        let run = ProgramUse {
            // A server can be a script: its program is an interpreter.
            command: command(std::iter::once(name.clone()).chain(arguments)),
            name: program.display().to_string(),
            cwd,
            copy: None,
            files,
            settings: settings.to_owned(),
            tools: &[],
        };
        self.guard.permit(&run, true).await?;
        self.confine(invocation).await
    }
}
