//! The tools and calls of a request in the form that its model is trained with. The conversation, rules, hooks and
//! transcripts have the names of osier; calls in another form become these when an answer is complete (`spellings`).

mod gemini;
mod patches;

use std::collections::HashMap;

use osier_llm::{AssistantBlock, Context, Message, ToolCall, ToolForm};

/// Changes the tools of a request and the calls of its conversation to `form`.
pub fn translate(context: &mut Context, form: ToolForm) {
    let is_patch = form == ToolForm::Patch && patches::replace_tools(&mut context.tools);
    if form == ToolForm::Gemini {
        gemini::rename_tools(&mut context.tools);
    }
    let offers_patches = context
        .tools
        .iter()
        .any(|spec| spec.name == crate::edit::patch::NAME);
    let translate_call = |call: &mut ToolCall| match form {
        ToolForm::Patch if is_patch => patches::of_edit(call),
        _ => {
            if !offers_patches {
                patches::to_edit(call);
            }
            if form == ToolForm::Gemini {
                gemini::rename_call(call);
            }
        }
    };
    let mut renamed: HashMap<String, String> = HashMap::new();
    for message in &mut context.messages {
        match message {
            Message::Assistant(answer) => {
                let calls = answer.content.iter_mut().filter_map(|block| match block {
                    AssistantBlock::ToolCall(call) => Some(call),
                    _ => None,
                });
                for call in calls {
                    let before = call.name.clone();
                    translate_call(call);
                    if call.name != before {
                        renamed.insert(call.id.clone(), call.name.clone());
                    }
                }
            }
            Message::ToolResult(result) => {
                if let Some(name) = renamed.get(&result.tool_call_id) {
                    result.tool_name.clone_from(name);
                }
            }
            Message::User(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
