import {
  Activity,
  Archive,
  Boxes,
  ClipboardList,
  Gauge,
  Inbox,
  KeyRound,
  LayoutGrid,
  Radio,
  Rss,
  Send,
  Settings as SettingsIcon,
  Shapes,
  Tv,
  Users as UsersIcon,
} from "lucide";
import { type ComponentType, render } from "preact";
import { Route, Router } from "preact-iso";
import { admin, base, done } from "./client.ts";
import { DeliveryPage as Delivery } from "./deliveries/delivery.tsx";
import { DeliveriesPage } from "./deliveries/list.tsx";
import { allDeliveries, DeliverySourceProvider } from "./deliveries/source.ts";
import { Application } from "./pages/console/application.tsx";
import { Applications } from "./pages/console/applications.tsx";
import { Audit } from "./pages/console/audit.tsx";
import { Backups } from "./pages/console/backups.tsx";
import { Categories } from "./pages/console/categories.tsx";
import { Channels, Livestreams } from "./pages/console/channels.tsx";
import { EventTypes } from "./pages/console/event-types.tsx";
import { Keys } from "./pages/console/keys.tsx";
import { type Operator, OperatorProvider, Refused, useCatalogue } from "./pages/console/operator.tsx";
import { Overview } from "./pages/console/overview.tsx";
import { Publish } from "./pages/console/publish.tsx";
import { Settings } from "./pages/console/settings.tsx";
import { Subscriptions } from "./pages/console/subscriptions.tsx";
import { Traffic } from "./pages/console/traffic.tsx";
import { User, Users } from "./pages/console/users.tsx";
import type { PaletteEntry } from "./parts/overlays.tsx";
import { type NavGroup, Nothing, Shell } from "./parts/shell.tsx";
import { to } from "./places.ts";
import type { ConsoleSession } from "./session.ts";
import { SignedIn } from "./sign-in.tsx";

/** The deliveries of all applications. */
export function Deliveries() {
  const { data } = useCatalogue();
  return <DeliveriesPage types={[...new Set((data ?? []).map(({ name }) => name))]} />;
}

type Role = ConsoleSession["key"]["role"];

/** The pages that a role may see. A publisher has access to the platform's data and events only. */
function groupsFor(role: Role): readonly NavGroup[] {
  const isPublisher = role === "publisher";
  const data: NavGroup = {
    title: "Platform",
    items: [
      { path: "/users", text: "Users", icon: UsersIcon },
      { path: "/channels", text: "Channels", icon: Tv },
      { path: "/livestreams", text: "Livestreams", icon: Radio },
      { path: "/categories", text: "Categories", icon: LayoutGrid },
      { path: "/event-types", text: "Event types", icon: Shapes },
      ...(role === "reader" ? [] : [{ path: "/publish", text: "Publish an event", icon: Send } as const]),
    ],
  };
  if (isPublisher) return [data];
  return [
    {
      title: "",
      items: [
        { path: "", text: "Overview", icon: Gauge },
        { path: "/traffic", text: "Traffic", icon: Activity },
        { path: "/applications", text: "Applications", icon: Boxes },
        { path: "/deliveries", text: "Deliveries", icon: Inbox },
        { path: "/subscriptions", text: "Subscriptions", icon: Rss },
      ],
    },
    data,
    {
      title: "Server",
      items: [
        { path: "/backups", text: "Backups", icon: Archive },
        { path: "/keys", text: "Keys", icon: KeyRound },
        { path: "/audit", text: "Audit", icon: ClipboardList },
        { path: "/settings", text: "Settings", icon: SettingsIcon },
      ],
    },
  ];
}

const docs = base.replace(/[^/]*$/, "docs");

