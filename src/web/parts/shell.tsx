import { signal } from "@preact/signals";
import { ArrowLeft, type IconNode, LogOut, Menu, Moon, RefreshCw, Search, Sun, TriangleAlert } from "lucide";
import type { ComponentChildren, ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { LocationProvider, useLocation } from "preact-iso";
import { base, hasExpired, isConnected, isUpgraded, reconnects } from "../client.ts";
import { useLiveStream } from "../live.ts";
import { docs, siteTitle, to, useTitle } from "../places.ts";
import { applyTheme, changeTheme, onSystemTheme } from "../theme.ts";
import { Button, Head, Icon, LinkButton } from "./basics.tsx";
import { focusHeading, useFocusOfTheRemoved, useKeptScroll } from "./kept-place.ts";
import { Palette, type PaletteEntry, Toasts } from "./overlays.tsx";

/** Pages as the navigation lists them. */
export interface NavGroup {
  readonly title: string;
  readonly items: readonly {
    readonly path: string;
    readonly text: string;
    readonly icon: IconNode;
    readonly page: ComponentType;
  }[];
}

interface ShellProps {
  readonly kind: string;
  readonly groups: readonly NavGroup[];
  readonly who: { readonly name: string; readonly about: string };
  readonly search: (text: string) => Promise<readonly PaletteEntry[]>;
  readonly onSignOut: () => unknown;
  /** The path of the page's event stream; null for none. */
  readonly stream: string | null;
  readonly children: ComponentChildren;
}

const isMenuOpen = signal(false);
const isPaletteOpen = signal(false);
const hasLogo = "logo" in document.documentElement.dataset;

export function Brand({ kind }: { kind: string }) {
  return (
    <a class="brand" href={to("") || "/"}>
      {hasLogo ? <img src={`${base}/logo`} alt="" /> : <Lamp />}
      <span>
        <bdi>{siteTitle.replace(/ console$|, for development$/, "")}</bdi> <small>{kind}</small>
      </span>
    </a>
  );
}

function Lamp() {
  return (
    <svg class="lamp" viewBox="0 0 32 32" aria-hidden="true">
      <circle cx="16" cy="16" r="14" fill="#c81e4a" />
      <circle cx="16" cy="16" r="5" fill="#fff" />
    </svg>
  );
}

/** The frame of all pages of a signed-in user. */
export function Shell(props: ShellProps) {
  return (
    <LocationProvider scope={base || "/"}>
      <Frame {...props} />
    </LocationProvider>
  );
}

function Frame({ kind, groups, who, search, onSignOut, stream, children }: ShellProps) {
  useLiveStream(hasExpired.value ? null : stream);
  useFocusOfTheRemoved();
  const { path, route } = useLocation();
  useKeptScroll(path);
  const before = useRef(path);
  const items = groups.flatMap((group) => group.items);
  const current = [...items]
    .reverse()
    .find(({ path: of }) => path === (to(of) || "/") || (of !== "" && path.startsWith(`${to(of)}/`)));
  useEffect(() => {
    isMenuOpen.value = false;
    if (before.current === path) return;
    before.current = path;
    focusHeading();
  }, [path]);
  useEffect(() => {
    if (!isMenuOpen.value) return;
    document.querySelector<HTMLElement>(".nav [aria-current], .nav a")?.focus();
    const close = ({ key }: KeyboardEvent) => key === "Escape" && closeMenu();
    addEventListener("keydown", close);
    return () => removeEventListener("keydown", close);
  }, [isMenuOpen.value]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      isPaletteOpen.value = !isPaletteOpen.value;
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const pages = items.map(({ path, text }) => ({ text, kind: "Page", href: to(path) }));
  return (
    <div class="shell">
      <a class="skip" href="#main">
        Skip to content
      </a>
      {isMenuOpen.value && (
        <button type="button" class="veil" aria-label="Close the menu" onClick={closeMenu} />
      )}
      <aside class={isMenuOpen.value ? "side open" : "side"} aria-label="Navigation and account">
        <Brand kind={kind} />
        <nav class="nav" aria-label="Pages">
          {groups.map((group) => (
            <div key={group.title}>
              {group.title && <h2>{group.title}</h2>}
              {group.items.map((item) => (
                <a key={item.path} href={to(item.path)} aria-current={item === current ? "page" : undefined}>
                  <Icon of={item.icon} />
                  {item.text}
                </a>
              ))}
            </div>
          ))}
        </nav>
        <WayHome />
        <div class="who">
          <div class="grow">
            <strong title={who.name}>
              <bdi>{who.name}</bdi>
            </strong>
            <small class="muted">{who.about}</small>
          </div>
          <Button kind="quiet" icon={LogOut} label="Sign out" onClick={onSignOut} />
        </div>
      </aside>
      <div class="page">
        <header class="top">
          <span class="menu-button">
            <Button kind="quiet" icon={Menu} label="Menu" onClick={() => (isMenuOpen.value = true)} />
          </span>
          <button type="button" class="find" onClick={() => (isPaletteOpen.value = true)}>
            <Icon of={Search} />
            <span>Go to…</span>
            <kbd>Ctrl K</kbd>
          </button>
          <span class="grow" />
          <a class="button quiet wide-only" href={`${docs}/api`} target="_blank" rel="noopener">
            API
          </a>
          <a class="button quiet" href={docs} target="_blank" rel="noopener">
            Docs
          </a>
          <ThemeButton />
        </header>
        <ConnectionBanner />
        <main id="main" tabIndex={-1}>
          {children}
        </main>
      </div>
      {isPaletteOpen.value && (
        <Palette
          label="Go to"
          placeholder="Pages, applications, users, the id of a delivery…"
          known={(wanted) => pages.filter(({ text }) => text.toLowerCase().includes(wanted.toLowerCase()))}
          search={search}
          nothing={() => "No results."}
          go={route}
          onClose={() => (isPaletteOpen.value = false)}
        />
      )}
      <Toasts />
    </div>
  );
}

/** Warns while the connection is lost, and when the page is older than the server. */
export function ConnectionBanner() {
  const [isOld, setOld] = useState(false);
  const connection = reconnects.value;
  useEffect(() => void isUpgraded().then(setOld), [connection]);
  return (
    <div role="status">
      {!isConnected.value && (
        <div class="banner">
          <Icon of={TriangleAlert} /> Connection lost. Reconnecting; the data shown may be out of date.
        </div>
      )}
      {isConnected.value && isOld && (
        <div class="banner">
          <Icon of={TriangleAlert} /> On Air was upgraded. Reload the page.
          <Button isSmall icon={RefreshCw} onClick={() => location.reload()}>
            Reload
          </Button>
        </div>
      )}
    </div>
  );
}

/** A link to the page that has led here, if there is one: the start page of `onair dev`, which signs in. */
function WayHome() {
  const { home } = document.documentElement.dataset;
  if (!home) return null;
  return (
    <a class="way-home" href={home}>
      <Icon of={ArrowLeft} /> Start page of onair dev
    </a>
  );
}

/** Closes the menu without opening a page. */
function closeMenu(): void {
  isMenuOpen.value = false;
  document.querySelector<HTMLElement>(".menu-button button")?.focus();
}

const theme = signal(applyTheme());
onSystemTheme(() => {
  theme.value = applyTheme();
});

/** Switches between the light and the dark theme. */
export function ThemeButton() {
  const other = theme.value === "dark" ? "light" : "dark";
  const change = () => {
    theme.value = changeTheme();
  };
  return (
    <Button
      kind="quiet"
      icon={other === "dark" ? Moon : Sun}
      label={`Use ${other} colours`}
      onClick={change}
    />
  );
}

/** The current theme, for plots, to which style sheets do not apply. */
export const currentTheme = theme;

/** The page without a session. */
export function SignInPage({ kind, children }: { kind: string; children: ComponentChildren }) {
  useTitle("Sign in");
  return (
    <main class="signin">
      <Brand kind={kind} />
      <div class="card stack">{children}</div>
      <WayHome />
    </main>
  );
}

/** The page for an unknown URL. */
export function Nothing() {
  return (
    <>
      <Head title="Page not found">The address may be mistyped, or the page no longer exists.</Head>
      <div class="row">
        <LinkButton href={to("")}>Go to the overview</LinkButton>
      </div>
    </>
  );
}
