"""Whether anybody has asked for telemetry, by OpenTelemetry's standard variables or by a provider that is set up already."""

import sys
from collections.abc import Callable, Mapping

ENDPOINTS = "OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"
SIGNALS = "TRACES", "METRICS"
SPOKEN = "http/protobuf"
"""The one protocol of OTLP that the extra `telemetry` brings."""


def wanted(environment: Mapping[str, str], warn: Callable[[str], None]) -> bool:
    """Whether to tell anything at all. A protocol that is not spoken here is warned of."""
    if environment.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    if is_set_up():
        return True
    asked = [signal for signal in SIGNALS if exported(environment, signal)]
    unspoken = next((name for signal in asked if (name := protocol(environment, signal)) != SPOKEN), None)
    if unspoken:
        warn(f"no telemetry: OTLP is spoken by {SPOKEN} here, not by {unspoken}; set OTEL_EXPORTER_OTLP_PROTOCOL={SPOKEN}")
    return bool(asked) and not unspoken


def is_set_up() -> bool:
    """Whether a provider of traces was set up in this process, by `opentelemetry-instrument` for one. Imports nothing."""
    sdk, api = sys.modules.get("opentelemetry.sdk.trace"), sys.modules.get("opentelemetry.trace")
    return sdk is not None and api is not None and isinstance(api.get_tracer_provider(), sdk.TracerProvider)


def exported(environment: Mapping[str, str], signal: str) -> bool:
    """Whether TRACES or METRICS go out by OTLP. An endpoint is enough; the exporter can be named, or be `none`."""
    exporter = environment.get(f"OTEL_{signal}_EXPORTER", "").strip().lower()
    if exporter:
        return "otlp" in [name.strip() for name in exporter.split(",")]
    return any(environment.get(name, "").strip() for name in (ENDPOINTS[0], f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT"))


def protocol(environment: Mapping[str, str], signal: str) -> str:
    common = environment.get("OTEL_EXPORTER_OTLP_PROTOCOL", "").strip()
    return environment.get(f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "").strip() or common or SPOKEN
