import { Head, LinkButton } from "../../parts/basics.tsx";
import { EventTypeList } from "../../parts/event-type.tsx";
import { to } from "../../places.ts";
import { useEventTypes } from "./application.tsx";

export function EventTypes() {
  return (
    <>
      <Head title="Event types">
        The events that you can subscribe to, each with an example and its JSON Schema.
      </Head>
      <EventTypeList
        of={useEventTypes()}
        actionsOf={({ name, version }) => (
          <>
            <LinkButton of={name} href={to("/test", { event: name, version: String(version) })}>
              Test
            </LinkButton>
            <LinkButton of={name} href={to("/subscriptions", { event: name })}>
              Subscribe
            </LinkButton>
          </>
        )}
      />
    </>
  );
}
