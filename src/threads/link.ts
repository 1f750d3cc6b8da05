import { DomainError } from "../domain/errors.ts";
import { batchedPerTick } from "../runtime/event-loop.ts";
import type { Notify, Remote } from "./contract.ts";
import { type Answer, type Call, type LinkMessage, plainError, thrownError } from "./messages.ts";

/**
 * One end of a link between two threads, over which each calls methods that the other offers. The calls of one tick of
 * the event loop share a message, and so do the answers.
 */
export class Link<Offered extends object> {
  /** The methods of the other end. Each call rejects with what the method throws. */
  readonly remote: Remote<Offered>;
  /** The same methods, without an answer. */
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
