// Lets the browser keep the page, so that it opens without the server.

const PLACE = "/worker.js";

interface TrustedTypes {
  createPolicy(name: string, rules: { createScriptURL(place: string): string }): typeof rules;
}

/** Once the page is there: it comes first. Where the browser does not allow it, the page does without. */
export function keepShell(): void {
  if (!import.meta.env.PROD || !("serviceWorker" in navigator)) return;
  const keep = async () => {
    // The page runs no script whose address was not vouched for: here the one that the build wrote.
    const types = (globalThis as { trustedTypes?: TrustedTypes }).trustedTypes;
    const vouched = types?.createPolicy("worker", { createScriptURL: () => PLACE });
    await navigator.serviceWorker.register(vouched?.createScriptURL(PLACE) ?? PLACE);
  };
  addEventListener("load", () => void keep().catch(() => undefined), { once: true });
}
