import { admin, done } from "../../client.ts";
import { useLoad } from "../../load.ts";
import { Card, Empty, Head, Status } from "../../parts/basics.tsx";
import { Check, Field } from "../../parts/form.tsx";
import { ListState, Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { useQuery } from "../../places.ts";

/** How the server is set. Settings are changed by starting it with others. */
export function Settings() {
  const [query, setQuery] = useQuery();
  const loaded = useLoad((signal) => done(admin.GET("/admin/v1/settings", { signal })), [], ["settings"]);
  const wanted = (query["find"] ?? "").toLowerCase();
  const isChanged = query["changed"] === "1";
  const rows = (loaded.data?.data ?? []).filter(
    ({ name, help, value, default: initial }) =>
      `${name} ${help}`.toLowerCase().includes(wanted) && (!isChanged || value !== initial),
  );
  return (
    <>
      <Head title="Settings">
        Those in force, as options of <code>onair serve</code>.
        {loaded.data && (
          <>
            {" "}
            Version {loaded.data.version}, started <Time at={loaded.data.started_at} />.
          </>
        )}
      </Head>
      <div class="filters">
        <Field
          isWide
          label="Find"
          placeholder="Name or purpose"
          value={query["find"] ?? ""}
          onInput={(find) => setQuery({ find })}
        />
      </div>
      <Card
        isFlush
        title={
          <Check
            label="Only those that differ from the default"
            checked={isChanged}
            onChange={(on) => setQuery({ changed: on ? "1" : null })}
          />
        }
      >
        <ListState of={loaded} isEmpty={rows.length === 0} empty={<Empty title="No setting fits" />}>
          <Table
            label="Settings"
            rows={rows}
            keyOf={({ name }) => name}
            columns={[
              { name: "Setting", show: ({ name }) => <code class="nowrap">--{name}</code> },
              {
                name: "Value",
                show: ({ value, is_secret, default: initial }) =>
                  is_secret && value !== null ? (
                    <Status word="set" tone="ok" />
                  ) : (
                    <span class={value === initial ? "muted" : ""}>
                      {value === null || value === "" ? "not set" : <code class="breaks">{value}</code>}
                    </span>
                  ),
              },
              {
                name: "What it is for",
                hide: "narrow",
                show: ({ help }) => <span class="muted">{help}</span>,
              },
            ]}
          />
        </ListState>
      </Card>
    </>
  );
}
