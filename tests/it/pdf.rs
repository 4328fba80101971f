//! PDF files in `read`: text by page, and files that are built to do harm.

use serde_json::{Value, json};
use std::fmt::Write as _;

use crate::support::cli::Home;

/// A PDF with a page for each content stream.
pub(crate) fn pdf(contents: &[Vec<u8>], extra: &str) -> Vec<u8> {
    let mut file = b"%PDF-1.4\n".to_vec();
    let mut places = Vec::new();
    let mut add = |file: &mut Vec<u8>, head: &str, stream: Option<&[u8]>| {
        places.push(file.len());
        let number = places.len();
        file.extend_from_slice(format!("{number} 0 obj\n{head}").as_bytes());
        if let Some(stream) = stream {
            file.extend_from_slice(b"\nstream\n");
            file.extend_from_slice(stream);
            file.extend_from_slice(b"\nendstream");
        }
        file.extend_from_slice(b"\nendobj\n");
    };
    let mut kids = String::new();
    for index in 0..contents.len() {
        let _ = write!(kids, "{} 0 R ", 4 + 2 * index);
    }
    add(&mut file, "<< /Type /Catalog /Pages 2 0 R >>", None);
    let pages = format!(
        "<< /Type /Pages /Kids [{kids}] /Count {} /MediaBox [0 0 612 792] >>",
        contents.len()
    );
    add(&mut file, &pages, None);
    add(
        &mut file,
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        None,
    );
    for (index, content) in contents.iter().enumerate() {
        let stream = 5 + 2 * index;
        let page = format!(
            "<< /Type /Page /Parent 2 0 R /Contents {stream} 0 R /Resources << /Font << /F1 3 0 R >> >> >>"
        );
        add(&mut file, &page, None);
        let head = format!("<< /Length {} {extra} >>", content.len());
        add(&mut file, &head, Some(content));
    }
    let start = file.len();
    let size = places.len() + 1;
    let mut end = format!("xref\n0 {size}\n0000000000 65535 f \n");
    for place in &places {
        let _ = writeln!(end, "{place:010} 00000 n ");
    }
    let _ = write!(
        end,
        "trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    );
    file.extend_from_slice(end.as_bytes());
    file
}

pub(crate) fn says(text: &str) -> Vec<u8> {
    format!("BT /F1 24 Tf 72 700 Td ({text}) Tj ET").into_bytes()
}

/// The text of the result of reading `file`.
fn read(file: &[u8], arguments: Value) -> String {
    let home = Home::new();
    home.file("a.pdf", file);
    let mut arguments = arguments;
    arguments["file_path"] = json!("a.pdf");
    let turns = json!([
        {"steps": [{"tool": "read", "arguments": arguments}]},
        {"steps": [{"text": "done"}]},
    ]);
    let ended = home.scripted(&turns).args(["-p", "go"]).run();
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "done\n"));
    let session = home.session();
    let results = session
        .iter()
        .filter(|entry| entry["message"]["role"] == "toolResult");
    let texts = results.filter_map(|entry| entry["message"]["content"][0]["text"].as_str());
    texts.collect()
}

#[test]
fn pages_are_shown_as_text() {
    let file = pdf(&[says("First page"), says("Second page"), Vec::new()], "");
    assert_eq!(
        read(&file, json!({})),
        "[a.pdf: PDF, 3 pages]\n<page number=\"1\">\nFirst page\n</page>\n<page number=\"2\">\nSecond page\n</page>\n\
         <page number=\"3\">\n(no text: a model that accepts PDF files sees the page)\n</page>\n"
    );
    assert_eq!(
        read(&file, json!({"offset": 2, "limit": 1})),
        "[a.pdf: PDF, 3 pages]\n<page number=\"2\">\nSecond page\n</page>\n[pages 2-2 of 3; continue with offset 3]\n"
    );
    assert_eq!(
        read(&file, json!({"offset": 9})),
        "`a.pdf` has 3 pages, so there is no page 9"
    );
}

#[test]
fn damaged_files_are_one_clear_error() {
    let said = read(b"%PDF-1.4\nnothing", json!({}));
    assert!(
        said.starts_with("`a.pdf` cannot be read as PDF: "),
        "{said}"
    );
}

/// A page that unpacks to 4 GB ends the process that reads it, not the session.
#[test]
fn bomb_ends_only_its_reader() {
    // A block of 16 MiB of zeros, as often as 4 GiB need, with the checksum of zlib.
    let (block, count) = (vec![0; 16 * 1024 * 1024], 256_usize);
    let mut packer = flate2::Compress::new(flate2::Compression::fast(), false);
    let mut packed = Vec::with_capacity(1024 * 1024);
    packer
        .compress_vec(&block, &mut packed, flate2::FlushCompress::Full)
        .unwrap();
    let length = u32::try_from(count * block.len() % 65_521).unwrap();
    let mut stream = vec![0x78, 0x01];
    stream.extend(packed.repeat(count));
    stream.extend([0x03, 0x00]);
    stream.extend((length << 16 | 1).to_be_bytes());
    let file = pdf(&[stream], "/Filter /FlateDecode");
    assert!(file.len() < 32 * 1024 * 1024);
    let said = read(&file, json!({}));
    let expected = ["too much memory", "cannot be read", "more than 30 seconds"];
    let is_clear = expected.iter().any(|part| said.contains(part));
    assert!(is_clear && said.len() < 500, "{said}");
}
