import type { CategoryInput } from "../domain/categories.ts";
import type { ChannelInput, Livestream } from "../domain/livestreams.ts";
import { day, isoTime, minute } from "../domain/time.ts";
import type { UserInput } from "../domain/users.ts";
import { between, normalNumber, pick, type Random, seeded, weighted } from "./chance.ts";

/** A user of the sample platform, with the user's channel. */
export interface SamplePerson {
  readonly user: Required<UserInput>;
  readonly channel: ChannelInput;
  readonly language: SampleLanguage;
  /** The usual category of the channel's livestreams. */
  readonly homeCategoryId: number;
  readonly typicalViewers: number;
}

/** Made-up names and texts of a language's speakers on the sample platform. */
interface SampleLanguage {
  /** The code of the language in ISO 639-1. */
  readonly code: string;
  /** The weight of the language among the users. */
  readonly weight: number;
  /** Bases of usernames, with their display names. */
  readonly names: readonly (readonly [username: string, displayName: string])[];
  readonly bios: readonly string[];
  readonly titles: readonly string[];
  readonly chat: readonly string[];
}

/** Parses bases of usernames, each followed by its display name. */
function named(list: string): [username: string, displayName: string][] {
  return list.split(", ").map((name) => {
    const [username = "", ...words] = name.split(" ");
    return [username, words.join(" ")];
  });
}

const english: SampleLanguage = {
  code: "en",
  weight: 12,
  names: [],
  bios: [
    "Losing on purpose since 2017. Mostly.",
    "Cozy games, loud opinions, one very fat cat.",
    "Variety streamer. New maps on Mondays, questionable cooking on Fridays.",
    "I read chat. I do not take advice.",
    "Speedruns, slow mornings.\nSchedule: when the kids sleep.",
    "Former baker, current goblin accountant.",
    "",
    "",
  ],
  titles: [
    "First try, no guides, some tears",
    "Road to the top (do not look at my rank)",
    "Building a castle, chat picks the colours",
    "Late night calm run, come in",
    "Day 12: the frozen caves",
    "Teaching my brother to play",
  ],
  chat: [
    "hello",
    "what a save!",
    "first time here, this is great",
    "did that just happen",
    "one more round please",
    "the cat is on the keyboard again",
    "which map is this?",
    "good luck everyone",
    "you forgot to unmute",
    "left door. LEFT door",
  ],
};

