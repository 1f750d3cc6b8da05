import { useState } from "preact/hooks";
import { minute } from "../../../domain/time.ts";
import { api, dataOf, done } from "../../client.ts";
import { LatestDeliveries, ReplayDialog } from "../../deliveries/list.tsx";
import type { DeliveryQuery } from "../../deliveries/source.ts";
import { EndpointNotice, PendingFigures, useMissed } from "../../endpoint.tsx";
import { NoticesCard, withLocalTimes } from "../../notices.tsx";
import { Bar, Button, Card, Facts, Head, LinkButton, Notice, number, Value } from "../../parts/basics.tsx";
import { Time } from "../../parts/time.tsx";
import { to } from "../../places.ts";
import { OutcomeCard, type Range } from "../../statistics.tsx";
import { type OwnApplication, useApplication } from "./application.tsx";
import { AtTheLimit } from "./requests.tsx";

async function ownNotices(limit: number, signal: AbortSignal) {
  const data = await dataOf(
    api.GET("/public/v1/application/notices", { params: { query: { limit } }, signal }),
  );
  return data.map(({ data, ...notice }) => ({ ...notice, summary: data.summary, advice: data.advice }));
}

function ownStatistics(range: Range, signal: AbortSignal) {
  return dataOf(api.GET("/public/v1/application/statistics", { params: { query: { range } }, signal }));
}

export function Overview() {
  const { application } = useApplication();
  const missed = useMissed().data;
  const { delivery, endpoint, webhook_url } = application;
  return (
    <>
      <Head title={application.name} actions={<LinkButton href={to("/test")}>Send test event</LinkButton>} />
      <OwnEndpoint />
      <AtTheLimit isLinked />
      {endpoint.status === "enabled" && <Missed page={missed} />}
      {delivery !== "stream" && webhook_url !== null && (
        <PendingFigures endpoint={endpoint} missed={missed} />
      )}
      <div class="columns">
        <div class="stack wide">
          <OutcomeCard read={ownStatistics} />
          <LatestDeliveries>
            <p>Subscribe to an event of a channel. Its deliveries appear here as soon as it is published.</p>
            <div class="row">
              <LinkButton href={to("/subscriptions")}>Subscribe</LinkButton>
            </div>
          </LatestDeliveries>
          <NoticesCard read={ownNotices} />
        </div>
        <div class="stack wide">
          <Budget application={application} />
          <Card title="Your application">
            <Facts
              rows={[
                ["Client id", <Value text={application.client_id} key="id" />],
                [
                  "Webhook URL",
                  application.webhook_url ? <Value text={application.webhook_url} key="url" /> : "none",
                ],
                [
                  "Delivery method",
                  { webhook: "webhook", stream: "stream", both: "webhook and stream" }[application.delivery],
                ],
                ["Scopes", application.scopes.join(", ")],
              ]}
            />
          </Card>
        </div>
      </div>
    </>
  );
}

type MissedPage = ReturnType<typeof useMissed>["data"];

/** Offers to send what was missed while the endpoint did not work. Renders nothing when nothing was. */
function Missed({ page }: { page: MissedPage }) {
  // The query is kept while the dialog of the replay is open, because deliveries that are sent again are not missed.
  const [replayed, setReplayed] = useState<DeliveryQuery | null>(null);
  return (
    <>
      {page && page.data.length > 0 && <MissedNotice page={page} onReplay={setReplayed} />}
      {replayed && <ReplayDialog filters={replayed} onClose={() => setReplayed(null)} />}
    </>
  );
}

interface MissedNoticeProps {
  readonly page: NonNullable<MissedPage>;
  readonly onReplay: (filters: DeliveryQuery) => void;
}

function MissedNotice({ page: { data, pagination }, onReplay }: MissedNoticeProps) {
  const count = `${number(data.length)}${pagination.has_more ? " or more" : ""}`;
  const isOne = count === "1";
  const [newest = "", oldest = ""] = [data[0]?.created_at, data.at(-1)?.created_at];
  const before = new Date(Date.parse(newest) + minute).toISOString();
  return (
    <Notice tone="warn" title={isOne ? "1 event was missed" : `${count} events were missed`}>
      <p>
        Published between <Time at={oldest} /> and <Time at={newest} />, and not delivered.
      </p>
      <div class="row">
        <Button kind="primary" onClick={() => onReplay({ status: "missed", after: oldest, before })}>
          {isOne ? "Send it again" : "Send them again"}
        </Button>
        <LinkButton href={to("/deliveries", { status: "missed" })}>
          {isOne ? "Show it" : "Show them"}
        </LinkButton>
      </div>
    </Notice>
  );
}

/** The URL of the form that changes the webhook URL. */
const toWebhookUrl = to("/webhook", { change: "url" });

/** The state of the application's endpoint, and what to do next. */
export function OwnEndpoint() {
  const { application, reload } = useApplication();
  const { delivery, webhook_url, endpoint } = application;
  const { status, summary, advice, last_failure } = endpoint;
  if (delivery === "stream") return <Notice tone="ok" title={withLocalTimes(summary)} />;
  if (webhook_url === null) {
    return (
      <Notice tone="warn" title={withLocalTimes(summary)}>
        <div class="row">
          <LinkButton href={toWebhookUrl}>Set the webhook URL</LinkButton>
        </div>
      </Notice>
    );
  }
  return (
    <EndpointNotice
      endpoint={endpoint}
      enable={async () => {
        await done(api.POST("/public/v1/application/endpoint/enable"));
        reload();
      }}
      link={<LinkButton href={toWebhookUrl}>Change the webhook URL</LinkButton>}
    >
      {advice && <p>{advice}</p>}
      {status !== "enabled" && last_failure && (
        <p class="muted">
          Last failure <Time at={last_failure.at} />
        </p>
      )}
    </EndpointNotice>
  );
}

function Budget({ application: { rate_limit, subscriptions } }: { application: OwnApplication }) {
  const { limit, remaining } = rate_limit;
  const used = remaining === null ? 0 : limit - remaining;
  return (
    <Card title="Limits">
      <div class="stack">
        <div class="stack tight">
          <div class="row between">
            <span>Subscriptions</span>
            <span class="muted">
              {number(subscriptions.used)} of {number(subscriptions.limit)}
            </span>
          </div>
          <Bar part={subscriptions.used / Math.max(1, subscriptions.limit)} label="Subscriptions used" />
        </div>
        <div class="stack tight">
          <div class="row between">
            <a href={to("/requests")}>Requests per minute</a>
            <span class="muted">{limit === 0 ? "no limit" : `${number(used)} of ${number(limit)}`}</span>
          </div>
          {limit > 0 && <Bar part={used / limit} label="Requests used" />}
          <small class="muted">Requests of these pages are not counted.</small>
        </div>
      </div>
    </Card>
  );
}
