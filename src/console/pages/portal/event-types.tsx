import { Card, Empty, FaultNotice, Head, LinkButton } from "../../parts/basics.tsx";
import { Code, Tabs } from "../../parts/code.tsx";
import { Field } from "../../parts/form.tsx";
import { to, useQuery } from "../../places.ts";
import { type EventType, useEventTypes } from "./application.tsx";

export function EventTypes() {
  const loaded = useEventTypes();
  const types = loaded.data ?? [];
  const [query, setQuery] = useQuery();
  const wanted = (query["name"] ?? "").toLowerCase();
  const shown = types.filter(({ name }) => name.includes(wanted));
  return (
    <>
      <Head title="Event types">What can be subscribed to, with an example of each and its JSON Schema.</Head>
      <div class="filters">
        <Field
          label="Name"
          placeholder="Part of a name"
          value={query["name"] ?? ""}
          onInput={(name) => setQuery({ name })}
        />
      </div>
      <FaultNotice fault={loaded.fault} retry={loaded.reload} />
      {loaded.data && shown.length === 0 && (
        <Empty title="No event type is called that">
          <p>Clear the name to see all {types.length} of them.</p>
        </Empty>
      )}
      {shown.map((type) => (
        <EventTypeCard key={`${type.name} ${type.version}`} type={type} />
      ))}
    </>
  );
}

function EventTypeCard({ type }: { type: EventType }) {
  const { name, version, description, example, schema } = type;
  return (
    <Card
      title={
        <>
          <code>{name}</code> <small class="muted">version {version}</small>
        </>
      }
      actions={
        <>
          <LinkButton href={to("/test", { event: name, version: String(version) })}>Test it</LinkButton>
          <LinkButton href={to("/subscriptions", { event: name })}>Subscribe</LinkButton>
        </>
      }
    >
      <div class="stack">
        <p>{description}</p>
        <Tabs
          label={`About ${name}`}
          tabs={[
            {
              name: "Example",
              show: () => <Code text={JSON.stringify(example)} isJson label={`Example of ${name}`} />,
            },
            {
              name: "JSON Schema",
              show: () => <Code text={JSON.stringify(schema)} isJson label={`Schema of ${name}`} />,
            },
          ]}
        />
      </div>
    </Card>
  );
}
