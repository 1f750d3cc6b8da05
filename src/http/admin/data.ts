import { Type } from "@sinclair/typebox";
import { applyBatch, type BatchReport } from "../../batch/apply.ts";
import type { DataKind, Intake, PlatformData } from "../../batch/platform-data.ts";
import { DomainError, invalidFields } from "../../domain/errors.ts";
import { Id } from "../../domain/fields.ts";
import { parseJson } from "../../domain/json.ts";
import type { UserInput } from "../../domain/users.ts";
import { problems } from "../../domain/validation.ts";
import type { Store } from "../../store/store.ts";
import { bodyStream, publicBodyBytes, readBytes, requireMediaType } from "../body.ts";
import { replyJson } from "../exchange.ts";
import { readParam, readQuery } from "../query.ts";
import { type AdminListener, operatorOnly } from "./base.ts";

const SnapshotQuery = Type.Object({
  snapshot: Type.Optional(
    Type.String({ pattern: "^(true|false)$", errorMessage: "must be true or false", default: "false" }),
  ),
});

const AtomicQuery = Type.Object({
  atomic: Type.Optional(
    Type.String({ pattern: "^false$", errorMessage: "is not supported yet; only false is" }),
  ),
});

/** Users, categories, channels and livestreams, as the platform reports them. */
export function dataRoutes(app: AdminListener, store: Store, data: PlatformData): void {
  app.put(
    "/admin/v1/users/:id",
    async ({ exchange, request, params }) => {
      const id = readParam("id", params.id, Id);
      requireMediaType(request, "application/json");
      const input = withId(parseJson(await readBytes(request, publicBodyBytes)), id);
      const wrong = problems(data.users.check, input, { in: "body" });
      if (wrong.length > 0) throw invalidFields(wrong);
      const user = input as UserInput;
      const [refused] = await data.users.keep([user]);
      if (refused) throw new DomainError("conflict", refused);
      return replyJson(exchange, 200, { user: await store.users.find(user.username), message: "OK" });
    },
    operatorOnly(),
  );

  const batchRoute = <Input>(kind: Exclude<DataKind, "livestreams">, intake: Intake<Input>) => {
    app.post(
      `/admin/v1/${kind}/batch`,
      async ({ exchange, request }) => {
        readQuery(request.url, AtomicQuery);
        return replyJson(exchange, 200, await apply(request, intake));
      },
      operatorOnly(),
    );
  };
  batchRoute("users", data.users);
  batchRoute("categories", data.categories);
  batchRoute("channels", data.channels);

  app.put(
    "/admin/v1/livestreams",
    async ({ exchange, request }) => {
      readQuery(request.url, AtomicQuery);
      const { snapshot } = readQuery(request.url, SnapshotQuery);
      const report = await data.applyLivestreams(bodyStream(request), snapshot === "true");
      return replyJson(exchange, 200, report);
    },
    operatorOnly(),
  );
}

/** The body with the id of the path; one of its own must be the same. */
function withId(body: unknown, id: number): unknown {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return body;
  const own = "id" in body ? body.id : id;
  if (own !== id) throw invalidFields([{ in: "body", field: "id", message: "must be the id of the path" }]);
  return { ...body, id };
}

function apply<Input>(request: Request, intake: Intake<Input>): Promise<BatchReport> {
  return applyBatch(bodyStream(request), intake.read, intake.keep);
}
