import type { DayApplication } from "./applications.ts";
import { usernameOf } from "./events.ts";
import type { Replica } from "./servers.ts";

const limitMs = 10_000;
const mostAtOnce = 100;

/** What applications ask of the public API all day, each under its own token. */
export class Calls {
  /** Since they were taken, in milliseconds; of answers other than 429. */
  latenciesMs: number[] = [];
  /** Answers by status, and requests without one. */
  readonly answers = new Map<string, number>();
  readonly #timers: Timer[] = [];
  #atOnce = 0;

  constructor(
    private readonly any: () => Replica | null,
    private readonly applications: readonly DayApplication[],
    private readonly channels: number,
  ) {}

  /** Starts them; `close` ends them. */
  start(): void {
    const prompt = this.applications.filter(({ kind }) => kind.name === "prompt");
    const [impatient, ...others] = prompt;
    const one = () => others[Math.floor(Math.random() * others.length)];
    const channel = () => 1 + Math.floor(this.channels * Math.random() ** 2);
    this.#every(10, () => this.#get(`users/${usernameOf(channel())}`, one()));
    this.#every(2, () => this.#get(`users/search?query=streamer_${channel()}`, one()));
    this.#every(3, () => this.#get("categories?limit=50", one()));
    this.#every(1, () => this.#get("events/deliveries?limit=20", one()));
    this.#every(1, () => this.#get("application", one()));
    // At its limit, which is set to a request a second.
    this.#every(3, () => this.#get(`users/${usernameOf(channel())}`, impatient));
  }

  close(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  #every(perSecond: number, call: () => Promise<void>): void {
    this.#timers.push(setInterval(() => void call(), 1_000 / perSecond));
  }

  async #get(path: string, app: DayApplication | undefined): Promise<void> {
    const server = this.any();
    if (!server || !app || this.#atOnce >= mostAtOnce) return this.#count("not sent");
    this.#atOnce++;
    const at = performance.now();
    try {
      const answer = await server.get(`/public/v1/${path}`, app.token, {
        signal: AbortSignal.timeout(limitMs),
      });
      await answer.arrayBuffer();
      if (answer.status !== 429) this.latenciesMs.push(performance.now() - at);
      this.#count(String(answer.status));
    } catch {
      this.#count("no answer");
    } finally {
      this.#atOnce--;
    }
  }

  #count(kind: string): void {
    this.answers.set(kind, (this.answers.get(kind) ?? 0) + 1);
  }
}
