import { Head, LinkButton } from "../../parts/basics.tsx";
import { EventTypeList } from "../../parts/event-type.tsx";
import { to } from "../../places.ts";
import { useEventTypes } from "./application.tsx";

export function EventTypes() {
  return (
    <>
      <Head title="Event types">What can be subscribed to, with an example of each and its JSON Schema.</Head>
      <EventTypeList
        of={useEventTypes()}
        actionsOf={({ name, version }) => (
          <>
            <LinkButton of={name} href={to("/test", { event: name, version: String(version) })}>
              Test it
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
