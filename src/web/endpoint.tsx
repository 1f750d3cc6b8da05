import type { ComponentChildren } from "preact";
import { day } from "../domain/time.ts";
import { useDeliveries } from "./deliveries/source.ts";
import { type Loaded, useAction, useLoad } from "./load.ts";
import { withLocalTimes } from "./notices.tsx";
import { Button, FaultNotice, Figure, LinkButton, Notice, number } from "./parts/basics.tsx";
import { toast, useConfirmation } from "./parts/overlays.tsx";
import { isFuture, Time } from "./parts/time.tsx";
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

/** The period whose missed deliveries are counted, and offered to be sent again. */
const missedMs = 3 * day;
const mostCounted = 100;

type DeliveryPage = Awaited<ReturnType<ReturnType<typeof useDeliveries>["list"]>>;

/** Loads the missed deliveries of the last three days: those of an application, or of the signed-in one. */
export function useMissed(applicationId?: string): Loaded<DeliveryPage> {
  const source = useDeliveries();
  return useLoad(
    (signal) => {
      const after = new Date(Date.now() - missedMs).toISOString();
      const of = applicationId === undefined ? {} : { application_id: applicationId };
      return source.list({ status: "missed", after, limit: mostCounted, ...of }, signal);
    },
    [applicationId],
    ["deliveries"],
  );
}

interface PendingFiguresProps {
  /** The endpoint, as both APIs have it. */
  readonly endpoint: {
    readonly status: string;
    readonly pending: number;
    readonly next_attempt_at: string | null;
  };
  readonly missed: DeliveryPage | null;
  /** Filters the linked deliveries, on pages with deliveries of several applications. */
  readonly applicationId?: string;
}

/** What an application waits for: pending deliveries, the next attempt, and what was missed. */
export function PendingFigures({ endpoint, missed, applicationId }: PendingFiguresProps) {
  const { pending } = endpoint;
  const linked = (status: string) => to("/deliveries", { application_id: applicationId, status });
  const lost = missed?.data.length ?? 0;
  return (
    <div class="grid small">
      <Figure value={number(pending)} label="Pending deliveries" href={linked("pending")} />
      <Figure value={<NextAttempt of={endpoint} />} label="Next attempt" />
      <Figure
        value={missed ? `${number(lost)}${missed.pagination.has_more ? "+" : ""}` : "…"}
        label="Missed in 3 days"
        href={linked("missed")}
      />
    </div>
  );
}

/** When the next attempt is made. */
function NextAttempt({ of: { status, pending, next_attempt_at } }: { of: PendingFiguresProps["endpoint"] }) {
  if (pending === 0) return <>none</>;
  if (status === "disabled") return <>none while disabled</>;
  if (next_attempt_at === null || !isFuture(next_attempt_at)) return <>now</>;
  return <Time at={next_attempt_at} />;
}

/** The hint of the field of webhook headers, which has a header in each line. */
export const webhookHeadersHint =
  "Sent with every webhook, such as the key of a gateway: Name: value, one per line. Saved values are masked; a line with a masked value keeps it. A webhook URL of another origin needs all of them again.";

const isMasked = (value: string) => /^•+$/.test(value);

/** Returns headers, by name, as lines. */
function headerLines(headers: Readonly<Record<string, string>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join("\n");
}

/**
 * Returns the changes that lines make to saved headers: new values by name, and null for headers without a line. Masked
 * values are no changes, unless the URL is of another origin: then they are included, and the API refuses them.
 * @param nextUrl the webhook URL after the change
 */
function headerChanges(
  lines: string,
  { webhook_headers: saved, webhook_url: url }: WebhookSettings,
  nextUrl: string,
): Record<string, string | null> {
  const pairs = lines
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line): [name: string, value: string] => {
      const [, name = line.trim(), value = ""] = /^([^:]*):(.*)$/.exec(line) ?? [];
      return [name.trim(), value.trim()];
    });
  const names = new Set(pairs.map(([name]) => name.toLowerCase()));
  const removed = Object.keys(saved).filter((name) => !names.has(name.toLowerCase()));
  const isSameOrigin = URL.parse(url ?? "")?.origin === URL.parse(nextUrl)?.origin;
  const isKept = ([name, value]: [string, string]) => isSameOrigin && name in saved && isMasked(value);
  return Object.fromEntries<string | null>([
    ...removed.map((name): [string, null] => [name, null]),
    ...pairs.filter((pair) => !isKept(pair)),
  ]);
}

/** The settings of an application that its developer may change, as both APIs have them. */
interface WebhookSettings {
  readonly webhook_url: string | null;
  readonly webhook_headers: Readonly<Record<string, string>>;
  readonly delivery: "webhook" | "stream" | "both";
  readonly redirect_uris: readonly string[];
}

/** Returns settings as the values of a form. */
export const webhookFields = (settings: WebhookSettings) => ({
  webhook_url: settings.webhook_url ?? "",
  webhook_headers: headerLines(settings.webhook_headers),
  delivery: settings.delivery,
  redirect_uris: settings.redirect_uris.join("\n"),
});

/** Returns the body of a request that changes saved settings to the values of a form. */
export const webhookBody = (fields: ReturnType<typeof webhookFields>, saved: WebhookSettings) => ({
  webhook_url: fields.webhook_url || null,
  webhook_headers: headerChanges(fields.webhook_headers, saved, fields.webhook_url),
  delivery: fields.delivery,
  redirect_uris: fields.redirect_uris.split(/\s+/).filter(Boolean),
});
