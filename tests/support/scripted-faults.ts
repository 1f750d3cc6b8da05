import type { ApiFault, FaultPlan, WebhookFault } from "../../src/dev/faults.ts";

/** A plan that a test writes. */
export function scriptedFaults({ api = [], streams = [], webhooks = [] }: Partial<Script>): FaultPlan {
  return {
    api: () => api.shift() ?? null,
    stream: () => streams.shift() ?? null,
    webhook: () => webhooks.shift() ?? null,
  };
}
interface Script {
  readonly api: (ApiFault | null)[];
  readonly streams: (number | null)[];
  readonly webhooks: (WebhookFault | null)[];
}
