"""An S3 server over HTTP, and a bucket for each test."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import timedelta

import boto3
import pytest
from moto.server import ThreadedMotoServer

from langgraph_portable_checkpoint.media.objects import ObjectMediaStore

KEYS = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}


@pytest.fixture(scope="session")
def s3_url() -> Iterator[str]:
    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(s3_url: str) -> tuple[str, str]:
    """The server's URL and the name of an empty bucket on it."""
    name = f"media-{uuid.uuid4().hex[:12]}"
    boto3.client("s3", endpoint_url=s3_url, region_name="us-east-1", **KEYS).create_bucket(Bucket=name)
    return s3_url, name


@pytest.fixture
def object_store(bucket: tuple[str, str]) -> ObjectMediaStore:
    return open_bucket(*bucket)


def open_bucket(url: str, name: str, *, timeout: str = "10s", retries: int = 8) -> ObjectMediaStore:
    """Open a bucket. Retries are for moto, which answers 500 when one object is written twice at once."""
    return ObjectMediaStore.from_url(
        f"s3://{name}",
        endpoint=url,
        region="us-east-1",
        client_options={"allow_http": True, "timeout": timeout, "connect_timeout": "2s"},
        retry_config={"max_retries": retries, "backoff": {"init_backoff": timedelta(milliseconds=10)}},
        virtual_hosted_style_request=False,
        **KEYS,
    )
