// Another program on this machine that posts to a webhook of the server and is posted to.

import { createHmac } from "node:crypto";
import http from "node:http";

const SECRET = "a heron signs what it posts";

/** With such a program that the server knows, for as long as `act` takes. */
export async function hooked(world, act) {
  const hook = await Hook.start();
  try {
    await hook.introduce(world);
    await act(hook);
  } finally {
    await hook.stop();
    await world.reconfigure();
  }
}

export class Hook {
  /** Starts to listen. */
  static async start() {
    const made = new Hook();
    /** Texts that were posted here, in their order. */
    made.texts = [];
    made.away = false;
    made.refused = 0;
    made.server = http.createServer(async (request, answer) => {
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      if (made.away) {
        made.refused += 1;
        return answer.writeHead(503, { "retry-after": "1" }).end();
      }
      made.texts.push(JSON.parse(Buffer.concat(chunks)).text);
      answer.end();
    });
    await new Promise((resolve) => made.server.listen(0, "127.0.0.1", resolve));
    return made;
  }

  /** Codes that strangers were told. */
  get codes() {
    return this.texts.flatMap((text) => /approve ([A-Z0-9]{8})/.exec(text)?.[1] ?? []);
  }

  /** What the server's configuration says of it. */
  config() {
    const { port } = this.server.address();
    return [
      "[[platforms]]",
      'name = "ops"',
      'kind = "webhook"',
      `url = "http://127.0.0.1:${port}"`,
      'token_env = "HOOK_SECRET"',
      'allow = ["robin", "jay"]',
    ].join("\n");
  }

  /** Starts a server that knows it. */
  introduce(world) {
    return world.reconfigure({ config: [this.config()], environment: { HOOK_SECRET: SECRET } });
  }

  /** Posts what somebody says, and gives the answer's status. */
  async post(origin, { event, sender, text }) {
    const body = JSON.stringify({ event, chat: { id: sender.id }, sender, text });
    const now = Math.floor(Date.now() / 1_000);
    const tag = createHmac("sha256", SECRET).update(`${now}.${body}`).digest("hex");
    const headers = { "content-type": "application/json", "everturn-signature": `t=${now},v1=${tag}` };
    const answer = await fetch(`${origin}/api/v1/hooks/ops`, { method: "POST", headers, body });
    return answer.status;
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
