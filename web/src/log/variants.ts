// Variants that this version may not know. A newer server adds some to the enums of stored events; a reader takes one that
// it does not know as *other* and never fails on it.

type KeysOf<T> = T extends object ? keyof T & string : never;
type ContentOf<T, K extends string> = T extends { [key in K]: infer C } ? C : never;

/** Returns the content of the variant `name`, or nothing when `value` is another variant. */
export function variant<T, K extends KeysOf<T>>(value: T, name: K): ContentOf<T, K> | undefined {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Record<string, unknown>)[name] as ContentOf<T, K>;
}
