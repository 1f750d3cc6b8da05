import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { clientPackages } from "../../scripts/release/clients.ts";
import { afterThisTest } from "../support/after-tests.ts";
import { commandOf, hasGo, programEnvironment } from "../support/documented.ts";
import { accept, Browser, challengeFor, loginUrl, parameter, redirectUri } from "../support/oauth.ts";
import { RunningCommand } from "../support/process.ts";
import { event, publish, settled, subscribe } from "../support/publishing.ts";
import { users } from "../support/real-data.ts";
import { category, ownDirectory, ownServer } from "../support/server.ts";

/*
 * The clients for Python and Go against a running server. Their own tests are in clients/, and are run here, too. The
 * programs of docs/python.md and docs/go.md are in receivers.test.ts, stream-programs.test.ts and bad-day.test.ts.
 */

const root = join(import.meta.dir, "../..");
const longestMs = 300_000;

/** Calls, pages, an error, and the sign-in of a user, whose browser the test plays. */
const programs = {
  python: `
import os
import sys
from urllib.parse import parse_qsl, urlsplit
from onair_client import Client, OnairError, Session, SignIn

url = os.environ["ONAIR_URL"]
credentials = {"client_id": os.environ["CLIENT_ID"], "client_secret": os.environ["CLIENT_SECRET"]}
onair = Client(url, **credentials)
print("found", onair.search_users(query="riot")["data"][0]["username"])
print("categories", *(one["id"] for one in onair.all_categories(limit=3)))
try:
    onair.search_users(query="r")
except OnairError as error:
    print("refused", error.status, error.code, error.errors[0]["field"], bool(error.request_id))
print("named", *(one["event"] for one in onair.all_subscriptions(limit=1)))
print("deliveries", len(list(onair.all_deliveries(limit=2))))
print("url", onair.change_own_application({"webhook_url": None})["data"]["webhook_url"])
ids = [one["id"] for one in onair.get_subscriptions()["data"]]
print("deleted", onair.delete_subscriptions(id=ids), len(onair.get_subscriptions()["data"]))
sign_in = SignIn(url, **credentials, redirect_uri="${redirectUri}", scopes=["users:read"])
print("go", sign_in.authorization_url, flush=True)
session = sign_in.finish(dict(parse_qsl(urlsplit(sys.stdin.readline().strip()).query)))
expired = Session(session.access_token, 0, session.refresh_token)
user = Client(url, **credentials, session=expired, save_session=lambda new: print("saved", new != expired))
print("user", user.get_user_info()["preferred_username"])
`,
  go: `package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"net/url"
	"os"
	"strings"
	"time"

	"onair.example/onair"
)

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func main() {
	ctx := context.Background()
	config := onair.Config{URL: os.Getenv("ONAIR_URL"), ClientID: os.Getenv("CLIENT_ID"), ClientSecret: os.Getenv("CLIENT_SECRET")}
	client := must(onair.New(config))
	fmt.Println("found", must(client.SearchUsers(ctx, onair.SearchUsersParams{Query: "riot"})).Data[0].Username)
	fmt.Print("categories")
	for category, err := range client.AllCategories(ctx, onair.GetCategoriesParams{Limit: 3}) {
		fmt.Print(" ", must(category, err).ID)
	}
	_, err := client.SearchUsers(ctx, onair.SearchUsersParams{Query: "r"})
	var refusal *onair.Error
	if errors.As(err, &refusal) {
		fmt.Println("\\nrefused", refusal.Status, refusal.Code, refusal.Fields[0].Field, refusal.RequestID != "")
	}
	fmt.Print("named")
	for named, err := range client.AllSubscriptions(ctx, onair.ListSubscriptionsParams{Limit: 1}) {
		fmt.Print(" ", must(named, err).Event)
	}
	deliveries := 0
	for _, err := range client.AllDeliveries(ctx, onair.GetDeliveriesParams{Limit: 2}) {
		must(0, err)
		deliveries++
	}
	fmt.Println("\\ndeliveries", deliveries)
	changed := must(client.ChangeOwnApplication(ctx, onair.OwnApplicationChanges{WebhookURL: onair.Null[string]()}))
	fmt.Println("url", changed.Data.WebhookURL)
	var ids []string
	for _, one := range must(client.GetSubscriptions(ctx)).Data {
		ids = append(ids, one.ID)
	}
	deleted := client.DeleteSubscriptions(ctx, onair.DeleteSubscriptionsParams{ID: ids})
	fmt.Println("deleted", deleted, len(must(client.GetSubscriptions(ctx)).Data))
	signIn := onair.NewSignIn(config, "${redirectUri}")
	signIn.Config.Scopes = []string{"users:read"}
	fmt.Println("go", signIn.AuthorizationURL())
	back := must(url.Parse(strings.TrimSpace(must(bufio.NewReader(os.Stdin).ReadString('\\n')))))
	session := must(signIn.Finish(ctx, back.Query()))
	old := session.AccessToken
	session.ExpiresAt = time.Time{}
	config.Session = session
	config.SaveSession = func(_ context.Context, session onair.Session) error {
		fmt.Println("saved", session.AccessToken != old)
		return nil
	}
	user := must(onair.New(config))
	fmt.Println("user", must(user.GetUserInfo(ctx)).PreferredUsername)
}
`,
};

