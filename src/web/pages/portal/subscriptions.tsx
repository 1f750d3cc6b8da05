import { Plus } from "lucide";
import { useState } from "preact/hooks";
import type { components } from "../../../client/api.d.ts";
import { api, done, Fault, nonEmpty } from "../../client.ts";
import { useForm } from "../../form.ts";
import { pageSize, useLoad } from "../../load.ts";
import { Button, Card, Empty, Head, LinkButton, Notice, number } from "../../parts/basics.tsx";
import { Checks, QueryField } from "../../parts/form.tsx";
import { Confirm, FormDialog, toast } from "../../parts/overlays.tsx";
import { List } from "../../parts/table.tsx";
import { to, useQuery } from "../../places.ts";
import { channelOf, subscriptionColumns } from "../../subscriptions.tsx";
import { inText } from "../../text.ts";
import { namesOf, QueryUser, UserPicker, useUserSource, useUsers } from "../../users.tsx";
import { useEventTypes } from "./application.tsx";

type Subscription = components["schemas"]["NamedSubscription"];

/** The most pages that are listed. Subscriptions on further pages are found by their channel. */
const maxPages = 20;

export function Subscriptions() {
  const [query] = useQuery();
  const [isAdding, setAdding] = useState(Boolean(query["event"]));
  const [removing, setRemoving] = useState<Subscription | null>(null);
  const find = (query["find"] ?? "").trim();
  const broadcaster = Number(query["broadcaster"]) || null;
  const loaded = useLoad((signal) => subscriptionsOf(broadcaster, signal), [broadcaster], ["subscriptions"]);
  const wanted = find.toLowerCase();
  const all = loaded.data?.found ?? [];
  const users = useUsers(all.map(({ broadcaster_user_id }) => broadcaster_user_id));
  const fits = (row: Subscription) =>
    [
      row.id.toLowerCase(),
      row.event,
      channelOf(row).toLowerCase(),
      row.username?.toLowerCase() ?? "",
      users.get(row.broadcaster_user_id ?? 0)?.display_name.toLowerCase() ?? "",
      String(row.broadcaster_user_id),
    ].some((text) => text.includes(wanted));
  const rows = wanted === "" ? all : all.filter(fits);
  return (
    <>
      <Head
        title="Subscriptions"
        actions={
          <Button kind="primary" icon={Plus} onClick={() => setAdding(true)}>
            Subscribe
          </Button>
        }
      >
        The events of channels that your application receives.
      </Head>
      <div class="filters">
        <QueryUser label="Channel" name="broadcaster" />
        <QueryField isWide label="Find" name="find" placeholder="Event, channel or id" />
      </div>
      <Card
        isFlush
        title={
          loaded.data
            ? `${number(rows.length)} ${rows.length === 1 ? "subscription" : "subscriptions"}`
            : "Subscriptions"
        }
      >
        {loaded.data && !loaded.data.isAll && (
          <p class="sample muted">
            Only the first {number(pageSize * maxPages)} are listed. To find others, choose a channel.
          </p>
        )}
        <List
          of={loaded}
          empty={
            wanted || broadcaster !== null ? (
              <Empty title="No matching subscriptions" text="Try another channel, event or id." />
            ) : (
              <Empty title="No subscriptions yet" text="Subscribe to the events of a channel." />
            )
          }
          label="Subscriptions"
          rows={rows}
          keyOf={({ id }) => id}
          columns={[
            ...subscriptionColumns<Subscription>(users),
            {
              name: "",
              isNumber: true,
              show: (row) => (
                <span class="row end">
                  <LinkButton
                    kind="quiet small hide-narrow"
                    href={to("/deliveries", { subscription_id: row.id })}
                    of={titleOf(row)}
                  >
                    Deliveries
                  </LinkButton>
                  <Button isSmall kind="quiet" of={titleOf(row)} onClick={() => setRemoving(row)}>
                    Delete
                  </Button>
                </span>
              ),
            },
          ]}
        />
      </Card>
      {isAdding && (
        <SubscribeDialog
          event={query["event"] ?? null}
          onClose={() => setAdding(false)}
          onDone={loaded.reload}
        />
      )}
      {removing && (
        <RemoveDialog subscription={removing} onClose={() => setRemoving(null)} onDone={loaded.reload} />
      )}
    </>
  );
}

