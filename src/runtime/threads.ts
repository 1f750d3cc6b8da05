import {
  BatchRefused,
  type BatchResult,
  DomainError,
  type ErrorCode,
  type ErrorDetails,
} from "../domain/errors.ts";
import { StoreError } from "../domain/store.ts";
import { second } from "../domain/time.ts";
import { requireFreeDescriptors } from "./descriptors.ts";
import { batchedPerTick } from "./event-loop.ts";
import { createLog, type ErrorEvent, type Log, type LogLevel } from "./log.ts";

/** The contract between a thread and the thread that starts it. The types of both ends are derived from it. */
export interface ThreadContract {
  /** The argument with which the thread starts; must be cloneable. */
  readonly start: unknown;
  /** The methods that the thread offers to the one that started it. */
  readonly offers: object;
  /** The methods of the starting thread that the thread calls. */
  readonly calls: object;
}

/** The `calls` of a thread that calls no methods. */
export type NoCalls = Record<never, never>;

/** Whether a method takes a callback, which cannot be sent to another thread. */
type TakesCallback<Args extends readonly unknown[]> =
  Extract<Args[number], (...args: never[]) => unknown> extends never ? false : true;

/** The methods of `Offered` as another thread calls them. Methods that take callbacks are `never`. */
type Remote<Offered> = {
  readonly [Name in keyof Offered]: Offered[Name] extends (...args: infer Args) => infer Result
    ? TakesCallback<Args> extends true
      ? never
      : (...args: Args) => Promise<Awaited<Result>>
    : Remote<Offered[Name]>;
};

/** The methods of `Offered` as another thread calls them without waiting for a result. */
type Notify<Offered> = {
  readonly [Name in keyof Offered]: Offered[Name] extends (...args: infer Args) => unknown
    ? TakesCallback<Args> extends true
      ? never
      : (...args: Args) => void
    : Notify<Offered[Name]>;
};

interface ThreadOptions<Contract extends ThreadContract> {
  /** The name of the thread in the log. */
  readonly name: string;
  /** The URL of a module that calls `runThread` with the same contract. */
  readonly program: string;
  readonly start: Contract["start"];
  readonly logLevel: LogLevel;
  readonly log: Log;
  /** Called when the thread has failed or ended unexpectedly. The thread is not restarted. */
  readonly failed: (error: Error) => void;
  /** The methods of this thread that the started thread may call. */
  readonly offered: Contract["calls"];
}

/** A thread that this one has started. */
export interface Thread<Contract extends ThreadContract> {
  /** Resolves when the thread has started. Rejects with the error of the start. */
  readonly started: Promise<void>;
  /** The methods that the thread offers. Calls wait until the thread has started. */
  readonly remote: Remote<Contract["offers"]>;
  end(): void;
}

/** Starts a thread and writes its log. Throws `ScarceDescriptors` if too few are free. */
export function startThread<Contract extends ThreadContract>(
  options: ThreadOptions<Contract>,
): Thread<Contract> {
  const { name, program, start, logLevel, log, failed, offered } = options;
  requireFreeDescriptors();
  const { promise: started, resolve, reject } = Promise.withResolvers<void>();
  /** Whether `end` or a failure has ended the thread. */
  let hasEnded = false;
  const worker = new Worker(program);
  const post = (message: ToThread) => worker.postMessage(message);
  const link = new Link<Contract["offers"]>(post, () => offered);
  worker.onmessage = ({ data }: MessageEvent<FromThread>) => {
    if ("log" in data) log.raw(data.log);
    else if ("logError" in data) log.countError(data.logError);
    else if ("failed" in data) reject(thrownError(data.failed));
    else if ("started" in data) resolve();
    else link.received(data);
  };
  const failedWith = (error: Error) => {
    if (hasEnded) return;
    hasEnded = true;
    log.failure("thread_failed", error, { thread: name });
    link.broken(error);
    reject(error);
    failed(error);
  };
  worker.onerror = ({ message }) => failedWith(new Error(message));
  worker.addEventListener("close", () => failedWith(new Error(`The thread ${name} has ended unexpectedly`)));
  post({ start, logLevel, replica: log.replica });

  started.catch((error) => {
    hasEnded = true;
    link.broken(error);
    worker.terminate();
  });
  return {
    started,
    remote: link.remote,
    end() {
      hasEnded = true;
      link.broken(new Error(`The thread ${name} has ended`));
      worker.terminate();
    },
  };
}

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
      const sink = {
        write: (lines: Uint8Array<ArrayBuffer>) => send({ log: lines }),
        flush: async () => {},
        linesLeftOut: 0,
        countError: (event: ErrorEvent) => send({ logError: event }),
      };
      const log = createLog(data.logLevel, Date.now, sink, data.replica);
      // A boundary: the thread is started with the same contract.
      begun.resolve(await begin({ start: data.start as Contract["start"], link, log }));
      send({ started: true });
    } catch (error) {
      begun.reject(error);
      // No call may be waiting for the promise.
      begun.promise.catch(() => {});
      send({ failed: plainError(error) });
    }
  };
}

