import * as schema from "./schema.ts";

const { deliveryNumbers: _, ...all } = schema;

/** All tables. */
export const tables = all;
