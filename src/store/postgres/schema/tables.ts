import * as access from "./access.ts";
import * as admin from "./admin.ts";
import { audit } from "./audit.ts";
import * as log from "./deliveries.ts";
import { notices } from "./notices.ts";
import * as platform from "./platform.ts";
import { statistics } from "./statistics.ts";
import * as subscribed from "./subscriptions.ts";

const { deliveryNumbers: _, ...logged } = log;

/** All tables. */
export const tables = {
  ...access,
  ...admin,
  ...logged,
  ...platform,
  ...subscribed,
  audit,
  notices,
  statistics,
};
