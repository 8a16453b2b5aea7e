// A client made from the generated types: a session, a message, its answer, an error.

import createClient from "openapi-fetch";

import type { paths } from "../../src/api/schema";

const client = createClient<paths>({
  baseUrl: process.env["EVERTURN_URL"] ?? "",
  headers: { authorization: `Bearer ${process.env["EVERTURN_TOKEN"]}` },
});

const created = await client.POST("/api/v1/sessions", { body: { title: "A client in TypeScript" } });
const session = created.data?.session;
if (session === undefined) throw new Error(JSON.stringify(created.error));
const params = { path: { session } };
const posted = await client.POST("/api/v1/sessions/{session}/messages", {
  params,
  body: { text: "say 3 of heron" },
});
if (posted.error !== undefined) throw new Error(JSON.stringify(posted.error));

let text = "";
for (let tries = 0; tries < 400 && !text.includes("heron.3"); tries += 1) {
  const page = await client.GET("/api/v1/sessions/{session}/turns", { params });
  text = JSON.stringify(page.data?.turns ?? []);
  await new Promise((resolve) => setTimeout(resolve, 50));
}
if (!text.includes("heron.3")) throw new Error(`no answer: ${text}`);

const missing = await client.GET("/api/v1/sessions/{session}", {
  params: { path: { session: "00000000-0000-0000-0000-000000000001" } },
});
if (missing.error?.code !== "session_not_found") throw new Error(JSON.stringify(missing));
console.log("ok");
