import { createLog, type Log } from "../log.ts";
import { Link } from "./link.ts";
import { type FromThread, plainError, type ToThread } from "./messages.ts";

declare const self: Worker;

/** What a thread starts with. */
export interface Beginning<Start> {
  readonly start: Start;
  /** To the thread that started this one. */
  readonly link: Link;
  /** Its lines go to the thread that started this one, so that two never write into each other's lines. */
  readonly log: Log;
}

/**
 * Runs this thread: `begin` makes what others may call, once it is told how to start.
 */
export function runThread<Start>(begin: (beginning: Beginning<Start>) => Promise<object>): void {
  const begun = Promise.withResolvers<object>();
  const offered = () => begun.promise;
  const send = (message: FromThread) => self.postMessage(message);
  const link = new Link(send, offered);
  self.onmessage = async ({ data }: MessageEvent<ToThread>) => {
    if (!("start" in data)) return link.received(data);
    try {
      const log = createLog(data.logLevel, Date.now, {
        write: (bytes) => send({ log: new Uint8Array(bytes) }),
        flush: async () => {},
        linesLeftOut: 0,
      });
      // A boundary: whoever starts this program gives it what it needs.
      begun.resolve(await begin({ start: data.start as Start, link, log }));
      send({ started: true });
    } catch (error) {
      begun.reject(error);
      begun.promise.catch(() => {}); // there may be nobody who waits for it
      send({ failed: plainError(error) });
    }
  };
}
