package stack

const summary = `The laboratory platform runs.

  public REST    {{.Gateway}}
  internal REST  {{.Internal}}   (needs a service token: {{.Token}})
  outbox page    {{.Outbox}}
  queue page     {{.Queue}}
  MySQL          {{.MySQL}}
  Redis          {{.Redis}}
  documents      {{.Mongo}}
  objects        {{.Blob}}
{{- if .Pipeline}}
  search         {{.Search}}
  Kafka          {{.Kafka}}   (topics {{.Topics}}.<table>)
  Kafka Connect  {{.Connect}}
  Elasticsearch  {{.Elasticsearch}}
{{- end}}
{{- if .Traces}}
  traces         {{.Traces}}   (seconds after a request)
{{- end}}
  logs           {{.Logs}}
  everything     {{.Dir}}/endpoints.json
{{if .Demo}}
Open {{.Gateway}}/ and choose who you are. Requests to copy and paste: make examples
{{else}}
No laboratory is loaded (LAB_SEED=none): write one with make seed FIXTURE=file.json.
{{end}}`
