"""Puts ids of the demo laboratory into generated bodies: random ones would be refused before anything else is looked at."""

import itertools
import os

import schemathesis

IDS = {
    "lab_id": 12,
    "lab_report_id": 7001,
    "lab_report_ids": [7009],
    "reportForId_id": 7001,
    "sample_id": "A00301EDTA",
    "profileTestId": 0,
    "labUserId": 77,
    "userNotificationPreferences": '[{"id":2,"is_disabled":0}]',
    "template_id": 1,
    "word_s3_filepath": "templates/report.docx",
    "url": "http://127.0.0.1:9/",
    "callback_url": "http://127.0.0.1:9/",
    "subscribe": "http://127.0.0.1:9/",
    "failed_task_handler": "http://127.0.0.1:9/",
    "success_task_handler": "http://127.0.0.1:9/",
    "requested_parameters": [1],
    "notified_at": "2026-11-20T10:00:00Z",
    "outcome": "confirmed",
    "read_back": True,
}
# Of lists, the n-th element gets the n-th value, and there are no more elements than values.
ELEMENTS = {
    "index": [1, 3],
    "cell_id": [1, 3],
    "key": ["n", "l"],
    "report_format_index": [9, 10],
    "report_format_order": [9, 10],
    "report_format_id": [5509, 5510],
}
# The demo laboratory has no senders of its own: a task that names one is refused.
SENDERS = ("sender_email", "sender_name", "senderId")
COUNT = {"mappings": 2, "counts": 2, "device_data": 2, "rerun_confirmed_data": 2, "notification_types": 1}


def replaced(value, name="", position=0):
    if name in IDS:
        return IDS[name]
    if name in ELEMENTS:
        return ELEMENTS[name][position]
    if name == "id" and isinstance(value, int):
        return 2  # a notification type
    if isinstance(value, dict):
        return {key: replaced(below, key, position) for key, below in value.items() if key not in SENDERS}
    if isinstance(value, list):
        return [replaced(below, "", min(i, 1)) for i, below in enumerate(value[: COUNT.get(name, 1000)])]
    return value


KEYS = itertools.count()


@schemathesis.hook
def before_call(ctx, case, kwargs):
    if case.headers and "Idempotency-Key" in case.headers:
        case.headers["Idempotency-Key"] = f"fuzz-{os.getpid()}-{next(KEYS)}"  # one key for two bodies is a conflict


@schemathesis.hook
def map_body(ctx, body):
    return replaced(body) if isinstance(body, (dict, list)) else body


@schemathesis.hook
def map_query(ctx, query):
    if ctx.operation.path == "/api/v1/lookup" and query:
        return dict(list(query.items())[:1])  # exactly one of its parameters; a document cannot say so
    return query
