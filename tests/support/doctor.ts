import { Database } from "bun:sqlite";
import { expect } from "bun:test";
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Finding } from "../../src/domain/findings.ts";
import { run } from "./process.ts";
import { users } from "./real-data.ts";
import { adminKey, startServer, testDirectory } from "./server.ts";

export interface Report {
  readonly ok: boolean;
  readonly findings: readonly Finding[];
}

/** Options of `onair doctor` for a directory that no server uses. */
export const freePorts = ["--port", "0", "--admin-port", "0"];

export const statuses = ({ findings }: Report) => findings.map(({ check, status }) => `${check} ${status}`);
export const ofCheck = ({ findings }: Report, check: string) => findings.filter((one) => one.check === check);

/** At the top of a file: the data directory of a stopped server, with users, an application and a key. */
export async function endedServer() {
  const directory = testDirectory();
  const path = (...names: string[]) => join(directory, ...names);
  const data = path("ended");
  const server = await startServer({ data, users });
  const { id, webhook_secret, client_secret } = await server.application({
    webhook_url: "http://127.0.0.1:9/",
  });
  const { token } = await server.application();
  await server.stop();
  // Finalizes the statements of this process that still hold the database open.
  Bun.gc(true);
  const db = new Database(join(data, "onair.db"));
  db.run("INSERT INTO endpoints (application_id, failures, revision) VALUES (?, 0, 0)", [id]);
  const found = db.query<{ value: string }, []>("SELECT value FROM settings WHERE key = 'signing_key'").get();
  db.run("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close(true);
  const keyLines = found?.value.split("\n").filter((line) => line !== "" && !line.startsWith("-----")) ?? [];
  const secrets = [adminKey, webhook_secret, client_secret, token, ...keyLines];
  let copies = 0;

  /** An unused path for a new directory. */
  const fresh = () => path(`copy${copies++}`);
  return {
    data,
    path,
    fresh,
    /** Runs the doctor with `--json`. Expects a well-formed report without any of the server's secrets. */
    async examined(args: readonly string[], env: Record<string, string> = {}): Promise<Report> {
      const { code, stdout, stderr } = await run(["doctor", ...args, "--json"], { env });
      expect(stderr).toBe("");
      const report = JSON.parse(stdout) as Report;
      expect(code).toBe(report.ok ? 0 : 1);
      expect(report.ok).toBe(report.findings.every(({ status }) => status !== "wrong"));
      for (const secret of secrets) expect(stdout).not.toContain(secret);
      return report;
    },
    /** A changed copy of the server's data directory. */
    copy(change: (data: string) => void = () => {}): string {
      const to = fresh();
      mkdirSync(to, { mode: 0o700 });
      for (const name of ["onair.db", "onair.lock", "onair.pid"])
        copyFileSync(join(data, name), join(to, name));
      change(to);
      return to;
    },
  };
}

/** Changes a database in a way that On Air never does. */
export function alterDatabase(data: string, ...statements: string[]): void {
  const db = new Database(join(data, "onair.db"));
  for (const statement of statements) db.run(statement);
  db.run("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close(true);
}
