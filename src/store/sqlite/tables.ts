import * as schema from "./schema.ts";

const { placeholders: _p, shared: _s, isOneOf: _o, deliveryRegionBits: _b, isHandedOut: _h, ...all } = schema;

/** All tables with a drizzle schema. */
export const tables = all;
