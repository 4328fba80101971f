//! One terminal session: a task owns the program and shows its output on the emulated screen.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use osier_base::clock::now_ms;
use osier_base::process::{Exit, LineReader, Pty, PtySize, TerminalChild, signal_name};
use osier_protocol::{TerminalInfo, TerminalScreen};
use regex::Regex;
use tokio::sync::{Mutex as AsyncMutex, mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::change::{TerminalChange, TerminalObserver};
use super::emulator::{NewRows, limited};
use super::keys;
use super::output::{PENDING, Search, TerminalOutput};
use super::typed::{Line, Typed};

/// Keys that wait for a program that does not read.
const TYPED: usize = 256;
/// Bytes per read.
const CHUNK: usize = 128 * 1024;
/// Time between two screens for clients. What the program answers to a key is sent immediately.
const FRAME: Duration = Duration::from_millis(33);
/// Screens after a pause that are sent immediately.
const IMMEDIATE: u32 = 4;
/// The share of time that screens of a flood may take is one in this number.
const FLOOD_SHARE: u32 = 12;
/// Time between two screens of a flood at most.
const FLOOD_FRAME: Duration = Duration::from_millis(250);
/// More output than this since the last screen is a flood: it is processed when a screen is sent.
const FLOOD: usize = 16 * 1024;
/// Pause between two reads of a flood, so that they are large.
const FLOOD_PAUSE: Duration = Duration::from_millis(1);
/// Time after output until the terminal is checked again.
const CHECK: Duration = Duration::from_millis(100);
/// How long a program may leave its input unread.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a program may leave the answers to its queries unread.
const ANSWER_TIMEOUT: Duration = Duration::from_millis(50);
/// A program on a terminal. Dropping the last handle ends it.
pub(crate) struct TerminalSession {
    pub(crate) id: String,
    pub(crate) command: String,
    /// Whether the sandbox denied all writes when it started.
    pub(crate) is_read_only: bool,
    started_at: i64,
    pty: Arc<Pty>,
    output: Arc<Mutex<TerminalOutput>>,
    progress: watch::Receiver<Progress>,
    cancel: CancellationToken,
    /// The next row for the model.
    given: Mutex<u64>,
    line: Mutex<Line>,
    /// The line for the shell behind the program that reads.
    ahead: Mutex<Line>,
    /// One writer at a time.
    writing: Arc<AsyncMutex<()>>,
    observer: Option<TerminalObserver>,
    /// The user's input, in order.
    typed: mpsc::Sender<Vec<u8>>,
    /// Whether the user typed since the last output.
    has_typed: Arc<AtomicBool>,
    _typist: AbortOnDropHandle<()>,
    _task: AbortOnDropHandle<()>,
}

osier_base::opaque_debug!(TerminalSession);

/// The state that the task publishes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    /// The time of the last output.
    pub last_output: Instant,
    /// How the program ended.
    pub ended: Option<Exit>,
}

impl TerminalSession {
    pub(crate) fn new(
        id: String,
        command: &str,
        child: TerminalChild,
        size: PtySize,
        is_read_only: bool,
        observer: Option<TerminalObserver>,
    ) -> Self {
        let output = Arc::new(Mutex::new(TerminalOutput::new(size)));
        let (sender, progress) = watch::channel(Progress {
            last_output: Instant::now(),
            ended: None,
        });
        let cancel = CancellationToken::new();
        let pty = child.pty();
        let has_typed = Arc::new(AtomicBool::new(false));
        let driver = Driver {
            id: id.clone(),
            child,
            pty: Arc::clone(&pty),
            output: Arc::clone(&output),
            progress: sender,
            observer: observer.clone(),
            was_hidden: false,
            check_at: None,
            due: None,
            next_at: Instant::now(),
            fresh: 0,
            read_at: None,
            has_typed: Arc::clone(&has_typed),
        };
        let task = osier_base::task::spawn(driver.run(cancel.clone()));
        let (typed, mut waiting) = mpsc::channel::<Vec<u8>>(TYPED);
        let writing = Arc::new(AsyncMutex::default());
        let (lines, one) = (Arc::clone(&pty), Arc::clone(&writing));
        let typist = osier_base::task::spawn(async move {
            while let Some(bytes) = waiting.recv().await {
                let _one = one.lock().await;
                if lines.write_all(&bytes).await.is_err() {
                    return;
                }
            }
        });
        Self {
            typed,
            has_typed,
            _typist: AbortOnDropHandle::new(typist),
            id,
            command: command.to_owned(),
            is_read_only,
            started_at: now_ms(),
            pty,
            output,
            progress,
            cancel,
            given: Mutex::default(),
            line: Mutex::default(),
            ahead: Mutex::default(),
            writing,
            observer,
            _task: AbortOnDropHandle::new(task),
        }
    }

