import { describe, expect, test } from "bun:test";
import { createPublicKey, generateKeyPairSync, verify as nodeVerify } from "node:crypto";
import fc from "fast-check";
import { Webhook } from "standardwebhooks";
import {
  isWebhookSecret,
  newSigningKey,
  newWebhookSecret,
  publicKeyForms,
  readPublicKey,
  readSigningKey,
  sign,
  verify,
} from "../../../src/delivery/signature.ts";
import { holds } from "../../support/property.ts";

const id = "01KEYF5T7Z2X4Q8R6W3M1N0PVC";
const body = JSON.stringify({ type: "chat.message.sent", data: { content: "grüße 🎉\u0000" } });
const bodyBytes = new TextEncoder().encode(body);
const now = Date.UTC(2026, 0, 14, 16, 8, 6, 789);
const timestampSeconds = Math.floor(now / 1_000);
const timestamp = String(timestampSeconds);

const exampleSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const secret = newWebhookSecret();
const privatePem = newSigningKey();
const signingKey = readSigningKey(privatePem);
const { pem, standardWebhooks } = publicKeyForms(privatePem);

describe("secrets and keys", () => {
  test("a new secret is whsec_ and 32 random bytes", () => {
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(newWebhookSecret()).not.toBe(secret);
    expect(isWebhookSecret(secret)).toBe(true);
  });

  test.each([
    [24, true],
    [64, true],
    [23, false],
    [65, false],
  ])("a secret of %p bytes: %p", (bytes, good) => {
    expect(isWebhookSecret(`whsec_${Buffer.alloc(bytes, 7).toString("base64")}`)).toBe(good);
  });

  test.each([
    "",
    "whsec_",
    "whsec_!!!",
    exampleSecret.slice(6),
    `${exampleSecret}\n`,
    ` ${exampleSecret}`,
    `${exampleSecret} ${exampleSecret}`,
  ])("%p is no secret", (value) => {
    expect(isWebhookSecret(value)).toBe(false);
    expect(() => sign({ id, timestampSeconds, body, secrets: [value] })).toThrow("not a webhook secret");
  });

  test("a complaint about a secret does not repeat it", () => {
    const wrong = "hunter2hunter2hunter2";
    expect(() => sign({ id, timestampSeconds, body, secrets: [wrong] })).not.toThrow(wrong);
  });

  test("the public key in both forms is the same key", () => {
    expect(privatePem).toStartWith("-----BEGIN PRIVATE KEY-----");
    expect(pem).toStartWith("-----BEGIN PUBLIC KEY-----");
    expect(standardWebhooks).toMatch(/^whpk_[A-Za-z0-9+/]{43}=$/);
    const raw = Buffer.from(standardWebhooks.slice(5), "base64");
    // RFC 8410: the last 32 bytes of an Ed25519 SubjectPublicKeyInfo are the key.
    const spki = createPublicKey(pem).export({ type: "spki", format: "der" });
    expect(raw.equals(spki.subarray(-32))).toBe(true);
    expect(readPublicKey(pem).equals(readPublicKey(standardWebhooks))).toBe(true);
    expect(newSigningKey()).not.toBe(privatePem);
  });

  test("other keys are refused", () => {
    const ec = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const ecPrivate = ec.privateKey.export({ type: "pkcs8", format: "pem" }).toString();
    const ecPublic = ec.publicKey.export({ type: "spki", format: "pem" }).toString();
    for (const wrong of [ecPrivate, pem, "", "whpk_AAAA"])
      expect(() => readSigningKey(wrong)).toThrow(TypeError);
    for (const wrong of [ecPublic, "", "whpk_AAAA", "whpk_"])
      expect(() => readPublicKey(wrong)).toThrow(TypeError);
  });
});

