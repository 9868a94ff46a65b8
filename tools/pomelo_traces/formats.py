"""Spans of citus_traces in the formats of other tools."""

OK, ERROR = 1, 2                # status codes of OpenTelemetry
INTERNAL, SERVER, CLIENT = 1, 2, 3
KINDS = {"statement": SERVER, "execute": SERVER, "task": CLIENT}


def attributes(values):
    """OpenTelemetry's form of a dictionary, without what isn't known."""
    return [{"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
            for key, value in values.items() if value is not None]


def otlp_span(span):
    start = span["start_us"] * 1000
    known = {"db.system": "postgresql", "db.user": span["usename"], "db.process": span["pid"], "db.target_node": span["target_nodeid"],
             "db.amount": span["amount"], "db.statement" if span["name"] == "statement" else "db.detail": span["detail"]}
    made = {"traceId": span["trace_id"], "spanId": span["span_id"], "name": span["name"], "kind": KINDS.get(span["name"], INTERNAL),
            "startTimeUnixNano": str(start), "endTimeUnixNano": str(start + round(span["duration_ms"] * 1_000_000)),
            "attributes": attributes(known), "status": {"code": ERROR if span["failed"] else OK}}
    if span["parent_id"] is not None:
        made["parentSpanId"] = span["parent_id"]
    return made


def otlp(spans, nodes):
    """An ExportTraceServiceRequest in OTLP/JSON: a resource for each node."""
    resources = []
    for nodeid, address in nodes.items():
        own = [otlp_span(span) for span in spans if span["nodeid"] == nodeid]
        if own:
            named = attributes({"service.name": "pomelo", "service.instance.id": str(nodeid), "server.address": address})
            resources.append({"resource": {"attributes": named}, "scopeSpans": [{"scope": {"name": "citus_traces"}, "spans": own}]})
    return {"resourceSpans": resources}


def chrome(spans, nodes):
    """Chrome's trace events: a node is shown as a process, a session as a thread."""
    events = [{"ph": "M", "name": "process_name", "pid": nodeid, "tid": 0, "args": {"name": f"node {nodeid} ({address})"}}
              for nodeid, address in nodes.items()]
    for span in spans:
        args = {key: span[key] for key in ("trace_id", "span_id", "parent_id", "detail", "amount", "target_nodeid", "usename")
                if span[key] is not None}
        events.append({"ph": "X", "name": span["name"], "cat": "failed" if span["failed"] else "ok", "pid": span["nodeid"],
                       "tid": span["pid"], "ts": span["start_us"], "dur": span["duration_ms"] * 1000, "args": args})
    return {"traceEvents": events, "displayTimeUnit": "ms"}


FORMATS = {"otlp": otlp, "chrome": chrome}
