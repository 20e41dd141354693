"""Models by name: `provider:name`, and any server that speaks OpenAI's language by its address."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from pydantic_ai.exceptions import UserError
from pydantic_ai.models import Model, infer_model

from signoff.errors import ModelUnusable

NO_KEY = "no-key"  # local servers ask for none, and the library insists on one
UNKNOWN_HINT = "name a provider: openai, anthropic, google; any other server with --base-url"
_INSTALL = re.compile(r"`(pip install [^`]+)`")
ALIASES = {"google-gla": "google", "gemini": "google"}


def open_model(named: str, base_url: str | None, environ: Mapping[str, str]) -> Model:
    """The model of that name; with a base URL, at that address."""
    provider, colon, name = named.partition(":")
    provider = ALIASES.get(provider, provider)
    if not (provider and colon and name):
        raise ModelUnusable(
            f"`{named}` does not name a model", "write PROVIDER:NAME, such as openai:gpt-5"
        )
    try:
        if base_url is None:
            return infer_model(f"{provider}:{name}")
        build = _AT_ADDRESS.get(provider)
        if build is None:
            known = ", ".join(_AT_ADDRESS)
            raise ModelUnusable(f"`{provider}` takes no base URL", f"with one, use {known}")
        return build(name, base_url, environ)
    except UserError as error:
        first = str(error).split(". ", maxsplit=1)[0]
        hint = UNKNOWN_HINT if first.startswith("Unknown") else None
        raise ModelUnusable(f"the model `{named}` cannot be used: {first}", hint) from error
    except ImportError as error:
        asked = _INSTALL.search(str(error))
        hint = f"python3 -m {asked[1]}" if asked else "install the package that it names"
        raise ModelUnusable(f"the model `{named}` needs another package: {error}", hint) from error


def _chat(name: str, base_url: str, environ: Mapping[str, str]) -> Model:
    # Each provider's library loads for itself: most people use one.
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415 - see above
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415 - see above

    key = environ.get("OPENAI_API_KEY", NO_KEY)
    return OpenAIChatModel(name, provider=OpenAIProvider(base_url=base_url, api_key=key))


def _responses(name: str, base_url: str, environ: Mapping[str, str]) -> Model:
    from pydantic_ai.models.openai import OpenAIResponsesModel  # noqa: PLC0415 - as above
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415 - as above

    key = environ.get("OPENAI_API_KEY", NO_KEY)
    return OpenAIResponsesModel(name, provider=OpenAIProvider(base_url=base_url, api_key=key))


def _anthropic(name: str, base_url: str, environ: Mapping[str, str]) -> Model:
    from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415 - as above
    from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415 - as above

    key = environ.get("ANTHROPIC_API_KEY", NO_KEY)
    return AnthropicModel(name, provider=AnthropicProvider(base_url=base_url, api_key=key))


def _google(name: str, base_url: str, environ: Mapping[str, str]) -> Model:
    from pydantic_ai.models.google import GoogleModel  # noqa: PLC0415 - as above
    from pydantic_ai.providers.google import GoogleProvider  # noqa: PLC0415 - as above

    key = environ.get("GOOGLE_API_KEY") or environ.get("GEMINI_API_KEY") or NO_KEY
    return GoogleModel(name, provider=GoogleProvider(base_url=base_url, api_key=key))


_AT_ADDRESS: dict[str, Callable[[str, str, Mapping[str, str]], Model]] = {
    "openai": _chat,  # what servers that call themselves compatible speak
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "google": _google,
}
