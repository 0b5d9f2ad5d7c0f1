package stack

const summary = `The laboratory platform runs.

  public REST    {{.Gateway}}
  internal REST  {{.Internal}}   (needs a service token: {{.Token}})
  outbox page    {{.Outbox}}
  MySQL          {{.MySQL}}
  Redis          {{.Redis}}
  documents      {{.Mongo}}
  objects        {{.Blob}}
  logs           {{.Logs}}
  everything     {{.Dir}}/endpoints.json
{{- if .Pipeline}}
  LAB_PIPELINE is on, but this stack has no change capture and no search yet: it behaves as with LAB_PIPELINE=off.
{{- end}}
{{if .Demo}}
Demo laboratory: the session cookie is sessionid=demo-lab-user (8 hours; a new start renews it). To try it:

  # an analyser's values, all three critical for this patient: a rerun is queued
  curl -s -b sessionid=demo-lab-user -H 'content-type: application/json' {{.Gateway}}/api-v3/sample-rerun/7001/auto \
    -d '{"device_data":[{"index":1,"value":"6.1"},{"index":3,"value":"31.5"},{"index":12,"value":"18"}]}'

  # the values that a rerun brought in (none until the analyser answers)
  curl -s -b sessionid=demo-lab-user {{.Gateway}}/api-v3/sample-rerun/7001

  # the job that carried it: put a job_id of your own here, e.g. from the next request
  curl -s -b sessionid=demo-lab-user -H 'content-type: application/json' {{.Gateway}}/jobInfo/ -d '{"id":"JOB_ID"}'

  # a message that no provider sends: it appears on the outbox page
  curl -s -b sessionid=demo-lab-user -H 'content-type: application/json' {{.Gateway}}/queue/ \
    -d '[{"task":1,"task_type":1,"data":{"contact":9876543210,"countryCode":91,"message":"Your report is ready."}}]'
  open {{.Outbox}}
{{else}}
No laboratory is loaded (LAB_SEED=none): write one with make seed FIXTURE=file.json.
{{end}}`
