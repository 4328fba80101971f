//! LaTeX math as MathML Core, which browsers show without a font or a script.

use std::fmt::Write as _;
use std::panic::{self, AssertUnwindSafe};

use math_core::{LatexToMathML, MathCoreConfig, MathDisplay};

/// Bytes of the longest formula that is converted.
const MAX_BYTES: usize = 4096;
/// Depth of the deepest group that is converted: the converter is recursive.
const MAX_DEPTH: usize = 24;

/// The elements of the result. A formula with another one, such as a link, is not shown.
#[rustfmt::skip]
const ELEMENTS: &[&str] = &[
    "annotation", "math", "mfrac", "mi", "mmultiscripts", "mn", "mo", "mover", "mpadded", "mphantom", "mprescripts",
    "mroot", "mrow", "ms", "mspace", "msqrt", "mstyle", "msub", "msubsup", "msup", "mtable", "mtd", "mtext", "mtr",
    "munder", "munderover", "semantics",
];
/// The attributes of the result. Others are removed; the content security policy allows no styles.
#[rustfmt::skip]
const ATTRIBUTES: &[&str] = &[
    "accent", "accentunder", "columnspan", "depth", "display", "displaystyle", "encoding", "fence", "form", "height",
    "largeop", "linethickness", "lspace", "mathvariant", "maxsize", "minsize", "movablelimits", "rowspan", "rspace",
    "scriptlevel", "separator", "stretchy", "symmetric", "voffset", "width",
];

/// A formula as a `<math>` element that contains its source; `None` if it cannot be converted.
pub(super) fn mathml(latex: &str, is_block: bool) -> Option<String> {
    if latex.len() > MAX_BYTES || depth(latex) > MAX_DEPTH {
        return None;
    }
    let config = MathCoreConfig {
        annotation: true,
        ..MathCoreConfig::default()
    };
    let display = if is_block {
        MathDisplay::Block
    } else {
        MathDisplay::Inline
    };
    let converter = LatexToMathML::new(config).ok()?;
    // A panic would end the thread that renders for all clients.
    let convert = || converter.convert_with_local_state(latex, display);
    let converted = panic::catch_unwind(AssertUnwindSafe(convert)).ok()?.ok()?;
    allowed(&converted.mathml)
}

/// How deep groups are nested at most. A command opens one as well, because the next command can be its argument.
fn depth(latex: &str) -> usize {
    let mut outer = Vec::new();
    let (mut depth, mut deepest) = (0, 0);
    let mut rest = latex;
    while let Some(char) = rest.chars().next() {
        let mut length = char.len_utf8();
        if char == '\\' {
            let name = rest[1..]
                .bytes()
                .take_while(u8::is_ascii_alphabetic)
                .count();
            length = 1 + name.max(rest[1..].chars().next().map_or(0, char::len_utf8));
        }
        match &rest[..length] {
            "{" | "[" | "\\left" | "\\begin" => {
                outer.push(depth);
                depth += 1;
            }
            "}" | "]" | "\\right" | "\\end" => depth = outer.pop().unwrap_or_default(),
            "^" | "_" => {}
            blank if blank.trim().is_empty() => {}
            command if command.starts_with('\\') => depth += 1,
            // Any other character is the argument of the commands before it.
            _ => depth = outer.last().map_or(0, |outer| outer + 1),
        }
        deepest = deepest.max(depth);
        rest = &rest[length..];
    }
    deepest
}

