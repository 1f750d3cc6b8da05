import { useState } from "preact/hooks";
import { admin, done } from "../../client.ts";
import { useAction, useLoad } from "../../load.ts";
import { Button, Card, Empty, FaultNotice, Head, number } from "../../parts/basics.tsx";
import { Dialog, Field, Form } from "../../parts/form.tsx";
import { ListState, Table } from "../../parts/table.tsx";
import { toast } from "../../parts/toasts.tsx";
import { useQuery } from "../../places.ts";
import { useOperator } from "./operator.tsx";

const mostLive = 10;

/** The categories in their order of this moment, and who is live in them. */
export function Categories() {
  const { role } = useOperator();
  const [query, setQuery] = useQuery();
  const [editing, setEditing] = useState<number | null>(null);
  const name = query["name"] ?? "";
  const chosen = Number(query["category"]) || null;
  const ranking = useLoad(
    async (signal) =>
      (await done(admin.GET("/admin/v1/ranking", { params: { query: { name, limit: 100 } }, signal }))).data,
    [name],
    ["ranking"],
  );
  const rows = ranking.data ?? [];
  const shown = chosen ?? rows[0]?.id ?? null;
  const places = new Map(rows.map(({ id }, i) => [id, i + 1]));
  return (
    <>
      <Head title="Categories">
        The order that the public API has now. Viewer counts are as the platform reported them.
      </Head>
      <div class="filters">
        <Field
          isWide
          label="Find"
          placeholder="Part of a name"
          value={name}
          onInput={(name) => setQuery({ name })}
        />
      </div>
      <div class="columns">
        <Card isFlush title="Ranking">
          <ListState
            of={ranking}
            isEmpty={rows.length === 0}
            empty={
              <Empty title={name ? "No category is called that" : "There is no category yet"}>
                <p>
                  {name
                    ? "Try a shorter part of the name."
                    : "The platform reports them: onair import categories, or PUT /admin/v1/categories."}
                </p>
              </Empty>
            }
          >
            <Table
              label="Ranking"
              rows={rows}
              keyOf={({ id }) => String(id)}
              columns={[
                { name: "Place", show: ({ id }) => <span class="muted">{places.get(id)}</span> },
                {
                  name: "Category",
                  isFilling: true,
                  show: (one) => (
                    <button
                      type="button"
                      class="linklike cell"
                      aria-current={one.id === shown ? "true" : undefined}
                      onClick={() => setQuery({ category: String(one.id) })}
                    >
                      {one.name}
                    </button>
                  ),
                },
                { name: "Viewers", isNumber: true, show: ({ viewers }) => number(viewers) },
              ]}
            />
          </ListState>
        </Card>
        {shown !== null && (
          <div class="aside">
            <Live id={shown} onCorrect={role === "reader" ? null : () => setEditing(shown)} />
          </div>
        )}
      </div>
      {editing !== null && (
        <Correction id={editing} onClose={() => setEditing(null)} onSaved={ranking.reload} />
      )}
    </>
  );
}

/** Who is live in a category. */
function Live({ id, onCorrect }: { id: number; onCorrect: (() => void) | null }) {
  const { data, fault } = useLoad(
    async (signal) =>
      (await done(admin.GET("/admin/v1/ranking/{id}", { params: { path: { id } }, signal }))).data,
    [id],
    ["ranking"],
  );
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
                Correct
              </Button>
            )}
          </>
        )
      }
    >
      <FaultNotice fault={data ? null : fault} />
      {data && data.channels.length === 0 && <Empty title="Nobody is live in it now" />}
      {data && data.channels.length > 0 && (
        <Table
          label="Live channels"
          rows={data.channels.slice(0, mostLive)}
          keyOf={(one) => String(one.id)}
          columns={[
            { name: "Live channel", isFilling: true, show: (one) => <span class="cell">{one.name}</span> },
            { name: "Viewers", isNumber: true, show: ({ viewers }) => number(viewers) },
          ]}
        />
      )}
      {data && data.channels.length > mostLive && (
        <footer class="muted">and {number(data.channels.length - mostLive)} more</footer>
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
  const [changed, setChanged] = useState<{ name?: string; slug?: string; description?: string }>({});
  const save = useAction(async () => {
    if (!loaded.data) return;
    await done(admin.PUT("/admin/v1/categories/{id}", { ...path, body: { ...loaded.data, ...changed } }));
    toast("Saved.");
    onSaved();
    onClose();
  });
  const value = { ...loaded.data, ...changed };
  const fields = save.fault?.fields ?? {};
  return (
    <Dialog title="Correct the category" onClose={onClose}>
      <FaultNotice fault={loaded.fault} />
      <Form label="Category" onSubmit={() => save.run()}>
        <Field
          label="Name"
          value={value.name ?? ""}
          problem={fields["name"]}
          onInput={(name) => setChanged({ ...changed, name })}
        />
        <Field
          label="Slug"
          value={value.slug ?? ""}
          problem={fields["slug"]}
          onInput={(slug) => setChanged({ ...changed, slug })}
        />
        <Field
          label="Description"
          rows={4}
          value={value.description ?? ""}
          problem={fields["description"]}
          onInput={(description) => setChanged({ ...changed, description })}
        />
        <FaultNotice fault={save.fault} />
        <div class="row end">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" isBusy={save.isBusy} disabled={!loaded.data}>
            Save
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}
