import { useState } from "preact/hooks";
import { admin, done } from "../../client.ts";
import type { components } from "../../generated/admin.d.ts";
import { useAction } from "../../load.ts";
import { Button, Card, FaultNotice, toast, Value } from "../../parts/basics.tsx";
import { Check, Field, Form, Select } from "../../parts/form.tsx";

type Application = components["schemas"]["Application"];

const scopes = ["users:read", "events:subscribe"] as const;
const lockable = [
  ["webhook_url", "webhook URL"],
  ["delivery", "delivery"],
  ["redirect_uris", "redirect URIs"],
] as const;

const text = (value: number | null) => (value === null ? "" : String(value));
const limit = (value: string) => (value.trim() === "" ? null : Number(value));
const toggled = <T,>(list: readonly T[], one: T): T[] =>
  list.includes(one) ? list.filter((other) => other !== one) : [...list, one];

/** What an operator may change of an application. */
export function ApplicationSettings({
  application,
  onSaved,
}: {
  application: Application;
  onSaved: () => void;
}) {
  const { id } = application;
  const [name, setName] = useState(application.name);
  const [url, setUrl] = useState(application.webhook_url ?? "");
  const [delivery, setDelivery] = useState(application.delivery);
  const [granted, setGranted] = useState<readonly string[]>(application.scopes);
  const [redirects, setRedirects] = useState(application.redirect_uris.join("\n"));
  const [rate, setRate] = useState(text(application.rate_limit));
  const [subscriptions, setSubscriptions] = useState(text(application.subscription_limit));
  const [concurrency, setConcurrency] = useState(text(application.webhook_concurrency));
  const [locked, setLocked] = useState<Application["locked"]>(application.locked);
  const [owner, setOwner] = useState(text(application.owner_user_id));
  const save = useAction(async () => {
    const wanted = {
      name,
      webhook_url: url || null,
      delivery,
      scopes: [...granted],
      redirect_uris: redirects.split(/\s+/).filter(Boolean),
      rate_limit: limit(rate),
      subscription_limit: limit(subscriptions),
      webhook_concurrency: limit(concurrency),
      locked,
      owner_user_id: limit(owner),
    };
    const changed = Object.entries(wanted).filter(([field, value]) => {
      return JSON.stringify(value) !== JSON.stringify(application[field as keyof typeof wanted]);
    });
    if (changed.length === 0) return toast("Nothing was changed.");
    await done(
      admin.PATCH("/admin/v1/applications/{id}", {
        params: { path: { id } },
        body: Object.fromEntries(changed),
      }),
    );
    toast("Saved. It holds for every request and delivery from now on.");
    onSaved();
  });
  const fields = save.fault?.fields ?? {};
  return (
    <Card title="Settings" actions={<Value text={application.client_id} />}>
      <Form label="Settings" onSubmit={() => save.run()}>
        <Field label="Name" value={name} required problem={fields["name"]} onInput={setName} />
        <Field label="Webhook URL" type="url" value={url} problem={fields["webhook_url"]} onInput={setUrl} />
        <Select
          label="Gets events by"
          value={delivery}
          options={[
            ["webhook", "Webhook"],
            ["stream", "Event stream"],
            ["both", "Both"],
          ]}
          onChange={(value) => setDelivery(value as Application["delivery"])}
        />
        <fieldset class="stack tight">
          <legend class="label">Scopes</legend>
          {scopes.map((scope) => (
            <Check
              key={scope}
              label={scope}
              checked={granted.includes(scope)}
              onChange={() => setGranted(toggled(granted, scope))}
            />
          ))}
        </fieldset>
        <Field
          label="Redirect URIs"
          rows={3}
          value={redirects}
          hint="One in a line."
          problem={fields["redirect_uris[0]"]}
          onInput={setRedirects}
        />
        <div class="grid small">
          <Field
            label="Requests a minute"
            type="number"
            min={0}
            placeholder="default"
            hint="0: no limit"
            value={rate}
            problem={fields["rate_limit"]}
            onInput={setRate}
          />
          <Field
            label="Subscriptions"
            type="number"
            min={0}
            placeholder="default"
            value={subscriptions}
            problem={fields["subscription_limit"]}
            onInput={setSubscriptions}
          />
          <Field
            label="Deliveries at once"
            type="number"
            min={1}
            placeholder="default"
            value={concurrency}
            problem={fields["webhook_concurrency"]}
            onInput={setConcurrency}
          />
        </div>
        <Field
          label="Owner"
          type="number"
          min={1}
          placeholder="nobody"
          hint="The id of the user who looks after it."
          value={owner}
          problem={fields["owner_user_id"]}
          onInput={setOwner}
        />
        <fieldset class="stack tight">
          <legend class="label">Locked: its developer may not change</legend>
          {lockable.map(([field, words]) => (
            <Check
              key={field}
              label={words}
              checked={locked.includes(field)}
              onChange={() => setLocked(toggled(locked, field))}
            />
          ))}
        </fieldset>
        <FaultNotice fault={save.fault} />
        <Button type="submit" kind="primary" isBusy={save.isBusy}>
          Save
        </Button>
      </Form>
    </Card>
  );
}
