"""Why a service is not reached: the network, TLS, or nothing that listens."""

import socket
import ssl
from collections.abc import Iterator

import httpx2


def connection_problem(error: BaseException, within_s: float) -> tuple[str, str]:
    """Return why nothing was reached, by the error's causes, and what to do; `within_s` is how long it was tried."""
    causes = list(_causes(error))
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return "the host's name is unknown (DNS)", "mend the name, or the network's name server"
    certificate = next((cause for cause in causes if isinstance(cause, ssl.SSLCertVerificationError)), None)
    if certificate:
        text = f"the certificate is not trusted (TLS): {certificate.verify_message}"
        return text, "renew it, or let SSL_CERT_FILE name the authority's certificate"
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return "no TLS is spoken there", "is it http, or another port?"
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return "refused: nothing listens there", "is the service running, and is the port right?"
    if any(isinstance(cause, TimeoutError | httpx2.TimeoutException) for cause in causes):
        return f"no answer within {within_s:.0f} s", "does a firewall drop it?"
    return f"the connection breaks: {type(causes[-1]).__name__}", "is it http or https, and does HTTPS_PROXY fit?"


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
