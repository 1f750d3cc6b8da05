import { pick, seeded } from "../../../src/dev/chance.ts";

/** How many of the most popular users are live, and how many categories there are. */
export const platformSize = { live: 1_000, categories: 300 } as const;

const qualities =
  "silent crazy golden lucky frozen tiny mighty sleepy royal cosmic retro turbo shadow iron".split(" ");
const things =
  "gamer wolf ninja panda dragon pixel wizard tiger rocket potato knight raven captain fox".split(" ");
const foreign =
  "한국방송 게임왕 台灣實況 小魚直播 ゲーム実況 しずく Стример Игрок Música José Zoë Çelik".split(" ");
const topics =
  "Racing Chess Cooking Survival Arena Puzzle Football Space Legends Tactics Music Farming".split(" ");
const tags = "English Korean FPS RPG Strategy Casual Speedrun Esports".split(" ");
const words = "live every evening from a small room with friends old games and new records".split(" ");

export const firstUserId = 1001;

/** Where Get User is. */
export const usersPath = "/public/v1/users/";

/** A prime, so that no count but its multiples has a divisor in common with it. */
const stride = 1_000_003;

/** The username of the user of a rank, 0 for the most followed. */
export function usernameOf(rank: number): string {
  const quality = qualities[rank % qualities.length];
  const thing = things[Math.floor(rank / qualities.length) % things.length];
  return `${quality}_${thing}${rank.toString(36)}`;
}

/**
 * Users as the admin API takes them, the most followed first, or in the order of their ids, as platforms export them.
 * Ids are shuffled over the ranks, so that popular rows do not lie side by side.
 */
export function* sampleUsers(
  count: number,
  order: "popular first" | "by id" = "popular first",
): Generator<object> {
  const random = seeded(1);
  for (let i = 0; i < count; i++) {
    const rank = order === "by id" ? (i * stride) % count : i;
    const username = usernameOf(rank);
    yield {
      id: order === "by id" ? firstUserId + i : userId(rank, count),
      username,
      display_name: random() < 0.3 ? `${pick(random, foreign)} ${rank}` : username,
      bio: Array.from({ length: Math.floor(random() * 20) }, () => pick(random, words)).join(" "),
      profile_picture: random() < 0.7 ? `https://pictures.example.com/users/${rank}/300x300.webp` : null,
      followers_count: Math.floor(5_000_000 / (rank + 1)),
      following_count: Math.floor(random() * 500),
      is_verified: rank < 200,
      created_at: new Date(Date.UTC(2016, 0, 1) + Math.floor(random() * 3e11)).toISOString(),
    };
  }
}

export function* sampleCategories(): Generator<object> {
  for (let id = 1; id <= platformSize.categories; id++) {
    yield {
      id,
      name: `${topics[id % topics.length]} ${id}`,
      slug: `category-${id}`,
      icon: id % 3 ? `https://pictures.example.com/categories/${id}/icon.webp` : null,
      banner: id % 3 ? `https://pictures.example.com/categories/${id}/banner.webp` : null,
      description: `Everything about ${topics[id % topics.length]}.`,
      tags: tags.slice(id % 4, (id % 4) + (id % 5)),
    };
  }
}

/** Channels of the most followed users. */
export function* sampleChannels(userCount: number): Generator<object> {
  for (let rank = 0; rank < Math.min(platformSize.live, userCount); rank++) {
    const id = userId(rank, userCount);
    yield { id, user_id: id, slug: usernameOf(rank), name: usernameOf(rank) };
  }
}

/** All channels are live, in categories that differ in popularity. */
export function* sampleLivestreams(userCount: number): Generator<object> {
  const random = seeded(2);
  for (let rank = 0; rank < Math.min(platformSize.live, userCount); rank++) {
    yield {
      channel_id: userId(rank, userCount),
      category_id: 1 + Math.floor(random() ** 2 * platformSize.categories),
      viewers: Math.floor(200_000 / (rank + 1)) + 3,
      title: "Live now",
      language: "English",
    };
  }
}

function userId(rank: number, count: number): number {
  return firstUserId + ((rank * stride) % count);
}
