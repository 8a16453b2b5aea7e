// What the server tells about itself.

import type { Schemas } from "../api/client";

export type Sample = Schemas["Sample"];
export type ServerFigures = Schemas["ServerBody"];
