import { isUsername } from "../../domain/users.ts";
import type { RankingView } from "../../ranking/ranking.ts";
import type { Later } from "../../wire/answerer.ts";
import { type Caller, rateLimited } from "../auth.ts";
import { replyError } from "../errors.ts";
import { beginExchange, clientNetworkOf, type Exchange, replyOf, replyReady } from "../exchange.ts";
import type { ReadyAnswer } from "../public-listening.ts";
import type { PublicDeps } from "./base.ts";
import { replyPage } from "./cached.ts";
import { categoriesPath, fresh } from "./categories.ts";
import type { ProfileBytes } from "./profiles.ts";
import { unknownUser, usersPath } from "./users.ts";

/**
 * Answers Get User, Get Categories and Get Category in front of Elysia when the token was good before, and pages when
 * they are ready. Elysia's context, router and two promises for each request, and the `Request` and `Response` that it
 * wants, cost more than all the rest (`bun tests/bench/read.ts`). Whatever is not as usual is left to the route, which
 * does all of it itself.
 */
export function readyAnswers(
  { access, profiles }: Pick<PublicDeps, "access" | "profiles">,
  ranking: RankingView,
): ReadyAnswer {
  const { authenticator, limiter, defaultRateLimit } = access;

  /** @returns the answer where the caller has called too often */
  const takeFor = (exchange: Exchange, key: string, limit: number): Response | null => {
    exchange.budget = limiter.take(key, limit);
    return exchange.budget?.allowed === false ? replyError(exchange, rateLimited(exchange.budget)) : null;
  };

  /** @param user their profile or, where there is none ready, their name */
  const getUser = (exchange: Exchange, { application, grant }: Caller, user: ProfileBytes | string) => {
    exchange.grant = grant;
    const tooOften = takeFor(exchange, application.id, application.rate_limit ?? defaultRateLimit);
    if (tooOften) return tooOften;
    const { ok } = exchange.shared;
    if (typeof user !== "string") return replyReady(exchange, ok, user);
    const later: Later = (send) => {
      const failed = (error: unknown) => void replyOf(replyError(exchange, error)).then(send);
      const found = (bytes: ProfileBytes | null) =>
        bytes ? send(replyReady(exchange, ok, bytes)) : failed(unknownUser());
      profiles.ask({ name: user.toLowerCase(), found, failed });
    };
    return later;
  };

  return (path, query, { request, client, shared }) => {
    const begin = () => beginExchange({ request, method: "GET", path, client, shared });
    if (path.startsWith(categoriesPath)) {
      // As the routes keep them: a page by its query, one category by "/" and its id.
      const page = ranking.current().pages.get(path.slice(categoriesPath.length) + query);
      if (!page) return null;
      const exchange = begin();
      const tooOften = takeFor(exchange, clientNetworkOf(exchange), defaultRateLimit);
      return tooOften ?? replyPage(exchange, page, fresh);
    }
    if (query !== "" || !path.startsWith(usersPath)) return null;
    const name = path.slice(usersPath.length);
    const kept = profiles.get(name);
    if (!kept && !isUsername(name)) return null;
    const caller = authenticator.known(request);
    return caller?.grant.scopes.includes("users:read") ? getUser(begin(), caller, kept ?? name) : null;
  };
}
