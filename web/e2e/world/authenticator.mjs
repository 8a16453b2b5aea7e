// A device that holds passkeys, plugged into one page. It answers for its owner only while they are there.

export class Authenticator {
  static async plug(page) {
    const made = new Authenticator();
    made.wire = await page.context().newCDPSession(page);
    await made.wire.send("WebAuthn.enable");
    const options = {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    };
    const { authenticatorId } = await made.wire.send("WebAuthn.addVirtualAuthenticator", { options });
    made.id = authenticatorId;
    return made;
  }

  /** Whether its owner is there to say yes. */
  present(enabled) {
    return this.wire.send("WebAuthn.setAutomaticPresenceSimulation", { authenticatorId: this.id, enabled });
  }

  /** How many passkeys it holds. */
  async count() {
    const { credentials } = await this.wire.send("WebAuthn.getCredentials", { authenticatorId: this.id });
    return credentials.length;
  }
}
