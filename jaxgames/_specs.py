"""Things by name: how a text names a game, an agent or a network with its parameters.

    name                              random
    name(parameter=literal, ...)      chinese_checkers(size=2, num_players=6)
    name(first, ...)                  solver(runs/43.npz)                   where the first parameter is a `str`
    module:name(...)                  mypackage.mymodule:mygame(size=3)     imports the module first, unless the text is
                                                                            from a file; see `jaxgames._named`

A `Registry` makes things from such texts. A value is a Python literal; the quotes of a string may be left out.
"""

import ast
import inspect
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from jaxgames._checks import ParameterError, shortened
from jaxgames._named import import_module, import_named

T = TypeVar("T")

MODULE_AND_NAME = re.compile(r"\s*([^\W\d]\w*(?:\.[^\W\d]\w*)*)\s*:(.*)", re.DOTALL)

QUOTES = ("'", '"')
# name(first ...) or name(parameter=first ...), where the first value ends at a comma
FIRST_IN_BRACKETS = re.compile(
    r"\s*(?P<name>\w+)\s*\(\s*(?:(?P<parameter>[^\W\d]\w*)\s*=)?(?P<first>[^,]*)(?P<rest>(?:,.*)?)\)\s*", re.DOTALL
)


class Registry(Generic[T]):
    """Constructors by name. The first arguments of a constructor are fixed by its registry; the text has the others."""

    def __init__(
        self,
        noun: str,
        built_in: Mapping[str, Callable[..., T] | str],
        *,
        examples: str,
        register: str,
        num_arguments: int = 0,
        module_of: dict[str, str] | None = None,
        common: Mapping[str, Callable[..., T]] | None = None,
    ) -> None:
        """
        Args:
          noun: what is registered, such as "game".
          built_in: constructors by name; "module:constructor" for one that is imported when it is first asked for.
          examples: texts, for error messages.
          register: the public function that adds a constructor, for error messages.
          num_arguments: the arguments that every constructor takes before its parameters.
          module_of: is filled with the modules that `make` imported, by the name that each registered.
          common: parameters that all names take. The function of one returns what is made instead, from the arguments
            of every constructor, what the constructor made, and the value. None is as if it was not set.
        """
        self.noun = noun
        self.built_in = frozenset(built_in)
        self.examples = examples
        self._constructors: dict[str, Callable[..., T] | str] = dict(built_in)
        self._register = register
        self._num_arguments = num_arguments
        self._module_of = {} if module_of is None else module_of
        self._common = {} if common is None else common

    def names(self) -> list[str]:
        """Returns the names, in alphabetical order."""
        return sorted(self._constructors)

    def register(self, name: str, constructor: Callable[..., T]) -> None:
        """Adds a constructor."""
        if not name.isidentifier():
            raise ParameterError(
                f"the name of {self._a_noun} must be a Python identifier such as 'my_{self.noun}', not {name!r}"
            )
        if name in self._constructors:
            raise ParameterError(f"{name!r} is registered already; choose a name that is not one of {self.names()}")
        if not callable(constructor):
            raise TypeError(f"the constructor of {name!r} must be callable, not {constructor!r}")
        self._constructors[name] = constructor

    def make(self, text: str, *arguments: Any, **parameters: Any) -> T:
        """Returns what `text` names: `constructor(*arguments, **parameters)`.

        Raises ParameterError, which lists what is allowed, also for a module that must not be imported because the text
        is from a file.
        """
        names = f"the {self.noun}s are {', '.join(self.names())}"
        expected = f"expected {self._a_noun} such as {self.examples}, not {shortened(text)}; {names}"
        module, call = _split_module(text, expected)
        name = call.partition("(")[0].strip()
        if not name.isidentifier():
            raise ParameterError(expected)
        if module:
            self._import(module, name, text)
        if name not in self._constructors:
            raise ParameterError(f"unknown {self.noun} {shortened(name)}; {names}")
        constructor = self._constructor(name, text)
        signature = self._parameters(constructor)
        before, written = split_parameters(_with_first_parameter(call, signature), expected)
        if before != name:
            raise ParameterError(expected)
        if twice := sorted(written.keys() & parameters.keys()):
            raise ParameterError(f"{', '.join(twice)} given twice: in {shortened(text)} and as a keyword")
        parameters = written | parameters
        own = [p.name for p in signature]
        common = {each: wrap for each, wrap in self._common.items() if each not in own}
        wrapped = {each: parameters.pop(each) for each in common if each in parameters}
        if not any(p.kind is p.VAR_KEYWORD for p in signature):
            allowed = [*own, *common]
            for unknown in parameters.keys() - set(allowed):
                raise ParameterError(
                    f"{name} has no parameter {shortened(unknown)}; its parameters are {', '.join(allowed) or 'none'}"
                )
        required = [
            p.name for p in signature if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
        ]
        if missing := [parameter for parameter in required if parameter not in parameters]:
            raise ParameterError(
                f"{name} needs {', '.join(missing)}: write {name}({missing[0]}=...), not {shortened(text)}"
            )
        made = constructor(*arguments, **parameters)
        for each, value in wrapped.items():
            if value is not None:
                made = common[each](*arguments, made, value)
        return made

    def parameters(self, name: str) -> list[inspect.Parameter]:
        """Returns the parameters of a name that a text may set, without `*args` and `**kwargs`."""
        if name not in self._constructors:
            raise ParameterError(f"unknown {self.noun} {name!r}; the {self.noun}s are {', '.join(self.names())}")
        found = self._parameters(self._constructor(name, name))
        return [p for p in found if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]

    def _parameters(self, constructor: Callable[..., T]) -> list[inspect.Parameter]:
        """Returns the parameters of a constructor after the arguments that all constructors take."""
        return list(inspect.signature(constructor).parameters.values())[self._num_arguments :]

    def _constructor(self, name: str, text: str) -> Callable[..., T]:
        constructor = self._constructors[name]
        if isinstance(constructor, str):
            module, _, attribute = constructor.partition(":")
            constructor = operator.attrgetter(attribute)(import_module(module, text))
        return constructor

    @property
    def _a_noun(self) -> str:
        return f"{'an' if self.noun[0] in 'aeiou' else 'a'} {self.noun}"

    def _import(self, module: str, name: str, text: str) -> None:
        """Imports the module that registers a name. Raises ParameterError unless it is registered afterwards."""
        if name in self.built_in:
            raise ParameterError(
                f"{name!r} is {self._a_noun} of jaxgames: write it without '{module}:', not {shortened(text)}"
            )
        import_named(module, text)
        if name not in self._constructors:
            raise ParameterError(
                f"{module!r} must call {self._register}({name!r}, ...) when it is imported, and does not; "
                f"the {self.noun}s registered are {', '.join(self.names())}"
            )
        self._module_of.setdefault(name, module)  # the first one did register it; another may only have found it


