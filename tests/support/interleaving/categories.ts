import { pick } from "../../../src/dev/chance.ts";
import { Group, type Row, Standing } from "./category-groups.ts";
import { haveOneMoment, type Span } from "./register.ts";
import { type Random, type Scene, type Seen, Turns, type World } from "./world.ts";

/*
 * Categories that are always there, written to by several at once, and groups of a category with its channels that
 * come and go. Viewer counts and what is shown of channels may be so far behind; all else must not.
 */

const groupCount = 8;
const standingCount = 16;
/** Walks that are under way at the same time, so that each lasts for a second or two. */
const walkCount = 8;
const behindMs = 2_000;
const listPath = "/public/v1/categories";

interface List {
  readonly categories: readonly Row[];
  readonly pagination: { readonly cursor: string; readonly has_more: boolean };
}

/** A walk from page to page. */
interface Walk {
  /** After its first page it goes on only when nothing is changed any more. */
  readonly isPatient: boolean;
  limit: number;
  cursor: string;
  /** When its first page was under way. */
  began: Span | null;
  rows: Row[];
}

const newWalk = (random: Random, isPatient: boolean): Walk => ({
  isPatient,
  limit: pick(random, [2, 3, 5]),
  cursor: "",
  began: null,
  rows: [],
});

export async function categories(world: World): Promise<Scene> {
  const groups = new Turns(Array.from({ length: groupCount }, (_, i) => new Group(world, i)));
  const standing = Array.from({ length: standingCount }, (_, i) => new Standing(world, i));
  const byId = new Map([...groups.all, ...standing].map((one) => [one.id, one]));
  const walks = new Turns(Array.from({ length: walkCount }, (_, i) => newWalk(world.random, i % 2 === 0)));
  /** Bodies by ETag. */
  const bodies = new Map<string, string>();
  /** ETags by path, the last few. */
  const tags = new Map<string, string[]>();

  /** Asks, half of the time with an ETag from before; gives the body that the answer stands for. */
  const ask = async (path: string, random: Random, method = "GET"): Promise<Seen> => {
    const earlier = tags.get(path) ?? [];
    const known = earlier.length > 0 && random() < 0.5 ? pick(random, earlier) : null;
    const seen = await world.ask(path, { method, ...(known && { headers: { "if-none-match": known } }) });
    const tag = seen.headers.get("etag");
    const wrong = (what: string) => world.wrong(`${method} ${path}: ${what}`, { ...seen, known, tag });
    if (seen.status === 304) {
      if (seen.text !== "" || tag !== known) wrong("304 that does not fit");
      return { ...seen, status: 200, text: bodies.get(known ?? "") ?? "" };
    }
    if (seen.status !== 200) return seen;
    if (tag === null || tag === known) {
      wrong("200 with the ETag that was sent, or none");
      return seen;
    }
    if (method === "HEAD") {
      if (seen.text !== "") wrong("a body");
      return { ...seen, text: bodies.get(tag) ?? "" };
    }
    if ((bodies.get(tag) ?? seen.text) !== seen.text) wrong("the ETag of another body");
    bodies.set(tag, seen.text);
    tags.set(path, [...earlier, tag].slice(-5));
    return seen;
  };

  const detail = async (random: Random, method?: string) => {
    const one = random() < 0.8 ? groups.any(random) : pick(random, standing);
    const path = `${listPath}/${one.id}`;
    const { status, text, span } = await ask(path, random, method);
    if (status === 200 && text === "") return; // of a HEAD whose body nobody has seen
    const shown = status === 200 ? (JSON.parse(text) as { category: Row }).category : null;
    const wrong = one.wrongWith(shown, span, { ...span, from: span.from - behindMs });
    if (wrong || (shown === null) !== (status === 404))
      world.wrong(`GET ${path}: ${wrong}`, { status, text, span });
  };

  /** Checks a page whose walk began with a request that was under way for so long. */
  const checkPage = (path: string, { status, text, span }: Seen, began: Span): List => {
    if (status !== 200) {
      world.wrong(`GET ${path}`, { status, text });
      return { categories: [], pagination: { cursor: "", has_more: false } };
    }
    const list = JSON.parse(text) as List;
    const lives: (readonly Span[])[] = [];
    for (const row of list.categories) {
      const one = byId.get(row.id);
      const wrong = one
        ? one.wrongWith(row, span, { from: began.from - behindMs, to: began.to })
        : "an unknown category";
      if (wrong) world.wrong(`GET ${path}: ${wrong}`, { row, span });
      else if (one) lives.push(one.lifetimes(row, span));
    }
    if (!haveOneMoment(span, lives)) world.wrong(`GET ${path} mixes moments`, { text, lives, span });
    return list;
  };

  /** What a whole walk, or a page that holds everything, must be: all that was there all the time, each once. */
  const checkWhole = (path: string, rows: readonly Row[], span: Span) => {
    const ids = rows.map(({ id }) => id);
    const missing = [...byId.values()].filter((one) => one.isThere(span) && !ids.includes(one.id));
    const sorted = rows.toSorted((a, b) => b.viewers - a.viewers || a.id - b.id);
    if (new Set(ids).size < ids.length || missing.length > 0 || !Bun.deepEquals(sorted, rows))
      world.wrong(`GET ${path}: not every category once and in order`, {
        seen: rows.map(({ id, viewers }) => [id, viewers]),
        missing: missing.map(({ id }) => id),
      });
  };

  const everything = async (random: Random) => {
    const path = `${listPath}?limit=100`;
    const seen = await ask(path, random);
    checkWhole(path, checkPage(path, seen, seen.span).categories, seen.span);
  };

  const nextStep = async (walk: Walk, random: Random) => {
    const path = `${listPath}?limit=${walk.limit}`;
    const step = walk.cursor === "" ? path : `${path}&cursor=${walk.cursor}`;
    const seen = await ask(step, random);
    // It shows the viewers of the moment at which it began.
    walk.began ??= seen.span;
    const { categories: rows, pagination } = checkPage(step, seen, walk.began);
    walk.rows.push(...rows);
    walk.cursor = pagination.cursor;
    if (pagination.has_more) return;
    if (seen.status === 200) checkWhole(path, walk.rows, { from: walk.began.from, to: seen.span.to });
    Object.assign(walk, newWalk(random, walk.isPatient));
  };

  for (const one of [...groups.all, ...standing]) await one.start();
  return {
    actions: [
      {
        name: "change a category or channel",
        weight: 8,
        run: (random) => groups.take(random, (group) => group.change(random)),
      },
      { name: "change a category at will", weight: 4, run: (random) => pick(random, standing).put() },
      {
        name: "report livestreams",
        weight: 8,
        run: (random) => groups.take(random, (one) => one.report(random)),
      },
      { name: "Get Category", weight: 12, run: (random) => detail(random) },
      { name: "HEAD of a category", weight: 3, run: (random) => detail(random, "HEAD") },
      { name: "Get Categories", weight: 8, run: everything },
      {
        name: "a step of a walk",
        weight: 14,
        run: (random) =>
          walks.take(random, async (walk) => {
            if (walk.began === null || !walk.isPatient) await nextStep(walk, random);
          }),
      },
    ],
    async settled() {
      for (const walk of walks.all)
        while (walk.began !== null && !world.isOver) await nextStep(walk, world.random);
      const endedAt = performance.now();
      const path = `${listPath}?limit=100`;
      for (const group of groups.all) {
        for (let isShown = false; !isShown; ) {
          const seen = await world.ask(`${listPath}/${group.id}`);
          isShown = group.showsAll(seen);
          if (!isShown && seen.span.from > endedAt + behindMs) {
            world.wrong(`category ${group.id} stays behind`, seen.text);
            return;
          }
        }
      }
      const seen = await world.ask(path);
      checkWhole(path, checkPage(path, seen, seen.span).categories, seen.span);
      await world.compareHead(path);
      for (const { id } of byId.values()) await world.compareHead(`${listPath}/${id}`);
    },
  };
}
