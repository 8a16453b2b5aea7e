// A model that says what it is given, to the letter, in the OpenAI format: a message `recite pace 10` with a text below is
// answered with that text, a few letters every 10 ms. `think` says it as reasoning first, `call` hands it to a tool first,
// `refuse` answers with it as an error. It goes on from a prefix.

import http from "node:http";

const PIECE = 4;

function textOf(message) {
  if (typeof message.content === "string") return message.content;
  return (message.content ?? []).map((part) => part.text ?? "").join("");
}

/** What is to be said, how, and how much of it was said already. */
function read(messages) {
  const at = messages.findLastIndex(
    (message) => message.role === "user" && textOf(message).startsWith("recite"),
  );
  if (at < 0 || messages.slice(at + 1).some((message) => message.role === "user")) return undefined;
  const [first, ...rest] = textOf(messages[at]).split("\n");
  const text = rest.join("\n");
  const after = messages.slice(at + 1);
  const said = after
    .filter((message) => message.role === "assistant")
    .map(textOf)
    .findLast((said) => text.startsWith(said));
  const pace = Number(/pace (\d+)/.exec(first)?.[1] ?? 0);
  const called = after.some((message) => message.role === "tool");
  return { first, text, said: said?.length ?? 0, pace, called };
}

export class Reciter {
  constructor() {
    this.server = http.createServer((request, response) => {
      let body = "";
      request.on("data", (bytes) => (body += bytes));
      request.on("end", () => void this.answer(JSON.parse(body), response));
      response.on("error", () => {});
    });
  }

  async listen() {
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    return this.server.address().port;
  }

  async answer({ messages }, response) {
    const asked = read(messages);
    if (asked?.first.includes("refuse")) {
      response.writeHead(400, { "content-type": "application/json" });
      return response.end(JSON.stringify({ error: { message: asked.text } }));
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    const chunk = (delta, finish_reason = null) =>
      response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason }] })}\n\n`);
    const end = (reason, tokens) => {
      chunk({}, reason);
      const usage = { prompt_tokens: JSON.stringify(messages).length >> 2, completion_tokens: tokens };
      response.end(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`);
    };
    if (asked === undefined) {
      chunk({ content: "Herons" });
      return end("stop", 1);
    }
    const { first, text, said, pace, called } = asked;
    if (first.includes("call") && !called) {
      const call = { name: "clock", arguments: JSON.stringify({ text }) };
      chunk({ tool_calls: [{ index: 0, id: "call_1", function: call }] });
      return end("tool_calls", 1);
    }
    const say = async (kind, text) => {
      for (let at = 0; at < text.length && !response.destroyed; at += PIECE) {
        chunk({ [kind]: text.slice(at, at + PIECE) });
        if (pace > 0) await new Promise((resolve) => setTimeout(resolve, pace));
      }
    };
    if (first.includes("think") && said === 0) await say("reasoning_content", text);
    await say("content", text.slice(said));
    end("stop", Math.ceil(text.length / PIECE));
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }
}
