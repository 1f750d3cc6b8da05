import { describe, expect, test } from "bun:test";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Finding } from "../../src/domain/findings.ts";
import { minute } from "../../src/domain/time.ts";
import {
  adminKey,
  Clock,
  isOnPostgres,
  json,
  ownDirectory,
  ownServer,
  testServer,
} from "../support/server.ts";

const clock = new Clock(Date.now());
const server = await testServer({ clock, args: ["--public-url", "http://api.example.com"] });

async function findings(): Promise<Finding[]> {
  clock.advance(minute);
  const answer = await server.admin("GET", "/admin/v1/findings");
  expect(answer.status).toBe(200);
  return (await json<{ data: Finding[] }>(answer)).data;
}

describe("findings of a running server", () => {
  test("are faults of its settings and its data, with advice", async () => {
    const found = await findings();
    expect(found).toContainEqual({
      check: "public_url",
      status: "warning",
      message: "http://api.example.com is not encrypted: tokens can be read on the network",
      advice: "use https: set --tls-cert, or put a TLS proxy in front",
    });
    const checks = found.map(({ check }) => check);
    const ofPlace = isOnPostgres ? ["database", "schema", "sizes"] : ["data_directory", "disk_space"];
    expect(checks).toEqual(expect.arrayContaining(["settings", "public_url", "clock", ...ofPlace]));
    expect(found.filter(({ status }) => status === "wrong")).toEqual([]);
    expect(JSON.stringify(found)).not.toContain(adminKey);
  });

  test("is also which files of secrets are open to every user of the machine", async () => {
    const named = (name: string, mode: number) => {
      const path = join(ownDirectory(), name);
      writeFileSync(path, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
      chmodSync(path, mode);
      return path;
    };
    const open = named("notify", 0o644);
    const closed = named("admin-key", 0o640);
    const env = { ONAIR_NOTIFY_SECRET_FILE: open, ONAIR_ADMIN_KEY_FILE: closed, ONAIR_ADMIN_KEY: undefined };
    const running = await ownServer({ env });
    const authorization = "Bearer whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const answer = await running.admin("GET", "/admin/v1/findings", undefined, { authorization });
    const text = await answer.text();
    expect(JSON.parse(text).data).toContainEqual({
      check: "file_modes",
      status: "warning",
      message: `${open} holds a secret, and every user of this machine can read it (mode 0644)`,
      advice: `chmod o= ${open}`,
    });
    expect(text).not.toContain(closed);
    expect(text).not.toContain("whsec_");
  });
});
