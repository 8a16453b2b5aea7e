/** Returns the text of a field, without the space around it; an empty one if there is no such field. */
export function textIn(form: FormData, field: string): string {
  return exactTextIn(form, field).trim();
}

/** Returns the text of a field as it was typed, as passwords need it. */
export function exactTextIn(form: FormData, field: string): string {
  const text = form.get(field);
  return typeof text === "string" ? text : "";
}
