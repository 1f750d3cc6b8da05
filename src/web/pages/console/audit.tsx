import { useEffect, useState } from "preact/hooks";
import { auditedActions } from "../../../domain/audited-actions.ts";
import { day } from "../../../domain/time.ts";
import { admin, dataOf, done, nonEmpty } from "../../client.ts";
import { ApplicationField } from "../../deliveries/applications.tsx";
import type { components } from "../../generated/admin.d.ts";
import { useList, useLoad } from "../../load.ts";
import { Button, Card, Empty, Facts, Head, LinkButton, number } from "../../parts/basics.tsx";
import { NoMatch, QueryField, QuerySelect } from "../../parts/form.tsx";
import { Dialog } from "../../parts/overlays.tsx";
import { type Column, List } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { to, useQuery } from "../../places.ts";
import { inText, isolated } from "../../text.ts";
import { namesOf, QueryUser, useUsers } from "../../users.tsx";

type Entry = components["schemas"]["AuditEntry"];

/** The periods that the filter offers, with their lengths. */
const periods = [
  ["1d", "Last 24 hours", day],
  ["7d", "Last 7 days", 7 * day],
  ["30d", "Last 30 days", 30 * day],
] as const;

/** The URL of the changed object's page; null when it has none. */
function hrefOf({ object, object_id, object_name, changes }: Entry): string | null {
  if (object === "events" && object_name !== null) {
    const [type = ""] = object_name.split("@");
    const channel = changes.find(({ field }) => field === "broadcaster_user_id")?.to;
    return to("/deliveries", { type, broadcaster: channel ? String(channel) : null });
  }
  if (object_id === null) return null;
  if (object === "applications" || object === "users") return to(`/${object}/${object_id}`);
  return object === "deliveries" ? to(`/deliveries/${object_id}`) : null;
}

/** The changed object by its name, or by its id; nothing for several objects. */
function ChangedObject({ entry }: { entry: Entry }) {
  const { object_id, object_name } = entry;
  if (object_id === null && object_name === null) return null;
  const text = object_name === null ? <code>{object_id}</code> : <bdi>{object_name}</bdi>;
  const href = hrefOf(entry);
  const title = object_id ?? undefined;
  return href ? (
    <a href={href} title={title}>
      {text}
    </a>
  ) : (
    <span title={title}>{text}</span>
  );
}

/** The fields with the id of a user. */
const userFields: ReadonlySet<string> = new Set(["broadcaster_user_id", "owner_user_id", "user_id"]);

/** Returns the text of a value in entries: a user by both names, other values as they are. */
function useValueText(entries: readonly Entry[]): (field: string, value: unknown) => string {
  const values = entries
    .flatMap(({ changes }) => changes)
    .filter(({ field }) => userFields.has(field))
    .flatMap(({ from, to }) => [from, to]);
  const users = useUsers(values.filter((value): value is number => typeof value === "number"));
  return (field, value) => {
    if (value === null) return "none";
    const user = userFields.has(field) ? users.get(value as number) : undefined;
    if (user) return `${namesOf(user)}, ${user.id}`;
    return isolated(typeof value === "string" ? value : JSON.stringify(value));
  };
}

type ValueText = ReturnType<typeof useValueText>;

/** What changed, in a line. */
function changesOf({ changes, fields, accepted, ended }: Entry, textOf: ValueText): string {
  if (accepted !== null) return `Snapshot: ${number(accepted)} accepted, ${number(ended ?? 0)} ended`;
  if (changes.length === 0) return fields.join(", ");
  return changes
    .map(({ field, from, to }) =>
      from === null
        ? `${field} ${textOf(field, to)}`
        : `${field} ${textOf(field, from)} → ${textOf(field, to)}`,
    )
    .join(", ");
}

/** The name of a row's button, which tells rows with the same change apart. */
const rowName = ({ summary, object_name, object_id, at }: Entry) =>
  [summary, object_name === null ? object_id : inText(object_name), new Date(at).toLocaleString()]
    .filter((part) => part !== null)
    .join(", ");

const placeOf = ({ address }: Entry) => address || "this machine";

/** The columns of the audit log. In a narrow table, author, address and time are lines of the change. */
function useColumns(rows: readonly Entry[], open: (entry: Entry) => void): readonly Column<Entry>[] {
  const textOf = useValueText(rows);
  return [
    { name: "When", hide: "narrow", show: ({ at }) => <Time at={at} /> },
    {
      name: "By",
      hide: "narrow",
      show: (entry) => (
        <>
          <strong class="cell">{entry.actor.name || entry.actor.id}</strong>
          <small class="cell muted">{placeOf(entry)}</small>
        </>
      ),
    },
    {
      name: "Change",
      isFilling: true,
      show: (entry) => (
        <>
          <span class="cell parts">
            <button
              type="button"
              class="linklike plain"
              aria-label={rowName(entry)}
              onClick={() => open(entry)}
            >
              {entry.summary}
            </button>
            <ChangedObject entry={entry} />
            {entry.count > 1 && <span class="muted">× {number(entry.count)}</span>}
          </span>
          <small class="cell muted" title={changesOf(entry, textOf)}>
            {changesOf(entry, textOf)}
          </small>
          <small class="cell muted only-narrow">
            <Time at={entry.at} /> · <bdi>{entry.actor.name || entry.actor.id}</bdi> · {placeOf(entry)}
          </small>
        </>
      ),
    },
  ];
}

const keyOf = (entry: Entry) => `${entry.at} ${entry.request_id} ${entry.action}`;

