import { describe, expect, test } from "bun:test";
import { withoutPassword } from "../../../src/server/settings/setting-values.ts";
import { namedLocation, readDatabaseUrl, shownLocation } from "../../../src/store/location.ts";

describe("the URL of a database", () => {
  test.each([
    ["postgres://a:b%2Fc@db.example:6000/x?sslmode=require", { user: "a", password: "b/c", port: 6000 }],
    ["postgresql://a@[::1]/x", { host: "::1", port: 5432, sslMode: "prefer", password: "" }],
    ["postgres:///x?host=/run/postgresql", { socket: "/run/postgresql", database: "x" }],
    [
      "postgres://a:b@c,[::1]:6000,%2Frun%2Fpg/x?target_session_attrs=read-write",
      {
        host: "c",
        port: 5432,
        password: "b",
        others: [
          { host: "::1", port: 6000, socket: null },
          { host: "/run/pg", port: 5432, socket: "/run/pg" },
        ],
      },
    ],
  ])("%s", (url, parts) => {
    expect(readDatabaseUrl(url)).toMatchObject(parts);
  });

  test.each([
    ["mysql://a:secret@b/c", "must be a URL like"],
    ["postgres://a:secret@b", "must end with the name"],
    ["postgres://a:secret@b/c?sslmode=yes", "must have an sslmode of"],
    ["postgres://a:secret@b/c?target=1", '"target" is not one'],
    ["postgres://a:secret%zz@b/c", "hexadecimal"],
    ["postgres://a:secret@b,,d/c", "each of its hosts"],
    ["postgres://a:secret@b,d:x/c", "must be a URL like"],
    ["postgres://a:secret@b,d/c?target_session_attrs=any", "read-write"],
  ])("%s is refused, and the password is not in the message", (url, message) => {
    let said = "";
    try {
      readDatabaseUrl(url);
    } catch (error) {
      said = error instanceof TypeError ? error.message : "";
    }
    expect(said).toContain(message);
    expect(said).not.toContain("secret");
  });

  test("is shown without user and password", () => {
    expect(shownLocation(readDatabaseUrl("postgres://a:secret@b/c"))).toBe("b:5432/c");
    expect(shownLocation(readDatabaseUrl("postgres://a:secret@b:1,d:2/c"))).toBe("b:1,d:2/c");
  });

  test.each(["postgres://a@b:5432/c", "postgres://a@[::1]:6000,d:6001/c", "postgres://a@%2Frun:5432,d:1/c"])(
    "%s is named without its password",
    (url) => {
      expect(namedLocation(readDatabaseUrl(url.replace("a@", "a:secret@")))).toBe(url);
    },
  );

  test.each(["postgres://a:secret@b/c", "postgres://a:secret@b:1,d:2/c"])(
    "%s is refused as an option",
    (url) => {
      expect(() => withoutPassword(url)).toThrow("must be without a password");
      expect(() => withoutPassword(url.replace(":secret", ""))).not.toThrow();
    },
  );
});
