import { rateLimiter } from "../../src/http/rate-limit.ts";

declare const self: Worker;

/*
 * A thread that takes requests from a bucket which others take from, too, as fast as it can; says how many it got. Its
 * clock stands still, so that nothing is refilled.
 */
self.onmessage = ({ data }: MessageEvent<{ memory: SharedArrayBuffer; limit: number; requests: number }>) => {
  const limiter = rateLimiter(() => 0, data.memory);
  let taken = 0;
  for (let i = 0; i < data.requests; i++) if (limiter.take("one", data.limit)?.allowed) taken++;
  self.postMessage(taken);
};
