import { type Static, Type } from "@sinclair/typebox";
import { Id, oneLine, prose, webAddress } from "./fields.ts";

export const slugPattern = "^[^\\s/?#\\u0000-\\u001f]{1,200}$";

/** A category as the platform reports it. */
export const CategoryInput = Type.Object({
  id: Id,
  name: oneLine(1, 200),
  slug: Type.String({
    pattern: slugPattern,
    errorMessage: "must be 1 to 200 characters without spaces, slashes, ? or #",
  }),
  icon: Type.Optional(Type.Union([webAddress(), Type.Null()])),
  banner: Type.Optional(Type.Union([webAddress(), Type.Null()])),
  description: Type.Optional(prose(10_000)),
  tags: Type.Optional(Type.Array(oneLine(1, 100), { maxItems: 50 })),
});
export type CategoryInput = Static<typeof CategoryInput>;

export interface Tag {
  readonly id: number;
  readonly name: string;
}

/** A category as it is kept; who watches it is the ranking's to say. */
export interface Category {
  readonly id: number;
  readonly name: string;
  readonly slug: string;
  readonly icon: string | null;
  readonly banner: string | null;
  readonly description: string;
  readonly tags: readonly Tag[];
}

/** A category before its tags have ids. */
export type NewCategory = Omit<Category, "tags"> & { readonly tags: readonly string[] };

export function categoryFrom(input: CategoryInput): NewCategory {
  return {
    id: input.id,
    name: input.name.toWellFormed(),
    slug: input.slug.toWellFormed(),
    icon: input.icon || null,
    banner: input.banner || null,
    description: (input.description ?? "").toWellFormed(),
    tags: [...new Set((input.tags ?? []).map((tag) => tag.toWellFormed()))],
  };
}

export const categoryLimits = {
  maxResults: 100,
  defaultResults: 25,
  maxName: 100,
  maxCursor: 200,
  topChannels: 10,
} as const;
