import { seeded } from "../../../src/dev/chance.ts";
import { distinctRanks, zipfRanks } from "../../support/ranks.ts";
import { platformSize, sampleSearches, usernameOf, usersPath } from "../support/platform.ts";
import type { Traffic } from "../support/wrk.ts";
import type { Floor } from "./judge.ts";

/** The requests sent to the servers. */
export interface Workload {
  readonly name: string;
  readonly title: string;
  readonly traffic: Traffic;
  /** The status of all answers. */
  readonly status: 200 | 304;
  /** The token that the servers check; null for public routes. */
  readonly token: string | null;
  /** The answers of all users are those that `equal` chooses from, and not only those that are asked for. */
  readonly ofAllUsers: boolean;
  /** True if the other stacks support it, too. */
  readonly inFrameworks: boolean;
  /** A variant with which On Air is also loaded, under this name. */
  readonly beside: { readonly name: string; readonly traffic: Traffic } | null;
  readonly floors: readonly Floor[];
}

export const workloadNames = [
  "get-user-zipf",
  "get-user-uniform",
  "search",
  "category-page",
  "category-304",
  "category-detail",
] as const;
type WorkloadName = (typeof workloadNames)[number];

/** More than are sent to a server with the default pace, so that none comes again because the list begins anew. */
const zipfDraws = 3_000_000;
const uniformDraws = 500_000;

const common = {
  status: 200,
  token: null,
  ofAllUsers: false,
  inFrameworks: false,
  beside: null,
  floors: [],
} as const;

const runEach = (paths: readonly string[], headers: Traffic["headers"] = {}): Traffic => ({
  paths,
  order: Uint32Array.from(paths, (_, i) => i),
  headers,
});

const page = "/public/v1/categories?limit=25";

/** @param etag that of the category page, which is the same for as long as no viewers are reported */
export function workloads(users: number, token: string, etag: string): Record<WorkloadName, Workload> {
  const authorized = { Authorization: `Bearer ${token}` };
  const searches = sampleSearches(users).map((query) => `/public/v1/users/search?${query}`);
  const details = Array.from({ length: platformSize.categories }, (_, i) => `/public/v1/categories/${i + 1}`);
  const getUser = (ranks: Uint32Array) => ({
    ...common,
    traffic: { ...pathsOf(ranks), headers: authorized },
    token,
    ofAllUsers: true,
    inFrameworks: true,
  });
  return {
    "get-user-zipf": {
      ...getUser(zipfRanks(users, zipfDraws, seeded(4))),
      name: "get-user-zipf",
      title: "Get User by Zipf",
      floors: [
        { of: "equal", least: 0.7 },
        { of: "Fastify", least: 2.5 },
        { of: "Hono", least: 1.8 },
      ],
    },
    "get-user-uniform": {
      // No user is requested again before all others were, so that every read misses every cache.
      ...getUser(distinctRanks(users, uniformDraws, seeded(5))),
      name: "get-user-uniform",
      title: "Get User uniformly",
      floors: [{ of: "equal", least: 0.6 }],
    },
    search: {
      ...common,
      name: "search",
      title: "Search Users",
      traffic: runEach(searches, authorized),
      token,
    },
    "category-page": {
      ...common,
      name: "category-page",
      title: "Category page of 25",
      traffic: runEach([page]),
      inFrameworks: true,
      floors: [{ of: "bare", least: 0.75 }],
    },
    "category-304": {
      ...common,
      name: "category-304",
      title: "Category page, 304",
      traffic: runEach([page], { "If-None-Match": etag }),
      status: 304,
      beside: { name: "the page itself", traffic: runEach([page]) },
      floors: [{ of: "the page itself", least: 1 }],
    },
    "category-detail": {
      ...common,
      name: "category-detail",
      title: "Category detail",
      traffic: runEach(details),
    },
  };
}

/** Each user that was drawn as one path. */
function pathsOf(ranks: Uint32Array): Pick<Traffic, "paths" | "order"> {
  const indexes = new Map<number, number>();
  for (const rank of ranks) if (!indexes.has(rank)) indexes.set(rank, indexes.size);
  return {
    paths: [...indexes.keys()].map((rank) => usersPath + usernameOf(rank)),
    order: ranks.map((rank) => indexes.get(rank) ?? 0),
  };
}

/** The tag that On Air gives the category page. */
export async function etagOfPage({ url }: { readonly url: string }): Promise<string> {
  return (await fetch(url + page)).headers.get("etag") ?? "";
}
