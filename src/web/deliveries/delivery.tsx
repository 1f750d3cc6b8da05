import { RefreshCw } from "lucide";
import type { ComponentChildren } from "preact";
import { useRoute } from "preact-iso";
import { useAction, useLoad } from "../load.ts";
import { Button, Card, Facts, FaultNotice, Head, Notice, Value } from "../parts/basics.tsx";
import { Code, HeaderLines } from "../parts/code.tsx";
import { toast } from "../parts/overlays.tsx";
import { Read } from "../parts/table.tsx";
import { duration, fullTime, isFuture, Time } from "../parts/time.tsx";
import { to } from "../places.ts";
import { Person } from "../users.tsx";
import { useApplications } from "./applications.tsx";
import { type Attempt, type SentDelivery, useDeliveries } from "./source.ts";

/** One delivery: its state, its attempts, and its request. */
export function DeliveryPage() {
  const source = useDeliveries();
  const id = useRoute().params["id"] ?? "";
  const loaded = useLoad((signal) => source.get(id, signal), [id], ["deliveries"]);
  const retry = useAction(async () => {
    await source.retry(id);
    toast("The delivery is being sent again.");
    loaded.reload();
  });
  const delivery = loaded.data;
  const applicationOf = useApplications(delivery ? [delivery] : []);
  const application = delivery && applicationOf && (
    <a href={to(`/applications/${delivery.app_id}`)}>
      <bdi>{applicationOf(delivery)}</bdi>
    </a>
  );
  return (
    <>
      <Head
        crumb={{ href: to("/deliveries"), text: "Deliveries" }}
        title={delivery?.type ?? "Delivery"}
        actions={
          delivery &&
          source.canSend && (
            <Button
              {...(delivery.status !== "delivered" && { kind: "primary" })}
              icon={RefreshCw}
              isBusy={retry.isBusy}
              onClick={retry.run}
            >
              Send again
            </Button>
          )
        }
      >
        {delivery && (
          <>
            Published <Time at={delivery.created_at} />
            {application && <> for {application}</>}
          </>
        )}
      </Head>
      <FaultNotice fault={retry.fault} />
      <Read of={loaded}>
        {(delivery) => (
          <>
            <Sentence delivery={delivery} />
            <div class="columns">
              <div class="stack wide">
                <Attempts attempts={delivery.attempts} />
                <Card title={delivery.attempts.length > 0 ? "Last request" : "Request, not sent yet"}>
                  <Request request={delivery.request}>
                    <p class="breaks">
                      <code>POST {delivery.request.url ?? "(no webhook URL)"}</code>
                    </p>
                  </Request>
                </Card>
              </div>
              <Card title="Details">
                <Facts
                  rows={[
                    ["Delivery", <Value text={delivery.id} key="id" />],
                    ["Event", <Value text={delivery.event_id} key="event" />],
                    source.isOfAll && [
                      "Sent to",
                      <a href={to("/deliveries", { event_id: delivery.event_id })} key="others">
                        all its subscribers
                      </a>,
                    ],
                    ["Type", `${delivery.type}, version ${delivery.version}`],
                    [
                      "Subscription",
                      <a
                        href={to("/deliveries", { subscription_id: delivery.subscription_id })}
                        key="subscription"
                      >
                        <code>{delivery.subscription_id}</code>
                      </a>,
                    ],
                    [
                      "Channel",
                      <Person
                        id={delivery.broadcaster_user_id}
                        or={delivery.broadcaster_username ?? "a deleted user"}
                        href={
                          source.isOfAll
                            ? to(`/users/${delivery.broadcaster_user_id}`)
                            : to("/deliveries", { broadcaster: String(delivery.broadcaster_user_id) })
                        }
                        key="channel"
                      />,
                    ],
                    ["Sequence", String(delivery.sequence)],
                    delivery.expires_at ? ["Expires", <Time at={delivery.expires_at} key="expires" />] : null,
                    delivery.finished_at
                      ? ["Finished", <Time at={delivery.finished_at} key="finished" />]
                      : null,
                  ]}
                />
              </Card>
            </div>
          </>
        )}
      </Read>
    </>
  );
}

