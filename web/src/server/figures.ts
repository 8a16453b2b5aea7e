// What the server tells about itself.

export interface Sample {
  at: number;
  open_runs: number;
  lag_micros: number;
  sync_p50_micros: number;
  sync_p99_micros: number;
  answers: number;
}

export interface ServerFigures {
  version: string;
  build: string;
  started_at: number;
  node: string;
  open_runs: number;
  writers: number;
  lag_micros: number;
  store: {
    kind: "sqlite" | "postgres";
    writable: boolean;
    problem: string | null;
    search_works: boolean;
    tail_bytes: number;
    damaged: number;
  };
  disk: { free_bytes: number; total_bytes: number } | null;
  storage: { logs_bytes: number; search_bytes: number; attachments_bytes: number; people_bytes: number };
  last_backup: { at: number; about: string } | null;
  last_verify: { at: number; about: string } | null;
  /** One every five seconds, oldest first. */
  samples: Sample[];
}
