"""Topics of the demo community. `texts.py` makes posts of them.

A topic is (emoji, hashtag, Wikipedia articles, text). Its text has remarks, which may end any post of the topic, and
then scenes. A scene starts with `*` and is written as `statements // follow-ups // endings`: every statement goes with
every follow-up and every ending. `grammar.py` says how phrases and choices are written.
"""

Topics = tuple[tuple[str, str, str, str], ...]

ENGLISH: Topics = (
    (
        "{🍲|🧄|👩‍🍳|👨‍🍳|😋}",
        "#cooking",
        "Umami|Maillard_reaction",
        """What's everyone else {cooking|eating}? ~ Somebody else can do the dishes. ~ I regret nothing.
    * Made {lentil soup|mushroom risotto|a big pot of dal|shakshuka} {for dinner|tonight|for the first time in
      months}{ and it was actually good| and had seconds|}. // The kitchen looks like a {storm|small tornado}
      went through it. ~ My grandmother would still say it needs salt.
    * {Third|Fourth|Fifth} attempt at {sourdough|focaccia|rye bread}: {dense enough to build with|closer, but
      not right|burnt outside, raw inside}. // The oven {lies about its temperature|runs hot and I keep
      forgetting}. ~ It still tastes good with enough butter.
    * My grandmother's recipe just says {"a handful of flour"|"butter, as needed"|"cook until done"}, so I
      rang my {mother|aunt|uncle}, who said {"you'll know"|"it depends on the weather"|"less than you think"},
      and now there are {forty|sixty|ninety} dumplings drying all over the {kitchen|house}. // They taste
      exactly right and I have no idea why. ~ We are having the neighbours over, all of them.
    * {Tonight's|Sunday's|The whole week's} shopping list: ¶ - {leeks|onions|two lemons} ¶ - {red
      lentils|rice|good bread} ¶ - {patience|more butter|somebody who peels garlic} // What did I
      forget? ~ The list is longer than the evening.
    * Salt & vinegar {crisps|peanuts|popcorn} {on the sofa|at midnight|for dinner}{ again|, don't judge me|}.
      // A perfect evening. ~ My aunt calls this a balanced diet.""",
    ),
    (
        "{🌱|🍅|🌻|🧑‍🌾|🐌}",
        "#gardening",
        "Compost|Companion_planting",
        """How is everyone else's garden? ~ I
      talk to the plants {daily|at night} and I'm not embarrassed. ~ Next year: {pumpkins|leeks|a bigger pot}.
    * {The tomatoes|The beans|The strawberries} {survived the hail|have taken over the balcony|are doing
      better than I am}{, somehow|, against all odds|}. // The {slugs|snails|pigeons} {have noticed|are
      circling}. ~ My {neighbour|aunt} {says it's the compost|takes full credit}.
    * Jobs for {the weekend|Saturday|this week}: ¶ - {tie up the beans|turn the compost|wash the pots}
      ¶ - {sow lettuce|sharpen the shears|thank the worms} ¶ - sit down and look // I will begin with
      the {third|last} one.
    * Picked the first {tomato|strawberry|cucumber|pepper} of the year and {ate it standing up|felt like a
      farmer|took eleven photos of it}. // Tiny, but perfect. ~ Worth every mosquito bite.
    * Planted {forty|sixty|a hundred} {tulip|daffodil|crocus} bulbs {in the rain|before breakfast|with a
      borrowed trowel}. // My knees have opinions. ~ The squirrels {watched|took notes}.""",
    ),
    (
        "{🚆|🚂|🛤️|🚉}",
        "#trains",
        "Sleeping_car|Semmering_railway",
        """I still love trains. ~ Trains > planes,
      {even now|always}. ~ How was your {journey|day}?
    * The {7:42|8:15|17:30} {to the coast|into town|home} was {late|cancelled|a bus in disguise}{ again|}, so
      I {finished my book|bought a cinnamon bun|counted freight wagons}. // The {station cat|pigeon on
      platform two} did not care. ~ The announcement {blamed leaves|was mostly static}.
    * Took the night train to {Vienna|Stockholm|Milan|Zagreb} and {slept badly|slept like a stone|hardly
      slept} {in the top bunk|next to a snoring cellist}. // Woke up to {mist over the fields|a pink sky}.
    * Shared a table with a retired {piano tuner|beekeeper|sailor} who {peeled me an orange|gave me half a
      sandwich}, told me all about {a wedding in the snow|a dog called Admiral|one very bad winter}, and got
      off {at the smallest station I have ever seen|two hours later without giving a name}. // Some people are
      better than any podcast. ~ I never even opened my {book|laptop}.
    * Window seat, {rain on the glass|low winter sun|snow outside}, {a flask of tea|a bag of clementines|one
      good podcast}, {two|three|four} hours to go. // Perfect. ~ I could live like this.""",
    ),
    (
        "{🌧️|⛈️|🌈|🥶}",
        "#weather",
        "Petrichor|Cloud_atlas",
        """What's it doing where you are? ~ The {cat|dog}
      is unimpressed. ~ Not {a dull|one dull} day {this week|yet}.
    * {Thunder|Hail|Sideways rain} at {six|seven|eight} in the morning, {blue sky|bright sun} by
      {ten|eleven|noon}. // I have worn {three coats|all my shoes} today. ~ The forecast said "dry".
    * Fog so thick that {the church tower vanished|I said hello to a postbox|the bus was two yellow smudges}.
      ~ First snow of the year and {the whole street is outside|the buses have given up|grown adults are
      giggling}. // Everything sounds {softer|closer|further away}. ~ Nobody is in a hurry, for once.""",
    ),
    (
        "{📚|📖|🤓|❤️}",
        "#books",
        "Unreliable_narrator|Marginalia|Tsundoku",
        """What should I read next? ~ Reading > sleeping. ~ Please talk to me about books.
    * Finished {Middlemarch|Piranesi|Rebecca|Moby-Dick} {at two in the morning|on the bus|in the bath} and
      {now everything else feels thin|lent it to my sister at once|cried a bit, in a good way}. // {That
      ending|The final page} {deserves its reputation|got me}. ~ My copy had {someone's pencil notes|a train
      ticket from 1987} in it, which felt like company.
    * Went to the {library|second-hand bookshop|book fair} for {one book|a present|ten minutes} and came out
      with {four|six|seven|nine} {novels|paperbacks|cookbooks}. // The pile by my bed is {structural now|a
      safety issue}. ~ I have no shelf left.
    * {Read|Finished} this {month|winter|holiday}: ¶ - {one very long novel|two slim ones|poems, slowly}
      ¶ - {a book about moss|letters of a lighthouse keeper|an atlas} ¶ - half of {something Russian|a
      manual|my own diary} // The last one wins.
    * Unpopular opinion: {folding the corner|reading the last page first|writing in the margins} is
      {fine|perfectly fine|good, actually}. // Books are for using. ~ Come and argue with me.""",
    ),
    (
        "{💻|🐛|👩‍💻|🧑‍💻|🦆}",
        "#coding",
        "Off-by-one_error|Rubber_duck_debugging",
        """Closing the laptop now. ~ I love this job. ~ Two hard problems: naming things, caching & off-by-one errors.
    * {Two hours|Half a day|Three evenings} of debugging and the fix was {one character|a single line}: `if (x
      {<|<=} y && y {>|>=} {0|1})`. // The test was right all along. ~ The comment above it says "do not
      touch". ~ Git blame says it was me, in {2019|March|a hurry}.
    * Deleted {400|900|1,300|2,000} lines of {old code|config|copy & paste} {today|before lunch|on a Friday}
      and {nothing broke|all the tests still pass|the build got faster}. // Commit message: "remove, see what
      happens". ~ Best day {this month|in weeks}.
    * Today I learned that {an unescaped `<`|a stray `</div>`|a double-escaped `&amp;`} can {ruin a whole
      page|break a newsletter|cost you an afternoon}. // Ask me how I know. ~ It worked on my machine.""",
    ),
    (
        "{🎶|🎹|🎸|🎧|🎻}",
        "#music",
        "Bossa_nova|Metronome",
        """What are you listening to? ~ Music > silence.
    * Practised {the same four bars|one scale|one awkward passage} for {an hour|forty minutes} on the
      {piano|cello|accordion} and {finally heard the difference|my fingers hate me|now the neighbours know it
      too}. // A metronome is {humbling|cruel but fair}. ~ My teacher said "again" {nine|eleven} times.
    * This {R&B|jazz|folk|soul} {record|playlist|album} has been on {repeat|loop} {since breakfast|all
      week|since Tuesday} and {I'm not even sorry|I keep finding new things in it}. // The bass line on the
      {third|fourth|last} track {alone is worth it|lives in my head now}.
    * Choir tonight: {forty|twenty-six} people, {no heater|one box of biscuits}, and for {eight bars|one whole
      verse} we sounded {glorious|like one person}. // Then the {tenors|altos|basses} got lost.""",
    ),
    (
        "{⚽|🥅|🏟️|😱}",
        "#football",
        "Association_football",
        """Same again next week. ~ I need to lie down.
    * Sunday league: {lost 5-2|drew 3-3|won 1-0|lost 4-0}, {hit the post twice|pulled a hamstring tying my
      boots|got nutmegged by a teenager}. // The pitch was {mostly mud|half underwater|frozen solid}. ~ Our
      {captain|left back} is {forty-eight|fifty-one} and still the {fastest|best} of us.
    * A {last-minute|95th-minute|stoppage-time} {winner|equaliser} and {I have no voice left|I hugged a total
      stranger|the dog is under the table}. // Ninety minutes of {nothing|sideways passing}, then
      {that|chaos}. ~ My dad rang {at once|before the ball had stopped moving}.""",
    ),
    (
        "{🐈|🐈‍⬛|😹|🐾|😻}",
        "#cats",
        "Purr|Cat_righting_reflex",
        """I love {her|that animal} so much. ~ I pay
      the rent here, {apparently|allegedly}. ~ Is yours like this?
    * The cat has {knocked my tea off the desk|claimed the clean laundry|brought me one sock|sat on my
      keyboard} {again|and looks proud of it|and refuses to discuss it}. // She has {three beds|a heated
      blanket} and prefers {the cardboard box|my face|the printer}. ~ I apologised to her.
    * It's {4 a.m.|5 a.m.|six on a Sunday} and the cat would like to {sing|talk about breakfast|go out, come
      in and go out again}. // Breakfast is at seven. She knows. ~ There is no snooze button.""",
    ),
    (
        "{🧸|👨‍👩‍👧|👩‍👧‍👦}",
        "#parenting",
        "Lullaby",
        """Mostly improvising. ~ Best part of my day.
    * My {four|five|six|seven}-year-old {just asked|wants to know} {whether fish get thirsty|who invented
      Tuesdays|why the moon follows our car|if worms have birthdays}. // I said "good question" and {changed
      the subject|meant it}. ~ We ended up on the floor with {an encyclopaedia|crayons and a very long list}.
    * The baby slept {five|six|seven} hours in a row and {I feel like a superhero|we both woke up in a panic|I
      remembered my own name}. // Don't tell her we noticed. ~ We are not changing a thing.
    * School run: {one shoe missing|two meltdowns|dinosaur costume}, {three|five} minutes {late|to spare},
      {all singing|still laughing}. // She said "no" to {the coat, the hat & mornings|every sock}.""",
    ),
    (
        "{💼|📅|🙃|🫠}",
        "#work",
        "Law_of_triviality|Pomodoro_Technique",
        """How is your
      {Monday|Wednesday|Thursday} going? ~ Is it Friday yet? ~ Tea now.
    * A {ninety-minute|two-hour|forty-minute} meeting to {plan another meeting|choose the colour of a
      button|rename a folder}. // I drew a very good {duck|boat|dragon} in the margin. ~ There were biscuits.
    * First {day|week} {at the new job|back after leave}: {found the good mug|learned eleven names|got lost on
      the way to the printer}. // Everyone is kind and the plants are real. ~ Q&A with the boss tomorrow.""",
    ),
    (
        "{☕|🍵|🫖}",
        "#tea",
        "Masala_chai",
        """Tea people, coffee people: be nice. ~ What's in your cup?
    * {Tea > coffee|Coffee > tea} {before noon|after lunch|on a rainy day|for thinking}, and I {can prove
      it|will defend this|won't hear otherwise}. // My {partner|flatmate|brother} disagrees, {loudly|with
      charts}. ~ It's all about the water.
    * {The kettle broke|The coffee machine died|We ran out of coffee} {this morning|on a Monday|on deadline
      day} and {nobody has spoken since|I'm typing this with one eye open}. // Drinking {hot water|something
      herbal} and pretending. ~ Send help.
    * Tried {a smoky lapsang|a green oolong|cardamom coffee|a proper cortado} {at the market|on a friend's
      advice}. // I get it now. ~ Where has it been all my life? ~ Two cups later, I'm vibrating.""",
    ),
    (
        "{🚲|🚴‍♀️|🚴🏽|🔧}",
        "#cycling",
        "Bicycle_chain|Cargo_bike",
        """Bikes are the best machines we ever
      made. ~ Helmet hair, don't care. ~ Who else rides in {winter|the rain}?
    * Cycled {to work|to the lake|home} {in the rain|into a headwind|at sunrise}: {9|12|18|31} km, {two
      herons|one puncture|no traffic|a big silly grin}. // A lorry driver {waited patiently|gave me a thumbs
      up}. ~ Nothing clears the head like it.
    * Replaced the {chain|brake pads|inner tube} myself and only {swore twice|had two screws left over|lost
      one washer}. // It rides like {new|a dream}. ~ My hands will be black until {Thursday|next week}.""",
    ),
    (
        "{🔨|🪛|🧰|🏠}",
        "#diy",
        "Spirit_level|Plaster",
        """Tiny job, enormous joy. ~ What should I break next?
    * Fixed the {dripping tap|squeaky door|wobbly table|noisy radiator} {with a video and a butter knife|after
      eight months|in twenty minutes}{, and I feel like an engineer|}. // It had been annoying me every single
      day. ~ Nothing in this house is safe now.
    * Put up a shelf {in the hallway|over the desk}. It is {level|almost level|level if you tilt your head}.
      // The wall turned out to be {plaster & hope|mostly dust}. ~ Measured twice, drilled five times.""",
    ),
    (
        "{🔭|🪐|🌙|👩‍🚀|🧑‍🚀}",
        "#astronomy",
        "Galilean_moons|Perseids",
        """Look up tonight if it's clear. ~
      Space, honestly. ~ Tired today, no regrets.
    * Saw {Saturn's rings|Jupiter's moons|the Orion Nebula} through a {borrowed|second-hand|tiny} telescope
      {last night|from the balcony|at 2 a.m.} and {actually gasped|forgot how cold it was|woke up the whole
      house}. // Photos are one thing, seeing it is another. ~ The neighbour's {son|dog} came to look.
    * {Four|Seven|Eleven|Nineteen} shooting stars in {half an hour|an hour} {on the roof|in a field|on the
      beach}. // After the third one nobody said a word. ~ One {blanket|flask of soup} between us.""",
    ),
    (
        "{♟️|🤔|🏆}",
        "#chess",
        "Zugzwang|Smothered_mate",
        """Rematch? ~ Back to puzzles. ~ What a game.
    * Lost to {a nine-year-old|my uncle|a man eating soup} in {17|19|31} moves{ tonight| at the club|}. // I
      {hung a rook|missed mate|thought I was winning}. ~ "Well played" never sounded so kind.""",
    ),
    (
        "{🏃‍♀️|🏃🏾‍♂️|👟|💪}",
        "#running",
        "Fartlek|Interval_training",
        """Pancakes now. ~ Who's running this
      weekend? ~ Legs are {jelly|on strike}.
    * {5k|8k|10k|12k} {before breakfast|in the drizzle|along the river|with the dog}: {slow|faster than
      expected|all smiles}{, and I saw a kingfisher|}. // The first {kilometre|bit} {lied to me|is always a
      negotiation}. ~ A {toddler|pug|man with a pram} overtook me.""",
    ),
    (
        "{🎬|🍿|🎞️}",
        "#film",
        "Film_score|Tampopo",
        """What's your comfort film? ~ Film night ideas welcome.
    * Rewatched {The Third Man|Spirited Away|Some Like It Hot|Paddington 2} {last night|with my dad|on a rainy
      Sunday} and {it gets better every time|noticed something new again}. // That {opening|final
      scene|music}! ~ We talked about it until {one|two} in the morning.
    * {Two|Three} people in the cinema tonight for a {long|Hungarian|silent} film about {a horse|a
      lighthouse|a lost piano}. // The projectionist thanked us. ~ I understood a third of it.""",
    ),
    (
        "{🎉|🙌|😄|🥳}",
        "#littlethings",
        "Kindness",
        """I'm still smiling. ~ <3 ~ It's the little things.
    * Small victory: {folded a fitted sheet|parallel parked on the first try|found both gloves|used up all the
      parsley} {today|this morning|before nine}. // I may put it on my CV. ~ Nobody clapped, but I heard
      applause. ~ Told {my mum|the dog} immediately.
    * {The baker|The bus driver|The postman} {remembered my name|asked about my mum|waited for me} and {it
      made my whole week|I nearly cried}. // It had been a long {day|week}. ~ It costs so little.""",
    ),
    (
        "{🐕|🐶|🐾|🥹}",
        "#dogs",
        "Dog_communication",
        """Day made. ~ I think about that dog a lot. ~ Dogs should
      have {business cards|surnames|email}.
    * Met {an enormous|a very small|a three-legged} {greyhound|dachshund|poodle} called
      {Kevin|Susan|Professor|Gravy} {on the bus|outside the bakery|in the post office queue}. // We {shook
      hands|shared a biscuit|understood each other}.""",
    ),
    (
        "{🇯🇵|🍜|⛩️|🗾}",
        "#japan",
        "Kenroku-en|Onsen",
        """I don't want to go home. ~ What else should I see?
    * {Kyoto|Kanazawa|Nara} {at six in the morning|in the rain|in late autumn}: {empty lanes|steam from a
      noodle shop|a temple bell somewhere} and {an old man sweeping leaves|a cat asleep on a scooter}. // I
      walked {22|17|25} km yesterday and only noticed at night.""",
    ),
    (
        "{🇵🇹|🌊|🧳|☀️}",
        "#portugal",
        "Azulejo",
        """Already planning to come back. ~ Tips for tomorrow?
    * {Two|Three|Four} days in {Porto|Lisbon|Coimbra}: {a thousand|far too many} stairs, {six|eight|eleven}
      custard tarts and {blue tiles on everything|laundry in every window}. // Our B&B has {a parrot|a lemon
      tree} and {no lift|no clock anywhere}.""",
    ),
    (
        "{🐦|🦉|🪶|🦆}",
        "#birds",
        "Bird_migration",
        """Put the phone down and listen. ~ Which do you get?
    * {An owl|A woodpecker|A wren} {in the yard|on the balcony|outside my office window} {this morning|at
      dawn|during a video call}, {completely unbothered|staring right at me}. // I was late for
      {breakfast|work} and it was worth it.""",
    ),
)
