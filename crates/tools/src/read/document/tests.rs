use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::*;

/// An archive with these parts.
fn archive(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let stored = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    for (name, text) in parts {
        writer.start_file(*name, stored).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn markdown(parts: &[(&str, &str)]) -> String {
    let bytes = archive(parts);
    let kind = Kind::of(&bytes).expect("a document");
    text(kind, &bytes).unwrap()
}

#[test]
fn word_has_headings_lists_and_tables() {
    let styles = r#"<w:styles xmlns:w="w"><w:style w:type="paragraph" w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style></w:styles>"#;
    let body = r#"<?xml version="1.0"?><w:document xmlns:w="w"><w:body>
        <w:p><w:pPr><w:pStyle w:val="berschrift2"/></w:pPr><w:r><w:t>A &amp; B</w:t></w:r></w:p>
        <w:p><w:r><w:t xml:space="preserve">One </w:t></w:r><w:r><w:t>two&#46;</w:t></w:r></w:p>
        <w:p><w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>item</w:t></w:r></w:p>
        <w:p><w:pPr><w:numPr><w:ilvl w:val="1"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>below</w:t></w:r></w:p>
        <w:p><w:del><w:r><w:delText>gone</w:delText></w:r></w:del><w:r><w:t>last</w:t></w:r></w:p>
        <w:tbl><w:tr><w:tc><w:p><w:r><w:t>x|y</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>2</w:t></w:r></w:p></w:tc></w:tr>
        <w:tr><w:tc><w:p><w:r><w:t>3</w:t></w:r></w:p></w:tc><w:tc><w:p/></w:tc></w:tr></w:tbl>
        </w:body></w:document>"#;
    let shown = markdown(&[("word/styles.xml", styles), ("word/document.xml", body)]);
    assert_eq!(
        shown,
        "## A & B\n\nOne two.\n\n- item\n  - below\n\nlast\n\n| x\\|y | 2 |\n|---|---|\n| 3 | |\n\n"
    );
}

#[test]
fn slides_have_titles_bullets_and_notes_in_their_order() {
    let main = r#"<p:presentation xmlns:p="p" xmlns:r="r"><p:sldIdLst><p:sldId id="257" r:id="rId3"/><p:sldId id="256" r:id="rId2"/></p:sldIdLst></p:presentation>"#;
    let rels = r#"<Relationships><Relationship Id="rId2" Target="slides/slide1.xml"/><Relationship Id="rId3" Target="/ppt/slides/slide2.xml"/></Relationships>"#;
    let slide = |title: &str, text: &str| {
        format!(
            r#"<p:sld xmlns:p="p" xmlns:a="a"><p:sp><p:nvPr><p:ph type="title"/></p:nvPr><a:p><a:r><a:t>{title}</a:t></a:r></a:p></p:sp>
            <p:sp><p:nvPr><p:ph type="body"/></p:nvPr><a:p><a:pPr lvl="1"/><a:r><a:t>{text}</a:t></a:r></a:p></p:sp>
            <p:sp><p:nvPr><p:ph type="sldNum"/></p:nvPr><a:p><a:fld><a:t>7</a:t></a:fld></a:p></p:sp></p:sld>"#
        )
    };
    let shown = markdown(&[
        ("ppt/presentation.xml", main),
        ("ppt/_rels/presentation.xml.rels", rels),
        ("ppt/slides/slide1.xml", &slide("End", "bye")),
        ("ppt/slides/slide2.xml", &slide("Start", "hello")),
        (
            "ppt/slides/_rels/slide2.xml.rels",
            r#"<Relationships><Relationship Id="rId1" Target="../notesSlides/notesSlide1.xml"/></Relationships>"#,
        ),
        ("ppt/notesSlides/notesSlide1.xml", &slide("", "say hello")),
    ]);
    assert_eq!(
        shown,
        "## Slide 1: Start\n\n  - hello\n\nNotes:\n\n  - say hello\n\n## Slide 2: End\n\n  - bye\n\n"
    );
}

#[test]
fn sheets_are_tables_with_their_names() {
    let shown = markdown(&[
        (
            "xl/workbook.xml",
            r#"<workbook xmlns:r="r"><sheets><sheet name="Sales" sheetId="1" r:id="rId1"/></sheets></workbook>"#,
        ),
        (
            "xl/_rels/workbook.xml.rels",
            r#"<Relationships><Relationship Id="rId1" Target="worksheets/sheet1.xml"/></Relationships>"#,
        ),
        (
            "xl/sharedStrings.xml",
            r"<sst><si><t>Name</t></si><si><r><t>Rich </t></r><r><t>text</t></r></si></sst>",
        ),
        (
            "xl/styles.xml",
            r#"<styleSheet><numFmts><numFmt numFmtId="164" formatCode="yyyy\-mm\-dd"/></numFmts><cellXfs><xf numFmtId="0"/><xf numFmtId="164"/></cellXfs></styleSheet>"#,
        ),
        (
            "xl/worksheets/sheet1.xml",
            r#"<worksheet><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="C1" t="inlineStr"><is><t>C</t></is></c></row>
            <row r="2"><c r="A2" t="s"><v>1</v></c><c r="B2" s="1"><v>45292</v></c><c r="C2"><f>1+1</f><v>2</v></c><c r="D2" t="b"><v>1</v></c></row></sheetData></worksheet>"#,
        ),
    ]);
    assert_eq!(
        shown,
        "## Sales\n\n| Name | | C | |\n|---|---|---|---|\n| Rich text | 2024-01-01 | 2 | TRUE |\n\n"
    );
}

#[test]
fn opendocument_texts_and_sheets_are_read() {
    let mime = ("mimetype", "application/vnd.oasis.opendocument.text");
    let text = r#"<office:document-content xmlns:office="o" xmlns:text="t" xmlns:table="ta"><office:body><office:text>
        <text:tracked-changes><text:p>gone</text:p></text:tracked-changes>
        <text:h text:outline-level="1">Title</text:h><text:p>One<text:s text:c="2"/>two</text:p>
        <text:list><text:list-item><text:p>item</text:p><text:list><text:list-item><text:p>below</text:p></text:list-item></text:list></text:list-item></text:list>
        <text:p>end</text:p></office:text></office:body></office:document-content>"#;
    assert_eq!(
        markdown(&[mime, ("content.xml", text)]),
        "# Title\n\nOne  two\n\n- item\n  - below\n\nend\n\n"
    );
    let sheet = r#"<office:document-content xmlns:office="o" xmlns:text="t" xmlns:table="ta"><office:body><office:spreadsheet><table:table table:name="S">
        <table:table-row><table:table-cell><text:p>a</text:p></table:table-cell><table:table-cell table:number-columns-repeated="2" office:value="3"/><table:table-cell table:number-columns-repeated="16000"/></table:table-row>
        <table:table-row table:number-rows-repeated="1000000"><table:table-cell table:number-columns-repeated="16000"/></table:table-row>
        </table:table></office:spreadsheet></office:body></office:document-content>"#;
    assert_eq!(
        markdown(&[mime, ("content.xml", sheet)]),
        "## S\n\n| a | 3 | 3 |\n|---|---|---|\n\n"
    );
}

/// The text of a file that LibreOffice wrote.
fn fixture(name: &str) -> String {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/fixtures/documents"
    );
    let bytes = std::fs::read(std::path::Path::new(folder).join(name)).unwrap();
    text(Kind::of(&bytes).unwrap(), &bytes).unwrap()
}

/// Ten files of each kind that LibreOffice wrote, with their texts: `text-links.md` is the text of `text-links.docx` and of
/// `text-links.odt`. Where the formats differ, `text-links.odt.md` is that of the second.
#[test]
fn ten_files_of_each_kind_have_their_text() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/fixtures/documents"
    );
    let files = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = files
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains('-') && Path::new(name).extension() != Some("md".as_ref()))
        .collect();
    names.sort();
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for name in &names {
        let (stem, kind) = name.rsplit_once('.').unwrap();
        *kinds.entry(kind).or_default() += 1;
        let expected = [format!("{name}.md"), format!("{stem}.md")];
        let expected = expected
            .iter()
            .find_map(|file| std::fs::read_to_string(Path::new(folder).join(file)).ok());
        assert_eq!(Some(fixture(name)), expected, "{name}");
    }
    let ten = ["docx", "odp", "ods", "odt", "pptx", "xlsx"].map(|kind| (kind, 10));
    assert_eq!(kinds, BTreeMap::from(ten));
}

