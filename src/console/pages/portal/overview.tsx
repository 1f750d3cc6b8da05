import { api, done } from "../../client.ts";
import { LatestDeliveries } from "../../deliveries/latest.tsx";
import { useAction } from "../../load.ts";
import { NoticesCard, withLocalTimes } from "../../notices.tsx";
import {
  Bar,
  Button,
  Card,
  Facts,
  FaultNotice,
  Head,
  LinkButton,
  Notice,
  number,
  Value,
} from "../../parts/basics.tsx";
import { Time } from "../../parts/time.tsx";
import { toast } from "../../parts/toasts.tsx";
import { to } from "../../places.ts";
import { OutcomeCard, type Range } from "../../statistics/plots.tsx";
import { type OwnApplication, useApplication } from "./application.tsx";

async function ownNotices(limit: number, signal: AbortSignal) {
  const { data } = await done(
    api.GET("/public/v1/application/notices", { params: { query: { limit } }, signal }),
  );
  return data.map(({ data, ...notice }) => ({ ...notice, summary: data.summary, advice: data.advice }));
}

async function ownStatistics(range: Range, signal: AbortSignal) {
  return (await done(api.GET("/public/v1/application/statistics", { params: { query: { range } }, signal })))
    .data;
}

export function Overview() {
  const { application } = useApplication();
  return (
    <>
      <Head title={application.name} actions={<LinkButton href={to("/test")}>Send a test</LinkButton>} />
      <EndpointNotice application={application} />
      <div class="columns">
        <div class="stack wide">
          <OutcomeCard read={ownStatistics} />
          <LatestDeliveries>
            <p>Subscribe to an event of a channel, and it appears here as soon as it happens.</p>
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
                  "Gets events by",
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

/** The state of the endpoint in one sentence, and what to do next. */
export function EndpointNotice({ application }: { application: OwnApplication }) {
  const { reload } = useApplication();
  const enable = useAction(async () => {
    await done(api.POST("/public/v1/application/endpoint/enable"));
    toast("The endpoint is enabled. What waits is sent now.");
    reload();
  });
  const { status, summary, advice, last_failure, last_success_at, disabled_reason } = application.endpoint;
  const isWithout = application.webhook_url === null && application.delivery !== "stream";
  const tone = isWithout || status === "failing" ? "warn" : status === "disabled" ? "bad" : "ok";
  if (status === "enabled" && application.delivery !== "stream" && !isWithout && last_success_at) {
    return (
      <Notice tone="ok" title="The endpoint takes what is sent to it.">
        <p class="muted">
          Last success <Time at={last_success_at} />
        </p>
      </Notice>
    );
  }
  return (
    <Notice tone={tone} title={withLocalTimes(summary)}>
      {advice && !isWithout && <p>{advice}</p>}
      {status !== "enabled" && last_failure && (
        <p class="muted">
          Last failure <Time at={last_failure.at} />
        </p>
      )}
      <FaultNotice fault={enable.fault} />
      {(status !== "enabled" || isWithout) && (
        <div class="row wrap">
          {status !== "enabled" && !isWithout && (
            <Button isSmall kind="primary" isBusy={enable.isBusy} onClick={() => enable.run()}>
              {status === "disabled" ? "Enable the endpoint" : "Try everything again now"}
            </Button>
          )}
          <LinkButton href={to("/webhook")}>
            {isWithout ? "Set the webhook URL" : "Change the webhook URL"}
          </LinkButton>
          {/* What failed is tried again, or waits while the endpoint is disabled; but a 410 ends its delivery. */}
          {status !== "enabled" && !isWithout && (
            <LinkButton
              href={to("/deliveries", { status: disabled_reason === "gone" ? "failed" : "pending" })}
            >
              See what failed
            </LinkButton>
          )}
        </div>
      )}
    </Notice>
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
            <span>Requests a minute</span>
            <span class="muted">{limit === 0 ? "no limit" : `${number(used)} of ${number(limit)}`}</span>
          </div>
          {limit > 0 && <Bar part={used / limit} label="Requests used" />}
          <small class="muted">This page takes from it, too.</small>
        </div>
      </div>
    </Card>
  );
}
