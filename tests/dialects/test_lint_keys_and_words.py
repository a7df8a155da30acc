"""What the SDKs' types and the service models refuse, the linters find where it is; what these take, they take."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import HumanMessage

from langgraph_portable_checkpoint.dialects.export import export_messages, import_messages, lint
from langgraph_portable_checkpoint.dialects.lint.anthropic_shapes import (
    BLOCKS,
    CACHE_MARK,
    CITATIONS,
    RESULT_BLOCKS,
    SOURCES,
)
from langgraph_portable_checkpoint.dialects.lint.google import PART_FIELDS
from langgraph_portable_checkpoint.dialects.lint.responses_shapes import ITEMS, PARTS
from langgraph_portable_checkpoint.dialects.lint.shapes import Shape, shape, words

U: Any = {"role": "user", "content": "q"}
MARK: Any = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
USE: Any = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}


def asked(*parts: Any) -> Any:
    return [{"role": "user", "content": list(parts)}]


def answered(*parts: Any) -> Any:
    return [U, {"role": "assistant", "content": list(parts)}, U]


def given(**keys: Any) -> Any:
    return [U, USE, {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", **keys}]}]


def marked(**keys: Any) -> Any:
    return asked({"type": "text", "text": "x", "cache_control": {"type": "ephemeral", **keys}})


def sourced(kind: str, **source: Any) -> Any:
    return asked({"type": kind, "source": source})


def cited(**citation: Any) -> Any:
    return answered({"type": "text", "text": "x", "citations": [citation]})


SEARCH: Any = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
FETCHED: Any = {
    "type": "web_fetch_tool_result",
    "tool_use_id": "s",
    "content": {"type": "web_fetch_tool_result_error", "error_code": "unavailable"},
}


def fetched(page: Any) -> Any:
    call = {**SEARCH, "name": "web_fetch"}
    result = {**FETCHED, "content": {"type": "web_fetch_result", "url": "https://a", "content": page}}
    return answered(call, result, {"type": "text", "text": "x"})


PAGE: Any = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}, "title": "T"}


def pages(count: int) -> Any:
    return {"type": "document", "source": {"type": "content", "content": [MARK] * count}}


AT: Any = {"type": "char_location", "cited_text": "x", "document_index": 0, "start_char_index": 0, "end_char_index": 1}
TITLED: Any = {**AT, "document_title": None}
ANTHROPIC = [
    ("A16", "messages[2].content[0].content[4]", given(content=[MARK] * 5)),
    ("A16", "messages[2].content[0].content[1].source.content[0]", given(content=[pages(4), pages(1)])),
    ("A16", "messages[0].content[0].cache_control.type", marked(type="persistent")),
    ("A16", "messages[0].content[0].cache_control.ttl", marked(ttl="2h")),
    ("A16", "messages[0].content[0].cache_control.scope", marked(scope="all")),
    ("A18", "messages[0].content[0].source.data", sourced("image", type="base64", media_type="image/png")),
    ("A18", "messages[0].content[0].source.data", sourced("image", type="base64", media_type="image/png", data=None)),
    (
        "A18",
        "messages[0].content[0].source.media_type",
        sourced("document", type="base64", media_type="text/html", data="aGk="),
    ),
    (
        "A18",
        "messages[0].content[0].source.media_type",
        sourced("document", type="text", media_type="text/html", data="x"),
    ),
    ("A18", "messages[0].content[0].source.name", sourced("image", type="url", url="https://a", name="b")),
    ("A18", "messages[0].content[0].source", sourced("image", type="text", media_type="text/plain", data="x")),
    ("A18", "messages[0].name", [{**U, "name": "bob"}]),
    ("A18", "messages[2].content[0].is_error", given(is_error="yes")),
    ("A18", "messages[1].content[0].citations[0]", cited(type="url")),
    ("A18", "messages[1].content[0].citations[0]", cited(type="moon_location", cited_text="x", crater=3)),
    ("A18", "messages[1].content[0].type", answered({"type": "nonsense", "x": 1})),
    ("A18", "messages[1].content[0].type", answered({"type": "tool_call_chunk", "id": "t", "name": "f", "args": "{"})),
    ("A18", "messages[1].content[0].type", answered({"type": "server_tool_call_chunk", "id": "s", "args": "{"})),
    ("A18", "messages[2].content[0].content[0].type", given(content=[{"type": "nonsense"}])),
    ("A18", "messages[2].content[0].content[0]", given(content=[{"type": "compaction", "content": "x"}])),
    ("A18", "messages[0].content[0]", asked("x")),
    ("A18", "messages[0].content", [{"role": "user", "content": {"type": "text", "text": "x"}}]),
    ("A18", "messages[2].content[0].content[0]", given(content=["x"])),
    ("A18", "messages[1].content[0].citations[0]", cited(**AT)),
    ("A18", "messages[1].content[1].content.content", fetched({"type": "text", "text": "x"})),
    ("A18", "messages[1].content[1].content.content", fetched(None)),
    ("A18", "messages[1].content[1].content.content.source", fetched({**PAGE, "source": {"type": "base64x"}})),
    ("A18", "messages[1].content[1].content.content.name", fetched({**PAGE, "name": "x"})),
    ("A13", "messages[1].content[1]", answered(SEARCH, FETCHED, {"type": "text", "text": "x"})),
]


def part(kind: str, **value: Any) -> Any:
    return asked({"type": kind, kind: value})


CALL: Any = {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}
UNTYPED: Any = {key: value for key, value in CALL.items() if key != "type"}


def called(call: Any) -> Any:
    asks = {"role": "assistant", "content": None, "tool_calls": [call]}
    return [U, asks, {"role": "tool", "tool_call_id": "a", "content": "x"}]


CHAT = [
    ("C5", "messages[0].content[0].zq", asked({"type": "text", "text": "x", "zq": 1})),
    ("C5", "messages[0].content[0].image_url", asked({"type": "image_url", "image_url": "https://x"})),
    ("C13", "messages[0].content[0].image_url.detail", part("image_url", url="https://x", detail="huge")),
    ("C5", "messages[0].content[0].file.file_url", part("file", file_url="https://x", file_id="file-1")),
    ("C13", "messages[0].content[0].file", part("file", filename="a.pdf")),
    ("C13", "messages[0].content[0].input_audio.format", part("input_audio", data="aGk=", format="ogg")),
    ("C5", "messages[0].content[0].input_audio.data", part("input_audio", format="wav")),
    ("C5", "messages[1].tool_calls[0].type", called(UNTYPED)),
]


def worked(**keys: Any) -> Any:
    call = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    return [U, {**call, **keys}, {"type": "function_call_output", "call_id": "a", "output": "x"}]


def put_out(**keys: Any) -> Any:
    return [*worked()[:2], {"type": "function_call_output", "call_id": "a", **keys}]


def interpreted(outputs: Any) -> Any:
    run = {"type": "code_interpreter_call", "id": "ci_1", "code": "x", "container_id": "c", "status": "completed"}
    return [U, {**run, "outputs": outputs}, U]


SEALED: Any = {"type": "reasoning", "id": "rs_1", "encrypted_content": "x"}
RESPONSES = [
    ("R11", "input[1].phase", [U, {"role": "assistant", "content": "x", "phase": "zzz"}]),
    (
        "R12",
        "input[0].content[0].detail",
        asked({"type": "input_image", "image_url": "https://x", "detail": "huge"}),
    ),
    ("R12", "input[0].content[0].detail", asked({"type": "input_file", "file_id": "file-1", "detail": "original"})),
    ("R12", "input[2].output", put_out(output=5)),
    ("R12", "input[2].output", put_out()),
    ("R12", "input[2].output[0]", put_out(output=[{"type": "output_text", "text": "x", "annotations": []}])),
    ("R12", "input[2].output[0]", put_out(output=["x"])),
    ("R14", "input[0].name", [{**U, "name": "bob"}]),
    ("R14", "input[1].zq", worked(zq=1)),
    ("R14", "input[1].status", worked(status="weird")),
    ("R14", "input[1].name", worked(name="f g!")),
    ("R14", "input[1].summary", [U, SEALED, {"role": "assistant", "content": "x"}]),
    ("R14", "input[0].content[0].zq", asked({"type": "input_text", "text": "x", "zq": 1})),
    ("R14", "input[1].type", [U, {"type": "banana", "zq": 1}]),
    ("R14", "input[0].content[0].type", asked({"type": "input_smell", "zq": 1})),
    ("R14", "input[2].output[1].type", put_out(output=[{"type": "input_text", "text": "x"}, {"type": "input_smell"}])),
    ("R14", "input[1].outputs[0].type", interpreted([{"type": "text", "text": "x"}])),
    ("R14", "input[1].outputs[0].type", interpreted([{"type": "smell", "zq": 1}])),
    ("R14", "input[1].outputs[1].logs", interpreted([{"type": "logs", "logs": "x"}, {"type": "logs"}])),
    ("R14", "input[1].outputs[0].url", interpreted([{"type": "image", "url": 5}])),
    ("R14", "input[1].outputs[0]", interpreted(["x"])),
    ("R14", "input[1].outputs", interpreted("x")),
]


def said(*parts: Any) -> Any:
    return [{"role": "user", "parts": list(parts)}]


GOOGLE = [
    ("G4", "contents[0].parts[0].zq", said({"text": "q", "zq": 1})),
    ("G1", "contents", {"contents": ""}),
    ("G1", "contents", {"contents": {"parts": []}}),
]


def block(key: str, **value: Any) -> Any:
    return asked({"text": "x"}, {key: value})


BYTES: Any = {"bytes": b"x"}
BEDROCK = [
    ("B4", "system", {"system": "x", "messages": asked({"text": "x"})}),
    ("B4", "messages[0].content[1].cachePoint.type", block("cachePoint", type="zz")),
    ("B4", "messages[0].content[1].cachePoint.ttl", block("cachePoint", type="default", ttl="2h")),
    ("B6", "messages[0].content[1].image.format", block("image", format="bmp", source=BYTES)),
    ("B6", "messages[0].content[1].image.format", block("image", source=BYTES)),
    ("B6", "messages[0].content[1].image.source.bytes", block("image", format="png", source={"bytes": 5})),
    ("B6", "messages[0].content[1].image.source", block("image", format="png", source={})),
    ("B6", "messages[0].content[1].video.source", block("video", format="mp4")),
    ("B6", "messages[0].content[1].document.format", block("document", name="a", format="rtf", source=BYTES)),
    (
        "B6",
        "messages[0].content[1].image.source.s3Location.uri",
        block("image", format="png", source={"s3Location": {"uri": "http://x"}}),
    ),
]
MISTRAL = [
    ("M6", "messages[0].content[0].image_url", asked({"type": "image_url", "image_url": 5})),
    ("M6", "messages[0].content[0].image_url.url", asked({"type": "image_url", "image_url": {}})),
    ("M6", "messages[0].content[0].text", asked({"type": "text", "text": None})),
    ("M6", "messages[0].content[0].document_url", asked({"type": "document_url"})),
]
REFUSED = {
    "anthropic": ANTHROPIC,
    "openai-chat": CHAT,
    "openai-responses": RESPONSES,
    "google": GOOGLE,
    "bedrock": BEDROCK,
    "mistral": MISTRAL,
}
TAKEN: list[tuple[str, Any]] = [
    ("anthropic", marked(ttl="1h")),
    ("anthropic", given(content=[pages(3), MARK], is_error=None)),
    ("anthropic", cited(**TITLED)),
    ("anthropic", sourced("document", type="content", content="x")),
    ("anthropic", sourced("image", type="file", file_id="file_1")),
    ("anthropic", answered({**SEARCH, "name": "web_crawl"}, FETCHED, {"type": "text", "text": "x"})),
    ("anthropic", fetched(PAGE)),
    ("anthropic", fetched({**PAGE, "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="}})),
    ("openai-chat", part("image_url", url="https://x", detail="original")),
    ("openai-chat", asked({"type": "text", "text": "x", "prompt_cache_breakpoint": {"mode": "explicit"}})),
    ("openai-chat", part("file", file_data="data:application/pdf;base64,aGk=", filename="a.pdf")),
    ("openai-chat", called(CALL)),
    ("openai-responses", put_out(output=[{"type": "input_image", "file_id": "file-1", "detail": None}])),
    ("openai-responses", worked(status="completed", id="fc_1", namespace="n")),
    ("openai-responses", interpreted(None)),
    ("openai-responses", interpreted([{"type": "logs", "logs": "x"}, {"type": "image", "url": "https://x"}])),
    ("openai-responses", [U, {"role": "assistant", "content": "x", "phase": "commentary"}]),
    ("google", {"contents": "hello"}),
    ("google", said({"text": "q", "thought_signature": "QQ==", "partMetadata": {"a": 1}})),
    ("bedrock", block("image", format="png", source={"s3Location": {"uri": "s3://abc/d.png"}})),
    ("bedrock", block("document", name="a", source={"text": "x"})),
    ("bedrock", block("cachePoint", type="default", ttl="1h")),
    ("mistral", asked({"type": "image_url", "image_url": "https://x"})),
    ("mistral", asked({"type": "image_url", "image_url": {"url": "https://x", "detail": "new"}})),
]


@pytest.mark.parametrize(
    ("dialect", "rule", "path", "payload"), [(name, *case) for name, cases in REFUSED.items() for case in cases]
)
def test_what_the_provider_refuses_is_found_where_it_is(dialect: str, rule: str, path: str, payload: Any) -> None:
    assert [(found.rule, found.path) for found in lint(payload, dialect)] == [(rule, path)]


@pytest.mark.parametrize(("dialect", "payload"), TAKEN)
def test_what_the_provider_takes_or_may_take_tomorrow_passes(dialect: str, payload: Any) -> None:
    assert lint(payload, dialect) == []


@pytest.mark.parametrize("profile", ["openrouter", "vllm", "groq"])
def test_other_hosts_have_keys_and_words_of_their_own(profile: str) -> None:
    hinted = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}
    picture = {"type": "image_url", "image_url": {"url": "https://x", "detail": "sharp", "min_pixels": 4}}
    assert lint(asked(hinted, picture), "openai-chat", profile=profile) == []
    named = [{"role": "user", "content": "x", "name": "bob"}]
    assert lint(named, "openai-responses", profile="xai") == []


def test_a_shape_names_each_breach() -> None:
    known = shape("a! b c!", a=str, b=words("x y"), c=str)
    assert list(known.misfits({"b": "z", "c": None, "d": 1})) == [
        (".d", "is no known key"),
        (".a", "is missing"),
        (".b", "is not x or y"),
        (".c", "is not a text"),
    ]
    assert list(known.misfits({"a": "1", "b": None, "c": "2", "d": 1}, open_keys=True)) == []
    assert list(known.misfits([])) == [("", "is no object")]


def keys_of(typed: Any) -> tuple[set[str], set[str]]:
    """Return the keys of an SDK's TypedDict, and those it demands."""
    from typing import Required, get_origin

    from typing_extensions import get_type_hints

    hints = get_type_hints(typed, include_extras=True)
    return set(hints), {key for key, hint in hints.items() if get_origin(hint) is Required}


