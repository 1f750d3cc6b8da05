import { useState } from "preact/hooks";
import { useLocation, useRoute } from "preact-iso";
import { admin, done } from "../../client.ts";
import { LatestDeliveries } from "../../deliveries/latest.tsx";
import { EndpointNotice } from "../../endpoint.tsx";
import type { components } from "../../generated/admin.d.ts";
import { useAction, useLoad } from "../../load.ts";
import {
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
import { Confirm } from "../../parts/dialog.tsx";
import { Read } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { toast } from "../../parts/toasts.tsx";
import { to } from "../../places.ts";
import { ApplicationActions } from "./application-actions.tsx";
import { ApplicationSettings } from "./application-settings.tsx";
import { useOperator } from "./operator.tsx";

type Application = components["schemas"]["Application"];
type Endpoint = components["schemas"]["Endpoint"];

/** One application: the state of its endpoint, its latest deliveries, its secrets and tokens, and its settings. */
export function Application() {
  const { canChange } = useOperator();
  const id = useRoute().params["id"] ?? "";
  const path = { params: { path: { id } } };
  const loaded = useLoad(
    (signal) => done(admin.GET("/admin/v1/applications/{id}", { ...path, signal })),
    [id],
    ["applications"],
  );
  const endpoint = useLoad(
    (signal) => done(admin.GET("/admin/v1/applications/{id}/endpoint", { ...path, signal })),
    [id],
    ["deliveries", "applications"],
  );
  const application = loaded.data;
  const reload = () => {
    loaded.reload();
    endpoint.reload();
  };
  return (
    <>
      <Head
        crumb={{ href: to("/applications"), text: "Applications" }}
        title={application?.name ?? "Application"}
        actions={
          application && (
            <LinkButton href={to("/deliveries", { application_id: id })}>View deliveries</LinkButton>
          )
        }
      >
        {application && (
          <>
            Client id <Value text={application.client_id} />
          </>
        )}
      </Head>
      <Read of={loaded}>
        {(application) => (
          <>
            <EndpointOf application={application} endpoint={endpoint.data} onChange={reload} />
            <div class="columns">
              <div class="stack wide">
                <LatestDeliveries query={{ application_id: id }}>
                  <p>Deliveries appear here as soon as events of its subscriptions are published.</p>
                </LatestDeliveries>
                <ApplicationActions application={application} />
              </div>
              <div class="stack wide">
                {canChange ? (
                  <ApplicationSettings key={application.id} application={application} onSaved={reload} />
                ) : (
                  <ReadOnly application={application} />
                )}
                {canChange && <Danger application={application} onChange={reload} />}
              </div>
            </div>
          </>
        )}
      </Read>
    </>
  );
}

function EndpointOf({
  application: { id, webhook_url, delivery, disabled },
  endpoint,
  onChange,
}: {
  application: Application;
  endpoint: Endpoint | null;
  onChange: () => void;
}) {
  const { canChange } = useOperator();
  if (disabled)
    return (
      <Notice
        tone="bad"
        title="The application is disabled: its tokens are refused, and nothing is delivered."
      />
    );
  if (delivery === "stream")
    return <Notice title="The application reads its events from the event stream. No webhooks are sent." />;
  if (webhook_url === null)
    return <Notice tone="warn" title="The application has no webhook URL: nothing can be delivered." />;
  if (!endpoint) return null;
  const { status, disabled_reason, failures, last_failure } = endpoint;
  const why = disabled_reason === "gone" ? "it answered 410" : "all attempts failed for 24 hours";
  const title =
    status === "disabled"
      ? `The endpoint is disabled: ${why}.`
      : `The endpoint is failing: ${failures === 1 ? "1 failed attempt" : `${number(failures)} failed attempts in a row`}.`;
  const enable = async () => {
    await done(admin.POST("/admin/v1/applications/{id}/endpoint/enable", { params: { path: { id } } }));
    onChange();
  };
  return (
    <EndpointNotice endpoint={endpoint} title={title} applicationId={id} {...(canChange && { enable })}>
      {status !== "enabled" && last_failure && (
        <p>
          {last_failure.error ?? `Response ${last_failure.status}`}{" "}
          <span class="muted">
            (<Time at={last_failure.at} />)
          </span>
        </p>
      )}
    </EndpointNotice>
  );
}

function ReadOnly({ application }: { application: Application }) {
  const limit = (value: number | null) =>
    value === null ? "the server's default" : value === 0 ? "no limit" : number(value);
  return (
    <Card title="Settings">
      <Facts
        rows={[
          ["Webhook URL", application.webhook_url ?? "none"],
          ["Delivery method", application.delivery],
          ["Scopes", application.scopes.join(", ")],
          ["Requests per minute", limit(application.rate_limit)],
          ["Subscriptions", limit(application.subscription_limit)],
          ["Locked", application.locked.join(", ") || "nothing"],
        ]}
      />
    </Card>
  );
}

/** Actions that interrupt an application, or cannot be undone. */
function Danger({
  application: { id, name, disabled },
  onChange,
}: {
  application: Application;
  onChange: () => void;
}) {
  const { route } = useLocation();
  const [asked, setAsked] = useState<"disable" | "delete" | null>(null);
  const close = () => setAsked(null);
  const path = { params: { path: { id } } };
  const set = async (value: boolean) => {
    await done(admin.PATCH("/admin/v1/applications/{id}", { ...path, body: { disabled: value } }));
    onChange();
  };
  const disable = async () => {
    await set(true);
    toast(`${name} is disabled.`, () => set(false));
  };
  const enable = useAction(async () => {
    await set(false);
    toast(`${name} is enabled.`);
  });
  const remove = async () => {
    await done(admin.DELETE("/admin/v1/applications/{id}", path));
    toast(`${name} is deleted.`);
    route(to("/applications"));
  };
  return (
    <Card title="Disable or delete">
      <div class="row wrap">
        {disabled ? (
          <Button isBusy={enable.isBusy} onClick={enable.run}>
            Enable
          </Button>
        ) : (
          <Button kind="danger" onClick={() => setAsked("disable")}>
            Disable
          </Button>
        )}
        <Button kind="danger" onClick={() => setAsked("delete")}>
          Delete
        </Button>
      </div>
      <FaultNotice fault={enable.fault} />
      {asked === "disable" && (
        <Confirm title={`Disable ${name}?`} verb="Disable" act={disable} onClose={close}>
          <p>
            Its tokens and secrets are refused at once. Pending deliveries are canceled, which cannot be
            undone; everything else can.
          </p>
        </Confirm>
      )}
      {asked === "delete" && (
        <Confirm title={`Delete ${name}?`} verb="Delete it for good" act={remove} onClose={close}>
          <p>
            The application, its tokens and its subscriptions are deleted, and pending deliveries are
            canceled. This cannot be undone. Disabling can.
          </p>
        </Confirm>
      )}
    </Card>
  );
}
