//! How parameters become ops where they are not the op's own fields.

#![expect(
    clippy::unnecessary_wraps,
    reason = "the rows of the table share one signature"
)]

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::command::First;
use super::view::View;
use osier_agent::Attachment;
use osier_protocol::{Op, TransferOp};
use osier_tools::attachment;

/// An image given with a message; what else is said of it is not needed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(super) struct ImageData {
    /// Base64 of a png, jpeg, gif or webp file. A large one is made to fit.
    pub data: String,
}

type Given = Map<String, Value>;

pub(super) fn prompt(given: &Given, _: &View) -> Result<First, String> {
    let (text, attachments) = message(given)?;
    let behaviour = given.get("streamingBehavior").and_then(Value::as_str);
    Ok(op(match behaviour {
        Some("followUp") => osier_agent::Op::FollowUp { text, attachments },
        Some(_) => osier_agent::Op::Steer { text, attachments },
        None => osier_agent::Op::Prompt { text, attachments },
    }))
}

pub(super) fn steer(given: &Given, _: &View) -> Result<First, String> {
    let (text, attachments) = message(given)?;
    Ok(op(osier_agent::Op::Steer { text, attachments }))
}

pub(super) fn follow_up(given: &Given, _: &View) -> Result<First, String> {
    let (text, attachments) = message(given)?;
    Ok(op(osier_agent::Op::FollowUp { text, attachments }))
}

/// One mode for both queues, or one for each.
pub(super) fn queue_mode(given: &Given, _: &View) -> Result<First, String> {
    let mode = |name: &str| given.get(name).or_else(|| given.get("mode")).cloned();
    let set = json!({
        "type": "set_queue_mode",
        "steering": mode("steering"),
        "followUp": mode("followUp"),
    });
    parsed(set)
}

pub(super) fn steering_mode(given: &Given, _: &View) -> Result<First, String> {
    parsed(json!({"type": "set_queue_mode", "steering": given.get("mode")}))
}

pub(super) fn follow_up_mode(given: &Given, _: &View) -> Result<First, String> {
    parsed(json!({"type": "set_queue_mode", "followUp": given.get("mode")}))
}

/// A model by its whole name, by provider and id, or by part of a name.
pub(super) fn model(given: &Given, _: &View) -> Result<First, String> {
    let text = |name: &str| given.get(name).and_then(Value::as_str);
    let reference = match (text("reference"), text("provider"), text("modelId")) {
        (Some(reference), None, None) => reference.to_owned(),
        (None, Some(provider), Some(id)) => format!("{provider}/{id}"),
        (None, None, Some(id)) => id.to_owned(),
        _ => {
            return Err(
                "a model is named by `reference`, by `modelId`, or by `provider` and `modelId`"
                    .to_owned(),
            );
        }
    };
    Ok(First::Request(Op::SelectModel { reference }))
}

pub(super) fn models(given: &Given, _: &View) -> Result<First, String> {
    let models = given.get("models");
    if models.and_then(Value::as_array).is_some_and(Vec::is_empty) {
        return Err("`models` needs at least one".to_owned());
    }
    parsed(json!({"type": "set_models", "models": models}))
}

pub(super) fn export_html(given: &Given, _: &View) -> Result<First, String> {
    let path = given.get("outputPath").and_then(Value::as_str);
    let force = given.get("force").and_then(Value::as_bool);
    Ok(First::Request(Op::Transfer(TransferOp::ExportSession {
        path: path.map(str::to_owned),
        format: Some(osier_protocol::ExportFormat::Html),
        scope: None,
        theme: None,
        force: force.unwrap_or(false),
    })))
}

/// The id of a command is not that of a job.
pub(super) fn follow_job(given: &Given, _: &View) -> Result<First, String> {
    parsed(json!({"type": "follow_job", "id": given.get("jobId")}))
}

pub(super) fn kill_job(given: &Given, _: &View) -> Result<First, String> {
    parsed(json!({"type": "kill_job", "id": given.get("jobId")}))
}

/// The id of a command is not that of a question.
pub(super) fn answer(given: &Given, _: &View) -> Result<First, String> {
    let (id, answer) = (given.get("questionId"), given.get("answer"));
    parsed(json!({"type": "answer_question", "id": id, "answer": answer}))
}

/// An op as it is.
pub(super) fn any(given: &Given, _: &View) -> Result<First, String> {
    parsed(given.get("op").cloned().unwrap_or_default())
}

fn op(op: osier_agent::Op) -> First {
    First::Request(Op::Agent(op))
}

fn parsed(op: Value) -> Result<First, String> {
    let op = serde_json::from_value(op);
    op.map(First::Request).map_err(|error| error.to_string())
}

fn message(given: &Given) -> Result<(String, Vec<Attachment>), String> {
    let text = given.get("message").and_then(Value::as_str);
    let attachments = given.get("attachments").cloned();
    let attachments = serde_json::from_value(attachments.unwrap_or_else(|| json!([])));
    let mut attachments: Vec<Attachment> =
        attachments.map_err(|error| format!("`attachments`: {error}"))?;
    let images = given.get("images").cloned().unwrap_or_else(|| json!([]));
    let images: Vec<ImageData> =
        serde_json::from_value(images).map_err(|error| format!("`images`: {error}"))?;
    for (place, image) in images.iter().enumerate() {
        let attached = attach(place + 1, image);
        attachments.push(attached.map_err(|fault| format!("`images`: {fault}"))?);
    }
    Ok((text.unwrap_or_default().to_owned(), attachments))
}

fn attach(number: usize, image: &ImageData) -> Result<Attachment, String> {
    let bytes = STANDARD.decode(&image.data);
    let bytes = bytes.map_err(|error| format!("image {number} is no base64: {error}"))?;
    if osier_tools::image::image_type(&bytes).is_none() {
        return Err(format!("image {number} is neither png, jpeg, gif nor webp"));
    }
    let name = format!("image {number}");
    attachment::of_bytes(Path::new(&name), bytes).map_err(|error| error.to_string())
}
