// A model that says what it is given, to the letter, in the OpenAI format: a message `recite pace 10` with a text below is
// answered with that text, a few letters every 10 ms, or 64 with `by 64`; `recite heron` with nothing below, with the text
// that it knows by that name. `ahead 500` says as many letters at once, `think` says it as reasoning first, `call` hands it to
// the clock first, `file NAME` asks to read that attachment with it, `name` asks for a tool that is called so, `refuse`
// answers with it as an error. It goes on from a prefix. `hold 300` says so many letters and then nothing, until the rest is
// asked for; `limit 300` ends there, because it may say no more at once; `mute` says nothing at all. Where it is asked to
// continue, because it takes no prefix, `again 60` repeats so many letters first, and `sorry` apologizes before that.

import http from "node:http";

const PIECE = 4;
/** How the server asks a model to continue that takes no prefix. */
const CONTINUE = "Your last answer was cut off";
const SORRY = "Sorry, my answer was cut off. I continue where I left off:\n\n";

function textOf(message) {
  if (typeof message.content === "string") return message.content;
  return (message.content ?? []).map((part) => part.text ?? "").join("");
}

/** Where a message of the user begins that was sent together with the one before it. */
const NEXT =
  /\n\n(?=recite|Tell me a long story|Your last answer was cut off|Give this conversation a title)/;

/** What is to be said, how, and how much of it was said already. */
function read(sent, { texts, questions }) {
  const messages = sent.flatMap((message) =>
    message.role === "user"
      ? textOf(message)
          .split(NEXT)
          .map((content) => ({ ...message, content }))
      : [message],
  );
  // Who asks for a story in words of their own gets the one that is called so, slowly.
  const commandOf = (message) => {
    const text = textOf(message);
    if (text.startsWith("Tell me a long story")) return "recite story pace 40 by 6";
    return questions.get(text) ?? text;
  };
  const at = messages.findLastIndex(
    (message) => message.role === "user" && commandOf(message).startsWith("recite"),
  );
  if (at < 0) return undefined;
  const later = messages.slice(at + 1).filter((message) => message.role === "user");
  const goesOn = later.length > 0 && later.every((message) => textOf(message).startsWith(CONTINUE));
  if (later.length > 0 && !goesOn) return undefined;
  const [first, ...rest] = commandOf(messages[at]).split("\n");
  const text = rest.length > 0 ? rest.join("\n") : (texts.get(first.split(" ")[1]) ?? "");
  const after = messages.slice(at + 1);
  const said = after
    .filter((message) => message.role === "assistant")
    .map(textOf)
    .findLast((said) => text.startsWith(said));
  const number = (word, otherwise = 0) => Number(new RegExp(`${word} (\\d+)`).exec(first)?.[1] ?? otherwise);
  const called = after.some((message) => message.role === "tool");
  const how = {
    pace: number("pace"),
    ahead: number("ahead"),
    piece: number("by", PIECE),
    hold: number("hold"),
    limit: number("limit"),
  };
  const again = goesOn ? number("again") : 0;
  const before = goesOn && first.includes("sorry") ? SORRY : "";
  return { first, text, said: said?.length ?? 0, called, again, before, ...how };
}

/** The tool that is asked for before anything is said. */
function callOf({ first, text, called }) {
  if (called) return undefined;
  const file = /file (\S+)/.exec(first)?.[1];
  if (file !== undefined) return { name: "read_attachment", given: { name: file, text } };
  if (first.includes("name")) return { name: text, given: {} };
  return first.includes("call") ? { name: "clock", given: { text } } : undefined;
}

export class Reciter {
  /** What can be asked for by name. */
  texts = new Map();

  /** What somebody may say in words of their own, and the command that it stands for. */
  questions = new Map();

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
    const asked = read(messages, this);
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
    const { first, text, said, again, before, pace, ahead, piece, hold, limit } = asked;
    const left = () => new Promise((resolve) => response.once("close", resolve));
    if (first.includes("mute")) {
      response.flushHeaders();
      return left();
    }
    const inPieces = async (whole, tell, from = 0) => {
      const begun = performance.now();
      for (let at = from, count = 1; at < whole.length && !response.destroyed; count += 1) {
        // A character of two halves stays whole.
        const next = at + piece + Number(/[\udc00-\udfff]/.test(whole[at + piece] ?? ""));
        tell(whole.slice(at, next));
        at = next;
        // By the clock: a busy machine is late with a piece, not slower.
        const wait = begun + count * pace - performance.now();
        if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      }
    };
    const call = callOf(asked);
    if (call !== undefined) {
      const part = (more, told) => chunk({ tool_calls: [{ index: 0, ...more, function: told }] });
      part({ id: "call_1" }, { name: call.name, arguments: "" });
      await inPieces(JSON.stringify(call.given), (given) => part({}, { arguments: given }));
      return end("tool_calls", 1);
    }
    const say = (kind, text) => {
      if (ahead > 0) chunk({ [kind]: text.slice(0, ahead) });
      return inPieces(text, (words) => chunk({ [kind]: words }), ahead);
    };
    if (first.includes("think") && said === 0) await say("reasoning_content", text);
    const most = [hold, limit].find((most) => most > said) ?? text.length;
    await say("content", before + text.slice(Math.max(0, said - again), most));
    if (hold > said) return left();
    end(limit > said ? "length" : "stop", Math.ceil(text.length / PIECE));
  }

  close() {
    this.server.closeAllConnections();
    this.server.close();
  }
}
