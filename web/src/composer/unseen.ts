// Attachments that a model doesn't accept: it gets only their names.

import { i18n } from "@lingui/core";

import type { Upload } from "../storage/files";

const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

export interface Sight {
  name: string;
  pictures?: boolean;
  documents?: boolean;
}

/** Returns a notice if pictures or documents are attached that the model doesn't accept. */
export function unseen(
  files: readonly Pick<Upload, "media_type">[],
  model: Sight | undefined,
): string | undefined {
  if (model === undefined) return undefined;
  const has = (types: readonly string[]) => files.some(({ media_type }) => types.includes(media_type));
  const { name } = model;
  const pictures = model.pictures === false && has(PICTURES);
  const documents = model.documents === false && has(["application/pdf"]);
  if (pictures && documents)
    return i18n.t("{name} can't read images or PDFs. It gets only the file names.", { name });
  if (pictures) return i18n.t("{name} can't read images. It gets only the file names.", { name });
  if (documents) return i18n.t("{name} can't read PDFs. It gets only the file names.", { name });
  return undefined;
}
