//! Converts parameters to ops, for commands whose parameters are not the fields of an op.

#![expect(
    clippy::unnecessary_wraps,
    reason = "the rows of the table share one signature"
)]

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::check::parse_op;
use super::command::FirstStep;
use super::tracked_state::TrackedState;
use osier_agent::Attachment;
use osier_protocol::slash::{self, SlashClient};
use osier_protocol::{Op, TransferOp};
use osier_tools::attachment;

/// An image that is attached to a message. Other fields are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub(super) struct ImageData {
    /// A png, jpeg, gif or webp file in Base64. Large images are scaled down.
    pub data: String,
}

type Parameters = Map<String, Value>;

pub(super) fn prompt(parameters: &Parameters, _: &TrackedState) -> Result<FirstStep, String> {
    let ((text, attachments), typed) = (message(parameters)?, None);
    let behaviour = parameters.get("streamingBehavior").and_then(Value::as_str);
    Ok(op(match behaviour {
        Some("followUp") => osier_agent::Op::FollowUp {
            text,
            attachments,
            typed,
            once: None,
        },
        Some(_) => osier_agent::Op::Steer {
            text,
            attachments,
            typed,
            once: None,
        },
        None => osier_agent::Op::Prompt {
            text,
            attachments,
            typed,
            once: None,
        },
    }))
}

pub(super) fn steer(parameters: &Parameters, _: &TrackedState) -> Result<FirstStep, String> {
    let ((text, attachments), typed) = (message(parameters)?, None);
    Ok(op(osier_agent::Op::Steer {
        text,
        attachments,
        typed,
        once: None,
    }))
}

pub(super) fn follow_up(parameters: &Parameters, _: &TrackedState) -> Result<FirstStep, String> {
    let ((text, attachments), typed) = (message(parameters)?, None);
    Ok(op(osier_agent::Op::FollowUp {
        text,
        attachments,
        typed,
        once: None,
    }))
}

/// The requests of a slash command.
pub(super) fn slash(parameters: &Parameters, _: &TrackedState) -> Result<FirstStep, String> {
    let text = parameters["command"].as_str().unwrap_or_default();
    let typed = slash::parse(text, SlashClient::Chat, |_| false);
    let (command, argument) = typed.ok_or_else(|| format!("`{text}` is no slash command"))??;
    let requests = command.requests;
    let requests = requests.ok_or_else(|| format!("`/{}` is no request", command.name))?;
    Ok(FirstStep::Requests(requests(argument)?))
}

/// The modes of the two queues: one `mode` for both, or a field for each.
pub(super) fn queue_mode(parameters: &Parameters, _: &TrackedState) -> Result<FirstStep, String> {
    let mode = |name: &str| {
        parameters
            .get(name)
            .or_else(|| parameters.get("mode"))
            .cloned()
    };
    let set = json!({
        "type": "set_queue_mode",
        "steering": mode("steering"),
        "followUp": mode("followUp"),
    });
    request(&set)
}

pub(super) fn steering_mode(
    parameters: &Parameters,
    _: &TrackedState,
) -> Result<FirstStep, String> {
    request(&json!({"type": "set_queue_mode", "steering": parameters.get("mode")}))
}

pub(super) fn follow_up_mode(
    parameters: &Parameters,
    _: &TrackedState,
) -> Result<FirstStep, String> {
    request(&json!({"type": "set_queue_mode", "followUp": parameters.get("mode")}))
}

/// A model by its full name, by provider and id, or by part of a name.
pub(super) fn model(parameters: &Parameters, _: &TrackedState) -> Result<FirstStep, String> {
    let text = |name: &str| parameters.get(name).and_then(Value::as_str);
    let reference = match (text("reference"), text("provider"), text("modelId")) {
        (Some(reference), None, None) => reference.to_owned(),
        (None, Some(provider), Some(id)) => format!("{provider}/{id}"),
        (None, None, Some(id)) => id.to_owned(),
        _ => {
            return Err(
                "name a model by `reference`, by `modelId`, or by `provider` and `modelId`"
                    .to_owned(),
            );
        }
    };
    Ok(FirstStep::Request(Op::SelectModel { reference }))
}