/** A message to a thread: the arguments of its start, or a message of its link. */
type ToThread =
  | { readonly start: unknown; readonly logLevel: LogLevel; readonly replica: number | null }
  | LinkMessage;

/** A message from a thread. */
type FromThread =
  | { readonly started: true }
  | { readonly failed: PlainError }
  /** Lines of the thread's log. */
  | { readonly log: Uint8Array<ArrayBuffer> }
  /** An error of the thread, to be counted. */
  | { readonly logError: ErrorEvent }
  | LinkMessage;

/** Many calls or many answers in one message, because each message has a cost. */
export type LinkMessage =
  | { readonly calls: readonly Call[] }
  | {
      readonly answers: readonly Answer[];
    };

/** A call of a method of the other end by its path, such as `publish` or `store.users.upsert`. */
interface Call {
  /** The number of the call in its answer; null for a call without an answer. */
  readonly id: number | null;
  readonly method: string;
  readonly args: readonly unknown[];
}

type Answer =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: PlainError };

/** An error in a form that can be sent to another thread. */
type PlainError =
  | {
      readonly kind: "domain";
      readonly code: ErrorCode;
      readonly message: string;
      readonly details: ErrorDetails;
    }
  | { readonly kind: "store"; readonly message: string; readonly isMisuse: boolean }
  | { readonly kind: "batch"; readonly results: BatchResult }
  | { readonly kind: "other"; readonly message: string; readonly stack: string | undefined };

/** Returns an error in the form for messages. */
function plainError(error: unknown): PlainError {
  if (error instanceof DomainError) {
    return { kind: "domain", code: error.code, message: error.message, details: error.details };
  }
  if (error instanceof BatchRefused) return { kind: "batch", results: error.results };
  if (error instanceof StoreError) {
    const { message, isMisuse } = error;
    return { kind: "store", message, isMisuse };
  }
  const { message, stack } = error instanceof Error ? error : { message: String(error), stack: undefined };
  return { kind: "other", message, stack };
}

/** Returns the error of a message as an `Error` of its class. */
function thrownError(plain: PlainError): Error {
  if (plain.kind === "domain") return new DomainError(plain.code, plain.message, plain.details);
  if (plain.kind === "batch") return new BatchRefused(plain.results);
  if (plain.kind === "store") return new StoreError(plain.message, plain.isMisuse);
  const error = new Error(plain.message);
  if (plain.stack) error.stack = plain.stack;
  return error;
}

/**
 * One end of a link between two threads. Each end calls methods that the other end offers. The calls of one tick of the
 * event loop share a message, and so do the answers.
 */
export class Link<Offered extends object> {
  /** The methods of the other end. Each call rejects with what the method throws. */
  readonly remote: Remote<Offered>;
  /** The methods of the other end, called without an answer. */
  readonly notify: Notify<Offered>;
  readonly #waiting = new Map<number, { resolve(value: never): void; reject(error: Error): void }>();
  readonly #send: (message: LinkMessage) => void;
  readonly #offeredHere: () => unknown;
  #next = 1;
  #brokenBy: Error | null = null;
  readonly #sendSoon = batchedPerTick<Call>((calls) => this.#send({ calls }));
  readonly #answerSoon = batchedPerTick<Answer>((answers) => this.#send({ answers }));

