import { i18n } from "@lingui/core";
import { X } from "lucide-react";

import { codeText } from "../api/problems";
import { percentOf, sizeOf } from "../shell/words";
import type { Upload } from "../storage/files";

/** The attachments of the next message, with their upload progress. */
export function Files({ files, remove }: { files: readonly Upload[]; remove: (id: string) => void }) {
  if (files.length === 0) return null;
  return (
    <div className="files in">
      {files.map((file) => (
        <span key={file.id} className="file">
          <span className="clip" dir="auto">
            {file.name}
          </span>{" "}
          <span className="dim">{sizeOf(file.size_bytes)}</span>
          <State file={file} />
          <button
            type="button"
            className="icon"
            aria-label={i18n.t("Remove {name}", { name: file.name })}
            onClick={() => remove(file.id)}
          >
            <X aria-hidden="true" />
          </button>
        </span>
      ))}
    </div>
  );
}

function State({ file: { sent, size_bytes, blob, problem } }: { file: Upload }) {
  if (problem !== undefined) return <span className="bad">{problemWords(problem)}</span>;
  if (blob !== undefined) return <span className="dim">{i18n.t("Saved")}</span>;
  const part = percentOf(size_bytes === 0 ? 0 : Math.floor((100 * sent) / size_bytes) / 100);
  return <span className="dim num">{i18n.t("Uploading {part}", { part })}</span>;
}

function problemWords(problem: string): string {
  return codeText(problem, {
    too_large: i18n.t("This file is too large. Attach one of at most 128 MB."),
    too_many: i18n.t(
      "Too many uploads are unfinished. Remove this file, and attach it again when they are done.",
    ),
  });
}
