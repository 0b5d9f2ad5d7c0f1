"""Schedules a message and uploads an edited report with the client that openapi-python-client generates."""

import io
import sys

from lab_client import AuthenticatedClient, Client
from lab_client.api.b_external_edit import external_edit_service_upload_files as upload
from lab_client.api.d_task_queue import task_queue_service_schedule as schedule
from lab_client.models import ExternalEditServiceUploadFilesBody as Files
from lab_client.models import LabTaskqueueV1ScheduledSMSTask as Task
from lab_client.types import File

base, session, edit_id, token, when, word, pdf = sys.argv[1:]
client = Client(base, cookies={"sessionid": session})
task = Task.from_dict({"sch_time": when, "task": 1, "task_type": 7, "data": {"contact": "+919812345678", "message": "Hello"}})
print("scheduled", schedule.sync(client=client, body=[task]).job_ids[0])


def file(path: str, kind: str) -> File:
    with open(path, "rb") as content:
        return File(io.BytesIO(content.read()), path, kind)


files = Files(
    word_file=file(word, "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    pdf_file=file(pdf, "application/pdf"),
)
print("uploaded", upload.sync(int(edit_id), client=AuthenticatedClient(base, token), body=files).word_s3_path)
