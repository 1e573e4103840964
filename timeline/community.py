"""The invented people and words of the demo community: usernames and posts.

Everything is drawn from the `random.Random` that the caller passes in, so one seed always gives the same
community. Posts come from a small grammar. A topic is (emoji, hashtags, articles, scenes); every scene starts
with `*` and reads `statements // follow-ups // endings`, where any statement goes with any follow-up and any
ending. ` ~ ` separates whole phrases, and `{a|b}` is a choice inside a phrase.
"""

import math
import random
import re

Phrase = tuple[tuple[str, ...], ...]  # the options of each slot, in order; fixed text is a single option
Phrases = tuple[Phrase, ...]
Topics = tuple[tuple[str, str, str, str], ...]
Scene = tuple[Phrases, Phrases, Phrases, Phrases, Phrases, Phrases]

POST_LIMIT = 280
NAME_LIMIT = 30
RESERVED_NAME = "demo"


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


_GIVEN = _words("""Ada Ahmed Aiko Aisha Alba Alma Amara Amir Amina Ana Anders Anouk Aroha Arjun Astrid Bela
    Bjorn Bruno Camila Carlos Celine Chiara Chidi Chloe Clara Dalia Daniel Dario Deniz Diego Eleni Elif Emeka
    Emil Erik Esther Eva Farah Fatima Felix Femi Fiona Freya Gabriel Grace Greta Hana Haruto Hassan Hiro Hugo
    Ibrahim Ifeoma Imani Ines Ingrid Isla Ivan Jack Jamal Javier Jin Joana Jorge Juan Julia Kaito Karim Keiko
    Kemal Kenji Kofi Kwame Lars Leo Liam Lucia Luis Luka Mads Maeve Malik Maria Marta Martin Mateo Maya Mehmet
    Mei Mila Miriam Mohan Nadia Naomi Nia Niamh Nikhil Nina Noa Noor Nora Oksana Olga Oliver Omar Oscar Otto
    Paolo Pavel Pedro Petra Pilar Priya Quinn Rafael Ravi Reza Rosa Ruth Sakura Samir Sara Signe Sofia Soren
    Sunita Tamar Tariq Thabo Theo Tomas Valentina Vera Victor Wanjiru Wei Wren Yael Yasmin Yuki Yusuf Zahra
    Zofia Zuri""")
_SURNAMES = _words("""Adeyemi Almeida Andersson Aoki Bakker Banerjee Bello Bianchi Brandt Byrne Campos
    Castillo Chen Choi Costa Cruz Dahl Demir Desai Dias Dubois Eklund Eze Ferrari Fischer Flores Fujita Garcia
    Ghosh Greco Haddad Hansen Hashimoto Hayes Hoang Huang Inoue Ito Jansen Joshi Kaplan Kapoor Kaya Kimura
    Kowalski Kumar Laine Levi Lindqvist Lopes Lund Mancini Mehta Mendes Mishra Mori Mwangi Nakamura Navarro
    Nguyen Novak Obi Okafor Okoye Ortega Otieno Park Patel Pereira Petrov Popescu Ramos Rivera Romano Rossi
    Saito Santos Sato Sen Silva Soto Suzuki Tanaka Torres Tran Vargas Vega Wagner Walsh Wolff Wright Yamada
    Yilmaz Zhang""")
_HOBBIES = _words("""writes plays reads bakes runs codes draws cooks sings paints cycles climbs knits sews
    gardens travels hikes swims surfs skates teaches builds films photos music books chess trains birds bikes
    plants maps stars coffee tea bread cats dogs football garden kitchen sketches notes outside offline
    online""")
_PLACES = _words("""lisbon porto berlin oslo lagos nairobi accra cairo istanbul athens rome turin sevilla lyon
    ghent wien prague krakow riga bergen cork glasgow tokyo osaka seoul taipei hanoi mumbai pune dhaka perth
    lima quito montreal recife""")
_ADJECTIVES = _words("""sleepy quiet happy slow tiny lucky rusty curious gentle brave salty mellow foggy sunny
    wandering clumsy midnight cosmic velvet paper wooden electric northern southern hungry dancing humble
    cheerful restless""")
_NOUNS = _words("""otter heron fox badger sparrow magpie lemur walrus moth turtle panda teapot bicycle lantern
    pebble cactus mango pickle noodle biscuit dumpling comet meadow pianist baker gardener sailor reader robot
    wizard librarian astronaut""")
_PREFIXES = _words("the_real_ its_ just_ hey_ hello_ dear_ only_ simply_ call_me_ iam")
# 14, 69 and 88 carry meanings that nobody in this community intends.
_DIGITS = tuple(f"{n:02d}" for n in (*range(1, 34), *range(64, 100)) if n not in (14, 69, 88))

