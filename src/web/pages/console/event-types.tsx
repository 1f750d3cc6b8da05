import { Plus } from "lucide";
import { useState } from "preact/hooks";
import { admin, done } from "../../client.ts";
import { useForm } from "../../form.ts";
import type { components } from "../../generated/admin.d.ts";
import { Button, Head, LinkButton, Notice } from "../../parts/basics.tsx";
import { EventTypeList } from "../../parts/event-type.tsx";
import { Field } from "../../parts/form.tsx";
import { Confirm, FormDialog, toast } from "../../parts/overlays.tsx";
import { JsonField } from "../../parts/schema-form.tsx";
import { to, useQuery } from "../../places.ts";
import { useCatalogue, useOperator } from "./operator.tsx";

type Entry = components["schemas"]["CatalogueEntry"];
type Json = Readonly<Record<string, unknown>>;

/** All event types: built-in types, and types that operators registered. */
export function EventTypes() {
  const { canChange, role } = useOperator();
  const [, setQuery] = useQuery();
  const [editing, setEditing] = useState<Entry | "new" | null>(null);
  const [removing, setRemoving] = useState<Entry | null>(null);
  const loaded = useCatalogue();
  return (
    <>
      <Head
        title="Event types"
        actions={
          canChange && (
            <Button kind="primary" icon={Plus} onClick={() => setEditing("new")}>
              Register type
            </Button>
          )
        }
      >
        The events that the platform can publish and applications can subscribe to.
      </Head>
      <EventTypeList
        of={loaded}
        actionsOf={(entry) =>
          role !== "reader" && (
            <>
              <LinkButton
                of={entry.name}
                href={to("/publish", { event: entry.name, version: String(entry.version) })}
              >
                Publish
              </LinkButton>
              {canChange && !entry.is_built_in && (
                <>
                  <Button of={entry.name} onClick={() => setEditing(entry)}>
                    Edit or add a version
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

/** Describes changes of a schema that may break receivers: removed, newly optional and retyped fields. */
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
    ...gone.map((name) => `${name} is removed`),
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
  const initial = {
    name: entry?.name ?? "",
    version: String(entry?.version ?? 1),
    description: entry?.description ?? "",
    schema: (entry?.schema ?? emptySchema) as Json,
    example: (entry?.example ?? { message: "Hello" }) as Json,
  };
  const edited = entry ? `event type ${entry.name} ${entry.version}` : "event type";
  const form = useForm(edited, initial, async (_, { name, ...values }) => {
    const body = { ...values, version: Number(values.version) };
    await done(admin.PUT("/admin/v1/event-types/{name}", { params: { path: { name } }, body }));
    toast(`${name} version ${body.version} is registered.`);
    onSaved(name);
    onClose();
  });
  const { version, schema } = form.values;
  const broken = entry && version === String(entry.version) ? breaks(entry.schema, schema) : [];
  return (
    <FormDialog
      title={entry ? `Edit ${entry.name}, or add a version` : "Register an event type"}
      verb="Register"
      of={form}
      onClose={onClose}
    >
      <Field
        label="Name"
        required
        disabled={entry !== null}
        placeholder="raid.started"
        {...form.at("name")}
      />
      <Field
        label="Version"
        type="number"
        min={1}
        required
        hint="An incompatible payload needs a new version."
        {...form.at("version")}
      />
      <Field label="Description" {...form.at("description")} />
      <JsonField label="JSON Schema" rows={10} {...form.at("schema")} />
      <JsonField label="Example" rows={6} {...form.at("example")} />
      {broken.length > 0 && (
        <Notice tone="warn" title="Receivers of this version may break:">
          <p>{broken.join(", ")}. Register a new version instead.</p>
        </Notice>
      )}
    </FormDialog>
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
  const remove = async () => {
    const params = { path: { name }, query: { version } };
    await done(admin.DELETE("/admin/v1/event-types/{name}", { params }));
    toast(`${name} version ${version} is deleted.`);
    onDone();
  };
  return (
    <Confirm title={`Delete ${name} version ${version}?`} verb="Delete" act={remove} onClose={onClose}>
      <p>
        It can no longer be published or subscribed to. A type can be deleted only if none of its events was
        published.
      </p>
    </Confirm>
  );
}
