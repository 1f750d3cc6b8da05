import { type Static, type TObject, Type } from "@sinclair/typebox";
import { LRUCache } from "lru-cache";
import { categoryLimits } from "../../domain/categories.ts";
import { DomainError } from "../../domain/errors.ts";
import { exampleCategory, exampleChannel } from "../../domain/examples.ts";
import type { Store } from "../../domain/store.ts";
import { fold } from "../../domain/text.ts";
import { about, Count, Id } from "../../domain/validation/fields.ts";
import type { RankedCategory, Snapshot } from "../../platform/ranking.ts";
import { answer, linksTo, nextPage, notModified } from "../http/answers.ts";
import { type CacheableContent, cacheableFor, jsonContentOf, replyContent } from "../http/content.ts";
import { listCursors, Pagination, pageIn } from "../http/cursors.ts";
import { exampleUrl } from "../http/openapi.ts";
import {
  comparedPlainly,
  IdParameter,
  LimitParameter,
  named,
  optionalFields,
  TextParameter,
  WebUrl,
} from "../http/parameters.ts";
import { defaultPictures } from "./assets.ts";
import type { PublicDeps, PublicListener } from "./listener.ts";

export const TagSchema = named("Tag", "A tag of a category.", {
  id: about(Id, "Id of the tag."),
  name: Type.String({ description: "Name of the tag." }),
});

const listFields = {
  id: about(Id, "Id of the category."),
  name: Type.String({ description: "Name of the category." }),
  slug: Type.String({ description: "Form of the name for use in URLs." }),
  icon: about(WebUrl, "URL of a small picture; a default picture when the category has none."),
  banner: about(WebUrl, "URL of a wide picture; a default picture when the category has none."),
  viewers: Type.Integer({
    minimum: 0,
    description:
      "Viewers of all live channels in the category, at most 2 seconds behind the platform's reports.",
  }),
  tags: Type.Array(TagSchema, { description: "Tags of the category; may be empty." }),
};

const CategorySchema = named("Category", "A category in a list.", listFields);

const TopChannelSchema = named("TopChannel", "A live channel of a category.", {
  id: about(Id, "Id of the channel."),
  name: Type.String({ description: "Name of the channel." }),
  slug: Type.String({ description: "Form of the name for use in URLs." }),
  profile_image: about(WebUrl, "URL of the channel's picture; a default picture when it has none."),
  viewers: about(Count, "Current viewers of the channel."),
});

const CategoryDetailSchema = named("CategoryDetail", "A category with its most watched channels.", {
  ...listFields,
  description: Type.String({ description: 'Description of the category; `""` when there is none.' }),
  top_channels: Type.Array(TopChannelSchema, {
    maxItems: categoryLimits.topChannels,
    description: "Live channels in the category, the most watched first.",
  }),
});

/** The filter of a list by name. */
export const nameFilter = {
  trim: true,
  allowEmptyValue: true,
  maxLength: categoryLimits.maxName,
  description: `Returns only categories whose name contains this text. ${comparedPlainly}`,
};

const filters = optionalFields({
  name: TextParameter(nameFilter),
  q: TextParameter({ ...nameFilter, description: "Alias of `name`; ignored when `name` is present." }),
});
type Filters = Static<TObject<typeof filters>>;

const filterOf = ({ name, q = "" }: Filters) => fold(name ?? q);

const examplePictures = defaultPictures(exampleUrl);
const { description, ...exampleFields } = exampleCategory;
const exampleListed = {
  ...exampleFields,
  icon: examplePictures.icon,
  banner: examplePictures.banner,
  viewers: 184_213,
};

const CategoryPage = answer(
  {
    categories: Type.Array(CategorySchema, { description: "Categories by viewers, the most watched first." }),
    pagination: Pagination,
  },
  {
    name: "CategoryPage",
    description: "A page of categories.",
    example: { categories: [exampleListed], pagination: { cursor: "", has_more: false } },
    links: {
      ...linksTo({ getCategory: "Gets the first category with its channels." }, "/categories/0/id"),
      ...nextPage("getCategories"),
    },
  },
);

const OneCategory = answer(
  { category: CategoryDetailSchema },
  {
    name: "CategoryAnswer",
    description: "The category.",
    example: {
      category: {
        ...exampleListed,
        description,
        top_channels: [
          {
            id: exampleChannel.id,
            name: exampleChannel.name,
            slug: exampleChannel.slug,
            profile_image: examplePictures.profile,
            viewers: 27_716,
          },
        ],
      },
    },
  },
);

// A snapshot may be one second old, so a cached response is at most 2 seconds old.
const keptSeconds = 1;
const fresh = cacheableFor(keptSeconds);

/** The number of responses that are cached for one snapshot. */
const maxCached = 2_000;

/**
 * Get Categories and Get Category, answered from the ranking in memory. Responses are cached with the snapshot that
 * they were made from.
 */
