import { Activity, Gauge, Inbox, ListFilter, Rss, Send, Shapes, Webhook as WebhookIcon } from "lucide";
import { render } from "preact";
import { Route, Router } from "preact-iso";
import { api, done } from "./client.ts";
import { DeliveryPage as Delivery } from "./deliveries/delivery.tsx";
import { DeliveriesPage } from "./deliveries/list.tsx";
import { DeliverySourceProvider, ownDeliveries } from "./deliveries/source.ts";
import { PortalApplication } from "./pages/portal/application.tsx";
import { EventTypes } from "./pages/portal/event-types.tsx";
import { Filters } from "./pages/portal/filters.tsx";
import { Overview } from "./pages/portal/overview.tsx";
import { Requests } from "./pages/portal/requests.tsx";
import { Subscriptions } from "./pages/portal/subscriptions.tsx";
import { Test } from "./pages/portal/test.tsx";
import { Webhook } from "./pages/portal/webhook.tsx";
import type { PaletteEntry } from "./parts/overlays.tsx";
import { type NavGroup, Nothing, Shell } from "./parts/shell.tsx";
import { to } from "./places.ts";
import type { PortalSession } from "./session.ts";
import { BackFromLogin, isBackFromLogin, OwnerLoginButton, SignedIn } from "./sign-in.tsx";
import { portalUsers, UserSourceProvider } from "./users.tsx";

const groups: readonly NavGroup[] = [
  {
    title: "",
    items: [
      { path: "", text: "Overview", icon: Gauge, page: Overview },
      { path: "/deliveries", text: "Deliveries", icon: Inbox, page: () => <DeliveriesPage /> },
      { path: "/subscriptions", text: "Subscriptions", icon: Rss, page: Subscriptions },
      { path: "/filters", text: "Filters", icon: ListFilter, page: Filters },
      { path: "/test", text: "Test", icon: Send, page: Test },
      { path: "/webhook", text: "Webhook", icon: WebhookIcon, page: Webhook },
      { path: "/requests", text: "Requests", icon: Activity, page: Requests },
      { path: "/event-types", text: "Event types", icon: Shapes, page: EventTypes },
    ],
  },
];

async function search(text: string): Promise<readonly PaletteEntry[]> {
  const found: PaletteEntry[] = [];
  if (/^[0-9A-Z]{26}$/i.test(text)) {
    const delivery = await ownDeliveries
      .get(text.toUpperCase(), new AbortController().signal)
      .catch(() => null);
    if (delivery)
      found.push({ text: delivery.type, kind: "Delivery", href: to(`/deliveries/${delivery.id}`) });
  }
  const { data: types } = await done(api.GET("/public/v1/events/types"));
  const wanted = text.toLowerCase();
  const known = types.filter(({ name }) => name.includes(wanted)).slice(0, 8);
  found.push(
    ...known.map(({ name }) => ({ text: name, kind: "Event type", href: to("/event-types", { name }) })),
    ...known.map(({ name }) => ({
      text: `Deliveries of ${name}`,
      kind: "Deliveries",
      href: to("/deliveries", { type: name }),
    })),
  );
  return found;
}

function Portal() {
  return (
    <SignedIn<PortalSession>
      kind="Developers"
      intro="Use the client id and secret of your application. You received them when it was created."
      fields={[
        { name: "client_id", label: "Client id" },
        { name: "client_secret", label: "Client secret", isSecret: true },
      ]}
      besides={<OwnerLoginButton />}
      idOf={({ application }) => application.id}
      begin={(values) => ({ body: new URLSearchParams(values) })}
    >
      {({ application }, signOut) => (
        <Shell
          kind="Developers"
          groups={groups}
          who={{ name: application.name, about: "Your application" }}
          search={search}
          onSignOut={signOut}
          stream="/public/v1/application/outcomes"
        >
          <DeliverySourceProvider value={ownDeliveries}>
            <UserSourceProvider value={portalUsers}>
              <PortalApplication>
                <Router>
                  {groups.flatMap(({ items }) =>
                    items.map(({ path, page }) => (
                      <Route key={path} path={to(path) || "/"} component={page} />
                    )),
                  )}
                  <Route path={to("/deliveries/:id")} component={Delivery} />
                  <Route default component={Nothing} />
                </Router>
              </PortalApplication>
            </UserSourceProvider>
          </DeliverySourceProvider>
        </Shell>
      )}
    </SignedIn>
  );
}

render(isBackFromLogin ? <BackFromLogin /> : <Portal />, document.getElementById("app") ?? document.body);