function Sentence({ delivery: { status, attempts, next_attempt_at } }: { delivery: SentDelivery }) {
  const last = attempts.at(-1);
  if (status === "delivered") {
    const times = attempts.length === 1 ? "the first attempt" : `attempt ${attempts.length}`;
    return <Notice tone="ok" title={`Delivered with ${times}.`} />;
  }
  const reason = last?.error ?? "";
  const isSentBefore = last?.outcome === "ok";
  if (status === "pending") {
    return (
      <Notice
        tone={last && !isSentBefore ? "warn" : ""}
        title={isSentBefore ? "Being sent again." : last ? "Not delivered yet." : "Not attempted yet."}
      >
        {isSentBefore && (
          <p>
            It was delivered before, <Time at={last.at} />, with the response {last.status}.
          </p>
        )}
        {reason && <p>{reason}</p>}
        {next_attempt_at && isFuture(next_attempt_at) ? (
          <p>
            {last ? "Next" : "First"} attempt: <Time at={next_attempt_at} />
            {last
              ? ", or as soon as you have fixed the receiver and send the delivery again"
              : ", because the endpoint has failed and is not called before"}
          </p>
        ) : (
          <p>
            It is being sent, or waits for others that are being sent to the endpoint. While the endpoint is
            disabled, it waits until the endpoint is enabled.
          </p>
        )}
      </Notice>
    );
  }
  const titles = {
    failed: "Failed: there are no further automatic attempts.",
    expired: "Expired before it could be delivered.",
    canceled: "Canceled: the subscription or webhook URL was removed, or the application is disabled.",
  };
  return (
    <Notice tone={status === "canceled" ? "" : "bad"} title={titles[status]}>
      {reason && <p>{reason}</p>}
      {status !== "canceled" && <p>Fix the receiver, then send the delivery again.</p>}
    </Notice>
  );
}

function Attempts({ attempts }: { attempts: readonly Attempt[] }) {
  return (
    <Card title={attempts.length === 1 ? "1 attempt" : `${attempts.length} attempts`}>
      {attempts.length === 0 && <p class="muted">None yet.</p>}
      <ol class="timeline">
        {attempts.map((attempt, i) => (
          <li key={attempt.at} class={attempt.outcome === "ok" ? "ok" : "bad"}>
            <AttemptStory
              attempt={attempt}
              isLast={i === attempts.length - 1}
              isAtNewUrl={attempt.url !== attempts[i - 1]?.url}
            />
          </li>
        ))}
      </ol>
    </Card>
  );
}

interface AttemptProps {
  readonly attempt: Attempt;
  readonly isLast: boolean;
  /** Whether the attempt before it, if any, called another URL. */
  readonly isAtNewUrl: boolean;
}

function AttemptStory({ attempt, isLast, isAtNewUrl }: AttemptProps) {
  const { at, outcome, status, duration_ms, error, response, url, response_headers, signature } = attempt;
  const headers = { ...response_headers };
  return (
    <div class="stack tight">
      <div class="row wrap between">
        <strong>{status === null ? outcome : `Response ${status}`}</strong>
        <small class="muted" title={fullTime(at)}>
          <Time at={at} /> · {duration(duration_ms)}
        </small>
      </div>
      {url !== null && isAtNewUrl && <small class="muted breaks">{url}</small>}
      {error && <p class="bad">{error}</p>}
      <Stages timings={attempt.timings} totalMs={duration_ms} />
      {response !== "" && isLast && <Code text={response} label="Response" />}
      {response !== "" && !isLast && <code class="muted cell long">{response}</code>}
      {Object.keys(headers).length > 0 && (
        <details class="group" open={isLast}>
          <summary>Response headers</summary>
          <HeaderLines headers={headers} label="Response headers" />
        </details>
      )}
      {signature !== null && !isLast && (
        <details class="group">
          <summary>Signature of the request</summary>
          <Code text={signature} label="Signature" />
        </details>
      )}
    </div>
  );
}

/** The duration of each stage of a request, as a bar. The API reports each stage separately. */
export function Stages({ timings, totalMs }: { timings: Attempt["timings"]; totalMs: number }) {
  const { dns_ms, connect_ms, tls_ms, first_byte_ms } = timings;
  const stages = [
    ["DNS", dns_ms, "dns"],
    ["connect", connect_ms, "connect"],
    ["TLS", tls_ms, "tls"],
    ["first byte", first_byte_ms, "wait"],
  ] as const;
  const reached = stages.filter(([, ms]) => ms !== null);
  if (reached.length === 0) return null;
  const sum = reached.reduce((total, [, ms]) => total + (ms ?? 0), 0);
  const whole = Math.max(totalMs, sum, 0.1);
  return (
    <div class="stack tight">
      <div class="stages" aria-hidden="true">
        {reached.map(([name, ms, kind]) => (
          <i key={name} class={`stage-${kind}`} style={{ width: `${((ms ?? 0) / whole) * 100}%` }} />
        ))}
      </div>
      <div class="legend">
        {reached.map(([name, ms, kind]) => (
          <span key={name}>
            <i class={`stage-${kind}`} /> {name} {duration(ms ?? 0)}
          </span>
        ))}
      </div>
    </div>
  );
}

interface RequestProps {
  readonly request: { readonly headers: Record<string, string>; readonly body: string | null };
  /** Further lines, above the headers. */
  readonly children?: ComponentChildren;
}

/** The headers and the body of a request. */
export function Request({ request, children }: RequestProps) {
  return (
    <div class="stack tight">
      {children}
      <h3>Headers</h3>
      <HeaderLines headers={request.headers} label="Request headers" />
      <h3>Body</h3>
      {request.body === null ? (
        <p class="muted">The body is no longer stored.</p>
      ) : (
        <Code text={request.body} label="Request body" />
      )}
    </div>
  );
}
