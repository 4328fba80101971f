//! Decides which hosts a command reaches, and connects to them.

use parking_lot::Mutex;
use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::address::is_public;
use super::destination::{Destination, Target};
use super::hosts::HostRule;
use super::hosts_file;
use crate::report::DeniedHosts;
use osier_base::process::Invocation;
use osier_protocol::questions::{Answer, Question, QuestionKind, Questions, Subject};

/// Time to resolve a name, and to connect to an address.
const RESOLVE: Duration = Duration::from_secs(15);
const CONNECT: Duration = Duration::from_secs(30);
/// Hosts that one command can ask for.
const MAX_QUESTIONS: usize = 8;

/// Asks the user about a host.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asker {
    questions: Option<Questions>,
    command: String,
    cwd: String,
}

impl Asker {
    /// An asker for one command; without `questions`, nobody is asked.
    pub(crate) fn of(questions: Option<Questions>, invocation: &Invocation, cwd: &Path) -> Self {
        let command = invocation.args.last().unwrap_or(&invocation.program);
        Self {
            questions,
            command: command.to_string_lossy().into_owned(),
            cwd: cwd.display().to_string(),
        }
    }
}

/// The user's answers in this session.
#[derive(Debug, Default)]
pub(super) struct Answers {
    allowed: Mutex<Vec<HostRule>>,
    denied: Mutex<HashSet<Destination>>,
    /// One question at a time, so that requests for the same host share it.
    asking: tokio::sync::Mutex<()>,
}

/// Why a connection was not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    Denied,
    Unreachable,
}

/// The hosts of commands.
#[derive(Debug, Clone, Default)]
pub(crate) struct Hosts {
    /// The listed hosts; without a list, all that are not denied.
    pub allowed: Option<Vec<HostRule>>,
    /// The hosts of deny rules.
    pub denied: Vec<HostRule>,
}

/// The rules for one command.
#[derive(Debug)]
pub(super) struct Policy {
    hosts: Hosts,
    answers: Arc<Answers>,
    asker: Asker,
    /// Hosts that the user was asked about for this command.
    asked: Mutex<HashSet<Destination>>,
    denied: DeniedHosts,
    resolver: Resolver,
}

/// Finds the addresses of a name.
#[derive(Debug, Default)]
pub(super) enum Resolver {
    #[default]
    System,
    /// The system's, with another file of hosts.
    #[cfg(test)]
    SystemWith(std::path::PathBuf),
    #[cfg(test)]
    Fixed(std::collections::HashMap<String, Vec<IpAddr>>),
}

impl Policy {
    pub(super) fn new(
        hosts: Hosts,
        answers: Arc<Answers>,
        asker: Asker,
        denied: DeniedHosts,
    ) -> Self {
        Self {
            hosts,
            answers,
            asker,
            asked: Mutex::default(),
            denied,
            resolver: Resolver::default(),
        }
    }

    /// Connects to `destination` if it is allowed.
    pub(super) async fn connect(&self, destination: &Destination) -> Result<TcpStream, Failure> {
        let addresses = self.addresses(destination).await?;
        for address in addresses {
            // The checked address: the name is not resolved again.
            let address = SocketAddr::new(address, destination.port);
            if let Ok(Ok(stream)) = timeout(CONNECT, TcpStream::connect(address)).await {
                return Ok(stream);
            }
        }
        Err(Failure::Unreachable)
    }

    /// The addresses of `destination` that a command may reach. Names that are not allowed are not resolved, because
    /// the query itself would carry data out.
    async fn addresses(&self, destination: &Destination) -> Result<Vec<IpAddr>, Failure> {
        if !self.is_allowed(destination).await {
            self.denied.add(destination.to_string());
            return Err(Failure::Denied);
        }
        let found = match &destination.host {
            Target::Address(address) => vec![*address],
            Target::Name(name) => self.resolver.resolve(name, destination.port).await,
        };
        if found.is_empty() {
            return Err(Failure::Unreachable);
        }
        let mut found: Vec<IpAddr> = found.iter().map(IpAddr::to_canonical).collect();
        found.retain(|address| self.may_reach(*address, destination));
        if found.is_empty() {
            let reason = if self.hosts.allowed.is_some() {
                "which has only addresses of a private network; name the address to allow it"
            } else {
                "which has only addresses that a rule denies"
            };
            self.denied.add(format!("{destination}, {reason}"));
            return Err(Failure::Denied);
        }
        Ok(found)
    }

