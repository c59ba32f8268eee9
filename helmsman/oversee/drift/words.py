"""Words of tasks and of paths, folded so that `parser`, `parsing` and `parse` are one."""

import re
from collections.abc import Iterator
from itertools import chain

WordSet = frozenset[str]

_PIECE = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[^\W\d_]+")
_WHOLE = re.compile(r"[^\W\d_]+")
_SHORTEST_STEM = 3
_LONGEST_WORD = 40
SHORTEST_BEGINNING = 4
"""Letters from which one word counts as the beginning of another: `auth` of `authentication`."""


def word_set(words: str) -> WordSet:
    """Words written in one string."""
    return frozenset(words.split())


def pieces(text: str) -> list[str]:
    """Words in small letters, split at everything that is no letter and between the humps of camelCase."""
    return [piece.lower()[:_LONGEST_WORD] for piece in _PIECE.findall(text)]


_ENDINGS = sorted(
    word_set(
        "ifications ification izations ization isations isation ations ation ators ator ating ated ates ate ments ment izing "
        "izer ized ize ings ing ions ion ies ers er ors or ed es e s y"
    ),
    key=len,
    reverse=True,
)


def fold(word: str) -> str:
    """A word in small letters without its ending."""
    stems = (word[: -len(ending)] for ending in _ENDINGS if word.endswith(ending))
    stem = next((stem for stem in stems if len(stem) >= _SHORTEST_STEM), word)
    return stem[:-1] if len(stem) > _SHORTEST_STEM and stem[-1] == stem[-2] else stem


def folded(words: str) -> WordSet:
    """Folded words written in one string."""
    return frozenset(map(fold, words.split()))


def telling(text: str) -> WordSet:
    """The folded words of a text that say what it is about; of `vCard` the parts and the whole."""
    wholes = (whole.lower()[:_LONGEST_WORD] for whole in _WHOLE.findall(text))
    return frozenset(fold(word) for word in chain(pieces(text), wholes) if len(word) > 1 and word not in _STOP)


def _inflected(words: str) -> Iterator[str]:
    """Regular forms. Folding would not do: a theme is no `them`, a note no `not`."""
    for word in words.split():
        stem = word.removesuffix("e")
        yield from (word, f"{word}s", f"{word}es", f"{stem}ed", f"{stem}ing", f"{word}{word[-1]}ed", f"{word}{word[-1]}ing")


_ENGLISH = (
    "a about above according add added after again against all allow already also always am an and another any anything are "
    "as at away back be because been before behind being below best better between both but by call can cannot case change "
    "come complete correct could current currently did do does doing done don down during each either else end enough even "
    "ever every everything exist expect explain fail few final find first fix follow for from full function get give given go "
    "good green had handle has have having here hold how however if implement important improve in inside instead into "
    "introduce is issue it its itself just keep kind know last later least leave less let like line little long look lot made "
    "main make many may maybe me means might missing more most move much must my name need never new next no none nor not "
    "nothing now number of off old on once one ones only onto or other others our out over own part pass per place please "
    "point possible prevent problem produce proper put quite rather ready really red refactor remain remove repair replace "
    "request require resolve result return right run same say second see seem several shall she should show side simple since "
    "single so solve some something soon start step still stop such support sure take than that the their them then there "
    "these they thing this those three through to together too toward turn two under unless until up update us use using very "
    "via want was way we well were what when where whether which while who whose why will with within without work would "
    "wrong yes yet you your"
)
_GENERIC = (
    "src source lib libs test tests testing spec specs unit e2e integration it index main init mod util utils utility utilities "
    "helper helpers common core shared misc base app apps application package packages pkg cmd internal module modules crate "
    "crates com org net io java kotlin scala python javascript typescript js ts tsx jsx py rb rs cc cpp hpp file files folder "
    "directory repository project program default sample example examples demo build dist out bin conftest fixture fixtures "
    "mock mocks stub stubs impl abstract interface check checks suite failing failed passing bug error true false null"
)
_STOP = frozenset(_inflected(f"{_ENGLISH} {_GENERIC}"))
"""Words that match nothing."""

VAGUE = folded(
    "api client server service services model models view views controller controllers route routes router routing handler "
    "handlers schema schemas type types constant constants const config configuration setting settings setup store stores "
    "manager context provider component components page pages screen hook hooks middleware middlewares backend frontend web "
    "ui domain entity entities dto repository adapter factory global globals style styles layout template templates static "
    "public asset assets resource resources script scripts tool tools data db database task tasks job jobs event events state "
    "action actions reducer plugin plugins extension extensions entry run runner version error errors exception exceptions "
    "html css scss less vue svelte go php cs swift dart sh sql kt ex exs lua"
)
"""Words that say where something stands in a program, not what it is about: they may match and make no stranger."""

WIDE = folded(
    "everywhere throughout across codebase repository project monorepo rename migrate migration upgrade format reformat bump "
    "port translate localize localise internationalize annotate typing mypy pyright strict lint linter linting ruff "
    "eslint clippy warning deprecated deprecation modernize convert rewrite restructure reorganize reorganise overhaul redesign "
    "cleanup unused dead duplicate duplication consistent consistency convention coverage docstring accessibility "
    "performance slow faster speed latency memory leak startup security vulnerability hardening compatibility scratch scaffold "
    "extract split move decouple modularize modularise "
    "bootstrap prototype clone production mvp"
)
"""Of a task that names one of these, files anywhere may be part."""
QUANTIFIERS = word_set("all any each every whole entire")
PROOF = folded("test tests check checks suite spec specs lint build green ci pipeline")
"""What a quantifier may be about without making the task wide: all tests shall pass in every task."""
MAKERS = word_set("a an build create develop write design implement generate produce craft")
"""First words of a goal that wants something new, of which nobody knows yet which files it will have."""
FOREIGN = word_set(
    "der das und ein eine einen dem den nicht ist für mit von auf wird werden sollen alle le les des une est pour dans avec "
    "qui el los las una para que por del il di che sono não em um uma het een voor niet och att det som är"
)
"""Small words of other languages, in which identifiers are seldom written."""

_NEIGHBOURS = """\
login logout signin signup auth authentication authorize session password credential token oauth sso jwt account user role
price discount total cart checkout order invoice bill payment pay tax vat money currency coupon shop basket amount cents refund
parse lexer lex token tokenizer grammar syntax ast scanner expression statement operator precedence
database db sql query orm table column row postgres mysql sqlite transaction migration schema persistence storage
endpoint route api http rest controller handler response url middleware
css style theme color colour dark layout design font palette responsive
ui button dialog modal toast menu form screen widget component page frontend
cli command argument option flag argparse subcommand terminal
cache redis memoize ttl eviction lru
mail email smtp newsletter inbox notification notify message
date time datetime timezone calendar clock duration schedule cron recurring
image picture photo thumbnail upload avatar media
log logger logging trace tracing telemetry metric monitoring
retry timeout backoff network connection socket http client
thread lock race concurrency async worker queue pool job deadlock
deploy deployment ci docker container kubernetes helm workflow pipeline release
search filter sort ranking index query pagination page cursor
csv json xml yaml export import serialize serializer encode decode download report
game player score board level enemy physics collision sprite
stock inventory warehouse product catalog item"""
"""One concept a line. Words that stand for one another: a report speaks of login, the code of sessions."""
_CONCEPTS = tuple(map(folded, _NEIGHBOURS.splitlines()))


def concepts(words: WordSet) -> frozenset[int]:
    """Numbers of the concepts that any of the folded words belongs to."""
    return frozenset(number for number, concept in enumerate(_CONCEPTS) if not concept.isdisjoint(words))
