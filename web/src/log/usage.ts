import type { Usage } from "./types";

/** Adds two usages. Omits a cost of zero, as the server does. */
export function plus(one: Usage, other: Usage): Usage {
  const cost_micros = (one.cost_micros ?? 0) + (other.cost_micros ?? 0);
  return {
    input_tokens: one.input_tokens + other.input_tokens,
    output_tokens: one.output_tokens + other.output_tokens,
    ...(cost_micros === 0 ? {} : { cost_micros }),
  };
}