#[test]
fn texts_of_libreoffice_keep_their_form() {
    let expected = "# Report & plan\n\nSee[^1] and[^2].\n\n## Lists\n\n- one\n  - one a\n    - deep\n- two\n\nthen\n\n\
        1. first\n  - inner\n2. second\n\n## Tables\n\n| wide | | c |\n|---|---|---|\n\
        | A\\|B | before inner in1, in2; in3, in4 | z |\n| tall | 1 | 2 |\n| | 3 | 4 |\n\n\
        in a text box\n\ncomment 漢字 🙂\n\n[^1]: a footnote\n[^2]: an endnote\n";
    assert_eq!(fixture("text.docx"), expected);
    assert_eq!(fixture("text.odt"), expected);
}

#[test]
fn sheets_of_libreoffice_keep_their_form() {
    let sheets = |first: &str, second: &str| {
        format!(
            "## Sales & more\n\n| Name | Day | At | Amount |\n|---|---|---|---|\n| A\\|B | 2024-01-31 | {first} | 2 |\n\
            | C | 1999-12-31 | {second} | 3 |\n| | | | |\n| Sum | | | 5 |\n| merged | | | end |\n\n\
            ## Secret (hidden)\n\n| hidden sheet |\n|---|\n\n"
        )
    };
    let excel = sheets("2024-02-29 08:15:00", "2030-01-01");
    assert_eq!(fixture("sheets.xlsx"), excel);
    // As the sheet shows it.
    let open = sheets("29.02.2024 08:15", "01.01.2030 00:00");
    assert_eq!(fixture("sheets.ods"), open);
}

