// Uploads files in chunks, across as many connections as needed. This device stores an unfinished file, so that its
// upload resumes after a reload.

import { useCallback, useEffect, useRef, useState } from "react";

import { ask, pageHeader, Refused, refused } from "../api/client";
import type { Attachment } from "../log/types";
import { dropFile, keepFile, keepUploads, readFile, readUploads, type Upload } from "../storage/files";
import { newId } from "../shell/id";

interface Known {
  upload: string;
  offset: number;
  blob: string | null;
}

const PIECE = 512 * 1024;
const AGAIN = 1_000;
const PATIENCE = 20_000;

/** Sends one chunk. After a conflict, asks the server for its offset. */
async function send(upload: string, offset: number, file: Blob): Promise<Known> {
  const response = await fetch(`/api/v1/uploads/${upload}`, {
    method: "PATCH",
    headers: { ...pageHeader(), "upload-offset": String(offset) },
    body: file.slice(offset, offset + PIECE),
    signal: AbortSignal.timeout(PATIENCE),
  });
  if (response.ok) return (await response.json()) as Known;
  if (response.status === 409) return ask<Known>("GET", `/uploads/${upload}`);
  throw refused(response.status, await response.text());
}

/** Uploads a file and retries after network errors. Calls `tell` with the progress. */
async function bring(
  known: Upload,
  file: Blob,
  tell: (change: Partial<Upload>) => void,
  gone: () => boolean,
) {
  let { upload } = known;
  let sent = known.sent;
  while (!gone()) {
    try {
      if (upload === undefined) {
        const begun = await ask<Known>("POST", "/uploads", { body: { length: file.size } });
        [upload, sent] = [begun.upload, 0];
        tell({ upload, sent });
      }
      const { offset, blob } = await send(upload, sent, file);
      sent = offset;
      tell({ sent, ...(blob === null ? {} : { blob }) });
      if (blob !== null) return;
    } catch (error) {
      if (error instanceof Refused && error.status === 404) {
        upload = undefined;
        continue;
      }
      if (error instanceof Refused && !error.passes && error.status !== 401) {
        return tell({ problem: error.status === 413 ? "too_large" : error.code });
      }
      await new Promise((resolve) => setTimeout(resolve, AGAIN));
      if (upload === undefined) continue;
      // Resume at the server's offset, if it answers.
      const known = await ask<Known>("GET", `/uploads/${upload}`).catch(() => undefined);
      if (known !== undefined) sent = known.offset;
    }
  }
}

export interface Uploads {
  files: Upload[];
  add: (files: Iterable<File>) => void;
  /** Restores attachments that the server already has. */
  put: (attachments: readonly Attachment[]) => void;
  remove: (id: string) => void;
  /** The complete attachments; undefined while an upload is unfinished. */
  ready: Attachment[] | undefined;
  clear: () => void;
}

export function useUploads(session: string): Uploads {
  const [files, show] = useState(() => readUploads(session));
  const newest = useRef(files);
  const change = useCallback(
    (edit: (files: Upload[]) => Upload[]) => {
      newest.current = edit(newest.current);
      show(newest.current);
      keepUploads(session, newest.current);
    },
    [session],
  );
  const left = useRef(false);
  const begin = useCallback(
    (known: Upload, file: Blob) => {
      const gone = () => left.current || !newest.current.some(({ id }) => id === known.id);
      const tell = (news: Partial<Upload>) => {
        change((files) => files.map((other) => (other.id === known.id ? { ...other, ...news } : other)));
        if (news.blob !== undefined) dropFile(known.id);
      };
      void bring(known, file, tell, gone);
    },
    [change],
  );
  useEffect(() => {
    left.current = false;
    for (const known of newest.current.filter(({ blob }) => blob === undefined)) {
      void readFile(known.id).then((file) => {
        if (file !== undefined) begin(known, file);
        else change((files) => files.filter(({ id }) => id !== known.id));
      });
    }
    return () => {
      left.current = true;
    };
  }, [begin, change]);
  const add = (list: Iterable<File>) => {
    for (const file of list) {
      const media_type = file.type === "" ? "application/octet-stream" : file.type;
      const { name, size: size_bytes } = file;
      const known: Upload = { id: newId(), name, media_type, size_bytes, sent: 0 };
      // Saved on this device first, so that an immediate reload does not lose it.
      void keepFile(known.id, file).then(() => {
        change((files) => [...files, known]);
        begin(known, file);
      });
    }
  };
  const put = (attachments: readonly Attachment[]) => {
    const known = attachments.map((file) => ({
      ...file,
      id: newId(),
      sent: file.size_bytes,
    }));
    change((files) => [...files, ...known]);
  };
  const removeFile = (id: string) => {
    dropFile(id);
    change((files) => files.filter((file) => file.id !== id));
  };
  const whole = files.flatMap(({ name, media_type, size_bytes, blob }) =>
    blob === undefined ? [] : [{ name, media_type, size_bytes, blob }],
  );
  const ready = whole.length === files.length ? whole : undefined;
  return { files, add, put, remove: removeFile, ready, clear: () => change(() => []) };
}
