import { admin, done } from "../../client.ts";
import { useLoad } from "../../load.ts";
import { Card, Head, Status } from "../../parts/basics.tsx";
import { Check, Find, NoMatch } from "../../parts/form.tsx";
import { List } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";
import { useQuery } from "../../places.ts";

/** The settings of the server, read-only. They change with the options and the file of the server. */
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
        The active settings, as options of <code>onair serve</code>.
        {loaded.data && (
          <>
            {" "}
            Version {loaded.data.version}
            {loaded.data.commit && ` (${loaded.data.commit})`}, started <Time at={loaded.data.started_at} />.
          </>
        )}
      </Head>
      <Find name="find" placeholder="Name or description" />
      <Card
        isFlush
        actions={
          <Check
            label="Only changed settings"
            value={isChanged}
            onInput={(on) => setQuery({ changed: on ? "1" : null })}
          />
        }
      >
        <List
          of={loaded}
          empty={<NoMatch of="settings" />}
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
              name: "Description",
              hide: "narrow",
              show: ({ help }) => <span class="muted">{help}</span>,
            },
          ]}
        />
      </Card>
    </>
  );
}
