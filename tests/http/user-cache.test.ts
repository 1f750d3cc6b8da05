import { expect, test } from "bun:test";
import type { User } from "../../src/domain/users.ts";
import { UserCache } from "../../src/http/public/user-cache.ts";

const user: User = {
  id: 1,
  username: "one",
  display_name: "Before",
  bio: "",
  profile_picture: null,
  followers_count: 0,
  following_count: 0,
  is_verified: false,
  created_at: "2020-01-01T00:00:00Z",
};

test("a user who changes while being read is not kept in the old state", async () => {
  let kept = user;
  const reading = Promise.withResolvers<void>();
  let isSlow = true;
  const users = new UserCache({
    async find() {
      const found = kept;
      if (isSlow) await reading.promise;
      return found;
    },
  });
  const early = users.find("one");
  kept = { ...user, display_name: "After" };
  users.forget([user.id]);
  isSlow = false;
  reading.resolve();
  expect((await early)?.display_name).toBe("Before");
  expect((await users.find("one"))?.display_name).toBe("After");
});
