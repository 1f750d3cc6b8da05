import { type Static, Type } from "@sinclair/typebox";
import type { BatchMode, BatchResult } from "./errors.ts";
import { about, Id, multiLine, nullable, oneLine, webAddress } from "./validation/fields.ts";

/** The slugs of categories and channels. */
export const slugForm = {
  pattern: "^[^\\s/?#\\u0000-\\u001f]{1,200}$",
  errorMessage: "must be 1 to 200 characters without spaces, slashes, ? or #",
};

/** A tag with the id that it had in an export. A tag given as a name gets its id from On Air. */
const TagInput = Type.Object(
  { id: about(Id, "Id of the tag."), name: about(oneLine(1, 100), "Name of the tag.") },
  { $id: "TagInput", description: "A tag with its id." },
);

/** A category as the platform reports it. */
export const CategoryInput = Type.Object({
  id: about(Id, "Id of the category."),
  name: about(oneLine(1, 200), "Name of the category."),
  slug: Type.String({
    ...slugForm,
    description: "Slug of the category, for URLs; unique.",
  }),
  icon: Type.Optional(nullable(webAddress(), { description: "URL of a small image; null for none." })),
  banner: Type.Optional(nullable(webAddress(), { description: "URL of a wide image; null for none." })),
  description: Type.Optional(
    nullable(multiLine(10_000), { description: "Description of the category; null or empty for none." }),
  ),
  tags: Type.Optional(
    nullable(Type.Array(Type.Union([oneLine(1, 100), TagInput]), { maxItems: 50 }), {
      description: "Tags of the category: names, or names with their ids. Null or empty for none.",
    }),
  ),
});
export type CategoryInput = Static<typeof CategoryInput>;

export interface Tag {
  readonly id: number;
  readonly name: string;
}

/** A stored category; its viewers are in the ranking. */
export interface Category {
  readonly id: number;
  readonly name: string;
  readonly slug: string;
  readonly icon: string | null;
  readonly banner: string | null;
  readonly description: string;
  readonly tags: readonly Tag[];
}

/** With id null, the tag gets the id of the stored tag with this name, or a new id. */
export interface NewTag {
  readonly id: number | null;
  readonly name: string;
}

/** A category before its tags have ids. */
export type NewCategory = Omit<Category, "tags"> & { readonly tags: readonly NewTag[] };

export function categoryFrom(input: CategoryInput): NewCategory {
  return {
    id: input.id,
    name: input.name.toWellFormed(),
    slug: input.slug.toWellFormed(),
    icon: input.icon || null,
    banner: input.banner || null,
    description: (input.description ?? "").toWellFormed(),
    tags: distinctTags(input.tags ?? []),
  };
}

/** Removes tags with repeated names; the first tag stays. */
function distinctTags(input: NonNullable<CategoryInput["tags"]>): NewTag[] {
  const tags = new Map<string, NewTag>();
  for (const tag of input) {
    const name = (typeof tag === "string" ? tag : tag.name).toWellFormed();
    if (!tags.has(name)) tags.set(name, { id: typeof tag === "string" ? null : tag.id, name });
  }
  return [...tags.values()];
}

export const categoryLimits = {
  maxResults: 100,
  defaultResults: 25,
  maxName: 100,
  topChannels: 10,
} as const;

/** Categories, with their tags. */
export interface CategoryStore {
  upsert(categories: readonly NewCategory[], mode?: BatchMode): Promise<BatchResult>;
  /** The next categories by ascending id, starting after `after`. */
  page(after: number, limit: number): Promise<Category[]>;
  /** Removes a category and ends its livestreams. Resolves to the ids of their channels. Ignores an unknown id. */
  remove(id: number): Promise<readonly number[]>;
  all(): Promise<Category[]>;
  byIds(ids: readonly number[]): Promise<Category[]>;
}
