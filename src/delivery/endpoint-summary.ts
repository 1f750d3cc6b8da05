import { type Application, usesOnlyStream } from "../domain/applications.ts";
import { type Endpoint, endpointStatus } from "../domain/endpoints.ts";
import { isoTime } from "../domain/time.ts";
import { diagnose } from "./diagnosis.ts";
import type { OutcomeClass } from "./retry.ts";

/** The state of an endpoint in words. */
interface EndpointSummary {
  /** The state in one sentence. */
  readonly summary: string;
  /** What to do next; null for nothing. */
  readonly advice: string | null;
}

type Receiver = Pick<Application, "delivery" | "webhook_url" | "disabled">;

/** Returns the state of an application's endpoint in a sentence, and what its developer can do about it. */
export function endpointSummary(application: Receiver, endpoint: Endpoint): EndpointSummary {
  if (application.disabled) {
    const summary =
      "The platform has disabled this application: its tokens are refused, and nothing is sent.";
    return { summary, advice: "Ask the platform why." };
  }
  if (usesOnlyStream(application)) {
    return { summary: "Events are read from the stream; no webhook is called.", advice: null };
  }
  if (application.webhook_url === null) {
    const summary = "There is no webhook URL, so nothing is sent and new deliveries are canceled.";
    return { summary, advice: "Set the webhook URL; a replay then sends the canceled deliveries." };
  }
  const { disabled_at, disabled_reason, failing_since, failures, last_failure_at, last_success_at } =
    endpoint;
  switch (endpointStatus(endpoint)) {
    case "disabled": {
      const since = `Disabled since ${isoTime(disabled_at ?? 0)}: `;
      const enabling = "then enable the endpoint. Events for it are kept for 3 days.";
      if (disabled_reason === "gone") {
        const summary = `${since}it answered 410, which asks for no further requests.`;
        return { summary, advice: `Have the receiver answer 2xx, ${enabling}` };
      }
      const summary =
        `${since}every attempt failed for 24 hours. ${endpoint.last_failure_error ?? ""}`.trim();
      return { summary, advice: `${findingOf(application.webhook_url, endpoint)} Fix that, ${enabling}` };
    }
    case "failing": {
      const attempts = failures === 1 ? "1 attempt" : `${failures} attempts`;
      const summary =
        `Failing since ${isoTime(failing_since ?? 0)}, ${attempts}. ${endpoint.last_failure_error ?? ""}`.trim();
      const advice = `${findingOf(application.webhook_url, endpoint)} Send a test; retries continue automatically.`;
      return { summary, advice };
    }
    case "enabled": {
      const advice = "Send a test to see that it answers.";
      // Since that failure it was enabled by hand, or got another URL.
      if (last_failure_at !== null && last_failure_at > (last_success_at ?? 0))
        return { summary: `Nothing was sent since the failure at ${isoTime(last_failure_at)}.`, advice };
      if (last_success_at === null) return { summary: "Nothing was sent to the endpoint yet.", advice };
      const summary = `The endpoint accepts deliveries, the last one at ${isoTime(last_success_at)}.`;
      return { summary, advice: null };
    }
  }
}

/** Returns the diagnosis of the last failure, made without the answer, which is not stored with the endpoint. */
function findingOf(url: string, endpoint: Endpoint): string {
  const { last_failure_status: status, last_failure_outcome, last_failure_error } = endpoint;
  const outcome = (last_failure_outcome ?? (status === null ? null : "status")) as OutcomeClass | null;
  if (outcome === null) return last_failure_error ?? "The last attempt failed.";
  const timings = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };
  const known = { class: outcome, status, durationMs: 0, responseBody: "", timings, url, location: null };
  return diagnose(known) ?? "The last attempt failed.";
}
