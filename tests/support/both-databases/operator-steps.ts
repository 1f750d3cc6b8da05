import { hour, isoTime, minute } from "../../../src/domain/time.ts";
import { pages, query, type Step, some, text, type World } from "./world.ts";

/* What operators read, and their keys. */

const applications: Step = async (world) => {
  const name = world.chance(0.7) ? text(world.random).slice(0, 99) : world.pick(["a\u0000", "%", "", "_"]);
  const filter = {
    name,
    find: name,
    owner_user_id: world.id(),
    state: world.pick(["enabled", "disabled", "failing"]),
    id: world.known("applications"),
    limit: world.pick([1, 2, 100]),
  };
  await pages(world, `/admin/v1/applications${query(world, filter, 0.25)}`);
  const path = `/admin/v1/applications/${world.known("applications")}`;
  for (const part of ["", "/usage", "/endpoint"]) await world.call({ method: "GET", path: path + part });
  await world.call({ method: "GET", path: "/public/v1/application", token: world.token() });
};
const time = (world: World) => isoTime(world.pair.clock.now() - world.pick([-minute, 0, minute, hour]));
/** What operators look at. */
export const reports: Step = async (world) => {
  const application_id = world.known("applications");
  const limit = world.pick([1, 3, 100]);
  const audit = {
    key: world.pick(["admin", "%"]),
    action: world.pick(["application.create", "user.put", "a\u0000"]),
    object: world.pick(["application", "user", "x"]),
    object_id: world.pick([application_id, "1"]),
    // Not `after`, which depends on when the last of several counted changes is stored.
    before: time(world),
    limit,
  };
  await pages(world, `/admin/v1/audit${query(world, audit, 0.25)}`);
  await pages(world, `/admin/v1/notices${query(world, { application_id, limit })}`);
  await pages(world, `/admin/v1/endpoints${query(world, { limit })}`);
  await pages(world, `/public/v1/application/notices${query(world, { limit })}`, world.token());
  await world.call({ method: "GET", path: "/admin/v1/backlog" });
  for (const path of ["keys", "settings"]) await world.call({ method: "GET", path: `/admin/v1/${path}` });
};

/** What was counted. */
export const statistics: Step = async (world) => {
  for (const range of ["hour", "day", "week"]) {
    await world.call({ method: "GET", path: `/admin/v1/statistics?range=${range}` });
    for (const { id, tokens } of world.callers) {
      const own = `/admin/v1/statistics?range=${range}&application_id=${id}`;
      await world.call({ method: "GET", path: own });
      const path = `/public/v1/application/statistics?range=${range}`;
      await world.call({ method: "GET", path, token: tokens.at(-1) });
    }
  }
};

const keys: Step = async (world) => {
  const body = {
    name: world.chance(0.9) ? text(world.random) : "",
    role: world.pick(["operator", "publisher", "reader", "other"]),
    ...some(world, { expires_in: world.pick([1, 3_600, 86_400, null, 0]) }),
  };
  const { body: made } = await world.call({ method: "POST", path: "/admin/v1/keys", body });
  if (typeof made["id"] === "string") world.see("key ids", [made["id"]]);
  if (typeof made["key"] === "string") world.see("keys", [made["key"]]);
  if (world.chance(0.3))
    await world.call({ method: "DELETE", path: `/admin/v1/keys/${world.known("key ids")}` });
  await world.call({ method: "GET", path: "/admin/v1/keys" });
};

export const operatorSteps: readonly (readonly [weight: number, step: Step])[] = [
  [2, applications],
  [2, reports],
  [1, keys],
];
