//! Mermaid diagrams as text: a flowchart is a tree of arrows, a sequence diagram has lifelines.
//!
//! ```
//! let lines = osier_mermaid::diagram("graph TD\n  A[Parse] -->|ok| B[Run]", 40);
//! assert_eq!(lines.unwrap(), ["[Parse]", "└─ ok ▶ [Run]"]);
//! ```
//!
//! [`diagram`] returns `None` for a diagram that it does not support, that is invalid, or that is wider than the
//! screen. The caller shows the source then. The crate does not know Markdown or the screen.

mod flow;
mod label;
mod sequence;

/// Lines of the longest diagram that is drawn.
const MAX_LINES: usize = 400;

/// Draws the diagram that `code` describes, at most `width` columns wide.
///
/// ```
/// let code = "sequenceDiagram\n  Client->>Server: hello";
/// assert_eq!(osier_mermaid::diagram(code, 80).unwrap().len(), 4);
/// assert_eq!(osier_mermaid::diagram("pie\n  \"a\": 1", 80), None);
/// ```
pub fn diagram(code: &str, width: usize) -> Option<Vec<String>> {
    if code.lines().count() > MAX_LINES {
        return None;
    }
    let mut statements = code
        .lines()
        .flat_map(|line| line.split(';'))
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("%%"));
    let first = statements.next()?;
    let lines = match first.split_whitespace().next()? {
        "graph" | "flowchart" => flow::lines(statements)?,
        "sequenceDiagram" => sequence::lines(statements)?,
        _ => return None,
    };
    let fits = lines
        .iter()
        .all(|line| osier_base::text::width(line) <= width);
    (fits && !lines.is_empty()).then_some(lines)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shown(code: &str) -> String {
        diagram(code, 60).map_or_else(|| "(source)".to_owned(), |lines| lines.join("\n"))
    }

    #[test]
    fn a_flowchart_is_a_tree_of_arrows() {
        let code = "graph TD\n  A[Start] --> B{Is it?}\n  B -->|Yes| C[OK]\n  B -- No --> D(Stop)\n  C --> A\n  C -.-> E & D\n";
        assert_eq!(
            shown(code),
            "[Start]\n\
             └▶ {Is it?}\n\
             \u{20}  ├─ Yes ▶ [OK]\n\
             \u{20}  │        ├▶ ↑ [Start]\n\
             \u{20}  │        ├▶ E\n\
             \u{20}  │        └▶ (Stop)\n\
             \u{20}  └─ No ▶ ↑ (Stop)"
        );
        assert_eq!(shown("flowchart LR; a --> b"), "a\n└▶ b");
        assert_eq!(
            shown("graph TD\nsubgraph one [First part]\na --> b\nend\nb --> c --> one"),
            "a · First part\n└▶ b · First part\n   └▶ c\n      └▶ First part"
        );
        assert_eq!(shown("graph TD\nsubgraph one\na --> b"), "(source)");
        assert_eq!(shown("graph TD\na --> b\nend"), "(source)");
        assert_eq!(shown("pie\n\"a\": 1"), "(source)");
        assert_eq!(diagram("graph TD\nA[a long name] --> B", 5), None);
    }

    #[test]
    fn a_sequence_has_lifelines() {
        let code = "sequenceDiagram\n  participant A as Alice\n  A->>B: Hello\n  B-->>A: Hi\n  B->>B: think\n  Note over A,B: the end";
        assert_eq!(
            shown(code),
            "Alice       B\n\
             \u{20} │         │\n\
             \u{20} │  Hello  │\n\
             \u{20} │────────▶│\n\
             \u{20} │   Hi    │\n\
             \u{20} │◀╌╌╌╌╌╌╌╌│\n\
             \u{20} │         │─╮ think\n\
             \u{20} │         │◀╯\n\
             \u{20} │ the end │"
        );
        let code = "sequenceDiagram\nloop every hour\nA->>B: get\nalt it hits\nB-->>A: yes\nelse\nrect red\nB->>A: no\nend\nend\nend";
        let expected = [
            "A       B",
            "│       │",
            "╭ loop every hour",
            "│  get  │",
            "│──────▶│",
            "│ ╭ alt it hits",
            "│  yes  │",
            "│◀╌╌╌╌╌╌│",
            "│ ├ else",
            "│  no   │",
            "│◀──────│",
            "│ ╰ end │",
            "╰ end   │",
        ];
        assert_eq!(shown(code), expected.join("\n"));
        assert_eq!(shown("sequenceDiagram\nloop x\nA->>B: y"), "(source)");
        assert_eq!(shown("sequenceDiagram\nelse\nA->>B: y"), "(source)");
    }

    proptest! {
        #[test]
        fn every_diagram_fits_the_width(code in "(graph TD|sequenceDiagram)\\n([AB\\[\\](){}|<>=. &:;\"\\-\\n漢]){0,60}", width in 1usize..60) {
            if let Some(lines) = diagram(&code, width) {
                prop_assert!(lines.iter().all(|line| osier_base::text::width(line) <= width));
            }
        }
    }
}
