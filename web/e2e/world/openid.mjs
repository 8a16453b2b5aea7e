// A real provider of identities on this machine, with one client and one account.

import http from "node:http";

import Provider from "oidc-provider";

/** The one who has an account there. Whatever is typed as the password is right. */
export const ACCOUNT = { login: "ann", email: "ann@example.org" };
export const CLIENT = { id: "everturn", secret: "a-heron-of-the-client" };

/** Listens before it is known where: the port is part of its name. */
async function listening() {
  const server = http.createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return server;
}

export class OpenIdProvider {
  /** Starts one that sends browsers back to `redirectUri`. */
  static async start(redirectUri) {
    const made = new OpenIdProvider();
    made.server = await listening();
    made.issuer = `http://127.0.0.1:${made.server.address().port}`;
    const account = {
      accountId: ACCOUNT.login,
      claims: () => ({ sub: ACCOUNT.login, email: ACCOUNT.email, email_verified: true }),
    };
    const provider = new Provider(made.issuer, {
      clients: [{ client_id: CLIENT.id, client_secret: CLIENT.secret, redirect_uris: [redirectUri] }],
      claims: { email: ["email", "email_verified"], profile: [] },
      findAccount: (_, login) => (login === ACCOUNT.login ? account : undefined),
      cookies: { keys: ["a heron signs its cookies"] },
      // A form for the name and one for the consent.
      features: { devInteractions: { enabled: true } },
    });
    made.server.on("request", provider.callback());
    return made;
  }

  /** What the server's configuration says of it. */
  config(more = "") {
    return [
      "[[openid]]",
      'name = "house"',
      'title = "The house"',
      `issuer = "${this.issuer}"`,
      `client_id = "${CLIENT.id}"`,
      'client_secret_env = "OPENID_SECRET"',
      'allow = ["*@example.org"]',
      more,
    ].join("\n");
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
