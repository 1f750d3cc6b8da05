import { Type } from "@sinclair/typebox";
import type { PlatformData } from "../../../batch/platform-data.ts";
import { DomainError } from "../../../domain/errors.ts";
import { exampleUser } from "../../../domain/examples.ts";
import { UserInput } from "../../../domain/users.ts";
import type { Store } from "../../../store/store.ts";
import { answer, ndjsonLines, noContent } from "../../answers.ts";
import { Message, noOtherFields, otherFieldsIgnored } from "../../fields.ts";
import { IdParameter } from "../../parameters.ts";
import { everyRole, writers } from "../access.ts";
import type { AdminListener } from "../base.ts";
import { AtomicQuery, appliedLines, DataReport, replyRows } from "./batch.ts";
import { OwnId, rowOf, storeOne, withPathId } from "./records.ts";

const { id, ...exampleFields } = exampleUser;

const UserParams = Type.Object({ id: IdParameter("user", exampleUser.id) });

const UserBody = Type.Object(
  { ...UserInput.properties, id: OwnId },
  {
    $id: "UserInput",
    description: "A user as the platform reports it.",
    ...otherFieldsIgnored,
    examples: [exampleFields],
  },
);

const UserRecord = Type.Object(Type.Required(UserInput).properties, {
  $id: "User",
  description: "A user as it is kept.",
  ...noOtherFields,
});

const OneUser = answer(
  { user: UserRecord, message: Message },
  {
    name: "UserAnswer",
    description: "The user as it is kept.",
    example: { user: exampleUser, message: "OK" },
  },
);

const unknownUser = () => new DomainError("user_not_found", "There is no user with this id");

/** Users as the platform reports them. */
export function userRoutes(
  app: AdminListener,
  { store, data }: { readonly store: Store; readonly data: PlatformData },
): void {
  app.get(
    "/admin/v1/users/:id",
    async ({ params: { id } }) => ({ user: await rowOf(store.users, id, unknownUser), message: "OK" }),
    {
      roles: everyRole,
      params: UserParams,
      response: { 200: OneUser },
      errors: ["user_not_found"],
      detail: {
        operationId: "getUser",
        tags: ["Users"],
        summary: "Get User",
        description: "One user, as the platform reported it.",
      },
    },
  );

  app.put(
    "/admin/v1/users/:id",
    async ({ params: { id }, body }) => {
      await storeOne(data.users, withPathId(id, body));
      return { user: await rowOf(store.users, id, unknownUser), message: "OK" };
    },
    {
      roles: writers,
      params: UserParams,
      body: UserBody,
      response: { 200: OneUser },
      errors: ["conflict"],
      detail: {
        operationId: "putUser",
        tags: ["Users"],
        summary: "Put User",
        description:
          "Makes the user, or replaces the one of this id: what the body leaves out gets its default. The same again changes nothing.",
      },
    },
  );

  app.delete(
    "/admin/v1/users/:id",
    async ({ params: { id }, status }) => {
      await data.removeUser(id);
      return status(204, undefined);
    },
    {
      roles: writers,
      params: UserParams,
      response: { 204: noContent("There is no such user (any more).") },
      detail: {
        operationId: "deleteUser",
        tags: ["Users"],
        summary: "Delete User",
        description:
          "Deletes the user. Channels and livestreams of the user go too, tokens for the user end, and so do the subscriptions to the user's events, whose pending deliveries are canceled. An id that does not exist changes nothing and is not an error.",
      },
    },
  );

  app.post("/admin/v1/users/batch", ({ request, query }) => appliedLines(request, data.users, query), {
    roles: writers,
    parse: "none",
    query: AtomicQuery,
    response: { 200: DataReport },
    errors: ["body_too_large"],
    detail: {
      operationId: "putUsers",
      tags: ["Users"],
      summary: "Put Users",
      description:
        "Makes or replaces many users, one on each line, as they arrive. A line that is wrong is refused, and the rest is kept. Fields that are not known are ignored and counted.",
      ndjson: { description: "One user on each line.", example: [exampleUser] },
    },
  });

  app.get(
    "/admin/v1/users/batch",
    ({ requestContext }) => replyRows(requestContext, store.users.page, ({ id }) => id),
    {
      roles: everyRole,
      response: { 200: ndjsonLines("All users.", [exampleUser]) },
      detail: {
        operationId: "getUsers",
        tags: ["Users"],
        summary: "Get Users",
        description:
          "All users as NDJSON by ascending id, in the form in which they can be put again. What changes meanwhile may be in it or not.",
      },
    },
  );
}
