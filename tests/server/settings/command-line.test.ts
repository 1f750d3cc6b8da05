import { expect, test } from "bun:test";
import { checkArguments, nearest } from "../../../src/server/settings/command-line.ts";

const commands = ["serve", "dev", "import", "export", "apps", "tokens", "events", "deliveries", "doctor"];

test.each<[string, string | null]>([
  ["exprot", "export"],
  ["imprt", "import"],
  ["app", "apps"],
  ["deliv", "deliveries"],
  ["tokesn", "tokens"],
  ["docter", "doctor"],
  ["fly", null],
  ["x", null],
  ["constructor", null],
  ["", null],
  ["e".repeat(100_000), null],
])("the command most similar to %p is %p", (word, meant) => {
  expect(nearest(word, commands)).toBe(meant);
});

test("of several words that start with the typed text, the shortest is suggested", () => {
  expect(nearest("ap", ["apps", "app"])).toBe("app");
  expect(nearest("compl", ["compact", "completion", "complete"])).toBe("complete");
});

test("a longer name for a known word suggests that word", () => {
  const settings = ["port", "host", "public-url", "broadcaster", "url"];
  expect(nearest("public-port", settings)).toBe("port");
  expect(nearest("broadcaster-id", settings)).toBe("broadcaster");
  expect(nearest("the-public-url", settings)).toBe("public-url");
  expect(nearest("client-secret", ["client-id", "secret-file"])).toBe("secret-file");
});

const options = {
  name: { type: "string" },
  json: { type: "boolean" },
  scope: { type: "string", multiple: true },
  portal: { type: "boolean", default: false },
} as const;

test.each<[string[], object]>([
  [["a", "--name", "x", "b", "--json"], { positionals: ["a", "b"], values: { name: "x", json: true } }],
  [["--name=-x", "-"], { positionals: ["-"], values: { name: "-x" } }],
  [["--name="], { values: { name: "" } }],
  [["--", "--name"], { positionals: ["--name"] }],
  [
    ["--name", "--json"],
    {
      mistakes: [
        "--name needs a value, and --json looks like an option; to use it as the value, write --name=--json",
      ],
    },
  ],
  [["--name"], { mistakes: ["--name needs a value"] }],
  [["--help=x"], { mistakes: ["--help takes no value"] }],
  [["--name", "x", "--name=y", "--name", "z"], { values: { name: "z" }, repeated: ["name"] }],
  [["--scope", "x", "--scope", "y"], { values: { scope: "y" } }],
  [["--json", "--json"], { values: { json: true } }],
  [["--json=1"], { mistakes: ["--json takes no value"] }],
  [["--portal"], { values: { portal: true } }],
  [["--portal=false"], { values: { portal: "false" } }],
  [["--nmae", "x"], { positionals: [], mistakes: ["--nmae is not a known option. Did you mean --name?"] }],
  [["--secret", "whsec"], { positionals: [], mistakes: ["--secret is not a known option."] }],
  [["-n", "x"], { positionals: [], mistakes: ["-n is not a known option."] }],
  [["--constructor"], { mistakes: ["--constructor is not a known option."] }],
])("%j", (args, expected) => {
  expect(checkArguments(args, options)).toEqual({
    positionals: [],
    values: {},
    mistakes: [],
    repeated: [],
    ...expected,
  });
});
