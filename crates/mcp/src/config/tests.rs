use super::*;

fn read(text: &str) -> (Servers, Vec<String>) {
    let environment = BTreeMap::from([("TOKEN".to_owned(), "secret".to_owned())]);
    let servers = parse(Path::new("mcp.json"), text, &environment);
    let problems = servers.problems.iter().map(ToString::to_string).collect();
    (servers, problems)
}

#[test]
fn common_forms_of_server_entries_are_read() {
    let (servers, problems) = read(
        r#"{"mcpServers": {
  "files": {"command": "npx", "args": ["-y", "x"], "env": {"A": "${TOKEN}", "N": 1}, "timeout": 5,
            "tools": ["read_*"], "disabledTools": ["read_secret"]},
  "web": {"type": "http", "url": "https://h/mcp", "headers": {"X": "Bearer ${TOKEN}"}, "disabled": true}
}}"#,
    );
    assert_eq!(problems, [""; 0]);
    let files = &servers.servers["files"];
    let expected = Launch::Command {
        program: "npx".into(),
        args: vec!["-y".into(), "x".into()],
        env: BTreeMap::from([("A".into(), "secret".into()), ("N".into(), "1".into())]),
        cwd: None,
    };
    assert_eq!(files.launch, expected);
    assert_eq!(files.timeout, Duration::from_secs(5));
    let offered = ["read_file", "read_secret", "write_file"].map(|name| files.tools.allows(name));
    assert_eq!(offered, [true, false, false]);
    let web = &servers.servers["web"];
    assert!(web.disabled && web.launch.is_url());
    assert_eq!(
        (web.shown.as_str(), files.shown.as_str()),
        ("https://h/mcp", "npx -y x")
    );
    let Launch::Url { headers, .. } = &web.launch else {
        panic!("a url");
    };
    assert_eq!(headers["X"], "Bearer secret");
}

#[test]
fn each_error_is_one_line_with_its_position_and_the_rest_works() {
    let (servers, problems) = read(
        r#"{"mcpServers": {
  "good": {"command": "x"},
  "odd": {"command": "x", "arg": []},
  "none": {},
  "both": {"command": "x", "url": "https://h"},
  "old": {"type": "sse", "url": "https://h/sse"},
  "unset": {"command": "x", "env": {"K": "${NOT_SET}"}},
  "shape": {"command": "x", "args": "y"},
  "list": []
}}"#,
    );
    let names: Vec<&str> = servers.servers.keys().map(String::as_str).collect();
    assert_eq!(names, ["good", "odd", "old"]);
    let Launch::Url { protocol, .. } = &servers.servers["old"].launch else {
        panic!("a url");
    };
    assert_eq!(*protocol, HttpProtocol::Sse);
    assert_eq!(
        problems,
        [
            "mcp.json:3:27: the server `odd` has the unknown key `arg`; did you mean `args`?",
            "mcp.json:4:3: the server `none` has neither `command` nor `url`; set the program to start, or the URL",
            "mcp.json:5:28: the server `both` has both `command` and `url`; remove one of them",
            "mcp.json:7:37: the server `unset` uses the variable `NOT_SET`, which is not set; set it, or write ${NAME:-default}; until then the server is ignored",
            "mcp.json:8:29: the server `shape` has no list of strings in `args`; the server is not used until it is fixed",
            "mcp.json:9:3: the server `list` is not an object; write {\"command\": …} or {\"url\": …}",
        ]
    );
}

#[test]
fn values_of_variables_are_not_shown() {
    let (servers, problems) = read(
        r#"{"mcpServers": {
  "a": {"url": "${TOKEN}"},
  "b": {"command": "x", "tools": ["[${TOKEN}"]},
  "c": {"command": "x", "args": ["./${TOKEN}"]}
}}"#,
    );
    assert_eq!(
        problems,
        [
            "mcp.json:2:9: the server `a` has the invalid URL `${TOKEN}`; a URL starts with https:// or http://",
            "mcp.json:3:25: the server `b` error parsing glob '[${TOKEN}': unclosed character class; missing ']'; the server is not used until it is fixed",
        ]
    );
    let server = &servers.servers["c"];
    let warning = server.relative_argument().unwrap().to_string();
    assert!(warning.contains("uses `./${TOKEN}`"), "{warning}");
    assert_eq!(
        server.hidden.hide("no program secret"),
        "no program ${TOKEN}"
    );
}

