// Files attached to the next message of a session. This device keeps the bytes of a file until its upload is complete.

import { Database } from "./database";
import { hasTexts, readValue, remove } from "./local";
import { owner, placeOf, placesOf, tryWriteOwn } from "./own";

export interface Upload {
  id: string;
  name: string;
  media_type: string;
  size_bytes: number;
  /** The server's upload id, once the upload started. */
  upload?: string;
  /** Bytes that the server has received. */
  sent: number;
  /** The blob that a message refers to, once the upload is complete. */
  blob?: string;
  /** The code of the error that ended the upload. */
  problem?: string;
}

function areUploads(value: unknown): value is Upload[] {
  return Array.isArray(value) && value.every((file) => hasTexts(file, "id", "name", "media_type"));
}

const place = (session: string) => placeOf(owner(), "files", session);
const database = () => new Database(owner());
/** Strips the kind from an id of the older layout. */
const keyOf = (id: string) => id.replace(/^file:/, "");

export function readUploads(session: string): Upload[] {
  return readValue(place(session), areUploads) ?? [];
}

export function keepUploads(session: string, uploads: readonly Upload[]): void {
  if (uploads.length === 0) remove(place(session));
  else tryWriteOwn(place(session), JSON.stringify(uploads));
}

/** Returns the number of files that a user attached and did not send. */
export function countUploads(user: string): number {
  return placesOf(user, "files").reduce((sum, place) => sum + (readValue(place, areUploads)?.length ?? 0), 0);
}

/** Returns the bytes of a file, or undefined if this device does not have them. */
export function readFile(id: string): Promise<Blob | undefined> {
  return database()
    .read<Blob>("file", keyOf(id))
    .catch(() => undefined);
}

/** Saves the bytes of a file if the browser allows it. */
export function keepFile(id: string, file: Blob): Promise<void> {
  return database()
    .write([["file", [keyOf(id)], file]])
    .catch(() => undefined);
}

export function dropFile(id: string): void {
  void database()
    .remove(["file", keyOf(id)])
    .catch(() => undefined);
}

/** Deletes the files of an erased session from this device. */
export function dropFiles(session: string): void {
  for (const { id } of readUploads(session)) dropFile(id);
  remove(place(session));
}
