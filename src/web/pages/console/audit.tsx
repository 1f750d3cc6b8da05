import { day } from "../../../domain/time.ts";
import { admin, done } from "../../client.ts";
import { useApplicationNames } from "../../deliveries/application-names.tsx";
import type { components } from "../../generated/admin.d.ts";
import { useList } from "../../list.ts";
import { Button, Card, Empty, Head, number } from "../../parts/basics.tsx";
import { QueryField, QuerySelect } from "../../parts/form.tsx";
import { List } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { to, useQuery } from "../../places.ts";

type Entry = components["schemas"]["AuditEntry"];

const days = { "1d": 1, "7d": 7, "30d": 30 } as const;

/** The URL of the changed object's page; null when it has none. */
function hrefOf({ object, object_id }: Entry): string | null {
  if (object_id === null) return null;
  if (object === "applications" || object === "users") return to(`/${object}/${object_id}`);
  return object === "deliveries" ? to(`/deliveries/${object_id}`) : null;
}

function ChangedObject({ entry, name }: { entry: Entry; name: string | undefined }) {
  const href = hrefOf(entry);
  const text = entry.object_id ?? entry.object;
  if (!href) return <code class="cell">{text}</code>;
  return (
    <a class="cell" href={href} title={text}>
      {name ?? <code>{text}</code>}
    </a>
  );
}

/** The audit log: all changes, with the caller, time and address. */
export function Audit() {
  const [query, , clear] = useQuery();
  const { action, object_id, key, since } = query;
  const filters = {
    ...(action && { action }),
    ...(object_id && { object_id }),
    ...(key && { key }),
    ...(since &&
      since in days && {
        after: new Date(Date.now() - days[since as keyof typeof days] * day).toISOString(),
      }),
  };
  const list = useList<Entry>(
    (page, signal) =>
      done(admin.GET("/admin/v1/audit", { params: { query: { ...filters, ...page } }, signal })),
    [query],
    ["audit"],
  );
  const names = useApplicationNames(
    list.rows.flatMap(({ object, object_id }) => (object === "applications" ? (object_id ?? []) : [])),
  );
  const isFiltered = Object.keys(query).length > 0;
  return (
    <>
      <Head title="Audit">Who changed what, when, and from which address. Values are not stored.</Head>
      <div class="filters">
        <QuerySelect
          label="Time"
          name="since"
          options={[
            ["", "Any time"],
            ["1d", "Last 24 hours"],
            ["7d", "Last 7 days"],
            ["30d", "Last 30 days"],
          ]}
        />
        <QueryField label="Action" name="action" placeholder="changeApplication" />
        <QueryField label="Object" name="object_id" placeholder="Id" />
        <QueryField label="Key" name="key" placeholder="Id" />
      </div>
      <Card isFlush>
        <List
          of={list}
          more={list.more}
          empty={
            <Empty title={isFiltered ? "No changes match these filters" : "No changes yet"}>
              {isFiltered && (
                <div class="row">
                  <Button onClick={clear}>Clear filters</Button>
                </div>
              )}
            </Empty>
          }
          label="Audit log"
          rows={list.rows}
          keyOf={(entry) => `${entry.at} ${entry.request_id} ${entry.action}`}
          columns={[
            { name: "When", show: ({ at }) => <Time at={at} /> },
            {
              name: "Key or application",
              hide: "narrow",
              show: ({ actor }) => <strong class="cell">{actor.name || actor.id}</strong>,
            },
            {
              name: "Action",
              isFilling: true,
              show: ({ action, count, accepted, ended, actor }) => (
                <>
                  <span class="cell">
                    {action}
                    {count > 1 && <span class="muted"> × {count}</span>}
                  </span>
                  {accepted !== null && (
                    <small class="cell muted">
                      Snapshot: {number(accepted)} accepted, {number(ended ?? 0)} ended
                    </small>
                  )}
                  <small class="cell muted only-narrow">{actor.name || actor.id}</small>
                </>
              ),
            },
            {
              name: "Object",
              hide: "narrow",
              show: (entry) => <ChangedObject entry={entry} name={names.get(entry.object_id ?? "")} />,
            },
            {
              name: "Fields",
              hide: "medium",
              show: ({ fields }) => <span class="cell muted">{fields.join(", ")}</span>,
            },
            {
              name: "From",
              hide: "medium",
              show: ({ address }) => <code class="muted">{address || "this machine"}</code>,
            },
          ]}
        />
      </Card>
    </>
  );
}
