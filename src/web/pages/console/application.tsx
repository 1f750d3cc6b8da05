import { useState } from "preact/hooks";
import { useLocation, useRoute } from "preact-iso";
import { admin, done } from "../../client.ts";
import { LatestDeliveries } from "../../deliveries/list.tsx";
import {
  deliveryWays,
  EndpointNotice,
  PendingFigures,
  useMissed,
  useUrlRemoval,
  webhookBody,
  webhookFields,
  webhookHeadersHint,
} from "../../endpoint.tsx";
import { FilterList } from "../../filters/later.ts";
import { changed, useForm } from "../../form.ts";
import type { components } from "../../generated/admin.d.ts";
import { type Loaded, useAction, useLoad } from "../../load.ts";
import {
  Button,
  Card,
  Empty,
  Facts,
  FaultNotice,
  Head,
  LinkButton,
  Notice,
  number,
  Value,
} from "../../parts/basics.tsx";
import { Checks, Field, Form, Select } from "../../parts/form.tsx";
import { Confirm, toast } from "../../parts/overlays.tsx";
import { List, Read } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { to } from "../../places.ts";
import { subscriptionColumns } from "../../subscriptions.tsx";
import { inText } from "../../text.ts";
import { UserPicker, useUsers } from "../../users.tsx";
import { History } from "./audit.tsx";
import { Allowed, useCatalogue, useOperator } from "./operator.tsx";
import { SecretsAndTokens } from "./tokens.tsx";

type Application = components["schemas"]["Application"];
type Endpoint = components["schemas"]["EndpointWithPending"];

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
  const subscriptions = useLoad(
    (signal) => {
      const query = { application_id: id, limit: fewSubscriptions };
      return done(admin.GET("/admin/v1/subscriptions", { params: { query }, signal }));
    },
    [id],
    ["subscriptions"],
  );
  const missed = useMissed(id).data;
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
            {subscriptions.data?.data.length === 0 && (
              <Notice tone="warn" title="The application has no subscriptions: it gets no events.">
                <p>Its developer subscribes to events of channels, in the portal or with the public API.</p>
              </Notice>
            )}
            {application.delivery !== "stream" && application.webhook_url !== null && endpoint.data && (
              <PendingFigures endpoint={endpoint.data} missed={missed} applicationId={id} />
            )}
            <div class="columns">
              <div class="stack wide">
                <LatestDeliveries query={{ application_id: id }}>
                  <p>Deliveries appear here as soon as events of its subscriptions are published.</p>
                </LatestDeliveries>
                <SubscriptionsOf id={id} loaded={subscriptions} />
                <FiltersOf application={application} onChange={reload} />
                <SecretsAndTokens application={application} />
                <History of={{ application: id }} />
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
    return (
      <Notice tone="warn" title="The application has no webhook URL: nothing can be delivered.">
        <p>
          Set it in the settings below, or have its developer set it in the portal. A replay then sends what
          was canceled.
        </p>
      </Notice>
    );
  if (!endpoint) return null;
  const { status, disabled_reason, failures, last_failure, advice } = endpoint;
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
      {advice && <p>{advice}</p>}
    </EndpointNotice>
  );
}

/** The filters of an application. */
function FiltersOf({ application, onChange }: { application: Application; onChange: () => void }) {
  const { canChange } = useOperator();
  const path = { params: { path: { id: application.id } } };
  return (
    <Read of={useCatalogue()}>
      {(types) => (
        <FilterList
          of={{
            filters: application.filters,
            setAt: application.filters_set_at,
            types,
            canChange,
            async change(type, filter) {
              const filters = { [type]: filter };
              await done(admin.PATCH("/admin/v1/applications/{id}", { ...path, body: { filters } }));
              onChange();
            },
            test: (body, signal) =>
              done(admin.POST("/admin/v1/applications/{id}/filters/test", { ...path, body, signal })),
          }}
        />
      )}
    </Read>
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
      <Allowed roles={["operator"]} to="change them" />
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
  const [dialog, setDialog] = useState<"disable" | "delete" | null>(null);
  const close = () => setDialog(null);
  const path = { params: { path: { id } } };
  const set = async (value: boolean) => {
    await done(admin.PATCH("/admin/v1/applications/{id}", { ...path, body: { disabled: value } }));
    onChange();
  };
  const disable = async () => {
    await set(true);
    toast(`${inText(name)} is disabled.`, () => set(false));
  };
  const enable = useAction(async () => {
    await set(false);
    toast(`${inText(name)} is enabled.`);
  });
  const remove = async () => {
    await done(admin.DELETE("/admin/v1/applications/{id}", path));
    toast(`${inText(name)} is deleted.`);
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
          <Button kind="danger" onClick={() => setDialog("disable")}>
            Disable
          </Button>
        )}
        <Button kind="danger" onClick={() => setDialog("delete")}>
          Delete
        </Button>
      </div>
      <FaultNotice fault={enable.fault} />
      {dialog === "disable" && (
        <Confirm title={`Disable ${inText(name)}?`} verb="Disable" act={disable} onClose={close}>
          <p>
            Its tokens and secrets are refused at once. Pending deliveries are canceled, which cannot be
            undone; everything else can.
          </p>
        </Confirm>
      )}
      {dialog === "delete" && (
        <Confirm title={`Delete ${inText(name)}?`} verb="Delete it for good" act={remove} onClose={close}>
          <p>
            The application, its tokens and its subscriptions are deleted, and pending deliveries are
            canceled. This cannot be undone. Disabling can.
          </p>
        </Confirm>
      )}
    </Card>
  );
}

