import { Type } from "@sinclair/typebox";
import type { PlatformData } from "../../../batch/platform-data.ts";
import { CategoryInput } from "../../../domain/categories.ts";
import { DomainError } from "../../../domain/errors.ts";
import { exampleCategory } from "../../../domain/examples.ts";
import type { Store } from "../../../store/store.ts";
import { answer, ndjsonLines, noContent } from "../../answers.ts";
import { Message, noOtherFields, otherFieldsIgnored } from "../../fields.ts";
import { IdParameter } from "../../parameters.ts";
import { TagSchema } from "../../public/categories.ts";
import { everyRole, writers } from "../access.ts";
import type { AdminListener } from "../base.ts";
import { AtomicQuery, appliedLines, DataReport, replyRows } from "./batch.ts";
import { OwnId, rowOf, storeOne, withPathId } from "./records.ts";

const { id, ...exampleFields } = exampleCategory;

const CategoryParams = Type.Object({ id: IdParameter("category", exampleCategory.id) });

const CategoryBody = Type.Object(
  { ...CategoryInput.properties, id: OwnId },
  {
    $id: "CategoryInput",
    description: "A category as the platform reports it.",
    ...otherFieldsIgnored,
    examples: [exampleFields],
  },
);

const CategoryRecord = Type.Object(
  {
    ...Type.Required(CategoryInput).properties,
    tags: Type.Array(TagSchema, { description: "Its tags." }),
  },
  { $id: "Category", description: "A category as it is kept.", ...noOtherFields },
);

const OneCategory = answer(
  { category: CategoryRecord, message: Message },
  {
    name: "CategoryAnswer",
    description: "The category as it is kept.",
    example: { category: exampleCategory, message: "OK" },
  },
);

const unknownCategory = () => new DomainError("category_not_found", "There is no category with this id");

/** Categories as the platform reports them. */
export function categoryRoutes(
  app: AdminListener,
  { store, data }: { readonly store: Store; readonly data: PlatformData },
): void {
  app.get(
    "/admin/v1/categories/:id",
    async ({ params: { id } }) => ({
      category: await rowOf(store.categories, id, unknownCategory),
      message: "OK",
    }),
    {
      roles: everyRole,
      params: CategoryParams,
      response: { 200: OneCategory },
      errors: ["category_not_found"],
      detail: {
        operationId: "getCategory",
        tags: ["Categories"],
        summary: "Get Category",
        description: "One category, as the platform reported it.",
      },
    },
  );

  app.put(
    "/admin/v1/categories/:id",
    async ({ params: { id }, body }) => {
      await storeOne(data.categories, withPathId(id, body));
      return { category: await rowOf(store.categories, id, unknownCategory), message: "OK" };
    },
    {
      roles: writers,
      params: CategoryParams,
      body: CategoryBody,
      response: { 200: OneCategory },
      errors: ["conflict"],
      detail: {
        operationId: "putCategory",
        tags: ["Categories"],
        summary: "Put Category",
        description:
          "Makes the category, or replaces the one of this id: what the body leaves out gets its default. The same again changes nothing.",
      },
    },
  );

  app.delete(
    "/admin/v1/categories/:id",
    async ({ params: { id }, status }) => {
      await data.removeCategory(id);
      return status(204, undefined);
    },
    {
      roles: writers,
      params: CategoryParams,
      response: { 204: noContent("There is no such category (any more).") },
      detail: {
        operationId: "deleteCategory",
        tags: ["Categories"],
        summary: "Delete Category",
        description:
          "Deletes the category. Its livestreams end; report them again in another category. An id that does not exist changes nothing and is not an error.",
      },
    },
  );

  app.post(
    "/admin/v1/categories/batch",
    ({ request, query }) => appliedLines(request, data.categories, query),
    {
      roles: writers,
      parse: "none",
      query: AtomicQuery,
      response: { 200: DataReport },
      errors: ["body_too_large"],
      detail: {
        operationId: "putCategories",
        tags: ["Categories"],
        summary: "Put Categories",
        description:
          "Makes or replaces many categories, one on each line, as they arrive. A line that is wrong is refused, and the rest is kept. Fields that are not known are ignored and counted.",
        ndjson: { description: "One category on each line.", example: [exampleCategory] },
      },
    },
  );

  app.get(
    "/admin/v1/categories/batch",
    ({ requestContext }) => replyRows(requestContext, store.categories.page, ({ id }) => id),
    {
      roles: everyRole,
      response: { 200: ndjsonLines("All categories.", [exampleCategory]) },
      detail: {
        operationId: "getCategories",
        tags: ["Categories"],
        summary: "Get Categories",
        description:
          "All categories as NDJSON by ascending id, in the form in which they can be put again. What changes meanwhile may be in it or not.",
      },
    },
  );
}
