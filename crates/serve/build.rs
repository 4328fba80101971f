//! Bundles and compresses the files of the browser chat. The program contains them as they are sent.

#![expect(
    clippy::disallowed_methods,
    reason = "the next build overwrites an incomplete file"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

use flate2::Compression;
use flate2::write::GzEncoder;

const FILES: &str = "../../assets/chat";
/// The module that starts the page.
const MAIN: &str = "main.js";

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed={FILES}");
    let folder = env::var_os("OUT_DIR").unwrap_or_default();
    let (from, to) = (Path::new(FILES), Path::new(&folder).join("web"));
    compress(from, &to)?;
    let page = fs::read_to_string(from.join("index.html"))?;
    write(&to.join("page.css"), styles(&page, from)?.as_bytes())?;
    write(&to.join("page.js"), scripts(&from.join("app"))?.as_bytes())?;
    write(&to.join("index.html"), bundled_page(&page).as_bytes())
}

fn compress(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type()?.is_dir() {
            compress(&from, &to)?;
        } else {
            write(&to, &fs::read(from)?)?;
        }
    }
    Ok(())
}

fn write(to: &Path, content: &[u8]) -> io::Result<()> {
    let mut compressed = GzEncoder::new(Vec::new(), Compression::best());
    io::copy(&mut &*content, &mut compressed)?;
    fs::write(to, compressed.finish()?)
}

/// The path of the style sheet of a line, if it is one.
fn style_sheet(line: &str) -> Option<&str> {
    let path = line
        .trim()
        .strip_prefix(r#"<link rel="stylesheet" href="/"#)?;
    path.split('"').next()
}

/// All style sheets, in the order of the page.
fn styles(page: &str, from: &Path) -> io::Result<String> {
    page.lines()
        .filter_map(style_sheet)
        .map(|path| fs::read_to_string(from.join(path)))
        .collect()
}

/// The page with one style sheet and one script.
fn bundled_page(page: &str) -> String {
    let mut bundled = String::new();
    let mut has_style = false;
    for line in page.lines() {
        if style_sheet(line).is_none() {
            bundled.push_str(line);
            bundled.push('\n');
        } else if !has_style {
            has_style = true;
            bundled.push_str("    <link rel=\"stylesheet\" href=\"/page.css\" />\n");
        }
    }
    bundled.replace("/app/main.js", "/page.js")
}

/// All modules in one file. Each is a function that returns what it exports; the modules that it imports precede it.
fn scripts(folder: &Path) -> io::Result<String> {
    let mut modules = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        modules.insert(name, fs::read_to_string(entry.path())?);
    }
    let mut bundle = String::from("\"use strict\";\n");
    let mut done = Vec::new();
    add_module(MAIN, &modules, &mut done, &mut bundle)?;
    Ok(bundle)
}

/// The names and the module of an import, which is one line: `import { NAMES } from "./MODULE";`.
fn import(line: &str) -> Option<(&str, &str)> {
    let (names, module) = line.strip_prefix("import {")?.split_once("} from \"./")?;
    Some((names, module.strip_suffix("\";")?))
}

fn add_module(
    name: &str,
    modules: &BTreeMap<String, String>,
    done: &mut Vec<String>,
    bundle: &mut String,
) -> io::Result<()> {
    if done.iter().any(|known| known == name) {
        return Ok(());
    }
    done.push(name.to_owned());
    let unknown = || io::Error::other(format!("there is no module `{name}`"));
    let source = modules.get(name).ok_or_else(unknown)?;
    let mut body = String::new();
    let mut exports = Vec::new();
    for line in source.lines() {
        if let Some((names, module)) = import(line) {
            add_module(module, modules, done, bundle)?;
            let names = names.replace(" as ", ": ");
            let _ = writeln!(body, "const {{{names}}} = {};", variable(module));
        } else if let Some(declaration) = line.strip_prefix("export ") {
            exports.push(declared(declaration));
            let _ = writeln!(body, "{declaration}");
        } else if line.starts_with("import ") {
            return Err(io::Error::other(format!(
                "unknown import in `{name}`: {line}"
            )));
        } else if !line.trim_start().starts_with("//") {
            let _ = writeln!(body, "{line}");
        }
    }
    let (variable, exports) = (variable(name), exports.join(", "));
    let _ = writeln!(
        bundle,
        "const {variable} = (() => {{\n{body}return {{ {exports} }};\n}})();"
    );
    Ok(())
}

/// The variable with the exports of a module.
fn variable(module: &str) -> String {
    format!("${}", module.trim_end_matches(".js"))
}

/// The name in a declaration: `async function NAME(`, `class NAME`, `const NAME =`.
fn declared(declaration: &str) -> &str {
    let words = declaration.split([' ', '(', ';', '=']);
    let mut names = words.filter(|word| !["async", "function", "class", "const"].contains(word));
    names.next().unwrap_or_default()
}