    fn may_reach(&self, address: IpAddr, destination: &Destination) -> bool {
        let named = |rule: &HostRule| rule.names_address(address, destination);
        let Some(listed) = &self.hosts.allowed else {
            return !self.hosts.denied.iter().any(named);
        };
        !self.hosts.denied.iter().any(named)
            && (is_public(address) || listed.iter().any(named) || self.answers.allow(named))
    }

    async fn is_allowed(&self, destination: &Destination) -> bool {
        let named = |rule: &HostRule| rule.names(destination);
        if self.is_denied(destination) {
            return false;
        }
        let Some(listed) = &self.hosts.allowed else {
            return true;
        };
        listed.iter().any(named) || self.answers.allow(named) || self.asks(destination).await
    }

    /// Whether a deny rule is about the host. An address that no list names could be that of a denied name.
    fn is_denied(&self, destination: &Destination) -> bool {
        let denied = &self.hosts.denied;
        let is_address = matches!(destination.host, Target::Address(_));
        let is_hidden =
            is_address && self.hosts.allowed.is_none() && denied.iter().any(HostRule::has_name);
        is_hidden || denied.iter().any(|rule| rule.denies(destination))
    }

    async fn asks(&self, destination: &Destination) -> bool {
        let Some(questions) = &self.asker.questions else {
            return false;
        };
        let _one_at_a_time = self.answers.asking.lock().await;
        if self.answers.allow(|rule| rule.names(destination)) {
            return true;
        }
        if self.answers.denies(destination) || !self.notes_question(destination) {
            return false;
        }
        let question = Question {
            id: String::new(),
            origin: "the sandbox".to_owned(),
            subagent: None,
            title: format!(
                "Allow the network host `{destination}` for sandboxed commands of this session?"
            ),
            subject: Some(Subject::Command {
                command: self.asker.command.clone(),
                cwd: self.asker.cwd.clone(),
            }),
            kind: QuestionKind::Confirm,
        };
        let answer = questions.ask(question, &CancellationToken::new()).await;
        self.answers.add(destination, &answer);
        answer == Answer::Yes
    }

    /// Notes that the user is asked; false if they were asked before, or too often.
    fn notes_question(&self, destination: &Destination) -> bool {
        let mut asked = self.asked.lock();
        asked.len() < MAX_QUESTIONS && asked.insert(destination.clone())
    }
}

impl Answers {
    fn allow(&self, named: impl Fn(&HostRule) -> bool) -> bool {
        let allowed = self.allowed.lock();
        allowed.iter().any(named)
    }

    fn denies(&self, destination: &Destination) -> bool {
        let denied = self.denied.lock();
        denied.contains(destination)
    }

    fn add(&self, destination: &Destination, answer: &Answer) {
        match answer {
            Answer::Yes => {
                let mut allowed = self.allowed.lock();
                allowed.push(HostRule::exactly(destination));
            }
            Answer::Refuse { .. } => {
                let mut denied = self.denied.lock();
                denied.insert(destination.clone());
            }
            // Without an answer, the next command can ask again.
            _ => {}
        }
    }
}

impl Resolver {
    pub(super) async fn resolve(&self, name: &str, port: u16) -> Vec<IpAddr> {
        match self {
            Self::System => system(Path::new(hosts_file::SYSTEM), name, port).await,
            #[cfg(test)]
            Self::SystemWith(file) => system(file, name, port).await,
            #[cfg(test)]
            Self::Fixed(names) => names.get(name).cloned().unwrap_or_default(),
        }
    }
}

/// The addresses in the file of hosts; without any, those that the resolver of the system finds.
async fn system(file: &Path, name: &str, port: u16) -> Vec<IpAddr> {
    let (file, wanted) = (file.to_owned(), name.to_owned());
    let listed = move || hosts_file::addresses(&file, &wanted);
    let listed = osier_base::task::spawn_blocking(listed).await;
    if let Ok(listed) = listed
        && !listed.is_empty()
    {
        return listed;
    }
    // With a final dot, the search list of the system is not used.
    let name = if name.contains('.') {
        format!("{name}.")
    } else {
        name.to_owned()
    };
    let found = timeout(RESOLVE, tokio::net::lookup_host((name, port))).await;
    let found = found.ok().and_then(Result::ok).into_iter().flatten();
    found.map(|address| address.ip()).collect()
}

#[cfg(test)]
mod tests;
