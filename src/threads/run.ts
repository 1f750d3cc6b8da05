import { createLog, type Log } from "../log.ts";
import { Link } from "./link.ts";
import { type FromThread, type LinkMessage, plainError, type ToThread } from "./messages.ts";

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
 * Runs this thread: `begin` makes what others may call, once it is told how to start. `connected` is called for each
 * further thread that gets a link to it.
 */
export function runThread<Start>(
  begin: (beginning: Beginning<Start>) => Promise<object>,
  connected: (link: Link) => void = () => {},
): void {
  const begun = Promise.withResolvers<object>();
  const offered = () => begun.promise;
  const send = (message: FromThread) => self.postMessage(message);
  const link = new Link(send, offered);
  self.onmessage = async ({ data }: MessageEvent<ToThread>) => {
    if ("port" in data) return connected(linkOver(data.port, offered));
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

/** A link to the thread at the other end of a port. */
export function linkOver(port: MessagePort, offered: () => unknown): Link {
  const link = new Link((message) => port.postMessage(message), offered);
  // A boundary: the types of Node know this event only by another name, which Bun does not.
  port.addEventListener("message", (event) => link.received((event as MessageEvent<LinkMessage>).data));
  port.start();
  return link;
}