def _with_first_parameter(text: str, parameters: list[inspect.Parameter]) -> str:
    """Returns a text whose first value has the name and the quotes of the first parameter, if that is a `str`.

    `solver(runs/43.npz, epsilon=0.1)` becomes `solver(file='runs/43.npz', epsilon=0.1)`.
    """
    found = FIRST_IN_BRACKETS.fullmatch(text)
    if found is None or not parameters or parameters[0].annotation not in (str, "str"):
        return text
    name, first = parameters[0].name, found["first"].strip()
    if found["parameter"] not in (None, name) or not first:
        return text
    return f"{found['name']}({name}={first if first[0] in QUOTES else repr(first)}{found['rest']})"


def parse(text: str, expected: str) -> tuple[str, str, dict[str, Any]]:
    """Returns the module ("" for none), the name and the parameters of `module:name(parameter=literal, ...)`.

    For another form, the message of the error is `expected`.
    """
    module, call = _split_module(text, expected)
    name, parameters = split_parameters(call, expected)
    if not name.isidentifier():
        raise ParameterError(expected)
    return module, name, parameters


def _split_module(text: str, expected: str) -> tuple[str, str]:
    """Returns the module ("" for none) and the rest of `module:name(...)`."""
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers need not be typed
        raise ParameterError(expected)
    found = MODULE_AND_NAME.fullmatch(text)
    return (found[1], found[2]) if found else ("", text)


def split_parameters(text: str, expected: str) -> tuple[str, dict[str, Any]]:
    """Returns what stands before the last brackets, and the parameters in them; {} where `text` does not end with ")".

    `runs/first@40(top=5)` is split into "runs/first@40" and {"top": 5}. The message of an error is `expected`.
    """
    text = text.strip()
    if not text.endswith(")"):
        return text, {}
    depth, quote, start = 0, "", 0
    for start in reversed(range(len(text))):
        if quote or text[start] in QUOTES:
            quote = "" if text[start] == quote else quote or text[start]
        else:
            depth += (text[start] == ")") - (text[start] == "(")
        if depth == 0:  # at the bracket that the last one closes
            break
    try:
        call = ast.parse("f" + text[start:], mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two at deep nesting
        raise ParameterError(expected) from None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
        raise ParameterError(expected)
    parameters: dict[str, Any] = {}
    for keyword in call.keywords:
        if keyword.arg is None:
            raise ParameterError(expected)
        if keyword.arg in parameters:
            raise ParameterError(f"{keyword.arg} given twice in {shortened(text)}")
        if isinstance(keyword.value, ast.Name):  # a bare word: the quotes are easily lost in a shell
            parameters[keyword.arg] = keyword.value.id
            continue
        try:
            parameters[keyword.arg] = ast.literal_eval(keyword.value)
        except (ValueError, TypeError, RecursionError, MemoryError):
            raise ParameterError(f"the value of {keyword.arg!r} in {shortened(text)} must be a literal") from None
    return text[:start].rstrip(), parameters


def written_file(file: str) -> str:
    """Returns the name of a file as it stands first in the brackets of a text, in quotes if it needs them."""
    return repr(file) if file != file.strip() or {*file} & {*",='\"()\\"} else file


def split_list(text: str) -> list[str]:
    """Returns the parts of a list with commas; commas in brackets do not count.

    `random,runs/first(temperature=0, top=3)` has two parts.
    """
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]
