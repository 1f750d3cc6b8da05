import { describe, expect, test } from "bun:test";
import { Crowd, type CrowdLimits } from "../../src/wire/crowd.ts";
import { Tally } from "../../src/wire/tally.ts";
import { timeouts } from "../../src/wire/timeouts.ts";
import { FakeConnection, get, nextTurn, ok, request, unlimited } from "../support/wire.ts";

/** What all connections of a server may take together, on fake sockets; `limits.test.ts` has it on real ones. */

/** A crowd, and what became of it. */
class Room {
  readonly tally = new Tally();
  readonly warned: [string, unknown][] = [];
  hasDescriptor = true;
  ms = 0;
  readonly crowd: Crowd;
  readonly #inside: FakeConnection[] = [];

  constructor(limits: Partial<CrowdLimits> = {}) {
    this.crowd = new Crowd({
      limits: { ...unlimited, ...limits },
      tally: this.tally,
      hasDescriptor: () => this.hasDescriptor,
      warn: (event, fields) => this.warned.push([event, fields]),
    });
  }

  /** A new connection, which has sent something. */
  enter(
    text = "",
    address?: string,
    answer?: ConstructorParameters<typeof FakeConnection>[0],
  ): FakeConnection {
    const fake = new FakeConnection(answer, this.crowd, address);
    fake.ms = this.ms;
    this.crowd.enter(fake.connection);
    this.#inside.push(fake);
    fake.receive(text);
    this.settle();
    return fake;
  }

  /** As a server does: who is closed is no member any more. */
  settle(): void {
    for (const { socket, connection } of this.#inside) {
      if (socket.ending === "end" || socket.ending === "terminate") this.leave(connection);
    }
  }

  leave(connection: FakeConnection["connection"]): void {
    connection.closed();
    this.crowd.leave(connection);
  }

