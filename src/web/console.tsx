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
import { admin, done } from "./client.ts";
import { DeliveryPage as Delivery } from "./deliveries/delivery.tsx";
import { DeliveriesPage } from "./deliveries/list.tsx";
import { allDeliveries, DeliverySourceProvider } from "./deliveries/source.ts";
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
import type { PaletteEntry } from "./parts/overlays.tsx";
import { type NavGroup, Nothing, Shell } from "./parts/shell.tsx";
import { later } from "./parts/table.tsx";
import { to } from "./places.ts";
import type { ConsoleSession } from "./session.ts";
import { SignedIn } from "./sign-in.tsx";

// Pages whose scripts are loaded when they are first shown.
const Application = later(async () => (await import("./pages/console/application.tsx")).Application, {
  title: "Application",
  crumb: { href: to("/applications"), text: "Applications" },
});
const Applications = later(async () => (await import("./pages/console/applications.tsx")).Applications, {
  title: "Applications",
});
const Audit = later(async () => (await import("./pages/console/audit.tsx")).Audit, { title: "Audit" });
const Users = later(async () => (await import("./pages/console/users.tsx")).Users, { title: "Users" });
const User = later(async () => (await import("./pages/console/users.tsx")).User, {
  title: "User",
  crumb: { href: to("/users"), text: "Users" },
});

/** The deliveries of all applications. */
export function Deliveries() {
  const { data } = useCatalogue();
  return <DeliveriesPage types={[...new Set((data ?? []).map(({ name }) => name))]} />;
}

type Role = ConsoleSession["key"]["role"];

/** The pages with the platform's data, the only ones that a publisher may see. */
const platform: NavGroup = {
  title: "Platform",
  items: [
    { path: "/users", text: "Users", icon: UsersIcon, page: Users },
    { path: "/channels", text: "Channels", icon: Tv, page: Channels },
    { path: "/livestreams", text: "Livestreams", icon: Radio, page: Livestreams },
    { path: "/categories", text: "Categories", icon: LayoutGrid, page: Categories },
    { path: "/event-types", text: "Event types", icon: Shapes, page: EventTypes },
    { path: "/publish", text: "Publish an event", icon: Send, page: Publish },
  ],
};

const groups: readonly NavGroup[] = [
  {
    title: "",
    items: [
      { path: "", text: "Overview", icon: Gauge, page: Overview },
      { path: "/traffic", text: "Traffic", icon: Activity, page: Traffic },
      { path: "/applications", text: "Applications", icon: Boxes, page: Applications },
      { path: "/deliveries", text: "Deliveries", icon: Inbox, page: Deliveries },
      { path: "/subscriptions", text: "Subscriptions", icon: Rss, page: Subscriptions },
    ],
  },
  platform,
  {
    title: "Server",
    items: [
      { path: "/backups", text: "Backups", icon: Archive, page: Backups },
      { path: "/keys", text: "Keys", icon: KeyRound, page: Keys },
      { path: "/audit", text: "Audit", icon: ClipboardList, page: Audit },
      { path: "/settings", text: "Settings", icon: SettingsIcon, page: Settings },
    ],
  },
];

/** The navigation of a role. */
function navigationFor(role: Role): readonly NavGroup[] {
  if (role === "publisher") return [platform];
  if (role === "operator") return groups;
  const withoutPublish = { ...platform, items: platform.items.filter(({ page }) => page !== Publish) };
  return groups.map((group) => (group === platform ? withoutPublish : group));
}

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
        // A publisher begins with the users.
        const unlessPublisher = (page: ComponentType) =>
          key.role !== "publisher" ? page : page === Overview ? Users : Refused;
        return (
          <Shell
            kind="Console"
            groups={navigationFor(key.role)}
            who={{ name: key.name, about: `${key.role} · On Air ${version}` }}
            search={(text) => searchEverything(text, key.role)}
            onSignOut={signOut}
            stream={key.role === "publisher" ? null : "/admin/v1/outcomes"}
          >
            <OperatorProvider value={operator}>
              <DeliverySourceProvider value={allDeliveries(operator.canChange)}>
                <Router>
                  {groups.flatMap((group) =>
                    group.items.map(({ path, page }) => (
                      <Route
                        key={path}
                        path={to(path)}
                        component={group === platform ? page : unlessPublisher(page)}
                      />
                    )),
                  )}
                  <Route path={to("/applications/:id")} component={unlessPublisher(Application)} />
                  <Route path={to("/deliveries/:id")} component={unlessPublisher(Delivery)} />
                  <Route path={to("/users/:id")} component={User} />
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
