import type { ComponentChildren } from "preact";
import { useAction } from "./load.ts";
import { withLocalTimes } from "./notices.tsx";
import { Button, FaultNotice, LinkButton, Notice } from "./parts/basics.tsx";
import { Time } from "./parts/time.tsx";
import { toast } from "./parts/toasts.tsx";
import { to } from "./places.ts";

/** The ways in which an application gets its events, as options. */
export const deliveryWays = [
  ["webhook", "Webhook"],
  ["stream", "Event stream"],
  ["both", "Both"],
] as const;

/** The state of an endpoint, as both APIs have it. */
interface EndpointState {
  readonly status: "enabled" | "failing" | "disabled";
  readonly disabled_reason: string | null;
  readonly last_success_at: string | null;
  readonly summary: string;
  /** What to do next; null where nothing is to do. */
  readonly advice: string | null;
}

interface EndpointNoticeProps {
  readonly endpoint: EndpointState;
  /** What is said of it while something is wrong; by default what the server says. */
  readonly title?: string;
  /** What else is known of it. */
  readonly children: ComponentChildren;
  /** Absent: the person may not. */
  readonly enable?: () => Promise<unknown>;
  /** The application whose deliveries are among those of others. */
  readonly applicationId?: string;
  /** Another way to mend it. */
  readonly link?: ComponentChildren;
}

/** The state of an endpoint in one sentence, and what to do next. */
export function EndpointNotice(props: EndpointNoticeProps) {
  const { endpoint, children, enable, applicationId, link } = props;
  const { status, disabled_reason, last_success_at, summary, advice } = endpoint;
  const said = withLocalTimes(summary);
  const enabling = useAction(async () => {
    await enable?.();
    toast("The endpoint is enabled. What waits is sent now.");
  });
  if (status === "enabled") {
    const isWell = advice === null;
    return (
      <Notice tone={isWell ? "ok" : ""} title={isWell ? "The endpoint accepts deliveries." : said}>
        {children}
        {last_success_at && (
          <p class="muted">
            Last success <Time at={last_success_at} />
          </p>
        )}
      </Notice>
    );
  }
  // What failed is tried again, or waits while the endpoint is disabled; but a 410 ends its delivery.
  const failed = disabled_reason === "gone" ? "failed" : "pending";
  return (
    <Notice tone={status === "disabled" ? "bad" : "warn"} title={props.title ?? said}>
      {children}
      <FaultNotice fault={enabling.fault} />
      <div class="row wrap">
        {enable && (
          <Button isSmall kind="primary" isBusy={enabling.isBusy} onClick={enabling.run}>
            {status === "disabled" ? "Enable the endpoint" : "Try everything again now"}
          </Button>
        )}
        {link}
        <LinkButton href={to("/deliveries", { application_id: applicationId, status: failed })}>
          See what failed
        </LinkButton>
      </div>
    </Notice>
  );
}
