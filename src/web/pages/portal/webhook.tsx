import { useEffect, useState } from "preact/hooks";
import { api, done } from "../../client.ts";
import {
  deliveryWays,
  useUrlRemoval,
  webhookBody,
  webhookFields,
  webhookHeadersHint,
} from "../../endpoint.tsx";
import { changed, useForm } from "../../form.ts";
import { Button, Card, Head } from "../../parts/basics.tsx";
import { Code, Tabs } from "../../parts/code.tsx";
import { Field, Form, Select } from "../../parts/form.tsx";
import { toast } from "../../parts/overlays.tsx";
import { RotateDialog, SecretTable } from "../../parts/secret.tsx";
import { docs, useQuery } from "../../places.ts";
import { type OwnApplication, useApplication } from "./application.tsx";
import { OwnEndpoint } from "./overview.tsx";
import { snippets } from "./snippets.ts";

export function Webhook() {
  const { application } = useApplication();
  return (
    <>
      <Head title="Webhook">The URL to which your events are sent, and the secret that signs them.</Head>
      <OwnEndpoint />
      <div class="columns even">
        <div class="stack wide">
          <Settings application={application} />
          <Secrets application={application} />
        </div>
        <Card title="Verify deliveries">
          <div class="stack">
            <p>
              A delivery follows <a href="https://www.standardwebhooks.com">Standard Webhooks</a>. Put the
              secret into the variable <code>WEBHOOK_SECRET</code>, never into the source.{" "}
              <a href={`${docs}/verifying`} target="_blank" rel="noopener">
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

const urlField = "webhook_url";

/** Focuses the field of the webhook URL when a link asks for it, and removes that from the page's URL. */
function useFieldOfQuery(): void {
  const [{ change }, setQuery] = useQuery();
  useEffect(() => {
    if (change !== "url") return;
    // The heading gets the focus first, when the page has changed.
    const timer = setTimeout(() => {
      setQuery({ change: null });
      const field = document.querySelector<HTMLInputElement>(`input[name="${urlField}"]`);
      field?.scrollIntoView({ block: "center" });
      field?.focus();
    });
    return () => clearTimeout(timer);
  }, [change]);
}

function Settings({ application }: { application: OwnApplication }) {
  const { reload } = useApplication();
  const { locked } = application;
  const removal = useUrlRemoval();
  useFieldOfQuery();
  const form = useForm("webhook", webhookFields(application), async (changes, values) => {
    if (changes.webhook_url === "" && !(await removal.ask())) return false;
    const body = changed(webhookBody(values, application), changes);
    const { data } = await done(api.PATCH("/public/v1/application", { body }));
    // Typed values of headers are masked after they are saved.
    form.put({ webhook_headers: webhookFields(data).webhook_headers });
    toast("Saved. The changes apply to all deliveries from now on.");
    reload();
  });
  const lockable = (field: (typeof locked)[number], hint: string) =>
    locked.includes(field) ? { disabled: true, hint: "Locked by the platform." } : { hint };
  return (
    <Card title="Settings">
      <Form label="Settings" of={form} verb="Save">
        <Field
          label="Webhook URL"
          type="url"
          name={urlField}
          {...lockable("webhook_url", "A new URL is enabled at once, and pending deliveries are sent to it.")}
          {...form.at("webhook_url")}
        />
        <Field
          label="Webhook headers"
          rows={2}
          isCode
          {...lockable("webhook_headers", webhookHeadersHint)}
          {...form.at("webhook_headers")}
        />
        <Select
          label="Delivery method"
          options={deliveryWays}
          {...lockable("delivery", "The event stream is for programs that cannot receive webhooks.")}
          {...form.at("delivery")}
        />
        <Field
          label="Redirect URIs"
          rows={3}
          {...lockable(
            "redirect_uris",
            "URIs to which users may be redirected after they sign in, one per line.",
          )}
          {...form.at("redirect_uris")}
        />
      </Form>
      {removal.dialog}
    </Card>
  );
}

function Secrets({ application }: { application: OwnApplication }) {
  const { reload } = useApplication();
  const [isRotating, setRotating] = useState(false);
  const rotate = async (body: { overlap_seconds: number }) => {
    const { data } = await done(api.POST("/public/v1/application/webhook-secret", { body }));
    reload();
    return data.webhook_secret;
  };
  return (
    <Card
      isFlush
      title="Secrets"
      actions={<Button onClick={() => setRotating(true)}>Rotate signing secret</Button>}
    >
      <SecretTable secrets={application.secrets} />
      {isRotating && (
        <RotateDialog kind="webhook_secret" rotate={rotate} onClose={() => setRotating(false)} />
      )}
    </Card>
  );
}