def type_of(typed: Any) -> str:
    from typing import get_args

    from typing_extensions import get_type_hints

    hint = get_type_hints(typed)["type"]
    return str(next((word for word in get_args(hint) if isinstance(word, str)), "") or get_args(get_args(hint)[0])[0])


def test_items_of_the_sdk_are_those_of_the_table() -> None:
    from typing import get_args

    from openai.types.responses.response_input_item_param import ResponseInputItemParam

    found: dict[str, set[str]] = {}
    for typed in get_args(ResponseInputItemParam):
        found.setdefault(type_of(typed), set()).update(keys_of(typed)[0])
    assert found == {kind: set(known.keys) for kind, known in ITEMS.items()}


def test_blocks_of_the_sdk_are_those_of_the_table() -> None:
    from typing import Annotated, get_args, get_origin

    import anthropic.types as sdk
    from anthropic.types import beta, tool_result_block_param

    def types_in(union: Any) -> set[str]:
        requested = {type_of(one) for one in get_args(union) if get_origin(one) is not Annotated}
        answered = [get_args(get_args(one)[0]) for one in get_args(union) if get_origin(one) is Annotated]
        return requested.union(
            *({get_args(one.model_fields["type"].annotation)[0] for one in ones} for ones in answered)
        )

    in_results = types_in(tool_result_block_param.Content)
    assert in_results == RESULT_BLOCKS
    assert types_in(sdk.ContentBlockParam) | types_in(beta.BetaContentBlockParam) | in_results == BLOCKS


