import { noticeLimits } from "../domain/operations/notices.ts";
import { hour, minute, second } from "../domain/time.ts";
import { pause, repeating, type Service } from "../runtime/services.ts";
import type { Ownership } from "../store/replicas/ownership.ts";
import type { Store } from "../store/store.ts";
import type { EngineSettings } from "./engine.ts";

/** The pause after a step of cleaning, which leaves time for other work, and after the last step of a pass. */
const cleaning = { stepMs: 5, everyMs: minute };

/** The same for the size of the data, which must not be late. */
const sizing = { stepMs: 5, everyMs: second };

/** The same for free pages, each step of which writes again what was in their place. */
const shrinking = { stepMs: 100, everyMs: minute };

/** The same for the search index, whose steps are longer. */
const tidying = { stepMs: 20, everyMs: 10 * second };

/** Longer than the 5 minutes in which a walk goes on, as its use is noted only once a minute. */
const orderKeepMs = 7 * minute;

/** The services that remove what need not be kept any more, and tidy the search index. */
export function maintenance(
  store: Store,
  ownership: Pick<Ownership, "leads">,
  { retention, maxDataBytes, auditMs }: Pick<EngineSettings, "retention" | "maxDataBytes" | "auditMs">,
  now: () => number,
): Service[] {
  /** Runs small steps where this process leads; the last one of a pass resolves to true. */
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
    repeating("idempotency keys", hour, async () => {
      if (ownership.leads()) await store.idempotency.removeExpired(now());
    }),
    inSteps("notices", () => store.notices.prune(now() - noticeLimits.keepMs)),
    inSteps("audit", () => store.audit.prune(now() - auditMs)),
    inSteps("old statistics", () => store.statistics.prune(now())),
    inSteps("orders of categories", () => store.orders.prune(now() - orderKeepMs)),
    inSteps("retention", () => store.retention.prune(retention, now())),
    ...(maxDataBytes === null
      ? []
      : [inSteps("data size", () => store.retention.trim(maxDataBytes), sizing)]),
    inSteps("free pages", () => store.retention.shrink(), shrinking),
    // While no users change.
    inSteps("search index", async () => !(await store.users.tidySearch()), tidying),
  ];
}
