//! Commands that do not end. Each creates the file `reached`.

const COMMANDS: &[(&str, &str)] = &[
    (
        "stubborn",
        "trap '' TERM INT HUP; touch reached; while :; do sleep 1; done",
    ),
    (
        "daemon",
        "setsid sh -c 'trap \"\" TERM HUP; touch reached; sleep 1000' & wait",
    ),
    ("stopped", "touch reached; kill -STOP $$"),
    ("fifo", "mkfifo pipe; touch reached; cat pipe"),
    ("flood", "touch reached; yes"),
    (
        "many",
        "for n in 1 2 3 4 5 6 7 8; do sh -c 'trap \"\" TERM; sleep 1000' & done; touch reached; wait",
    ),
    ("mount", "touch reached; ls dead"),
];

/// The command of this name.
pub(crate) fn find(name: &str) -> Option<&'static str> {
    let found = COMMANDS.iter().find(|(one, _)| *one == name);
    found.map(|(_, command)| *command)
}
