// Why a run ended early, in one sentence: for the row below an answer and for the knot beside it.

import { i18n } from "@lingui/core";

import type { Marker } from "../log/types";
import { clockOf, countOf } from "../shell/words";

export function endOf(marker: Marker): string {
  const time = clockOf(marker.at);
  switch (marker.kind) {
    case "stopped":
      return isForMessage(marker) ? i18n.t("Stopped for your next message.") : stoppedWords(marker);
    case "failed":
      return i18n.t("Failed at {time}: {error}", { time, error: withoutContinue(marker.text) });
    case "output_limit":
      return limitWords(marker);
    case "interrupted":
    case "recovering":
    case "recovered":
      return interruptedWords(marker, time);
    default:
      return i18n.t("The answer ended. Reload the page to show why.");
  }
}

/** Returns when an answer was stopped, for readers who may not be the owner. */
export function stoppedWords({ at }: Marker): string {
  return i18n.t("Stopped at {time}.", { time: clockOf(at) });
}

/** Removes the server's closing advice to press Continue, for an answer that has no such button. */
export function withoutContinue(text: string): string {
  return text.replace(/[.;] (?:press )?Continue\b[^.;]*\.?$/i, ".");
}

/** Returns the label of a knot in an answer that was continued. */
export function knotWords(marker: Marker): string {
  return `${endOf(marker)} ${i18n.t("The answer continues here.")}`;
}

/** Whether the user's next message stopped the answer. */
export function isForMessage({ text }: Marker): boolean {
  return text.includes("next message");
}

function limitWords({ text }: Marker): string {
  const tokens = /\((\d+) /.exec(text)?.[1];
  if (tokens === undefined) return i18n.t("Reached the output limit.");
  return i18n.t("Reached the output limit ({tokens} tokens).", { tokens: countOf(Number(tokens)) });
}

function interruptedWords({ reason }: Marker, time: string): string {
  switch (reason) {
    case "crash":
      return i18n.t("Interrupted at {time}: the server stopped unexpectedly.", { time });
    case "shutdown_timeout":
      return i18n.t("Interrupted at {time}: the server was shut down.", { time });
    case "restart_timeout":
      return i18n.t("Interrupted at {time}: the server was restarted.", { time });
    case "spool_full":
      return i18n.t("Interrupted at {time}: the storage was unavailable.", { time });
    case "lost_node":
      return i18n.t("Interrupted at {time}: the server running it was lost.", { time });
    default:
      return i18n.t("Interrupted at {time}.", { time });
  }
}
