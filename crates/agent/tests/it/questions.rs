//! A question in both wire formats: the whole body, compared as it stands.

use agent::provider::{anthropic, openai};
use agent::{Dialect, Question, ToolOffer};
use serde_json::json;
use session::{CallNo, Message, PromptCall, PromptMessage};

fn question() -> Question {
    let call = PromptCall {
        call: CallNo(1),
        provider_call: Some("call_a".to_owned()),
        tool: "clock".to_owned(),
        arguments: "{\"zone\":\"UTC\"}".to_owned(),
    };
    let messages = vec![
        PromptMessage::Summary("They spoke of herons.".to_owned()),
        PromptMessage::User(Message::text("What time is it?")),
        PromptMessage::Assistant {
            text: "I look.".to_owned(),
            reasoning: "A clock is needed.".to_owned(),
            calls: vec![call],
        },
        PromptMessage::Result {
            call: CallNo(1),
            provider_call: Some("call_a".to_owned()),
            content: "noon".to_owned(),
        },
        PromptMessage::User(Message::text("And where?")),
    ];
    let tool = ToolOffer {
        name: "clock".to_owned(),
        about: "Tells the time.".to_owned(),
        arguments: json!({ "type": "object" }),
    };
    Question {
        model: "small".to_owned(),
        instructions: Some("Be brief.".to_owned()),
        messages,
        tools: vec![tool],
        output_tokens_max: 256,
    }
}

#[test]
fn completions_get_every_message_in_its_role() {
    let call = json!({ "id": "call_a", "type": "function",
        "function": { "name": "clock", "arguments": "{\"zone\":\"UTC\"}" } });
    let tool = json!({ "type": "function",
        "function": { "name": "clock", "description": "Tells the time.", "parameters": { "type": "object" } } });
    let expected = json!({
        "model": "small",
        "stream": true,
        "stream_options": { "include_usage": true },
        "max_tokens": 256,
        "tools": [tool],
        "messages": [
            { "role": "system", "content": "Be brief.\n\nWhat was said before, in short:\nThey spoke of herons." },
            { "role": "user", "content": "What time is it?" },
            { "role": "assistant", "content": "I look.", "tool_calls": [call] },
            { "role": "tool", "tool_call_id": "call_a", "content": "noon" },
            { "role": "user", "content": "And where?" },
        ],
    });
    assert_eq!(openai::body(&question(), &Dialect::default()), expected);
}

#[test]
fn messages_take_turns_and_results_stand_with_what_is_said_next() {
    let call = json!({ "type": "tool_use", "id": "call_a", "name": "clock", "input": { "zone": "UTC" } });
    let result = json!({ "type": "tool_result", "tool_use_id": "call_a", "content": "noon" });
    let expected = json!({
        "model": "small",
        "stream": true,
        "max_tokens": 256,
        "system": "Be brief.\n\nWhat was said before, in short:\nThey spoke of herons.",
        "tools": [{ "name": "clock", "description": "Tells the time.", "input_schema": { "type": "object" } }],
        "messages": [
            { "role": "user", "content": [{ "type": "text", "text": "What time is it?" }] },
            { "role": "assistant", "content": [{ "type": "text", "text": "I look." }, call] },
            { "role": "user", "content": [result, { "type": "text", "text": "And where?" }] },
        ],
    });
    assert_eq!(anthropic::body(&question()), expected);
}