/** The languages of the sample platform. English speakers have generated usernames; others have names of a language. */
const languages: readonly SampleLanguage[] = [
  english,
  {
    code: "ko",
    weight: 4,
    names: named(
      "dalbit 달빛고양이, gureum 구름산책, bamsae 밤새는곰, sonamu 소나무, byeolnarae 별나래, hobak 호박죽, noeul 노을지기, mulgogi 물고기자리",
    ),
    bios: ["매일 밤 9시, 느긋한 게임 방송입니다.", "고양이 세 마리와 삽니다.", "초보 환영! 같이 배워요."],
    titles: ["오늘은 꼭 깬다", "느긋하게 농장 가꾸기", "시청자 참여 방송"],
    chat: ["안녕하세요", "와 대박", "한 판만 더!", "화면이 예뻐요", "오늘 몇 시까지 해요?"],
  },
  {
    code: "zh",
    weight: 4,
    names: named(
      "mochi_cha 抹茶年糕, baiyun 白雲先生, xiaolongbao 小籠包同學, qingfeng 清风徐来, yueguang 月光宝盒, shanhai 山海漫游, dousha 豆沙包, zhuying 竹影",
    ),
    bios: ["每晚八点开播，欢迎来坐坐。", "喜歡慢慢玩、慢慢聊。", "独立游戏爱好者。"],
    titles: ["今天一定通关", "新手教學，歡迎提問", "深夜闲聊"],
    chat: ["你好", "太厉害了", "再來一局", "这个地图好漂亮", "主播加油"],
  },
  {
    code: "ja",
    weight: 4,
    names: named(
      "komugi こむぎ, yoruneko 夜ねこ, suzukaze 涼風さん, tanukichi たぬきち屋, mizuiro みずいろ, kakigori カキゴオリ, hinata_b ひなたぼっこ, tsukimi 月見そば",
    ),
    bios: ["のんびりゲーム配信しています。", "夜更かし担当です。初見さん歓迎！", "ドット絵と猫が好き。"],
    titles: ["初見プレイ、ネタバレなしで", "深夜の作業配信", "今日こそボスを倒す"],
    chat: ["こんばんは", "すごい！", "もう一回お願いします", "かわいい", "初見です"],
  },
  {
    code: "ar",
    weight: 2,
    names: named("najma نجمة الليل, samir_q سمير القطان, warda وردة, barq برق, qamar_live قمر"),
    bios: ["ألعاب هادئة كل مساء.", "أهلاً بكم في قناتي الصغيرة."],
    titles: ["رحلة جديدة في الصحراء", "جولة أخيرة قبل النوم"],
    chat: ["مرحبا", "رائع جداً", "جولة أخرى", "ما اسم هذه اللعبة؟"],
  },
  {
    code: "pt",
    weight: 3,
    names: named(
      "joao_pixel João Pixel, acai Açaí Quântico, tia_conceicao Tia Conceição, limao Capitão Limão, avo_gamer Avó Amália",
    ),
    bios: ["Jogo mal, mas com coração.", "Todas as noites às 20h. Tragam café."],
    titles: ["Hoje vai, eu prometo", "Conversa boa e jogo calmo"],
    chat: ["boa noite", "que jogada!", "mais uma, por favor", "saudades da live"],
  },
  {
    code: "es",
    weight: 3,
    names: named(
      "ramon_nono Ramón Ñoño, abuela_pilar Abuela Pilar, pinguino Pingüino Azul, ines_tv Inés Márquez, churro Señor Churro",
    ),
    bios: ["Estrategia y siesta, en ese orden.", "Aquí se viene a perder con dignidad."],
    titles: ["¡Última partida! (mentira)", "Aprendiendo a pilotar"],
    chat: ["hola a todos", "¡qué locura!", "otra, otra", "¿qué mapa es este?"],
  },
  {
    code: "fr",
    weight: 3,
    names: named(
      "eloise Éloïse, francois_b François Bérard, creme_brulee Crème Brûlée, garcon_lune Garçon de Lune, noel_jeux Noël Joue",
    ),
    bios: ["Du calme, du thé et beaucoup de ratés.", "Jeux indés et musique de chambre."],
    titles: ["On recommence, mais en mieux", "Soirée détente"],
    chat: ["bonsoir", "bien joué !", "encore une", "j'adore cette musique"],
  },
  {
    code: "de",
    weight: 3,
    names: named(
      "kaese_koenig Käsekönig, juergen_spielt Jürgen Weiß, fraeulein_uhu Fräulein Uhu, bjoern_ole Björn-Ole, gruetze Rote Grütze",
    ),
    bios: ["Aufbauspiele und Zugfahrpläne.", "Hier wird ordentlich verloren."],
    titles: ["Wir bauen eine Zeche", "Feierabendrunde"],
    chat: ["moin", "stark!", "noch eine Runde", "wer hat an der Uhr gedreht"],
  },
  {
    code: "pl",
    weight: 2,
    names: named("lukasz_gra Łukasz Źrebak, zaba Żaba w Kapeluszu, swietlik Świetlik, jozef_ok Józef Ćma"),
    bios: ["Gry z klimatem i herbata z cytryną."],
    titles: ["Nocna zmiana w zamku", "Uczymy się razem"],
    chat: ["cześć", "świetna akcja", "jeszcze raz!"],
  },
  {
    code: "tr",
    weight: 2,
    names: named("cicek Çiçek, sisman_kedi Şişman Kedi, ilgin Ilgın Öztuna, yagmur Yağmur"),
    bios: ["Sakin oyunlar, bol çay."],
    titles: ["Bu gece bitiyor", "Sohbet ve oyun"],
    chat: ["selam", "harika!", "bir el daha"],
  },
  {
    code: "ru",
    weight: 2,
    names: named(
      "ezhik Ёжик в Эфире, medvedev_q Мишка Косолапый, polina_play Полина Играет, sova Ночная Сова",
    ),
    bios: ["Тихие игры и громкий чайник."],
    titles: ["Ночной трамвай, глава вторая", "Играем без подсказок"],
    chat: ["привет всем", "вот это да", "ещё разок"],
  },
  {
    code: "el",
    weight: 1,
    names: named("odysseas Οδυσσέας, meli Μέλι & Καρύδι"),
    bios: ["Παιχνίδια και θάλασσα."],
    titles: ["Ταξίδι χωρίς χάρτη"],
    chat: ["γεια σας", "μπράβο!"],
  },
  {
    code: "hi",
    weight: 1,
    names: named("chandni चाँदनी, badal बादल भाई"),
    bios: ["हर शाम नई कहानी।"],
    titles: ["आज की चुनौती"],
    chat: ["नमस्ते", "बहुत बढ़िया"],
  },
  {
    code: "th",
    weight: 1,
    names: named("mamuang มะม่วงสุก, nokhuk นกฮูกกลางคืน"),
    bios: ["เล่นเกมสบาย ๆ ทุกคืน"],
    titles: ["คืนนี้ต้องผ่าน"],
    chat: ["สวัสดีครับ", "เก่งมาก"],
  },
  {
    code: "vi",
    weight: 1,
    names: named("ca_phe_sua Cà Phê Sữa, nguyet Ánh Nguyệt"),
    bios: ["Chơi vui là chính."],
    titles: ["Tối nay phá đảo"],
    chat: ["xin chào", "hay quá"],
  },
];