#[test]
fn sampling_needs_a_valid_rule_and_no_project_allows_it() {
    let entry = |rule: &str| format!(r#"{{"mcpServers": {{"a": {{"command": "x"{rule}}}}}}}"#);
    for (rule, expected, count) in [
        ("", SamplingRule::Ask, 0),
        (r#", "sampling": "ask""#, SamplingRule::Ask, 0),
        (r#", "sampling": "allow""#, SamplingRule::Allow, 0),
        (r#", "sampling": "deny""#, SamplingRule::Deny, 0),
        (r#", "sampling": true"#, SamplingRule::Ask, 1),
        (r#", "sampling": "always""#, SamplingRule::Ask, 1),
    ] {
        let (servers, problems) = read(&entry(rule));
        assert_eq!(servers.servers["a"].sampling, expected, "{rule}");
        assert_eq!(problems.len(), count, "{problems:?}");
    }
    let (mut servers, _) = read(&entry(r#", "sampling": "allow""#));
    let server = servers.servers.get_mut("a").unwrap();
    server.of_project = true;
    let problem = server.limit_project().unwrap().to_string();
    let expected = "the server `a` of the project may not use the model without a question";
    assert!(problem.contains(expected), "{problem}");
    assert_eq!(server.sampling, SamplingRule::Ask);
}

#[test]
fn a_timeout_is_at_most_a_day() {
    for (timeout, expected) in [
        ("86400000", Some(86_400)),
        ("1e22", None),
        ("1e300", None),
        ("-1", None),
        ("0", None),
    ] {
        let text =
            format!(r#"{{"mcpServers": {{"a": {{"command": "x", "timeout": {timeout}}}}}}}"#);
        let (servers, problems) = read(&text);
        let read = servers.servers["a"].timeout;
        assert_eq!(
            read,
            expected.map_or(REQUEST_TIMEOUT, Duration::from_secs),
            "{timeout}"
        );
        assert_eq!(
            problems.len(),
            usize::from(expected.is_none()),
            "{problems:?}"
        );
    }
}

#[test]
fn an_invalid_file_is_one_line() {
    let (servers, problems) = read("{\"mcpServers\": {\n  \"a\": {\"command\": }\n}}");
    assert!(servers.servers.is_empty());
    assert_eq!(
        problems,
        ["mcp.json:2:20: expected value; its servers are ignored until it is fixed"]
    );
    let (_, problems) = read("[]");
    assert_eq!(
        problems,
        [
            "mcp.json:1:1: `mcpServers` is not an object; write {\"mcpServers\": {\"NAME\": {\"command\": …}}}"
        ]
    );
}

#[test]
fn a_file_of_a_project_names_no_key_of_the_user() {
    let variables = [("ACME_PLACE", "mcp"), ("ACME_TOKEN", "secret")];
    let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let environment = BTreeMap::from(variables);
    let text = r#"{"mcpServers": {
  "header": {"url": "https://h/mcp", "headers": {"X": "${ACME_TOKEN:-none}"}},
  "address": {"url": "https://h/${ACME_TOKEN}"},
  "program": {"command": "x", "env": {"T": "${ACME_TOKEN}"}},
  "plain": {"url": "https://h/${ACME_PLACE}"}
}}"#;
    let names = |servers: &Servers| servers.servers.keys().cloned().collect::<Vec<_>>();
    // Reading the file a second time must give the same result.
    for _ in 0..2 {
        let read = parse_file(Path::new(".mcp.json"), text, &environment, true);
        assert_eq!(names(&read), ["plain"]);
        let problems: Vec<String> = read.problems.iter().map(ToString::to_string).collect();
        let expected = |place: &str, server: &str| {
            format!(
                ".mcp.json:{place}: the server `{server}` uses the variable `ACME_TOKEN`, which holds a key of yours; to give it to \
                 servers of projects, name it in `pass_environment` of your own settings; until then the server is ignored"
            )
        };
        assert_eq!(
            problems,
            [
                expected("2:50", "header"),
                expected("3:15", "address"),
                expected("4:39", "program"),
            ]
        );
    }
    let own = parse(Path::new("mcp.json"), text, &environment);
    assert_eq!(names(&own), ["address", "header", "plain", "program"]);
}

#[test]
fn a_log_level_has_a_name_of_the_protocol() {
    let (servers, problems) = read(
        r#"{"mcpServers": {
  "a": {"command": "x", "logLevel": "warning"},
  "b": {"command": "x", "logLevel": "loud"}
}}"#,
    );
    let levels = servers.servers.values().map(|server| server.log_level);
    assert_eq!(levels.collect::<Vec<_>>(), [Some("warning"), None]);
    assert_eq!(
        problems,
        [
            "mcp.json:3:25: the server `b` has the invalid logLevel `\"loud\"`; expected one of debug, info, notice, warning, error, critical, alert, emergency"
        ]
    );
}
