import type { ComponentChildren } from "preact";
import { useAction } from "./load.ts";
import { withLocalTimes } from "./notices.tsx";
import { Button, FaultNotice, LinkButton, Notice } from "./parts/basics.tsx";
import { useConfirmation } from "./parts/dialog.tsx";
import { isFuture, Time } from "./parts/time.tsx";
import { toast } from "./parts/toasts.tsx";
import { to } from "./places.ts";

/** The delivery methods of an application, as options. */
export const deliveryWays = [
  ["webhook", "Webhook"],
  ["stream", "Event stream"],
  ["both", "Both"],
] as const;

/** Asks before the webhook URL of an application is removed; see `useConfirmation`. */
export function useUrlRemoval() {
  return useConfirmation({
    title: "Remove the webhook URL?",
    verb: "Remove it",
    children: (
      <p>
        No webhooks are sent without a URL, and pending deliveries are canceled at once. Events on the event
        stream stay there. After a new URL is set, a replay can send what was canceled.
      </p>
    ),
  });
}

/** The state of an endpoint, as both APIs have it. */
interface EndpointState {
  readonly status: "enabled" | "failing" | "disabled";
  readonly disabled_reason: string | null;
  readonly last_success_at: string | null;
  readonly next_attempt_at: string | null;
  readonly summary: string;
  /** What to do next; null when there is nothing to do. */
  readonly advice: string | null;
}

interface EndpointNoticeProps {
  readonly endpoint: EndpointState;
  /** The title while the endpoint has problems; by default the server's summary. */
  readonly title?: string;
  /** Further details. */
  readonly children: ComponentChildren;
  /** Enables the endpoint; absent when the user may not enable it. */
  readonly enable?: () => Promise<unknown>;
  /** Filters the linked deliveries, on pages with deliveries of several applications. */
  readonly applicationId?: string;
  /** A link to another remedy. */
  readonly link?: ComponentChildren;
}

/** The state of an endpoint in one sentence, and what to do next. */
export function EndpointNotice(props: EndpointNoticeProps) {
  const { endpoint, children, enable, applicationId, link } = props;
  const { status, last_success_at, next_attempt_at: nextAt, summary, advice } = endpoint;
  const summarized = withLocalTimes(summary);
  const enabling = useAction(async () => {
    await enable?.();
    toast(
      status === "disabled"
        ? "Endpoint enabled. Pending deliveries are sent now."
        : "The endpoint is tried now.",
    );
  });
  if (status === "enabled") {
    const isWell = advice === null;
    return (
      <Notice tone={isWell ? "ok" : ""} title={isWell ? "The endpoint accepts deliveries." : summarized}>
        {children}
        {last_success_at && (
          <p class="muted">
            Last success <Time at={last_success_at} />
          </p>
        )}
      </Notice>
    );
  }
  return (
    <Notice tone={status === "disabled" ? "bad" : "warn"} title={props.title ?? summarized}>
      {children}
      {nextAt && isFuture(nextAt) && (
        <p>
          Next attempt: <Time at={nextAt} />
        </p>
      )}
      <FaultNotice fault={enabling.fault} />
      <div class="row wrap">
        {enable && (
          <Button isSmall kind="primary" isBusy={enabling.isBusy} onClick={enabling.run}>
            {status === "disabled" ? "Enable endpoint" : "Try now"}
          </Button>
        )}
        {link}
        <LinkButton href={to("/deliveries", { application_id: applicationId, status: "failing" })}>
          View failed deliveries
        </LinkButton>
      </div>
    </Notice>
  );
}
