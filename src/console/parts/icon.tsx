import {
  Activity,
  Archive,
  Boxes,
  Check,
  CircleAlert,
  CircleCheck,
  ClipboardList,
  Copy,
  Gauge,
  Inbox,
  KeyRound,
  LayoutGrid,
  LogOut,
  Menu,
  Moon,
  Plus,
  RefreshCw,
  Rss,
  Search,
  Send,
  Settings,
  Shapes,
  Sun,
  TriangleAlert,
  Users,
  Webhook,
  X,
} from "lucide";
import { h } from "preact";

const icons = {
  activity: Activity,
  alert: CircleAlert,
  apps: Boxes,
  audit: ClipboardList,
  backup: Archive,
  categories: LayoutGrid,
  check: Check,
  close: X,
  copy: Copy,
  good: CircleCheck,
  inbox: Inbox,
  key: KeyRound,
  menu: Menu,
  moon: Moon,
  out: LogOut,
  overview: Gauge,
  plus: Plus,
  reload: RefreshCw,
  search: Search,
  send: Send,
  settings: Settings,
  subscriptions: Rss,
  sun: Sun,
  types: Shapes,
  users: Users,
  warning: TriangleAlert,
  webhook: Webhook,
} as const;

export type IconName = keyof typeof icons;

/** A picture beside words; screen readers pass over it. */
export function Icon({ name }: { name: IconName }) {
  const parts = icons[name].map(([tag, attributes]) => h(tag, attributes));
  return (
    <svg
      class="icon"
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-width="2"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      {parts}
    </svg>
  );
}
