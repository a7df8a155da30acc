"""What may stand where a medium stood: a text wherever texts may stand, elsewhere what the place's API takes.

Owns the table of places that take no text part, and of the forms that say a text in them. Knows nothing of policies,
nor of what a text stands for; `stand_ins` finds the text again by `said_in`.

Source: anthropic 2.14 `web_fetch_block_param`; openai 3.57 `response_code_interpreter_tool_call_param` and
`response_computer_tool_call_output_screenshot_param`; langchain-openai 1.7 `_make_computer_call_output_from_message`;
Converse `GuardrailConverseContentBlock`; google-genai 3.6 `FunctionResponsePart`; langchain-google-genai 4.4, sound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from langgraph_portable_checkpoint.envelope.blank_image import blank_image
from langgraph_portable_checkpoint.envelope.placeholders import file_of_text
from langgraph_portable_checkpoint.media.holes import Path


class Form(NamedTuple):
    """How a place says a text."""

    make: Callable[[Mapping[Any, Any], str], dict[Any, Any]]
    """Makes what takes a part's place, of the part and what is said."""
    say: Callable[[str], str] = str
    """Spells the text."""


class Around(NamedTuple):
    """What is around a place."""

    keys: Path
    """The steps that lead to it."""
    nodes: tuple[Any, ...]
    """What each step is taken from."""

    def into(self, node: Any, step: Any) -> Around:
        """Take one step further."""
        return Around((*self.keys, step), (*self.nodes, node))

    def holder(self) -> tuple[Any, Mapping[Any, Any]]:
        """Return the nearest dict around, and the key of it that leads on."""
        for key, node in zip(reversed(self.keys), reversed(self.nodes), strict=True):
            if isinstance(node, Mapping):
                return key, node
        return None, {}


NOWHERE: Final = Around((), ())


class PartText:
    """Puts a text in the place of a part, in a form that the place takes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __call__(self, block: Mapping[Any, Any], around: Around = NOWHERE) -> dict[Any, Any]:
        """Make what takes the part's place."""
        form = form_at(block, around)
        return form.make(block, form.say(self.text))


class LeafText:
    """Puts a text in the place of a leaf that no part is around, in a form that the place takes.

    What LangChain takes for sound is bytes (`additional_kwargs["audio"]`): a text is none.
    """

    def __init__(self, text: str, *, is_bytes: bool) -> None:
        self.text = text
        self.is_bytes = is_bytes

    def __call__(self, _: Any, around: Around = NOWHERE) -> str | bytes:
        """Make what takes the leaf's place."""
        if _is_screenshot(around):
            return blank_image(self.text)
        return self.text.encode() if self.is_bytes and around.keys[-2:] != _SOUND else self.text


def form_at(block: Mapping[Any, Any], around: Around) -> Form:
    """Choose the form that takes a part's place."""
    key, holder = around.holder()
    kind = holder.get("type")
    if key == "guardContent":
        return _GUARDED
    if isinstance(kind, str) and (kind, key) in _FORMS:
        return _FORMS[kind, key]
    if kind == "server_tool_result" and around.keys[-2:-1] == ("output",) and block.keys() == _INTERPRETED:
        return _LOGS
    if around.keys[-2:-1] == ("parts",) and around.keys[-3:-2] in _ANSWERS:
        return _ANSWERED
    if block.get("type") == "image_generation_call" and key not in _PARTS_ARE_IN:
        return _MESSAGE
    return _SCREENSHOT if block.get("type") == "input_image" and _is_screenshot(around) else _TEXT


def said_in(block: Mapping[Any, Any]) -> Iterator[tuple[Any, frozenset[str]]]:
    """Yield what may be the text of a form, with the keys that are the form's own."""
    for (key, *below), own in _SAID.items():
        said = block.get(key)
        for step in below:
            said = said.get(step) if isinstance(said, Mapping) else None
        if said is not None:
            yield said, own


def _text_part(block: Mapping[Any, Any], text: str) -> dict[Any, Any]:
    """Make a text part in the spelling of the part's own API."""
    kind = block.get("type")
    if kind is None:
        return {"text": text}
    native = "input_text" if str(kind).startswith("input_") and kind != "input_audio" else "text"
    return {"type": native, "text": text}


def _document(block: Mapping[Any, Any], text: str) -> dict[Any, Any]:
    """Make a document of a text, with what else the part says of itself."""
    kept = {key: block[key] for key in _DOCUMENT_WORDS if key in block} if block.get("type") == "document" else {}
    return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}, **kept}


def _screenshot(block: Mapping[Any, Any], url: str) -> dict[Any, Any]:
    return {**{key: value for key, value in block.items() if key not in _SCREENSHOT_BYTES}, "image_url": url}


def _is_screenshot(around: Around) -> bool:
    """Say whether a place is the content of a tool's message that answers a computer call, or a part in it."""
    key, message = around.holder()
    marks = message.get("additional_kwargs") if key == "content" else None
    return isinstance(marks, Mapping) and marks.get("type") == "computer_call_output" and "tool_call_id" in message


_SAID: Final[Mapping[tuple[str, ...], frozenset[str]]] = {
    ("text",): frozenset({"type", "text"}),
    ("logs",): frozenset({"type", "logs"}),
    ("source", "data"): frozenset({"type", "source"}),
    ("text", "text"): frozenset({"text"}),
    ("image_url",): frozenset({"type", "image_url"}),
    ("content",): frozenset({"type", "role", "content"}),
    ("inlineData", "data"): frozenset({"inlineData"}),
}
"""Where a form may have its text, with the keys that are the form's own."""
_DOCUMENT_WORDS: Final = ("title", "context", "citations", "cache_control")
_INTERPRETED: Final = frozenset({"type", "url"})
"""Keys of a code interpreter's image, whose result LangChain's v1 output names as that of any tool."""
_SCREENSHOT_BYTES: Final = frozenset({"image_url", "file_id"})
_SOUND: Final = ("additional_kwargs", "audio")
_TEXT: Final = Form(_text_part)
_LOGS: Final = Form(lambda _, text: {"type": "logs", "logs": text})
_GUARDED: Final = Form(lambda _, text: {"text": {"text": text}})
_SCREENSHOT: Final = Form(_screenshot, blank_image)
_ANSWERED: Final = Form(lambda _, data: {"inlineData": {"mimeType": "text/plain", "data": data}}, file_of_text)
_ANSWERS: Final = (("functionResponse",), ("function_response",))
_MESSAGE: Final = Form(lambda _, text: {"type": "message", "role": "assistant", "content": text})
_PARTS_ARE_IN: Final = frozenset({"content", "tool_outputs", "value"})
"""Keys of LangChain's messages with parts and items; elsewhere an item of the Responses API is one of its input."""
_FORMS: Final[Mapping[tuple[str, Any], Form]] = {
    ("web_fetch_result", "content"): Form(_document),
    ("code_interpreter_call", "outputs"): _LOGS,
    ("computer_call_output", "output"): _SCREENSHOT,
}
"""By type and key of the nearest dict around."""