pub(super) fn models(parameters: &Parameters, _: &TrackedState) -> Result<FirstStep, String> {
    let models = parameters.get("models");
    if models.and_then(Value::as_array).is_some_and(Vec::is_empty) {
        return Err("`models` must contain at least one model".to_owned());
    }
    request(&json!({"type": "set_models", "models": models}))
}

pub(super) fn export_html(parameters: &Parameters, _: &TrackedState) -> Result<FirstStep, String> {
    let path = parameters.get("outputPath").and_then(Value::as_str);
    let force = parameters.get("force").and_then(Value::as_bool);
    Ok(FirstStep::Request(Op::Transfer(
        TransferOp::ExportSession {
            path: path.map(str::to_owned),
            format: Some(osier_protocol::ExportFormat::Html),
            scope: None,
            theme: None,
            force: force.unwrap_or(false),
            log: parameters.get("log") == Some(&json!(true)),
        },
    )))
}

/// The op has the job in `id`, which is the command's id on the wire.
pub(super) fn follow_job(parameters: &Parameters, _: &TrackedState) -> Result<FirstStep, String> {
    request(&json!({"type": "follow_job", "id": parameters.get("jobId")}))
}

pub(super) fn kill_job(parameters: &Parameters, _: &TrackedState) -> Result<FirstStep, String> {
    request(&json!({"type": "kill_job", "id": parameters.get("jobId")}))
}

/// The op has the question in `id`, which is the command's id on the wire.
pub(super) fn answer(parameters: &Parameters, _: &TrackedState) -> Result<FirstStep, String> {
    let (id, answer) = (parameters.get("questionId"), parameters.get("answer"));
    request(&json!({"type": "answer_question", "id": id, "answer": answer}))
}

/// Any op, unchanged.
pub(super) fn any(parameters: &Parameters, _: &TrackedState) -> Result<FirstStep, String> {
    request(parameters.get("op").unwrap_or(&Value::Null))
}

fn op(op: osier_agent::Op) -> FirstStep {
    FirstStep::Request(Op::Agent(op))
}

fn request(op: &Value) -> Result<FirstStep, String> {
    parse_op(op).map(FirstStep::Request)
}

fn message(parameters: &Parameters) -> Result<(String, Vec<Attachment>), String> {
    let text = parameters.get("message").and_then(Value::as_str);
    let text = text.unwrap_or_default().to_owned();
    Ok((text, attachments(parameters)?))
}

/// The files of a message: `attachments`, as the agent stores them, and `images` in Base64.
///
/// # Errors
/// Names the field and the image that cannot be used.
pub fn attachments(parameters: &Parameters) -> Result<Vec<Attachment>, String> {
    let attachments = parameters.get("attachments").cloned();
    let attachments = serde_json::from_value(attachments.unwrap_or_else(|| json!([])));
    let mut attachments: Vec<Attachment> =
        attachments.map_err(|error| format!("`attachments`: {error}"))?;
    let images = parameters
        .get("images")
        .cloned()
        .unwrap_or_else(|| json!([]));
    let images: Vec<ImageData> =
        serde_json::from_value(images).map_err(|error| format!("`images`: {error}"))?;
    for (index, image) in images.iter().enumerate() {
        let attached = attach(index + 1, image);
        attachments.push(attached.map_err(|error| format!("`images`: {error}"))?);
    }
    Ok(attachments)
}

fn attach(number: usize, image: &ImageData) -> Result<Attachment, String> {
    let bytes = STANDARD.decode(&image.data);
    let bytes = bytes.map_err(|error| format!("image {number} is not valid Base64: {error}"))?;
    if osier_tools::image::image_type(&bytes).is_none() {
        return Err(format!(
            "image {number} has an unsupported format; expected png, jpeg, gif or webp"
        ));
    }
    let name = format!("image {number}");
    attachment::of_bytes(Path::new(&name), bytes).map_err(|error| error.to_string())
}