def test_no_item_or_part_needs_what_the_sdk_does_not_demand() -> None:
    from typing import get_args

    import openai.types.responses as sdk
    from openai.types.responses.response_input_item_param import ResponseInputItemParam

    parts = ("ResponseInputText", "ResponseInputImageContent", "ResponseInputFile", "ResponseOutputText")
    typed = [*get_args(ResponseInputItemParam), *(getattr(sdk, f"{name}Param") for name in parts)]
    tables = {**ITEMS, **PARTS}
    assert [one for one in typed if not tables[type_of(one)].required <= keys_of(one)[1]] == []


def test_citations_sources_and_marks_are_those_of_the_sdk() -> None:
    import anthropic.types as sdk

    cites = ("CharLocation", "PageLocation", "ContentBlockLocation", "SearchResultLocation", "WebSearchResultLocation")
    known: list[tuple[Any, Shape]] = [
        *((typed, CITATIONS[type_of(typed)]) for typed in (getattr(sdk, f"Citation{name}Param") for name in cites)),
        *((typed, SOURCES["image"][type_of(typed)]) for typed in (sdk.Base64ImageSourceParam, sdk.URLImageSourceParam)),
        (sdk.Base64PDFSourceParam, SOURCES["document"]["base64"]),
        (sdk.PlainTextSourceParam, SOURCES["document"]["text"]),
        (sdk.ContentBlockSourceParam, SOURCES["document"]["content"]),
        (sdk.CacheControlEphemeralParam, CACHE_MARK),
    ]
    assert [typed for typed, table in known if keys_of(typed) != (table.keys, table.required)] == []


