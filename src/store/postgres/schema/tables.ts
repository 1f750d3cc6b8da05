import * as access from "./access.ts";
import * as log from "./deliveries.ts";
import * as operations from "./operations.ts";
import * as platform from "./platform.ts";
import * as subscribed from "./subscriptions.ts";

const { deliveryNumbers: _, ...logged } = log;

/** All tables. */
export const tables = { ...access, ...logged, ...operations, ...platform, ...subscribed };