  pass(seconds: number): void {
    for (let i = 0; i < seconds; i++) {
      this.ms += 1_000;
      for (const fake of this.#inside) fake.ms = this.ms;
      this.crowd.look(this.ms);
      this.settle();
    }
  }
}

const turnedAway =
  "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 8\r\nconnection: close\r\n\r\nno place";
const late = () => null;

describe("places", () => {
  test("who comes when all are taken is told so, and what it asks for is not looked at", () => {
    const room = new Room({ connections: 2 });
    const [first] = [room.enter(get("/a")), room.enter()];
    const third = room.enter(get("/b"));
    expect(third.sent).toBe(turnedAway);
    expect(third.socket.ending).toBe("shutdown");
    expect(third.asked).toEqual([]);
    expect(room.tally.refusals).toEqual({ limit: 1, client: 0 });
    // Nobody else is the worse for it.
    first.receive(get("/c"));
    expect(first.answers).toEqual(["/a", "/c"]);
    room.leave(first.connection);
    expect(room.enter(get("/d")).answers).toEqual(["/d"]);
    expect(room.crowd.size).toBe(3);
    // The client had a second to take its answer.
    room.pass(1);
    expect(third.socket.ending).toBe("end");
    expect([room.crowd.size, room.tally.open]).toEqual([2, 2]);
  });

  test("beyond 64 that are being told so, others are closed without a word", () => {
    const room = new Room({ connections: 1 });
    room.enter();
    const others = Array.from({ length: 100 }, () => room.enter());
    expect(others.filter(({ sent }) => sent === turnedAway)).toHaveLength(64);
    expect(others.filter(({ socket }) => socket.ending === "terminate")).toHaveLength(36);
    expect(room.tally.refusals.limit).toBe(100);
    room.pass(1);
    expect(room.crowd.size).toBe(1);
    expect(room.enter().sent).toBe(turnedAway);
  });

  test("one client has its share of them, and whoever speaks for many has no such limit", () => {
    const room = new Room({ perClient: 2, clientOf: (address) => (address === "proxy" ? null : address) });
    const own = [room.enter("", "a"), room.enter("", "a")];
    expect(room.enter("", "a").sent).toBe(turnedAway);
    expect(room.enter("", "b").sent).toBe("");
    for (let i = 0; i < 10; i++) expect(room.enter("", "proxy").sent).toBe("");
    expect(room.tally.refusals).toEqual({ limit: 0, client: 1 });
    for (const { connection } of own) room.leave(connection);
    expect([room.enter("", "a").sent, room.enter("", "a").sent, room.enter("", "a").sent]).toEqual([
      "",
      "",
      turnedAway,
    ]);
  });

  test("idle connections are ended sooner while nearly all are taken", () => {
    const room = new Room({ connections: 8 });
    const idle = [room.enter(), room.enter(get("/a"))];
    const busy = [room.enter("GET"), room.enter(get("/b"), "x", late)];
    room.pass(timeouts.crowdedIdleMs / 1_000 + 2);
    expect(idle.map(({ socket }) => socket.ending)).toEqual(["none", "none"]);
    const others = Array.from({ length: 4 }, () => room.enter(get("/b"), "x", late));
    room.pass(1);
    for (const { socket } of idle) expect(socket.ending).toBe("shutdown");
    for (const { socket } of [...busy, ...others]) expect(socket.ending).toBe("none");
    expect(room.tally.cuts).toEqual({ slow: 0, memory: 0, idle: 2 });
  });
});

describe("memory", () => {
  const large = "x".repeat(100_000);
  const blocked = (room: Room, bytes = large) => {
    const fake = room.enter("", undefined, () => ok(bytes));
    fake.socket.room = 0;
    fake.receive(get("/a"));
    return fake;
  };

  test("whoever holds the most is cut off when all of them hold too much", async () => {
    const room = new Room({ heldBytes: 500_000 });
    const small = [room.enter(get("/a")), room.enter("GET"), blocked(room, "y".repeat(1_000))];
    const first = Array.from({ length: 4 }, () => blocked(room));
    await nextTurn();
    expect(room.tally.cuts.memory).toBe(0);
    const more = [blocked(room, large.repeat(2))];
    await nextTurn();
    expect(room.tally.cuts.memory).toBe(1);
    expect(more[0]?.socket.ending).toBe("terminate");
    for (const { socket } of [...small, ...first]) expect(socket.ending).toBe("none");
    // Who is no longer there holds nothing; nor does who has taken everything.
    first[0]?.drain();
    room.settle();
    room.pass(1);
    expect(room.tally.heldBytes).toBeGreaterThan(300_000);
    expect(room.tally.heldBytes).toBeLessThan(310_000);
  });

  test.each<[string, number, (room: Room) => FakeConnection]>([
    ["an answer", 100_000, blocked],
    ["half a head", 15_000, (room) => room.enter(`GET / HTTP/1.1\r\nX: ${"x".repeat(15_000)}`)],
    [
      "half a body and its head",
      45_000,
      (room) =>
        room.enter(
          request("POST", "/", "Content-Length: 60000", `X: ${"x".repeat(5_000)}`) + "x".repeat(30_000),
        ),
    ],
    [
      "a body that is being answered",
      60_000,
      (room) => room.enter(request("POST", "/", "Content-Length: 60000") + "x".repeat(60_000), "a", late),
    ],
    ["requests that wait", 300_000, (room) => room.enter(get("/a") + "x".repeat(300_000), "a", late)],
  ])("of %s is counted, and no longer when it is gone", (_, least, enter) => {
    const room = new Room();
    const { connection } = enter(room);
    expect(connection.heldBytes).toBeGreaterThanOrEqual(least);
    expect(connection.heldBytes).toBeLessThan(least * 1.3 + 1_000);
    room.pass(1);
    expect(room.tally.heldBytes).toBe(connection.heldBytes);
    room.leave(connection);
    room.pass(1);
    expect([room.tally.heldBytes, room.tally.open]).toEqual([0, 0]);
  });

  test("is nothing for those who have what they asked for", async () => {
    const room = new Room();
    const fakes = [
      room.enter(get("/a").repeat(20)),
      room.enter(request("POST", "/b", "Content-Length: 60000") + "x".repeat(60_000)),
      room.enter(get("/late"), "a", late),
      room.enter(`${get("/a", "Connection: close")}${"x".repeat(100_000)}`),
      room.enter(`GET /\r\n\r\n${"x".repeat(100_000)}`),
    ];
    await fakes[2]?.resolve("/late");
    expect(fakes.map(({ connection }) => connection.heldBytes)).toEqual([0, 0, 0, 0, 0]);
  });
});

describe("when descriptors run out", () => {
  test("idle connections make room, nobody is let in, and the places come back", () => {
    const room = new Room({ connections: 160 });
    const idle = Array.from({ length: 80 }, () => room.enter(get("/a")));
    const busy = Array.from({ length: 80 }, () => room.enter(get("/b"), "x", late));
    room.hasDescriptor = false;
    room.pass(1);
    // An eighth of 160.
    expect(idle.filter(({ socket }) => socket.ending === "shutdown")).toHaveLength(20);
    expect(room.tally.cuts.idle).toBe(20);
    expect(room.warned[0]).toEqual(["descriptors.exhausted", { connections: 160, places: 140 }]);
    // Told so would take a descriptor for a while.
    expect(room.enter().socket.ending).toBe("terminate");
    // What is under way goes on, whatever happens.
    room.pass(30);
    for (const { socket } of busy) expect(socket.ending).toBe("none");
    expect(room.warned.map(([event]) => event)).toEqual(["descriptors.exhausted", "connections.limited"]);

    room.hasDescriptor = true;
    room.pass(64);
    const next = room.enter(get("/c"));
    expect(next.answers).toEqual(["/c"]);
  });

  test("with nobody there nothing happens", () => {
    const room = new Room({ connections: 10 });
    room.hasDescriptor = false;
    room.pass(3);
    expect(room.enter().socket.ending).toBe("terminate");
    room.hasDescriptor = true;
    room.pass(1);
    expect(room.enter(get("/a")).answers).toEqual(["/a"]);
  });
});

describe("the operator", () => {
  test("is told at once, and then once a minute, what happened since", () => {
    const room = new Room({ connections: 1 });
    room.enter("GET", "192.0.2.1", late);
    room.enter("", "192.0.2.7");
    room.pass(1);
    const first = { open: 1, refused: 1, ended: 0, last_refused: "192.0.2.7" };
    expect(room.warned).toEqual([["connections.limited", first]]);
    for (let i = 0; i < 10; i++) {
      room.enter("", "192.0.2.8");
      room.pass(1);
    }
    expect(room.warned).toHaveLength(1);
    room.pass(60);
    expect(room.warned).toHaveLength(2);
    expect(room.warned[1]?.[1]).toMatchObject({ refused: 10, last_refused: "192.0.2.8" });
    // Nothing happened since.
    room.pass(120);
    expect(room.warned).toHaveLength(2);
  });

  test("is not told of a client that reads too slowly, which is counted", () => {
    const room = new Room();
    const fake = room.enter("", "a", () => ok("x".repeat(1_000)));
    fake.socket.room = 0;
    fake.receive(get("/a"));
    room.pass(timeouts.blockedMs / 1_000 + 2);
    expect(fake.socket.ending).toBe("terminate");
    expect(room.tally.cuts).toEqual({ slow: 1, memory: 0, idle: 0 });
    expect(room.warned).toEqual([]);
  });
});

test("the tallies of threads add up", () => {
  const [one, other] = [new Tally(), new Tally()];
  one.open = 3;
  other.open = 4;
  other.heldBytes = 5;
  one.refused("limit");
  other.refused("limit");
  other.refused("client");
  other.cut("idle");
  // Of which another thread sees the same.
  const memory = Tally.memory(true);
  new Tally(memory).cut("slow");
  const { open, heldBytes, refusals, cuts } = Tally.sum([one, other, new Tally(memory)]);
  expect({ open, heldBytes, refusals, cuts }).toEqual({
    open: 7,
    heldBytes: 5,
    refusals: { limit: 2, client: 1 },
    cuts: { slow: 1, memory: 0, idle: 1 },
  });
});