def test_fields_of_a_part_are_those_of_the_sdk() -> None:
    from google.genai.types import Part

    assert {field.alias for field in Part.model_fields.values()} == PART_FIELDS


def test_formats_are_those_of_the_service_model() -> None:
    from botocore.session import get_session

    from langgraph_portable_checkpoint.dialects.lint.bedrock import MEDIA, S3_URI

    model = get_session().get_service_model("bedrock-runtime")
    for key, known in MEDIA.items():
        typed = model.shape_for(f"{key.title()}Block")
        assert (set(typed.members), set(typed.required_members)) == (known.keys, known.required)
        assert set(typed.members["format"].enum) == known.values["format"]
    assert model.shape_for("S3Uri").metadata["pattern"].replace(r"\.\-", r".\-") == S3_URI.pattern


def spelled(history: Any, dialect: str) -> tuple[Any, set[tuple[str, str]]]:
    """Export an imported history to the dialect that it came from, and return what was told."""
    export = export_messages(import_messages(history, from_=dialect).envelopes, dialect)
    assert lint(export.payload, dialect) == []
    return export.payload, {(loss.rule, loss.kind) for loss in export.report}


def test_an_export_counts_marks_inside_results() -> None:
    payload, told = spelled(given(content=[MARK] * 6), "anthropic")
    assert ["cache_control" in one for one in payload["messages"][2]["content"][0]["content"]] == [False] * 2 + [
        True
    ] * 4
    assert told == {("A16", "dropped")}


def test_an_export_leaves_marks_out_that_the_provider_does_not_know() -> None:
    text = {"type": "text", "text": "x", "cache_control": {"type": "ephemeral", "ttl": "2h"}}
    export = export_messages([HumanMessage([text])], "anthropic")
    assert lint(export.payload, "anthropic") == []
    assert [loss.rule for loss in export.report] == ["A16"]


def test_an_export_leaves_keys_out_that_no_part_has() -> None:
    payload, told = spelled(said({"text": "q", "zq": 1}), "google")
    assert payload["contents"][0]["parts"] == [{"text": "q"}]
    assert ("G14", "dropped") in told


@pytest.mark.parametrize("uri", ["s3://B/a.png", "s3://abc/d.png"])
def test_an_export_takes_a_medium_from_buckets_only(uri: str) -> None:
    image = {"type": "image", "url": uri, "mime_type": "image/png"}
    export = export_messages([HumanMessage(["look", image])], "bedrock")
    assert lint(export.payload, "bedrock") == []
    assert ("image" in export.payload["messages"][0]["content"][1]) is uri.startswith("s3://abc")
