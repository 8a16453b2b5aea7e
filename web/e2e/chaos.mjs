// A network between the browser and the server that can be cut for real: `pass`, `hole` (nothing comes through and nobody
// is told, as when Wi-Fi goes) and `reset`. It can also be slow on the way to the server.

import net from "node:net";

export class Network {
  mode = "pass";
  /** Milliseconds that each piece takes to the server. */
  wait = 0;
  pairs = new Set();

  constructor(target) {
    this.server = net.createServer((near) => this.join(near, target));
  }

  async listen() {
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    return this.server.address().port;
  }

  join(near, target) {
    near.on("error", () => {});
    if (this.mode === "reset") return near.resetAndDestroy();
    const pair = { near, far: undefined, lost: this.mode === "hole" };
    this.pairs.add(pair);
    near.on("close", () => {
      pair.far?.destroy();
      this.pairs.delete(pair);
    });
    if (pair.lost) return;
    pair.far = net.connect(target, "127.0.0.1");
    pair.far.on("error", () => near.destroy());
    // What a hole has swallowed once never comes, also when the network is back.
    near.on("data", (bytes) => {
      if (pair.lost) return;
      pair.far.write(bytes);
      if (this.wait === 0) return;
      near.pause();
      setTimeout(() => near.resume(), this.wait);
    });
    pair.far.on("data", (bytes) => pair.lost || near.write(bytes));
    pair.far.on("close", () => pair.lost || near.destroy());
  }

  delay(millis) {
    this.wait = millis;
  }

  set(mode) {
    this.mode = mode;
    for (const pair of this.pairs) {
      if (mode === "hole") pair.lost = true;
      if (mode === "reset") {
        pair.near.resetAndDestroy();
        pair.far?.destroy();
      }
    }
  }

  close() {
    this.set("reset");
    this.server.close();
  }
}
