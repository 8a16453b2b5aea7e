// The server status as the API returns it.

import type { Schemas } from "../api/client";

export type Sample = Schemas["Sample"];
export type ServerFigures = Schemas["ServerBody"];
