import { join } from "node:path";
import type { OnAir } from "./onair.ts";
import { BenchError, loadCore, type Server, startPinnedServer } from "./processes.ts";

/** How long answers took, in milliseconds. */
export interface Reads {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

/**
 * Somebody who asks for users 500 times a second, in a process of its own on the core of the load. It goes before all
 * others there where the system lets it (`chrt`), because what it waits for its core is not the server's doing.
 */
export class Reader {
  private constructor(
    readonly server: Server,
    /** Whether it goes before all others on its core. */
    readonly isFirst: boolean,
  ) {}

  static async start(onAir: OnAir, token: string, names: readonly string[]): Promise<Reader> {
    const first = ["chrt", "--fifo", "10"];
    const isFirst = Bun.spawnSync([...first, "true"], { stderr: "ignore" }).success;
    const program = [process.execPath, join(import.meta.dir, "reader-server.ts"), onAir.url, token, ...names];
    const command = isFirst ? [...first, ...program] : program;
    const { server } = await startPinnedServer("reader", command, /^ready (\S+)\n/, { cpus: loadCore });
    return new Reader(server, isFirst);
  }

  async read(seconds: number): Promise<Reads> {
    const answer = await fetch(`${this.server.url}/?seconds=${seconds}`);
    if (!answer.ok) throw new BenchError(`The reader: ${await answer.text()}`);
    return (await answer.json()) as Reads;
  }
}