/** The best known streamers: they are live at the start, and examples use them. */
const stars = `
LunaBytes | Luna Bytes | en | Writes games, plays games, breaks games. Live most evenings.
haneul | 하늘 | ko | 하늘을 나는 게임을 좋아합니다.
ninja_fox | Ninja Fox | en | Sneaky builds and honest reviews.
zoe_arnadottir | Zoë Árnadóttir | en | Streaming from the north. Hot springs, cold takes.
hoshinoumi | 星の海 | ja | 星とゲームの話をします。
don_cafeina | Don Cafeína | es | Café, carreras y cero paciencia.
xingchen | 星辰大海 | zh | 游戏、音乐与夜宵。
layla_plays | ليلى تلعب | ar | ألعاب وقصص كل مساء.
`
  .trim()
  .split("\n")
  .map((line) => {
    const [username = "", displayName = "", language = "", bio = ""] = line.split(" | ");
    return { username, displayName, language, bio };
  });

/** The made-up categories of the sample platform, the most watched first. */
const sampleCategories: readonly Omit<CategoryInput, "id">[] = `
Talk & Tea | talk-and-tea | IRL, Casual | Conversation about anything, with something warm to drink.
Deepwinter | deepwinter | Survival, Open World | Keep a village alive through a winter that will not end.
Starfall Tactics | starfall-tactics | Strategy, Competitive | Turn-based battles over the wrecks of fallen stars.
Rift Runners | rift-runners | Shooter, Competitive | Five against five, through doors that lead elsewhere each round.
Kestrel Racing 3 | kestrel-racing-3 | Racing, Multiplayer | Glider races through canyons, caves and the odd cathedral.
Out and About | out-and-about | IRL, Travel | Streams from wherever people are.
Blockhaven | blockhaven | Sandbox, Multiplayer | Build a harbour, block by block, and keep it from sinking.
별빛 농장 | byeolbit-farm | Simulation, Cozy | A farm that only grows by starlight.
墨剑长歌 | ink-blade | RPG, Martial Arts | A wandering sword, painted in ink.
Studio Live | studio-live | Music, IRL | Musicians at work: concerts, rehearsals, happy accidents.
Hollow Lighthouse | hollow-lighthouse | Horror, Story | The light went out. Somebody has to climb up.
夜行列車 | night-train | Adventure, Story | A night train, twelve passengers, and one ticket too many.
Gloomspire | gloomspire | Roguelike, RPG | A tower that rearranges itself whenever you fall.
Iron Orchard | iron-orchard | Strategy, Simulation | Grow machines on trees. Mind the frost.
Speedruns | speedruns | Competitive, Retro | Any game, as fast as it goes.
Paper Kingdoms | paper-kingdoms | Card Game, Strategy | Fold an army, cut a castle, fear the rain.
Neon Drifters | neon-drifters | Racing, Retro | Sideways through a city that never turns its lights off.
Code Together | code-together | IRL, Learning | Software being written, and sometimes working.
Pocket Dragons | pocket-dragons | RPG, Cozy | Raise a dragon small enough to lose.
El Último Faro | el-ultimo-faro | Adventure, Story | The last lighthouse keeper writes letters to the sea.
Tide & Tempest | tide-and-tempest | Survival, Multiplayer | Ships, storms and very unreliable maps.
Sable Protocol | sable-protocol | Stealth, Shooter | Nobody saw you. Keep it that way.
Sketchbook | sketchbook | Art, IRL | Drawing and painting, from the first line.
Frontier Kitchen | frontier-kitchen | Simulation, Co-op | A restaurant at the edge of known space.
무림객잔 | murim-inn | RPG, Martial Arts | Run an inn where every guest has a grudge.
Pâtisserie | patisserie | Food, IRL | Dough, sugar and patience.
Mothlight | mothlight | Puzzle, Story | A quiet puzzle about finding the way towards the lamp.
Clockwork Cavalry | clockwork-cavalry | Strategy, Competitive | Wind them up and let them charge.
Carrot Wars | carrot-wars | Party, Multiplayer | Eight rabbits, one garden, no rules.
Ashen Skies | ashen-skies | Shooter, Open World | Dogfights above a burnt continent.
Board Game Night | board-game-night | Board Game, Casual | Dice, cards and long explanations of the rules.
云端列车 | sky-rail | Simulation, Cozy | A railway among the clouds, always a little late.
Goblin Accountant | goblin-accountant | Simulation, Comedy | The dungeon must balance its books.
ねこの本屋 | cat-bookshop | Cozy, Simulation | A bookshop run by cats, for people who like cats.
Cinder Vale | cinder-vale | RPG, Open World | An old valley, an older fire, and a map drawn by liars.
Retro Arcade | retro-arcade | Retro, Casual | Coins in, time out.
Hexbound | hexbound | Card Game, Roguelike | Every spell has a price, and the price goes up.
Orbital Salvage | orbital-salvage | Simulation, Co-op | Take apart what others left in orbit.
Ночной трамвай | night-tram | Adventure, Horror | The last tram of the night stops where there is no stop.
The Long Ferry | the-long-ferry | Story, Cozy | Three days on a slow boat with interesting strangers.
Château Perdu | chateau-perdu | Puzzle, Horror | A castle with one room more than yesterday.
Workshop | workshop | Making, IRL | Wood, metal, thread, glue.
Fitness Floor | fitness-floor | Sports, IRL | Move together.
Die Große Zeche | die-grosse-zeche | Simulation, Strategy | Dig deep, pump out the water, mind the canary.
Mecha Meadow | mecha-meadow | Cozy, Sandbox | Retired war machines learn gardening.
واحة النجوم | oasis-of-stars | Adventure, Open World | Cross a desert by the stars, one oasis at a time.
Study Hall | study-hall | Learning, IRL | Quiet hours, together.
Łowcy Mgły | lowcy-mgly | RPG, Horror | Hunters of the mist, and what hunts them.
Castle Plumbing | castle-plumbing | Puzzle, Comedy | Medieval pipes, modern problems.
Garden & Soil | garden-and-soil | IRL, Casual | Things growing, slowly.
Bureau of Weather | bureau-of-weather | Puzzle, Simulation | Somebody has to decide where it rains.
Night Sky | night-sky | Learning, IRL | Telescopes, live.
Yeti Downhill | yeti-downhill | Sports, Racing | Snowboarding, chased.
Slow Trains | slow-trains | Travel, IRL | A window seat, hour after hour.
Thimble Quest | thimble-quest | RPG, Cozy | Heroes two centimetres tall.
Salt & Circuit | salt-and-circuit | Shooter, Story | A detective on a dry sea floor.
Animals | animals | IRL, Casual | Mostly asleep.
Glass Archipelago | glass-archipelago | Adventure, Puzzle | Islands that ring when you walk on them.
Book Corner | book-corner | Learning, Casual | Read aloud, talk it over.
Moss | moss | Simulation, Cozy | You are moss. There is no hurry.
`
  .trim()
  .split("\n")
  .map((line) => {
    const [name = "", slug = "", tags = "", description = ""] = line.split(" | ");
    return { name, slug, tags: tags.split(", "), description };
  });

