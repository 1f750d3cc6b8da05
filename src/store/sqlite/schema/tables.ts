import * as access from "./access.ts";
import * as admin from "./admin.ts";
import { audit } from "./audit.ts";
import * as events from "./events.ts";
import { notices } from "./notices.ts";
import * as platform from "./platform.ts";
import { statistics } from "./statistics.ts";

const { deliveryRegionBits: _, isHandedOut: __, ...logged } = events;

/** All tables that drizzle knows. */
export const tables = { ...access, ...admin, ...logged, ...platform, audit, notices, statistics };
