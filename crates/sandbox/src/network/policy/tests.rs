//! Which addresses a command reaches, with a resolver of the test.

use super::*;
use osier_protocol::questions::Request;
use std::collections::HashMap;

fn policy(rules: &[&str], names: &[(&str, &[&str])]) -> Policy {
    restricted(Some(rules), &[], names)
}

fn restricted(allowed: Option<&[&str]>, denied: &[&str], names: &[(&str, &[&str])]) -> Policy {
    let parse = |rules: &[&str]| -> Vec<HostRule> {
        let rules = rules.iter().map(|rule| HostRule::parse(rule).unwrap());
        rules.collect()
    };
    let hosts = Hosts {
        allowed: allowed.map(parse),
        denied: parse(denied),
    };
    let mut policy = Policy::new(
        hosts,
        Arc::default(),
        Asker::default(),
        DeniedHosts::default(),
    );
    let addresses = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    let names = names
        .iter()
        .map(|(name, texts)| ((*name).to_owned(), addresses(texts)));
    policy.resolver = Resolver::Fixed(names.collect::<HashMap<_, _>>());
    policy
}

fn destination(text: &str) -> Destination {
    Destination::parse(text, Some(443)).unwrap()
}

#[tokio::test]
async fn every_resolved_address_is_checked() {
    let policy = policy(
        &[
            "*.example.org",
            "localhost:8080",
            "10.0.0.0/8",
            "127.0.0.1:9",
            "plain.net",
        ],
        &[
            ("public.example.org", &["93.184.216.34"]),
            ("rebound.example.org", &["127.0.0.1"]),
            (
                "mixed.example.org",
                &["169.254.169.254", "93.184.216.34", "::1"],
            ),
            ("mapped.example.org", &["::ffff:127.0.0.1"]),
            ("intern.example.org", &["10.1.2.3"]),
            ("metadata.example.org", &["169.254.169.254"]),
            ("localhost", &["127.0.0.1", "::1"]),
            ("unlisted.net", &["93.184.216.34"]),
        ],
    );
    for (host, expected) in [
        ("public.example.org", Ok(vec!["93.184.216.34"])),
        ("rebound.example.org", Err(Failure::Denied)),
        ("mixed.example.org", Ok(vec!["93.184.216.34"])),
        ("mapped.example.org", Err(Failure::Denied)),
        // The name and the network are both listed.
        ("intern.example.org", Ok(vec!["10.1.2.3"])),
        ("metadata.example.org", Err(Failure::Denied)),
        ("localhost:8080", Ok(vec!["127.0.0.1", "::1"])),
        ("localhost:8081", Err(Failure::Denied)),
        ("rebound.example.org:8080", Err(Failure::Denied)),
        ("127.0.0.1:9", Ok(vec!["127.0.0.1"])),
        ("127.0.0.1:10", Err(Failure::Denied)),
        ("0x7f000001:10", Err(Failure::Denied)),
        ("[::ffff:127.0.0.1]:10", Err(Failure::Denied)),
        ("10.9.9.9", Ok(vec!["10.9.9.9"])),
        ("93.184.216.34", Err(Failure::Denied)),
        ("unlisted.net", Err(Failure::Denied)),
        ("example.org", Err(Failure::Denied)),
        ("plain.net", Err(Failure::Unreachable)),
    ] {
        let found = policy.addresses(&destination(host)).await;
        let expected = expected.map(|texts| {
            let texts = texts.into_iter();
            texts
                .map(|text| text.parse().unwrap())
                .collect::<Vec<IpAddr>>()
        });
        assert_eq!(found, expected, "{host}");
    }
}

#[tokio::test]
async fn requests_for_one_host_share_a_question() {
    let (questions, mut requests) = Questions::new();
    let mut policy = policy(
        &[],
        &[("new.net", &["93.184.216.34"]), ("no.net", &["1.1.1.1"])],
    );
    policy.asker.questions = Some(questions);
    policy.asker.command = "curl new.net".to_owned();
    let (one, two, refused) = (
        destination("new.net"),
        destination("NEW.net."),
        destination("no.net"),
    );
    let answers = async {
        let mut titles = Vec::new();
        while titles.len() < 2 {
            let Some(Request::Ask { question, reply }) = requests.recv().await else {
                continue;
            };
            let answer = if question.title.contains("new.net") {
                Answer::Yes
            } else {
                Answer::Refuse { reason: None }
            };
            titles.push((question.title, question.subject));
            reply.send(answer).unwrap();
        }
        titles
    };
    let requests = async {
        let together = tokio::join!(policy.addresses(&one), policy.addresses(&two));
        let refused = (
            policy.addresses(&refused).await,
            policy.addresses(&refused).await,
        );
        (together, refused)
    };
    let (titles, (together, denied)) = tokio::join!(answers, requests);
    let public = Ok(vec!["93.184.216.34".parse().unwrap()]);
    assert_eq!(together, (public.clone(), public));
    assert_eq!(denied, (Err(Failure::Denied), Err(Failure::Denied)));
    let subject = Some(Subject::Command {
        command: "curl new.net".to_owned(),
        cwd: String::new(),
    });
    let title =
        |host| format!("Allow the network host `{host}` for sandboxed commands of this session?");
    let expected = ["new.net:443", "no.net:443"].map(|host| (title(host), subject.clone()));
    assert_eq!(titles, expected);
}

/// A deny rule holds with and without a list of hosts.
#[tokio::test]
async fn denied_hosts_are_not_reached() {
    let names: &[(&str, &[&str])] = &[
        ("evil.net", &["93.184.216.34"]),
        ("a.evil.net", &["93.184.216.34"]),
        ("good.org", &["93.184.216.35"]),
        ("metadata.org", &["169.254.169.254"]),
        ("intern.org", &["10.1.2.3"]),
    ];
    let denied = ["evil.net", "*.ads.org:443", "169.254.0.0/16"];
    let all = restricted(None, &denied, names);
    let listed = restricted(Some(&["*.evil.net", "good.org"]), &denied, names);
    for (host, by_all, by_list) in [
        (
            "good.org",
            Ok(vec!["93.184.216.35"]),
            Ok(vec!["93.184.216.35"]),
        ),
        ("evil.net", Err(Failure::Denied), Err(Failure::Denied)),
        ("a.evil.net", Err(Failure::Denied), Err(Failure::Denied)),
        ("x.ads.org:443", Err(Failure::Denied), Err(Failure::Denied)),
        ("metadata.org", Err(Failure::Denied), Err(Failure::Denied)),
        // An address could be that of a denied name.
        ("93.184.216.34", Err(Failure::Denied), Err(Failure::Denied)),
        ("intern.org", Ok(vec!["10.1.2.3"]), Err(Failure::Denied)),
    ] {
        for (policy, expected) in [(&all, by_all), (&listed, by_list)] {
            let found = policy.addresses(&destination(host)).await;
            let expected = expected.map(|texts: Vec<&str>| {
                let addresses = texts.into_iter().map(|text| text.parse().unwrap());
                addresses.collect::<Vec<IpAddr>>()
            });
            assert_eq!(found, expected, "{host}");
        }
    }
    // Without names in the rules, no address can be that of a denied name.
    let networks = restricted(None, &["10.0.0.0/8"], names);
    for (host, expected) in [
        ("93.184.216.34", true),
        ("10.1.2.3", false),
        ("intern.org", false),
    ] {
        let found = networks.addresses(&destination(host)).await;
        assert_eq!(found.is_ok(), expected, "{host}");
    }
}
