import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { openStream, reconnects } from "./client.ts";

/*
 * The one event stream of a page. It tells that something became of deliveries; what is shown is then read anew, and once
 * more when a lost connection is back, so that nothing is missed.
 */

/** Counts up when something became of deliveries, at most every `paceMs`. */
export const changes = signal(0);
/** Whether the stream is open. */
export const isLive = signal(false);

const paceMs = 700;
const firstWaitMs = 1_000;
const longestWaitMs = 15_000;

/** Keeps the stream open while the page can be seen. */
export function useLiveStream(path: string | null): void {
  useEffect(() => {
    if (path === null) return;
    let abort: AbortController | null = null;
    const follow = () => {
      if (document.visibilityState === "hidden") {
        abort?.abort();
        abort = null;
      } else if (abort === null) {
        abort = new AbortController();
        keepOpen(path, abort.signal);
      }
    };
    follow();
    document.addEventListener("visibilitychange", follow);
    return () => {
      document.removeEventListener("visibilitychange", follow);
      abort?.abort();
    };
  }, [path]);
}

async function keepOpen(path: string, ending: AbortSignal): Promise<void> {
  let isFirst = true;
  for (let waitMs = firstWaitMs; !ending.aborted; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
    try {
      const stream = await openStream(path, ending);
      isLive.value = true;
      waitMs = firstWaitMs;
      // What happened while it was not open.
      if (!isFirst) reconnects.value++;
      isFirst = false;
      await read(stream);
    } catch {
      // It is opened again.
    }
    isLive.value = false;
    if (!ending.aborted) await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
}

async function read(stream: ReadableStream<Uint8Array>): Promise<void> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true });
    if (text.includes("\nevent: outcomes\n") || text.startsWith("event: outcomes\n")) note();
    // Only whole events are dropped; what is left is shorter than one.
    text = text.slice(text.lastIndexOf("\n\n") + 1);
  }
}

let isNoted = false;

function note(): void {
  if (isNoted) return;
  isNoted = true;
  setTimeout(() => {
    isNoted = false;
    changes.value++;
  }, paceMs);
}