describe("sign", () => {
  test("makes the signature of the reference libraries' example", () => {
    const example = {
      id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
      timestampSeconds: 1_614_265_330,
      body: '{"test": 2432232314}',
      secrets: [exampleSecret],
    };
    expect(sign(example)).toBe("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  });

  test("writes one v1 per secret in their order, then v1a", () => {
    const other = newWebhookSecret();
    const one = sign({ id, timestampSeconds, body, secrets: [secret] });
    const two = sign({ id, timestampSeconds, body, secrets: [other] });
    const platform = sign({ id, timestampSeconds, body, secrets: [], ed25519: signingKey });
    expect(one).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/);
    expect(platform).toMatch(/^v1a,[A-Za-z0-9+/]{86}==$/);
    expect(sign({ id, timestampSeconds, body, secrets: [secret, other], ed25519: signingKey })).toBe(
      `${one} ${two} ${platform}`,
    );
  });

  test("text and its bytes sign alike", () => {
    const both = { id, timestampSeconds, secrets: [secret], ed25519: signingKey };
    expect(sign({ ...both, body })).toBe(sign({ ...both, body: bodyBytes }));
  });

  test("refuses an id with a dot", () => {
    expect(() => sign({ id: "a.1", timestampSeconds, body, secrets: [secret] })).toThrow("dot");
  });

  test.each([0, 700, 16_344, 16_384, 100_000])(
    "v1a is of the whole body, whatever was signed before: %p bytes",
    (length) => {
      sign({ id, timestampSeconds, body: new Uint8Array(15_000).fill(1), secrets: [], ed25519: signingKey });
      for (const longId of [id, "ü".repeat(500)]) {
        const content = new Uint8Array(length).fill(2);
        const value = sign({ id: longId, timestampSeconds, body: content, secrets: [], ed25519: signingKey });
        const signed = Buffer.concat([Buffer.from(`${longId}.${timestamp}.`), content]);
        const signature = Buffer.from(value.slice("v1a,".length), "base64");
        expect(nodeVerify(null, signed, createPublicKey(pem), signature)).toBe(true);
      }
    },
  );
});

describe("the standardwebhooks package", () => {
  const library = new Webhook(secret);

  test("makes a signature that verify accepts", () => {
    const signature = library.sign(id, new Date(now), body);
    expect(signature).toBe(sign({ id, timestampSeconds, body, secrets: [secret] }));
    expect(verify({ id, timestamp, signature, body: bodyBytes, secret, now })).toBe("ok");
  });
});

describe("verify", () => {
  const publicKey = readPublicKey(standardWebhooks);
  const signature = sign({ id, timestampSeconds, body, secrets: [secret], ed25519: signingKey });
  const good = { id, timestamp, signature, body, secret, now };

  test("accepts either version alone", () => {
    expect(verify(good)).toBe("ok");
    expect(verify({ ...good, secret: undefined, publicKey })).toBe("ok");
    expect(verify({ ...good, secret: newWebhookSecret(), publicKey })).toBe("ok");
  });

  test("refuses everything that was changed", () => {
    const no = "no_matching_signature";
    for (const known of [{ secret }, { secret: undefined, publicKey }]) {
      const delivery = { ...good, ...known };
      expect(verify({ ...delivery, body: `${body} ` })).toBe(no);
      expect(verify({ ...delivery, id: id.toLowerCase() })).toBe(no);
      expect(verify({ ...delivery, timestamp: String(timestampSeconds + 1) })).toBe(no);
      expect(verify({ ...delivery, timestamp: `0${timestamp}` })).toBe(no);
      expect(
        verify({
          ...delivery,
          signature: signature.replaceAll(/,(.)/g, (_, first) => (first === "A" ? ",B" : ",A")),
        }),
      ).toBe(no);
      expect(verify({ ...delivery, signature: "v1, v1a, v1 , ,v1a" })).toBe(no);
      expect(verify({ ...delivery, signature: signature.replaceAll("v1", "v2") })).toBe(no);
    }
    expect(verify({ ...good, secret: newWebhookSecret() })).toBe(no);
    expect(verify({ ...good, secret: undefined })).toBe(no);
    expect(
      verify({ ...good, secret: undefined, publicKey: readPublicKey(publicKeyForms(newSigningKey()).pem) }),
    ).toBe(no);
  });

  test("accepts whatever was signed, by either version, and nothing of which one bit is another", () => {
    const ids = fc.stringMatching(/^[^.]{1,40}$/);
    const bodies = fc.uint8Array({ maxLength: 2_000 });
    const secrets = fc.uint8Array({ minLength: 24, maxLength: 64 }).map((key) => `whsec_${key.toBase64()}`);
    const times = fc.integer({ min: 1, max: 99_999_999_999 });
    holds(
      fc.property(ids, bodies, secrets, times, fc.nat(), (id, body, secret, timestampSeconds, place) => {
        const others = [newWebhookSecret(), secret];
        const signature = sign({ id, timestampSeconds, body, secrets: others, ed25519: signingKey });
        const timestamp = String(timestampSeconds);
        const given = { id, timestamp, signature, body, now: timestampSeconds * 1_000 };
        const at = place % Math.max(body.length, 1);
        const changedBody = Uint8Array.from([
          ...body.subarray(0, at),
          (body[at] ?? 0) ^ (1 << (place % 8)),
          ...body.subarray(at + 1),
        ]);
        const changes = [
          { body: changedBody },
          { id: `${id}x` },
          { timestamp: String(timestampSeconds + 1) },
          { signature: signature.replaceAll(/,(.)/g, (_, first) => (first === "A" ? ",B" : ",A")) },
        ];
        for (const known of [{ secret }, { publicKey }]) {
          expect(verify({ ...given, ...known })).toBe("ok");
          for (const change of changes) {
            expect(verify({ ...given, ...known, ...change })).toBe("no_matching_signature");
          }
        }
        expect(new Webhook(secret).sign(id, new Date(given.now), Buffer.from(body).toString("latin1"))).toBe(
          sign({ id, timestampSeconds, body: Buffer.from(body).toString("latin1"), secrets: [secret] }),
        );
      }),
    );
  });

  test("does not take a signature of one version for the other", () => {
    const [hmac = "", platform = ""] = signature.split(" ");
    const swapped = `${hmac.replace("v1,", "v1a,")} ${platform.replace("v1a,", "v1,")}`;
    expect(verify({ ...good, signature: swapped, publicKey })).toBe("no_matching_signature");
  });

  test.each([
    [300, "ok"],
    [301, "timestamp_too_old"],
    [-300, "ok"],
    [-301, "timestamp_too_new"],
  ])("a delivery %p s old is %p", (age, verdict) => {
    expect(verify({ ...good, now: (timestampSeconds + age) * 1_000 }) as string).toBe(verdict);
  });

  test.each(["", "soon", "1e9", "-1", "1768406886.5", " 1768406886", "9".repeat(16)])(
    "%p is no timestamp",
    (value) => {
      expect(verify({ ...good, timestamp: value }) as string).toBe(
        value === "" ? "missing_header" : "bad_timestamp",
      );
    },
  );

  test("reports a missing header", () => {
    for (const header of ["id", "timestamp", "signature"]) {
      expect(verify({ ...good, [header]: null })).toBe("missing_header");
      expect(verify({ ...good, [header]: undefined })).toBe("missing_header");
    }
  });

  test("looks at 32 signatures and no more", () => {
    expect(verify({ ...good, signature: `${"v1,AAAA ".repeat(31)}${signature}` })).toBe("ok");
    expect(verify({ ...good, signature: `${"v1,AAAA ".repeat(32)}${signature}` })).toBe(
      "no_matching_signature",
    );
  });
});
