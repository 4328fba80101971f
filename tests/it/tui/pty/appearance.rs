//! Themes and keymaps that are edited while the program runs: the next frame has the change, whatever kind of save it
//! was.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use super::program::{Program, Setup};

const SETTINGS: &str = "discover_local_models = false\ndescribe_environment = false\n\
    turn_summary = false\ntheme = \"mine\"\nkeymap = \"mine\"\n";

fn program() -> Setup {
    let program = Program::new()
        .home_file("settings.toml", SETTINGS)
        .file("s.json", r#"{"turns": []}"#);
    program.variable("COLORTERM", "truecolor").model("s.json")
}

/// A theme whose text has this amount of red.
fn theme(red: u8) -> String {
    let colour = format!("\"#{red:02x}5678\"");
    let tokens = ["text", "muted", "accent", "border", "footer"];
    let tokens = tokens.map(|token| format!("{token} = {colour}\n"));
    format!("inherit = \"dark\"\n[tokens]\n{}", tokens.concat())
}

fn keymap(key: &str) -> String {
    format!("[global]\n\"{key}\" = \"help\"\n")
}

fn home(program: &Program) -> PathBuf {
    program.work().join("../home")
}

fn write(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
}

fn rename_over(path: &Path, text: &str) {
    let new = path.with_extension("new");
    write(&new, text);
    fs::rename(new, path).unwrap();
}

fn delete_and_create(path: &Path, text: &str) {
    fs::remove_file(path).unwrap();
    write(path, text);
}

/// As Vim saves with `backupcopy=no`.
fn rename_and_create(path: &Path, text: &str) {
    fs::rename(path, path.with_extension("toml~")).unwrap();
    write(path, text);
}

/// The file becomes a link to another folder.
fn link(path: &Path, text: &str) {
    let folder = path.parent().unwrap().join("../../dotfiles");
    fs::create_dir_all(&folder).unwrap();
    let target = folder.join(path.file_name().unwrap());
    write(&target, text);
    fs::remove_file(path).unwrap();
    symlink(target, path).unwrap();
}

/// Writes into the file that the link names.
fn behind_link(path: &Path, text: &str) {
    write(&path.canonicalize().unwrap(), text);
}

const SAVES: [fn(&Path, &str); 6] = [
    write,
    rename_over,
    delete_and_create,
    rename_and_create,
    link,
    behind_link,
];

#[test]
fn saved_theme_is_drawn_at_once() {
    let mut program = program()
        .home_file("themes/mine.toml", &theme(100))
        .home_file("keymaps/mine.toml", &keymap("f9"))
        .start();
    program.shows("Ask, or type / for commands");
    program.writes("2;100;86;120", 1);
    let path = home(&program).join("themes/mine.toml");
    for (save, red) in SAVES.iter().zip(101..) {
        save(&path, &theme(red));
        program.writes(&format!("2;{red};86;120"), 1);
    }
    write(
        &path,
        "inherit = \"dark\"\n[tokens]\ntext = \"no such colour\"\n",
    );
    program.shows("no such colour");
    write(&path, &theme(99));
    program.writes("2;99;86;120", 1);
}

#[test]
fn theme_folder_that_appears_later_is_watched() {
    let mut program = program().start();
    program.shows("unknown theme mine");
    let folder = home(&program).join("themes");
    fs::create_dir(&folder).unwrap();
    write(&folder.join("mine.toml"), &theme(100));
    program.writes("2;100;86;120", 1);
    fs::remove_dir_all(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    write(&folder.join("mine.toml"), &theme(101));
    program.writes("2;101;86;120", 1);
}

#[test]
fn saved_keymap_applies_at_once() {
    let mut program = program()
        .home_file("themes/mine.toml", &theme(100))
        .home_file("keymaps/mine.toml", &keymap("f9"))
        .start();
    program.shows("Ask, or type / for commands");
    let path = home(&program).join("keymaps/mine.toml");
    // The report says that the file was read; the keys before it apply.
    let with_report = |name: &str| format!("{}\"f12\" = \"{name}\"\n", keymap("f10"));
    for (save, number) in SAVES.iter().zip(1..) {
        let name = format!("no_action_{number}");
        save(&path, &with_report(&name));
        program.shows(&name);
    }
    program.write("\x1b[21~");
    program.shows("all keys");
}
