//! Notebooks through the tools `read` and `edit`.

#![expect(clippy::disallowed_methods, reason = "tests create their files")]

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use osier_agent::{ToolOutput, ToolStatus};
use osier_llm::ContentBlock;
use serde_json::{Value, json};

use crate::testing::{Bench, text};

/// With the indentation of Jupyter, and something that a reformatted file would lose.
const NOTEBOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Caf\u00e9\n",
    "Text."
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 1,
   "id": "sum",
   "metadata": {"tags":   ["keep"]},
   "outputs": [
    {"name": "stdout", "output_type": "stream", "text": ["\u001b[31m3\u001b[0m\n"]},
    {"data": {"text/plain": "3"}, "execution_count": 1, "metadata": {}, "output_type": "execute_result"},
    {"ename": "E", "evalue": "bad", "output_type": "error", "traceback": []}
   ],
   "source": [
    "x = 1\n",
    "x + 2"
   ]
  }
 ],
 "metadata": {"float": 1.0},
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

fn bench() -> Bench {
    let bench = Bench::new();
    fs::write(bench.path("n.ipynb"), NOTEBOOK).unwrap();
    bench
}

async fn read(bench: &Bench, arguments: Value) -> ToolOutput {
    let mut arguments = arguments;
    arguments["file_path"] = json!("n.ipynb");
    bench.run("read", arguments).await
}

async fn edit(bench: &Bench, arguments: Value) -> ToolOutput {
    let mut arguments = arguments;
    arguments["file_path"] = json!("n.ipynb");
    bench.run("edit", arguments).await
}

fn file(bench: &Bench) -> String {
    fs::read_to_string(bench.path("n.ipynb")).unwrap()
}

#[tokio::test]
async fn cells_are_shown_with_their_outputs() {
    let bench = bench();
    let output = read(&bench, json!({})).await;
    assert_eq!(
        text(&output),
        "<cell id=\"intro\" type=\"markdown\">\n# Café\nText.\n</cell>\n\
         <cell id=\"sum\">\nx = 1\nx + 2\n</cell>\n<output>\n3\n</output>\n<output>\n3\n</output>\n\
         <output>\nE: bad\n</output>\n\
         [`edit` changes the text of cells; with `cell_id` and `edit_mode` insert or delete it adds or removes a cell]"
    );
    let output = read(&bench, json!({"limit": 1})).await;
    assert!(text(&output).contains("[cells 1-1 of 2; continue with offset 2]"));
    let output = read(&bench, json!({"offset": 3})).await;
    assert_eq!(
        text(&output),
        "offset 3 is past the end of `n.ipynb`, which has 2 cells"
    );
}

#[tokio::test]
async fn images_are_sent_as_images() {
    let picture = image::RgbImage::from_pixel(2, 2, image::Rgb([255, 0, 0]));
    let mut png = std::io::Cursor::new(Vec::new());
    picture.write_to(&mut png, image::ImageFormat::Png).unwrap();
    let encoded = STANDARD.encode(png.into_inner());
    let bench = Bench::new();
    let cell = |data: &str| {
        let output =
            json!({"output_type": "display_data", "data": {"image/png": data}, "metadata": {}});
        json!({"cell_type": "code", "metadata": {}, "outputs": [output], "source": "plot()"})
    };
    let notebook = json!({"cells": [cell(&encoded), cell("damaged")], "metadata": {}, "nbformat": 4, "nbformat_minor": 4});
    fs::write(bench.path("n.ipynb"), notebook.to_string()).unwrap();
    let output = read(&bench, json!({})).await;
    let shown = text(&output);
    assert!(
        shown
            .contains("<cell id=\"cell-0\">\nplot()\n</cell>\n<output>\n[image 1: 2x2]\n</output>"),
        "{shown}"
    );
    assert!(shown.contains("[an image that is damaged]"), "{shown}");
    let images = output.content.iter();
    let images = images.filter(|block| matches!(block, ContentBlock::Image { .. }));
    assert_eq!(images.count(), 1);
}

#[tokio::test]
async fn edit_changes_only_the_source_of_a_cell() {
    let bench = bench();
    read(&bench, json!({})).await;
    let output = edit(
        &bench,
        json!({"old_string": "x + 2", "new_string": "y = \"ü\"\nx + y"}),
    )
    .await;
    assert_eq!(output.status, ToolStatus::Success, "{}", text(&output));
    let expected = NOTEBOOK.replace("\"x + 2\"", "\"y = \\\"ü\\\"\\n\",\n    \"x + y\"");
    assert_eq!(file(&bench), expected);
    // The text of the file is an edit as before.
    let output = edit(
        &bench,
        json!({"old_string": "\"float\": 1.0", "new_string": "\"float\": 2.0"}),
    )
    .await;
    assert_eq!(output.status, ToolStatus::Success, "{}", text(&output));
    assert_eq!(file(&bench), expected.replace("1.0", "2.0"));
}

