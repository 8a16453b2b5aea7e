/** Returns the trimmed text of a field, or an empty string if there is no such field. */
export function textIn(form: FormData, field: string): string {
  return exactTextIn(form, field).trim();
}

/** Returns the text of a field as typed, without trimming, for passwords. */
export function exactTextIn(form: FormData, field: string): string {
  const text = form.get(field);
  return typeof text === "string" ? text : "";
}