    fn output(&self) -> MutexGuard<'_, TerminalOutput> {
        lock(&self.output)
    }

    pub(crate) fn ended(&self) -> Option<Exit> {
        self.progress.borrow().ended
    }

    pub(crate) fn progress(&self) -> watch::Receiver<Progress> {
        self.progress.clone()
    }

    pub(crate) fn is_hidden(&self) -> bool {
        self.ended().is_none() && self.pty.is_hidden()
    }

    pub(crate) fn info(&self) -> TerminalInfo {
        let ended = self.ended();
        let size = self.size();
        TerminalInfo {
            id: self.id.clone(),
            command: self.command.clone(),
            running: ended.is_none(),
            hidden_input: self.is_hidden(),
            exit_code: ended.and_then(|exit| exit.code),
            signal: ended.and_then(|exit| exit.signal).map(signal_name),
            started_at: self.started_at,
            rows: size.rows,
            columns: size.columns,
        }
    }

    pub(crate) fn size(&self) -> PtySize {
        self.output().size()
    }

    pub(crate) fn screen(&self) -> TerminalScreen {
        self.output().screen()
    }

    /// The rows of the screen, for the model.
    pub(crate) fn rows(&self) -> Vec<String> {
        self.output().rows()
    }

    /// The rows that the model has not read, at most the last `most`; `take` marks them as read.
    pub(crate) fn new_rows(&self, most: usize, take: bool) -> NewRows {
        let mut given = lock(&self.given);
        let new = self.output().new_rows(*given, most);
        if take {
            *given = new.next;
        }
        new
    }

    /// The rows from number `from` on.
    pub(crate) fn rows_from(&self, from: u64, most: usize) -> NewRows {
        self.output().new_rows(from, most)
    }

    pub(crate) fn is_full_screen(&self) -> bool {
        self.output().emulator().is_full_screen()
    }

    /// Searches every line from now on.
    pub(crate) fn search(&self, regex: Regex) -> Arc<Search> {
        self.output().search(regex)
    }

    /// The line that `search` has found.
    pub(crate) fn found(&self, search: &Search) -> Option<String> {
        self.output().emulator();
        search.found()
    }

    pub(crate) fn resize(&self, size: PtySize) -> io::Result<()> {
        let size = limited(size);
        self.output().emulator().resize(size);
        self.pty.resize(size)?;
        if let Some(observer) = &self.observer {
            observer(TerminalChange::Screen(
                self.id.clone(),
                Box::new(self.screen()),
            ));
            observer(TerminalChange::List);
        }
        Ok(())
    }

    /// The meaning of the model's input if a shell reads it, now or later; `None` if another program reads it.
    pub(crate) fn meaning(&self, text: &str, keys: &[String]) -> Option<Typed> {
        let typed = || lock(&self.line).clone().add(text, keys);
        match self.pty.reader() {
            LineReader::Shell(_) => Some(typed()),
            LineReader::OtherShell if typed() == Typed::Nothing => Some(Typed::Nothing),
            LineReader::OtherShell => Some(Typed::Unknown),
            LineReader::ProgramBefore { is_shell } => {
                let lines = || lock(&self.ahead).clone().begin(text, keys);
                Some(Typed::Ahead(is_shell.then(lines).flatten()))
            }
            LineReader::Program => None,
        }
    }

    /// The folder of the shell that reads what is typed.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        match self.pty.reader() {
            LineReader::Shell(folder) => folder,
            _ => None,
        }
    }

    /// Types what the model writes. Fails for an unknown key.
    pub(crate) async fn type_input(&self, text: &str, keys: &[String]) -> Result<(), String> {
        let application = self.output().emulator().has_application_cursor();
        let mut bytes = text.replace("\r\n", "\r").replace('\n', "\r").into_bytes();
        for key in keys {
            let sequence = keys::bytes(key, application);
            bytes.extend(sequence.ok_or_else(|| format!("unknown key `{key}`; keys are single characters and names such as enter, esc, up, f1, ctrl+c, alt+x"))?);
        }
        match self.pty.reader() {
            LineReader::Program | LineReader::ProgramBefore { .. } => {
                lock(&self.ahead).add(text, keys);
                lock(&self.line).add_unseen(&bytes);
            }
            _ => {
                let mut line = lock(&self.line);
                line.add(text, keys);
                *lock(&self.ahead) = line.clone();
            }
        }
        self.write(&bytes).await
    }

    /// Types what the user pressed. It is recorded nowhere.
    pub(crate) fn type_unseen(&self, bytes: &[u8], is_paste: bool) -> Result<(), String> {
        for line in [&self.line, &self.ahead] {
            lock(line).add_unseen(bytes);
        }
        if self.is_hidden() {
            self.output().secrets.add(bytes);
        }
        let marks = is_paste && self.output().emulator().marks_paste();
        if marks {
            return self.send([b"\x1b[200~", bytes, b"\x1b[201~"].concat());
        }
        self.send(bytes.to_vec())
    }

    fn send(&self, bytes: Vec<u8>) -> Result<(), String> {
        if self.ended().is_some() {
            return Err("the program has ended".to_owned());
        }
        self.has_typed.store(true, Ordering::Relaxed);
        let sent = self.typed.try_send(bytes);
        sent.map_err(|_| "the program does not read its input".to_owned())
    }

    async fn write(&self, bytes: &[u8]) -> Result<(), String> {
        if self.ended().is_some() {
            return Err("the program has ended".to_owned());
        }
        let _one = self.writing.lock().await;
        match timeout(WRITE_TIMEOUT, self.pty.write_all(bytes)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(format!("cannot write to the terminal: {error}")),
            Err(_) => Err("the program does not read its input".to_owned()),
        }
    }

    /// Ends the program and waits until it is gone.
    pub(crate) async fn close(&self) {
        self.cancel.cancel();
        let mut progress = self.progress();
        // An error means that the task is gone.
        let _ = progress.wait_for(|progress| progress.ended.is_some()).await;
    }
}

