import { useState } from "preact/hooks";
import { api, base, done } from "../../client.ts";
import { useDraft } from "../../draft.ts";
import { useAction } from "../../load.ts";
import { Button, Card, FaultNotice, Head } from "../../parts/basics.tsx";
import { Code, Tabs } from "../../parts/code.tsx";
import { Confirm, Field, Form, Select } from "../../parts/form.tsx";
import { SecretDialog } from "../../parts/secret.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { toast } from "../../parts/toasts.tsx";
import { type OwnApplication, useApplication } from "./application.tsx";
import { EndpointNotice } from "./overview.tsx";
import { snippets } from "./snippets.ts";

export function Webhook() {
  const { application } = useApplication();
  return (
    <>
      <Head title="Webhook">Where your events are sent, and the secret that signs them.</Head>
      <EndpointNotice application={application} />
      <div class="columns even">
        <div class="stack wide">
          <Settings application={application} />
          <Secrets application={application} />
        </div>
        <Card title="Verify what you receive">
          <div class="stack">
            <p>
              A delivery follows <a href="https://www.standardwebhooks.com">Standard Webhooks</a>. Put the
              secret into the variable <code>WEBHOOK_SECRET</code>, never into the source.{" "}
              <a href={base.replace(/portal$/, "docs/verifying")} target="_blank" rel="noopener">
                More about verifying
              </a>
            </p>
            <Tabs
              label="Languages"
              tabs={snippets.map(({ name, text }) => ({
                name,
                show: () => <Code text={text} label={`Example in ${name}`} />,
              }))}
            />
          </div>
        </Card>
      </div>
    </>
  );
}

function Settings({ application }: { application: OwnApplication }) {
  const { reload } = useApplication();
  const { locked } = application;
  const { values, changes, put } = useDraft({
    url: application.webhook_url ?? "",
    delivery: application.delivery,
    redirects: application.redirect_uris.join("\n"),
  });
  const save = useAction(async () => {
    const { url, delivery, redirects } = changes;
    const body = {
      ...(url !== undefined && { webhook_url: url || null }),
      ...(delivery && { delivery }),
      ...(redirects !== undefined && { redirect_uris: redirects.split(/\s+/).filter(Boolean) }),
    };
    await done(api.PATCH("/public/v1/application", { body }));
    toast("Saved. It holds for everything that is sent from now on.");
    reload();
  });
  const fields = save.fault?.fields ?? {};
  return (
    <Card title="Settings">
      <Form label="Settings" onSubmit={() => save.run()}>
        <Field
          label="Webhook URL"
          type="url"
          value={values.url}
          disabled={locked.includes("webhook_url")}
          hint={
            locked.includes("webhook_url")
              ? "Locked by the platform."
              : "Another URL is another endpoint: it is enabled, and what waits is sent to it."
          }
          problem={fields["webhook_url"]}
          onInput={(url) => put({ url })}
        />
        <Select
          label="Gets events by"
          value={values.delivery}
          disabled={locked.includes("delivery")}
          options={[
            ["webhook", "Webhook"],
            ["stream", "Event stream"],
            ["both", "Both"],
          ]}
          hint={
            locked.includes("delivery")
              ? "Locked by the platform."
              : "The stream is for programs that cannot receive webhooks."
          }
          onChange={(value) => put({ delivery: value as OwnApplication["delivery"] })}
        />
        <Field
          label="Redirect URIs"
          rows={3}
          value={values.redirects}
          disabled={locked.includes("redirect_uris")}
          hint={
            locked.includes("redirect_uris")
              ? "Locked by the platform."
              : "Where users who sign in may be sent back to, one in a line."
          }
          onInput={(redirects) => put({ redirects })}
        />
        <FaultNotice fault={save.fault} />
        <Button type="submit" kind="primary" isBusy={save.isBusy}>
          Save
        </Button>
      </Form>
    </Card>
  );
}

const kinds = { client_secret: "Client secret", webhook_secret: "Signing secret" } as const;

function Secrets({ application }: { application: OwnApplication }) {
  const { reload } = useApplication();
  const [isAsking, setAsking] = useState(false);
  const [overlap, setOverlap] = useState("86400");
  const [secret, setSecret] = useState<string | null>(null);
  const rotate = useAction(async () => {
    const body = { overlap_seconds: Number(overlap) };
    const { data } = await done(api.POST("/public/v1/application/webhook-secret", { body }));
    setAsking(false);
    setSecret(data.webhook_secret);
    reload();
  });
  return (
    <Card
      isFlush
      title="Secrets"
      actions={<Button onClick={() => setAsking(true)}>Rotate the signing secret</Button>}
    >
      <Table
        label="Secrets"
        rows={application.secrets}
        keyOf={({ kind, created_at, expires_at }) => `${kind} ${created_at} ${expires_at}`}
        columns={[
          { name: "Secret", show: ({ kind }) => kinds[kind] },
          {
            name: "Begins with",
            hide: "narrow",
            show: ({ prefix }) => (prefix ? <code>{prefix}…</code> : ""),
          },
          {
            name: "Made",
            show: ({ created_at }) => (created_at ? <Time at={created_at} /> : "by an earlier version"),
          },
          { name: "Ends", show: ({ expires_at }) => (expires_at ? <Time at={expires_at} /> : "in force") },
        ]}
      />
      {isAsking && (
        <Confirm
          title="Rotate the signing secret?"
          verb="Make a new secret"
          isHarmless
          isBusy={rotate.isBusy}
          fault={rotate.fault}
          onConfirm={() => rotate.run()}
          onClose={() => setAsking(false)}
        >
          <Select
            label="The old one signs, too, for"
            value={overlap}
            options={[
              ["3600", "1 hour"],
              ["86400", "1 day"],
              ["604800", "7 days"],
              ["0", "no longer: it may have leaked"],
            ]}
            onChange={setOverlap}
          />
          <p class="muted">
            While both sign, put the new one into your receiver. Nothing is refused meanwhile.
          </p>
        </Confirm>
      )}
      {secret !== null && (
        <SecretDialog
          title="The new signing secret"
          secrets={{ "Signing secret": secret }}
          onClose={() => setSecret(null)}
        />
      )}
    </Card>
  );
}
