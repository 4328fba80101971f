use super::*;

#[test]
fn invalid_lines_are_reported_and_the_rest_is_used() {
    let file = "model = \"a/b\"\nthem = \"dark\"\nmouse = 3\nthinking = \"high\"\n";
    let (settings, problems) = Settings::parse(Path::new("settings.toml"), file);
    let expected = Settings {
        model: Some("a/b".into()),
        thinking: Some(ThinkingLevel::High),
        ..Settings::default()
    };
    assert_eq!(settings, expected);
    let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        shown,
        [
            "settings.toml:2:1: unknown setting `them`; did you mean `theme`?",
            "settings.toml:3:9: invalid value `3` for `mouse`; expected true or false",
        ]
    );
}

#[test]
fn an_invalid_file_uses_the_defaults_and_names_the_line() {
    let (settings, problems) = Settings::parse(Path::new("s.toml"), "model = \"a\"\nmouse = \n");
    assert_eq!(settings, Settings::default());
    assert_eq!(problems.len(), 1);
    assert_eq!((problems[0].line, problems[0].column), (Some(2), Some(9)));
}
