import { expect, test } from "bun:test";
import { diagnose } from "../../src/webhooks/diagnosis.ts";
import type { OutcomeClass } from "../../src/webhooks/retry.ts";

const outcomes: readonly OutcomeClass[] = [
  "dns",
  "blocked",
  "refused",
  "unreachable",
  "tls",
  "proxy",
  "reset",
  "timeout",
  "protocol",
  "too_large",
  "internal",
  "canceled",
];

const answered = (status: number, more: { durationMs?: number; responseBody?: string } = {}) => {
  const isOk = status >= 200 && status < 300;
  return diagnose({ class: isOk ? "ok" : "status", status, durationMs: 10, responseBody: "", ...more });
};

test("a receiver that answers 2xx soon did all right", () => {
  for (const status of [200, 201, 202, 204]) expect(answered(status)).toBeNull();
  expect(answered(200, { responseBody: '{"ok":true}', durationMs: 4_999 })).toBeNull();
});

test.each<[number, string]>([
  [301, "redirect"],
  [308, "redirect"],
  [400, "refused the request"],
  [401, "login"],
  [404, "path"],
  [405, "POST"],
  [410, "disables the endpoint"],
  [429, "too much to do"],
  [500, "log"],
  [503, "log"],
])("%i is explained", (status, word) => {
  expect(answered(status)).toContain(`It answered ${status}`);
  expect(answered(status)).toContain(word);
});

test("a slow success, and a web page, are warned of", () => {
  expect(answered(204, { durationMs: 8_120 })).toContain("only after 8.1 seconds");
  for (const responseBody of ["<!DOCTYPE html><title>Hi", "\n<html lang=en>"])
    expect(answered(200, { responseBody })).toContain("web page");
});

test("every stage that can fail has a sentence of its own", () => {
  const said = outcomes.map((outcome) =>
    diagnose({ class: outcome, status: null, durationMs: 1, responseBody: "" }),
  );
  expect(new Set(said).size).toBe(outcomes.length);
  for (const sentence of said) expect(sentence).not.toBe("No answer arrived.");
});
