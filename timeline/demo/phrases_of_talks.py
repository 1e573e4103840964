"""Conversations of the demo community. `texts.py` makes threads of them.

A talk is (language, hashtag of its topic, text). Its text is `questions // answers`: every answer fits every question.
What follows an answer, and what goes with a quoted post, fits all posts of its language.
"""

TALKS: tuple[tuple[str, str, str], ...] = (
    (
        "en",
        "#cooking",
        """What do you cook when {there is no time|you have twenty minutes|nobody wants to cook}? ~ Your best
    {quick dinner|supper for a tired evening|weeknight meal}, {please|everyone}? ~ The fridge is {nearly
    empty|down to eggs and hope}. {Ideas|What now}? // {Eggs|Beans|Mushrooms} on toast with
    {chilli|spinach|too much pepper}. ~ Pasta with garlic, oil and {lemon|whatever is
    green|breadcrumbs}. ~ {Red lentils|Chickpeas}, {a tin of|half an onion and} tomatoes, done in
    {fifteen|twenty} minutes. ~ Fried rice, with {peas|an egg|everything that is left} in it. ~
    {Potatoes|Sweet potatoes} in the oven and {a book|a bath} until they are done. ~ Soup from the
    freezer, {and nobody needs to know|every time}.""",
    ),
    (
        "en",
        "#gardening",
        """{Something|Somebody} eats my {lettuce|beans|strawberries|basil} at night. {Advice|What helps|What
    would you do}? ~ {Holes|Big round holes} in every leaf of the {basil|cabbage|dahlias}. Who {was
    that|does that}, and what helps? // {Snails|Slugs}. {A taller pot|A hedgehog|A wet board} did it
    {for mine|here}. ~ Look under the leaves {at dusk|with a torch|every evening}, that is where they
    sit. ~ {Copper tape|A ring of eggshells|A board to hide under} {works here|helped me}. ~ Wait {a
    week|until the warm nights}, {mine|ours} recovered without any help. ~ Coffee grounds. {My aunt|My
    neighbour} swears by them.""",
    ),
    (
        "en",
        "#trains",
        """Which {railway line|train journey} should {everybody|one} take once {in their life|for the view}? ~
    I have {three days|a week} and a rail pass. {Where to|Which way should I go}? // The line {along the
    lake|over the old viaduct|through the gorge}, {on the left side|early in the day|in October}. ~ Any
    {night train|slow train} to the {coast|mountains}, with {bread and cheese|a window that opens}. ~
    The {branch line|little railcar} that stops at every {farm|bridge}, nobody is in a hurry there. ~
    North, as far as the {rails|tickets} go, and {back by ship|a pullover}. ~ Take the {first|last}
    train of the day and sit {backwards|near the cook}.""",
    ),
    (
        "en",
        "#books",
        """What should I read {on a long train ride|this winter|after a sad ending}? ~ Looking for a
    {novel|book} that is {kind without being sweet|short and strange|impossible to put down}. {Tips|What
    do you have}? // {Piranesi|Rebecca|Middlemarch}, {and then tell me everything|without reading the
    back|with tea}. ~ Anything with a {lighthouse|map|family tree} on the first pages. ~ Short stories,
    one each {evening|morning}, {so it lasts|like sweets}. ~ The one that your {librarian|grandmother}
    {recommends|hides}, I mean it. ~ Something you loved at {twelve|fifteen}, it {has grown with you|is
    a different book now}. ~ A {cookbook|dictionary}. {No plot holes|No villains} at all.""",
    ),
    (
        "en",
        "#coding",
        """{Three hours|Two days} in, and the {bug|crash} comes only {at night|on Mondays}. How do you
    {start|find such a thing}? ~ A test fails {once a week|only on Fridays}. How do you {hunt such a
    thing|begin}? // I {explain it aloud|write it down}, {to the cat|to a colleague|to nobody}, and then
    I see it. ~ One {change|idea} at a time, {however small|always}. ~ I {delete|shorten} it until only
    the {wrong|interesting} part is left. ~ {Print|Log} everything {for a night|with the time}, and read
    it {with coffee|slowly}. ~ Go {for a walk|to bed}. It {waits|falls out by itself} {under the
    trees|by breakfast}. ~ I look at the clock: {time zones|the end of the month}, it is always that.""",
    ),
    (
        "en",
        "#music",
        """What do you {listen to|put on} {while you work|on a grey morning|for washing up}? ~ Which
    {record|music} goes with {rain|a long evening|an empty house}? // {Bach|Old jazz|Radio from far
    away}, {quietly|on repeat}. ~ Something without words, {with a cello|from a film}. ~ The one my
    {father|big sister} played {in the car|every Sunday}. ~ {Bossa nova|Fado}, and then nobody
    {works|sits} any more. ~ Rain {on the roof|and the fridge}, honestly the best {band|album} there is.""",
    ),
    (
        "en",
        "#cats",
        """{My cat|Our old tom} {sits in the bath|shouts at the wall|steals only left socks}. Does
    {yours|anybody else's} do that? ~ Is it {normal|just ours} that a cat {drinks only from the
    tap|sleeps in the sink|greets the postman}? // {Mine|Ours} {does the same|began that last year},
    nobody knows why. ~ {Of course|Sure}. {She|He} {lives there now|has always been in charge}. ~ We
    tried {treats|patience|a second cat}, now {there are two of them|it is worse}. ~ {The vet|My
    neighbour} says that is {how they show love|quite normal}.""",
    ),
    (
        "en",
        "#tea",
        """What is in your {cup|mug|pot} {right now|this morning|on a day like this}? ~ Which tea {gets you
    through the afternoon|do you drink when it rains}? // {Assam|A smoky one|Mint from the balcony},
    {strong|in the big pot}, no sugar. ~ {Green|White}, at {seventy|eighty} degrees, {two|three}
    minutes. ~ Whatever {my colleague|the office} makes, as long as {it is hot|I can hold it}. ~
    {Ginger|Rooibos}, since {last winter|the cold}, and I don't look back.""",
    ),
    (
        "en",
        "#cycling",
        """{My chain|The saddle|The rear brake} {makes a noise|squeaks} {like a duck|on every hill|since
    Sunday}. What would you {check|do} first? // {A drop of oil|A clean rag and patience}, {it is nearly
    always that|then listen again}. ~ Take it {apart|off}, clean it, put it back, {be surprised|count
    the screws}. ~ Ask the {repair café|shop at the corner}, they {show you how|are kind}. ~
    {Ride|Listen} {without hands|downhill}, no, better: {on a stand|with a friend beside you}. ~ Loose
    {bolt|bearing}, I {bet a biscuit|had that in spring}.""",
    ),
    (
        "en",
        "#littlethings",
        """What {made you smile|went well} {today|this week}? ~ Tell me one {good|small} thing {from your
    day|about where you live}. // A {child|stranger} waved {from a bus|at my dog}, and I waved back {for
    a whole street|twice}. ~ The {baker|neighbour} {kept a roll for me|sang}. ~ {Somebody|My brother}
    rang, {just to talk|after months}. ~ I {found my gloves|slept nine hours}, {both of them|in a row}.
    ~ {A blackbird|A fox} {on the fence|under the lamp}, {five|two} metres away. ~ It {rained|snowed}
    exactly {until I got home|while I was on the train, and then stopped}.""",
    ),
    (
        "de",
        "#Küche",
        """Was kocht ihr, wenn es {schnell gehen muss|nur noch Kartoffeln gibt|nach Feierabend nur zwanzig
    Minuten sind}? ~ Wer hat ein {gutes|einfaches} Rezept für {einen Abend mit Freunden|den Feierabend}?
    // {Rührei|Bratkartoffeln} mit {Gurke|Schnittlauch}, {geht immer|wie früher}. ~ Nudeln mit
    {Knoblauch|Zitrone} und {Petersilie|Semmelbröseln}. ~ {Linsensuppe|Kartoffelsuppe}, am
    {nächsten|zweiten} Tag noch besser. ~ Ofengemüse, {und derweil ein Buch|dazu Quark}. ~ {Reis|Hirse}
    mit allem, was der Kühlschrank {hergibt|versteckt}.""",
    ),
    (
        "de",
        "#unterwegs",
        """Welche {Bahnstrecke|Radtour} {lohnt sich im Herbst|muss man einmal gemacht haben}? ~ Wohin fahrt ihr
    {am langen Wochenende|im Sommer}, {wenn es nicht weit sein soll|ganz ohne Auto}? // {Am Fluss
    entlang|Über die Hügel}, {früh am Morgen|mit viel Zeit}. ~ Ans Meer, {auch bei Regen|immer ans
    Meer}. ~ Mit dem {Nachtzug|Bummelzug} in {den Süden|die Berge}. ~ Zu meiner {Tante|Schwester}, dort
    gibt es {den besten Kuchen|einen See}. ~ Einfach {einsteigen|losfahren} und am {dritten|schönsten}
    Halt aussteigen.""",
    ),
    (
        "ar",
        "#كتب",
        """ماذا {تقرؤون هذه الأيام|تنصحونني أن أقرأ هذا الشتاء|تقرؤون قبل النوم}؟ ~ أبحث عن {رواية قصيرة|كتاب
    جميل} {للسفر|لعطلة الأسبوع}، فماذا تقترحون؟ // {رواية قديمة|كتاب عن البحر} {من مكتبة الحي|أهدته لي
    أختي}. ~ {قصص قصيرة|قصائد}، {واحدة كل مساء|واحدة مع كل فنجان}. ~ {أي كتاب فيه خريطة|كتاب قرأته في
    صغرك}، {فهو يكبر معك|ولن تندم}. ~ اسأل {أمينة المكتبة|جدتك}، {فهي تعرف دائمًا|ولن تخيّبك}. ~ أعيد
    قراءة {رواية أحببتها|رسائل قديمة} {ببطء|للمرة الثالثة}.""",
    ),
    (
        "ar",
        "#مطبخ",
        """ماذا تطبخون {عندما يضيق الوقت|في يوم ممطر|للضيوف}؟ ~ ما {أسهل|أطيب} وصفة {تعرفونها|تعلمتموها من
    جداتكم}؟ // {شوربة عدس|شكشوكة} مع {الخبز الساخن|الليمون}. ~ {أرز بالشعيرية|برغل} و{سلطة كبيرة|لبن}.
    ~ {فول|حمص} بزيت الزيتون، {دائمًا|كل جمعة}. ~ {مجدرة|معكرونة بالثوم}، {جاهزة في نصف ساعة|ويحبها
    الجميع}. ~ {بيض|بطاطا} بـ{الزعتر|البصل}، {وكفى|وكوب شاي}.""",
    ),
)

