import { expect, test } from "bun:test";
import type { Application } from "../../src/domain/applications.ts";
import { minute } from "../../src/domain/time.ts";
import { type Grant, secretHash } from "../../src/domain/tokens.ts";
import { authenticator, type Caller } from "../../src/http/auth.ts";
import { Changes } from "../../src/http/changes.ts";
import { Clock } from "../support/server.ts";

const scopes = ["users:read"] as const;
const application = (id: string) => ({ id, scopes, disabled: false }) as unknown as Application;

/** A gate with tokens of its own, by their text, and one of the platform; `asked` is how often the store was. */
function gate(tokens: Record<string, Grant>, clock: Clock) {
  const counts = { asked: 0 };
  const store = {
    tokens: {
      find: async (hash: Buffer) => {
        counts.asked++;
        return Object.entries(tokens).find(([token]) => secretHash(token).equals(hash))?.[1] ?? null;
      },
    },
    applications: { find: async (id: string) => application(id) },
  };
  const platform: Caller = {
    application: application("of the platform"),
    grant: { applicationId: "of the platform", userId: 1, scopes, expiresAt: clock.ms + 10 * minute },
  };
  const readJwt = async (token: string) => (token === "jwt" ? platform : null);
  const changes = new Changes();
  return { counts, changes, ...authenticator(store as never, () => clock.ms, readJwt, changes) };
}

/** The headers of a request as a connection has them, and a route's request with the same. */
function asked(token: string) {
  const headers = new Headers({ authorization: `Bearer ${token}` });
  return { headers, request: new Request("http://localhost/", { headers }) };
}

const grant = (applicationId: string, expiresAt: number): Grant => ({
  applicationId,
  userId: null,
  scopes,
  expiresAt,
});

test("whoever was let in is known by their token, without the store being asked again", async () => {
  const clock = new Clock();
  const { known, authenticate, counts } = gate({ one: grant("a", clock.ms + minute) }, clock);
  const { headers, request } = asked("one");
  expect(known({ headers })).toBeNull();
  await authenticate(request);
  for (let i = 0; i < 3; i++) expect(known({ headers })?.application.id).toBe("a");
  // On another connection.
  expect(known(asked("one"))?.application.id).toBe("a");
  expect(known(asked("two"))).toBeNull();
  expect(counts.asked).toBe(1);
});

test("nobody is known any more once anything was revoked or changed", async () => {
  const clock = new Clock();
  const tokens: Record<string, Grant> = { one: grant("a", clock.ms + minute) };
  const { known, authenticate, changes } = gate(tokens, clock);
  const { headers, request } = asked("one");
  await authenticate(request);
  expect(known({ headers })).not.toBeNull();
  tokens.one = grant("b", clock.ms + minute);
  changes.note();
  expect(known({ headers })).toBeNull();
  await authenticate(request);
  expect(known({ headers })?.application.id).toBe("b");
});

test("a token that ends is not known from that moment on", async () => {
  const clock = new Clock();
  const { known, authenticate } = gate({ one: grant("a", clock.ms + minute) }, clock);
  const { headers, request } = asked("one");
  await authenticate(request);
  clock.advance(minute - 1);
  expect(known({ headers })).not.toBeNull();
  clock.advance(1);
  expect(known({ headers })).toBeNull();
});

test("a token of the platform is known for a minute, and again after it was looked at anew", async () => {
  const clock = new Clock();
  const { known, authenticate } = gate({}, clock);
  const { headers, request } = asked("jwt");
  await authenticate(request);
  expect(known({ headers })?.application.id).toBe("of the platform");
  clock.advance(minute);
  expect(known({ headers })).toBeNull();
  await authenticate(request);
  expect(known({ headers })?.application.id).toBe("of the platform");
});
