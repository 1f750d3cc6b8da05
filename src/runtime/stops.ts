import { inTime } from "./event-loop.ts";
import type { Log } from "./log.ts";

type Stop = (graceMs: number) => unknown;

/** How much longer than its grace one stop may take. It is left to itself after that. */
const lateMs = 20_000;

/** What was started, and has to be stopped on every way out. */
export class Stops {
  readonly #stops: { readonly name: string; readonly stop: Stop }[] = [];

  constructor(readonly log: Log) {}

  /** Adds something that was started. `name` is for the log. */
  add(name: string, stop: Stop): void {
    this.#stops.push({ name, stop });
  }

  /** Stops everything, the last started first. Never rejects: a stop that fails or takes too long is logged. */
  async stop(graceMs: number): Promise<void> {
    for (let one = this.#stops.pop(); one; one = this.#stops.pop()) await this.#stopOne(one, graceMs);
  }

  /** Stops everything at the same time. */
  async stopTogether(graceMs: number): Promise<void> {
    await Promise.all(this.#stops.splice(0).map((one) => this.#stopOne(one, graceMs)));
  }

  async #stopOne({ name, stop }: { readonly name: string; readonly stop: Stop }, graceMs: number) {
    try {
      const ended = Promise.resolve(stop(graceMs)).then(() => true);
      if (!(await inTime(ended, graceMs + lateMs))) this.log.error("stop_late", { what: name });
    } catch (error) {
      this.log.failure("stop_failed", error, { what: name });
    }
  }
}
