import { mkdirSync, openSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { unusedPort } from "../../support/ports.ts";
import { administer } from "../../support/postgres.ts";
import { type PostgresServer, startPostgres } from "../../support/postgres-server.ts";
import { adminKey, ServerClient } from "../../support/server.ts";
import { SmallDisk } from "../../support/small-disk.ts";
import { BenchError, endWithThis } from "../support/processes.ts";

/** What a command of the executable printed, and its exit code. */
interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const startLimitMs = 60_000;
const stopLimitMs = 60_000;

/** A server of the day. Its addresses stay, whatever build runs there. */
export class Replica extends ServerClient {
  #child: Bun.Subprocess | null = null;

  private constructor(
    readonly name: string,
    readonly ports: readonly [number, number],
    readonly settings: Settings,
  ) {
    super(`http://127.0.0.1:${ports[0]}`, `http://127.0.0.1:${ports[1]}`);
  }

  static async make(name: string, settings: Settings): Promise<Replica> {
    return new Replica(name, [await unusedPort(), await unusedPort()], settings);
  }

  /** The process; null while none runs. */
  get pid(): number | null {
    return this.#child?.pid ?? null;
  }

  /** Starts an executable and waits until it is ready. */
  async start(executable: string): Promise<void> {
    const ports = ["--port", String(this.ports[0]), "--admin-port", String(this.ports[1])];
    const child = Bun.spawn([executable, "serve", ...ports, ...this.settings.args], {
      env: { PATH: process.env["PATH"], ...this.settings.env },
      stdin: "ignore",
      stdout: "pipe",
      stderr: openSync(this.settings.log, "a"),
    });
    endWithThis(child);
    const cutOff = setTimeout(() => child.kill("SIGKILL"), startLimitMs);
    let text = "";
    for await (const chunk of child.stdout) {
      text += new TextDecoder().decode(chunk);
      if (text.includes("\n")) break;
    }
    clearTimeout(cutOff);
    if (!text.startsWith("onair ready")) {
      const said = readFileSync(this.settings.log, "utf8").trimEnd().split("\n").at(-1);
      throw new BenchError(`${this.name} did not start: ${said}`);
    }
    this.#child = child;
  }

  /** Ends it and gives its exit code. */
  async end(signal: "SIGTERM" | "SIGKILL"): Promise<number | null> {
    const child = this.#child;
    this.#child = null;
    if (!child) return null;
    child.kill(signal);
    const cutOff = setTimeout(() => child.kill("SIGKILL"), stopLimitMs);
    await child.exited;
    clearTimeout(cutOff);
    return child.exitCode;
  }

  /** Whether it answers that it is ready. */
  async isReady(): Promise<boolean> {
    const answer = await fetch(`${this.adminUrl}/readyz`, { signal: AbortSignal.timeout(3_000) }).catch(
      () => null,
    );
    return answer?.status === 200;
  }
}

/** How a server is started. */
interface Settings {
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** The file of its log, of which each start adds to the end. */
  readonly log: string;
}

interface PlatformOptions {
  readonly directory: string;
  readonly executable: string;
  /** How many replicas share a PostgreSQL; 0 for one server on SQLite. */
  readonly replicas: number;
  readonly args: readonly string[];
  /** The size of the disk of the data. */
  readonly megabytes: number;
}

/** The servers of the day with their data, on a disk of their own where one can be mounted. */
export class Platform {
  /** The build that starts from now on. */
  executable: string;
  #next = 0;

  private constructor(
    readonly options: PlatformOptions,
    readonly replicas: readonly Replica[],
    readonly disk: SmallDisk | null,
    readonly postgres: PostgresServer | null,
    /** The data directory, where the data is in SQLite. */
    readonly data: string,
  ) {
    this.executable = options.executable;
  }

  static async start(options: PlatformOptions): Promise<Platform> {
    const disk = SmallDisk.make(options.megabytes);
    if (disk) process.on("exit", () => disk.remove());
    const place = disk?.mount ?? options.directory;
    const data = join(place, "data");
    mkdirSync(data, { recursive: true, mode: 0o700 });
    const isPostgres = options.replicas > 0;
    const sizes = ["shared_buffers=128MB", "min_wal_size=64MB", "max_wal_size=256MB"];
    const postgres = isPostgres ? await startPostgres(["fsync=on", ...sizes], place) : null;
    if (postgres) await administer(postgres.url("postgres"), "CREATE DATABASE onair");
    const replicas: Replica[] = [];
    for (let i = 0; i < Math.max(1, options.replicas); i++) {
      const name = isPostgres ? `replica ${i + 1}` : "the server";
      replicas.push(await Replica.make(name, settingsOf(options, { postgres, data }, name)));
    }
    const platform = new Platform(options, replicas, disk, postgres, data);
    for (const replica of replicas) await replica.start(options.executable);
    return platform;
  }

  /** Another server on a database of the same PostgreSQL, which is not part of the group. */
  async apart(database: string, args: readonly string[]): Promise<Replica> {
    const { postgres, data } = this;
    const settings = settingsOf(this.options, { postgres, data, database }, "a copy");
    return Replica.make("a copy", { ...settings, args: [...settings.args, ...args] });
  }

  /** One that runs, each in turn; null while none does. */
  get any(): Replica | null {
    const running = this.replicas.filter(({ pid }) => pid !== null);
    return running[this.#next++ % Math.max(1, running.length)] ?? null;
  }

  /** Runs a command of the executable with the variables of the servers. */
  async command(args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> {
    const child = Bun.spawn([this.executable, ...args], {
      env: { PATH: process.env["PATH"], ...env },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    endWithThis(child);
    const [stdout, stderr, code] = await Promise.all([
      child.stdout.text(),
      child.stderr.text(),
      child.exited,
    ]);
    return { code, stdout, stderr };
  }

  /** Used and all bytes of the disk of the data; null where it has none of its own. */
  get diskBytes(): { readonly used: number; readonly size: number } | null {
    if (!this.disk) return null;
    const { bsize, blocks, bfree } = statfsSync(this.disk.mount);
    return { used: (blocks - bfree) * bsize, size: blocks * bsize };
  }

  /** Removes the database, as when its disk is lost. */
  loseData(): void {
    rmSync(this.data, { recursive: true, force: true });
  }

  async stop(): Promise<readonly (number | null)[]> {
    const codes: (number | null)[] = [];
    for (const replica of this.replicas) codes.push(await replica.end("SIGTERM"));
    return codes;
  }

  async remove(): Promise<void> {
    for (const replica of this.replicas) await replica.end("SIGKILL");
    await this.postgres?.stop();
    this.disk?.remove();
  }
}

function settingsOf(
  { directory, args }: PlatformOptions,
  {
    postgres,
    data,
    database = "onair",
  }: { postgres: PostgresServer | null; data: string; database?: string },
  name: string,
): Settings {
  const place = postgres ? { ONAIR_DATABASE: postgres.url(database) } : { ONAIR_DATA: data };
  return {
    args: ["--allow-private-webhooks", ...args],
    env: { ONAIR_ADMIN_KEY: adminKey, ONAIR_LOG_LEVEL: "warn", ...place },
    log: join(directory, `${name.replace(" ", "-")}.log`),
  };
}