#[tokio::test]
async fn edit_of_the_json_leaves_a_notebook() {
    let bench = bench();
    read(&bench, json!({})).await;
    let change = json!({"old_string": "\"nbformat\": 4,", "new_string": "nbformat: 4,"});
    assert_eq!(
        text(&edit(&bench, change).await),
        "`n.ipynb` would be no valid notebook any more; nothing was changed"
    );
    assert_eq!(file(&bench), NOTEBOOK);
}

#[tokio::test]
async fn text_that_fits_in_several_cells_is_refused() {
    let bench = bench();
    let twice = NOTEBOOK.replace("\"Text.\"", "\"x = 1\\n\"");
    fs::write(bench.path("n.ipynb"), &twice).unwrap();
    read(&bench, json!({})).await;
    let change = json!({"old_string": "x = 1\n", "new_string": "x = 5\n"});
    let output = edit(&bench, change).await;
    assert_eq!(
        text(&output),
        "old_string fits in the cells intro, sum; add more of the text around it, or set `cell_id`; nothing was changed"
    );
    assert_eq!(file(&bench), twice);
    let change = json!({"old_string": "x = 1\n", "new_string": "x = 5\n", "replace_all": true});
    let output = edit(&bench, change).await;
    assert_eq!(output.status, ToolStatus::Success, "{}", text(&output));
    // The source of a changed cell is written again, without escapes.
    let changed = twice.replace("x = 1", "x = 5");
    assert_eq!(file(&bench), changed.replace(r"Caf\u00e9", "Café"));
    let output = edit(
        &bench,
        json!({"old_string": "missing text", "new_string": "x"}),
    )
    .await;
    assert_ne!(output.status, ToolStatus::Success);
}

#[tokio::test]
async fn cells_are_replaced_inserted_and_deleted() {
    let bench = bench();
    let change = json!({"cell_id": "sum", "new_string": "pass"});
    let output = edit(&bench, change.clone()).await;
    assert_eq!(
        text(&output),
        "`n.ipynb` must be read before a cell is changed by its id; read it first"
    );
    read(&bench, json!({})).await;
    edit(&bench, change).await;
    let replaced = NOTEBOOK.replace("    \"x = 1\\n\",\n    \"x + 2\"", "    \"pass\"");
    assert_eq!(file(&bench), replaced);
    let change = json!({"cell_id": "intro", "edit_mode": "insert", "cell_type": "markdown", "new_string": "a\nb"});
    let output = edit(&bench, change).await;
    assert_eq!(output.status, ToolStatus::Success, "{}", text(&output));
    let inserted = file(&bench);
    let parsed: Value = serde_json::from_str(&inserted).unwrap();
    let id = parsed["cells"][1]["id"].as_str().unwrap();
    let cell = format!(
        "  {{\n   \"cell_type\": \"markdown\",\n   \"id\": \"{id}\",\n   \"metadata\": {{}},\n   \
         \"source\": [\n    \"a\\n\",\n    \"b\"\n   ]\n  }},\n"
    );
    assert_eq!(inserted.replacen(&cell, "", 1), replaced);
    let output = edit(&bench, json!({"cell_id": id, "edit_mode": "delete"})).await;
    assert_eq!(output.status, ToolStatus::Success, "{}", text(&output));
    assert_eq!(file(&bench), replaced);
    let output = edit(&bench, json!({"cell_id": "none", "edit_mode": "delete"})).await;
    assert_eq!(
        text(&output),
        "no cell has the id `none`; the ids are intro, sum; nothing was changed"
    );
    // The last cell and the only cell.
    edit(&bench, json!({"cell_id": "sum", "edit_mode": "delete"})).await;
    edit(&bench, json!({"cell_id": "intro", "edit_mode": "delete"})).await;
    let parsed: Value = serde_json::from_str(&file(&bench)).unwrap();
    assert_eq!(parsed["cells"], json!([]));
    edit(&bench, json!({"edit_mode": "insert", "new_string": "x"})).await;
    let parsed: Value = serde_json::from_str(&file(&bench)).unwrap();
    assert_eq!(parsed["cells"][0]["source"], json!(["x"]));
}

#[tokio::test]
async fn file_on_one_line_stays_on_one_line() {
    let bench = Bench::new();
    let notebook = r#"{"cells": [{"cell_type": "code", "metadata": {}, "outputs": [], "source": ["a\n", "b"]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 2}"#;
    fs::write(bench.path("n.ipynb"), notebook).unwrap();
    read(&bench, json!({})).await;
    edit(&bench, json!({"old_string": "b", "new_string": "c\nd"})).await;
    let expected = notebook.replace(r#"["a\n", "b"]"#, r#"["a\n", "c\n", "d"]"#);
    assert_eq!(file(&bench), expected);
}

#[tokio::test]
async fn what_is_no_notebook_is_text() {
    let bench = Bench::new();
    fs::write(bench.path("n.ipynb"), "{\"cells\": 3}\n").unwrap();
    let shown = text(&read(&bench, json!({})).await);
    assert!(shown.contains("{\"cells\": 3}"), "{shown}");
    let output = edit(&bench, json!({"cell_id": "a", "new_string": "x"})).await;
    assert_eq!(
        text(&output),
        "`n.ipynb` is not a notebook of the format 4, so it has no cells"
    );
}
