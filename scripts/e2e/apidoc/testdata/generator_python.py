"""Schedules a message and uploads an edited report with the client that openapi-generator generates."""

import sys
from pathlib import Path

import openapi_client as lab

base, session, edit_id, token, when, word, pdf = sys.argv[1:]
client = lab.ApiClient(lab.Configuration(host=base), cookie=f"sessionid={session}")
task = lab.LabTaskqueueV1ScheduledTask(
    lab.LabTaskqueueV1ScheduledSMSTask.from_dict(
        {"sch_time": when, "task": 1, "task_type": 7, "data": {"contact": "+919812345678", "message": "Hello"}}
    )
)
print("scheduled", lab.DTaskQueueApi(client).task_queue_service_schedule([task]).job_ids[0])

holder = lab.BExternalEditApi(lab.ApiClient(lab.Configuration(host=base, access_token=token)))
saved = holder.external_edit_service_upload_files(
    int(edit_id), word_file=(word, Path(word).read_bytes()), pdf_file=(pdf, Path(pdf).read_bytes())
)
print("uploaded", saved.word_s3_path)
