import { Type } from "@sinclair/typebox";
import { categoryLimits } from "../../domain/categories.ts";
import { DomainError } from "../../domain/errors.ts";
import { about, Count, Id } from "../../domain/fields.ts";
import { fold } from "../../domain/text.ts";
import type { Page, RankedCategory, Ranking, Snapshot } from "../../ranking/ranking.ts";
import { CursorParameter, type Cursors, cursorCheck, Pagination, positionOf } from "../cursors.ts";
import { readParam, readQuery } from "../query.ts";
import { defaultPictures } from "./assets.ts";
import type { PublicDeps, PublicListener } from "./base.ts";
import { cached, replyCached } from "./cached.ts";
import { answer, operation, WebUrl } from "./reference.ts";

const closed = { additionalProperties: false };

const TagSchema = Type.Object(
  { id: about(Id, "Id of the tag."), name: Type.String({ description: "Its name." }) },
  { $id: "Tag", description: "A tag of a category.", ...closed },
);

const listFields = {
  id: about(Id, "Id of the category."),
  name: Type.String({ description: "Its name." }),
  slug: Type.String({ description: "Its name as a part of an address." }),
  icon: about(WebUrl, "A small picture; where there is none, one of this server."),
  banner: about(WebUrl, "A wide picture; where there is none, one of this server."),
  viewers: Type.Integer({
    minimum: 0,
    description: "Viewers of all its live channels, at most 2 seconds behind what the platform reported.",
  }),
  tags: Type.Array(TagSchema, { description: "Its tags; empty where it has none." }),
};

const CategorySchema = Type.Object(listFields, {
  $id: "Category",
  description: "A category as a list shows it.",
  ...closed,
});

const TopChannelSchema = Type.Object(
  {
    id: about(Id, "Id of the channel."),
    name: Type.String({ description: "Its name." }),
    slug: Type.String({ description: "Its name as a part of an address." }),
    profile_image: about(WebUrl, "Its picture; where there is none, one of this server."),
    viewers: about(Count, "How many watch it now."),
  },
  { $id: "TopChannel", description: "A live channel of a category.", ...closed },
);

const CategoryDetailSchema = Type.Object(
  {
    ...listFields,
    description: Type.String({ description: 'Empty ("") where there is none.' }),
    top_channels: Type.Array(TopChannelSchema, {
      maxItems: categoryLimits.topChannels,
      description: "The live channels with the most viewers.",
    }),
  },
  { $id: "CategoryDetail", description: "A category with its channels.", ...closed },
);

const NameFilter = Type.String({
  trim: true,
  allowEmptyValue: true,
  maxLength: categoryLimits.maxName,
  description: "Only categories whose name contains this, regardless of case and diacritics.",
});

const ListQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: categoryLimits.maxResults,
      default: categoryLimits.defaultResults,
      description: "How many categories to return.",
    }),
  ),
  cursor: CursorParameter,
  name: Type.Optional(NameFilter),
  q: Type.Optional(Type.String({ ...NameFilter, description: "Another word for `name`, which wins." })),
});

const CategoryId = Type.Integer({
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: "Id of the category.",
  examples: [1],
});

const exampleCategory = {
  id: 1,
  name: "Just Chatting",
  slug: "just-chatting",
  icon: "http://127.0.0.1:8080/assets/category-icon.png",
  banner: "http://127.0.0.1:8080/assets/category-banner.png",
  viewers: 184213,
  tags: [{ id: 1, name: "IRL" }],
};

// With the second that a snapshot may be old, a cached answer is at most 2 seconds behind.
export const fresh = { "cache-control": "public, max-age=1" };
export const categoriesPath = "/public/v1/categories";
const longestKeptQuery = 300;

