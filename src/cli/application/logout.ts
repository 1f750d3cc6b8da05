import { didYouMean } from "../../config/command-line.ts";
import { command, switches, valued } from "../arguments.ts";
import { describeError } from "../client/faults.ts";
import { request } from "../client/http.ts";
import { defaultProfile, type Profile, Profiles, profileNameOf } from "../client/profiles.ts";
import { note, print } from "../output/print.ts";

const help = `Usage: onair logout [--profile NAME | --all]

Removes a profile of "onair login", and revokes its tokens at the platform.

  --profile NAME the profile (ONAIR_PROFILE, default: "${defaultProfile}")
  --all          all profiles

Exit code: 0 on success, 2 for wrong usage.
`;

export const logout = command({
  summary: "remove a profile and revoke its tokens",
  help,
  options: { ...valued("profile"), ...switches("all") },
  async run({ values, env, mistakes, check }) {
    const { profile, all = false } = values;
    if (all && profile !== undefined) mistakes.push("--all and --profile exclude each other");
    const profiles = new Profiles(env);
    const known = profiles.names();
    const name = profileNameOf(profile, env);
    if (!all && !known.includes(name))
      mistakes.push(`there is no profile "${name}".${didYouMean(name, known)}`);
    check();
    for (const one of all ? known : [name]) {
      const problem = await revokeTokens(profiles, one);
      profiles.remove(one);
      await print(`The profile "${one}" is removed.`);
      if (problem !== null)
        note(`Its tokens could not be revoked, and stay valid until they expire: ${problem}`);
    }
    if (all && known.length === 0) note("There are no profiles.");
  },
});

/** Revokes the tokens of a profile at the platform. Returns the reason of a failure, or null. */
async function revokeTokens(profiles: Profiles, name: string): Promise<string | null> {
  try {
    const profile = profiles.find(name);
    return profile?.session ? await revoke(profile) : null;
  } catch (error) {
    return describeError(error);
  }
}

async function revoke({ url, clientId, clientSecret, session }: Profile): Promise<string | null> {
  const body = new URLSearchParams({
    token: session?.refreshToken ?? session?.accessToken ?? "",
    client_id: clientId,
    ...(clientSecret !== undefined && { client_secret: clientSecret }),
  });
  const { ok, status } = await request(`${url}/oauth/revoke`, { method: "POST", body });
  return ok ? null : `${url} answered ${status}`;
}
