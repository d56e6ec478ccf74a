"""The surroundings of a server that opens Firestore: credentials, a network, an emulator, Google,
or none.
"""

import http.server
import json
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, closing
from pathlib import Path

import grpc
import grpc.aio
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from emulator import VARIABLE, free_port
from google.protobuf.any_pb2 import Any as AnyMessage
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status


class Around:
    """The surroundings of a process: at first no credentials, no emulator, no Google."""

    def __init__(
        self, folder: Path, patch: pytest.MonkeyPatch, until_the_end: AsyncExitStack
    ) -> None:
        self.folder = folder
        self.patch = patch
        self.until_the_end = until_the_end
        patch.setenv("HOME", str(folder))
        patch.setenv("CLOUDSDK_CONFIG", str(folder))
        patch.setenv("GCE_METADATA_IP", f"127.0.0.1:{free_port()}")
        for name in (VARIABLE, "GOOGLE_APPLICATION_CREDENTIALS", "no_proxy", "no_grpc_proxy"):
            patch.delenv(name, raising=False)

    def silence(self) -> str:
        """Return the address of something that accepts connections and never sends a byte."""
        listener = self.until_the_end.enter_context(closing(socket.create_server(("127.0.0.1", 0))))
        return f"127.0.0.1:{listener.getsockname()[1]}"

    def credentials(self, text: str) -> None:
        file = self.folder / "login.json"
        file.write_text(text)
        self.patch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(file))

    def login(self, tokens: str) -> None:
        """Be logged in; new tokens come from the HTTP server at that address."""
        login = {
            "type": "external_account_authorized_user",
            "audience": "//iam.googleapis.com/locations/global/workforcePools/pool/providers/provider",
            "refresh_token": "refresh-me",
            "token_url": f"http://{tokens}/token",
            "client_id": "client",
            "client_secret": "refresh-me",
        }
        self.credentials(json.dumps(login))
        self.network(f"127.0.0.1:{free_port()}")

    def service_account(self, tokens: str) -> None:
        """Have the key of a service account; tokens come from the HTTP server at that address."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        account = {
            "type": "service_account",
            "project_id": "other",
            "client_email": "server@other.iam.gserviceaccount.com",
            "token_uri": f"http://{tokens}/token",
            "private_key": key.private_bytes(
                Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
            ).decode(),
        }
        self.credentials(json.dumps(account))
        self.network(f"127.0.0.1:{free_port()}")

    def network(self, proxy: str) -> None:
        """Have Google reached through this proxy only."""
        self.patch.setenv("grpc_proxy", f"http://{proxy}")

    def web_server(self, status: int, body: dict[str, object]) -> str:
        """Return the address of an HTTP server that answers every request."""

        class Answer(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                self.send_response(status)
                self.end_headers()
                self.wfile.write(json.dumps(body).encode())

            def log_message(self, *_: object) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.until_the_end.callback(thread.join)
        self.until_the_end.callback(server.server_close)
        self.until_the_end.callback(server.shutdown)
        return f"127.0.0.1:{server.server_port}"

    async def google(self, code: grpc.StatusCode, reason: str = "") -> None:
        """Have every call refused on the wire with this status, as Google's front end does."""
        server = grpc.aio.server()
        server.add_generic_rpc_handlers((Refusal(code, reason),))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        self.until_the_end.push_async_callback(server.stop, None)
        self.patch.setenv(VARIABLE, f"127.0.0.1:{port}")


class Refusal(grpc.GenericRpcHandler):
    def __init__(self, code: grpc.StatusCode, reason: str) -> None:
        detail = AnyMessage()
        detail.Pack(ErrorInfo(reason=reason, domain="googleapis.com"))
        status = Status(code=code.value[0], message="refused", details=[detail] if reason else [])
        self.told = (("grpc-status-details-bin", status.SerializeToString()),)
        self.code = code

    def service(self, _: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        return grpc.unary_stream_rpc_method_handler(self.refuse)

    async def refuse(self, _: bytes, context: grpc.aio.ServicerContext) -> AsyncIterator[bytes]:
        await context.abort(self.code, "refused", self.told)
        yield b""
