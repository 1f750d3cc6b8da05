import { version } from "../../runtime/version.ts";
import type { Reference } from "./plugin.ts";

/** The name of the security scheme for the operator key. */
export const operatorScheme = "operatorKey";

/** Tags of the operations in the order in which they are shown. */
const tags = [
  { name: "Users", description: "Who has a profile." },
  { name: "Categories", description: "What can be streamed." },
  {
    name: "Channels and livestreams",
    description: "Whose channel it is, and who is live with how many viewers.",
  },
  {
    name: "Events",
    description: "What happened on the platform, to be delivered to its subscribers.",
  },
  { name: "Deliveries", description: "Was it sent? To whom, what became of it, and how to send it again." },
  { name: "Applications", description: "Programs of third parties, their secrets and their limits." },
  { name: "Tokens", description: "Access tokens of applications." },
  { name: "Operations", description: "What happened to the server, what it does, and how it is set." },
  { name: "Sign-in", description: "Users who log in and consent, and what they have allowed." },
  { name: "Backups", description: "Copies of the whole database, made while the server goes on." },
  { name: "Keys", description: "Keys of this API, each with a role, and how to end them." },
  { name: "Health", description: "For monitoring. Needs no key." },
];

/** The reference of the admin API, which is reached at `url`. */
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
              "A key of this API: `ONAIR_ADMIN_KEY`, the one that was shown at the first start, or one that was created since. Each operation names the roles that may call it.",
          },
        },
      },
    },
    scheme: operatorScheme,
    url,
    complete: async (...of) => (await import("./admin-document.ts")).adminDocument(...of),
  };
}
