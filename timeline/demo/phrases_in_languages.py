"""Short phrases, and phrases in other languages than English. `phrases.py` describes their form."""

from timeline.demo.phrases import Topics

SHORT: Topics = (
    (
        "{🙂|😅|✨|🫶|👋🏽}",
        "",
        "",
        """
    * Good {morning|evening|night}{.|!|, everyone.|, all.|, friends.|, whoever is up.} ~ {Kettle on|Tea
      time|Coffee first|Bread rising|Cat asleep|Train late|Rain again|Finally Friday|Soup weather|Home
      again|No regrets|Nailed it|Never mind|Worth it}{.|!|…} ~ {So|Very|Rather}
      {tired|happy|hungry|sleepy|proud} {today|right now|tonight}. ~ {Still|Currently}
      {reading|baking|debugging|waiting|humming}{.|…|, send snacks.|, ask me later.} ~ {Two|Three|Four|Five}
      {cups of tea|chapters|miles|loaves} {down|done}{.|, one to go.|, and counting.}""",
    ),
)
OTHER_LANGUAGES: dict[str, Topics] = {
    "ar": (
        (
            "{🙂|🌿|❤️|✨}",
            "#{قهوة|كتب|مطبخ}",
            "",
            """
    * {فنجان قهوة|كوب شاي بالنعناع|فنجان شاي} {في هدوء الصباح|على الشرفة|مع كتاب جيد} {أفضل من أي شيء
      آخر|يغيّر مزاجي تمامًا|يكفيني لأبدأ يومي بابتسامة}. // {صباح الخير يا أصدقاء|صباح الخير للجميع|نهاركم
      سعيد}. // ماذا تشربون الآن؟ ~ هل تفضلون القهوة أم الشاي؟
    * أنهيت {أمس|الليلة|هذا الأسبوع} {رواية طويلة|رواية رائعة|رواية قصيرة} عن {مدينة قديمة|عائلة صغيرة|رحلة
      بحرية} {ولم أستطع أن أتركها حتى الصفحة الأخيرة|وما زلت أفكر في نهايتها|وسأقرؤها مرة أخرى بالتأكيد}. //
      الكاتبة تعرف كيف تحكي. ~ استعرتها من مكتبة الحي. // ماذا تقرؤون هذه الأيام؟ ~ رشّحوا لي كتابًا جديدًا.
    * جرّبت {اليوم|أمس|لأول مرة} طريقة جدتي في إعداد {الملوخية|المقلوبة|الكسكس|ورق العنب} {وكانت النتيجة
      مدهشة|وطلب الجميع طبقًا ثانيًا|ونسيت الملح كالعادة}. // المطبخ يحتاج إلى ساعة من التنظيف. ~ السر في
      الصبر والنار الهادئة. // بالهناء والشفاء! ~ هل عندكم نصيحة؟""",
        ),
    ),
    "he": (
        (
            "{🙂|🌿|❤️|✨}",
            "",
            "",
            """
    * {סוף סוף גשם|גשם ראשון של העונה|איזה גשם יורד עכשיו}, {והחתול לא זז מהחלון|והריח ברחוב נהדר|ואני בלי
      מטרייה כמובן|ומרק עדשים כבר על האש}. // יום מושלם להישאר בבית עם ספר. ~ הכביסה כמובן נשארה בחוץ. ~ אין
      כמו ריח של אדמה רטובה. // מה מזג האוויר אצלכם? ~ חורף נעים לכולם.
    * {אפיתי חלה|ניסיתי לאפות לחם|הכנתי עוגת תפוחים} {בפעם הראשונה|לפי המתכון של סבתא|ביום שישי בבוקר} {ויצא
      מצוין|ויצא קצת שרוף|ולא נשאר פירור|וכל הבית מריח נפלא}. // המטבח נראה כמו אחרי סערה. ~ הילדים כבר ביקשו
      עוד. // מישהו רוצה את המתכון? ~ שווה כל רגע.""",
        ),
    ),
    "fa": (
        (
            "{🙂|🌿|❤️|✨}",
            "",
            "",
            """
    * {یک فنجان چای|چای تازه‌دم|یک لیوان چای داغ} {در این هوای خنک|کنار پنجره|بعد از یک روز طولانی} {حال آدم
      را خوب می‌کند|بهترین چیز دنیاست|خستگی را از تن آدم در می‌کند}. // کمی {نبات|بیسکویت|خرما} هم کنارش باشد
      که دیگر عالی است. // شما اهل چای هستید یا قهوه؟ ~ جای همه خالی.
    * {امروز|دیشب|بعد از مدت‌ها} {باران آمد|باران بارید} و {شهر نفس کشید|بوی خاک همه‌جا را پر کرد|هوا حسابی
      خنک شد|گربه‌ها زیر ماشین‌ها پناه گرفتند}. // چترم هم طبق معمول در خانه مانده بود. ~ یک ساعت کنار پنجره
      نشستم و فقط نگاه کردم. // هوای شهر شما چطور است؟ ~ کاش هوا همین‌طور بماند.
    * {امروز|دیشب} {قرمه‌سبزی|آش رشته|کوکوسبزی} درست کردم و {خوب از آب درآمد|همه یک بشقاب دیگر خواستند|باز هم
      نمکش کم بود}. // بویش تا کوچه رفته بود. ~ دستور مادربزرگ از همه بهتر است. // نوش جان!.""",
        ),
    ),
    "ja": (
        (
            "{🙂|🌿|☕|✨}",
            "",
            "",
            """
    * {今朝は|今日は|昨日は|久しぶりに}{近所の公園を散歩した|駅前の喫茶店に寄った|川沿いをゆっくり歩いた}。 //
      空気がひんやりして気持ちよかった。 ~ 猫が三匹、屋根の下で寝ていた。 ~ 帰りに{パン|花|古本}を買った。 //
      こういう時間が好き。 ~ 明日もまた行こうかな。
    * {ラーメン|カレー|肉じゃが}を作ったら、{思ったよりおいしくできた|塩辛くなってしまった|家族に好評だった}。
      // 台所は大変なことになっている。 ~ {祖母|母|友だち}に教わったレシピ。 // また作ろう。""",
        ),
    ),
    "es": (
        (
            "{🙂|🌿|☕|✨}",
            "",
            "",
            """
    * {Por fin ha llovido|Toda la mañana lloviendo|Ha vuelto la lluvia} y {el barrio huele a tierra mojada|yo
      sin paraguas, claro|el gato no se aparta de la ventana|apetece sopa}. // Plan perfecto: manta, libro y
      chocolate caliente. ~ Las plantas de la terraza están felices. ~ La ropa sigue tendida. // ¿Y por ahí
      qué tal? ~ Feliz {lunes|jueves|domingo}.""",
        ),
    ),
    "de": (
        (
            "{🙂|🌿|☕|✨}",
            "#{Feierabend|Küche|unterwegs}",
            "",
            """
    * {Heute Morgen|Gestern|Auf dem Heimweg} stand {der Zug|die S-Bahn|der Regionalzug} {zwanzig Minuten|eine
      halbe Stunde} {auf freier Strecke|kurz vor dem Bahnhof}, {aber die Aussicht war schön|und niemand
      wusste, warum|und ich habe endlich mein Buch ausgelesen}. // Wenigstens war der Kaffee heiß. ~ Die
      Durchsage war reine Poesie. // Ich fahre trotzdem gern Bahn. ~ Wie war euer Tag?
    * {Zum ersten Mal|Heute|Am Wochenende} {Brot gebacken|Maultaschen gemacht|Apfelkuchen gebacken}, und
      {es ist nichts übrig|die Küche sieht schlimm aus|alle wollten das Rezept}. // Das Rezept ist von
      meiner {Tante|Nachbarin|Großmutter}. ~ Beim nächsten Mal weniger Salz. // Wer mag probieren? ~
      Guten Appetit!
    * {Die Tomaten|Die Bohnen|Die Erdbeeren} {auf dem Balkon|im Hinterhof|im Garten} {blühen
      endlich|haben den Hagel überstanden|wachsen schneller als gedacht}. // Die Schnecken haben es auch
      gemerkt. ~ Gießen nicht vergessen, sage ich mir jeden Abend. // Was wächst bei euch?
    * {Gestern Nacht|Auf der Zugfahrt|Im Wartezimmer} {einen Krimi|einen alten Roman|ein Buch über
      Leuchttürme} ausgelesen, {und jetzt fehlt er mir|und das Ende war großartig|obwohl ich früh
      aufstehen musste}. // Die Bücherei hat noch zwei davon. ~ Mein Stapel wächst trotzdem. // Was lest
      ihr gerade?""",
        ),
    ),
    "fr": (
        (
            "{🙂|🌿|☕|✨}",
            "",
            "",
            """
    * {Ce matin|Hier soir|Aujourd'hui}, {balade|petite promenade} {au bord du canal|dans le parc|dans le vieux
      quartier} {sous la pluie|avec le chien|sans téléphone} : {que du bonheur|ça fait un bien fou|exactement
      ce qu'il me fallait}. // J'ai ramené {du pain frais|un bouquet de pivoines|trois livres d'occasion}. //
      Et vous, quoi de beau ? ~ On y retourne demain.
    * {Mes tomates|Mes fraises|Mes framboises} ont {enfin mûri|survécu à l'orage|bien profité du soleil}, {et
      les voisins se régalent aussi|mais les merles sont passés avant moi|et je ne sais plus quoi en faire}.
      // Tout est parti en confiture. ~ J'en ai mangé la moitié sur place. // Vive l'été ! ~ Des recettes ?""",
        ),
    ),
    "pt": (
        (
            "{🙂|🌿|☕|✨}",
            "",
            "",
            """
    * {Hoje|Ontem|No domingo} fui {à feira|ao mercado} só para comprar {pão|fruta|queijo|café} e {saí de lá
      com três sacolas|acabei ficando uma hora conversando|encontrei metade do bairro}. // Ganhei até um
      pastel de brinde. ~ Voltei a pé, sem pressa nenhuma. // Acontece sempre. ~ E vocês, como estão?""",
        ),
    ),
    "hi": (
        (
            "{🙂|🌿|☕|✨}",
            "",
            "",
            """
    * {आज सुबह|कल शाम|बहुत दिनों बाद} {बारिश हुई|अच्छी बारिश हुई|झमाझम बारिश हुई} और {अदरक वाली चाय का मज़ा
      दोगुना हो गया|पूरी गली मिट्टी की ख़ुशबू से भर गई|हमने छत पर बैठकर पकौड़े खाए}। // ऐसे दिन रोज़ क्यों
      नहीं आते? ~ छाता तो हमेशा की तरह घर पर ही रह गया था। // आपके यहाँ मौसम कैसा है? ~ मन ख़ुश हो गया।""",
        ),
    ),
}
