import type { ChannelInput } from "../domain/livestreams.ts";
import type { UserInput } from "../domain/users.ts";

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
export interface SampleLanguage {
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

export const english: SampleLanguage = {
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
export const languages: readonly SampleLanguage[] = [
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
export const stars = `
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
