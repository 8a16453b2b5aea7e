import type { Usage } from "./types";

/** The counts that are omitted if they are zero. */
const OPTIONAL = ["cached_tokens", "cache_write_tokens", "reasoning_tokens", "cost_micros"] as const;

/** Adds two usages. Omits optional counts of zero, as the server does. */
export function plus(one: Usage, other: Usage): Usage {
  const sum: Usage = {
    input_tokens: one.input_tokens + other.input_tokens,
    output_tokens: one.output_tokens + other.output_tokens,
  };
  for (const count of OPTIONAL) {
    const total = (one[count] ?? 0) + (other[count] ?? 0);
    if (total !== 0) sum[count] = total;
  }
  return sum;
}

/** Whether a usage counts anything. */
export function isUsed(usage: Usage): boolean {
  return usage.input_tokens + usage.output_tokens > 0 || OPTIONAL.some((count) => (usage[count] ?? 0) > 0);
}
