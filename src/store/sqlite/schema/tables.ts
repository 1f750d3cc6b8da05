import * as access from "./access.ts";
import * as events from "./events.ts";
import * as operations from "./operations.ts";
import * as platform from "./platform.ts";

const { deliveryRegionBits: _, isHandedOut: __, ...logged } = events;

/** All tables with a drizzle schema. */
export const tables = { ...access, ...logged, ...operations, ...platform };