_ENGLISH: Topics = (
    ("{🍲|🧄|👩‍🍳|👨‍🍳|😋}", "#cooking ~ #food", "Umami|Maillard_reaction", """* Made {lentil soup|mushroom
      risotto|a big pot of dal|shakshuka|pumpkin curry} {for dinner|tonight|for the first time in months}{ and
      it was actually good| and had seconds| with what was left in the fridge|}. ~ Tonight: {lentil
      soup|pumpkin curry|mushroom risotto}, {crusty bread|a green salad|too much garlic} and {an early night|a
      film nobody could agree on}. // The kitchen looks like a {storm|small tornado} went through it. ~ My
      grandmother would still say it needs salt. ~ The neighbours must {know our menu|hate garlic} by now. //
      Leftovers for lunch, which is the real prize. ~ What's everyone else {cooking|eating} this week? ~
      Somebody else can do the dishes.
    * {Third|Fourth|Fifth} attempt at {sourdough|focaccia|rye bread}: {dense enough to build with|closer, but
      still not right|burnt outside, raw inside}. ~ Spent {the whole morning|six hours} on a loaf that {could
      stop a door|chews like a sponge|refused to rise}. // The oven {lies about its temperature|runs hot and I
      keep forgetting}. ~ The {flour|recipe|weather} gets some of the blame. ~ It still tastes good with
      enough butter. // Any tips? ~ Trying again {on Sunday|tomorrow|next weekend}. ~ I will not be beaten by
      flour and water.
    * {A spoonful of miso|A squeeze of lemon|A pinch of cumin|One anchovy} {rescues|improves|wakes up} almost
      any {soup|stew|pot of beans}. ~ Salt & vinegar {crisps|peanuts} {on the sofa|at midnight|for dinner}. //
      {Try it.|I stand by this.|Don't judge me.|My aunt was right.}"""),
    ("{🌱|🍅|🌻|🧑‍🌾|🐌}", "#gardening ~ #allotment", "Compost|Companion_planting", """* {The tomatoes|The
      beans|The courgettes|The strawberries} {survived the hail|have taken over the balcony|are doing better
      than I am|are finally flowering}{, somehow|, against all odds|}. ~ Picked the first
      {tomato|strawberry|cucumber} of the year and {ate it standing up|felt like a farmer|took eleven photos
      of it}. // The {slugs|snails|pigeons} {have noticed|are circling|send their regards}. ~ {My neighbour|My
      aunt} {says it's the compost|takes full credit|wants to know my secret}. // I talk to the plants {every
      morning|daily} and I'm not embarrassed. ~ How is everyone else's garden? ~ Next year: {pumpkins|leeks|a
      bigger pot}.
    * Is it too {early|late} to {sow|plant} {broad beans|peas|sweetcorn|basil} {on a north-facing balcony|this
      far north|after a week like this}? // {Asking for a friend.|The packet just says "spring".|Be honest.|I
      did it anyway.}"""),
    ("{🚆|🚂|🛤️|🚉}", "#trains ~ #railway", "Sleeping_car|Semmering_railway", """* The {7:42|8:15|6:58|17:30}
      {to the coast|into town|home} was {late|twelve minutes late|cancelled|a bus in disguise}{ again|}, so I
      {finished my book|bought a cinnamon bun|phoned my sister|counted freight wagons}. // The {pigeon on
      platform two|station cat} did not care. ~ The announcement {blamed leaves|was two words and a lot of
      static}. ~ Honestly? {Not the worst thing that could happen|I needed the pause}. // I still love trains.
      ~ Trains > planes, even now. ~ How was your commute?
    * Took the night train to {Vienna|Stockholm|Milan|Zagreb} and {slept badly|slept like a stone|hardly
      slept} {in the top bunk|next to a snoring cellist|above a family with six suitcases}. // Woke up to
      {mist over the fields|a pink sky|a town I couldn't name} and {bad coffee|a paper cup of tea}. // I would
      do it again tomorrow. ~ Nothing beats arriving in the middle of a city, on foot, before breakfast.
    * Window seat, {rain on the glass|low winter sun|snow outside}, {a flask of tea|a bag of clementines|one
      good podcast}, {two|three|four} hours to go. // {Perfect.|I could live like this.|Please let it be
      delayed.}"""),
    ("{🌧️|⛈️|☀️|🌈|🥶}", "#weather ~ #skywatch", "Petrichor|Cloud_atlas", """* {Thunder|Hail|Sideways
      rain|Heavy rain} at {six|seven|eight} in the morning, {blue sky|bright sun|not a cloud} by
      {ten|eleven|noon}{ and more rain for lunch| and a rainbow on the way home|}. // I have worn {three
      coats|two jumpers|every kind of shoe} since breakfast. ~ The forecast said {"mostly
      dry"|"settled"|"light cloud"}. // Never a dull day. ~ What's it doing where you are? ~ Dress in layers &
      trust nobody.
    * Fog so thick {this morning|on the hill} that {the church tower vanished|I said hello to a postbox|the
      bus was just two yellow smudges}. ~ First snow of the year and {the whole street is outside|the buses
      have given up|grown adults are giggling}. // Everything sounds {softer|closer|further away}. ~ Nobody is
      in a hurry, for once. // Took the long way {to work|home} on purpose. ~ Beautiful, though."""),
    ("{📚|📖|🤓|❤️}", "#books ~ #amreading", "Unreliable_narrator|Marginalia|Tsundoku", """* Finished
      {Middlemarch|The Left Hand of Darkness|Piranesi|Rebecca|Moby-Dick} {at two in the morning|on the bus|in
      the bath|on a park bench} and {now everything else feels thin|had to sit quietly for a while|lent it to
      my sister at once|cried a bit, in a good way}. // {That last chapter|That ending|The final page}
      {deserves its reputation|is worth every page before it|got me}. ~ I had been putting it off for {ten
      years|half my life}, for no good reason. ~ My copy had {someone's pencil notes|a train ticket from 1987}
      in it, which felt like company. // What should I read next? ~ Five stars. ~ Please talk to me about it.
    * Went to the {library|second-hand bookshop|book fair} for {one book|a birthday present|ten minutes} and
      came out with {four|six|seven|nine} {novels|paperbacks|cookbooks}{ and a map of Norway|}. // {I regret
      nothing.|The pile by my bed is a safety issue.|Reading faster is not the answer, is it?}"""),
    ("{💻|🐛|👩‍💻|🧑‍💻|🦆}", "#coding ~ #debugging", "Off-by-one_error|Rubber_duck_debugging", """* {Two
      hours|Half a day|Three evenings} of debugging and the fix was {one character|a single line|two
      keystrokes}: `if (x {<|<=} y && y {>|>=} {0|1|2})`. ~ The {bug: `i <= n`. The fix: `i < n`|bug: `a & b`.
      The fix: `a && b`|bug: `x = 0`. The fix: `x == 0`}. The cost: {a whole afternoon|my weekend|one
      friendship, nearly}. // The test was right all along. ~ The comment above it says "do not touch". ~ The
      rubber duck on my desk knew before I did. ~ Git blame says it was me, in {2019|March|a hurry}. //
      Closing the laptop now. ~ I love this job. ~ Two hard problems: naming things, caching & off-by-one
      errors.
    * Today I learned that {an unescaped `<`|a stray `</div>`|a double-escaped `&amp;`|one missing `">`} can
      {ruin a whole page|break a newsletter|cost you an afternoon}. // {Ask me how I know.|Back to plain
      text.|It worked on my machine.}"""),
    ("{🎶|🎹|🎸|🎧|🎻}", "#music ~ #nowplaying", "Bossa_nova|Syncopation|Metronome", """* Practised {the same
      four bars|one scale|one awkward passage} for {an hour|forty minutes|the whole evening} on the
      {piano|cello|clarinet|accordion} and {finally heard the difference|my fingers hate me|I think the
      neighbours know it too}. // A metronome is {humbling|cruel but fair}. ~ My teacher said "again"
      {nine|eleven|fourteen} times. // Same again tomorrow. ~ How do you practise without going mad?
    * This {R&B|jazz|folk|soul|drum & bass} {record|playlist|album} has been on {repeat|loop} {since
      breakfast|all week|since Tuesday} and {I'm not even sorry|the whole office is nodding along|I keep
      finding new things in it}. // The bass line on the {third|fourth|seventh} track {alone is worth it|lives
      in my head now}. // What are you listening to? ~ Play it loud. ~ Music > silence, today."""),
    ("{⚽|🥅|🏟️|😱}", "#football ~ #sundayleague", "Association_football", """* Sunday league: {lost 5-2|drew
      3-3|won 1-0|lost 4-0|won 4-3}, {hit the post twice|pulled a hamstring tying my boots|got nutmegged twice
      by the same teenager}. // The pitch was {mostly mud|half underwater|frozen solid}. ~ Our {captain|left
      back} is {forty-eight|fifty-one} and still the {fastest|best} of us. // Same again next week. ~ The
      oranges at half-time were {excellent|the highlight}. ~ I can't feel my legs.
    * A {last-minute|95th-minute|stoppage-time} {winner|equaliser} and {I have no voice left|I hugged a total
      stranger|I spilled tea on everyone within reach|the dog is hiding under the table}. // Ninety minutes of
      {nothing|sideways passing}, then {that|pure chaos}. ~ My dad rang before the ball had stopped moving. //
      Football, eh? ~ Were you watching? ~ I need to lie down."""),
    ("{🐈|🐈‍⬛|😹|🐾|😻}", "#cats ~ #caturday", "Purr|Cat_righting_reflex|Catnip", """* The cat has {knocked
      my tea off the desk|claimed the clean laundry|brought me one sock|fallen asleep on my keyboard}
      {again|and looks proud of it|and refuses to discuss it|and it's not even eight o'clock}. ~ It's {4
      a.m.|5 a.m.|six on a Sunday} and the cat would like to {sing|talk about breakfast|go out, come in and go
      out again}. // I pay the rent here, {apparently|allegedly}. ~ She has {three beds|a heated blanket|her
      own chair} and prefers {the cardboard box|my face|the printer}. // I apologised to her. ~ I love her so
      much. ~ Is yours like this?"""),
    ("{🧸|🦕|👨‍👩‍👧|👩‍👧‍👦}", "#parenting ~ #kids", "Lullaby", """* My {four|five|six|seven}-year-old
      {just asked|wants to know} {whether fish get thirsty|who invented Tuesdays|why the moon follows our
      car|if worms have birthdays|how old numbers are}. // I said "good question" and {changed the subject|am
      still thinking about it|meant it}. ~ We ended up on the floor with {an encyclopaedia|a torch and an
      orange|crayons and a very long list}. // Answers, please? ~ Best conversation I've had all {day|week}. ~
      Parenting is mostly improvising.
    * The baby slept {five|six|seven} hours in a row and {I feel like a superhero|we both woke up in a panic|I
      cleaned the kitchen before eight|I remembered my own name}. // Don't tell her we noticed. ~ We are not
      changing a {single|tiny} thing. // Coffee anyway. ~ There is hope, tired people."""),
    ("{💼|📅|🙃|🗂️|🫠}", "#work ~ #officelife", "Law_of_triviality|Pomodoro_Technique", """* A
      {ninety-minute|two-hour|forty-minute} meeting to {plan another meeting|choose the colour of a
      button|agree that we agree|rename a folder}. ~ The {"quick call"|"five-minute chat"|"short sync"}
      {lasted until lunch|needed a second call|had fourteen people in it}. // I drew a very good
      {duck|boat|dragon} in the margin. ~ At least {five|six|three} people were {on mute|eating|somewhere else
      entirely}. // There were biscuits, at least. ~ How is your {Monday|Wednesday|Thursday} going?"""),
    ("{☕|🍵|🫖|😌}", "#tea ~ #coffee", "Masala_chai|Moka_pot|Caffeine", """* {Tea > coffee|Coffee > tea}
      {before noon|after lunch|on a rainy day|for thinking|on trains}, and I {can prove it|will defend
      this|won't hear otherwise}. ~ I went back {from coffee to tea|from tea to coffee} {this week|for a
      month|on Monday} and {everyone has an opinion|I feel surprisingly fine|my mugs are confused}. // My
      {partner|flatmate|desk neighbour|brother} disagrees, {loudly|with charts|every single morning}. ~ It's
      all about the water{, honestly|}. // Discuss. ~ Where do you stand? ~ Biscuits unite us all.
    * {The kettle broke|The coffee machine died|We ran out of coffee|I forgot to buy tea} {this morning|on a
      Monday|on deadline day} and {civilisation is hanging by a thread|nobody has spoken since|I'm typing this
      with one eye open}. // Drinking {hot water|something herbal} and pretending. ~ The neighbours offered us
      {a jar of instant|their spare pot} and I nearly cried."""),
    ("{🚲|🚴‍♀️|🚴🏽|🔧}", "#cycling ~ #bikes", "Bicycle_chain|Cargo_bike", """* Cycled {to work|to the
      lake|along the canal|home} {in the rain|into a headwind|with a cello on my back|at sunrise}:
      {9|12|18|31} km, {two herons|one puncture|no traffic|very wet socks|a big silly grin}. // A lorry driver
      {waited patiently|gave me a thumbs up} on the hill. ~ Nothing clears the head like it. ~ My bike
      {creaks|squeaks}, but so do I. // Same again tomorrow. ~ Who else was out today? ~ Legs: gone. Mood:
      excellent."""),
    ("{🔨|🪛|🧰|🏠|🚿}", "#diy ~ #homerepair", "Spirit_level|Plaster", """* Fixed the {dripping tap|squeaky
      door|wobbly table|noisy radiator} {with a video and a butter knife|after eight months of complaining|in
      twenty minutes|with a 30-cent part}{, and I feel like an engineer|, and nobody has noticed|}. // It had
      been annoying me every single day. ~ The toolbox is out now and nothing in this house is safe. // What
      should I {break|fix} next? ~ Tiny job, enormous joy."""),
    ("{🔭|🪐|🌙|👩‍🚀|🧑‍🚀|✨}", "#astronomy ~ #stargazing", "Galilean_moons|Perseids|Orion_Nebula", """* Saw
      {Saturn's rings|Jupiter's moons|the Orion Nebula|the craters of the Moon} through a
      {borrowed|second-hand|tiny} telescope {last night|from the balcony|in my slippers|for the first time}
      and {actually gasped|forgot how cold it was|woke up the whole house}. // It's one thing to see the
      photos and another to {see the real thing|catch it yourself}. ~ The neighbour's {son|dog} came over for
      a look too. // Look up tonight if it's clear. ~ We live in {space|a very strange place}."""),
    ("{♟️|🤔|🏆|😤}", "#chess ~ #chessclub", "Zugzwang|Smothered_mate", """* Lost to {a nine-year-old|my
      uncle|the club treasurer|a man eating soup} in {17|19|23|31} moves{ tonight| at the club| on a park
      bench|}. // I {hung a rook|missed mate in two|forgot that knights jump|thought I was winning}. ~ "Good
      game" never sounded so {kind|final}. // Rematch {on Thursday|next week}. ~ I have much to learn. ~ Back
      to puzzles."""),
    ("{🏃‍♀️|🏃🏾‍♂️|👟|💪}", "#running ~ #parkrun", "Fartlek|Interval_training", """* {5k|8k|10k|12k} {before
      breakfast|in the drizzle|along the river|with the dog}: {slow|slower than last week|faster than
      expected|all smiles}{, and I saw a kingfisher|, and I even enjoyed the hill|}. // The first
      {kilometre|bit} {lied to me|is always a negotiation}. ~ A {toddler|pug|man with a pram} overtook me near
      the end. // Legs are {jelly|on strike}. ~ Pancakes now. ~ Who's running this weekend?"""),
    ("{🎬|🍿|🎞️|🥲}", "#film ~ #nowwatching", "Film_score|Tampopo", """* Rewatched {The Third Man|Spirited
      Away|Some Like It Hot|Paddington 2|Singin' in the Rain} {last night|with my dad|on a rainy Sunday|at the
      little cinema round the corner} and {it gets better every time|noticed something new again|was hooked
      from the first shot}. // That {opening|final scene|music}! ~ We talked about it until {one|two} in the
      morning. // What's your comfort film? ~ Film night suggestions welcome."""),
    ("{🎉|🙌|😄|🥳}", "#smallvictories ~ #littlethings", "Kindness", """* Small victory: {folded a fitted
      sheet|parallel parked on the first try|cancelled a subscription by phone|found both gloves|used up all
      the parsley} {today|this morning|before nine|with witnesses}. // I may put it on my CV. ~ Nobody
      clapped, but I heard applause. ~ Told {my mum|everyone at work|the dog} immediately. // What's yours? ~
      I'm unstoppable. ~ <3
    * {The lady at the bakery|The man at the market|The bus driver|The postman} {remembered my name|asked
      about my mum|saw me running and waited} and {it made my whole week|I nearly cried|I'm still smiling}. //
      It had been a long {day|week}. ~ I want to be that kind of person. // Be nice to people today. ~ I <3
      this town. ~ Pass it on."""),
    ("{🐕|🐶|🐾|🥹}", "#dogs ~ #gooddog", "Dog_communication", """* Met {an enormous|a very small|a
      three-legged|an extremely dignified} {greyhound|dachshund|poodle|mongrel} called
      {Kevin|Susan|Professor|Gravy|Linda} {on the bus|outside the bakery|in the post office queue}. // We
      {shook hands|shared a biscuit|understood each other}. // Day made. ~ I think about that dog a lot. ~
      Dogs should have {business cards|surnames|email}."""),
    ("{🇯🇵|🍜|⛩️|🗾}", "#japan ~ #travel", "Kenroku-en|Onsen", """* {Kyoto|Kanazawa|Matsuyama|Nara} {at six in
      the morning|in the rain|in late autumn}: {empty lanes|steam from a noodle shop|a temple bell somewhere},
      {an old man sweeping leaves|a cat asleep on a scooter}, and {no plan at all|a can of hot coffee in my
      pocket}. // I walked {22|17|25} km yesterday and only noticed at night. // I don't want to go home. ~
      What else should I see?"""),
    ("{🇵🇹|🌊|🧳|☀️}", "#portugal ~ #travel", "Azulejo", """* {Two|Three|Four} days in {Porto|Lisbon|Coimbra}:
      {a hundred|a thousand|far too many} stairs, {six|eight|eleven} custard tarts, {one tram|one sunburnt
      nose|no museums} and {blue tiles on everything|laundry in every window}. // Our B&B has {a parrot|a
      lemon tree|a very old piano} and {no lift|no clock anywhere}. // Already planning to come back. ~ Tips
      for tomorrow?"""),
    ("{🐦|🦉|🪶|🦆}", "#birds ~ #birdwatching", "Bird_vocalization|Bird_migration", """* {An owl|A
      woodpecker|A wren|A very loud blackbird} {in the yard|on the balcony|outside my office window} {this
      morning|at dawn|during a video call}, {completely unbothered|louder than the radio|staring right at me}.
      // I was late for {everything|breakfast|work} and it was worth it. // Put the phone down & listen. ~
      Which birds do you get?"""),
)
_SHORT: Topics = (
    ("{🙂|😅|🌅|✨|🫶|👋🏽|❤️‍🔥}", "", "", """* Good {morning|evening|night}{.|!|, everyone.|, all.|,
      friends.|, whoever is up.} ~ {Kettle on|Tea time|Coffee first|Bread rising|Cat asleep|Train late|Rain
      again|Finally Friday|Monday again|Early night|Soup weather|Home again|New tyres|No regrets|Nailed
      it|Never mind|Worth it|Fresh sheets}{.|!|...} ~ {So|Very|Rather} {tired|happy|hungry|sleepy|proud}
      {today|right now|tonight|this morning}. ~ {Still|Currently}
      {reading|raining|baking|debugging|waiting|humming|on hold}{.|...|, send snacks.|, ask me later.} ~
      {Two|Three|Four|Five} {cups of tea|chapters|miles|rows|loaves} {down|done}{.|, one to go.|, and
      counting.} ~ {Does anyone else|Do you also} {talk to plants|sing to the dog|read the last page
      first|thank the bus driver|miss night trains}? ~ {Today|This morning|Tonight} was {lovely|a
      lot|quiet|better than expected|soup-shaped}."""),
)
_RIGHT_TO_LEFT: Topics = (
    ("{🙂|🌿|❤️|✨}", "", "", """* {فنجان قهوة|كوب شاي بالنعناع|فنجان شاي} {في هدوء الصباح|على الشرفة|مع كتاب
      جيد} {أفضل من أي شيء آخر|يغيّر مزاجي تمامًا|يكفيني لأبدأ يومي بابتسامة}. // {صباح الخير يا أصدقاء|صباح
      الخير للجميع|نهاركم سعيد}. // ماذا تشربون الآن؟ ~ هل تفضلون القهوة أم الشاي؟
    * أنهيت {أمس|الليلة|هذا الأسبوع} {رواية طويلة|رواية رائعة|رواية قصيرة} عن {مدينة قديمة|عائلة صغيرة|رحلة
      بحرية} {ولم أستطع أن أتركها حتى الصفحة الأخيرة|وما زلت أفكر في نهايتها|وسأقرؤها مرة أخرى بالتأكيد}. //
      الكاتبة تعرف كيف تحكي. ~ استعرتها من مكتبة الحي. // ماذا تقرؤون هذه الأيام؟ ~ رشّحوا لي كتابًا جديدًا من
      فضلكم.
    * جرّبت {اليوم|أمس|لأول مرة} طريقة جدتي في إعداد {الملوخية|المقلوبة|الكسكس|ورق العنب} {وكانت النتيجة
      مدهشة|وطلب الجميع طبقًا ثانيًا|ونسيت الملح كالعادة}. // المطبخ يحتاج إلى ساعة من التنظيف. ~ السر في
      الصبر والنار الهادئة. // بالهناء والشفاء! ~ هل عندكم نصيحة؟
    * {סוף סוף גשם|גשם ראשון של העונה|איזה גשם יורד עכשיו}, {והחתול לא זז מהחלון|והריח ברחוב נהדר|ואני בלי
      מטרייה כמובן|ומרק עדשים כבר על האש}. // יום מושלם להישאר בבית עם ספר. ~ הכביסה כמובן נשארה בחוץ. ~ אין
      כמו ריח של אדמה רטובה. // מה מזג האוויר אצלכם? ~ חורף נעים לכולם.
    * {אפיתי חלה|ניסיתי לאפות לחם|הכנתי עוגת תפוחים} {בפעם הראשונה|לפי המתכון של סבתא|ביום שישי בבוקר} {ויצא
      מצוין|ויצא קצת שרוף|ולא נשאר פירור|וכל הבית מריח נפלא}. // המטבח נראה כמו אחרי סערה. ~ הילדים כבר ביקשו
      עוד. // מישהו רוצה את המתכון? ~ שווה כל רגע.
    * הרכבת {הביתה|לחיפה|לבאר שבע} {איחרה שוב|עמדה חצי שעה|יצאה באיחור} {הבוקר|היום}, {אז הספקתי לקרוא פרק
      שלם|אבל לפחות היה מקום ליד החלון|אז קניתי לעצמי קפה ומאפה}. // הנוף בדרך פיצה על הכול. ~ אף אחד לא הסביר
      למה. // ואיך היה היום שלכם? ~ מחר שוב.
    * {یک فنجان چای|چای تازه‌دم|یک لیوان چای داغ} {در این هوای خنک|کنار پنجره|بعد از یک روز طولانی} {حال آدم
      را خوب می‌کند|بهترین چیز دنیاست|خستگی را از تن آدم در می‌کند}. // کمی {نبات|بیسکویت|خرما} هم کنارش باشد
      که دیگر عالی است. // شما اهل چای هستید یا قهوه؟ ~ جای همه خالی.
    * {امروز|دیشب|بعد از مدت‌ها} {باران آمد|باران بارید} و {شهر نفس کشید|بوی خاک همه‌جا را پر کرد|هوا حسابی
      خنک شد|گربه‌ها زیر ماشین‌ها پناه گرفتند}. // چترم هم طبق معمول در خانه مانده بود. ~ یک ساعت کنار پنجره
      نشستم و فقط نگاه کردم. // هوای شهر شما چطور است؟ ~ کاش هوا همین‌طور بماند.
    * {امروز|دیشب|ظهر جمعه} {قرمه‌سبزی|آش رشته|زرشک‌پلو|کوکوسبزی} پختم و {خیلی خوب از آب درآمد|همه یک بشقاب
      دیگر خواستند|باز هم نمکش کم بود}. // بویش تا کوچه رفته بود. ~ دستور پخت مادربزرگ هنوز از همه بهتر است.
      // نوش جان! ~ جای شما خالی."""),
)
_OTHER_LANGUAGES: Topics = (
    ("{🙂|🌿|☕|✨}", "", "", """* {今朝は|今日は|昨日は|久しぶりに}{近所の公園を散歩した|駅前の喫茶店に寄った|川沿いをゆっくり歩いた}。
      // 空気がひんやりして気持ちよかった。 ~ 猫が三匹、屋根の下で寝ていた。 ~ 帰りに{パン|花|古本}を買った。
      // こういう時間が好き。 ~ 明日もまた行こうかな。
    * {ラーメン|カレー|肉じゃが|味噌汁}を作ったら、{思ったよりおいしくできた|塩を入れすぎた|家族に好評だった}。
      // 台所は大変なことになっている。 ~ {祖母|母|友だち}のレシピのおかげ。 // また作ろう。 ~
      みなさんの晩ごはんは何ですか?
    * {Por fin ha llovido|Toda la mañana lloviendo|Ha vuelto la lluvia} y {el barrio huele a tierra mojada|yo
      sin paraguas, claro|el gato no se aparta de la ventana|apetece sopa}. // Plan perfecto: manta, libro y
      chocolate caliente. ~ Las plantas de la terraza están felices. ~ La ropa sigue tendida. // ¿Y por ahí
      qué tal? ~ Feliz {lunes|jueves|domingo}.
    * {Heute Morgen|Gestern|Auf dem Heimweg} stand {der Zug|die S-Bahn|der Regionalzug} {zwanzig Minuten|eine
      halbe Stunde} {auf freier Strecke|kurz vor dem Bahnhof}, {aber die Aussicht war schön|und niemand
      wusste, warum|und ich habe endlich mein Buch ausgelesen}. // Wenigstens war der Kaffee heiß. ~ Die
      Durchsage war reine Poesie. // Ich fahre trotzdem gern Bahn. ~ Wie war euer Tag?
    * {Der Apfelkuchen|Der Käsekuchen|Der Zwetschgenkuchen} {nach Omas Rezept|aus dem neuen Backbuch} ist
      {gelungen|etwas dunkel geworden|schon wieder aufgegessen|im Ofen zusammengefallen}{, und die ganze
      Wohnung duftet|}. // Die Küche sieht entsprechend aus. ~ Mit Sahne schmeckt sowieso alles. // Nächsten
      Sonntag backe ich wieder. ~ Backt ihr auch gern?
    * {Ce matin|Hier soir|Aujourd'hui}, {balade|petite promenade} {au bord du canal|dans le parc|dans le vieux
      quartier} {sous la pluie|avec le chien|sans téléphone} : {que du bonheur|ça fait un bien fou|exactement
      ce qu'il me fallait}. // J'ai ramené {du pain frais|un bouquet de pivoines|trois livres d'occasion}. //
      Et vous, quoi de beau ? ~ On y retourne demain.
    * {Mes tomates|Mes fraises|Mes framboises} ont {enfin mûri|survécu à l'orage|bien profité du soleil}, {et
      les voisins se régalent aussi|mais les merles sont passés avant moi|et je ne sais plus quoi en faire}.
      // Tout est parti en confiture. ~ J'en ai mangé la moitié sur place. // Vive l'été ! ~ Des idées de
      recettes ?
    * {Hoje|Ontem|No domingo} fui {à feira|ao mercado} só para comprar {pão|fruta|queijo|café} e {saí de lá
      com três sacolas|acabei ficando uma hora conversando|encontrei metade do bairro}. // Ganhei até um
      pastel de brinde. ~ Voltei a pé, sem pressa nenhuma. // Acontece sempre. ~ E vocês, como estão?
    * {आज सुबह|कल शाम|बहुत दिनों बाद} {बारिश हुई|अच्छी बारिश हुई|झमाझम बारिश हुई} और {अदरक वाली चाय का मज़ा
      दोगुना हो गया|पूरी गली मिट्टी की ख़ुशबू से भर गई|हमने छत पर बैठकर पकौड़े खाए}। // ऐसे दिन रोज़ क्यों
      नहीं आते? ~ छाता तो हमेशा की तरह घर पर ही रह गया था। // आपके यहाँ मौसम कैसा है? ~ मन ख़ुश हो गया।"""),
)
# These go with any English post, so that a long timeline need not repeat itself.
_OPENERS = ("Well.", "Right.", "OK.", "So.", "Hello again.", "Hey all.", "Listen.", "Honestly.", "Hm.", "Quick update.")
_CLOSERS = ("Anyway.", "Carry on.", "As you were.", "That's all.", "More later.", "Just saying.", "Make of that what you will.")
_LINKS = """
    {More here|My notes|Longer version|I wrote it down}: https://example.{com|org}/TAG/{1|2|3|4|5|6}{07|28|34|56|91} ~
    {Today's rabbit hole|Worth knowing|Good background}: https://en.wikipedia.org/wiki/{ARTICLES}
"""


