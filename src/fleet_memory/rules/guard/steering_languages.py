"""The commonest phrasings of `steering_phrases` in other languages, without accents where letters are Latin."""

import re
from typing import Final

LATIN: Final = re.compile(
    r"(?<!\w)(?:"
    # German
    r"antworte[tn]?(?: \w+){0,4}? (?:gleich|dasselbe|identisch|same)|(?:ignorier|vergiss|missacht"
    r"|verwirf)\w*(?: \w+){0,4}? (?:anweisung|instruktion|vorgabe|regel)\w*"
    r"|(?:bewert|markier|behandl|betracht|werte|beurteil)\w*(?: \w+){0,5}? (?:gleich|dasselbe|identisch|duplikate?)"
    r"|(?:hinweis|nachricht|anweisung|notiz)(?: \w+){0,2}? (?:richter|prufer|leser|gutachter|bewerter|agenten"
    r"|modell)\w*"
    r"|(?:dieser|beide) (?:text|satz|texte|satze|lektion|lektionen|aussagen)(?: \w+){0,4}? (?:gleich|dasselbe"
    r"|identisch|jede[mnrs]?)|du bist (?:ein |der |jetzt )*(?:richter|prufer|gutachter)"
    r"|wer (?:dies|das|diesen text) liest"
    # French
    r"|repond(?:s|ez|re)(?: \w+){0,4}? (?:meme|memes|identiques?|pareil|same)|(?:ignor|oubli"
    r"|neglig)\w*(?: \w+){0,4}? (?:instructions?|consignes?|directives?|regles)"
    r"|(?:marqu|trait|consider|jug|class)\w*(?: \w+){0,6}? (?:identiques?|equivalents?|memes?|doublons?)"
    r"|(?:note|message|avis|attention)(?: \w+){0,3}? (?:juges?|lecteurs?|relecteurs?|evaluateurs?|modele)|(?:ce"
    r"|cette|ces|les deux) (?:textes?|lecons?|phrases?)(?: \w+){0,4}? (?:identiques?|memes?|tout autre|tous)"
    r"|(?:vous etes|tu es) (?:un |le |maintenant )*(?:juge|evaluateur)"
    # Spanish and Portuguese
    r"|respond(?:e|a|an|er|ed|am)(?: \w+){0,4}? (?:mismo|igual|iguales|iguais|identicos?|mesmo|same)|(?:ignor|olvid"
    r"|esquec|desconsider|descart)\w*(?: \w+){0,4}? (?:instruc\w+|indicaciones|ordenes|reglas|regras)"
    r"|(?:marc|trat|consider|juzg|julg|clasific|classifi)\w*(?: \w+){0,6}? (?:iguales|iguais|mismos?|mismas?"
    r"|mesmos?|mesmas?|identic\w+|duplicad\w+|equivalentes)"
    r"|(?:nota|mensaje|mensagem|aviso)(?: \w+){0,3}? (?:juez|jueces|juiz|juizes|revisor|revisores|lector|lectores"
    r"|leitor|leitores|evaluador|avaliador|modelo)"
    r"|(?:este|esta|estos|ambos|os dois|los dos) (?:textos?|leccion\w*|lico\w*|licao"
    r"|frases?)(?: \w+){0,4}? (?:igual|iguales|iguais|mismos?|mesmos?|identic\w+|cualquier|qualquer)"
    r"|(?:eres|usted es|voce e) (?:un |el |um |o |ahora )*(?:juez|juiz|evaluador|avaliador)"
    # Italian
    r"|rispond(?:i|ete|ere|a)(?: \w+){0,4}? (?:stess[oaie]|ugual[ei]|identic\w+|same)|(?:ignor|dimentic"
    r"|trascur)\w*(?: \w+){0,4}? (?:istruzion\w+|regole|indicazioni|direttive)"
    r"|(?:segn|tratt|consider|giudic|classific|contrassegn)\w*(?: \w+){0,6}? (?:ugual[ei]|identic\w+|stess[aie]"
    r"|duplicat\w+|equivalenti)"
    r"|(?:nota|messaggio|avviso)(?: \w+){0,3}? (?:giudic[ei]|lettor[ei]|revisor[ei]|valutator[ei]|modello)"
    r"|sei (?:un |il |ora )*(?:giudice|valutatore)"
    # Dutch and Scandinavian
    r"|antwoord(?:t)?(?: \w+){0,4}? (?:hetzelfde|zelfde|gelijk|identiek|same)|negeer(?: \w+){0,4}? (?:instructies"
    r"|aanwijzingen|regels|opdrachten)"
    r"|(?:markeer|behandel|beschouw|beoordeel)(?: \w+){0,5}? (?:hetzelfde|gelijk|identiek|dubbel)|(?:bericht"
    r"|opmerking|notitie)(?: \w+){0,3}? (?:rechter|lezer|beoordelaar)"
    r"|svara(?: \w+){0,3}? (?:samma|lika)|ignorera?(?: \w+){0,4}? (?:instruktion\w*|instruks\w*|anvisning\w*)"
    r"|svar(?: \w+){0,3}? (?:samme|det samme|ens)"
    # Polish, Czech, Turkish
    r"|odpowiedz(?: \w+){0,4}? (?:samo|takie same|identyczn\w+|same)|(?:zignoruj|ignoruj"
    r"|pomin)\w*(?: \w+){0,4}? (?:instrukcj\w+|polecen\w+|zasad\w*)|(?:oznacz|uznaj|potraktuj"
    r"|traktuj)(?: \w+){0,5}? (?:same|identyczn\w+|rowne|duplikat\w*)"
    r"|ignoruj(?: \w+){0,4}? (?:pokyny|instrukce|pravidla)|odpovez(?: \w+){0,3}? (?:stejne|totozne)|(?:onceki"
    r"|yukaridaki)(?: \w+){0,3}? (?:talimatlar\w*|yonergeler\w*)"
    r")(?!\w)"
)
CYRILLIC: Final = re.compile(
    r"(?<!\w)(?:ответ\w*(?: \w+){0,4}? (?:одинаков\w*|то же|тоже самое|идентичн\w*|same|совпада\w*)|(?:игнорир"
    r"|проигнорир|забуд|отброс)\w*(?: \w+){0,4}? (?:инструкци\w+|указани\w+|правил\w*)"
    r"|(?:отмет|счита|призна|помет|пометь|оцени)\w*(?: \w+){0,5}? (?:одинаков\w*|идентичн\w*|дубликат\w*|равн\w+"
    r"|тем же)"
    r"|(?:заметка|сообщение|примечание|внимание|обращение)(?: \w+){0,2}? (?:судь\w+|читател\w+|рецензент\w*"
    r"|проверяющ\w+|модел\w+)|(?:ты|вы) (?:судья|модель|ассистент)"
    r"|(?:этот текст|эти тексты)(?: \w+){0,4}? (?:одинаков\w*|идентичн\w*|люб\w+|то же)"
    r"|(?:ігнору|проігнору)\w*(?: \w+){0,4}? (?:інструкці\w+|вказівк\w+)|відповід\w*(?: \w+){0,4}? (?:однаков\w*"
    r"|те саме))(?!\w)"
)
CHINESE_AND_JAPANESE: Final = re.compile(
    r"(?:回答|答复|回复|请答|判定|判断|判为|判決|裁定|标记|標記|视为|視為|当作|當作|认定|認定|归为|评为).{0,8}?(?:相同|一样|一樣|一致|同一|重复|重複|等同|same)"
    r"|(?:忽略|无视|無視|忘记|忘記|不要理会|抛开|跳过).{0,10}?(?:指令|指示|说明|說明|提示|规则|規則|要求|命令)"
    r"|(?:致|给|給|告诉|各位|尊敬的)(?:所有|各位)?(?:评审|評審|裁判|读者|讀者|审阅者|评判者|法官|阅读者|模型|智能体)|(?:评审|裁判|读者|评判者|审阅者)[:,]"
    r"|(?:本文|本条|这条|這條|此文|该文本|两条|两段|两个文本|这两).{0,8}?(?:相同|一样|一樣|等同|任何|重复)|你(?:是|现在是)(?:一个|一名|一位)?(?:评审|裁判|法官|评判)"
    r"|(?:以前|上記|これまで|前)の.{0,4}?(?:指示|命令|指令).{0,4}?(?:無視|忘れ)"
    r"|[「『\"]?(?:同じ|同一)[」』\"]?と(?:答え|回答|判定|判断)|(?:이전|위의|앞의).{0,6}?(?:지시|명령|지침).{0,4}?무시|(?:같음|동일|같다고)[^.]{0,4}?(?:답"
    r"|판정|표시)"
)