const pageOf = { python: "docs/python.md", go: "docs/go.md" } as const;

describe.each(["python", "go"] as const)("the client for %s", (language) => {
  test(
    "calls, follows pages, reports errors, and signs a user in",
    async () => {
      const directory = ownDirectory();
      const program = {
        name: `the client for ${language}`,
        page: pageOf[language],
        language,
        text: programs[language],
      };
      const command = commandOf(program, directory, 0);
      if (command === null) return;
      const server = await ownServer({ args: ["--login-url", loginUrl], users });
      const ids = [1, 2, 3, 4, 5, 6, 7];
      await server.load(
        "categories",
        ids.map((id) => category(id)),
      );
      const app = await server.application({ redirect_uris: [redirectUri], delivery: "stream" });
      await subscribe(server, app, ["channel.followed", "chat.message.sent"]);
      for (let i = 0; i < 5; i++) await publish(server, event("channel.followed"));
      await settled(server);
      const running = new RunningCommand([], {
        command,
        cwd: directory,
        env: {
          ...(programEnvironment as Record<string, string>),
          ONAIR_URL: server.publicUrl,
          CLIENT_ID: app.client_id,
          CLIENT_SECRET: app.client_secret,
        },
      });
      afterThisTest(() => running.kill("SIGKILL"));
      const address = (await running.line((line) => line.startsWith("go "))).slice(3);
      expect(parameter(address, "redirect_uri")).toBe(redirectUri);
      const browser = new Browser(server);
      const back = await accept(server, await challengeFor(browser, address), { user_id: users[0]?.id });
      running.write(`${(await browser.open(back)).location}\n`);
      const { stdout, stderr, code } = await running.ended();
      expect([stderr, code]).toEqual(["", 0]);
      const nothing = language === "go" ? "<nil>" : "None";
      const lines = stdout
        .replaceAll("True", "true")
        .trim()
        .split("\n")
        .filter((line) => !line.startsWith("go "));
      expect(lines).toEqual([
        expect.stringMatching(/^found \S*riot/i),
        `categories ${ids.join(" ")}`,
        "refused 400 invalid_parameter query true",
        "named channel.followed chat.message.sent",
        "deliveries 5",
        `url ${nothing}`,
        `deleted ${nothing} 0`,
        "saved true",
        `user ${users[0]?.username}`,
      ]);
    },
    longestMs,
  );
});

