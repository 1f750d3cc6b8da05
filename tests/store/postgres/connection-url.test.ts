import { describe, expect, test } from "bun:test";
import { readDatabaseUrl, shownPlace } from "../../../src/store/postgres/database/connection-url.ts";

describe("the URL of a database", () => {
  test.each([
    ["postgres://a:b%2Fc@db.example:6000/x?sslmode=require", { user: "a", password: "b/c", port: 6000 }],
    ["postgresql://a@[::1]/x", { host: "::1", port: 5432, sslMode: "prefer", password: "" }],
    ["postgres:///x?host=/run/postgresql", { socket: "/run/postgresql", database: "x" }],
  ])("%s", (url, parts) => {
    expect(readDatabaseUrl(url)).toMatchObject(parts);
  });

  test.each([
    ["mysql://a:secret@b/c", "must be a URL like"],
    ["postgres://a:secret@b", "must end with the name"],
    ["postgres://a:secret@b/c?sslmode=yes", "must have an sslmode of"],
    ["postgres://a:secret@b/c?target=1", '"target" is not one'],
    ["postgres://a:secret%zz@b/c", "hexadecimal"],
    ["postgres://a:secret@b,d/c", "one host"],
  ])("%s is refused, and the password is not told", (url, message) => {
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
    expect(shownPlace(readDatabaseUrl("postgres://a:secret@b/c"))).toBe("b:5432/c");
  });
});
