import { version } from "../../runtime/version.ts";
import type { Reference } from "./plugin.ts";

/** The name of the security scheme for the operator key. */
export const operatorScheme = "operatorKey";

/** Tags of the operations in the order in which they are shown. */
const tags = [
  { name: "Users", description: "Profiles of the platform's users." },
  { name: "Categories", description: "Categories of livestreams." },
  {
    name: "Channels and livestreams",
    description: "Channels of users, and current livestreams with their viewers.",
  },
  {
    name: "Events",
    description: "Events of the platform, which are delivered to subscribers, and event types.",
  },
  {
    name: "Deliveries",
    description: "The log of deliveries with their attempts, retries, replays and endpoints.",
  },
  { name: "Applications", description: "Applications of third parties, with their secrets and limits." },
  { name: "Tokens", description: "Access tokens of applications." },
  {
    name: "Operations",
    description: "Notices, audit log, statistics, settings and storage of the server.",
  },
  { name: "Sign-in", description: "Login requests of applications, and consents of users." },
  { name: "Backups", description: "Copies of the whole database, made while the server runs." },
  { name: "Keys", description: "Operator keys of this API, each with a role." },
  { name: "Health", description: "For monitoring. Needs no key." },
];

/** Returns the reference of the admin API at `url`. */
export function adminReference(url: () => string): Reference {
  return {
    path: "/docs",
    documentation: {
      info: { title: "On Air Admin API", description: "Reference of the On Air Admin API.", version },
      tags,
      components: {
        securitySchemes: {
          [operatorScheme]: {
            type: "http",
            scheme: "bearer",
            description:
              "An operator key: `ONAIR_ADMIN_KEY`, the key that the first start showed, or one created later. Each operation names the roles that may call it.",
          },
        },
      },
    },
    scheme: operatorScheme,
    url,
    complete: async (...of) => (await import("./admin-document.ts")).adminDocument(...of),
  };
}
