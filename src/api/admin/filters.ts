import { Type } from "@sinclair/typebox";
import { answerOf } from "../http/answers.ts";
import { existing } from "../http/errors.ts";
import { noOtherFields } from "../http/parameters.ts";
import {
  FilterTestSchema,
  filterTestAnswer,
  filterTester,
  filterTestFields,
  filterTestInput,
} from "../public/filters.ts";
import { ApplicationParams } from "./application-fields.ts";
import { type AdminDeps, type AdminListener, operators } from "./listener.ts";

/** What a filter of an application would let through. */
export function filterRoutes(app: AdminListener, deps: AdminDeps): void {
  const test = filterTester(deps);
  app.post(
    "/admin/v1/applications/:id/filters/test",
    async ({ params: { id }, body }) => test(existing(await deps.store.applications.find(id)), body),
    {
      roles: operators,
      params: ApplicationParams,
      body: Type.Object(filterTestFields, { ...filterTestInput, ...noOtherFields }),
      response: { 200: answerOf(FilterTestSchema, filterTestAnswer) },
      errors: ["not_found"],
      detail: {
        operationId: "testFilter",
        tags: ["Applications"],
        description:
          "Says which of the application's last deliveries of a type, or of the given samples, a filter would let through: at most 20. It changes nothing. Without `filter` it tests the application's own. A wrong filter is refused with its place, such as `filter.content.$startWith`.",
      },
    },
  );
}
