import { admin, done } from "../../client.ts";
import { useDraft } from "../../draft.ts";
import type { components } from "../../generated/admin.d.ts";
import { useAction } from "../../load.ts";
import { Button, Card, FaultNotice } from "../../parts/basics.tsx";
import { Check, Field, Form, Select } from "../../parts/form.tsx";
import { toast } from "../../parts/toasts.tsx";

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
  const { values, changes, put } = useDraft({
    name: application.name,
    webhook_url: application.webhook_url ?? "",
    delivery: application.delivery,
    scopes: application.scopes,
    redirect_uris: application.redirect_uris.join("\n"),
    rate_limit: text(application.rate_limit),
    subscription_limit: text(application.subscription_limit),
    webhook_concurrency: text(application.webhook_concurrency),
    locked: application.locked,
    owner_user_id: text(application.owner_user_id),
  });
  const save = useAction(async () => {
    const { name, webhook_url, delivery, scopes, redirect_uris, locked, ...limits } = changes;
    const numbers = Object.entries(limits).map(([field, value]) => [field, limit(value)]);
    if (Object.keys(changes).length === 0) return toast("Nothing was changed.");
    const body = {
      ...(name !== undefined && { name }),
      ...(webhook_url !== undefined && { webhook_url: webhook_url || null }),
      ...(delivery && { delivery }),
      ...(scopes && { scopes }),
      ...(redirect_uris !== undefined && { redirect_uris: redirect_uris.split(/\s+/).filter(Boolean) }),
      ...(locked && { locked }),
      ...Object.fromEntries(numbers),
    };
    await done(admin.PATCH("/admin/v1/applications/{id}", { params: { path: { id } }, body }));
    toast("Saved. It holds for every request and delivery from now on.");
    onSaved();
  });
  const fields = save.fault?.fields ?? {};
  return (
    <Card title="Settings">
      <Form label="Settings" onSubmit={() => save.run()}>
        <Field
          label="Name"
          value={values.name}
          required
          problem={fields["name"]}
          onInput={(name) => put({ name })}
        />
        <Field
          label="Webhook URL"
          type="url"
          value={values.webhook_url}
          problem={fields["webhook_url"]}
          onInput={(webhook_url) => put({ webhook_url })}
        />
        <Select
          label="Gets events by"
          value={values.delivery}
          options={[
            ["webhook", "Webhook"],
            ["stream", "Event stream"],
            ["both", "Both"],
          ]}
          onChange={(value) => put({ delivery: value as Application["delivery"] })}
        />
        <fieldset class="stack tight">
          <legend class="label">Scopes</legend>
          {scopes.map((scope) => (
            <Check
              key={scope}
              label={scope}
              checked={values.scopes.includes(scope)}
              onChange={() => put({ scopes: toggled(values.scopes, scope) })}
            />
          ))}
        </fieldset>
        <Field
          label="Redirect URIs"
          rows={3}
          value={values.redirect_uris}
          hint="One in a line."
          problem={fields["redirect_uris[0]"]}
          onInput={(redirect_uris) => put({ redirect_uris })}
        />
        <div class="grid small">
          <Field
            label="Requests a minute"
            type="number"
            min={0}
            placeholder="default"
            hint="0: no limit"
            value={values.rate_limit}
            problem={fields["rate_limit"]}
            onInput={(rate_limit) => put({ rate_limit })}
          />
          <Field
            label="Subscriptions"
            type="number"
            min={0}
            placeholder="default"
            value={values.subscription_limit}
            problem={fields["subscription_limit"]}
            onInput={(subscription_limit) => put({ subscription_limit })}
          />
          <Field
            label="Deliveries at once"
            type="number"
            min={1}
            placeholder="default"
            value={values.webhook_concurrency}
            problem={fields["webhook_concurrency"]}
            onInput={(webhook_concurrency) => put({ webhook_concurrency })}
          />
        </div>
        <Field
          label="Owner"
          type="number"
          min={1}
          placeholder="nobody"
          hint="The id of the user who looks after it."
          value={values.owner_user_id}
          problem={fields["owner_user_id"]}
          onInput={(owner_user_id) => put({ owner_user_id })}
        />
        <fieldset class="stack tight">
          <legend class="label">Locked: its developer may not change</legend>
          {lockable.map(([field, words]) => (
            <Check
              key={field}
              label={words}
              checked={values.locked.includes(field)}
              onChange={() => put({ locked: toggled(values.locked, field) })}
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
