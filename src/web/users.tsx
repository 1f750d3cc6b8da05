import { createContext } from "preact";
import { useContext, useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { admin, dataOf, Fault, session } from "./client.ts";
import { useById, useLoad } from "./load.ts";
import { number, Status } from "./parts/basics.tsx";
import { FieldFrame } from "./parts/form.tsx";
import { useQuery } from "./places.ts";
import type { FoundUsers } from "./session.ts";
import { inText } from "./text.ts";

/*
 * Users as the portal and the console look them up, show and choose them.
 */

export type FoundUser = FoundUsers["data"][number];

interface UserSource {
  /** Finds users by a part of either name or an id. */
  find(text: string, signal: AbortSignal): Promise<readonly FoundUser[]>;
  byIds(ids: number[], signal: AbortSignal): Promise<readonly FoundUser[]>;
}

/** The most users that are offered. */
const offered = 20;
const longestText = 100;

/** The users as an operator finds them. */
const adminUsers: UserSource = {
  find: (text, signal) => {
    const query = { query: text.slice(0, longestText), limit: offered };
    return dataOf(admin.GET("/admin/v1/users/search", { params: { query }, signal }));
  },
  byIds: (id, signal) => dataOf(admin.GET("/admin/v1/users", { params: { query: { id } }, signal })),
};

/** The users as an application's developer finds them. */
export const portalUsers: UserSource = {
  async find(text, signal) {
    const query = new URLSearchParams({ find: text.slice(0, longestText) });
    return (await session<FoundUsers>("GET", { signal }, `users?${query}`)).data;
  },
  byIds: async (ids, signal) => (await session<FoundUsers>("GET", { signal }, `users?id=${ids}`)).data,
};

const Source = createContext<UserSource>(adminUsers);
export const UserSourceProvider = Source.Provider;

export function useUserSource(): UserSource {
  return useContext(Source);
}

/** Returns users by id; see `useById`. Without the scope users:read, a developer gets none. */
export const useUsers = (ids: readonly (number | null)[]): ReadonlyMap<number, FoundUser> =>
  useById(ids, useUserSource().byIds);

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
function Picture({ user }: { user: FoundUser }) {
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

interface UserPickerProps {
  readonly label: string;
  readonly hint?: string;
  readonly problem?: string | undefined;
  /** The id of the chosen user; null for none. */
  readonly value: number | null;
  readonly onInput: (id: number | null) => void;
  readonly required?: boolean;
  readonly isWide?: boolean;
}

const idForm = /^[1-9][0-9]{0,15}$/;

/** Returns an id that was typed in full, else null. */
const idIn = (text: string) =>
  idForm.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : null;

/**
 * A field that chooses a user, or the channel of a user, by any part of either name or by the id: a combobox that
 * offers the users found (ARIA Authoring Practices, "Editable Combobox With List Autocomplete"). A username or an id
 * that is typed in full is chosen without a further key.
 */
export function UserPicker({ label, hint, problem, value: id, onInput, required, isWide }: UserPickerProps) {
  const source = useUserSource();
  const listId = useId();
  const picked = useRef<FoundUser | null>(null);
  const isPicked = picked.current?.id === id;
  const read = useUsers([isPicked ? null : id]).get(id ?? 0);
  const chosen = isPicked ? picked.current : read;
  /** null while the field shows the chosen user. */
  const [typed, setTyped] = useState<string | null>(null);
  const [isOpen, setOpen] = useState(false);
  const [active, setActive] = useState(0);
  /** Whether Enter was pressed before the users were found. */
  const [isHurried, setHurried] = useState(false);
  const [hasLeft, setLeft] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const wanted = typed?.trim() ?? "";
  const found = useLoad(
    async (signal) => {
      if (wanted === "") return { of: wanted, users: [], isRefused: false };
      try {
        return { of: wanted, users: await source.find(wanted, signal), isRefused: false };
      } catch (error) {
        // Without the scope users:read, users are named by their id.
        if (error instanceof Fault && error.status === 403) return { of: wanted, users: [], isRefused: true };
        throw error;
      }
    },
    [wanted],
  );
  const isKnown = found.data?.of === wanted;
  const users = isKnown ? (found.data?.users ?? []) : [];
  const isRefused = found.data?.isRefused ?? false;
  const text = typed ?? (chosen ? namesOf(chosen) : id === null ? "" : String(id));

  const put = (next: number | null) => next !== id && onInput(next);
  const choose = (user: FoundUser) => {
    setTyped(null);
    setOpen(false);
    setHurried(false);
    picked.current = user;
    put(user.id);
  };
  useEffect(() => setActive(0), [wanted]);
  useEffect(() => {
    if (!isKnown || wanted === "") return;
    const named = users.find(({ username }) => username.toLowerCase() === wanted.toLowerCase());
    const numbered = users.find((user) => String(user.id) === wanted);
    const exact = numbered ?? named;
    const [first] = users;
    if (exact) picked.current = exact;
    if (isHurried && (exact ?? first)) choose(exact ?? (first as FoundUser));
    else put(exact?.id ?? (isRefused ? idIn(wanted) : null));
    setHurried(false);
  }, [isKnown, wanted, users.length]);

  const change = (text: string) => {
    setTyped(text);
    setOpen(text.trim() !== "");
    setLeft(false);
    // Until the users are found, no user is chosen: the text may name another one than before.
    put(null);
  };
  const option = (at: number) => document.getElementById(`${listId}-${at}`);
  const move = (to: number) => {
    const next = Math.max(0, Math.min(to, users.length - 1));
    setActive(next);
    option(next)?.scrollIntoView({ block: "nearest" });
  };
  const isListed = isOpen && typed !== null && users.length > 0;
  useLayoutEffect(() => {
    if (list.current && input.current) place(list.current, input.current);
  }, [isListed, users.length]);
  const onKey = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (typed === null || users.length === 0) return;
      if (isOpen) move(event.key === "ArrowDown" ? active + 1 : active - 1);
      setOpen(true);
    } else if (event.key === "Enter" && typed !== null && wanted !== "" && (isListed || !isKnown)) {
      const user = users[active];
      if (user) choose(user);
      else setHurried(true);
    } else if (event.key === "Escape" && isListed) {
      setOpen(false);
    } else return;
    // Enter would send the form, and Escape would close the dialog.
    event.preventDefault();
    event.stopPropagation();
  };
  const leave = () => {
    setOpen(false);
    setLeft(true);
    if (id !== null) setTyped(null);
  };
  const isUnknown = typed !== null && wanted !== "" && isKnown && !found.fault;
  const own =
    id !== null || !isUnknown
      ? undefined
      : isRefused
        ? "Enter the id of the user: the application may not look users up (it lacks the scope users:read)."
        : users.length === 0
          ? "No user has this name or id."
          : hasLeft
            ? "Choose one of the users that are offered."
            : undefined;
  // A form is not sent while the text names no user.
  const isUnclear = wanted !== "" && id === null;
  useEffect(() => {
    input.current?.setCustomValidity(isUnclear ? "Choose one of the users that are offered." : "");
  }, [isUnclear]);
  const said = problem ?? own ?? (typed !== null && found.fault ? found.fault.message : undefined);
  return (
    <FieldFrame label={label} hint={hint} problem={said} isWide={isWide}>
      {(common) => (
        <div class="picker">
          <input
            {...common}
            ref={input}
            type="text"
            role="combobox"
            autocomplete="off"
            aria-autocomplete="list"
            aria-expanded={isListed}
            aria-controls={isListed ? listId : undefined}
            aria-activedescendant={isListed ? `${listId}-${active}` : undefined}
            required={required}
            placeholder="Name or id"
            value={text}
            onFocus={() => input.current?.select()}
            onInput={(event) => change(event.currentTarget.value)}
            onKeyDown={onKey}
            onBlur={leave}
          />
          <span class="visually-hidden" role="status">
            {isOpen && isKnown && users.length > 0 && `${users.length} found`}
          </span>
          {isListed && (
            <div class="offered" ref={list} id={listId} role="listbox" aria-label={label}>
              {users.map((user, i) => (
                // biome-ignore lint/a11y/useKeyWithClickEvents: Enter in the input chooses, too
                // biome-ignore lint/a11y/useFocusableInteractive: the input keeps the focus
                <div
                  key={user.id}
                  id={`${listId}-${i}`}
                  role="option"
                  aria-selected={i === active}
                  // The input keeps the focus, so that a click does not end the choice before it is made.
                  onMouseDown={(event) => event.preventDefault()}
                  onClick={() => choose(user)}
                >
                  <Picture user={user} />
                  <span class="grow">
                    <bdi>{user.display_name}</bdi>
                    <small class="muted">
                      <bdi>{user.username}</bdi> · {user.id} · {number(user.followers_count)} followers
                    </small>
                  </span>
                  {user.is_verified && <Status word="verified" tone="ok" />}
                </div>
              ))}
            </div>
          )}
        </div>
      )}
    </FieldFrame>
  );
}

const [narrowest, widest, margin] = [320, 420, 12];

/** Puts the list below its input, at the side where there is room in the dialog or the window. */
function place({ style }: HTMLElement, input: HTMLElement): void {
  const field = input.getBoundingClientRect();
  const around = input.closest("dialog")?.getBoundingClientRect() ?? { left: 0, right: innerWidth };
  const [after, before] = [around.right - field.left - margin, field.right - around.left - margin];
  const isAfter = after >= narrowest || after >= before;
  style.inset = isAfter ? "calc(100% + 4px) auto auto 0" : "calc(100% + 4px) 0 auto auto";
  style.maxWidth = `${Math.min(widest, isAfter ? after : before)}px`;
}

/** A filter whose user is the parameter `name` of the URL. */
export function QueryUser({
  name,
  ...rest
}: Pick<UserPickerProps, "label" | "required" | "problem"> & { readonly name: string }) {
  const [query, setQuery] = useQuery();
  return (
    <UserPicker
      {...rest}
      value={idIn(query[name] ?? "")}
      onInput={(id) => setQuery({ [name]: id === null ? null : String(id) })}
    />
  );
}
