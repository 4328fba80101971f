//! Files in an editor: texts are read and written through its buffers.

use std::fs::Metadata;
use std::io;

use osier_agent::FileTarget;
use osier_base::without_links;
use tokio::runtime::Handle;

use super::Workspace;
use crate::files::ledger::MAX_HASHED;
use crate::files::target::in_editor;

impl Workspace {
    /// The text of the file in the editor; `None` where the disk is used. A file that the editor refuses is not read from
    /// disk: it can have unsaved changes, and the refusal is a decision. Blocks.
    pub(crate) fn text_in_editor(
        &self,
        target: &FileTarget,
        metadata: &Metadata,
    ) -> Option<io::Result<String>> {
        let path = &in_editor(target, self.editor().map(|_| self.cwd())?);
        let editor = self.editor().filter(|editor| editor.has_file(path))?;
        if metadata.len() > MAX_HASHED {
            return None;
        }
        let text = Handle::try_current().ok()?.block_on(editor.read(path));
        let refused =
            |error| io::Error::other(format!("the editor did not read the file: {error}"));
        Some(text.map_err(refused))
    }

    /// Writes a text through the editor; `None` where the disk is used. Blocks.
    pub(crate) fn write_in_editor(
        &self,
        target: &FileTarget,
        text: &str,
    ) -> Option<Result<(), String>> {
        let path = &in_editor(target, self.editor().map(|_| self.cwd())?);
        let editor = self.editor().filter(|editor| editor.has_file(path))?;
        let runtime = Handle::try_current().ok()?;
        if let Some(folder) = target.host.parent()
            && let Err(error) = without_links::create_folder(folder)
        {
            return Some(Err(format!(
                "cannot create `{}`: {error}",
                folder.display()
            )));
        }
        let written = runtime.block_on(editor.write(path, text));
        Some(written.map_err(|error| {
            format!("the editor did not write the file: {error}; nothing was changed")
        }))
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use std::path::{Path, PathBuf};
    use std::sync::{Arc, Mutex};
    use std::{fs, io};

    use serde_json::json;

    use osier_base::process::{Exit, Invocation};

    use crate::files::editor::{Editor, Terminal};
    use crate::testing::{Bench, text};

    /// An editor with one buffer that differs from the disk, whose commands print themselves.
    #[derive(Debug, Default)]
    struct FakeEditor {
        buffer: Mutex<String>,
        file: PathBuf,
    }

    #[async_trait]
    impl Editor for FakeEditor {
        fn has_file(&self, _: &Path) -> bool {
            true
        }

        fn has_terminals(&self) -> bool {
            true
        }

        async fn read(&self, path: &Path) -> Result<String, String> {
            let buffer = self.buffer.lock().unwrap().clone();
            match path {
                path if path == self.file => Ok(buffer),
                path if path.ends_with("private") => Err("not for agents".to_owned()),
                path => fs::read_to_string(path).map_err(|error| error.to_string()),
            }
        }

        async fn write(&self, path: &Path, text: &str) -> Result<(), String> {
            if path == self.file {
                text.clone_into(&mut self.buffer.lock().unwrap());
            }
            let written = fs::File::create(path)
                .and_then(|mut file| io::Write::write_all(&mut file, text.as_bytes()));
            written.map_err(|error| error.to_string())
        }

        async fn open(
            &self,
            invocation: &Invocation,
            _: usize,
        ) -> Result<Box<dyn Terminal>, String> {
            let command = invocation
                .args
                .last()
                .unwrap()
                .to_string_lossy()
                .into_owned();
            if command.starts_with("touch") {
                return Err("no commands".to_owned());
            }
            let terminal: Box<dyn Terminal> = Box::new(FakeTerminal(command));
            Ok(terminal)
        }
    }

    /// A terminal that echoes its command; `wait` runs until it is killed.
    #[derive(Debug)]
    struct FakeTerminal(String);

    #[async_trait]
    impl Terminal for FakeTerminal {
        fn id(&self) -> &'static str {
            "t1"
        }

        async fn exited(&self) -> Result<Exit, String> {
            if self.0 == "wait" {
                return std::future::pending().await;
            }
            Ok(Exit {
                code: Some(3),
                signal: None,
            })
        }

        async fn kill(&self) {}

        async fn output(&self) -> Result<(String, bool), String> {
            Ok((format!("ran {}\r\n", self.0), true))
        }

        async fn release(&self) {}
    }

    fn bench() -> Bench {
        let bench = Bench::with(|workspace| {
            let desk = FakeEditor {
                buffer: Mutex::new("not stored yet\n".to_owned()),
                file: workspace.cwd().join("f"),
            };
            workspace.within(Some(Arc::new(desk)))
        });
        bench.put("f", "stored\n");
        bench
    }

    #[tokio::test]
    async fn unsaved_text_is_read_and_changed() {
        let bench = bench();
        let read = bench.run("read", json!({"file_path": "f"})).await;
        assert_eq!(text(&read), "1\tnot stored yet\n");
        let edit = json!({"file_path": "f", "old_string": "yet", "new_string": "now"});
        let edited = bench.run("edit", edit).await;
        assert!(edited.status.is_success(), "{}", text(&edited));
        assert_eq!(bench.get("f"), "not stored now\n");
        let write = json!({"file_path": "new/g", "content": "made\n"});
        assert!(bench.run("write", write).await.status.is_success());
        assert_eq!(bench.get("new/g"), "made\n");
        let read = bench.run("read", json!({"file_path": "new/g"})).await;
        assert_eq!(text(&read), "1\tmade\n");
    }

    #[tokio::test]
    async fn a_refusal_of_the_editor_is_the_result() {
        let bench = bench();
        bench.put("private", "secret\n");
        let path = json!({"file_path": "private"});
        let edit = json!({"file_path": "private", "old_string": "secret", "new_string": "x"});
        let write = json!({"file_path": "private", "content": "x\n"});
        for (tool, arguments) in [("read", path), ("edit", edit), ("write", write)] {
            let output = bench.run(tool, arguments).await;
            let told = text(&output);
            let expected = "the editor did not read the file: not for agents";
            assert!(told.contains(expected), "{tool}: {told}");
            assert!(!output.status.is_success(), "{tool}: {told}");
        }
        assert_eq!(bench.get("private"), "secret\n");
        let output = bench.run("bash", json!({"command": "touch made"})).await;
        let told = text(&output);
        assert!(
            told.contains("the editor did not start the command: no commands"),
            "{told}"
        );
        assert!(!bench.workspace.cwd().join("made").exists());
    }

    #[tokio::test]
    async fn a_command_runs_in_a_terminal_of_the_editor() {
        let bench = bench();
        let output = bench.run("bash", json!({"command": "make"})).await;
        let told = text(&output);
        assert!(
            told.starts_with(
                "[the terminal no longer has the earlier output]\nran make\n[exit code 3"
            ),
            "{told}"
        );
        assert_eq!(output.details["exitCode"], 3);
    }

    #[tokio::test(start_paused = true)]
    async fn a_timed_out_command_is_killed_in_the_terminal() {
        let bench = bench();
        let output = bench
            .run("bash", json!({"command": "wait", "timeout": 1}))
            .await;
        assert!(
            text(&output).contains("timed out after"),
            "{}",
            text(&output)
        );
    }
}
