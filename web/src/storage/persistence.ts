// A browser that runs out of room, or is not used for a while, may delete what a site keeps. Asked for when something is on
// this device only.

let isAsked = false;

/** Asks the browser to keep this site's storage. Some browsers ask the person, so it is done once a page. */
export function requestPersistence(): void {
  if (isAsked) return;
  isAsked = true;
  // Missing on plain HTTP.
  void globalThis.navigator?.storage?.persist?.().catch(() => undefined);
}