/** Get Categories and Get Category, answered from the ranking in memory. */
export function categoryRoutes(
  app: PublicListener,
  { store, publicUrl }: PublicDeps,
  ranking: Ranking,
  cursors: Cursors,
): void {
  const shown = ({ category, viewers }: RankedCategory) => {
    const { id, name, slug, icon, banner, tags } = category;
    const pictures = defaultPictures(publicUrl());
    return { id, name, slug, icon: icon ?? pictures.icon, banner: banner ?? pictures.banner, viewers, tags };
  };

  const list = (url: string) => {
    const query = readQuery(url, ListQuery, { cursor: cursorCheck(cursors) });
    const filter = fold(query.name ?? query.q ?? "");
    const bound = `categories ${filter}`;
    const place = positionOf<[number, number, number]>(cursors, query.cursor, bound, "another name filter");
    const limit = query.limit ?? categoryLimits.defaultResults;
    const [takenAt = 0, viewers = 0, id = 0] = place ?? [];
    const order = place ? ranking.orderOf(takenAt) : ranking.current().order;
    const found: RankedCategory[] = [];
    for (const ranked of ranking.walk(order, place && { viewers, id })) {
      if (!ranked.foldedName.includes(filter)) continue;
      if (found.push(ranked) > limit) break;
    }
    const page = found.slice(0, limit);
    const last = page.at(-1);
    const hasMore = found.length > limit;
    const next = hasMore && last ? cursors.make([order.takenAt, last.viewers, last.category.id], bound) : "";
    return {
      order,
      page: pageOf({ categories: page.map(shown), pagination: { cursor: next, has_more: hasMore } }),
    };
  };

  const detail = async (snapshot: Snapshot, id: number): Promise<Page> => {
    const ranked = snapshot.category(id);
    if (!ranked) throw new DomainError("category_not_found", "There is no category with this id");
    const live = snapshot.topChannels(id, categoryLimits.topChannels);
    const channels = await store.channels.byIds(live.map(({ channel_id }) => channel_id));
    const byId = new Map(channels.map((channel) => [channel.id, channel]));
    const profileImage = defaultPictures(publicUrl()).profile;
    const top = live.flatMap(({ channel_id, viewers }) => {
      const channel = byId.get(channel_id);
      if (!channel) return [];
      const { name, slug, profile_image } = channel;
      return [{ id: channel_id, name, slug, profile_image: profile_image ?? profileImage, viewers }];
    });
    const { description } = ranked.category;
    return pageOf({ category: { ...shown(ranked), description, top_channels: top } });
  };

  app.get(
    categoriesPath,
    ({ exchange, request }) => {
      const snapshot = ranking.current();
      const at = request.url.indexOf("?");
      const key = at === -1 ? "" : request.url.slice(at);
      const kept = snapshot.pages.get(key);
      if (kept) return replyCached(exchange, kept, fresh);
      const { order, page } = list(request.url);
      // Pages of an older order are not kept: asking for one is what keeps the order.
      const keep = key.length <= longestKeptQuery && order === snapshot.order;
      return replyCached(exchange, keep ? snapshot.keep(key, page) : page, fresh);
    },
    operation({
      id: "getCategories",
      tag: "Categories",
      summary: "Get Categories",
      description:
        "All categories, the most watched first, then by lower id. Walk through them by passing `pagination.cursor` as `cursor` until `has_more` is false; a cursor belongs to the filter it was made with. A walk shows every category exactly once, in the order and with the viewers of the moment at which it began, as long as each page is asked for within 5 minutes of the one before. After that it goes on from the same position in today's order.",
      access: "anyone",
      query: ListQuery,
      notModified: true,
      answers: {
        200: answer("A page of categories.", {
          schema: Type.Object(
            {
              categories: Type.Array(CategorySchema, { description: "The most watched first." }),
              pagination: Pagination,
            },
            { $id: "CategoryPage", description: "A page of categories.", ...closed },
          ),
          example: { categories: [exampleCategory], pagination: { cursor: "", has_more: false } },
          links: {
            GetCategory: {
              operationId: "getCategory",
              description: "The first category with its channels.",
              parameters: { id: "$response.body#/categories/0/id" },
            },
            NextPage: {
              operationId: "getCategories",
              description: "The page behind this one.",
              parameters: { cursor: "$response.body#/pagination/cursor" },
            },
          },
        }),
      },
      errors: ["invalid_cursor"],
    }),
  );

  app.get(
    "/public/v1/categories/:id",
    async ({ exchange, params }) => {
      const id = readParam("id", params.id, CategoryId);
      const snapshot = ranking.current();
      const key = `/${id}`;
      const kept = snapshot.pages.get(key) ?? snapshot.keep(key, await detail(snapshot, id));
      return replyCached(exchange, kept, fresh);
    },
    operation({
      id: "getCategory",
      tag: "Categories",
      summary: "Get Category",
      description: "One category with the channels that are live in it.",
      access: "anyone",
      params: Type.Object({ id: CategoryId }),
      notModified: true,
      answers: {
        200: answer("The category.", {
          schema: Type.Object(
            { category: CategoryDetailSchema },
            { $id: "CategoryAnswer", description: "One category.", ...closed },
          ),
          example: {
            category: {
              ...exampleCategory,
              description: "Talk about anything.",
              top_channels: [
                {
                  id: 1001,
                  name: "xQcOW",
                  slug: "xqcow",
                  profile_image: "http://127.0.0.1:8080/assets/profile-picture.png",
                  viewers: 27716,
                },
              ],
            },
          },
        }),
      },
      errors: ["category_not_found"],
    }),
  );
}

function pageOf(value: unknown): Page {
  return cached(new TextEncoder().encode(JSON.stringify(value)));
}
