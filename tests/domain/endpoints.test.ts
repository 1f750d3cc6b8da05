import { describe, expect, test } from "bun:test";
import {
  afterAttempt,
  atAnotherUrl,
  disableAfterMs,
  type Endpoint,
  type EndpointAttempt,
  enabledAgain,
  endpointStatus,
  newEndpoint,
  warnAfterMs,
} from "../../src/domain/endpoints.ts";
import type { EndpointNotice } from "../../src/domain/notices.ts";
import { hour, minute } from "../../src/domain/time.ts";

const start = Date.parse("2026-01-14T16:00:00.000Z");
const success = (at: number): EndpointAttempt => ({
  at: start + at,
  isSuccess: true,
  isGone: false,
  status: 204,
  error: null,
  outcome: "ok",
  pausedUntil: null,
  resumesAt: null,
});
const failure = (at: number): EndpointAttempt => ({
  at: start + at,
  isSuccess: false,
  isGone: false,
  status: 500,
  error: "The answer was 500.",
  outcome: "status",
  pausedUntil: null,
  resumesAt: null,
});
const gone = (at: number): EndpointAttempt => ({ ...failure(at), isGone: true, status: 410 });

function through(attempts: readonly EndpointAttempt[], from = newEndpoint("app")) {
  let endpoint: Endpoint = from;
  const notices: (EndpointNotice | null)[] = [];
  for (const attempt of attempts) {
    const after = afterAttempt(endpoint, attempt);
    endpoint = after.endpoint;
    notices.push(after.notice);
  }
  return { endpoint, notices, status: endpointStatus(endpoint) };
}

describe("the state of an endpoint", () => {
  test.each<[string, EndpointAttempt[], string, (EndpointNotice | null)[]]>([
    ["is well at first", [], "enabled", []],
    ["is well after a success", [success(0)], "enabled", [null]],
    ["fails from the first failure on", [success(0), failure(1)], "failing", [null, null]],
    [
      "is healthy again after any success",
      [failure(0), failure(minute), success(2 * minute)],
      "enabled",
      [null, null, null],
    ],
    [
      "gets one warning, after half of the time",
      [failure(0), failure(warnAfterMs - 1), failure(warnAfterMs), failure(warnAfterMs + 1)],
      "failing",
      [null, null, "endpoint.failing", null],
    ],
    [
      "gets a recovery notice after a warning",
      [failure(0), failure(warnAfterMs), success(warnAfterMs + 1)],
      "enabled",
      [null, "endpoint.failing", "endpoint.recovered"],
    ],
    [
      "is disabled after 24 hours of failures without a success",
      [failure(0), failure(disableAfterMs - 1), failure(disableAfterMs)],
      "disabled",
      [null, "endpoint.failing", "endpoint.disabled"],
    ],
    [
      "is not disabled when one attempt succeeded in between",
      [failure(0), success(23 * hour), failure(24 * hour), failure(40 * hour)],
      "failing",
      [null, null, null, "endpoint.failing"],
    ],
    ["is disabled at once by 410", [gone(0)], "disabled", ["endpoint.disabled"]],
    [
      "stays disabled whatever the outcome of attempts in flight",
      [gone(0), success(1), failure(2)],
      "disabled",
      ["endpoint.disabled", null, null],
    ],
  ])("%s", (_, attempts, status, notices) => {
    const result = through(attempts);
    expect(result.status).toBe(status as typeof result.status);
    expect(result.notices).toEqual(notices);
  });

  test("holds the last success and failure, and counts failures since the last success", () => {
    const { endpoint } = through([failure(0), success(minute), failure(2 * minute), failure(3 * minute)]);
    expect(endpoint).toEqual({
      ...newEndpoint("app"),
      revision: 4,
      failing_since: start + 2 * minute,
      last_failing_since: start + 2 * minute,
      failures: 2,
      last_success_at: start + minute,
      last_failure_at: start + 3 * minute,
      last_failure_status: 500,
      last_failure_error: "The answer was 500.",
      last_failure_outcome: "status",
    });
  });

  test("says when the last failures began after they ended, also at another URL", () => {
    const { endpoint } = through([failure(0), failure(minute), success(2 * minute)]);
    expect(endpoint).toMatchObject({ failing_since: null, last_failing_since: start });
    expect(atAnotherUrl(endpoint, 2)).toMatchObject({ failing_since: null, last_failing_since: start });
    expect(enabledAgain(endpoint, 2)).toMatchObject({ last_failing_since: start });
  });

  test("starts without failures after it is enabled again, and keeps its last success and failure", () => {
    const { endpoint } = through([success(0), gone(1)]);
    const again = enabledAgain(endpoint, 3);
    expect(endpointStatus(again)).toBe("enabled");
    expect(again).toMatchObject({
      generation: 3,
      failures: 0,
      disabled_reason: null,
      last_success_at: start,
      last_failure_status: 410,
    });
  });
});
