import { join } from "node:path";
import type { OnAir } from "../support/onair.ts";
import { startPinnedServer } from "../support/processes.ts";
import { type Certificate, Receiver } from "../support/receiver.ts";
import type { Goal } from "../support/report.ts";
import { dataDirectory, Publishers, serveDirectory } from "./platform.ts";

/** What all sections share. */
export interface Bench {
  readonly executable: string;
  /** Gone when the process ends. */
  readonly directory: string;
  readonly receiverPort: number;
  readonly rounds: number;
  /** Length of a window of measuring. */
  readonly seconds: number;
  /** Deliveries of the section `backlog`. */
  readonly backlog: number;
  /** Counts of applications for which a data directory has been made. */
  readonly templates: Set<number>;
  say(line: string): void;
}

export interface Outcome {
  /** Lines of a table; the first names the columns. */
  readonly rows: readonly (readonly string[])[];
  /** The same and more, for programs. */
  readonly figures: Readonly<Record<string, unknown>>;
  readonly goals: readonly Goal[];
}

export interface Section {
  readonly name: string;
  readonly title: string;
  measure(bench: Bench): Promise<Outcome>;
}

/** A server on a new data directory, its receiver and publishers. */
export interface Scene {
  readonly onAir: OnAir;
  readonly receiver: Receiver;
  readonly publishers: Publishers;
  readonly data: string;
}

/** Sets the scene with so many applications and clears it away afterwards. */
export async function withScene<T>(
  bench: Bench,
  { name, applications, tls }: { name: string; applications: number; tls?: Certificate },
  play: (scene: Scene) => Promise<T>,
): Promise<T> {
  const data = await dataDirectory(bench, applications, name);
  const receiver = await Receiver.start(bench.receiverPort, tls);
  const onAir = await serveDirectory(bench, data, tls?.certificate);
  const publishers = new Publishers(onAir);
  try {
    return await play({ onAir, receiver, publishers, data });
  } finally {
    publishers.wire.close();
    await onAir.stop("SIGKILL");
    await receiver.server.stop("SIGKILL");
  }
}

/** The same receiver behind the least program that keeps an event, signs it and sends it, which ends with this process. */
export async function bareScene(bench: Bench, { receiver, data }: Scene): Promise<Scene> {
  const program = join(import.meta.dir, "../support/bare-events.ts");
  const command = [process.execPath, program, data, String(bench.receiverPort)];
  const { server } = await startPinnedServer("the bare program", command, /^ready (\S+)\n/);
  const onAir = { ...server, adminUrl: server.url };
  return { onAir, receiver, publishers: new Publishers(onAir), data };
}

/** As many as rounds, one after the other. */
export async function inRounds<T>({ rounds }: Bench, round: () => Promise<T>): Promise<T[]> {
  const results: T[] = [];
  while (results.length < rounds) results.push(await round());
  return results;
}