/** An entry with all that is known of it. */
function EntryDialog({ entry, onClose }: { entry: Entry; onClose: () => void }) {
  const { summary, action, actor, at, last_at, count, object, object_id, object_name, changes, fields } =
    entry;
  const textOf = useValueText([entry]);
  const named = changes.map(({ field }) => field);
  const unchanged = fields.filter((field) => !named.includes(field));
  const byActor = to("/audit", { key: actor.id });
  const ofObject =
    object_id === null
      ? null
      : object === "applications"
        ? to("/audit", { application: object_id })
        : object === "users"
          ? to("/audit", { user: object_id })
          : to("/audit", { object, object_id });
  return (
    <Dialog title={summary} onClose={onClose} footer={<Button onClick={onClose}>Close</Button>}>
      <Facts
        rows={[
          (object_id !== null || object_name !== null) && [
            "Object",
            <span key="object">
              {object} <ChangedObject entry={entry} />
            </span>,
          ],
          object_id !== null && [
            "Id",
            <code key="id" class="breaks">
              {object_id}
            </code>,
          ],
          ["By", <bdi key="by">{actor.name || actor.id}</bdi>],
          ["From", <code key="from">{placeOf(entry)}</code>],
          [
            "When",
            <span key="at">
              <Time at={at} />
              {count > 1 && (
                <>
                  {" "}
                  and {number(count - 1)} times more until <Time at={last_at} />
                </>
              )}
            </span>,
          ],
          ["Operation", <code key="action">{action}</code>],
          [
            "Request",
            <code key="request" class="breaks">
              {entry.request_id}
            </code>,
          ],
          entry.accepted !== null && ["Snapshot", changesOf(entry, textOf)],
          unchanged.length > 0 && ["Also in the request", unchanged.join(", ")],
        ]}
      />
      {changes.length > 0 && (
        <dl class="values">
          {changes.map(({ field, from, to }) => (
            <div key={field}>
              <dt>
                <code>{field}</code>
              </dt>
              <dd>
                <del class="breaks" title="Before">
                  {textOf(field, from)}
                </del>
                <ins class="breaks" title="After">
                  {textOf(field, to)}
                </ins>
              </dd>
            </div>
          ))}
        </dl>
      )}
      <div class="row wrap">
        {ofObject && <LinkButton href={ofObject}>All changes of this object</LinkButton>}
        <LinkButton href={byActor}>All changes by {actor.name || actor.id}</LinkButton>
      </div>
    </Dialog>
  );
}

/** The latest changes of an application or a user, and a link to all. */
export function History({ of }: { of: { readonly application: string } | { readonly user: string } }) {
  const [opened, setOpened] = useState<Entry | null>(null);
  const query = { ...of, limit: 8 };
  const loaded = useLoad(
    (signal) => dataOf(admin.GET("/admin/v1/audit", { params: { query }, signal })),
    [of],
    ["audit"],
  );
  const rows = loaded.data ?? [];
  const columns = useColumns(rows, setOpened);
  return (
    <Card
      isFlush
      title="History"
      actions={rows.length > 0 && <LinkButton href={to("/audit", of)}>View all</LinkButton>}
    >
      <List
        of={loaded}
        empty={<Empty title="No recorded changes" />}
        label="History"
        rows={rows}
        keyOf={keyOf}
        onOpen={setOpened}
        columns={columns}
      />
      {opened && <EntryDialog entry={opened} onClose={() => setOpened(null)} />}
    </Card>
  );
}

/** The audit log: all changes, with the caller, time and address. */
export function Audit() {
  const [query, setQuery] = useQuery();
  const [opened, setOpened] = useState<Entry | null>(null);
  // A link in the dialog leads to this page with other filters.
  useEffect(() => setOpened(null), [JSON.stringify(query)]);
  const { action, application, user, key, object, object_id, since } = query;
  const [, , ms] = periods.find(([name]) => name === since) ?? [];
  const after = ms === undefined ? null : new Date(Date.now() - ms).toISOString();
  const filters = nonEmpty({ action, application, user, key, object, object_id, after });
  const list = useList<Entry>(
    (page, signal) =>
      done(admin.GET("/admin/v1/audit", { params: { query: { ...filters, ...page } }, signal })),
    [query],
    ["audit"],
  );
  const columns = useColumns(list.rows, setOpened);
  const keys = useLoad((signal) => dataOf(admin.GET("/admin/v1/keys", { signal })), [], ["keys"]);
  const actions = Object.entries(auditedActions).sort(([, one], [, other]) => one.localeCompare(other));
  return (
    <>
      <Head title="Audit">Who changed what, when, and from which address. Secrets are not stored.</Head>
      <div class="filters">
        <QuerySelect
          label="Time"
          name="since"
          options={[["", "Any time"], ...periods.map(([name, words]) => [name, words] as const)]}
        />
        <QuerySelect label="Change" name="action" options={[["", "Any change"], ...actions]} />
        <ApplicationField value={application ?? ""} onInput={(application) => setQuery({ application })} />
        <QueryUser label="User" name="user" />
        <QueryField
          label="By key"
          name="key"
          placeholder="Name or id"
          list={(keys.data ?? []).map(({ name }) => name)}
        />
        {object && <QueryField label="Kind of object" name="object" />}
        {object_id && <QueryField label="Id of the object" name="object_id" />}
      </div>
      <Card isFlush>
        <List
          of={list}
          more={list.more}
          empty={Object.keys(query).length > 0 ? <NoMatch of="changes" /> : <Empty title="No changes yet" />}
          label="Audit log"
          rows={list.rows}
          keyOf={keyOf}
          onOpen={setOpened}
          columns={columns}
        />
      </Card>
      {opened && <EntryDialog key={keyOf(opened)} entry={opened} onClose={() => setOpened(null)} />}
    </>
  );
}