#[test]
fn slides_of_libreoffice_keep_their_form() {
    let slides = |text: [&str; 4]| {
        let [notes, gap, hidden, end] = text;
        format!(
            "## Slide 1: A title\n\n- one\n  - sub & more\n\nNotes:\n\n{notes}\n## Slide 2: Table\n\n{gap}\
            | wide | |\n|---|---|\n| A\\|B | 3 |\n| C | |\n\n\n## Slide 3 (hidden): Spare\n\n{hidden}{end}"
        )
    };
    let powerpoint = slides(["- Say hello.\n", "\n", "- hidden slide\n", "\n"]);
    assert_eq!(fixture("slides.pptx"), powerpoint);
    let open = slides(["Say hello.\n\n", "", "hidden slide\n\n", "\n"]);
    assert_eq!(fixture("slides.odp"), open);
}

/// A small file can name much more text than it has.
#[test]
fn what_a_small_file_repeats_is_limited() {
    let mime = ("mimetype", "application/vnd.oasis.opendocument.spreadsheet");
    let row = format!(
        r#"<table:table table:name="S"><table:table-row table:number-rows-repeated="20000"><table:table-cell
        table:number-columns-repeated="200"><text:p>{}</text:p></table:table-cell></table:table-row></table:table>"#,
        "x".repeat(2000)
    );
    let sheets = format!(
        r#"<o xmlns:table="ta" xmlns:text="t"><office:spreadsheet xmlns:office="o">{}</office:spreadsheet></o>"#,
        row.repeat(5)
    );
    let note = r#"<w:footnoteReference w:id="2"/>"#.repeat(5000);
    let notes = format!(
        r#"<w:footnotes xmlns:w="w"><w:footnote w:id="2"><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:footnote></w:footnotes>"#,
        "n".repeat(2000)
    );
    let body = format!(r#"<w:document xmlns:w="w"><w:p>{note}</w:p></w:document>"#);
    let cells = r#"<w:tr><w:tc><w:tcPr><w:gridSpan w:val="200"/></w:tcPr></w:tc></w:tr>"#;
    let wide = format!(
        r#"<w:document xmlns:w="w"><w:tbl>{}</w:tbl></w:document>"#,
        cells.repeat(4_000)
    );
    for parts in [
        vec![mime, ("content.xml", &sheets)],
        vec![("word/document.xml", &body), ("word/footnotes.xml", &notes)],
        vec![("word/document.xml", &wide)],
    ] {
        let text = markdown(&parts);
        assert!(text.len() < TEXT + 100, "{}", text.len());
        assert!(text.contains(" is left out]\n"));
    }
}

#[test]
fn entities_of_a_file_and_deep_elements_have_no_effect() {
    let entities = r#"<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY e SYSTEM "file:///etc/passwd">]>
        <w:document xmlns:w="w"><w:p><w:r><w:t>x&a;&e;y</w:t></w:r></w:p></w:document>"#;
    assert_eq!(markdown(&[("word/document.xml", entities)]), "xy\n\n");
    let deep = archive(&[("word/document.xml", &"<a>".repeat(100_000))]);
    let problem = "its elements are nested too deeply".to_owned();
    assert_eq!(
        text(Kind::Word, &deep),
        Err(DocumentError::Damaged(problem))
    );
}

#[test]
fn archives_that_are_no_documents_are_not_read() {
    assert_eq!(Kind::of(&archive(&[("a.txt", "text")])), None);
    assert_eq!(Kind::of(b"PK\x03\x04 torn"), None);
    assert_eq!(Kind::of(b"text"), None);
    let broken = archive(&[("word/document.xml", "<w:p><w:r></w:p>")]);
    let read = text(Kind::Word, &broken);
    assert!(matches!(read, Err(DocumentError::Damaged(_))), "{read:?}");
}

#[test]
fn what_a_document_unpacks_to_is_limited() {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default();
    writer.start_file("word/document.xml", options).unwrap();
    let blanks = vec![b' '; 1024 * 1024];
    for _ in 0..=container::UNPACKED / (1024 * 1024) {
        writer.write_all(&blanks).unwrap();
    }
    let bytes = writer.finish().unwrap().into_inner();
    assert!(bytes.len() < 1024 * 1024);
    assert_eq!(text(Kind::Word, &bytes), Err(DocumentError::Large));
}