/** The data of the sample platform. Popular people and categories come first. */
export interface SampleData {
  readonly people: readonly SamplePerson[];
  readonly categories: readonly CategoryInput[];
  /** Livestreams that are live at the start. */
  readonly livestreams: readonly Livestream[];
}

const firstWords =
  "brave sleepy cosmic velvet turbo salty lucky mellow electric crimson tiny grumpy silent golden pixel frosty wandering midnight clumsy humble";
const secondWords =
  "fox otter badger comet teapot wizard panda raven biscuit walrus goblin lantern moose pickle phoenix hedgehog noodle falcon yeti compass";
/** An English username is made of one first and one second word. */
const handleWords = { first: firstWords.split(" "), second: secondWords.split(" ") };

const peopleCount = 300;
const firstUserId = 1001;
const firstChannelId = 5001;
const seed = 20_260_114;
/** All accounts are created before this time, so that the data do not depend on the clock. */
const accountsUntil = Date.parse("2025-12-01T00:00:00Z");

/** Returns the sample platform. The data are always the same, except that livestreams started a while before `now`. */
export function sampleData(now: number): SampleData {
  const random = seeded(seed);
  const categories = sampleCategories.map((category, i) => ({ id: i + 1, ...category }));
  const names = uniqueNames(random, peopleCount);
  const people = names.map((name, i) => person(random, name, i));
  const livestreams = liveAtStart(random, people).map((one): Livestream => {
    const started = now - between(random, 5, 360) * minute;
    const viewers = Math.max(1, Math.round(one.typicalViewers * Math.exp(normalNumber(random) / 4)));
    return { ...newLivestream(one, started, random), viewers };
  });
  return { people, categories, livestreams };
}

