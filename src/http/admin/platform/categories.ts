import { Type } from "@sinclair/typebox";
import { CategoryInput } from "../../../domain/categories.ts";
import { exampleCategory } from "../../../domain/examples.ts";
import { TagSchema } from "../../public/categories.ts";
import type { AdminDeps, AdminListener } from "../base.ts";
import { recordRoutes } from "./records.ts";

/** Categories as the platform reports them. */
export function categoryRoutes(app: AdminListener, { store, data }: AdminDeps): void {
  recordRoutes(app, {
    noun: "category",
    plural: "categories",
    tag: "Categories",
    input: CategoryInput,
    kept: {
      description: Type.String({ description: 'Description of the category; `""` when there is none.' }),
      tags: Type.Array(TagSchema, { description: "Tags of the category; may be empty." }),
    },
    example: exampleCategory,
    missing: "category_not_found",
    deletion: "Livestreams in the category end; report them again in another category.",
    rows: store.categories,
    intake: data.categories,
    remove: data.removeCategory,
  });
}
