//! A question in both wire formats: the whole body, compared as it stands.

use agent::provider::{anthropic, openai};
use agent::{Dialect, Question, ToolOffer};
use serde_json::{Value, json};
use session::{CallNo, Message, PromptCall, PromptMessage, ProviderPart};

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
            parts: Vec::new(),
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
        effort: agent::Effort::Default,
        shown: agent::media::Shown::default(),
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
    assert_eq!(anthropic::body(&question(), &Dialect::default()), expected);
}

fn part(kind: &str, call: Option<u32>, text_before: u64, data: &str) -> ProviderPart {
    let (wire, family) = ("w".to_owned(), "f".to_owned());
    let (kind, call, data) = (kind.to_owned(), call.map(CallNo), data.to_owned());
    ProviderPart { wire, family, kind, call, text_before, data }
}

/// The question with the parts of its answer.
fn with_parts(all: Vec<ProviderPart>) -> Question {
    let mut question = question();
    for message in &mut question.messages {
        if let PromptMessage::Assistant { parts, .. } = message {
            parts.clone_from(&all);
        }
    }
    question
}

#[test]
fn thinking_goes_back_where_it_arrived() {
    let question = with_parts(vec![
        part("thinking", None, 0, r#"{"type":"thinking","thinking":"a","signature":"s"}"#),
        part("redacted_thinking", None, 2, r#"{"type":"redacted_thinking","data":"x"}"#),
    ]);
    let answer = &anthropic::body(&question, &Dialect::default())["messages"][1]["content"];
    let expected = json!([
        { "type": "thinking", "thinking": "a", "signature": "s" },
        { "type": "text", "text": "I " },
        { "type": "redacted_thinking", "data": "x" },
        { "type": "text", "text": "look." },
        { "type": "tool_use", "id": "call_a", "name": "clock", "input": { "zone": "UTC" } },
    ]);
    assert_eq!(*answer, expected);
}

#[test]
fn no_answer_to_claude_ends_with_thinking() {
    let thinking = r#"{"type":"thinking","thinking":"Hm.","signature":"s"}"#;
    let redacted = r#"{"type":"redacted_thinking","data":"d"}"#;
    let said = |text: &str| PromptMessage::Assistant {
        text: text.to_owned(),
        reasoning: String::new(),
        calls: Vec::new(),
        parts: vec![
            part("thinking", None, 0, thinking),
            part("thinking", None, 5, thinking),
            part("redacted_thinking", None, 5, redacted),
        ],
    };
    let blocks = |text: &str| {
        let messages = vec![PromptMessage::User(Message::text("Hello.")), said(text)];
        let question = Question { messages, ..question() };
        anthropic::body(&question, &Dialect::default())["messages"][1]["content"].clone()
    };
    let first: Value = serde_json::from_str(thinking).unwrap();
    assert_eq!(blocks("Well,"), json!([first, { "type": "text", "text": "Well," }]));
    assert_eq!(blocks(""), json!(null), "thinking alone is no message");
}

#[test]
fn completions_get_back_what_their_provider_added() {
    let details = r#"[{"type":"reasoning.encrypted","data":"x"}]"#;
    let question = with_parts(vec![
        part("extra_content", Some(1), 7, r#"{"google":{"thought_signature":"s"}}"#),
        part("reasoning_details", None, 7, details),
    ]);
    let answer = |dialect: &Dialect| openai::body(&question, dialect)["messages"][2].clone();
    let plain = answer(&Dialect::default());
    assert_eq!(plain["tool_calls"][0]["extra_content"]["google"]["thought_signature"], "s");
    assert_eq!(plain["reasoning_details"], serde_json::from_str::<serde_json::Value>(details).expect("JSON"));
    assert_eq!(plain["reasoning_content"], json!(null));
    let at = |model: &str| Dialect::of("https://provider.example/v1", model);
    assert_eq!(answer(&at("deepseek-reasoner"))["reasoning_content"], "A clock is needed.");
    assert_eq!(answer(&at("kimi-k2-thinking"))["reasoning_content"], "A clock is needed.");
    let signed = answer(&at("gemini-3-pro"));
    assert_eq!(signed["tool_calls"][0]["extra_content"]["google"]["thought_signature"], "s");
}

#[test]
fn a_call_of_another_model_gets_the_placeholder_that_gemini_accepts() {
    let dialect = Dialect::of("https://generativelanguage.googleapis.com/v1beta/openai", "gemini-3-pro");
    let call = &openai::body(&question(), &dialect)["messages"][2]["tool_calls"][0];
    assert_eq!(call["extra_content"]["google"]["thought_signature"], "skip_thought_signature_validator");
}

#[test]
fn empty_reasoning_is_sent_only_where_it_must_be() {
    let mut question = question();
    for message in &mut question.messages {
        if let PromptMessage::Assistant { reasoning, .. } = message {
            reasoning.clear();
        }
    }
    let sent = |model: &str| {
        let dialect = Dialect::of("https://provider.example/v1", model);
        openai::body(&question, &dialect)["messages"][2]["reasoning_content"].clone()
    };
    assert_eq!((sent("deepseek-chat"), sent("glm-5")), (json!(""), json!(null)));
    assert_eq!(sent("kimi-k2-thinking"), ".", "empty reasoning counts as missing there");
}

#[test]
fn prompts_to_claude_are_marked_for_the_cache() {
    let at = |url: &str| Dialect::of(url, "anthropic/claude-opus-5");
    let mark = json!({ "type": "ephemeral" });
    let body = anthropic::body(&question(), &at("https://api.anthropic.com/v1"));
    let last = body["messages"][2]["content"].as_array().expect("blocks").last().expect("one").clone();
    assert_eq!((&body["system"][0]["cache_control"], &last["cache_control"]), (&mark, &mark));
    let marks = body.to_string().matches("cache_control").count();
    assert_eq!(marks, 2, "the provider takes four at most");
    let body = openai::body(&question(), &at("https://openrouter.ai/api/v1"));
    let marked = |at: usize| body["messages"][at]["content"][0]["cache_control"] == mark;
    assert!(marked(0) && marked(4), "{body}");
    assert!(
        !openai::body(&question(), &at("https://gateway.example/v1")).to_string().contains("cache_control")
    );
}
