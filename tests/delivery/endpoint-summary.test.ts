import { expect, test } from "bun:test";
import { endpointSummary } from "../../src/delivery/diagnosis.ts";
import { type Endpoint, enabledAgain, newEndpoint } from "../../src/domain/endpoints.ts";

const application = {
  delivery: "webhook",
  webhook_url: "https://bot.example/hook",
  disabled: false,
} as const;
const [earlier, later] = [Date.parse("2026-01-14T16:08:06Z"), Date.parse("2026-01-14T17:08:06Z")];
const advice = "Send a test to see that it answers.";

test.each<[string, Partial<Endpoint>, string, string | null]>([
  ["that nothing was sent to", {}, "Nothing was sent to the endpoint yet.", advice],
  [
    "that answered",
    { last_failure_at: earlier, last_success_at: later },
    "The endpoint accepts deliveries, the last one at 2026-01-14T17:08:06.000Z.",
    null,
  ],
  [
    "that was enabled after a failure",
    enabledAgain(
      { ...newEndpoint("a"), failing_since: later, last_success_at: earlier, last_failure_at: later },
      1,
    ),
    "Nothing was sent since the failure at 2026-01-14T17:08:06.000Z.",
    advice,
  ],
])("an enabled endpoint %s", (_, state, summary, advice) => {
  expect(endpointSummary(application, { ...newEndpoint("a"), ...state })).toEqual({ summary, advice });
});

test("one without a URL says that nothing waits for it", () => {
  expect(endpointSummary({ ...application, webhook_url: null }, newEndpoint("a"))).toEqual({
    summary: "There is no webhook URL, so nothing is sent and new deliveries are canceled.",
    advice: "Set the webhook URL; a replay then sends the canceled deliveries.",
  });
});