interface Name {
  readonly username: string;
  readonly displayName: string;
  readonly language: SampleLanguage;
  readonly bio: string;
}

/** Returns the stars, then generated names up to `count`. Slugs are unique. */
function uniqueNames(random: Random, count: number): Name[] {
  const names: Name[] = stars.map(({ language, ...star }) => ({
    ...star,
    language: languages.find(({ code }) => code === language) ?? english,
  }));
  const taken = new Set(names.map(({ username }) => slugOf(username)));
  while (names.length < count) {
    const language = weighted(random, languages, ({ weight }) => weight);
    const name = language === english ? handle(random) : ownName(random, language);
    const slug = slugOf(name.username);
    if (taken.has(slug)) continue;
    taken.add(slug);
    names.push({ ...name, language, bio: pick(random, language.bios) });
  }
  return names;
}

function slugOf(username: string): string {
  return username.toLowerCase().replaceAll("_", "-");
}

function handle(random: Random): { username: string; displayName: string } {
  const words = [pick(random, handleWords.first), pick(random, handleWords.second)];
  const titled = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1));
  const username = pick(random, [
    words.join("_"),
    words.join("-"),
    titled.join(""),
    `${words.join("")}${between(random, 7, 99)}`,
    `The${titled.join("")}`,
  ]);
  return { username, displayName: pick(random, [username, titled.join(" ")]) };
}

