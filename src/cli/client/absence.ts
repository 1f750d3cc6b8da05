import { OnairError } from "../../client/errors.ts";
import { note } from "../output/print.ts";
import { Refused, Unreachable } from "./http.ts";

/**
 * Asks a server that is asked again every second. Returns null, and says so once, while it is away: not reached, busy, or
 * behind a proxy that does not reach it. Throws any other error.
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
      if (!isAway) note(`${error.message}; it is asked again every second`);
      isAway = true;
      return null;
    }
  };
}

function isPassing(error: unknown): error is Error {
  if (error instanceof Unreachable) return true;
  if (!(error instanceof OnairError || error instanceof Refused)) return false;
  // A fault of the server itself, as damaged data, is 500: it stays however often it is asked.
  return error.status === 429 || error.status >= 502;
}
