//! The providers that people use most: their addresses, rules and ways of streaming. Error messages are the providers'
//! own.

use agent::Wire;

use super::responses;
use super::rules::{Check, Rule};
use super::speech::{Calls, Speech, Thinks};
use super::{Errors, Strict, TooLong};

/// Fields that Chat Completions have everywhere.
const CHAT_FIELDS: &[&str] = &[
    "model",
    "messages",
    "stream",
    "stream_options",
    "max_tokens",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "temperature",
    "top_p",
    "stop",
    "seed",
    "response_format",
    "user",
];
/// Those of OpenAI, which takes `max_tokens` only to say what to use instead.
const OPENAI_FIELDS: &[&str] = &[
    "model",
    "messages",
    "stream",
    "stream_options",
    "max_tokens",
    "max_completion_tokens",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "reasoning_effort",
    "temperature",
    "top_p",
    "stop",
    "seed",
    "response_format",
    "user",
    "store",
    "metadata",
    "service_tier",
    "prompt_cache_key",
];
const RESPONSES_FIELDS: &[&str] = &[
    "model",
    "input",
    // Fields that the checks derive from its input.
    "messages",
    "instructions",
    "stream",
    "store",
    "include",
    "max_output_tokens",
    "reasoning",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "temperature",
    "top_p",
    "text",
    "truncation",
    "metadata",
    "prompt_cache_key",
    "service_tier",
];
/// Those of Mistral, which counts the usage of a stream without being asked.
const MISTRAL_FIELDS: &[&str] = &[
    "model",
    "messages",
    "stream",
    "max_tokens",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "temperature",
    "top_p",
    "stop",
    "random_seed",
    "response_format",
    "safe_prompt",
    "prompt_mode",
];
const ANTHROPIC_FIELDS: &[&str] = &[
    "model",
    "messages",
    "stream",
    "max_tokens",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "temperature",
    "stop_sequences",
    "metadata",
    "output_config",
    "service_tier",
];
const MESSAGE_FIELDS: &[&str] = &["role", "content", "name", "tool_calls", "tool_call_id", "refusal"];
const MISTRAL_MESSAGE_FIELDS: &[&str] = &["role", "content", "name", "tool_calls", "tool_call_id", "prefix"];
const GROQ_MESSAGE_FIELDS: &[&str] = &["role", "content", "name", "tool_calls", "tool_call_id", "reasoning"];
const BLOCKS_ONLY: &[&str] = &["role", "content"];
const RESPONSES_MESSAGE_FIELDS: &[&str] =
    &["role", "content", "tool_calls", "tool_call_id", responses::REASONING];
const CALL_FIELDS: &[&str] = &["id", "type", "function"];
const MISTRAL_CALL_FIELDS: &[&str] = &["id", "type", "function", "index"];

const CALLS_ANSWERED: Rule = Rule::new(
    Check::CallsAnswered,
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The \
     following tool_call_ids did not have response messages: {name}",
);
const RESULTS_ASKED: Rule = Rule::new(
    Check::ResultsAsked,
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
);
const ENDS_WITH_USER: Rule = Rule::new(
    Check::EndsWithUserOrTool,
    "The last message must have role 'user' or 'tool', but it has role '{name}'.",
);
const UNIQUE_IDS: Rule = Rule::new(Check::UniqueIds, "Duplicate value for 'tool_call_id' of '{name}'");

const OPENAI_RULES: &[Rule] = &[
    Rule::new(Check::Fields(OPENAI_FIELDS), "Unrecognized request argument supplied: {name}"),
    Rule::new(Check::MessageFields(MESSAGE_FIELDS), "Unknown parameter: 'messages[{at}].{name}'.")
        .with_code("unknown_parameter"),
    Rule::new(Check::CallFields(CALL_FIELDS), "Unknown parameter: 'messages[{at}].tool_calls[0].{name}'.")
        .with_code("unknown_parameter"),
    Rule::new(
        Check::Without("max_tokens"),
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    )
    .with_code("unsupported_parameter"),
    Rule::new(Check::NoEmptyTools, "[] is too short - 'tools'"),
    Rule::new(
        Check::UsualIds,
        "Invalid 'messages[{at}].tool_calls[0].id': string does not match pattern. Expected a string that matches the \
         pattern '^[a-zA-Z0-9_-]+$'.",
    ),
    UNIQUE_IDS,
    CALLS_ANSWERED,
    RESULTS_ASKED,
];