function ownName(random: Random, { names }: SampleLanguage): { username: string; displayName: string } {
  const [base, displayName] = pick(random, names);
  const [ending, displayedEnding] = pick(random, [
    ["", ""],
    ["_tv", " TV"],
    ["_live", ""],
    ["-gg", ""],
    [`_${between(random, 2, 99)}`, ""],
    ["Plays", ""],
  ] as const);
  return { username: base + ending, displayName: displayName + displayedEnding };
}

function person(random: Random, { username, displayName, language, bio }: Name, rank: number): SamplePerson {
  const followers = Math.round((2_600_000 / (rank + 1) ** 1.6) * (0.8 + 0.4 * random()));
  // 97 and 300 have no common divisor: every id occurs once, and the order of ids does not follow the rank.
  const place = (rank * 97) % peopleCount;
  const user: Required<UserInput> = {
    id: firstUserId + place,
    username,
    display_name: displayName,
    bio,
    profile_picture: null,
    followers_count: followers,
    following_count: between(random, 0, 400),
    is_verified: rank < stars.length || random() < 30 / (rank + 30),
    created_at: isoTime(accountsUntil - between(random, 30, 3_600) * day - between(random, 0, 86_399) * 1000),
  };
  return {
    user,
    channel: {
      id: firstChannelId + place,
      user_id: user.id,
      slug: slugOf(username),
      name: displayName,
    },
    language,
    homeCategoryId: weighted(
      random,
      sampleCategories.map((_, i) => i + 1),
      (id) => 1 / (id + 2),
    ),
    typicalViewers: Math.max(3, Math.round(0.4 * followers ** 0.75)),
  };
}

/** Returns the stars and a random selection of the others, weighted by their viewers. */
function liveAtStart(random: Random, people: readonly SamplePerson[]): readonly SamplePerson[] {
  const live = new Set(people.slice(0, stars.length));
  while (live.size < typicallyLive)
    live.add(weighted(random, people, ({ typicalViewers }) => Math.sqrt(typicalViewers)));
  return [...live];
}

/** The simulation tends towards this number of live channels. */
export const typicallyLive = 80;

/**
 * Returns the number of viewers one second later: a random step of a few percent, with a drift towards the channel's
 * typical number, so that counts stay in range over days.
 */
export function nextViewers(viewers: number, typical: number, random: Random): number {
  const step = 0.025 * normalNumber(random) + 0.01 * Math.log(typical / Math.max(1, viewers));
  // A fraction is rounded up or down at random: with plain rounding, a small audience would never change.
  return Math.max(1, Math.floor(viewers * Math.exp(step) + random()));
}

/** Returns the livestream of a person who goes live at `now`. */
export function newLivestream(person: SamplePerson, now: number, random: Random): Livestream {
  return {
    channel_id: person.channel.id,
    category_id: person.homeCategoryId,
    viewers: Math.ceil(person.typicalViewers * (0.2 + 0.3 * random())),
    title: pick(random, person.language.titles),
    language: person.language.code,
    started_at: isoTime(Math.floor(now / 1000) * 1000),
  };
}

/** Chooses the person whose livestream starts or ends next. The more people are live, the more likely one ends. */
export function nextToChange(
  people: readonly SamplePerson[],
  live: ReadonlyMap<number, Livestream>,
  random: Random,
): SamplePerson {
  const ends = random() < live.size / (2 * typicallyLive);
  const candidates = people.filter(({ channel }) => live.has(channel.id) === ends);
  return weighted(random, candidates.length > 0 ? candidates : people, ({ typicalViewers }) =>
    ends ? 1 : Math.sqrt(typicalViewers),
  );
}