# What the one who asked says to an answer, by language.
THANKS = {
    "en": """{Oh, good idea|That sounds right|Noted|Of course|I had forgotten that}, {thank you|thank you so
    much|thanks a lot|many thanks|I'll try it|I'll try it at once|I like that|I like that a lot}{|,
    really}. ~ {Trying|Doing} that {tomorrow|tonight|on Sunday|next time}, {thanks|and I'll report
    back|wish me luck}. ~ {Really|Honestly}? {I would never have thought of that|That is the best answer
    so far|You have convinced me}{.|!} ~ {Ha|Yes}, {my sister|my neighbour|a colleague} says {the
    same|exactly that}.""",
    "de": """{Gute Idee|Stimmt|Das klingt gut|Daran hatte ich nicht gedacht}, {danke|danke dir|vielen Dank|das
    mache ich|das mache ich gleich}. ~ Das probiere ich {morgen|heute Abend|am Sonntag} {aus|gleich
    aus|gern aus}.""",
    "ar": """{فكرة جميلة|صحيح|أعجبتني الفكرة}، {شكرًا لك|شكرًا جزيلًا|سأجرب ذلك|سأجرب ذلك غدًا|سأجرب ذلك اليوم}.
    ~ {سأجرّبها|سأفعل ذلك} {غدًا|هذا المساء|يوم الجمعة} {وأخبركم|بإذن الله}.""",
}
# What the one who answered says then.
REPLIES_TO_THANKS = {
    "en": """{You're welcome|Any time|Good luck|Glad to help|With pleasure}{, tell us how it goes|, and send a
    picture|, it took me years to find out|, let me know|}{.|!} ~ {Tell|Show} {us|me} {afterwards|how it
    went|the result|on Sunday}{.|, please.|!} ~ It {worked|always works} {for me|here|for my mother}{,
    mostly|, at least|, I promise|}.""",
    "de": """{Gern|Gern geschehen|Viel Erfolg|Viel Spaß}{, erzähl mal, wie es war|, berichte dann|}{.|!} ~ {Bei
    uns|Bei mir} klappt es {immer|meistens|jedes Mal}.""",
    "ar": """{على الرحب والسعة|بالتوفيق|العفو}{، أخبرنا بالنتيجة|، وأرسل لنا صورة|}{.|!} ~ {جرّبها|افعلها} {ولن
    تندم|وستشكرني}{.|!}""",
}
# What goes with a quoted post.
COMMENTS = {
    "en": """{This|Exactly this|So much this|All of this}{, every word|, and nothing else|, again and again|,
    from beginning to end|}{.|!} ~ {The best|The nicest|My favourite} {post|thing|line} {of the day|this
    week|I read today|in a long time|here}{.|!} ~ {I needed|We all needed|Somebody needed} {this|to hear
    that} {today|this morning|tonight|this week}{.|, thank you.} ~ {Printing|Framing|Keeping} this {for
    the fridge|for bad days|for later|for my brother}{.|!}""",
    "de": """{Genau so|Wie wahr|So ist es}{, jedes Wort|, ganz genau|}{.|!} ~ {Das Schönste|Das Beste}, was ich
    {heute|diese Woche} gelesen habe{.|!}""",
    "ar": """{هذا بالضبط|صدقت|أجمل ما قرأت} {اليوم|هذا الأسبوع|منذ مدة}{.|!} ~ {كلام جميل|كلام من القلب} {يستحق
    المشاركة|أحتفظ به}{.|!}""",
}
# What an author adds to a post later.
ADDITIONS = {
    "en": """{PS|Update|Later}: {still true|more of this|nothing has changed|still smiling|news will follow}
    {today|this morning|tonight|as I write}{.|!} ~ {Corrected|Changed} {a word|a number|one line|the
    spelling}, {thank you|thanks} for {telling me|the hint|reading so carefully}.""",
    "de": """{Nachtrag|PS}: {alles ist gut|immer noch wahr|bald mehr davon}{, bis morgen|, versprochen|}{.|!}""",
    "ar": """{إضافة|تحديث}: {نجحت|كل شيء بخير} {أخيرًا|اليوم|والحمد لله}{.|!}""",
}
# One of them in each week, in turn. Some posts of the week have it.
TAGS_OF_THE_WEEK = ("#slowsunday", "#windowview", "#onegoodthing", "#lostandfound", "#firstlight", "#madebyhand")
