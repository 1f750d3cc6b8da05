import { createLog, type Log } from "../log/log.ts";
import type { ThreadContract } from "./contract.ts";
import { Link } from "./link.ts";
import { type FromThread, plainError, type ToThread } from "./messages.ts";

declare const self: Worker;

/** The arguments with which a thread starts. */
interface ThreadStart<Contract extends ThreadContract> {
  readonly start: Contract["start"];
  /** The link to the thread that started this one. */
  readonly link: Link<Contract["calls"]>;
  /** A log whose lines are written by the thread that started this one. */
  readonly log: Log;
}

/** Runs this thread. `begin` returns the methods that the thread offers. */
export function runThread<Contract extends ThreadContract>(
  begin: (start: ThreadStart<Contract>) => Promise<Contract["offers"]>,
): void {
  const begun = Promise.withResolvers<Contract["offers"]>();
  const send = (message: FromThread) => self.postMessage(message);
  const link = new Link<Contract["calls"]>(send, () => begun.promise);
  self.onmessage = async ({ data }: MessageEvent<ToThread>) => {
    if (!("start" in data)) return link.received(data);
    try {
      const log = createLog(data.logLevel, Date.now, {
        write: (lines) => send({ log: lines }),
        flush: async () => {},
        linesLeftOut: 0,
        countError: (event) => send({ logError: event }),
      });
      // A boundary: the thread is started with the same contract.
      begun.resolve(await begin({ start: data.start as Contract["start"], link, log }));
      send({ started: true });
    } catch (error) {
      begun.reject(error);
      begun.promise.catch(() => {}); // no call may be waiting for it
      send({ failed: plainError(error) });
    }
  };
}
