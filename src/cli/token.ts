import { tokenSource } from "../client/tokens.ts";
import { command, switches, valued } from "./arguments.ts";
import { explained, readPublicTarget, throughRequest } from "./calls/public-api.ts";
import { UsageError } from "./command.ts";
import { print } from "./output/print.ts";

const help = `Usage: onair token [--profile NAME] [--renew]

Prints an access token of the profile, for other programs:

  curl -H "Authorization: Bearer $(onair token)" https://api.example.com/public/v1/users/maya

A stored token is printed until shortly before it expires; then a new one is fetched and stored.
With ONAIR_TOKEN and without --profile, prints ONAIR_TOKEN.

  --profile NAME the profile of "onair login" (ONAIR_PROFILE, default: "default", else "dev", the
                 profile that "onair dev" stores)
  --renew        fetch a new token, for example after the tokens of the application were revoked

Exit code: 0 on success, 1 on failure, 2 for wrong usage.
`;

export const token = command({
  summary: "print an access token of the profile",
  help,
  options: { ...valued("profile"), ...switches("renew") },
  async run({ values: { profile, renew = false }, env, mistakes, check }) {
    const target = readPublicTarget(profile === undefined ? {} : { profile }, env, mistakes);
    check();
    const { credentials, url } = target;
    if (renew && credentials.token !== undefined)
      throw new UsageError("--renew needs a profile: ONAIR_TOKEN holds a token that cannot be renewed");
    const source = tokenSource(url, credentials, throughRequest);
    await explained(target, async () => {
      const stored = await source.current();
      await print((renew ? await source.after(stored ?? "") : stored) ?? "");
    });
  },
});
