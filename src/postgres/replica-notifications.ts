import type { Changes, RateLimiter } from "../api/http/access.ts";
import type { OutcomeStreams } from "../api/stream/outcome-streams.ts";
import type { EventStreams } from "../api/stream/streams.ts";
import type { ReplicaNotification } from "../domain/replicas.ts";
import { second } from "../domain/time.ts";
import type { Ranking } from "../platform/ranking.ts";
import type { Log } from "../runtime/log.ts";
import type { RepeatedRead } from "../runtime/repeated-read.ts";
import type { PlatformFollower } from "./platform-follower.ts";

/** The time for which cached callers are valid after the last confirmation that none has changed. */
const callersMs = second;

interface Kept {
  readonly callers: Changes;
  readonly limiter: RateLimiter;
  readonly ranking: Ranking;
  readonly follower: PlatformFollower | null;
  readonly streams: EventStreams;
  readonly again: Readonly<Record<"eventTypes" | "operatorKeys", Pick<RepeatedRead, "ask">>>;
  readonly log: Log;
  readonly outcomes: Pick<OutcomeStreams, "receive">;
}

/** Returns a function that applies notifications of other replicas to the data that both listeners keep in memory. */
export function replicaNotificationHandler(kept: Kept): (notification: ReplicaNotification) => void {
  const { callers, limiter, ranking, follower, streams, outcomes, again, log } = kept;
  let isAway = false;
  return (notification) => {
    switch (notification.kind) {
      case "callers":
        callers.note();
        break;
      case "away":
        isAway = true;
        log.warn("replicas_not_heard", {
          message:
            "The connection for notifications is lost: data that other servers may change is read again until it is restored",
        });
        break;
      case "current":
        if (isAway) log.warn("replicas_heard", { message: "The connection for notifications is restored" });
        isAway = false;
        // By the clock of another thread: an old message, as after the process was suspended, must not extend the time.
        callers.useUntil(performance.now() + callersMs - Math.max(0, Date.now() - notification.at));
        break;
      case "categories":
      case "livestreams":
        follower?.changed(notification.kind, notification.ids);
        break;
      case "channels":
        ranking.touch();
        break;
      case "streamed":
        streams.wake(notification.applications);
        break;
      case "taken":
        for (const share of notification.shares) limiter.takenElsewhere(share);
        break;
      case "missed":
        callers.note();
        ranking.touch();
        follower?.changed("categories", null);
        follower?.changed("livestreams", null);
        streams.wakeAll();
        again.eventTypes.ask();
        again.operatorKeys.ask();
        break;
      case "watching":
      case "changed":
        outcomes.receive(notification);
        break;
      case "event_types":
        again.eventTypes.ask();
        break;
      case "operator_keys":
        again.operatorKeys.ask();
        break;
    }
  };
}
