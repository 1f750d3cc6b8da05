import { OnairError } from "../../client/errors.ts";
import { note } from "../output/print.ts";
import { Unreachable } from "./http.ts";

const firstPauseMs = 20;
const longestPauseMs = 1_000;

/** Calls `look` at growing intervals until the operation is no longer in progress. */
export async function poll(isRunning: () => boolean, look: () => Promise<void>): Promise<void> {
  for (let pause = firstPauseMs; isRunning(); pause = Math.min(longestPauseMs, pause * 1.5)) {
    await Bun.sleep(pause);
    await look();
  }
}

/**
 * Returns a function for requests that are repeated every second. While the server is unreachable or busy, it returns
 * null, with a note the first time. Throws any other error.
 */
export function askingAgain() {
  let isAway = false;
  return async <T>(ask: () => Promise<T>): Promise<T | null> => {
    try {
      const answer = await ask();
      isAway = false;
      return answer;
    } catch (error) {
      if (!isPassing(error)) throw error;
      if (!isAway) note(`${error.message}; trying again every second`);
      isAway = true;
      return null;
    }
  };
}

function isPassing(error: unknown): error is Error {
  if (error instanceof Unreachable) return true;
  if (!(error instanceof OnairError)) return false;
  // 500 is a fault of the server, such as damaged data: repeating the request does not help.
  return error.status === 429 || error.status >= 502;
}