/// The markup with the allowed elements and attributes; `None` if it has another element.
fn allowed(mathml: &str) -> Option<String> {
    let mut out = String::with_capacity(mathml.len());
    let mut parts = mathml.split('<');
    out.push_str(parts.next()?);
    for part in parts {
        let (tag, text) = part.split_once('>')?;
        let (tag, slash) = tag.strip_suffix('/').map_or((tag, ""), |tag| (tag, "/"));
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        if !ELEMENTS.contains(&name.trim_start_matches('/')) {
            return None;
        }
        let _ = write!(out, "<{name}");
        let mut values = attributes.split('"');
        while let (Some(name), Some(value)) = (values.next(), values.next()) {
            match name.trim().trim_end_matches('=') {
                "style" if value.contains("text-align: right") => out.push_str(" class=right"),
                "style" if value.contains("text-align: left") => out.push_str(" class=left"),
                name if ATTRIBUTES.contains(&name) => {
                    let _ = write!(out, " {name}=\"{value}\"");
                }
                _ => {}
            }
        }
        let _ = write!(out, "{slash}>{text}");
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_become_mathml_with_their_source() {
        assert_eq!(
            mathml(r"\frac{a}{2} < x", false).unwrap(),
            "<math><semantics><mrow><mfrac><mi>a</mi><mn>2</mn></mfrac><mo>&lt;</mo><mi>x</mi></mrow>\
             <annotation encoding=\"application/x-tex\">\\frac{a}{2} &lt; x</annotation></semantics></math>"
        );
    }

    #[test]
    fn columns_of_equations_are_aligned_by_class() {
        let mathml = mathml(r"\begin{aligned} a &= b \end{aligned}", true).unwrap();
        assert!(
            mathml.contains("<mtd class=right><mi>a</mi></mtd><mtd class=left>"),
            "{mathml}"
        );
        assert!(!mathml.contains(" style="), "{mathml}");
    }

    #[test]
    fn hostile_formulas_have_no_other_elements_and_attributes() {
        for latex in [
            r"\href{javascript:alert(1)}{x}",
            r"\url{javascript:alert(1)}",
            r"\class{a}{x}",
            r"\style{color:red}{x}",
            r"\color{red;x}{y}",
            r"\textsf{a}",
            r"\cancel{x}",
            r"\includegraphics{x}",
            r"\def\a{\a\a}\a",
            r"\newcommand{\x}{\x\x}\x",
        ] {
            assert_eq!(mathml(latex, true), None, "{latex}");
        }
        for latex in [
            r"\text{<script>alert(1)</script>}",
            r#"\text{" onload="x}"#,
            "x</math><img src=x onerror=y>",
        ] {
            let mathml = mathml(latex, true).unwrap();
            let tags = mathml.split('<').skip(1);
            for name in tags.map(|tag| {
                tag.split([' ', '>', '/'])
                    .find(|name| !name.is_empty())
                    .unwrap()
            }) {
                assert!(ELEMENTS.contains(&name), "{latex}: {mathml}");
            }
        }
    }

    /// With debug assertions, the converter panics.
    #[test]
    fn invalid_formulas_end_no_thread() {
        for latex in [
            r"\mathop\big\|",
            r"\begin{cases}<\over\end{cases}",
            r"\operatorname{</math><img src=x onerror=y>}",
        ] {
            let shown = mathml(latex, true);
            assert!(
                shown.is_none_or(|mathml| !mathml.contains("<img")),
                "{latex}"
            );
        }
    }

    #[test]
    fn long_and_deep_formulas_are_not_converted() {
        for opening in [
            "{",
            "\\sqrt",
            "\\sqrt[",
            "\\frac ",
            "\\left(",
            "\\left(a",
            "\\hat",
            "\\vec{",
            "\\not",
            "\\mathbf",
            "a_{",
            "\\begin{matrix}",
            "\\begin{matrix}a",
            "{\\sqrt",
            "\\sqrt[a",
        ] {
            let latex = opening.repeat(MAX_BYTES / opening.len());
            assert!(depth(&latex) > MAX_DEPTH, "{opening}");
            assert_eq!(mathml(&latex, true), None, "{opening}");
        }
        assert_eq!(mathml(&"x".repeat(MAX_BYTES + 1), false), None);
        let wide =
            r"\sin \alpha \cdot \cos \beta + \frac{1}{2} \left[ \sqrt[3]{x} \right] ".repeat(40);
        assert!(depth(&wide) < 10, "{}", depth(&wide));
    }

    #[test]
    fn the_deepest_formula_fits_the_stack_of_a_server_thread() {
        let latex = format!(
            "{}x{}",
            "\\sqrt{".repeat(MAX_DEPTH / 2),
            "}".repeat(MAX_DEPTH / 2)
        );
        assert_eq!(depth(&latex), MAX_DEPTH);
        let thread = std::thread::Builder::new().stack_size(2 << 20);
        let converted = thread.spawn(move || mathml(&latex, true).is_some());
        assert!(converted.unwrap().join().unwrap());
    }
}
