import { describe, expect, test } from "bun:test";
import { UsageError } from "../../src/cli/command.ts";
import { readAssignment, withAssignments } from "../../src/cli/trigger.ts";

describe("--set", () => {
  test.each<[string, (string | number)[], unknown]>([
    ["content=hello", ["content"], "hello"],
    ["content=hello world = 5", ["content"], "hello world = 5"],
    ["content=", ["content"], ""],
    ["content=5", ["content"], 5],
    ['content="5"', ["content"], "5"],
    ["is_live=true", ["is_live"], true],
    ["ended_at=null", ["ended_at"], null],
    ["sender.username=maya", ["sender", "username"], "maya"],
    ["giftees[0].user_id=7", ["giftees", 0, "user_id"], 7],
    ["emotes[1].positions[12]=3", ["emotes", 1, "positions", 12], 3],
    ['reward={"title": "Hi"}', ["reward"], { title: "Hi" }],
    ["list=[1, 2]", ["list"], [1, 2]],
    ["list=[1, 2", ["list"], "[1, 2"],
    ["title=クリス", ["title"], "クリス"],
  ])("%s", (text, path, value) => {
    expect(readAssignment(text)).toEqual({ path, value });
  });

  test.each([
    "",
    "content",
    "=5",
    ".a=5",
    "a.=5",
    "a..b=5",
    "a[=5",
    "a[]=5",
    "a[x]=5",
    "a[01]=5",
    "[0]=5",
    "a]b=5",
    "a[1]b=5",
  ])("%p is wrong usage", (text) => {
    expect(() => readAssignment(text)).toThrow(UsageError);
  });

  test.each([
    "id=9007199254740993",
    "id=-12345678901234567890",
    'id={"list":[1,9007199254740993]}',
    "id=1e400",
  ])("%s is refused, because it cannot be represented exactly", (text) => {
    const message =
      "--set id cannot be represented exactly: integers are exact up to 9007199254740991; send a larger one as a string";
    expect(() => readAssignment(text)).toThrow(new UsageError(message));
  });

  test.each<[string, unknown]>([
    ["id=9007199254740991", 9_007_199_254_740_991],
    ["id=9007199254740992", 9_007_199_254_740_992],
    ["id=1e300", 1e300],
    ['id="9007199254740993"', "9007199254740993"],
  ])("%s is sent as it is written", (text, value) => {
    expect(readAssignment(text).value).toBe(value);
  });
});

describe("a sample", () => {
  const sample = { sender: { username: "a", identity: null }, giftees: [{ id: 1 }, { id: 2 }], title: "t" };
  const changed = (...texts: string[]) => withAssignments(sample, texts.map(readAssignment));

  test.each<[string[], unknown]>([
    [[], sample],
    [["title=u"], { ...sample, title: "u" }],
    [["sender.username=b"], { ...sample, sender: { username: "b", identity: null } }],
    [["sender.username=b", "sender.username=c"], { ...sample, sender: { username: "c", identity: null } }],
    [["giftees[1].id=7"], { ...sample, giftees: [{ id: 1 }, { id: 7 }] }],
    [['giftees[2]={"id":3}', "giftees[2].id=4"], { ...sample, giftees: [{ id: 1 }, { id: 2 }, { id: 4 }] }],
    [["giftees=[]"], { ...sample, giftees: [] }],
    [["new=1"], { ...sample, new: 1 }],
  ])("with %p", (texts, expected) => {
    const before = structuredClone(sample);
    expect(changed(...texts)).toEqual(expected);
    expect(sample).toEqual(before);
  });

  test.each([
    ["nobody.username=b", "--set nobody.username: there is no nobody"],
    ["sender.identity.color=1", "there is no sender.identity.color"],
    ["title.length=1", "there is no title.length"],
    ["title[0]=1", "there is no title[0]"],
    ["giftees[3]=1", "there is no giftees[3]"],
    ["giftees[2].id=1", "there is no giftees[2]"],
    ["giftees.length=0", "there is no giftees.length"],
    ["constructor.name=b", "there is no constructor"],
    ["__proto__.polluted=1", "there is no __proto__"],
  ])("%s is refused", (text, message) => {
    expect(() => changed(text)).toThrow(message);
  });

  test("no path reaches the prototype of objects", () => {
    changed('__proto__={"polluted":1}', 'sender.__proto__={"polluted":1}');
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });
});
