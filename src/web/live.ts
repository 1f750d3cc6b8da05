import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { liveEvents } from "../client/stream.ts";
import { isConnected, openStream, reconnects } from "./client.ts";

/*
 * The event stream of a page. The stream notifies of changed topics, and shown data of these topics is then reloaded.
 * After a lost connection everything is reloaded, so that no change is missed.
 */

/** Topics of change notifications. `minute` means that a minute has passed; all watched data is then reloaded. */
export type Topic =
  | "applications"
  | "audit"
  | "backups"
  | "deliveries"
  | "event-types"
  | "findings"
  | "inbox"
  | "keys"
  | "minute"
  | "notices"
  | "ranking"
  | "settings"
  | "statistics"
  | "subscriptions"
  | "users";

/** The number of changes of each topic, updated at most every `paceMs`. */
const changes = signal<Partial<Record<string, number>>>({});

/** Increases when one of the topics changes. */
export const changesOf = (topics: readonly Topic[]): number =>
  [...topics, "minute"].reduce((sum, topic) => sum + (changes.value[topic] ?? 0), 0);

/** Whether the stream is open. */
export const isLive = signal(false);

/** Whether the first stream of the page is still being opened. Data read before it is open would be read twice. */
export const isAwaited = signal(true);

const paceMs = 700;
const firstWaitMs = 250;
const longestWaitMs = 15_000;
/** The time after which a page is shown without an open stream, for example when a proxy buffers the stream. */
const patienceMs = 3_000;

/** Keeps the stream open while the page is visible, and reloads everything when the connection is back. */
export function useLiveStream(path: string | null): void {
  useEffect(() => {
    const goOn = () => {
      isAwaited.value = false;
    };
    if (path === null) {
      goOn();
      return onReconnect(() => reconnects.value++);
    }
    let abort: AbortController | null = null;
    const follow = () => {
      if (document.visibilityState === "hidden") {
        goOn();
        abort?.abort();
        abort = null;
      } else if (abort === null) {
        abort = new AbortController();
        keepOpen(path, abort.signal);
      }
    };
    follow();
    setTimeout(goOn, patienceMs);
    document.addEventListener("visibilitychange", follow);
    const end = onReconnect(() => stopWaiting());
    return () => {
      end();
      document.removeEventListener("visibilitychange", follow);
      abort?.abort();
    };
  }, [path]);
}

/** Calls `act` whenever a lost connection is back. */
function onReconnect(act: () => void): () => void {
  let isLost = false;
  return isConnected.subscribe((isHere) => {
    if (isLost && isHere) act();
    isLost = !isHere;
  });
}

/** Ends the pause before the stream is reopened. */
let stopWaiting = () => {};

async function keepOpen(path: string, ending: AbortSignal): Promise<void> {
  for (let waitMs = firstWaitMs; !ending.aborted; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
    const opened = () => {
      isLive.value = true;
      waitMs = firstWaitMs;
      // Data may have changed while the stream was closed.
      if (!isAwaited.value) reconnects.value++;
      isAwaited.value = false;
    };
    try {
      const stream = liveEvents((signal) => openStream(path, signal), ending, opened);
      for await (const { type, data } of stream) {
        // `changed` lists topics; outcomes concern deliveries.
        if (type === "outcomes") note("deliveries");
        else if (type === "changed") for (const topic of data?.split(" ") ?? []) note(topic);
      }
    } catch {
      // The loop opens the stream again.
    }
    isLive.value = false;
    isAwaited.value = false;
    if (ending.aborted) return;
    await new Promise<void>((resolve) => {
      stopWaiting = resolve;
      setTimeout(resolve, waitMs);
    });
  }
}

const noted = new Set<string>();

function note(topic: string): void {
  if (noted.size === 0) setTimeout(count, paceMs);
  noted.add(topic);
}

function count(): void {
  const counted = [...noted].map((topic) => [topic, (changes.value[topic] ?? 0) + 1] as const);
  noted.clear();
  changes.value = { ...changes.value, ...Object.fromEntries(counted) };
}
