import { type Application, usesOnlyStream } from "../domain/applications.ts";
import { type Endpoint, endpointStatus } from "../domain/endpoints.ts";
import { isoTime } from "../domain/time.ts";
import { diagnose } from "./diagnosis.ts";
import type { OutcomeClass } from "./retry.ts";

/** The state of an endpoint for people. */
interface EndpointSummary {
  /** The state in one sentence. */
  readonly summary: string;
  /** What to do next; null where nothing is to do. */
  readonly advice: string | null;
}

type Receiver = Pick<Application, "delivery" | "webhook_url" | "disabled">;

/** The state of an application's endpoint in a sentence, and what its developer can do about it. */
export function endpointSummary(application: Receiver, endpoint: Endpoint): EndpointSummary {
  if (application.disabled) {
    const summary = "The platform has disabled this application: its tokens are refused, nothing is sent.";
    return { summary, advice: "Ask the platform why." };
  }
  if (usesOnlyStream(application)) {
    return { summary: "Events are read from the stream; no webhook is called.", advice: null };
  }
  if (application.webhook_url === null) {
    const summary = "There is no webhook URL, so nothing is sent: what is published is canceled.";
    return { summary, advice: "Set the webhook URL; a replay then sends what was canceled." };
  }
  const { disabled_at, disabled_reason, failing_since, failures, last_failure_at, last_success_at } =
    endpoint;
  switch (endpointStatus(endpoint)) {
    case "disabled": {
      const since = `Disabled since ${isoTime(disabled_at ?? 0)}: `;
      const enabling = "then enable the endpoint. What is published meanwhile is kept for 3 days.";
      if (disabled_reason === "gone") {
        const summary = `${since}it answered 410, which says that nothing may ever be sent again.`;
        return { summary, advice: `Have the receiver answer 2xx, ${enabling}` };
      }
      const summary = `${since}everything failed for 24 hours. ${endpoint.last_failure_error ?? ""}`.trim();
      return { summary, advice: `${findingOf(application.webhook_url, endpoint)} Mend that, ${enabling}` };
    }
    case "failing": {
      const attempts = failures === 1 ? "1 attempt" : `${failures} attempts`;
      const summary =
        `Failing since ${isoTime(failing_since ?? 0)}, ${attempts}. ${endpoint.last_failure_error ?? ""}`.trim();
      const advice = `${findingOf(application.webhook_url, endpoint)} Send a test; retries go on by themselves.`;
      return { summary, advice };
    }
    case "enabled": {
      const advice = "Send a test to see that it answers.";
      // It was enabled by hand since, or has another URL.
      if (last_failure_at !== null && last_failure_at > (last_success_at ?? 0))
        return { summary: `Nothing was sent since the failure at ${isoTime(last_failure_at)}.`, advice };
      if (last_success_at === null) return { summary: "Nothing was sent to the endpoint yet.", advice };
      const summary = `The endpoint takes what is sent to it, the last time at ${isoTime(last_success_at)}.`;
      return { summary, advice: null };
    }
  }
}

/** What the last failure means, as far as it is known without the answer itself. */
function findingOf(url: string, endpoint: Endpoint): string {
  const { last_failure_status: status, last_failure_outcome, last_failure_error } = endpoint;
  const outcome = (last_failure_outcome ?? (status === null ? null : "status")) as OutcomeClass | null;
  if (outcome === null) return last_failure_error ?? "The last attempt failed.";
  const timings = { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: null };
  const known = { class: outcome, status, durationMs: 0, responseBody: "", timings, url, location: null };
  return diagnose(known) ?? "The last attempt failed.";
}