/** Runs a tool. Returns what it prints, and its exit code. */
async function tool(command: readonly string[], cwd: string, env: Record<string, string> = {}) {
  const child = Bun.spawn([...command], {
    cwd,
    env: { ...programEnvironment, ...env },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { output: stdout + stderr, code: await child.exited };
}

function isMissing(name: string, is: boolean): boolean {
  if (is) console.warn(`\n*** There is no ${name} here: a test of its client is NOT RUN. ***\n`);
  return is;
}

describe.skipIf(isMissing("Python", Bun.which("python3") === null))("in clients/python", () => {
  test(
    "its own tests pass",
    async () => {
      const tests = ["python3", "-W", "error::SyntaxWarning", "-m", "unittest", "discover", "tests"];
      const { output, code } = await tool(tests, join(root, "clients/python"));
      expect([output.slice(-2_000), code]).toEqual([expect.stringMatching(/Ran \d\d tests[\s\S]*OK/), 0]);
    },
    longestMs,
  );

  test("the wheel of a release is complete, and works unpacked or not", async () => {
    const directory = ownDirectory();
    const [wheel] = await clientPackages("1.2.3+4.gabcdef0", 1_768_406_886);
    const file = join(directory, wheel?.path ?? "");
    await Bun.write(file, wheel?.content ?? "");
    const check = `
import base64, csv, hashlib, sys, zipfile
from importlib.metadata import distribution
archive = zipfile.ZipFile(sys.argv[1])
assert archive.testzip() is None
rows = list(csv.reader(archive.read("onair_client-1.2.3+4.gabcdef0.dist-info/RECORD").decode().splitlines()))
assert sorted(row[0] for row in rows) == sorted(archive.namelist())
for name, digest, size in rows[:-1]:
    content = archive.read(name)
    hashed = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    assert (digest, size) == ("sha256=" + hashed, str(len(content))), name
sys.path.insert(0, sys.argv[1])
import onair_client
assert onair_client.__file__.startswith(sys.argv[1])
found = distribution("onair-client")
print(found.version, found.metadata["Requires-Python"], "onair_client/py.typed" in archive.namelist())
`;
    const { output } = await tool(["python3", "-c", check, file], directory, { PYTHONPATH: "" });
    expect(output).toBe("1.2.3+4.gabcdef0 >=3.9 True\n");
  });

  test.skipIf(isMissing("mypy", Bun.which("mypy") === null))(
    "its types are sound, and know fields, calls and events",
    async () => {
      const directory = ownDirectory();
      writeFileSync(
        join(directory, "right.py"),
        `from onair_client import Client, StreamEvent
onair = Client("http://a", token="t")
count: int = onair.get_user("maya")["user"]["followers_count"]
def handle(event: StreamEvent) -> str:
    if event["type"] == "chat.message.sent":
        return event["data"]["content"]
    if event["type"] == "gap":
        return event["data"]["from"]
    if event["type"] == "endpoint.failing":
        return event["data"]["summary"]
    return event["delivery"]["id"]
for event in onair.stream():
    handle(event)
onair.create_subscriptions({"events": [{"name": "channel.followed", "version": 1}], "broadcaster_user_id": 1})
`,
      );
      writeFileSync(
        join(directory, "wrong.py"),
        `from onair_client import Client
onair = Client("http://a", token="t")
onair.get_user("maya")["user"]["followers"]
onair.get_nothing()
onair.search_users()
onair.create_subscriptions({"event": []})
for event in onair.stream():
    if event["type"] == "channel.followed":
        event["data"]["content"]
`,
      );
      const source = join(root, "clients/python/src");
      const mypy = ["mypy", "--strict", "--no-error-summary", "--cache-dir", "/dev/null"];
      const files = [join(source, "onair_client"), "right.py", "wrong.py"];
      const { output } = await tool([...mypy, ...files], directory, { MYPYPATH: source });
      expect(output.split("\n").filter((line) => !/^wrong\.py:|^$/.test(line))).toEqual([]);
      const lines = [...output.matchAll(/^wrong\.py:(\d+): error/gm)].map(([, line]) => Number(line));
      expect([...new Set(lines)]).toEqual([3, 4, 5, 6, 9]);
    },
    longestMs,
  );
});

describe.skipIf(isMissing("Go 1.24", !hasGo()))("in clients/go", () => {
  test(
    "its own tests pass, and gofmt and vet find nothing",
    async () => {
      const directory = join(root, "clients/go");
      expect(await tool(["gofmt", "-l", "."], directory)).toEqual({ output: "", code: 0 });
      expect(await tool(["go", "vet", "./..."], directory)).toEqual({ output: "", code: 0 });
      const { output, code } = await tool(["go", "test", "-count=1", "-v", "./..."], directory);
      expect([output.slice(-2_000), code]).toEqual([
        expect.stringMatching(/ok {2}\tonair\.example\/onair/),
        0,
      ]);
    },
    longestMs,
  );

  test(
    "the module of a release compiles",
    async () => {
      const directory = ownDirectory();
      const [, , module] = await clientPackages("1.2.3", 1_768_406_886);
      await Bun.write(join(directory, "module.zip"), module?.content ?? "");
      const unpack = "import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall()";
      if (isMissing("Python, which unpacks the module", Bun.which("python3") === null)) return;
      expect(await tool(["python3", "-c", unpack, "module.zip"], directory)).toEqual({ output: "", code: 0 });
      const { output, code } = await tool(["go", "vet", "./..."], join(directory, "onair-go-1.2.3"));
      expect([output, code]).toEqual(["", 0]);
    },
    longestMs,
  );
});