const RESPONSES_RULES: &[Rule] = &[
    Rule::new(Check::Fields(RESPONSES_FIELDS), "Unknown parameter: '{name}'.").with_code("unknown_parameter"),
    Rule::new(
        Check::MessageFields(RESPONSES_MESSAGE_FIELDS),
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    ),
    Rule::new(Check::NoEmptyTools, "Invalid 'tools': empty array. Expected an array with minimum length 1."),
    Rule::new(
        Check::UsualIds,
        "Invalid 'input[{at}].call_id': '{name}'. Expected an ID that contains letters, numbers, \
        underscores, or dashes.",
    ),
    Rule::new(Check::UniqueIds, "Duplicate item found with id {name}."),
    Rule::new(Check::CallsAnswered, "No tool output found for function call {name}."),
    Rule::new(Check::ResultsAsked, "No tool call found for function call output with call_id {name}."),
    Rule::new(
        Check::OwnSeals,
        "The encrypted content could not be verified. Reason: Encrypted content could not be decrypted or parsed.",
    ),
    Rule::new(
        Check::ListBack(responses::REASONING),
        "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
    ),
    ENDS_WITH_USER,
];

const OPENAI_THINKING_RULES: &[Rule] = &[
    OPENAI_RULES[0],
    OPENAI_RULES[1],
    OPENAI_RULES[2],
    OPENAI_RULES[3],
    OPENAI_RULES[4],
    Rule::new(
        Check::ToolsWithoutThinking,
        "Function tools with reasoning_effort are not supported for gpt-5.5 in /v1/chat/completions. To use function \
         tools, use /v1/responses or set reasoning_effort to 'none'.",
    ),
    OPENAI_RULES[5],
    OPENAI_RULES[6],
    OPENAI_RULES[7],
    OPENAI_RULES[8],
];