const titleOf = (subscription: Subscription) => `${subscription.event} of ${inText(channelOf(subscription))}`;

/** Reads the first subscriptions, of all channels or of the one of this user. */
async function subscriptionsOf(broadcaster: number | null, signal: AbortSignal) {
  const found: Subscription[] = [];
  let cursor = "";
  for (let page = 0; page < maxPages; page++) {
    const query = { limit: pageSize, ...nonEmpty({ broadcaster_user_id: broadcaster, cursor }) };
    const answer = await done(api.GET("/public/v1/application/subscriptions", { params: { query }, signal }));
    found.push(...answer.data);
    cursor = answer.pagination.cursor;
    if (cursor === "") break;
  }
  return { found, isAll: cursor === "" };
}

async function subscribe(events: readonly { name: string; version: number }[], userId: number | null) {
  const body = { events: [...events], method: "webhook" as const, broadcaster_user_id: userId };
  const { data } = await done(api.POST("/public/v1/events/subscriptions", { body }));
  const refused = data.find((item) => "error" in item);
  if (refused && "error" in refused)
    throw new Fault(`${refused.name}: ${refused.error}`, "subscription_failed", 400);
}

function SubscribeDialog({
  event,
  onClose,
  onDone,
}: {
  event: string | null;
  onClose: () => void;
  onDone: () => void;
}) {
  const types = useEventTypes().data ?? [];
  const newest = [...new Map(types.map((type) => [type.name, type])).values()];
  const source = useUserSource();
  const initial: { channel: number | null; events: readonly string[] } = {
    channel: null,
    events: event ? [event] : [],
  };
  const form = useForm("subscription", initial, async (_, { channel, events }) => {
    if (channel === null) return;
    await subscribe(
      newest.filter(({ name }) => events.includes(name)),
      channel,
    );
    const [user] = await source.byIds([channel], new AbortController().signal).catch(() => []);
    const whose = user ? namesOf(user) : `channel ${channel}`;
    toast(`Subscribed to ${events.length === 1 ? "1 event" : `${events.length} events`} of ${whose}.`);
    onDone();
    onClose();
  });
  const { channel, events } = form.values;
  return (
    <FormDialog
      title="Subscribe"
      verb="Subscribe"
      of={form}
      disabled={events.length === 0 || channel === null}
      onClose={onClose}
    >
      <UserPicker label="Channel" required {...form.at("channel")} />
      <Checks
        label="Events"
        isBare
        options={newest.map(({ name, description }) => [
          name,
          <>
            {name} <small class="muted">{description}</small>
          </>,
        ])}
        {...form.at("events")}
      />
    </FormDialog>
  );
}

function RemoveDialog({
  subscription,
  onClose,
  onDone,
}: {
  subscription: Subscription;
  onClose: () => void;
  onDone: () => void;
}) {
  const { id, event, version, broadcaster_user_id } = subscription;
  const act = async () => {
    await done(api.DELETE("/public/v1/events/subscriptions", { params: { query: { id: [id] } } }));
    toast("Subscription deleted.", async () => {
      await subscribe([{ name: event, version }], broadcaster_user_id).catch((error) => toast(error.message));
      onDone();
    });
    onDone();
  };
  return (
    <Confirm title="Delete this subscription?" verb="Delete" act={act} onClose={onClose}>
      <p>
        Your application no longer receives <code>{event}</code> of <bdi>{channelOf(subscription)}</bdi>.
      </p>
      <Notice tone="warn" title="Pending deliveries are canceled. Subscribing again does not restore them." />
    </Confirm>
  );
}
