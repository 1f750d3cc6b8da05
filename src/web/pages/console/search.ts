import { admin, done } from "../../client.ts";
import { allDeliveries } from "../../deliveries/source.ts";
import type { PaletteEntry } from "../../parts/palette.tsx";
import { to } from "../../places.ts";
import type { Operator } from "./operator.tsx";

const most = 6;
const shortestQuery = 3;

/** Searches for the palette: deliveries and applications by id, applications and users by name. */
export async function searchEverything(
  text: string,
  role: Operator["role"],
): Promise<readonly PaletteEntry[]> {
  const { signal } = new AbortController();
  const id = text.toUpperCase();
  const found: PaletteEntry[] = [];
  if (role !== "publisher") {
    if (/^[0-9A-Z]{26}$/.test(id)) {
      const delivery = await allDeliveries(false)
        .one(id, signal)
        .catch(() => null);
      if (delivery) found.push({ text: delivery.type, kind: "Delivery", href: to(`/deliveries/${id}`) });
      const { data } = await admin.GET("/admin/v1/applications/{id}", { params: { path: { id } }, signal });
      if (data) found.push({ text: data.name, kind: "Application", href: to(`/applications/${id}`) });
    }
    const byName = { name: text.slice(0, 100), limit: most };
    const { data: named } = await done(
      admin.GET("/admin/v1/applications", { params: { query: byName }, signal }),
    );
    for (const one of named) {
      found.push({ text: one.name, kind: "Application", href: to(`/applications/${one.id}`) });
    }
  }
  if (text.length >= shortestQuery) {
    const query = { query: text.slice(0, 100), limit: most };
    const { data } = await done(admin.GET("/admin/v1/users/search", { params: { query }, signal }));
    for (const { id, username } of data)
      found.push({ text: username, kind: "User", href: to(`/users/${id}`) });
  }
  return found;
}
