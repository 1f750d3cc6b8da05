import { useState } from "preact/hooks";
import { inText } from "../isolated.ts";
import { type FoundUser, useUsers } from "./source.ts";

type Names = Pick<FoundUser, "username" | "display_name">;

/** Whether a user's two names are the same but for case. */
const isOne = ({ username, display_name }: Names) => username.toLowerCase() === display_name.toLowerCase();

/** Both names of a user in a line of plain text. */
export function namesOf(user: Names): string {
  return isOne(user) ? user.username : `${inText(user.display_name)} (${user.username})`;
}

/**
 * Both names of a user: several users may have the same display name. Without a user, what is known in place of the
 * names.
 */
export function UserNames({ user, or }: { user: Names | undefined; or: string }) {
  if (!user) return <bdi>{or}</bdi>;
  return (
    <>
      <bdi>{user.display_name}</bdi>
      {!isOne(user) && (
        <>
          {" "}
          <bdi class="username">{user.username}</bdi>
        </>
      )}
    </>
  );
}

/** The picture of a user, or the first letter of the name. It is decorative: the names are beside it. */
export function Picture({ user }: { user: FoundUser }) {
  const [isBroken, setBroken] = useState(false);
  const { profile_picture: url, display_name } = user;
  // The policy of the page loads pictures by https only.
  if (url?.startsWith("https:") && !isBroken)
    return (
      <img
        class="avatar"
        src={url}
        alt=""
        width="28"
        height="28"
        loading="lazy"
        onError={() => setBroken(true)}
      />
    );
  const [first = ""] = display_name;
  return (
    <bdi class="avatar" aria-hidden="true">
      {first.toUpperCase()}
    </bdi>
  );
}

/** A user as a linked fact: the picture, both names and the id. @param or what is known in place of the names */
export function Person({ id, or, href }: { id: number; or: string; href: string }) {
  const user = useUsers([id]).get(id);
  return (
    <a class="person" href={href}>
      {user && <Picture user={user} />}
      <span>
        <UserNames user={user} or={or} /> <code>{id}</code>
      </span>
    </a>
  );
}
