import { abandoned } from "./memory";
import type { State } from "./types";

/** The state of a log without entries. */
export const EMPTY: State = {
  link: { seq: 0, epoch: 0, hash: [] },
  user: "00000000-0000-0000-0000-000000000000",
  created_at: 0,
  active_at: 0,
  after: null,
  origin: null,
  title: null,
  pinned: false,
  archived: false,
  trashed: false,
  trashed_at: null,
  tags: [],
  project: null,
  ids: [],
  turns: [],
  turns_before: 0,
  undone: [],
  queue: [],
  open_run: null,
  needs: null,
  recovering: [],
  summary: null,
  interrupted_in_a_row: 0,
  resume: null,
  memory: abandoned(),
  deliveries: [],
};
