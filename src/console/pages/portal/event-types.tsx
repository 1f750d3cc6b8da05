import { Empty, FaultNotice, Head, LinkButton } from "../../parts/basics.tsx";
import { EventTypeCard } from "../../parts/event-type.tsx";
import { Field } from "../../parts/form.tsx";
import { to, useQuery } from "../../places.ts";
import { useEventTypes } from "./application.tsx";

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
          isWide
          label="Find"
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
      <div class="stack tight">
        {shown.map((type) => (
          <EventTypeCard
            key={`${type.name} ${type.version}`}
            type={type}
            isOpen={shown.length === 1}
            actions={
              <>
                <LinkButton
                  of={type.name}
                  href={to("/test", { event: type.name, version: String(type.version) })}
                >
                  Test it
                </LinkButton>
                <LinkButton of={type.name} href={to("/subscriptions", { event: type.name })}>
                  Subscribe
                </LinkButton>
              </>
            }
          />
        ))}
      </div>
    </>
  );
}