/** The most subscriptions that are listed on the page of their application. */
const fewSubscriptions = 10;

/** The subscriptions of an application, and their number. */
function SubscriptionsOf({
  id,
  loaded,
}: {
  id: string;
  loaded: Loaded<components["schemas"]["NamedSubscriptionPage"]>;
}) {
  const users = useUsers((loaded.data?.data ?? []).map(({ broadcaster_user_id }) => broadcaster_user_id));
  const all = to("/subscriptions", { application_id: id });
  return (
    <Card
      isFlush
      title="Subscriptions"
      actions={loaded.data && loaded.data.data.length > 0 && <LinkButton href={all}>View all</LinkButton>}
    >
      <List
        of={loaded}
        empty={<Empty title="No subscriptions" text="The application gets no events of any channel." />}
        label="Subscriptions"
        rows={loaded.data?.data ?? []}
        keyOf={({ id }) => id}
        columns={subscriptionColumns(users)}
      />
    </Card>
  );
}

/** The scopes that an application may have, as options. */
export const scopeOptions = [
  ["users:read", "users:read"],
  ["events:subscribe", "events:subscribe"],
] as const;
const lockable = [
  ["webhook_url", "webhook URL"],
  ["webhook_headers", "webhook headers"],
  ["filters", "filters"],
  ["delivery", "delivery"],
  ["redirect_uris", "redirect URIs"],
] as const;

const text = (value: number | null) => (value === null ? "" : String(value));
const limit = (value: string) => (value.trim() === "" ? null : Number(value));

/** The settings of an application that an operator may change. */
function ApplicationSettings({ application, onSaved }: { application: Application; onSaved: () => void }) {
  const { id } = application;
  const saved = {
    ...webhookFields(application),
    name: application.name,
    scopes: application.scopes,
    rate_limit: text(application.rate_limit),
    subscription_limit: text(application.subscription_limit),
    webhook_concurrency: text(application.webhook_concurrency),
    locked: application.locked,
    owner_user_id: application.owner_user_id,
  };
  const removal = useUrlRemoval();
  const form = useForm(`application ${id}`, saved, async (changes, values) => {
    if (Object.keys(changes).length === 0) return toast("Nothing was changed.");
    if (changes.webhook_url === "" && !(await removal.ask())) return false;
    const all = {
      ...values,
      ...webhookBody(values, application),
      rate_limit: limit(values.rate_limit),
      subscription_limit: limit(values.subscription_limit),
      webhook_concurrency: limit(values.webhook_concurrency),
    };
    const body = changed(all, changes);
    const answer = await done(admin.PATCH("/admin/v1/applications/{id}", { params: { path: { id } }, body }));
    // Typed values of headers are masked after they are saved.
    put({ webhook_headers: webhookFields(answer).webhook_headers });
    toast("Saved. The changes apply from now on.");
    onSaved();
  });
  const { put, at } = form;
  return (
    <Card title="Settings">
      <Form label="Settings" of={form} verb="Save">
        <Field label="Name" required {...at("name")} />
        <Field label="Webhook URL" type="url" {...at("webhook_url")} />
        <Field label="Webhook headers" rows={2} isCode hint={webhookHeadersHint} {...at("webhook_headers")} />
        <Select label="Delivery method" options={deliveryWays} {...at("delivery")} />
        <Checks label="Scopes" options={scopeOptions} {...at("scopes")} />
        <Field label="Redirect URIs" rows={3} hint="One per line." {...at("redirect_uris")} />
        <div class="grid small">
          <Field
            label="Requests per minute"
            type="number"
            min={0}
            placeholder="default"
            hint="0: no limit"
            {...at("rate_limit")}
          />
          <Field
            label="Subscriptions"
            type="number"
            min={0}
            placeholder="default"
            {...at("subscription_limit")}
          />
          <Field
            label="Concurrent deliveries"
            type="number"
            min={1}
            placeholder="default"
            {...at("webhook_concurrency")}
          />
        </div>
        <UserPicker label="Owner" hint="The user who manages it. Empty for none." {...at("owner_user_id")} />
        <Checks label="Locked: its developer cannot change" options={lockable} {...at("locked")} />
      </Form>
      {removal.dialog}
    </Card>
  );
}