function Console() {
  return (
    <SignedIn<ConsoleSession>
      kind="Console"
      intro="Use an operator key. The first start of the server showed one; onair admin-key creates more."
      fields={[{ name: "key", label: "Operator key", isSecret: true }]}
      idOf={({ key }) => key.id}
      begin={({ key = "" }) => ({ headers: { authorization: `Bearer ${key}` } })}
    >
      {({ key, version }, signOut) => {
        const operator: Operator = { role: key.role, canChange: key.role === "operator" };
        const unlessPublisher = (page: ComponentType) => (key.role === "publisher" ? Refused : page);
        return (
          <Shell
            kind="Console"
            groups={groupsFor(key.role)}
            who={{ name: key.name, about: `${key.role} · On Air ${version}` }}
            search={(text) => searchEverything(text, key.role)}
            onSignOut={signOut}
            docs={docs}
            reference={`${docs}/api`}
            stream={key.role === "publisher" ? null : "/admin/v1/outcomes"}
          >
            <OperatorProvider value={operator}>
              <DeliverySourceProvider value={allDeliveries(operator.canChange)}>
                <Router>
                  <Route path={base} component={key.role === "publisher" ? Users : Overview} />
                  <Route path={`${base}/applications`} component={unlessPublisher(Applications)} />
                  <Route path={`${base}/applications/:id`} component={unlessPublisher(Application)} />
                  <Route path={`${base}/deliveries`} component={unlessPublisher(Deliveries)} />
                  <Route path={`${base}/deliveries/:id`} component={unlessPublisher(Delivery)} />
                  <Route path={`${base}/users`} component={Users} />
                  <Route path={`${base}/users/:id`} component={User} />
                  <Route path={`${base}/channels`} component={Channels} />
                  <Route path={`${base}/livestreams`} component={Livestreams} />
                  <Route path={`${base}/categories`} component={Categories} />
                  <Route path={`${base}/event-types`} component={EventTypes} />
                  <Route path={`${base}/publish`} component={Publish} />
                  <Route path={`${base}/backups`} component={unlessPublisher(Backups)} />
                  <Route path={`${base}/keys`} component={unlessPublisher(Keys)} />
                  <Route path={`${base}/audit`} component={unlessPublisher(Audit)} />
                  <Route path={`${base}/traffic`} component={unlessPublisher(Traffic)} />
                  <Route path={`${base}/settings`} component={unlessPublisher(Settings)} />
                  <Route path={`${base}/subscriptions`} component={unlessPublisher(Subscriptions)} />
                  <Route default component={Nothing} />
                </Router>
              </DeliverySourceProvider>
            </OperatorProvider>
          </Shell>
        );
      }}
    </SignedIn>
  );
}

const most = 6;

/** Searches for the palette: deliveries and applications by id, applications by name, users by either. */
async function searchEverything(text: string, role: Operator["role"]): Promise<readonly PaletteEntry[]> {
  const { signal } = new AbortController();
  const id = text.toUpperCase();
  const found: PaletteEntry[] = [];
  if (role !== "publisher") {
    if (/^[0-9A-Z]{26}$/.test(id)) {
      const delivery = await allDeliveries(false)
        .get(id, signal)
        .catch(() => null);
      if (delivery) found.push({ text: delivery.type, kind: "Delivery", href: to(`/deliveries/${id}`) });
      const { data } = await admin.GET("/admin/v1/applications/{id}", { params: { path: { id } }, signal });
      if (data) found.push({ text: data.name, kind: "Application", href: to(`/applications/${id}`) });
    }
    const byName = { name: text.slice(0, 100), limit: most };
    const { data: named } = await done(
      admin.GET("/admin/v1/applications", { params: { query: byName }, signal }),
    );
    for (const { id, name } of named)
      found.push({ text: name, kind: "Application", href: to(`/applications/${id}`) });
  }
  const query = { query: text.slice(0, 100), limit: most };
  const { data } = await done(admin.GET("/admin/v1/users/search", { params: { query }, signal }));
  for (const { id, username, display_name } of data)
    found.push({ text: username, about: display_name, kind: "User", href: to(`/users/${id}`) });
  return found;
}

render(<Console />, document.getElementById("app") ?? document.body);
