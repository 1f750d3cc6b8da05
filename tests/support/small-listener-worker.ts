import { threadId } from "node:worker_threads";
import { serveWire } from "../../src/wire/serve.ts";
import { ok } from "./wire.ts";

declare const self: Worker;

/** A thread that serves on the port that it is told, on which others may serve, too; it says on which. */
self.onmessage = ({ data }: MessageEvent<number>) => {
  const reply = { ...ok("hello"), head: `x-thread: ${threadId}\r\n` };
  const answerer = { answer: () => reply, refuse: () => reply, turnAway: () => reply };
  self.postMessage(serveWire({ hostname: "127.0.0.1", port: data, reusePort: true, answerer }).port);
};