/// The task of a terminal.
struct Driver {
    id: String,
    child: TerminalChild,
    pty: Arc<Pty>,
    output: Arc<Mutex<TerminalOutput>>,
    progress: watch::Sender<Progress>,
    observer: Option<TerminalObserver>,
    was_hidden: bool,
    /// When to check again whether input is hidden: a program hides input after it has printed its question.
    check_at: Option<Instant>,
    /// When the next screen is sent.
    due: Option<Instant>,
    /// When the next screen would be sent if there were one every [`FRAME`].
    next_at: Instant,
    /// Bytes since the last screen.
    fresh: usize,
    /// When a flood is read again.
    read_at: Option<Instant>,
    has_typed: Arc<AtomicBool>,
}

impl Driver {
    async fn run(mut self, cancel: CancellationToken) {
        let mut buffer = vec![0; CHUNK];
        loop {
            let (due, check_at, read_at) = (self.due, self.check_at, self.read_at);
            let at = |time: Option<Instant>| sleep_until(time.unwrap_or_else(Instant::now));
            tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    self.child.stop().await;
                    break;
                }
                () = at(due), if due.is_some() => self.publish().await,
                () = at(check_at), if check_at.is_some() => {
                    self.check_at = None;
                    self.check_hidden();
                }
                () = at(read_at), if read_at.is_some() => self.read_at = None,
                length = self.child.read(&mut buffer), if read_at.is_none() => match length {
                    Ok(0) | Err(_) => break,
                    Ok(length) => self.show(&buffer[..length]).await,
                },
            }
        }
        self.publish().await;
        let ended = self.child.exit().unwrap_or_default();
        self.progress
            .send_modify(|progress| progress.ended = Some(ended));
        self.change(TerminalChange::List);
    }

    async fn show(&mut self, bytes: &[u8]) {
        self.fresh += bytes.len();
        lock(&self.output).add(bytes);
        if self.fresh <= FLOOD {
            lock(&self.output).emulator();
            self.answer().await;
        } else {
            self.read_at = Some(Instant::now() + FLOOD_PAUSE);
            if lock(&self.output).pending() > PENDING {
                self.process(TerminalOutput::compact).await;
            }
        }
        self.progress
            .send_modify(|progress| progress.last_output = Instant::now());
        let is_echo = self.has_typed.swap(false, Ordering::Relaxed) && self.fresh <= FLOOD;
        let due = self.next_at.checked_sub(FRAME * (IMMEDIATE - 1));
        match due.filter(|due| !is_echo && *due > Instant::now()) {
            None => self.publish().await,
            due => self.due = due,
        }
        // A flood leaves time for other tasks.
        tokio::task::yield_now().await;
    }

    /// Answers the queries of the program.
    async fn answer(&self) {
        let answers = lock(&self.output).take_answers();
        if !answers.is_empty() {
            let _ = timeout(ANSWER_TIMEOUT, self.pty.write_all(&answers)).await;
        }
    }

    /// Processes output, on another thread if there is much.
    async fn process<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut TerminalOutput) -> T + Send + 'static,
    ) -> Option<T> {
        if lock(&self.output).pending() <= FLOOD {
            return Some(work(&mut lock(&self.output)));
        }
        let output = Arc::clone(&self.output);
        let work = osier_base::task::spawn_blocking(move || work(&mut lock(&output)));
        work.await.ok()
    }

    async fn publish(&mut self) {
        self.due = None;
        let started = Instant::now();
        let is_flood = self.fresh > FLOOD;
        self.fresh = 0;
        let screen = self.process(TerminalOutput::screen).await;
        self.answer().await;
        let now = Instant::now();
        if is_flood {
            let pause = (now - started) * FLOOD_SHARE;
            let pause = pause.clamp(FRAME, FLOOD_FRAME);
            self.next_at = now + pause + FRAME * (IMMEDIATE - 1);
        } else {
            let next_at = self.next_at.max(now) + FRAME;
            self.next_at = next_at.min(now + FRAME * IMMEDIATE);
        }
        if self.observer.is_none() {
            return;
        }
        if let Some(screen) = screen {
            self.change(TerminalChange::Screen(self.id.clone(), Box::new(screen)));
        }
        self.check_at = Some(now + CHECK);
        self.check_hidden();
    }

    fn check_hidden(&mut self) {
        let is_hidden = self.pty.is_hidden();
        if is_hidden != self.was_hidden {
            self.was_hidden = is_hidden;
            self.change(TerminalChange::List);
        }
    }

    fn change(&self, change: TerminalChange) {
        if let Some(observer) = &self.observer {
            observer(change);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
