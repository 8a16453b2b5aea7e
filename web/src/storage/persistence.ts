// Browsers may evict a site's storage when the disk is full or the site was not used for a while. The page
// requests persistence once data exists on this device only.

let isAsked = false;

/** Asks the browser to keep this site's storage. Some browsers prompt the user, so it is done once per page. */
export function requestPersistence(): void {
  if (isAsked) return;
  isAsked = true;
  // `navigator.storage` is undefined over plain HTTP.
  void globalThis.navigator?.storage?.persist?.().catch(() => undefined);
}
