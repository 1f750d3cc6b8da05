import { useState } from "preact/hooks";
import { admin, dataOf, done } from "../../client.ts";
import { useForm } from "../../form.ts";
import { useLoad } from "../../load.ts";
import { Button, Card, Empty, FaultNotice, Head, number } from "../../parts/basics.tsx";
import { Field, Find, NoMatch } from "../../parts/form.tsx";
import { FormDialog, toast } from "../../parts/overlays.tsx";
import { List } from "../../parts/table.tsx";
import { to, useQuery } from "../../places.ts";
import { useOperator } from "./operator.tsx";

const mostLive = 10;

/** The current ranking of categories, and the live channels of the selected category. */
export function Categories() {
  const { role } = useOperator();
  const [query, setQuery] = useQuery();
  const [editing, setEditing] = useState<number | null>(null);
  const name = query["name"] ?? "";
  const chosen = Number(query["category"]) || null;
  const ranking = useLoad(
    (signal) => dataOf(admin.GET("/admin/v1/ranking", { params: { query: { name, limit: 100 } }, signal })),
    [name],
    ["ranking"],
  );
  const rows = ranking.data ?? [];
  const selected = chosen ?? rows[0]?.id ?? null;
  const ranks = new Map(rows.map(({ id }, i) => [id, i + 1]));
  return (
    <>
      <Head title="Categories">
        The current order in the public API. The platform reports the viewer counts.
      </Head>
      <Find name="name" placeholder="Part of a name" />
      <div class="columns">
        <Card isFlush title="Ranking">
          <List
            of={ranking}
            empty={
              name ? (
                <NoMatch of="categories">Try a shorter part of the name.</NoMatch>
              ) : (
                <Empty
                  title="No categories yet"
                  text="The platform reports them with onair import categories, or PUT /admin/v1/categories."
                />
              )
            }
            label="Ranking"
            rows={rows}
            keyOf={({ id }) => String(id)}
            columns={[
              { name: "Rank", show: ({ id }) => <span class="muted">{ranks.get(id)}</span> },
              {
                name: "Category",
                isFilling: true,
                show: (category) => (
                  <button
                    type="button"
                    class="linklike cell"
                    aria-current={category.id === selected ? "true" : undefined}
                    onClick={() => setQuery({ category: String(category.id) })}
                  >
                    {category.name}
                  </button>
                ),
              },
              {
                name: "Live",
                isNumber: true,
                show: ({ id, live_channels }) =>
                  live_channels === 0 ? (
                    <span class="muted">0</span>
                  ) : (
                    <a href={to("/livestreams", { category: String(id) })}>{number(live_channels)}</a>
                  ),
              },
              { name: "Viewers", isNumber: true, show: ({ viewers }) => number(viewers) },
            ]}
          />
        </Card>
        {selected !== null && (
          <div class="aside">
            <Live id={selected} onCorrect={role === "reader" ? null : () => setEditing(selected)} />
          </div>
        )}
      </div>
      {editing !== null && (
        <Correction id={editing} onClose={() => setEditing(null)} onSaved={ranking.reload} />
      )}
    </>
  );
}

/** The live channels of a category. */
function Live({ id, onCorrect }: { id: number; onCorrect: (() => void) | null }) {
  const loaded = useLoad(
    (signal) => dataOf(admin.GET("/admin/v1/ranking/{id}", { params: { path: { id } }, signal })),
    [id],
    ["ranking"],
  );
  const { data } = loaded;
  const channels = data?.channels ?? [];
  return (
    <Card
      isFlush
      title={data?.name ?? "Live"}
      actions={
        data && (
          <>
            <span class="muted">{number(data.viewers)} viewers</span>
            {onCorrect && (
              <Button isSmall onClick={onCorrect}>
                Edit
              </Button>
            )}
          </>
        )
      }
    >
      <List
        of={loaded}
        empty={<Empty title="No live channels now" />}
        label="Live channels"
        rows={channels.slice(0, mostLive)}
        keyOf={(channel) => String(channel.id)}
        columns={[
          {
            name: "Live channel",
            isFilling: true,
            show: (channel) => (
              <a class="cell" href={to(`/users/${channel.user_id}`)}>
                <bdi>{channel.name}</bdi>
              </a>
            ),
          },
          { name: "Viewers", isNumber: true, show: ({ viewers }) => number(viewers) },
        ]}
      />
      {channels.length > mostLive && (
        <footer>
          <a href={to("/livestreams", { category: String(id) })}>All livestreams</a>
        </footer>
      )}
    </Card>
  );
}

function Correction({ id, onClose, onSaved }: { id: number; onClose: () => void; onSaved: () => void }) {
  const path = { params: { path: { id } } };
  const loaded = useLoad(
    async (signal) => (await done(admin.GET("/admin/v1/categories/{id}", { ...path, signal }))).category,
    [id],
  );
  const { name = "", slug = "", description = "" } = loaded.data ?? {};
  const form = useForm(`category ${id}`, { name, slug, description }, async (changes) => {
    if (!loaded.data) return;
    await done(admin.PUT("/admin/v1/categories/{id}", { ...path, body: { ...loaded.data, ...changes } }));
    toast("Saved.");
    onSaved();
    onClose();
  });
  return (
    <FormDialog title="Edit the category" verb="Save" of={form} disabled={!loaded.data} onClose={onClose}>
      <FaultNotice fault={loaded.fault} />
      <Field label="Name" {...form.at("name")} />
      <Field label="Slug" {...form.at("slug")} />
      <Field label="Description" rows={4} {...form.at("description")} />
    </FormDialog>
  );
}