export function categoryRoutes(
  app: PublicListener,
  { store, publicUrl, ranking, cursors }: PublicDeps,
): void {
  const listed = ({ category, viewers }: RankedCategory) => {
    const { id, name, slug, icon, banner, tags } = category;
    const pictures = defaultPictures(publicUrl());
    return { id, name, slug, icon: icon ?? pictures.icon, banner: banner ?? pictures.banner, viewers, tags };
  };

  const positions = listCursors<[number, number, number]>(cursors, "categories", filterOf);

  const caches = new WeakMap<Snapshot, LRUCache<string, CacheableContent>>();
  /** Returns the responses made from a snapshot, by request. */
  const cacheOf = (snapshot: Snapshot) => {
    const known = caches.get(snapshot);
    if (known) return known;
    const cache = new LRUCache<string, CacheableContent>({ max: maxCached });
    caches.set(snapshot, cache);
    return cache;
  };

  const list = async (query: Filters & { limit?: number; cursor?: string }) => {
    const { limit = categoryLimits.defaultResults } = query;
    const filter = filterOf(query);
    const position = positions.positionIn(query);
    const [takenAt = 0, viewers = 0, id = 0] = position ?? [];
    const order = position ? await ranking.orderOf(takenAt) : ranking.current().order;
    const found = firstNamed(filter, ranking.walk(order, position && { viewers, id }), limit + 1);
    const { items, pagination } = pageIn(found, limit, ({ viewers, category }) =>
      positions.make([order.takenAt, viewers, category.id], query, null),
    );
    if (pagination.has_more) await ranking.share(order);
    return { order, content: jsonContentOf({ categories: items.map(listed), pagination }) };
  };

  const detail = async (snapshot: Snapshot, id: number): Promise<CacheableContent> => {
    const ranked = snapshot.category(id);
    if (!ranked) throw new DomainError("category_not_found", "There is no category with this id");
    const profileImage = defaultPictures(publicUrl()).profile;
    const live = await liveChannels(store, snapshot, id, categoryLimits.topChannels);
    const top = live.map(({ channel: { id, name, slug, profile_image }, viewers }) => {
      return { id, name, slug, profile_image: profile_image ?? profileImage, viewers };
    });
    const { description } = ranked.category;
    return jsonContentOf({ category: { ...listed(ranked), description, top_channels: top } });
  };

  app.get(
    "/public/v1/categories",
    async ({ query, requestContext }) => {
      const { limit, cursor = "", name, q = "" } = query;
      const snapshot = ranking.current();
      const key = `${limit} ${cursor} ${name ?? q}`;
      const cache = cacheOf(snapshot);
      const cached = cache.get(key);
      if (cached) return replyContent(requestContext, cached, fresh);
      const { order, content } = await list(query);
      // Pages of an older order are not cached: each request must extend the lifetime of that order.
      if (order === snapshot.order) cache.set(key, content);
      return replyContent(requestContext, content, fresh);
    },
    {
      anyone: true,
      query: Type.Object({
        limit: LimitParameter("categories", categoryLimits),
        cursor: positions.parameter,
        ...filters,
      }),
      response: { 200: CategoryPage, 304: notModified(keptSeconds) },
      detail: {
        operationId: "getCategories",
        tags: ["Categories"],
        description:
          "Returns the categories by viewers, the most watched first; those with equal viewers by ascending id. To read all pages, pass `pagination.cursor` as `cursor` until `has_more` is false. A cursor is valid only with the filter of the request that returned it. The pages show every category exactly once, in the order and with the viewers at the time of the first request, provided that each page is requested within 5 minutes of the previous one. After that, paging continues from the same position in the current order.",
      },
    },
  );

  app.get(
    "/public/v1/categories/:id",
    async ({ params: { id }, requestContext }) => {
      const snapshot = ranking.current();
      const key = `/${id}`;
      const cache = cacheOf(snapshot);
      const cached = cache.get(key);
      if (cached) return replyContent(requestContext, cached, fresh);
      const content = await detail(snapshot, id);
      cache.set(key, content);
      return replyContent(requestContext, content, fresh);
    },
    {
      anyone: true,
      params: Type.Object({ id: IdParameter("category", exampleCategory.id) }),
      response: { 200: OneCategory, 304: notModified(keptSeconds) },
      errors: ["category_not_found"],
      detail: {
        operationId: "getCategory",
        tags: ["Categories"],
        description: "Returns one category with its most watched live channels.",
      },
    },
  );
}

/** Returns the first `most` of the categories whose folded name contains `part`. */
export function firstNamed(part: string, categories: Iterable<RankedCategory>, most: number) {
  const found: RankedCategory[] = [];
  for (const ranked of categories) {
    if (ranked.foldedName.includes(part) && found.push(ranked) === most) break;
  }
  return found;
}

/** Returns up to `most` live channels of a category, the most watched first. */
export async function liveChannels(
  { channels }: Pick<Store, "channels">,
  snapshot: Snapshot,
  categoryId: number,
  most: number,
) {
  const live = snapshot.topChannels(categoryId, most);
  const found = await channels.byIds(live.map(({ channel_id }) => channel_id));
  const byId = new Map(found.map((channel) => [channel.id, channel]));
  return live.flatMap(({ channel_id, viewers }) => {
    const channel = byId.get(channel_id);
    return channel ? [{ channel, viewers }] : [];
  });
}