def _phrases(text: str) -> Phrases:
    return tuple(
        tuple(tuple(slot.split("|")) for slot in re.split("[{}]", phrase) if slot)
        for phrase in " ".join(text.split()).split(" ~ ")
        if phrase
    )


def _scenes(topics: Topics) -> tuple[Scene, ...]:
    scenes: list[Scene] = []
    for emoji, hashtags, articles, text in topics:
        tag = hashtags.partition(" ")[0].strip("#")
        links = _phrases(_LINKS.replace("TAG", tag).replace("ARTICLES", articles)) if articles else ()
        for scene in re.split(r"^ *\* ", text, flags=re.MULTILINE)[1:]:
            statements, follow_ups, endings = (_phrases(part) for part in (*scene.split("//"), "", "")[:3])
            ways = sum(math.prod(map(len, phrase)) for phrase in statements) * (1 + len(follow_ups) + len(endings))
            # A scene that can be told in more ways comes up more often.
            scenes += [(statements, follow_ups, endings, _phrases(emoji), links, _phrases(hashtags))] * (1 + math.isqrt(ways)//5)
    return tuple(scenes)


_ENGLISH_SCENES, _SHORT_SCENES = _scenes(_ENGLISH), _scenes(_SHORT)
_RIGHT_TO_LEFT_SCENES, _OTHER_SCENES = _scenes(_RIGHT_TO_LEFT), _scenes(_OTHER_LANGUAGES)

_FIRST, _LAST = (tuple(name.lower() for name in names) for names in (_GIVEN, _SURNAMES))
_LETTER, _BAR = tuple("abcdefghijklmnoprstuvwyz"), ("_",)
_NAME_SHAPES: Phrases = (
    (_FIRST, _BAR, _LETTER), (_FIRST, _BAR, _LAST), (_LETTER, _BAR, _LAST), (_LAST, _BAR, _FIRST),
    (_GIVEN, _SURNAMES), (_GIVEN, _BAR, _SURNAMES), (_GIVEN, tuple("ABCDEFGHIJKLMNOPRSTVW"), _SURNAMES),
    (_FIRST, _BAR, _LETTER, _BAR, _LAST), (_FIRST, ("", "_"), _DIGITS), (_FIRST, _BAR, _LAST, _DIGITS),
    (_GIVEN, tuple(hobby.title() for hobby in _HOBBIES)), (_FIRST, _BAR, _HOBBIES),
    (_FIRST, ("_in_", "_from_"), _PLACES), (_FIRST, ("_the_",), _NOUNS), (_PREFIXES, _FIRST),
    (_ADJECTIVES, _BAR, (*_FIRST, *_NOUNS)), (_ADJECTIVES, _BAR, _NOUNS, _DIGITS),
)  # fmt: skip


def _say(phrase: Phrase, rng: random.Random) -> str:
    draw = rng.random
    return "".join([slot[int(draw() * len(slot))] for slot in phrase])


def usernames(count: int, rng: random.Random) -> list[str]:
    """Return `count` usernames, all different even when case is ignored, in no particular order.

    Each has 1 to NAME_LIMIT characters of [A-Za-z0-9_] and is never RESERVED_NAME in any case.
    """
    names: list[str] = []
    taken = {RESERVED_NAME}
    misses = 0
    while len(names) < count:
        name = _say(rng.choice(_NAME_SHAPES), rng)
        if misses > 20:  # the natural combinations are running out
            number = str(rng.randrange(10 * count))
            name = name[: NAME_LIMIT - len(number)] + number
        key = name.lower()
        if key in taken:
            misses += 1
        else:
            misses = 0
            taken.add(key)
            names.append(name)
    return names


def post_body(rng: random.Random) -> str:
    """Return one post: a single line of 1 to POST_LIMIT code points without `@` or blanks at either end."""
    kind, shape, frame, manner, extra = (rng.random() for _ in range(5))
    if kind < 0.89:
        scenes = _ENGLISH_SCENES
    elif kind < 0.92:
        scenes = _SHORT_SCENES
    else:
        scenes = _RIGHT_TO_LEFT_SCENES if kind < 0.96 else _OTHER_SCENES
    statements, follow_ups, endings, emoji, links, hashtags = rng.choice(scenes)
    parts = [_say(rng.choice(statements), rng)]
    if follow_ups and (0.15 < shape < 0.4 or shape > 0.65):
        parts += [_say(phrase, rng) for phrase in rng.sample(follow_ups, min(len(follow_ups), 1 + (shape > 0.9)))]
    if endings and shape > 0.4:
        parts.append(_say(rng.choice(endings), rng))
    if scenes is _ENGLISH_SCENES and frame < 0.16:
        parts.insert(0, rng.choice(_OPENERS))
    elif scenes is _ENGLISH_SCENES and frame > 0.65 and shape < 0.4:
        parts.append(rng.choice(_CLOSERS))

    tail = ""
    if links and extra < 0.07:
        tail = " " + _say(rng.choice(links), rng)
    elif hashtags and extra < 0.11:
        tail = " " + _say(rng.choice(hashtags), rng)
    elif extra > 0.9:
        tail = " " + _say(rng.choice(emoji), rng)

    while len(text := " ".join(parts)) > POST_LIMIT - len(tail):
        parts.pop()
    text = text.replace("。 ", "。")  # Japanese puts no blank between sentences
    if manner < 0.09:
        text = text.lower()
    if manner < 0.18:
        text = text.removesuffix(".")
    return text + tail
