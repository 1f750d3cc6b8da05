import { noticeLimits } from "../domain/operations/notices.ts";
import { hour, minute, second } from "../domain/time.ts";
import { pause, type Service } from "../runtime/services.ts";
import type { Ownership } from "../store/replicas/ownership.ts";
import type { Store } from "../store/store.ts";
import type { EngineSettings } from "./engine.ts";

/** The pause after each step of a clean-up, which leaves time for other work, and the pause after a whole pass. */
const cleaning = { stepMs: 5, everyMs: minute };

/** The same for trimming to the maximum data size, which must follow growth soon. */
const sizing = { stepMs: 5, everyMs: second };

/** The same for releasing free pages, where each step moves other pages. */
const shrinking = { stepMs: 100, everyMs: minute };

/** The same for merging the search index, whose steps are longer. */
const tidying = { stepMs: 20, everyMs: 10 * second };

/** The same for idempotency keys, all of which are removed in one step. */
const hourly = { stepMs: 0, everyMs: hour };

/** Longer than the 5 minutes for which a pagination is kept, because its use is noted only once a minute. */
const orderKeepMs = 7 * minute;

/** Returns the services that remove old data and tidy the search index. */
export function maintenance(
  store: Store,
  ownership: Pick<Ownership, "leads">,
  { retention, maxDataBytes, auditMs }: Pick<EngineSettings, "retention" | "maxDataBytes" | "auditMs">,
  now: () => number,
): Service[] {
  /** Returns a service that runs small steps while this process leads. The last step of a pass resolves to true. */
  const inSteps = (name: string, step: () => Promise<boolean>, { stepMs, everyMs } = cleaning): Service => ({
    name,
    async run(signal) {
      while (!signal.aborted) {
        const isDone = !ownership.leads() || (await step());
        await pause(isDone ? everyMs : stepMs, signal);
      }
    },
  });
  return [
    inSteps("expired tokens", () => store.tokens.removeExpired(now())),
    inSteps("idempotency keys", () => store.idempotency.removeExpired(now()).then(() => true), hourly),
    inSteps("notices", () => store.notices.prune(now() - noticeLimits.keepMs)),
    inSteps("audit", () => store.audit.prune(now() - auditMs)),
    inSteps("old statistics", () => store.statistics.prune(now())),
    inSteps("orders of categories", () => store.orders.prune(now() - orderKeepMs)),
    inSteps("retention", () => store.retention.prune(retention, now())),
    ...(maxDataBytes === null
      ? []
      : [inSteps("data size", () => store.retention.trim(maxDataBytes), sizing)]),
    inSteps("free pages", () => store.retention.shrink(), shrinking),
    // Does nothing while users are being changed.
    inSteps("search index", async () => !(await store.users.tidySearch()), tidying),
  ];
}
