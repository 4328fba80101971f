//! Which model answers, and how one signs in to it.

use crate::answers::{levels, login};
use crate::command::{Command, Group, Kind, may, needs};
use crate::parameters::{model, models};

const fn row(name: &'static str, doc: &'static str) -> Command {
    Command::op(Group::Models, name, doc)
}

const PROVIDER: crate::command::Field = needs("provider", Kind::Text, "its name");

pub(super) const COMMANDS: &[Command] = &[
    row("get_available_models", "Every model that is known.")
        .also(&["list_models", "get_models"])
        .of("list_models")
        .told(&["models"]),
    row(
        "refresh_models",
        "Asks for what was published about models since this build, and keeps it.",
    )
    .told(&["models"]),
    row(
        "set_model",
        "The model of the next request, by `reference`, by `modelId`, or by `provider` and `modelId`.",
    )
    .also(&["select_model"])
    .takes(&[
        may(
            "reference",
            Kind::Text,
            "`PROVIDER/ID[:LEVEL]`, or part of a name",
        )
        .also(&["model"]),
        may("provider", Kind::Text, "beside `modelId`"),
        may("modelId", Kind::Text, "its id"),
    ])
    .begins(model)
    .told(&["model_selected"]),
    row(
        "switch_role",
        "Takes the model and the level of a role; of the one that is not on when none is named.",
    )
    .takes(&[may("role", Kind::Word(&["plan", "edit"]), "which one")])
    .told(&["model_selected"]),
    row(
        "set_role",
        "Gives a role its model, in the user's settings; without one takes it away.",
    )
    .takes(&[
        needs("role", Kind::Word(&["plan", "edit"]), "which one"),
        may("reference", Kind::Text, "`PROVIDER/ID[:LEVEL]`, or part of a name"),
    ])
    .told(&["model_selected"]),
    row(
        "set_favourite",
        "Makes a model a favourite, or no longer, in the user's settings.",
    )
    .takes(&[
        needs("reference", Kind::Text, "`PROVIDER/ID`, or part of a name"),
        needs("on", Kind::Flag, "whether it is"),
    ])
    .told(&["models"]),
    row("cycle_model", "The next model of the cycling set.")
        .takes(&[may("backward", Kind::Flag, "the one before")])
        .begins(|given, _| {
            let backward = given.get("backward").and_then(serde_json::Value::as_bool);
            Ok(crate::command::First::Op(
                osier_session::host::Op::CycleModel {
                    backward: backward.unwrap_or(false),
                },
            ))
        })
        .told(&["model_selected"]),
    row(
        "set_models",
        "The models to use from the next request on, best first; the others are fallbacks.",
    )
    .takes(&[needs("models", Kind::List("Model"), "at least one")])
    .begins(models)
    .told(&["models_changed"]),
    row("set_thinking_level", "Takes effect with the next request.")
        .takes(&[needs(
            "level",
            Kind::Word(&["off", "minimal", "low", "medium", "high", "xhigh", "max"]),
            "clamped to what the model has",
        )])
        .told(&["thinking_level_changed"]),
    row(
        "cycle_thinking_level",
        "The next thinking level the model has, from the strongest back to the weakest.",
    )
    .told(&["thinking_level_changed"]),
    row(
        "get_available_thinking_levels",
        "The levels that the model has, weakest first.",
    )
    .of("get_status")
    .shaped("Levels", &["status"], levels),
    row(
        "enable_provider",
        "Tries a provider again that was left for its key or its quota.",
    )
    .takes(&[PROVIDER]),
    row(
        "list_accounts",
        "Which providers have a key and how one signs in.",
    )
    .told(&["accounts"]),
    row(
        "login",
        "Signs in to a provider. The answer says what the person has to do, `login_ended` how it ended.",
    )
    .takes(&[
        PROVIDER,
        may(
            "method",
            Kind::Word(&["browser", "device", "key"]),
            "its usual one when left out",
        ),
    ])
    .shaped("LoginStarted", &["login_started", "login_ended"], login),
    row(
        "login_input",
        "What the person typed or pasted into the sign-in: a key, a code, an address.",
    )
    .takes(&[needs("text", Kind::Text, "is never shown")]),
    row("cancel_login", "Gives the sign-in up."),
    row("logout", "Forgets what is stored for a provider.").takes(&[PROVIDER]),
];
