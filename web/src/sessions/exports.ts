export type ExportFormat = "markdown" | "html" | "json";

/** Where a session is saved from. */
export function exportPath(session: string, format: ExportFormat): string {
  return `/api/v1/sessions/${session}/export?format=${format}`;
}
