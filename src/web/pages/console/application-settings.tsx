import { admin, done } from "../../client.ts";
import { deliveryWays } from "../../endpoint.tsx";
import { useForm } from "../../form.ts";
import type { components } from "../../generated/admin.d.ts";
import { Card } from "../../parts/basics.tsx";
import { Check, Field, Form, Select } from "../../parts/form.tsx";
import { toast } from "../../parts/toasts.tsx";
import { headerChanges, headerLines, webhookHeadersHint } from "../../webhook-headers.ts";

type Application = components["schemas"]["Application"];

const scopes = ["users:read", "events:subscribe"] as const;
const lockable = [
  ["webhook_url", "webhook URL"],
  ["webhook_headers", "webhook headers"],
  ["delivery", "delivery"],
  ["redirect_uris", "redirect URIs"],
] as const;

const text = (value: number | null) => (value === null ? "" : String(value));
const limit = (value: string) => (value.trim() === "" ? null : Number(value));
const toggled = <T,>(list: readonly T[], one: T): T[] =>
  list.includes(one) ? list.filter((other) => other !== one) : [...list, one];

/** The settings of an application that an operator may change. */
export function ApplicationSettings({
  application,
  onSaved,
}: {
  application: Application;
  onSaved: () => void;
}) {
  const { id } = application;
  const saved = {
    name: application.name,
    webhook_url: application.webhook_url ?? "",
    webhook_headers: headerLines(application.webhook_headers),
    delivery: application.delivery,
    scopes: application.scopes,
    redirect_uris: application.redirect_uris.join("\n"),
    rate_limit: text(application.rate_limit),
    subscription_limit: text(application.subscription_limit),
    webhook_concurrency: text(application.webhook_concurrency),
    locked: application.locked,
    owner_user_id: text(application.owner_user_id),
  };
  const form = useForm(saved, async (changes, values) => {
    const { name, webhook_url, webhook_headers, delivery, scopes, redirect_uris, locked, ...limits } =
      changes;
    const numbers = Object.entries(limits).map(([field, value]) => [field, limit(value)]);
    if (Object.keys(changes).length === 0) return toast("Nothing was changed.");
    const body = {
      ...(name !== undefined && { name }),
      ...(webhook_url !== undefined && { webhook_url: webhook_url || null }),
      ...(webhook_headers !== undefined && {
        webhook_headers: headerChanges(webhook_headers, {
          headers: application.webhook_headers,
          url: application.webhook_url,
          nextUrl: values.webhook_url,
        }),
      }),
      ...(delivery && { delivery }),
      ...(scopes && { scopes }),
      ...(redirect_uris !== undefined && { redirect_uris: redirect_uris.split(/\s+/).filter(Boolean) }),
      ...(locked && { locked }),
      ...Object.fromEntries(numbers),
    };
    const changed = await done(
      admin.PATCH("/admin/v1/applications/{id}", { params: { path: { id } }, body }),
    );
    // Typed values are masked from now on.
    put({ webhook_headers: headerLines(changed.webhook_headers) });
    toast("Saved. The changes apply from now on.");
    onSaved();
  });
  const { values, put, at } = form;
  return (
    <Card title="Settings">
      <Form label="Settings" of={form} verb="Save">
        <Field label="Name" required {...at("name")} />
        <Field label="Webhook URL" type="url" {...at("webhook_url")} />
        <Field label="Webhook headers" rows={2} isCode hint={webhookHeadersHint} {...at("webhook_headers")} />
        <Select
          label="Delivery method"
          value={values.delivery}
          options={deliveryWays}
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
        <Field
          label="Owner"
          type="number"
          min={1}
          placeholder="none"
          hint="The id of the user who manages it."
          {...at("owner_user_id")}
        />
        <fieldset class="stack tight">
          <legend class="label">Locked: its developer cannot change</legend>
          {lockable.map(([field, words]) => (
            <Check
              key={field}
              label={words}
              checked={values.locked.includes(field)}
              onChange={() => put({ locked: toggled(values.locked, field) })}
            />
          ))}
        </fieldset>
      </Form>
    </Card>
  );
}
