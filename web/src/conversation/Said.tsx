import { FileText } from "lucide-react";

import type { Message } from "../log/types";
import { sizeOf } from "../shell/words";

/** What a person said, and the files that came with it. */
export function Said({ message }: { message: Message }) {
  return (
    <div className="said">
      <div className="words" dir="auto">
        {message.text}
      </div>
      {(message.attachments ?? []).length > 0 && (
        <div className="files">
          {message.attachments?.map((file) => (
            <a
              key={file.blob}
              className="file"
              href={`/api/v1/attachments/${file.blob}`}
              download={file.name}
            >
              <span className="th">
                <FileText aria-hidden="true" />
              </span>
              <bdi>{file.name}</bdi> <span className="dim">{sizeOf(file.size_bytes)}</span>
            </a>
          ))}
        </div>
      )}
    </div>
  );
}
