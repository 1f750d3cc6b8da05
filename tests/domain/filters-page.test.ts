import { expect, test } from "bun:test";
import { join } from "node:path";
import { Catalogue } from "../../src/domain/events/catalogue.ts";
import { operatorNames, readCondition } from "../../src/domain/events/conditions.ts";
import { filterProblems } from "../../src/domain/filters.ts";

/* The tables of docs/filters.md. */

const page = await Bun.file(join(import.meta.dir, "../../docs/filters.md")).text();
/** The cells of the rows of tables, with the texts of code as they are meant. */
const rows = page
  .split("\n")
  .filter((line) => line.startsWith("| "))
  .map((line) => line.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|")))
  .map(([, ...cells]) => cells.slice(0, -1));
const json = (cell = "") => JSON.parse(/^`(.*)`$/.exec(cell)?.[1] ?? "null");

const matches = (condition: unknown, data: unknown) => {
  const read = readCondition(condition, "filter");
  return "condition" in read && read.condition.matches(data);
};

const examples = rows.filter(([, condition, result]) => condition?.startsWith("`{") && result === undefined);
test("each example for messages is a valid filter of chat.message.sent", () => {
  expect(examples.length).toBeGreaterThanOrEqual(9);
  for (const [, condition] of examples)
    expect(filterProblems({ "chat.message.sent": json(condition) }, new Catalogue())).toEqual([]);
});

test("the examples match the messages that they name", () => {
  const chat = new Catalogue().find("chat.message.sent", 1)?.example as Record<string, unknown>;
  const found = (content: string) =>
    examples.flatMap(([what, condition]) => (matches(json(condition), { ...chat, content }) ? what : []));
  // The sender of the example is a moderator and a subscriber of seven months, and replies with an emote.
  const always = [
    "of moderators",
    "of subscribers of half a year or more",
    "that are replies",
    "of all but two bots",
    "with an emote",
  ];
  expect(found("hello").sort()).toEqual(always.toSorted());
  const command = [
    "that begin with `!`",
    "of commands of your bot, in any case",
    "that begin with `!`, of moderators or the channel's owner",
  ];
  expect(found("!UPTIME now").sort()).toEqual([...always, ...command].sort());
  expect(found("hi @my_bot")).toContain("that mention you or reply to you");
  expect(matches(json(examples.at(-1)?.[1]), { ...chat, emotes: [] })).toBe(false);
});

const checked = rows.filter(([, , result]) => result === "yes" || result === "no");
test("each line of the table of conditions and payloads is as it says", () => {
  expect(checked.length).toBeGreaterThanOrEqual(13);
  for (const [condition, data, result] of checked)
    expect([condition, data, matches(json(condition), json(data)) ? "yes" : "no"]).toEqual([
      condition,
      data,
      result,
    ]);
});

test("the table of operators has all of them", () => {
  for (const name of operatorNames) expect(page).toContain(`\`${name}\``);
});
