import type { CategoryInput } from "../domain/categories.ts";

/** The made-up categories of the sample platform, the most watched first. */
export const sampleCategories: readonly Omit<CategoryInput, "id">[] = `
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
