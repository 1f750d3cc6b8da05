import { join } from "node:path";
import { BenchError, loadCore, type Server, startPinnedServer } from "./processes.ts";
import { newEventId } from "./wire.ts";

/** How a receiver behaves: when it answers, and over what kind of a connection. */
export interface Behaviour {
  readonly name: string;
  /** How long it takes to answer, drawn for each delivery. */
  readonly answerMs: () => number;
  /** Over TLS: what the receiver's part of the handshake takes more. It closes each connection after one answer. */
  readonly tlsHandshakeMs?: number;
}

export const atOnce: Behaviour = { name: "at once", answerMs: () => 0 };
export const steady: Behaviour = { name: "100 ms", answerMs: () => 100 };
const uniform: Behaviour = { name: "50 to 200 ms", answerMs: () => 50 + 150 * Math.random() };
const slowTls: Behaviour = { name: "slow TLS, closes", answerMs: () => 50, tlsHandshakeMs: 100 };

export const behaviours: readonly Behaviour[] = [atOnce, steady, uniform, slowTls];

/** Files in PEM. */
export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

/** The requests of a receiver since the last report. */
export interface ReceiverReport {
  readonly arrived: number;
  /** Distinct `webhook-id`s among them. */
  readonly distinct: number;
  /** Requests on the path that hangs; they do not count as arrived. */
  readonly hung: number;
  /** Publishing to arrival, for events whose id carries the time of publishing. */
  readonly latenciesMs: readonly number[];
  /** Duration of delayed answers; 0 if there were none. */
  readonly meanAnswerMs: number;
  /** Those of the first of them. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Stands in an event's id before the time of its publishing, in milliseconds of the receiver's clock. */
export const timeMark = "at:";

/** Time in which all acknowledged events must arrive. */
const drainSeconds = 60;

/** A receiver in its own process, on the core of the load. */
export class Receiver {
  readonly #clockAheadMs: number;

  private constructor(
    readonly server: Server,
    clockAheadMs: number,
  ) {
    this.#clockAheadMs = clockAheadMs;
  }

  /** @param tls a certificate and its key, where it is to be reached over TLS, too */
  static async start(port: number, tls?: Certificate): Promise<Receiver> {
    const program = join(import.meta.dir, "receiver-server.ts");
    // Lower priority than the process that measures on the same core.
    const command = ["nice", "-n", "5", process.execPath, program, String(port)];
    if (tls) command.push(tls.certificate, tls.key);
    const cpus = String(loadCore);
    const { server } = await startPinnedServer("receiver", command, { cpus });
    return new Receiver(server, await clockAhead(server.url));
  }

  /** An event id that no other has and that carries the present time. */
  timedId(): string {
    return `${newEventId()}${timeMark}${(performance.now() + this.#clockAheadMs).toFixed(3)}`;
  }

  /** Deliveries since the last report; `timed` are those whose event carries a time. */
  async arrived(which: "all" | "timed" = "all"): Promise<number> {
    const { arrived, timed } = await ask<{ arrived: number; timed: number }>(`${this.server.url}/`);
    return which === "all" ? arrived : timed;
  }

  /** Waits until this many have arrived since the last report, for at most `seconds`. */
  async waitFor(count: number, seconds: number, which: "all" | "timed" = "all"): Promise<void> {
    const end = performance.now() + seconds * 1000;
    while ((await this.arrived(which)) < count && performance.now() < end) await Bun.sleep(5);
  }

  /** Waits until all have arrived; throws unless each did so exactly once. */
  async requireAllOnce(deliveries: number): Promise<void> {
    await this.waitFor(deliveries, drainSeconds);
    const { arrived, distinct } = await this.report();
    if (arrived === deliveries && distinct === deliveries) return;
    throw new BenchError(
      `Of ${deliveries} deliveries that were acknowledged ${distinct} arrived, in ${arrived} requests`,
    );
  }

  report(): Promise<ReceiverReport> {
    return ask(`${this.server.url}/report`);
  }

  /** From now on requests on this path are answered only after 15 seconds; null: none. */
  async hang(path: string | null): Promise<void> {
    await ask(`${this.server.url}/hang${path === null ? "" : `?path=${encodeURIComponent(path)}`}`);
  }

  /** From now on it answers as this behaviour does; gives its port over TLS, null where it has none. */
  async behave({ name }: Behaviour): Promise<number | null> {
    const url = `${this.server.url}/behave?as=${encodeURIComponent(name)}`;
    return (await ask<{ tlsPort: number | null }>(url)).tlsPort;
  }

  /** Has three of four deliveries on each path answered with 500, which do not count as arrived; false: none. */
  async refuse(on: boolean): Promise<void> {
    await ask(`${this.server.url}/refuse?on=${on}`);
  }

  /** Requests that were answered with 500, and deliveries among them that have not arrived since. */
  refused(): Promise<{ readonly requests: number; readonly outstanding: number }> {
    return ask(`${this.server.url}/refused`);
  }
}

/** The offset of the receiver's clock from this process's, by the fastest of several requests. */
async function clockAhead(url: string): Promise<number> {
  let best = { tookMs: Number.POSITIVE_INFINITY, aheadMs: 0 };
  for (let i = 0; i < 50; i++) {
    const before = performance.now();
    const { clockMs } = await ask<{ clockMs: number }>(`${url}/`);
    const after = performance.now();
    const tookMs = after - before;
    if (tookMs < best.tookMs) best = { tookMs, aheadMs: clockMs - (before + after) / 2 };
  }
  return best.aheadMs;
}

async function ask<T>(url: string): Promise<T> {
  const answer = await fetch(url);
  if (!answer.ok) throw new BenchError(`The receiver answers ${answer.status}`);
  return (await answer.json()) as T;
}
