"""Which dialect and host each of LangChain's chat models speaks: a table.

Knows names only: the class of a chat model, the word that `init_chat_model` takes for it, the word that it gives itself
in traces (`ls_provider`). `middleware.py` reads it for models, `registry.py` for what a wrong name may have meant.

Source: langchain 1.5 chat_models/base.py `_BUILTIN_PROVIDERS`, and the classes named there in their packages'
versions of 2026-11.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True)
class Integration:
    """One wire, and those who speak it.

    Attributes:
        classes: Names of chat model classes.
        words: Provider words, of `init_chat_model` and of traces, in lower case.
        dialect: Name of the dialect.
        profile: Host or platform within it.
        responses: Profile of openai-responses, where such a model is asked to use the Responses API.
    """

    classes: tuple[str, ...]
    words: tuple[str, ...]
    dialect: str
    profile: str | None = None
    responses: str = "openai"


def _chat(profile: str, classes: str, words: str, *, responses: str = "openai") -> Integration:
    return Integration(
        classes=(*classes.split(),),
        words=(*words.split(),),
        dialect="openai-chat",
        profile=profile,
        responses=responses,
    )


INTEGRATIONS: Final[tuple[Integration, ...]] = (
    _chat(
        "openai",
        "ChatOpenAI AzureChatOpenAI AzureAIOpenAIApiChatModel ChatOpenAIMantle",
        "openai azure azure_openai azure_ai langsmith bedrock_mantle_openai openai-mantle openai-codex",
    ),
    _chat("groq", "ChatGroq", "groq"),
    _chat("fireworks", "ChatFireworks", "fireworks"),
    _chat("deepseek", "ChatDeepSeek", "deepseek"),
    _chat("moonshot", "ChatMoonshot", "moonshot"),
    _chat("openrouter", "ChatOpenRouter", "openrouter"),
    _chat("vllm", "ChatVLLM", "vllm"),
    _chat("ollama", "ChatOllama", "ollama"),
    _chat("perplexity", "ChatPerplexity", "perplexity"),
    _chat("compatible", "ChatXAI", "xai", responses="xai"),
    _chat(
        "compatible",
        "AzureAIChatCompletionsModel ChatBaseten ChatCerebras ChatCohere ChatHuggingFace ChatLiteLLM ChatMetaModel "
        "ChatNVIDIA ChatTogether ChatUpstage ChatWatsonx",
        "baseten cerebras cohere huggingface ibm litellm meta nvidia together upstage",
    ),
    Integration(
        classes=(
            "ChatAnthropic",
            "ChatAnthropicBedrock",
            "ChatAnthropicMantle",
            "AzureAIAnthropicChatModel",
        ),
        words=(
            "anthropic",
            "anthropic_bedrock",
            "anthropic-bedrock",
            "bedrock_mantle_anthropic",
            "anthropic-mantle",
        ),
        dialect="anthropic",
    ),
    Integration(
        classes=("ChatAnthropicVertex",),
        words=("google_anthropic_vertex", "anthropicvertex"),
        dialect="anthropic",
        profile="vertex",
    ),
    Integration(classes=("ChatGoogleGenerativeAI",), words=("google_genai",), dialect="google", profile="gemini"),
    Integration(classes=("ChatVertexAI",), words=("google_vertexai",), dialect="google", profile="vertex"),
    Integration(
        classes=("ChatBedrockConverse", "ChatBedrock"),
        words=("bedrock", "bedrock_converse", "amazon_bedrock"),
        dialect="bedrock",
    ),
    Integration(classes=("ChatMistralAI",), words=("mistralai", "mistral"), dialect="mistral"),
)
BY_CLASS: Final[Mapping[str, Integration]] = {name: one for one in INTEGRATIONS for name in one.classes}
BY_WORD: Final[Mapping[str, Integration]] = {word: one for one in INTEGRATIONS for word in one.words}
_HOSTS: Final[Mapping[str, str]] = {
    "api.openai.com": "openai",
    "openai.azure.com": "openai",
    "services.ai.azure.com": "openai",
    "api.groq.com": "groq",
    "api.fireworks.ai": "fireworks",
    "api.deepseek.com": "deepseek",
    "api.moonshot.ai": "moonshot",
    "api.moonshot.cn": "moonshot",
    "openrouter.ai": "openrouter",
    "api.perplexity.ai": "perplexity",
    "ollama.com": "ollama",
}


def integration_of(class_names: Iterable[str], word: str) -> Integration | None:
    """Find the row of a chat model: by its own class, by the word it gives itself, by a class it is derived from.

    >>> integration_of(["ChatAnthropicVertex"], "anthropicvertex").dialect
    'anthropic'
    """
    own, *bases = [*class_names] or [""]
    found = (BY_CLASS.get(own), BY_WORD.get(word.lower()), *map(BY_CLASS.get, bases))
    return next((one for one in found if one is not None), None)


def host_profile(hostname: str) -> str:
    """Return the profile of openai-chat for a server that OpenAI's own client is pointed at.

    >>> host_profile("api.deepseek.com"), host_profile("localhost")
    ('deepseek', 'compatible')
    """
    known = (profile for host, profile in _HOSTS.items() if f".{hostname}".endswith(f".{host}"))
    return next(known, "compatible")
