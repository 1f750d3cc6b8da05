import { noticeLimits } from "../domain/operations/notices.ts";
import { hour, minute, second } from "../domain/time.ts";
import type { Store } from "../store/store.ts";
import { pause, repeating, type Service } from "../supervisor.ts";
import type { EngineSettings } from "./engine.ts";

/** The pause after a step of cleaning, which leaves time for other work, and after the last step of a pass. */
const cleaningStepMs = 5;
const cleaningEveryMs = minute;

/** The same for the search index, whose steps are longer. */
const tidyStepMs = 20;
const tidyEveryMs = 10 * second;

/** The services that remove what need not be kept any more, and tidy the search index. */
export function maintenance(
  store: Store,
  { retention, auditMs }: Pick<EngineSettings, "retention" | "auditMs">,
  now: () => number,
): Service[] {
  return [
    inSteps("expired tokens", () => store.tokens.removeExpired(now())),
    repeating("idempotency keys", hour, async () => {
      await store.idempotency.removeExpired(now());
    }),
    inSteps("notices", () => store.notices.prune(now() - noticeLimits.keepMs)),
    inSteps("audit", () => store.audit.prune(now() - auditMs)),
    inSteps("old statistics", () => store.statistics.prune(now())),
    inSteps("retention", () => store.retention.prune(retention, now())),
    tidying(store),
  ];
}

/** Runs small steps; the last one of a pass resolves to true. */
function inSteps(name: string, step: () => Promise<boolean>): Service {
  return {
    name,
    async run(signal) {
      while (!signal.aborted) {
        const isDone = await step();
        await pause(isDone ? cleaningEveryMs : cleaningStepMs, signal);
      }
    },
  };
}

/** Tidies the search index in small steps while no users change. */
function tidying(store: Store): Service {
  return {
    name: "search index",
    async run(signal) {
      await pause(tidyEveryMs, signal);
      while (!signal.aborted) {
        const hasMore = await store.users.tidySearch();
        await pause(hasMore ? tidyStepMs : tidyEveryMs, signal);
      }
    },
  };
}
