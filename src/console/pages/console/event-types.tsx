import { useState } from "preact/hooks";
import { admin, done } from "../../client.ts";
import type { components } from "../../generated/admin.d.ts";
import { useAction, useLoad } from "../../load.ts";
import { Button, Empty, FaultNotice, Head, LinkButton, Notice } from "../../parts/basics.tsx";
import { EventTypeCard } from "../../parts/event-type.tsx";
import { Confirm, Dialog, Field, Form } from "../../parts/form.tsx";
import { JsonField } from "../../parts/schema-form.tsx";
import { toast } from "../../parts/toasts.tsx";
import { to, useQuery } from "../../places.ts";
import { useOperator } from "./operator.tsx";

type Entry = components["schemas"]["CatalogueEntry"];
type Json = Readonly<Record<string, unknown>>;

/** All event types: those of every platform, and the registered ones with their versions. */
export function EventTypes() {
  const { canChange } = useOperator();
  const [query, setQuery] = useQuery();
  const [editing, setEditing] = useState<Entry | "new" | null>(null);
  const [removing, setRemoving] = useState<Entry | null>(null);
  const loaded = useLoad(
    async (signal) => (await done(admin.GET("/admin/v1/catalogue", { signal }))).data,
    [],
    ["event-types"],
  );
  const wanted = (query["name"] ?? "").toLowerCase();
  const shown = (loaded.data ?? []).filter(({ name }) => name.toLowerCase().includes(wanted));
  return (
    <>
      <Head
        title="Event types"
        actions={
          canChange && (
            <Button kind="primary" icon="plus" onClick={() => setEditing("new")}>
              Register a type
            </Button>
          )
        }
      >
        What can be published and subscribed to.
      </Head>
      <div class="filters">
        <Field
          isWide
          label="Find"
          placeholder="Part of a name"
          value={query["name"] ?? ""}
          onInput={(name) => setQuery({ name })}
        />
      </div>
      <FaultNotice fault={loaded.data ? null : loaded.fault} retry={loaded.reload} />
      {loaded.data && shown.length === 0 && <Empty title="No event type is called that" />}
      <div class="stack tight">
        {shown.map((entry) => (
          <EventTypeCard
            key={`${entry.name} ${entry.version}`}
            type={entry}
            isRegistered={!entry.is_built_in}
            isOpen={shown.length === 1}
            actions={
              canChange && (
                <>
                  <LinkButton
                    of={entry.name}
                    href={to("/publish", { event: entry.name, version: String(entry.version) })}
                  >
                    Publish one
                  </LinkButton>
                  {!entry.is_built_in && (
                    <>
                      <Button of={entry.name} onClick={() => setEditing(entry)}>
                        Change or add a version
                      </Button>
                      <Button kind="danger" of={entry.name} onClick={() => setRemoving(entry)}>
                        Delete
                      </Button>
                    </>
                  )}
                </>
              )
            }
          />
        ))}
      </div>
      {editing && (
        <Registration
          entry={editing === "new" ? null : editing}
          onClose={() => setEditing(null)}
          onSaved={(name) => {
            setQuery({ name });
            loaded.reload();
          }}
        />
      )}
      {removing && <Removal entry={removing} onClose={() => setRemoving(null)} onDone={loaded.reload} />}
    </>
  );
}

const emptySchema: Json = {
  type: "object",
  required: ["message"],
  properties: { message: { type: "string", maxLength: 500 } },
  additionalProperties: false,
};

/** Fields that a newer schema requires or has no more: receivers of the older one may break. */
function breaks(before: Json, after: Json): string[] {
  const properties = (schema: Json) => Object.keys((schema["properties"] as Json | undefined) ?? {});
  const required = (schema: Json) => (schema["required"] as readonly string[] | undefined) ?? [];
  const gone = properties(before).filter((name) => !properties(after).includes(name));
  const optional = required(before).filter(
    (name) => properties(after).includes(name) && !required(after).includes(name),
  );
  const retyped = properties(before).filter((name) => {
    const types = [before, after].map((schema) =>
      JSON.stringify(((schema["properties"] as Json | undefined)?.[name] as Json | undefined)?.["type"]),
    );
    return types[1] !== undefined && types[0] !== types[1];
  });
  return [
    ...gone.map((name) => `${name} is gone`),
    ...optional.map((name) => `${name} may be missing`),
    ...retyped.map((name) => `${name} has another type`),
  ];
}

function Registration({
  entry,
  onClose,
  onSaved,
}: {
  entry: Entry | null;
  onClose: () => void;
  onSaved: (name: string) => void;
}) {
  const [name, setName] = useState(entry?.name ?? "");
  const [version, setVersion] = useState(String(entry?.version ?? 1));
  const [description, setDescription] = useState(entry?.description ?? "");
  const [schema, setSchema] = useState<unknown>(entry?.schema ?? emptySchema);
  const [example, setExample] = useState<unknown>(entry?.example ?? { message: "Hello" });
  const save = useAction(async () => {
    const body = {
      version: Number(version),
      description,
      schema: schema as Record<string, unknown>,
      example: example as Record<string, unknown>,
    };
    await done(admin.PUT("/admin/v1/event-types/{name}", { params: { path: { name } }, body }));
    toast(`${name} version ${version} is registered.`);
    onSaved(name);
    onClose();
  });
  const fields = save.fault?.fields ?? {};
  const broken = entry && version === String(entry.version) ? breaks(entry.schema, schema as Json) : [];
  return (
    <Dialog
      title={entry ? `Change ${entry.name}, or add a version` : "Register an event type"}
      onClose={onClose}
    >
      <Form label="Event type" onSubmit={() => save.run()}>
        <Field
          label="Name"
          required
          disabled={entry !== null}
          placeholder="raid.started"
          value={name}
          problem={fields["name"]}
          onInput={setName}
        />
        <Field
          label="Version"
          type="number"
          min={1}
          required
          value={version}
          problem={fields["version"]}
          hint="An incompatible payload gets a new version."
          onInput={setVersion}
        />
        <Field
          label="Description"
          value={description}
          problem={fields["description"]}
          onInput={setDescription}
        />
        <JsonField label="JSON Schema" rows={10} value={schema} onChange={setSchema} />
        <JsonField label="Example" rows={6} value={example} onChange={setExample} />
        {broken.length > 0 && (
          <Notice tone="warn" title="Receivers of this version may break:">
            <p>{broken.join(", ")}. Give it a new version instead.</p>
          </Notice>
        )}
        <FaultNotice fault={save.fault} />
        <div class="row end">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary" isBusy={save.isBusy}>
            Register
          </Button>
        </div>
      </Form>
    </Dialog>
  );
}

function Removal({
  entry: { name, version },
  onClose,
  onDone,
}: {
  entry: Entry;
  onClose: () => void;
  onDone: () => void;
}) {
  const remove = useAction(async () => {
    await done(
      admin.DELETE("/admin/v1/event-types/{name}", { params: { path: { name }, query: { version } } }),
    );
    toast(`${name} version ${version} is deleted.`);
    onDone();
    onClose();
  });
  return (
    <Confirm
      title={`Delete ${name} version ${version}?`}
      verb="Delete"
      isBusy={remove.isBusy}
      fault={remove.fault}
      onConfirm={() => remove.run()}
      onClose={onClose}
    >
      <p>
        It can be published and subscribed to no more. Only a type of which nothing was published can be
        deleted.
      </p>
    </Confirm>
  );
}