  /** @param offeredHere returns the object whose methods the other end may call, or a promise of it */
  constructor(send: (message: LinkMessage) => void, offeredHere: () => unknown) {
    this.#send = send;
    this.#offeredHere = offeredHere;
    // A boundary: the proxies have every method, and the types only those that the other end offers.
    this.remote = pathProxy((method, args) => this.#call(method, args)) as Remote<Offered>;
    this.notify = pathProxy((method, args) => this.#sendSoon({ id: null, method, args })) as Notify<Offered>;
  }

  #call(method: string, args: readonly unknown[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#brokenBy) return reject(this.#brokenBy);
      const id = this.#next++;
      this.#waiting.set(id, { resolve, reject });
      this.#sendSoon({ id, method, args });
    });
  }

  /** Handles a message of the other end. */
  received(message: LinkMessage): void {
    if ("calls" in message) for (const call of message.calls) void this.#make(call);
    else for (const answer of message.answers) this.#answered(answer);
  }

  #answered(answer: Answer): void {
    const call = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if ("error" in answer) call?.reject(thrownError(answer.error));
    else call?.resolve(answer.value as never);
  }

  /** Rejects pending and later calls, because the other end has ended. */
  broken(error: Error): void {
    this.#brokenBy ??= error;
    for (const call of this.#waiting.values()) call.reject(thrownError(plainError(error)));
    this.#waiting.clear();
  }

  async #make({ id, method, args }: Call): Promise<void> {
    try {
      const value = await callMethod(await this.#offeredHere(), method, args);
      if (id !== null) this.#answerSoon({ id, value });
    } catch (error) {
      if (id === null) throw error;
      this.#answerSoon({ id, error: plainError(error) });
    }
  }
}

function callMethod(offered: unknown, method: string, args: readonly unknown[]): unknown {
  let target = offered;
  let owner: unknown = null;
  for (const name of method.split(".")) {
    owner = target;
    // A boundary: the types of the other end allow only methods that are offered here.
    target = (owner as Record<string, unknown> | null)?.[name];
  }
  if (typeof target !== "function")
    throw new DomainError("unavailable", "The server is starting or stopping");
  return Reflect.apply(target, owner, args);
}

type CallPath = (path: string, args: readonly unknown[]) => unknown;

/**
 * Returns an object whose methods, at any depth, call `call` with their path: `proxy.store.users.find(name)` calls it
 * with `store.users.find`. The types of a link restrict the methods.
 */
function pathProxy(call: CallPath, path = ""): object {
  const known = new Map<string, object>();
  return new Proxy((...args: unknown[]) => call(path, args), {
    get(_, name) {
      // With a method `then`, a promise would treat it as another promise.
      if (typeof name !== "string" || name === "then") return undefined;
      let member = known.get(name);
      if (!member) {
        member = pathProxy(call, path === "" ? name : `${path}.${name}`);
        known.set(name, member);
      }
      return member;
    },
  });
}

/** How long an exit waits for the log, whose reader may be stuck: nothing is delivered meanwhile. */
const longestFlushMs = second;

/** Prints a message on standard error and ends the process with code 1, when the log is written or a second later. */
export function exitWith(message: string, log: Pick<Log, "flush">): void {
  process.stderr.write(`onair: ${message}\n`);
  const exit = () => process.exit(1);
  setTimeout(exit, longestFlushMs);
  log.flush().then(exit, exit);
}

/**
 * Returns a function that ends the process with code 1 after the failure of a thread that it cannot do without. A
 * service manager then restarts it.
 */
export function exitWithout(thread: string, log: Pick<Log, "flush">): () => void {
  const message = `The ${thread} thread has failed, so nothing can be stored or delivered. The log has the reason (thread_failed). Restart the server.`;
  return () => exitWith(message, log);
}
