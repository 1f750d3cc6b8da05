/*
 * The engine's thread: starts the engine when it is told how, then makes the calls it is sent. The lines of its log go
 * to the main thread, so that two threads never write into each other's lines.
 */
import { setPriority } from "node:os";
import { createLog } from "../log.ts";
import type { Engine } from "./engine.ts";
import { type Answer, type Call, type FromEngine, plainError, type ToEngine } from "./messages.ts";

declare const self: Worker;

// Linux counts this for the calling thread alone: where there is not enough processor for both, requests go first.
if (process.platform === "linux") setPriority(0, 5);

const send = (message: FromEngine) => self.postMessage(message);

const starting = Promise.withResolvers<Engine>();
let answers: Answer[] = [];

/** Answers of one turn of the event loop share a message. */
function answer(one: Answer): void {
  if (answers.length === 0) {
    setImmediate(() => {
      send({ answers });
      answers = [];
    });
  }
  answers.push(one);
}

const streamed = new Set<string>();

/** So do the applications with something new on their event stream. */
function tellStreamed(applicationIds: readonly string[]): void {
  if (streamed.size === 0) {
    setImmediate(() => {
      send({ streamed: [...streamed] });
      streamed.clear();
    });
  }
  for (const id of applicationIds) streamed.add(id);
}

async function make({ id, method, args }: Call): Promise<void> {
  try {
    answer({ id, value: await callMethod(await starting.promise, method, args) });
  } catch (error) {
    answer({ id, error: plainError(error) });
  }
}

/** @param method a path within the engine, such as `store.users.upsert` */
function callMethod(engine: Engine, method: string, args: readonly unknown[]): unknown {
  let target: unknown = engine;
  let owner: unknown = null;
  for (const name of method.split(".")) {
    owner = target;
    // A boundary: what the main thread names is what the types of `Engine` allow it to.
    target = (owner as Record<string, unknown> | null)?.[name];
  }
  if (typeof target !== "function") throw new TypeError(`The engine has no ${method}`);
  return Reflect.apply(target, owner, args);
}

self.onmessage = async ({ data }: MessageEvent<ToEngine>) => {
  if ("calls" in data) {
    for (const call of data.calls) void make(call);
    return;
  }
  try {
    const log = createLog(data.logLevel, Date.now, {
      write: (bytes) => send({ log: new Uint8Array(bytes) }),
      flush() {},
    });
    // Behind the priority: on a single processor the first answers do not wait for this thread to load its modules.
    const { startEngine } = await import("./engine.ts");
    const started = await startEngine({
      settings: data.start,
      log,
      now: Date.now,
      steady: performance.now.bind(performance),
      random: Math.random,
      // The main thread has locked the directory.
      lock: { close() {} },
    });
    started.onStreamed(tellStreamed);
    starting.resolve({
      ...started,
      async stop(graceMs) {
        await started.stop(graceMs);
        await log.flush();
      },
    });
    send({ started: true });
  } catch (error) {
    starting.reject(error);
    send({ failed: plainError(error) });
  }
};
