import type { RankingView } from "../../ranking/ranking.ts";
import { rateLimited } from "../auth.ts";
import { replyError } from "../errors.ts";
import { peerAddress, reply, replyReady } from "../exchange.ts";
import type { ReadyAnswer } from "../server.ts";
import type { PublicDeps } from "./base.ts";
import { replyCached } from "./cached.ts";
import { categoriesPath, fresh } from "./categories.ts";
import { usersPath } from "./users.ts";

/**
 * Answers Get User, Get Categories and Get Category in front of Elysia, when everything for it is in memory: a token that was good
 * before, and bytes that are ready. Elysia's context, router and two promises for each request cost a fifth of the
 * throughput (`bun tests/bench/read.ts`). Whatever is not as usual is left to the route, which does all of it itself.
 */
export function readyAnswers(
  { access, profiles }: Pick<PublicDeps, "access" | "profiles">,
  ranking: RankingView,
): ReadyAnswer {
  const { authenticator, limiter, defaultRateLimit } = access;
  return (exchange, query) => {
    const { request, path } = exchange;
    if (path.startsWith(categoriesPath)) {
      // As the routes keep them: a page by its query, one category by "/" and its id.
      const page = ranking.current().pages.get(path.slice(categoriesPath.length) + query);
      if (!page) return null;
      exchange.budget = limiter.take(peerAddress(exchange), defaultRateLimit);
      if (exchange.budget?.allowed === false) return replyError(exchange, rateLimited(exchange.budget));
      return replyCached(exchange, request, page, fresh);
    }
    if (query !== "" || !path.startsWith(usersPath)) return null;
    const bytes = profiles.get(path.slice(usersPath.length));
    const caller = bytes && authenticator.known(request);
    if (!bytes || !caller?.grant.scopes.includes("users:read")) return null;
    exchange.grant = caller.grant;
    exchange.budget = limiter.take(caller.application.id, caller.application.rate_limit ?? defaultRateLimit);
    if (exchange.budget?.allowed === false) return replyError(exchange, rateLimited(exchange.budget));
    // An application may have no limit of its own while others have one.
    return exchange.budget
      ? replyReady(exchange, 200, bytes, exchange.shared.ready)
      : reply(exchange, 200, bytes);
  };
}