const ANTHROPIC_RULES: &[Rule] = &[
    Rule::new(Check::Fields(ANTHROPIC_FIELDS), "{name}: Extra inputs are not permitted"),
    Rule::new(Check::With("max_tokens"), "{name}: Field required"),
    Rule::new(Check::MessageFields(BLOCKS_ONLY), "messages.{at}.{name}: Extra inputs are not permitted"),
    Rule::new(Check::UserFirst, "messages: first message must use the \"user\" role"),
    Rule::new(Check::NoBlankContent, "messages: text content blocks must contain non-whitespace text"),
    Rule::new(
        Check::UsualIds,
        "messages.{at}.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    Rule::new(Check::UniqueIds, "messages.{at}.content.0: `tool_use` ids must be unique"),
    Rule::new(
        Check::CallsAnswered,
        "messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {name}. Each \
         `tool_use` block must have a corresponding `tool_result` block in the next message.",
    ),
    Rule::new(
        Check::ResultsAsked,
        "messages.{at}.content.0: unexpected `tool_use_id` found in `tool_result` blocks: {name}. Each `tool_result` \
         block must have a corresponding `tool_use` block in the previous message.",
    ),
    Rule::new(
        Check::ToolsDeclared,
        "Requests which include `tool_use` or `tool_result` blocks must define tools",
    ),
    Rule::new(Check::OwnSeals, "messages.{at}.content.0: Invalid `signature` in `thinking` block"),
    Rule::new(
        Check::ThinkingBack,
        "messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{name}`. When `thinking` \
         is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of \
         `tool_use` and `tool_result` blocks).",
    ),
    Rule::new(
        Check::ThinkingNotLast,
        "messages.{at}: The final block in an assistant message cannot be `{name}`.",
    ),
    Rule::new(Check::CacheMarks, "A maximum of 4 blocks with cache_control may be provided."),
    Rule::new(
        Check::EndsWithUserOrTool,
        "This model does not support assistant message prefill. The conversation must end with a user message.",
    ),
];

const OPENROUTER_RULES: &[Rule] = &[
    CALLS_ANSWERED,
    RESULTS_ASKED,
    Rule::new(
        Check::UsualIds,
        "messages.{at}.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
    ),
    Rule::new(Check::UniqueIds, "messages.{at}.content.0: `tool_use` ids must be unique"),
    Rule::new(
        Check::ToolsDeclared,
        "Requests which include `tool_use` or `tool_result` blocks must define tools",
    ),
    Rule::new(Check::NoBlankContent, "messages: text content blocks must contain non-whitespace text"),
    Rule::new(Check::OwnSeals, "messages.{at}.content.0: Invalid `signature` in `thinking` block"),
    Rule::new(
        Check::ListBack("reasoning_details"),
        "messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.",
    ),
    Rule::new(
        Check::EndsWithUserOrTool,
        "This model does not support assistant message prefill. The conversation must end with a user message.",
    ),
];

const LITELLM_RULES: &[Rule] = &[
    CALLS_ANSWERED,
    RESULTS_ASKED,
    Rule::new(
        Check::ToolsDeclared,
        "litellm.UnsupportedParamsError: Anthropic expects the `tools=` param to be passed in when tool_calls are present \
         in the message history.",
    ),
    Rule::new(
        Check::NoBlankContent,
        "litellm.BadRequestError: messages: text content blocks must be non-empty",
    ),
    Rule::new(
        Check::OwnSeals,
        "litellm.BadRequestError: messages.{at}.content.0: Invalid `signature` in `thinking` block",
    ),
    Rule::new(
        Check::ListBack("thinking_blocks"),
        "litellm.BadRequestError: messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found \
         `tool_use`.",
    ),
    ENDS_WITH_USER,
];

const GEMINI_RULES: &[Rule] = &[
    Rule::new(
        Check::SignatureBack,
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work \
         correctly, and missing thought_signature may lead to degraded model performance. Additional data, function \
         call `default_api:clock` , position {at}.",
    ),
    Rule::new(Check::OwnSeals, "Corrupted thought signature."),
    Rule::new(
        Check::CallsAnswered,
        "Please ensure that the number of function response parts is equal to the number of function call parts of the \
         function call turn.",
    ),
    Rule::new(
        Check::ResultsAsked,
        "Please ensure that function response turn comes immediately after a function call turn.",
    ),
    Rule::new(Check::NoBlankContent, "Unable to submit request because it must have a text parameter."),
    Rule::new(
        Check::UserFirst,
        "Please ensure that single turn requests end with a user role or the role field is empty.",
    ),
    ENDS_WITH_USER,
];

const DEEPSEEK_RULES: &[Rule] = &[
    Rule::new(
        Check::CallsAnswered,
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. \
         (insufficient tool messages following tool_calls message)",
    ),
    Rule::new(
        Check::ResultsAsked,
        "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'",
    ),
    Rule::new(
        Check::ReasoningBack { may_be_empty: true },
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
    ),
    ENDS_WITH_USER,
];

const KIMI_RULES: &[Rule] = &[
    Rule::new(
        Check::CallsAnswered,
        "Invalid request: an assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: {name}",
    ),
    Rule::new(Check::ResultsAsked, "Invalid request: tool_call_id {name} is not found"),
    Rule::new(
        Check::NoBlankContent,
        "Invalid request: the message at position {at} with role '{name}' must not be empty",
    ),
    Rule::new(
        Check::ReasoningBack { may_be_empty: false },
        "thinking is enabled but reasoning_content is missing in assistant tool call message at index {at}",
    ),
    ENDS_WITH_USER,
];

const GLM_WORDS: &str = "The messages parameter is illegal. Please check the documentation.";
const GLM_RULES: &[Rule] = &[
    Rule::new(Check::CallsAnswered, GLM_WORDS).with_code("1214"),
    Rule::new(Check::ResultsAsked, GLM_WORDS).with_code("1214"),
    Rule::new(Check::NoBlankContent, GLM_WORDS).with_code("1214"),
    Rule::new(Check::EndsWithUserOrTool, GLM_WORDS).with_code("1214"),
];

const MISTRAL_RULES: &[Rule] = &[
    Rule::new(Check::Fields(MISTRAL_FIELDS), "Extra inputs are not permitted").with_status(422),
    Rule::new(Check::MessageFields(MISTRAL_MESSAGE_FIELDS), "Extra inputs are not permitted")
        .with_status(422),
    Rule::new(Check::CallFields(MISTRAL_CALL_FIELDS), "Extra inputs are not permitted").with_status(422),
    Rule::new(Check::NineLetterIds, "Tool call id was {name} but must be a-z, A-Z, 0-9, with a length of 9.")
        .with_code("3280"),
    Rule::new(Check::NoUserAfterResult, "Unexpected role 'user' after role 'tool'").with_code("3230"),
    Rule::new(Check::CallsAnswered, "Not the same number of function calls and responses").with_code("3230"),
    Rule::new(Check::ResultsAsked, "Unexpected tool call id {name} in tool results").with_code("3230"),
    Rule::new(Check::UniqueIds, "Duplicate tool call id {name} in assistant message").with_code("3230"),
    Rule::new(
        Check::NoBlankContent,
        "Assistant message must have either content or tool_calls, but not none.",
    )
    .with_code("3240"),
    Rule::new(
        Check::EndsWithUserOrTool,
        "Expected last role User or Tool (or Assistant with prefix True) for serving but got {name}",
    )
    .with_code("3230"),
];

const GROQ_RULES: &[Rule] = &[
    Rule::new(Check::Fields(OPENAI_FIELDS), "property '{name}' is unsupported"),
    Rule::new(
        Check::MessageFields(GROQ_MESSAGE_FIELDS),
        "'messages.{at}' : for 'role:assistant' the following must be satisfied[('messages.{at}' : property '{name}' is \
         unsupported)]",
    ),
    Rule::new(
        Check::CallFields(CALL_FIELDS),
        "'messages.{at}.tool_calls.0' : property '{name}' is unsupported",
    ),
    CALLS_ANSWERED,
    RESULTS_ASKED,
    ENDS_WITH_USER,
];

const FIREWORKS_RULES: &[Rule] = &[
    Rule::new(Check::Fields(CHAT_FIELDS), "Extra inputs are not permitted, field: '{name}'"),
    Rule::new(Check::CallsAnswered, "Not the same number of function calls and responses"),
    RESULTS_ASKED,
    ENDS_WITH_USER,
];

const XAI_RULES: &[Rule] = &[
    Rule::new(Check::NoBlankContent, "Each message must have at least one content element."),
    CALLS_ANSWERED,
    RESULTS_ASKED,
    ENDS_WITH_USER,
];

/// Rules of a server that fills in a model's template.
const TEMPLATE_RULES: &[Rule] = &[
    Rule::new(Check::OneSystemFirst, "System message must be at the beginning."),
    Rule::new(
        Check::RolesAlternate,
        "After the optional system message, conversation roles must alternate user/assistant/user/assistant/...",
    ),
    CALLS_ANSWERED,
    RESULTS_ASKED,
    ENDS_WITH_USER,
];

const VLLM_WITHOUT_PARSER_RULES: &[Rule] = &[
    Rule::new(
        Check::NoTools,
        "\"auto\" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set",
    ),
    TEMPLATE_RULES[0],
    TEMPLATE_RULES[1],
    TEMPLATE_RULES[4],
];

const OLLAMA_RULES: &[Rule] = &[CALLS_ANSWERED, RESULTS_ASKED, ENDS_WITH_USER];
const OLLAMA_WITHOUT_TOOLS_RULES: &[Rule] = &[
    Rule::new(Check::NoTools, "registry.ollama.ai/library/gemma3:27b does not support tools"),
    ENDS_WITH_USER,
];

const OPENAI_TOO_LONG: TooLong = TooLong {
    words: "This model's maximum context length is {limit} tokens. However, your messages resulted in {sent} tokens. \
            Please reduce the length of the messages.",
    code: "context_length_exceeded",
    in_stream: false,
};

/// vLLM's words, which DeepSeek and other servers share.
const TOO_LONG_OF_VLLM: &str = "This model's maximum context length is {limit} tokens. However, you requested {sent} \
                                tokens ({sent} in the messages, {answer} in the completion). Please reduce the length of \
                                the messages or completion.";

const GROQ_TOO_LONG: TooLong = TooLong {
    words: "Please reduce the length of the messages or completion.",
    code: "context_length_exceeded",
    in_stream: false,
};

const fn too_long(words: &'static str) -> TooLong {
    TooLong { words, code: "", in_stream: false }
}

/// The providers.
pub const PROVIDERS: &[Strict] = &[
    Strict {
        name: "openai",
        title: "OpenAI",
        base: "https://api.openai.com/v1",
        wire: Wire::Responses,
        model: "gpt-5.5",
        rules: RESPONSES_RULES,
        speech: Speech::usual("call_or{step}{n}", Thinks::Items),
        errors: Errors::OpenAi,
        too_long: OPENAI_TOO_LONG,
    },
    Strict {
        name: "openai-chat",
        title: "OpenAI (Chat Completions)",
        base: "https://api.openai.com/v1",
        wire: Wire::OpenAi,
        model: "gpt-5.5",
        rules: OPENAI_THINKING_RULES,
        speech: Speech::usual("call_oa{step}{n}", Thinks::Never),
        errors: Errors::OpenAi,
        too_long: OPENAI_TOO_LONG,
    },
    Strict {
        name: "azure",
        title: "Azure OpenAI",
        base: "https://everturn.openai.azure.com/openai/v1",
        wire: Wire::OpenAi,
        model: "our-deployment",
        rules: OPENAI_RULES,
        speech: Speech {
            begins: "data: {\"choices\":[],\"prompt_filter_results\":[{\"prompt_index\":0,\"content_filter_results\":{}}]}\n\n",
            ..Speech::usual("call_az{step}{n}", Thinks::Never)
        },
        errors: Errors::OpenAi,
        too_long: OPENAI_TOO_LONG,
    },
    Strict {
        name: "anthropic",
        title: "Anthropic",
        base: "https://api.anthropic.com/v1",
        wire: Wire::Anthropic,
        model: "claude-sonnet-5",
        rules: ANTHROPIC_RULES,
        speech: Speech::usual("toolu_an{step}{n}", Thinks::Blocks),
        errors: Errors::Anthropic,
        too_long: too_long("prompt is too long: {sent} tokens > {limit} maximum"),
    },
    Strict {
        name: "openrouter",
        title: "OpenRouter",
        base: "https://openrouter.ai/api/v1",
        wire: Wire::OpenAi,
        model: "anthropic/claude-opus-5",
        rules: OPENROUTER_RULES,
        speech: Speech {
            begins: ": OPENROUTER PROCESSING\n\n",
            ..Speech::usual("toolu_or{step}{n}", Thinks::Details)
        },
        errors: Errors::Coded,
        too_long: too_long(
            "This endpoint's maximum context length is {limit} tokens. However, you requested about {sent} tokens. \
             Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt \
             automatically.",
        ),
    },
    Strict {
        name: "gemini",
        title: "Google Gemini",
        base: "https://generativelanguage.googleapis.com/v1beta/openai",
        wire: Wire::OpenAi,
        model: "gemini-3-pro-preview",
        rules: GEMINI_RULES,
        speech: Speech::usual("function-call-ge{step}{n}", Thinks::Never).calling(Calls::Signed),
        errors: Errors::Google,
        too_long: too_long(
            "The input token count ({sent}) exceeds the maximum number of tokens allowed ({limit}).",
        ),
    },
    Strict {
        name: "deepseek",
        title: "DeepSeek",
        base: "https://api.deepseek.com/v1",
        wire: Wire::OpenAi,
        model: "deepseek-reasoner",
        rules: DEEPSEEK_RULES,
        speech: Speech {
            begins: ": keep-alive\n\n",
            ..Speech::usual("call_00_ds{step}{n}", Thinks::Field("reasoning_content"))
        },
        errors: Errors::OpenAi,
        too_long: too_long(TOO_LONG_OF_VLLM),
    },
    Strict {
        name: "kimi",
        title: "Kimi",
        base: "https://api.moonshot.ai/v1",
        wire: Wire::OpenAi,
        model: "kimi-k2.5",
        rules: KIMI_RULES,
        speech: Speech::usual("functions.clock:{n}", Thinks::Field("reasoning_content")),
        errors: Errors::OpenAi,
        too_long: too_long(
            "Invalid request: Your request exceeded model token limit: {limit} (requested: {sent})",
        ),
    },
    Strict {
        name: "glm",
        title: "GLM",
        base: "https://api.z.ai/api/paas/v4",
        wire: Wire::OpenAi,
        model: "glm-5",
        rules: GLM_RULES,
        speech: Speech { lead: "\n\n", ..Speech::usual("call_{n}", Thinks::Field("reasoning_content")) },
        errors: Errors::Coded,
        too_long: TooLong { words: "Prompt exceeds max length", code: "1261", in_stream: false },
    },
    Strict {
        name: "mistral",
        title: "Mistral",
        base: "https://api.mistral.ai/v1",
        wire: Wire::OpenAi,
        model: "magistral-medium-latest",
        rules: MISTRAL_RULES,
        speech: Speech::usual("{step}{n}", Thinks::Parts).calling(Calls::Together),
        errors: Errors::Detail,
        too_long: TooLong {
            words: "Prompt contains {sent} tokens and 0 draft tokens, too large for model with {limit} maximum context \
                    length",
            code: "3051",
            in_stream: false,
        },
    },
    Strict {
        name: "groq",
        title: "Groq",
        base: "https://api.groq.com/openai/v1",
        wire: Wire::OpenAi,
        model: "openai/gpt-oss-120b",
        rules: GROQ_RULES,
        speech: Speech::usual("fc_gr{step}{n}", Thinks::Field("reasoning")).calling(Calls::Together),
        errors: Errors::OpenAi,
        too_long: GROQ_TOO_LONG,
    },
    Strict {
        name: "groq-kimi",
        title: "Kimi at Groq",
        base: "https://api.groq.com/openai/v1",
        wire: Wire::OpenAi,
        model: "moonshotai/kimi-k2-instruct-0905",
        rules: GROQ_RULES,
        speech: Speech::usual("functions.clock:{n}", Thinks::Never).calling(Calls::Together),
        errors: Errors::OpenAi,
        too_long: GROQ_TOO_LONG,
    },
    Strict {
        name: "together",
        title: "Together",
        base: "https://api.together.xyz/v1",
        wire: Wire::OpenAi,
        model: "Qwen/Qwen3.5-397B-A17B",
        rules: OLLAMA_RULES,
        speech: Speech { lead: "\n\n", ..Speech::usual("call_to{step}{n}", Thinks::Field("reasoning")) },
        errors: Errors::OpenAi,
        too_long: too_long(
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= {limit}. Given: {sent} `inputs` tokens \
             and {answer} `max_new_tokens`",
        ),
    },
    Strict {
        name: "fireworks",
        title: "Fireworks",
        base: "https://api.fireworks.ai/inference/v1",
        wire: Wire::OpenAi,
        model: "accounts/fireworks/models/deepseek-v4-pro",
        rules: FIREWORKS_RULES,
        speech: Speech::usual("call_fi{step}{n}", Thinks::Field("reasoning_content")).calling(Calls::Objects),
        errors: Errors::OpenAi,
        too_long: too_long("The prompt is too long: {sent}, model maximum context length: {limit}"),
    },
    Strict {
        name: "xai",
        title: "xAI",
        base: "https://api.x.ai/v1",
        wire: Wire::OpenAi,
        model: "grok-4.3",
        rules: XAI_RULES,
        speech: Speech::usual("call_xa{step}{n}", Thinks::Field("reasoning_content"))
            .calling(Calls::Together),
        errors: Errors::Text,
        too_long: too_long(
            "This model's maximum prompt length is {limit} but the request contains {sent} tokens.",
        ),
    },
    Strict {
        name: "ollama",
        title: "Ollama",
        base: "/ollama/v1",
        wire: Wire::OpenAi,
        model: "qwen3:8b",
        rules: OLLAMA_RULES,
        speech: Speech::usual("call_ol{step}{n}", Thinks::Field("reasoning")).calling(Calls::IndexZero),
        errors: Errors::OpenAi,
        too_long: too_long("prompt too long; exceeded max context length by {sent} tokens"),
    },
    Strict {
        name: "ollama-without-tools",
        title: "Ollama, a model without tools",
        base: "/ollama/v1",
        wire: Wire::OpenAi,
        model: "gemma3:27b",
        rules: OLLAMA_WITHOUT_TOOLS_RULES,
        speech: Speech::usual("call_og{step}{n}", Thinks::Never),
        errors: Errors::OpenAi,
        too_long: too_long("prompt too long; exceeded max context length by {sent} tokens"),
    },
    Strict {
        name: "vllm",
        title: "vLLM",
        base: "/vllm/v1",
        wire: Wire::OpenAi,
        model: "Qwen/Qwen3.5-27B",
        rules: TEMPLATE_RULES,
        speech: Speech {
            lead: "\n\n",
            ..Speech::usual("chatcmpl-tool-{step}{n}", Thinks::Field("reasoning"))
        },
        errors: Errors::Flat,
        too_long: too_long(TOO_LONG_OF_VLLM),
    },
    Strict {
        name: "vllm-without-parser",
        title: "vLLM without a tool parser",
        base: "/vllm-without-parser/v1",
        wire: Wire::OpenAi,
        model: "google/gemma-3-27b-it",
        rules: VLLM_WITHOUT_PARSER_RULES,
        speech: Speech::usual("chatcmpl-tool-{step}{n}", Thinks::Never),
        errors: Errors::Flat,
        too_long: too_long(TOO_LONG_OF_VLLM),
    },
    Strict {
        name: "llama-cpp",
        title: "llama.cpp",
        base: "/llama-cpp/v1",
        wire: Wire::OpenAi,
        model: "gemma-4-27b",
        rules: TEMPLATE_RULES,
        speech: Speech::usual("lc{step}{n}", Thinks::Field("reasoning_content")),
        errors: Errors::OpenAi,
        too_long: TooLong {
            words: "the request exceeds the available context size ({limit} tokens), try increasing it",
            code: "exceed_context_size_error",
            in_stream: false,
        },
    },
    Strict {
        name: "lm-studio",
        title: "LM Studio",
        base: "/lm-studio/v1",
        wire: Wire::OpenAi,
        model: "qwen3.5-9b",
        rules: TEMPLATE_RULES,
        speech: Speech::usual("7{step}{n}", Thinks::Field("reasoning_content")),
        errors: Errors::OpenAi,
        too_long: TooLong {
            words: "Trying to keep the first {sent} tokens when context the overflows. However, the model is loaded with \
                    context length of only {limit} tokens, which is not enough.",
            code: "",
            in_stream: true,
        },
    },
    Strict {
        name: "litellm",
        title: "LiteLLM",
        base: "/litellm/v1",
        wire: Wire::OpenAi,
        model: "claude-sonnet-5",
        rules: LITELLM_RULES,
        speech: Speech::usual("toolu_li{step}{n}", Thinks::Blocks),
        errors: Errors::OpenAi,
        too_long: too_long(
            "litellm.ContextWindowExceededError: litellm.BadRequestError: AnthropicException - prompt is too long: {sent} \
             tokens > {limit} maximum",
        ),
    },
];
