// Why the agent waits before it asks the provider again.

import { i18n } from "@lingui/core";

import type { Retry } from "../log/types";

type Reason = Retry["reason"];

/** Says why a request failed and when it is sent again. */
export function retryWords(reason: Reason, seconds: number): string {
  switch (reason) {
    case "rate_limit":
      return i18n.t("The provider's rate limit was reached. Retrying in {seconds} s.", { seconds });
    case "overloaded":
      return i18n.t("The provider is overloaded or unavailable. Retrying in {seconds} s.", { seconds });
    case "network":
      return i18n.t("The provider can't be reached. Retrying in {seconds} s.", { seconds });
    case "silent":
      return i18n.t("The provider isn't responding. Retrying in {seconds} s.", { seconds });
    case "cut":
      return i18n.t("The answer was cut off. Retrying in {seconds} s.", { seconds });
    default:
      return i18n.t("The request failed. Retrying in {seconds} s.", { seconds });
  }
}
