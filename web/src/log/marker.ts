import type { InterruptReason, Marker, Run } from "./types";
import { variant } from "./variants";

/** Returns why a run did not complete; none when it did, or goes on. */
export function marker(run: Run): Marker | null {
  const { end, ended_at } = run;
  if (end == null || ended_at == null || end === "completed") return null;
  const mark = (kind: Marker["kind"], text: string): Marker => ({ kind, run: run.id, at: ended_at, text });
  const stopped = variant(end, "stopped");
  if (stopped !== undefined) {
    const { by_message, device } = stopped;
    const text =
      by_message === true
        ? "Stopped for your next message. Everything above is kept."
        : "Stopped. Everything above is kept.";
    return { ...mark("stopped", text), ...(device == null ? {} : { device }) };
  }
  const failed = variant(end, "failed");
  if (failed !== undefined) return mark("failed", failed.error);
  const limit = variant(end, "output_limit");
  if (limit !== undefined) return mark("output_limit", `Reached the output limit (${limit.tokens} tokens).`);
  const reason = variant(end, "interrupted")?.reason;
  if (reason === undefined) return mark("other", "The run ended in a way this version does not know.");
  const happened = interrupted(reason);
  if (run.recovery === "recovering")
    return { ...mark("recovering", `${happened} Recovering output…`), reason };
  if (run.recovery === "recovered")
    return { ...mark("recovered", `${happened} The output was recovered.`), reason };
  return { ...mark("interrupted", happened), reason };
}

function interrupted(reason: InterruptReason): string {
  switch (reason) {
    case "crash":
      return "Interrupted: the server stopped unexpectedly.";
    case "shutdown_timeout":
      return "Interrupted: the server was shut down.";
    case "restart_timeout":
      return "Interrupted: the server was restarted.";
    case "spool_full":
      return "Interrupted: the storage was unavailable.";
    case "lost_node":
      return "Interrupted: the server running it was lost.";
    default:
      return "Interrupted.";
  }
}
