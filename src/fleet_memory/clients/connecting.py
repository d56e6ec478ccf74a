"""Why a service is not reached: the network, TLS, or nothing that listens."""

import socket
import ssl
from collections.abc import Iterator
from typing import Final

import httpx2

_OTHER_NAME: Final = (
    62,
    64,
)  # OpenSSL's X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH


def connection_problem(error: BaseException, within_s: float) -> tuple[str, str]:
    """Return why nothing was reached, by the error's causes, and what to do; `within_s` is how long
    it was tried.
    """
    causes = list(_causes(error))
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return "the host's name is unknown (DNS)", "mend the name, or the network's name server"
    certificate = next(
        (cause for cause in causes if isinstance(cause, ssl.SSLCertVerificationError)), None
    )
    if certificate:
        return _certificate_problem(certificate)
    if any(isinstance(cause, ssl.SSLError) for cause in causes):
        return "no TLS is spoken there", "is it http, or another port?"
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return "refused: nothing listens there", "is the service running, and is the port right?"
    if any(isinstance(cause, TimeoutError | httpx2.TimeoutException) for cause in causes):
        return f"no answer within {within_s:.0f} s", "does a firewall drop it?"
    return (
        f"the connection breaks: {type(causes[-1]).__name__}",
        "is it http or https, and does HTTPS_PROXY fit?",
    )


def _certificate_problem(error: ssl.SSLCertVerificationError) -> tuple[str, str]:
    if error.verify_code in _OTHER_NAME:
        advice = "use a name that the certificate has, or a certificate with this name"
        return f"the certificate is of another name (TLS): {error.verify_message}", advice
    advice = "renew it, or let SSL_CERT_FILE name the authority's certificate"
    return f"the certificate is not trusted (TLS): {error.verify_message}", advice


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
