import { describe, expect, test } from "bun:test";
import { devLog } from "../../src/cli/dev.ts";
import { terminalOn } from "../../src/runtime/terminal.ts";

describe("the log of a developer", () => {
  const log = (level: "info" | "warn") => {
    const written: string[] = [];
    const terminal = terminalOn({ write: (text) => written.push(text) }, {});
    const isPrinted = (id: string) => id === "printed";
    return { written, log: devLog({ terminal, level, now: Date.now, isPrinted }) };
  };

  test("has a short line for each request, and each delivery that the receiver has not printed", () => {
    const { log: it, written } = log("info");
    it.request({
      requestId: "r",
      method: "GET",
      path: "/public/v1/users/a",
      status: 200,
      durationMs: 0.4321,
      client: "127.0.0.1",
      applicationId: null,
      traceId: null,
    });
    const sent = {
      type: "channel.followed",
      outcome: "ok",
      status: 204,
      duration_ms: 3,
      decision: "delivered",
    };
    it.info("delivery", { ...sent, application_id: "OTHER", delivery_id: "another" });
    it.info("delivery", { ...sent, application_id: "DEV", delivery_id: "printed" });
    it.info("delivery", { ...sent, application_id: "DEV", delivery_id: "a third" });
    it.info("delivery", {
      ...sent,
      application_id: "DEV",
      outcome: "status",
      error: "It answered 500.",
      decision: "retry",
    });
    it.info("operator_keys", { environment: true, operator: 1 });
    it.error("service_failed", { service: "x", stack: "Error: no\x1b[2J\n  at y" });
    expect(written.map((line) => line.slice(9))).toEqual([
      "200      GET /public/v1/users/a (0.4 ms)\n",
      "sent     channel.followed to OTHER: 204 (3 ms)\n",
      "sent     channel.followed to DEV: 204 (3 ms)\n",
      "failed   channel.followed to DEV: It answered 500. Next: retry.\n",
      "error    service_failed service=x\n",
      expect.any(String),
    ]);
    expect(written[5]).toBe("Error: no\\u001b[2J\n  at y\n");
  });

  test("is quiet at level warn", () => {
    const { log: it, written } = log("warn");
    it.request({
      requestId: "r",
      method: "GET",
      path: "/",
      status: 200,
      durationMs: 1,
      client: "127.0.0.1",
      applicationId: null,
      traceId: null,
    });
    it.warn("unknown_setting", { name: "ONAIR_PROT", meant: "ONAIR_PORT" });
    expect(written.length).toBe(1);
  });
});
